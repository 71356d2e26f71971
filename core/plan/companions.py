"""What is loaded beside the model: a projector, and what drafts.

A draft model is planned by the very functions that plan a model, with the context, slots and
batches of the one that it drafts for (llama.cpp b11434 copies them).
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from core.language import mark, tr
from core.machine.machine import Machine
from core.model.cache_size import CacheSize, draft_cache_size
from core.model.model import Model
from core.plan.buffers import buffer_sizes
from core.plan.choice import Choice, Engine
from core.plan.engines import RULES
from core.plan.matching import draft_problems, loads, projector_problems
from core.plan.placement import (
    Placement,
    WeightTable,
    draft_weights_by_device,
    is_cuda_like,
    place,
    weight_table,
)
from core.plan.plan import Part, PartKind, Settings
from core.plan.settings import fill, used_gpus
from core.plan.sizes import by_device, cache_settings, sizes_of
from core.problems import Problem, Severity
from core.provenance import Input, Number, Rank, Source, Unit

_INSIDE = Source(Rank.DERIVED, mark("the file's tensor table, placed as llama.cpp b11434 does"))
_PROJECTOR = Source(
    Rank.ESTIMATED,
    mark("weights of the projector, and the work buffer seen with one of 884 MiB"),
    "2026",
)
_PROJECTOR_FORMULA = mark("weights + work buffer")
# An F16 projector of 884 MiB took 1158 MiB on the card (unslothai/unsloth#6718).
_TAKEN, _WEIGHED = 1158, 884
_PROJECTOR_NOTE = mark(
    "Taken when the server starts or at the first image, whichever engine; large pictures take "
    "more. The work buffer follows the picture's size, which the file bounds and does not fix."
)
_DRAFT = Source(
    Rank.ESTIMATED,
    mark("the draft's own tensors, cache rule and graph, as llama.cpp b11434 loads them"),
)
_DRAFT_FORMULA = mark("weights + cache + state + work buffer + output buffer")
_HEAD_NOTE = mark(
    "The file's own draft blocks, which are loaded only to draft, with a cache of their own. "
    "llama.cpp b11434 reserves as much for all 12 cases that were asked."
)
_DRAFT_NOTE = mark(
    "Loaded by the same process: the driver's context is not taken twice. With several GPUs its "
    "layers are shared out as the model's are."
)
_OTHER_LOADERS = (Engine.IK_LLAMA, Engine.VLLM)
_UNKNOWN = mark("What the draft keeps or works with is not known.")


@dataclass(frozen=True, slots=True)
class Beside:
    """Parts by device, the devices that work on them, and what does not go together."""

    parts: tuple[tuple[Part, ...], ...]
    working: frozenset[int] = frozenset()
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class _Needs:
    """What a draft takes, by device; None where it is not known."""

    weights: list[int]
    cache: list[int] | None
    state: list[int] | None
    compute: list[int | None] | None
    output: int | None


def beside(
    model: Model,
    machine: Machine,
    choice: Choice,
    settings: Settings,
    placement: Placement,
    table: WeightTable,
) -> Beside:
    """What this choice loads beside the model."""
    parts: list[list[Part]] = [[] for _ in placement.devices]
    working: set[int] = set()
    problems: list[Problem] = []
    if choice.projector is not None:
        problems += projector_problems(model, choice.projector)
        gpus = used_gpus(machine, settings.backend) if settings.projector_on_gpu else ()
        number = gpus[0] if gpus else placement.host
        if loads(choice.projector, projector=True):
            working.add(number)
            parts[number].append(Part(PartKind.PROJECTOR, _projector(choice.projector)))
    elif table.projector:
        inside = Number(table.projector, Unit.BYTES, _INSIDE)
        parts[placement.output].append(Part(PartKind.PROJECTOR, inside))
    if choice.draft is not None:
        problems += draft_problems(model, choice.draft)
    if choice.draft is not None and loads(choice.draft, projector=False):
        made, own = draft_settings(choice.draft, machine, choice, settings)
        problems += own
        placed = place(choice.draft, machine, made)
        working |= {*placed.layers, placed.output}
        _add(parts, _draft_needs(choice.draft, placed, made), placement.host, made, _DRAFT_NOTE)
    if settings.draft_head:
        if settings.unified_cache and settings.slots > 1:
            problems.append(_older_builds(settings))
        made = _head_settings(settings)
        _add(parts, _head_needs(model, table, placement, made), placement.host, made, _HEAD_NOTE)
    other = RULES[choice.engine].name if choice.engine in _OTHER_LOADERS else ""
    if other and (choice.projector or choice.draft or settings.draft_head):
        problems.append(_own_way(other))
    return Beside(tuple(map(tuple, parts)), frozenset(working), tuple(problems))


def draft_settings(
    draft: Model, machine: Machine, choice: Choice, settings: Settings
) -> tuple[Settings, list[Problem]]:
    """The settings of a draft model's own context, and what the engine refuses about them."""
    own = Choice(
        context=settings.requested_context,
        cache_k=choice.draft_cache_k,
        cache_v=choice.draft_cache_v,
        flash_attention=choice.flash_attention,
        ubatch=settings.ubatch,
        batch=settings.batch,
        slots=settings.slots,
        unified_cache=settings.unified_cache,
        swa_full=choice.swa_full,
        engine=choice.engine,
        gpu_layers=choice.draft_gpu_layers,
        backend=choice.backend,
    )
    made, found = fill(draft, machine, own)
    refused = [p for p in found if p.severity is Severity.ERROR]
    return made, [
        replace(p, code="draft", message=tr("Draft model: {problem}", problem=p.message))
        for p in refused
    ]


