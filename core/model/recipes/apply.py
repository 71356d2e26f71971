"""A model as llama-quantize would make it from 16 bits: weights, sizes and refusals, remembered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple
from weakref import WeakKeyDictionary

from core.gguf.text import display
from core.gguf.types import BY_NAME
from core.language import tr
from core.model.file_size import file_bytes_as
from core.model.model import Model, Weights
from core.model.recipes.rules import BASE, RefusedError, Selection, choose_types
from core.model.recipes.subject import Subject, subject_from
from core.model.weights import weights_as
from core.problems import Problem, Severity

RECIPES: tuple[str, ...] = tuple(BASE)
"""The names that ``requantize`` takes, in llama-quantize's own order."""


class RecipeSize(NamedTuple):
    """What the tensors of a model weigh in one recipe, without header and padding."""

    ftype: str
    bytes: int
    needs_imatrix: bool


class _Made:
    """What was worked out for one model. It goes when the model goes."""

    def __init__(self, model: Model) -> None:
        self.subject: Subject = subject_from(model.file.header.metadata, model.file.tensors)
        self.weights: dict[tuple[str, bool], Weights | Problem] = {}
        self.sizes: dict[bool, tuple[RecipeSize, ...]] = {}


_made: WeakKeyDictionary[Model, _Made] = WeakKeyDictionary()


def requantize(model: Model, ftype: str, imatrix: bool = False) -> Weights | Problem:
    """The weights of ``model`` as llama-quantize writes them for ``ftype`` from a 16-bit file.

    A tensor that is quantized already counts as if it had been 16 bits before; one that recipes
    never change stays as it is. ``imatrix`` says that an importance matrix is given; where the
    recipe needs one and it is not, the weights are those of llama-quantize's dry run, with a
    Problem "needs-imatrix". A Problem instead of weights says why llama-quantize makes no such
    file. The answer is remembered as long as the model lives.
    """
    made = _of(model)
    answer = made.weights.get((ftype, imatrix))
    if answer is None:
        answer = made.weights[ftype, imatrix] = _requantize(model, made.subject, ftype, imatrix)
    return answer


def recipe_sizes(model: Model, imatrix: bool = False) -> tuple[RecipeSize, ...]:
    """The recipes that can be made of this model, the largest first."""
    made = _of(model)
    if imatrix not in made.sizes:
        found = sorted(_sizes(model, made.subject, imatrix), key=lambda s: (-s.bytes, s.ftype))
        made.sizes[imatrix] = tuple(found)
    return made.sizes[imatrix]


def _of(model: Model) -> _Made:
    made = _made.get(model)
    if made is None:
        made = _made[model] = _Made(model)
    return made


def _sizes(model: Model, subject: Subject, imatrix: bool) -> Iterator[RecipeSize]:
    tensors = model.file.tensors
    kept = zip(subject.kept, (tensor.shape for tensor in tensors), strict=True)
    always = _sum(Counter((name, shape) for name, shape in kept if name is not None))
    rows = [(row.index, tensors[row.index].shape) for row in subject.rows]
    for ftype in RECIPES:
        try:
            selection = choose_types(subject, ftype, imatrix)
        except RefusedError:
            continue
        changed = _sum(Counter((selection.types[index], shape) for index, shape in rows))
        yield RecipeSize(ftype, always + changed, bool(selection.imatrix_types))


def _sum(alike: Counter[tuple[str, tuple[int, ...]]]) -> int:
    """Bytes of so many tensors of each type and shape: few kinds, many tensors."""
    return sum(n * BY_NAME[name].tensor_bytes(shape) for (name, shape), n in alike.items())


def _requantize(model: Model, subject: Subject, ftype: str, imatrix: bool) -> Weights | Problem:
    where = display(str(model.file.header.path))
    if ftype not in BASE:
        return Problem(
            "unknown-recipe",
            tr("{name} is no quantization that llama-quantize knows.", name=display(ftype)),
            advice=tr("Choose one of {names}.", names=", ".join(RECIPES)),
            where=where,
        )
    try:
        selection = choose_types(subject, ftype, imatrix)
    except RefusedError as refusal:
        return Problem(
            "cannot-quantize",
            tr(
                "llama-quantize makes no {recipe} of this model: {reason}.",
                recipe=ftype,
                reason=display(str(refusal)),
            ),
            advice=tr("Choose another quantization."),
            where=where,
        )
    sizes = _bytes(model, selection)
    return weights_as(
        model,
        selection.types,
        sizes,
        label=ftype,
        file_bytes=file_bytes_as(model.file, sizes, imatrix),
        problems=tuple(_remarks(selection, ftype, where)),
    )


def _bytes(model: Model, selection: Selection) -> list[int]:
    """Of every tensor."""
    return [
        BY_NAME[name].tensor_bytes(tensor.shape)
        for name, tensor in zip(selection.types, model.file.tensors, strict=True)
    ]


def _remarks(selection: Selection, ftype: str, where: str) -> Iterator[Problem]:
    if selection.imatrix_types:
        counts = ", ".join(
            tr("{count:,} of {type}", count=n, type=kind)
            for kind, n in selection.imatrix_types.items()
        )
        yield Problem(
            "needs-imatrix",
            tr(
                "llama-quantize makes {recipe} of this model with an importance matrix only: "
                "there are tensors which it will not make without one ({counts}).",
                recipe=ftype,
                counts=counts,
            ),
            Severity.NOTE,
            advice=tr(
                "Make a matrix with llama-imatrix and pass it to llama-quantize with --imatrix."
            ),
            where=where,
        )
    if selection.fallbacks:
        total = len(selection.types)
        yield Problem(
            "row-fallback",
            tr(
                "{count:,} of {total:,} tensors have rows that the blocks of {recipe} do not "
                "divide; llama-quantize gives them another type, mostly a larger one.",
                count=selection.fallbacks,
                total=total,
                recipe=ftype,
            ),
            Severity.NOTE,
            where=where,
        )
