"""Compute and output buffers: what llama.cpp reserves besides weights and cache."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from core.machine.machine import Backend
from core.model.cache_size import CacheSize
from core.model.model import Model
from core.plan.buffers.anatomy import Anatomy, LayerAnatomy, dissect
from core.plan.buffers.compose import graph
from core.plan.buffers.parts import Shape
from core.plan.buffers.tape import HOST, Program, compile_tape, peaks
from core.plan.choice import Engine
from core.plan.engines import RULES
from core.plan.placement import HOST_ALIGNMENT, Placement, alignment, is_cuda_like
from core.plan.plan import Settings
from core.provenance import Input, Number, Rank, Source, Unit

_SOURCE = Source(
    Rank.ESTIMATED, "llama.cpp's graph allocator (b11434), walked over one layer of each kind"
)
_FORMULA = "most that is alive at once while a batch goes through the layers"
_OUTPUT_SOURCE = Source(Rank.DERIVED, "output buffer of llama.cpp b11434, in host memory")
_OUTPUT_FORMULA = "4 B x vocabulary x slots"
_KEPT = 256  # compiled graphs per model


@dataclass(frozen=True, slots=True)
class BufferSizes:
    """Compute buffers by device (as the machine numbers them) and the host's output buffer."""

    compute: tuple[Number[int], ...]
    output: Number[int]


@dataclass(frozen=True, slots=True)
class _Key:
    """All that a graph depends on besides the number of cells."""

    shape: Shape
    layers: tuple[int, ...]
    output: int


_anatomies: WeakKeyDictionary[Model, Anatomy] = WeakKeyDictionary()
_programs: WeakKeyDictionary[Model, OrderedDict[_Key, Program]] = WeakKeyDictionary()


def buffer_sizes(
    model: Model, placement: Placement, settings: Settings, size: CacheSize
) -> BufferSizes:
    """Bytes that the engine reserves for its graph on every device, and for its logits.

    Exact for graphs that are modelled operation by operation; the note says how far to trust it.
    """
    anatomy = _anatomies.get(model)
    if anatomy is None:
        anatomy = _anatomies[model] = dissect(model)
    cells, streams = anatomy.cells(size)
    shape = _shape(anatomy, settings, cells, streams)
    devices = sorted({*placement.layers, placement.output} - {placement.host})
    owner = {device: number + 1 for number, device in enumerate(devices)}
    if not placement.one_memory:
        owner[placement.host] = HOST
    else:
        owner[placement.host] = 1 if settings.gpu_layers else HOST
    trunk = [owner[device] for device in placement.layers[: len(anatomy.layers)]]
    chosen = _representatives(anatomy, trunk)
    key = _Key(shape, tuple(trunk), owner[placement.output])
    programs = _programs.setdefault(model, OrderedDict())
    program = programs.get(key)
    if program is None:
        tape = graph(anatomy, shape, chosen, owner[placement.output])
        program = programs[key] = compile_tape(tape, len(owner) if HOST in owner.values() else 2)
        if len(programs) > _KEPT:
            programs.popitem(last=False)
    count = program.devices
    align = [HOST_ALIGNMENT] + [alignment(settings.backend)] * (count - 1)
    found = peaks(program, cells, align)
    by_device = [0] * len(placement.devices)
    for device, number in owner.items():
        by_device[device] += found[number]
    if (placement.one_memory and settings.gpu_layers) or HOST not in owner.values():
        by_device[placement.host] += found[HOST]
    inputs = (
        Input("ubatch", settings.ubatch, Unit.TOKENS),
        Input("rows of logits", shape.outputs),
        Input("flash attention", "on" if settings.flash_attention else "off"),
    )
    return BufferSizes(
        tuple(Number(n, Unit.BYTES, _SOURCE, _FORMULA, inputs, ERROR_NOTE) for n in by_device),
        _output(anatomy, settings),
    )


ERROR_NOTE = ""


def _shape(anatomy: Anatomy, settings: Settings, cells: tuple[int, ...], streams: int) -> Shape:
    rules = RULES[Engine(settings.engine)]
    tokens = min(settings.ubatch, settings.batch)
    wanted = settings.batch if rules.whole_batch_logits else settings.slots
    top = anatomy.integer("attention.indexer.top_k")
    return Shape(
        tokens=-(-tokens // settings.slots) * settings.slots,
        outputs=min(tokens, wanted),
        sequences=settings.slots,
        streams=streams,
        flash=settings.flash_attention,
        type_k=settings.cache_k,
        type_v=settings.cache_v,
        cuda=settings.backend in (Backend.CUDA, Backend.ROCM),
        few_cells=any(cells[n] < top for n in anatomy.index_caches),
    )


def _representatives(anatomy: Anatomy, devices: list[int]) -> list[tuple[LayerAnatomy, int]]:
    """Layers that show every step from one kind to the next twice, and the last one."""
    chosen: list[tuple[LayerAnatomy, int]] = []
    seen: dict[tuple[int, int, int, int], int] = {}
    before = (-1, -1)
    last = len(anatomy.layers) - 1
    for number, (layer, device) in enumerate(zip(anatomy.layers, devices, strict=True)):
        kind = (anatomy.kinds[number], device)
        step = (*before, *kind)
        count = seen[step] = seen.get(step, 0) + 1
        if count <= 2 or number == last:
            chosen.append((layer, device))
        before = kind
    return chosen


def _output(anatomy: Anatomy, settings: Settings) -> Number[int]:
    rows = settings.slots
    return Number(
        4 * anatomy.vocabulary * rows,
        Unit.BYTES,
        _OUTPUT_SOURCE,
        _OUTPUT_FORMULA,
        (Input("vocabulary", anatomy.vocabulary), Input("slots", rows)),
    )


__all__ = ["BufferSizes", "buffer_sizes", "is_cuda_like"]