def _head_settings(settings: Settings) -> Settings:
    """A draft head's context is the model's own, with cache types of its own."""
    return replace(
        settings,
        cache_k=settings.draft_cache_k or settings.cache_k,
        cache_v=settings.draft_cache_v or settings.cache_v,
        drafted=0,
    )


def _older_builds(settings: Settings) -> Problem:
    """ggml-org/llama.cpp#28630 and #29208, September 2026."""
    return Problem(
        "draft-head",
        tr(
            "Builds of llama.cpp before September 2026 take {count} times the draft's cache "
            "where slots share one pool, and some take it for every layer.",
            count=settings.slots,
        ),
        Severity.NOTE,
        tr("Check with the build that you run."),
    )


def _own_way(engine: str) -> Problem:
    return Problem(
        "beside",
        tr(
            "{engine} loads projectors and drafts in its own way: these parts are what llama.cpp "
            "takes.",
            engine=engine,
        ),
        Severity.NOTE,
    )


def _projector(projector: Model) -> Number[int]:
    weights = projector.weights.bytes
    buffer = weights * (_TAKEN - _WEIGHED) // _WEIGHED
    return Number(
        weights + buffer,
        Unit.BYTES,
        _PROJECTOR,
        _PROJECTOR_FORMULA,
        (
            Input(mark("weights"), weights, Unit.BYTES),
            Input(mark("work buffer"), buffer, Unit.BYTES),
        ),
        _PROJECTOR_NOTE,
    )


def _draft_needs(draft: Model, placed: Placement, settings: Settings) -> _Needs:
    table = weight_table(draft, draft.weights, is_cuda_like(settings.backend))
    sizes = sizes_of(draft, table, placed, settings)
    buffers = sizes.buffers
    return _Needs(
        sizes.weights,
        sizes.cache,
        sizes.state,
        [n.value for n in buffers.compute] if buffers else None,
        buffers.output.value if buffers else None,
    )


def _head_needs(
    model: Model, table: WeightTable, placement: Placement, settings: Settings
) -> _Needs:
    size: CacheSize = draft_cache_size(model.cache, cache_settings(settings))
    buffers = buffer_sizes(model, placement, settings, size, draft_head=True)
    return _Needs(
        draft_weights_by_device(table, placement),
        by_device(size.cache_by_layer, placement),
        None,
        [n.value for n in buffers.compute],
        buffers.output.value,
    )


def _add(parts: list[list[Part]], needs: _Needs, host: int, settings: Settings, note: str) -> None:
    """A part on every device that holds something of it."""
    for number, weights in enumerate(needs.weights):
        if needs.cache is None or needs.compute is None:
            if weights or number == host:
                unknown = Number[int](None, Unit.BYTES, _DRAFT, _DRAFT_FORMULA, note=_UNKNOWN)
                parts[number].append(Part(PartKind.DRAFT, unknown))
            continue
        state = needs.state[number] if needs.state else 0
        output = needs.output if number == host else 0
        sizes = (
            (mark("weights"), weights),
            (mark("cache"), needs.cache[number]),
            (mark("state"), state),
            (mark("work buffer"), needs.compute[number]),
            (mark("output buffer"), output),
        )
        if not any(size != 0 for _, size in sizes):
            continue
        known = [size for _, size in sizes if size is not None]
        value = sum(known) if len(known) == len(sizes) else None
        made = Number(
            value,
            Unit.BYTES,
            _DRAFT,
            _DRAFT_FORMULA,
            (
                Input(mark("context"), settings.context, Unit.TOKENS),
                Input(mark("K type"), settings.cache_k),
                Input(mark("V type"), settings.cache_v),
                *(Input(name, size, Unit.BYTES) for name, size in sizes if size != 0),
            ),
            note if value is not None else _UNKNOWN,
        )
        parts[number].append(Part(PartKind.DRAFT, made))


__all__ = ["Beside", "beside", "draft_settings"]
