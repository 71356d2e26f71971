"""Compute and output buffers: what llama.cpp reserves besides weights and cache."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from core.gguf.header import HELPERS
from core.language import mark, tr
from core.machine.machine import Backend
from core.model.cache_size import FP8, CacheSize
from core.model.model import Model
from core.plan.buffers.anatomy import Anatomy, dissect
from core.plan.buffers.compose import UnmodelledError, gives_embeddings, graph, is_encoder
from core.plan.buffers.parts import Shape
from core.plan.buffers.tape import HOST, Program, compile_tape, peaks
from core.plan.choice import Engine
from core.plan.engines import RULES
from core.plan.placement import HOST_ALIGNMENT, Placement, alignment
from core.plan.plan import Settings
from core.plan.settings import layer_count
from core.provenance import Input, Number, Rank, Source, Unit

_SOURCE = Source(
    Rank.ESTIMATED, mark("llama.cpp's graph allocator (b11434), walked over one layer of each kind")
)
_FORMULA = mark("most that is alive at once while a batch goes through the layers")
_OUTPUT_SOURCE = Source(Rank.DERIVED, mark("output buffer of llama.cpp b11434, in host memory"))
OUTPUT_FORMULA = mark("4 B x (vocabulary + embedding, where it is given out) x slots")
# bench.truth and tests/core/plan/test_against_llama_cpp.py
_ERROR = mark(
    "Of {buffers:,} buffers that llama.cpp itself reserves for 140 models, 99 % are met within "
    "2 %, most to the byte. A kind of layer that none of them has can be further off."
)
_BUFFERS = 13_542
_UNMODELLED = mark("The tensors and keys of this file make no graph that is known.")
_HELPER = mark("This file writes nothing by itself; its memory is added to that of a model.")
_NO_VOCABULARY = mark("The file does not say how many tokens its vocabulary has.")
_KEPT = 256  # compiled graphs per model
_PERIODS_KEPT = 2


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
    pipelined: bool
    aligned: int
    draft_head: bool


@dataclass(frozen=True, slots=True)
class _Walked:
    """A compiled graph, and the peaks of its devices by numbers of cells."""

    program: Program
    peaks: dict[tuple[int, ...], list[int]] = field(default_factory=dict)


_anatomies: WeakKeyDictionary[Model, dict[bool, Anatomy]] = WeakKeyDictionary()
_programs: WeakKeyDictionary[Model, OrderedDict[_Key, _Walked]] = WeakKeyDictionary()


def buffer_sizes(
    model: Model,
    placement: Placement,
    settings: Settings,
    size: CacheSize,
    *,
    draft_head: bool = False,
) -> BufferSizes:
    """Bytes that the engine reserves for its graph on every device, and for its logits.

    Exact for graphs that are modelled operation by operation; the note says how far to trust it.
    ``draft_head`` asks for the context of the file's draft blocks.
    """
    known = _anatomies.setdefault(model, {})
    anatomy = known.get(draft_head)
    if anatomy is None:
        anatomy = known[draft_head] = dissect(model, draft_head)
    cells, streams = anatomy.cells(size)
    shape = _shape(anatomy, settings, cells, streams)
    # The tape's device 0 is the host's memory pool; a unified machine has both in one memory.
    gpus = sorted({*placement.layers, placement.output})
    if not (placement.one_memory and settings.gpu_layers):
        gpus = [device for device in gpus if device != placement.host]
    number = {device: index + 1 for index, device in enumerate(gpus)}
    owners = tuple(number.get(placement.layers[layer.index], HOST) for layer in anatomy.layers)
    key = _Key(
        shape=shape,
        layers=owners,
        output=number.get(placement.output, HOST),
        pipelined=_is_pipelined(model, settings, gpus),
        aligned=alignment(settings.backend),
        draft_head=draft_head,
    )
    by_device: list[int | None] = [0] * len(placement.devices)
    note = tr(_ERROR, buffers=_BUFFERS)
    try:
        walked = _walked(model, anatomy, key, len(gpus) + 1)
        found = walked.peaks.get(cells)
        if found is None:
            aligned = [HOST_ALIGNMENT] + [key.aligned] * len(gpus)
            found = walked.peaks[cells] = peaks(walked.program, cells, aligned)
    except (UnmodelledError, OverflowError):
        note = _HELPER if model.file.kind in HELPERS else _UNMODELLED
        for device in (placement.host, *number):
            by_device[device] = None
    else:
        for device, index in ((placement.host, HOST), *number.items()):
            by_device[device] = (by_device[device] or 0) + found[index]
    inputs = (
        Input(mark("ubatch"), settings.ubatch, Unit.TOKENS),
        Input(mark("rows of logits"), shape.outputs),
        Input(mark("flash attention"), mark("on") if settings.flash_attention else mark("off")),
    )
    return BufferSizes(
        tuple(Number(n, Unit.BYTES, _SOURCE, _FORMULA, inputs, note) for n in by_device),
        _output(anatomy, settings),
    )


def _walked(model: Model, anatomy: Anatomy, key: _Key, devices: int) -> _Walked:
    """The compiled graph of these settings, made once."""
    known = _programs.setdefault(model, OrderedDict())
    walked = known.get(key)
    if walked is None:
        kept = _shortened(list(zip(anatomy.kinds, key.layers, strict=True)))
        layers = [(anatomy.layers[n], key.layers[n]) for n in kept]
        tape = graph(anatomy, key.shape, layers, key.output)
        walked = known[key] = _Walked(compile_tape(tape, devices, key.pipelined))
        if len(known) > _KEPT:
            known.popitem(last=False)
    return walked


def _is_pipelined(model: Model, settings: Settings, gpus: list[int]) -> bool:
    """Several GPUs with every layer on them work on batches one after the other
    (llama-context.cpp); experts kept in RAM prevent it."""
    whole = settings.gpu_layers == layer_count(model) and not settings.cpu_moe
    return len(gpus) > 1 and whole


def _shape(anatomy: Anatomy, settings: Settings, cells: tuple[int, ...], streams: int) -> Shape:
    rules = RULES[Engine(settings.engine)]
    tokens = min(settings.ubatch, settings.batch)
    whole = rules.whole_batch_logits or anatomy.has_encoder
    wanted = settings.batch if whole else settings.slots * (1 + settings.drafted)
    top = anatomy.integer("attention.indexer.top_k")
    return Shape(
        tokens=-(-tokens // settings.slots) * settings.slots,
        outputs=min(tokens, wanted),
        sequences=settings.slots,
        streams=streams,
        flash=settings.flash_attention,
        type_k=_stored(settings.cache_k),
        type_v=_stored(settings.cache_v),
        cuda=settings.backend in (Backend.CUDA, Backend.ROCM),
        few_cells=any(cells[n] < top for n in anatomy.index_caches),
    )


def _stored(kind: str) -> str:
    """fp8 is no type of the graph that is walked: it is read as it is, as f16 would be."""
    return "f16" if kind == FP8 else kind


def _shortened(kinds: list[tuple[int, int]]) -> list[int]:
    """Which layers to walk: of a long run of equal steps only its beginning and its end.

    Two periods are kept and an even number of them left out, so that blocks which change places
    from one layer to the next end where they would. The last layer always stays.
    """
    kept = list(range(len(kinds)))
    while True:
        here = [kinds[n] for n in kept[:-1]]
        drop, start = 0, 0
        for period in range(1, min(16, len(here) // 3) + 1):
            first = 0
            while first < len(here):
                end = first + period
                while end < len(here) and here[end] == here[end - period]:
                    end += 1
                spare = ((end - first) // period - _PERIODS_KEPT) // 2 * 2 * period
                if spare > drop:
                    drop, start = spare, first + period * _PERIODS_KEPT
                first = max(first + 1, end - period + 1)
        if not drop:
            return kept
        del kept[start : start + drop]


def _output(anatomy: Anatomy, settings: Settings) -> Number[int]:
    """Logits, and embeddings where the model gives them, for one row per slot."""
    rows = settings.slots
    width = anatomy.embedding if gives_embeddings(anatomy) else 0
    known = bool(anatomy.vocabulary) or is_encoder(anatomy)
    return Number(
        4 * (anatomy.vocabulary + width) * rows if known else None,
        Unit.BYTES,
        _OUTPUT_SOURCE,
        OUTPUT_FORMULA,
        (
            Input(mark("vocabulary"), anatomy.vocabulary),
            Input(mark("embedding"), width),
            Input(mark("slots"), rows),
        ),
        "" if known else _NO_VOCABULARY,
    )


__all__ = ["OUTPUT_FORMULA", "BufferSizes", "buffer_sizes"]
