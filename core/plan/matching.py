"""Whether a projector or a draft model belongs to a model: said before an engine refuses it."""

from __future__ import annotations

from core.gguf.header import HELPERS, Kind
from core.gguf.text import excerpt
from core.language import mark, tr
from core.model.model import Model
from core.problems import Problem, Severity

# llama.cpp b11434, common/speculative.cpp: vocabularies of a draft may differ by so many tokens.
VOCABULARY_SLACK = 128
_HOLDS = {
    Kind.MODEL: mark("a model"),
    Kind.EMBEDDING: mark("an embedding"),
    Kind.PROJECTOR: mark("a projector"),
    Kind.ADAPTER: mark("an adapter"),
    Kind.IMATRIX: mark("an imatrix"),
    Kind.CONTROL_VECTOR: mark("a control-vector"),
    Kind.VOCABULARY: mark("a vocabulary"),
    Kind.DIFFUSION: mark("a diffusion"),
    Kind.SPEECH: mark("a speech"),
    Kind.SHARD: mark("a shard"),
    Kind.UNKNOWN: mark("nothing that is known"),
}
# Where a projector says how wide the rows are that it gives.
_WIDTHS = ("clip.vision.projection_dim", "clip.audio.projection_dim", "clip.projection_dim")


def projector_problems(model: Model, projector: Model) -> list[Problem]:
    """What keeps an engine from using this projector with this model."""
    name = _name(projector)
    if not projector.file.tensors:
        return [_unreadable(projector, "projector")]
    if projector.file.kind is not Kind.PROJECTOR:
        return [
            Problem(
                "projector",
                tr(
                    "{name} is no projector: it holds {what}.",
                    name=name,
                    what=tr(_HOLDS[projector.file.kind]),
                ),
                advice=tr("Attach the file whose name begins with mmproj."),
                where=str(projector.file.header.path),
            )
        ]
    problems = _incomplete(projector, "projector")
    width, wanted = projection_width(projector), model.shape.embedding
    if width is not None and wanted is not None and width != wanted:
        problems.append(
            Problem(
                "projector",
                tr(
                    "{name} gives rows of {width:,} values and the model takes {wanted:,}: it was "
                    "made for another model.",
                    name=name,
                    width=width,
                    wanted=wanted,
                ),
                advice=tr("Attach the projector that came with this model."),
                where=str(projector.file.header.path),
            )
        )
    return problems


def projection_width(projector: Model) -> int | None:
    """Values in a row that it hands to the model; None where the file does not say."""
    metadata = projector.file.header.metadata
    for key in _WIDTHS:
        value = metadata.get(key)
        if isinstance(value, int) and not isinstance(value, bool) and value > 0:
            return value
    return None


def draft_problems(model: Model, draft: Model) -> list[Problem]:
    """What keeps an engine from drafting with this model for that one."""
    name, where = _name(draft), str(draft.file.header.path)
    if not draft.file.tensors:
        return [_unreadable(draft, "draft")]
    if draft.file.kind in HELPERS:
        return [
            Problem(
                "draft",
                tr(
                    "{name} drafts nothing: it holds {what}.",
                    name=name,
                    what=tr(_HOLDS[draft.file.kind]),
                ),
                advice=tr("Attach a small model of the same family."),
                where=where,
            )
        ]
    problems = _incomplete(draft, "draft")
    why = _vocabularies_differ(model, draft)
    if why:
        problems.append(
            Problem(
                "draft-vocabulary",
                tr("{name} cannot draft for this model: {why}.", name=name, why=why),
                advice=tr("Attach a small model of the same family: its tokens must be the same."),
                where=where,
            )
        )
    return problems


def _vocabularies_differ(model: Model, draft: Model) -> str:
    """llama.cpp compares the kind of tokenizer, the first and last token and the size."""
    ours, theirs = model.file.header.metadata, draft.file.header.metadata
    kinds = [each.get("tokenizer.ggml.model") for each in (theirs, ours)]
    # "none" is a file without its vocabulary (llama.cpp's word for it), as a specimen is.
    told = all(isinstance(kind, str) and kind != "none" for kind in kinds)
    if told and kinds[0] != kinds[1]:
        return tr(
            "its tokenizer is {its}, the model's {models}",
            its=excerpt(str(kinds[0])),
            models=excerpt(str(kinds[1])),
        )
    sizes = draft.shape.vocabulary, model.shape.vocabulary
    if None not in sizes and abs((sizes[0] or 0) - (sizes[1] or 0)) > VOCABULARY_SLACK:
        return tr("it knows {its:,} tokens, the model {models:,}", its=sizes[0], models=sizes[1])
    for word in ("bos", "eos"):
        pair = [each.get(f"tokenizer.ggml.{word}_token_id") for each in (theirs, ours)]
        if all(isinstance(token, int) for token in pair) and pair[0] != pair[1]:
            if word == "bos":
                words = mark("it begins a text with token {its}, the model with {models}")
            else:
                words = mark("it ends a text with token {its}, the model with {models}")
            return tr(words, its=pair[0], models=pair[1])
    return ""


def loads(projector_or_draft: Model, *, projector: bool) -> bool:
    """Whether an engine would load it as what it is attached as."""
    file = projector_or_draft.file
    if not file.tensors:
        return False
    return (file.kind is Kind.PROJECTOR) if projector else file.kind not in HELPERS


def _unreadable(beside: Model, code: str) -> Problem:
    where = str(beside.file.header.path)
    for problem in beside.file.problems:
        if problem.severity is Severity.ERROR:
            words = f"{_name(beside)}: {tr(problem.message)}"
            return Problem(code, words, advice=tr(problem.advice), where=where)
    return Problem(code, tr("{name} holds no tensors.", name=_name(beside)), where=where)


def _incomplete(beside: Model, code: str) -> list[Problem]:
    """Of a damaged file beside the model every figure is a lower bound."""
    for problem in beside.file.problems:
        if problem.severity is Severity.ERROR:
            return [
                Problem(
                    code,
                    f"{_name(beside)}: {tr(problem.message)}",
                    Severity.WARNING,
                    tr(problem.advice),
                    str(beside.file.header.path),
                )
            ]
    return []


def _name(model: Model) -> str:
    return excerpt(model.file.header.path.name)
