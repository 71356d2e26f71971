"""Several models on one machine, or one in several quantizations: a row for each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.compare.columns import MIXED
from core.compare.figures import PROMPT, Figures, figures
from core.compare.mechanism import mechanism
from core.gguf import display
from core.language import mark, tr
from core.machine.machine import Machine
from core.model.cache_size import cache_size
from core.model.model import Model
from core.plan.choice import Choice
from core.plan.memory import cache_settings
from core.plan.plan import Settings
from core.provenance import Input, Number, Rank, Source, Unit

FAR = 100_000  # tokens, at which caches are compared

_FILE = Source(Rank.DERIVED, mark("the file's tensor table"))
_CACHE = Source(Rank.DERIVED, mark("cache rule of llama.cpp b11434"))


@dataclass(frozen=True, slots=True)
class Candidate:
    """A model to compare: as its file is, or as if it were quantized to ``requantize``."""

    model: Model
    requantize: str | None = None


@dataclass(frozen=True, slots=True)
class ModelRow:
    """What one model costs on the machine.

    ``weights_read`` is what one token reads of the weights. ``cache_far`` is cache and state of one
    conversation of 100,000 tokens, ``mechanism`` what keeps it small, in words.
    """

    candidate: Candidate
    figures: Figures
    weights: Number[int]
    bits: Number[float]
    parameters: Number[int]
    active: Number[int]
    weights_read: Number[int]
    cache_far: Number[int]
    mechanism: str

    @property
    def name(self) -> str:
        """What to call it: the model's own name, or its file's."""
        model = self.candidate.model
        paths = model.file.paths
        return display(model.name or (paths[0].stem if paths else "") or model.architecture)

    @property
    def label(self) -> str:
        """Its quantization; with an arrow where it is a what-if."""
        return self._labelled(tr(MIXED))

    @property
    def exact_label(self) -> str:
        """The same for programs: in English, whatever the reader's language."""
        return self._labelled(MIXED)

    def _labelled(self, mixed: str) -> str:
        model, other = self.candidate.model, self.candidate.requantize
        own = display(model.label or mixed)
        changed = self.figures.plan.weights is not model.weights
        return f"{own} → {other}" if other and changed else own


def compare_models(
    candidates: Sequence[Candidate],
    machine: Machine,
    choice: Choice,
    *,
    own: Model | None = None,
    prompt: int = PROMPT,
) -> tuple[ModelRow, ...]:
    """A row for each model, in the same order.

    Every model takes the choice as far as it can: at most the context that it was trained for, and
    its own quantization. What was chosen for the model ``own`` alone (how many of its layers lie
    where, what is loaded beside it) counts for that one only.
    """
    return tuple(_row(each, machine, _fitted(each, choice, own), prompt) for each in candidates)


def _fitted(candidate: Candidate, choice: Choice, own: Model | None) -> Choice:
    if candidate.model is own:
        return replace(choice, requantize=candidate.requantize)
    trained = candidate.model.shape.context_length
    if choice.context is not None and trained and choice.context > trained:
        choice = replace(choice, context=trained)
    if choice.depth is not None and trained and choice.depth > trained:
        choice = replace(choice, depth=trained)
    return replace(choice.alone(), requantize=candidate.requantize, gpu_layers="all", cpu_moe=0)


def _row(candidate: Candidate, machine: Machine, choice: Choice, prompt: int) -> ModelRow:
    model = candidate.model
    found = figures(model, machine, choice, prompt)
    weights = found.plan.weights
    known = bool(model.file.tensors)
    note = "" if known else mark("This file holds no tensors.")

    def count(value: int, unit: Unit) -> Number[int]:
        return Number(value if known else None, unit, _FILE, note=note)

    return ModelRow(
        candidate=candidate,
        figures=found,
        weights=count(weights.bytes, Unit.BYTES),
        bits=Number(
            weights.bits_per_weight if weights.parameters else None,
            Unit.BITS_PER_WEIGHT,
            _FILE,
            mark("8 x bytes / parameters"),
            note=note,
        ),
        parameters=count(weights.parameters, Unit.PARAMETERS),
        active=count(weights.active_parameters, Unit.PARAMETERS),
        weights_read=count(weights.read_per_token, Unit.BYTES),
        cache_far=cache_at(model, found.plan.settings, FAR),
        mechanism=mechanism(model),
    )


def cache_at(model: Model, settings: Settings, tokens: int) -> Number[int]:
    """Bytes of cache and state of one conversation so long, whatever the model was trained for."""
    facts = model.cache
    if not facts.known:
        note = facts.problem.message if facts.problem else mark("No rule covers this architecture.")
        return Number(None, Unit.BYTES, _CACHE, note=note)
    size = cache_size(facts, replace(cache_settings(settings), context=tokens, slots=1))
    trained = model.shape.context_length
    beyond = trained is not None and trained < tokens
    return Number(
        size.cache_bytes + size.state_bytes,
        Unit.BYTES,
        _CACHE,
        mark("cache + state of one conversation"),
        (
            Input(mark("tokens"), tokens, Unit.TOKENS),
            Input(mark("cache"), size.cache_bytes, Unit.BYTES),
            Input(mark("state"), size.state_bytes, Unit.BYTES),
            Input(mark("K type"), settings.cache_k),
            Input(mark("V type"), settings.cache_v),
        ),
        tr("It was trained for {count:,} tokens only.", count=trained) if beyond else "",
    )
