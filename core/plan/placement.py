"""Which device holds which layer, and what its weights weigh there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from core.gguf.types import BY_NAME
from core.machine.machine import Backend, Device, DeviceKind, Machine
from core.model.cache_size import GroupSize
from core.model.model import CacheGroup, Model, Role, Weights
from core.plan.plan import Settings
from core.plan.settings import layer_count, used_gpus

# Tensors that stay on the host and those that go with the output layer, by the layer that
# llama.cpp gives them (llama-arch.cpp); whatever else belongs to no layer goes with the first one.
_INPUT = frozenset(["token_embd", "position_embd", "token_types", "per_layer_token_embd"])
_OUTPUT_PREFIXES = (
    "output",
    "cls",
    "dense_",
    "dec.output_norm",
    "enc.output_norm",
    "hc_head",
    "altup_proj",
    "altup_unembd_proj",
)
# The factors of a rotation, which every layer reads: each device has its own.
_EVERYWHERE = ("rope_freqs", "rope_factors_")
# The token embedding is loaded as the output as well, though its graph has none.
_LOADED_TWICE = frozenset(("gemma-embedding",))
ROW_PADDING = 512  # elements; ggml-cuda.cu, MATRIX_ROW_PADDING
HOST_ALIGNMENT = 32  # bytes; ggml-impl.h, TENSOR_ALIGNMENT
_CUDA_ALIGNMENT = 128  # bytes; ggml-cuda.cu, ggml_backend_cuda_buffer_type_get_alignment
_UNPACKED = frozenset(("F32", "F16", "BF16", "F64", "I8", "I16", "I32", "I64"))
_CUDA_LIKE = frozenset((Backend.CUDA.value, Backend.ROCM.value, Backend.SYCL.value))


def is_cuda_like(backend: str) -> bool:
    """Whether a backend aligns to 128 bytes and pads the last row of a quantized tensor."""
    return backend in _CUDA_LIKE


def alignment(backend: str) -> int:
    """Bytes that a device's buffers are aligned to."""
    return _CUDA_ALIGNMENT if is_cuda_like(backend) else HOST_ALIGNMENT


@dataclass(frozen=True, slots=True)
class Placement:
    """Layers by device. ``devices`` are the machine's; the numbers index them.

    ``layers`` has one entry per layer of the engine, draft blocks included. ``one_memory`` is
    True where GPU and host are the same device. ``experts_on_host`` is how many first layers keep
    their experts in RAM.
    """

    devices: tuple[Device, ...]
    host: int
    layers: tuple[int, ...]
    output: int
    experts_on_host: int
    one_memory: bool

    @property
    def first(self) -> int:
        """Where tensors of no layer go."""
        return self.layers[0] if self.layers else self.output


def place(model: Model, machine: Machine, settings: Settings) -> Placement:
    """Give every layer a device: the last ones to the GPUs, the output layer first of all.

    Several GPUs share their layers by free memory (llama-model.cpp, tensor split by default).
    """
    devices = machine.devices
    gpus = used_gpus(machine, settings.backend)
    count = layer_count(model)
    host = len(devices) - 1
    start = count - settings.gpu_layers
    owners = [host] * start
    if settings.gpu_layers:
        ends = _shares([devices[gpu] for gpu in gpus])
        owners += [
            gpus[min(bisect_right(ends, position / settings.gpu_layers), len(gpus) - 1)]
            for position in range(settings.gpu_layers)
        ]
    return Placement(
        devices=devices,
        host=host,
        layers=tuple(owners[:-1]),
        output=owners[-1],
        experts_on_host=settings.cpu_moe,
        one_memory=len(devices) == 1,
    )


def _shares(gpus: Sequence[Device]) -> list[float]:
    """Where each GPU's share of the layers ends, from 0 to 1."""
    free = [(gpu.memory.value or 0) - (gpu.used.value or 0) for gpu in gpus]
    if any(size <= 0 for size in free):
        free = [1] * len(gpus)
    total = sum(free)
    ends, reached = [], 0
    for size in free:
        reached += size
        ends.append(reached / total)
    return ends


@dataclass(frozen=True, slots=True)
class _LayerBytes:
    """One layer (or what belongs to none): padded for a GPU and for the host, experts apart."""

    gpu: int
    host: int
    gpu_experts: int
    host_experts: int
    read: int
    read_experts: int


@dataclass(frozen=True, eq=False)
class WeightTable:
    """Bytes of weights by where llama.cpp puts them, for one kind of backend.

    ``everywhere`` is on every device that has layers; ``inputs`` stay on the host; ``looked_up``
    is what decoding reads of them row by row. ``tied`` is the token embedding as a GPU keeps it
    once more for the output, 0 where it is not tied. ``projector`` are vision tensors inside the
    file. ``draft`` are its draft blocks by layer, padded for a GPU and for the host: they are
    loaded only where they draft.
    """

    layers: tuple[_LayerBytes, ...]
    first: _LayerBytes
    output: _LayerBytes
    everywhere: _LayerBytes
    inputs: int
    looked_up: int
    tied: int
    tied_read: int
    projector: int
    draft: tuple[tuple[int, int], ...]


_tables: WeakKeyDictionary[Weights, dict[bool, WeightTable]] = WeakKeyDictionary()


def weight_table(model: Model, weights: Weights, cuda: bool) -> WeightTable:
    """The table of these weights, made once."""
    known = _tables.setdefault(weights, {})
    table = known.get(cuda)
    if table is None:
        table = known[cuda] = _make_table(model, weights, cuda)
    return table


def _make_table(model: Model, weights: Weights, cuda: bool) -> WeightTable:
    count = layer_count(model) - 1
    gpu = [0] * count
    host = [0] * count
    gpu_experts = [0] * count
    host_experts = [0] * count
    read = [0] * count
    read_experts = [0] * count
    sums: dict[str, list[int]] = {name: [0, 0] for name in ("first", "output")}
    everywhere = [0, 0]
    inputs = tied = projector = 0
    draft = [[0, 0] for _ in range(count)]
    align = _CUDA_ALIGNMENT if cuda else HOST_ALIGNMENT
    lfm2 = model.architecture.startswith("lfm2")
    rows = zip(
        model.file.tensors,
        weights.tensor_types,
        weights.tensor_bytes,
        model.tensor_roles,
        model.tensor_layers,
        strict=True,
    )
    for tensor, type_name, size, role, layer in rows:
        on_host = _pad(size, HOST_ALIGNMENT)
        on_gpu = _pad(size + (_row_padding(type_name, tensor.shape) if cuda else 0), align)
        name = tensor.name.removesuffix(".weight").removesuffix(".bias")
        if role is Role.DRAFT and not _loaded_anyway(model.architecture, name):
            if count:
                both = draft[layer if layer is not None and layer < count else -1]
                both[0] += on_gpu
                both[1] += on_host
        elif role is Role.VISION:
            projector += on_gpu
        elif layer is not None and layer < count:
            if _is_expert(tensor.name):
                gpu_experts[layer] += on_gpu
                host_experts[layer] += on_host
            else:
                gpu[layer] += on_gpu
                host[layer] += on_host
        elif name.startswith(_EVERYWHERE):
            everywhere[0] += on_gpu
            everywhere[1] += on_host
        elif name in _INPUT:
            inputs += on_host
            if name == "token_embd" and (model.tied or model.architecture in _LOADED_TWICE):
                tied = on_gpu
        else:
            with_output = name.startswith(_OUTPUT_PREFIXES) or (lfm2 and name == "token_embd_norm")
            both = sums["output" if with_output else "first"]
            both[0] += on_gpu
            both[1] += on_host
    looked_up = tied_read = first_read = output_read = 0
    for block in weights.blocks:
        if block.role in (Role.EMBEDDING, Role.LAYER_EMBEDDING):
            looked_up += block.read_bytes
        elif block.role is Role.HEAD and model.tied:
            tied_read += block.read_bytes
        elif block.layer is not None and block.layer < count:
            if block.role is Role.EXPERTS:
                read_experts[block.layer] += block.read_bytes
            else:
                read[block.layer] += block.read_bytes
        elif block.role in (Role.HEAD, Role.NORMS):
            output_read += block.read_bytes
        else:
            first_read += block.read_bytes
    return WeightTable(
        layers=tuple(
            _LayerBytes(*six)
            for six in zip(gpu, host, gpu_experts, host_experts, read, read_experts, strict=True)
        ),
        first=_LayerBytes(sums["first"][0], sums["first"][1], 0, 0, first_read, 0),
        output=_LayerBytes(sums["output"][0], sums["output"][1], 0, 0, output_read, 0),
        everywhere=_LayerBytes(everywhere[0], everywhere[1], 0, 0, 0, 0),
        inputs=inputs,
        looked_up=looked_up,
        tied=tied,
        tied_read=tied_read,
        projector=projector,
        draft=tuple((on_gpu, on_host) for on_gpu, on_host in draft),
    )


def _loaded_anyway(architecture: str, name: str) -> bool:
    """glm-dsa loads the indexer's norm of a draft block that it leaves out (glm-dsa.cpp)."""
    return architecture == "glm-dsa" and name.endswith("indexer.k_norm")


def _is_expert(name: str) -> bool:
    """What --n-cpu-moe keeps in RAM (common.h, LLM_FFN_EXPS_REGEX)."""
    parts = name.split(".")
    return len(parts) > 2 and parts[2] in _EXPERTS


_EXPERTS = frozenset(
    f"ffn_{what}_{chunk}exps" for what in ("up", "down", "gate", "gate_up") for chunk in ("", "ch")
)


def _row_padding(type_name: str, shape: Sequence[int]) -> int:
    """Bytes that ggml-cuda adds behind a quantized tensor whose rows are no multiple of 512."""
    over = shape[0] % ROW_PADDING if shape else 0
    if not over or type_name in _UNPACKED or type_name not in BY_NAME:
        return 0
    return BY_NAME[type_name].row_bytes(ROW_PADDING - over)


def _pad(size: int, to: int) -> int:
    return -(-size // to) * to


def cache_padding(
    groups: Sequence[CacheGroup],
    sizes: Sequence[GroupSize],
    placement: Placement,
    type_k: str,
    type_v: str,
    flash: bool,
) -> tuple[list[int], list[int]]:
    """Bytes that ggml-cuda adds behind each layer's K and V tensor, by device.

    As behind weights: where a quantized row is no multiple of 512. None in RAM.
    """
    k_sizes = [0] * len(placement.devices)
    v_sizes = [0] * len(placement.devices)
    for group, size in zip(groups, sizes, strict=True):
        v_width = group.v_width if flash else group.v_width_padded
        k_bytes = size.k_bytes // len(group.layers)
        v_bytes = size.v_bytes // len(group.layers)
        k_pad = _behind(k_bytes, type_k, group.k_width)
        v_pad = _behind(v_bytes, type_v, v_width)
        if k_pad or v_pad:
            for layer in group.layers:
                device = placement.layers[layer]
                if placement.devices[device].kind is DeviceKind.GPU:
                    k_sizes[device] += k_pad
                    v_sizes[device] += v_pad
    return k_sizes, v_sizes


def _behind(size: int, cache_type: str, width: int) -> int:
    whole = size + _row_padding(cache_type.upper(), (width,))
    return _pad(whole, _CUDA_ALIGNMENT) - size


def weights_by_device(table: WeightTable, placement: Placement) -> list[int]:
    """Bytes of weights on every device."""
    sizes = [0] * len(placement.devices)
    host = placement.host
    for number, (layer, device) in enumerate(zip(table.layers, placement.layers, strict=True)):
        if device == host and not placement.one_memory:
            sizes[host] += layer.host + layer.host_experts
        elif number < placement.experts_on_host:
            sizes[device] += layer.gpu
            sizes[host] += layer.host_experts
        else:
            sizes[device] += layer.gpu + layer.gpu_experts
    parts = [(table.first, placement.first), (table.output, placement.output)]
    parts += [(table.everywhere, device) for device in sorted({*placement.layers})]
    for part, device in parts:
        on_host = device == host and not placement.one_memory
        sizes[device] += part.host if on_host else part.gpu
    sizes[host] += table.inputs
    if table.tied and (placement.output != host or _keeps_two(placement)):
        sizes[placement.output] += table.tied
    return sizes


def draft_weights_by_device(table: WeightTable, placement: Placement) -> list[int]:
    """Bytes of the file's draft blocks on every device, each on that of its layer."""
    sizes = [0] * len(placement.devices)
    for (on_gpu, on_host), device in zip(table.draft, placement.layers, strict=True):
        on_ram = device == placement.host and not placement.one_memory
        sizes[device] += on_host if on_ram else on_gpu
    return sizes


def _keeps_two(placement: Placement) -> bool:
    """Metal maps the file once; other GPUs beside the RAM copy the tied embedding."""
    return placement.one_memory and placement.devices[0].backend not in (
        Backend.METAL,
        Backend.CPU,
    )


def reads_by_device(table: WeightTable, placement: Placement) -> list[int]:
    """Bytes of weights that decoding one token reads on every device.

    A row that is looked up is charged to the device that takes it.
    """
    reads = [0] * len(placement.devices)
    for number, (layer, device) in enumerate(zip(table.layers, placement.layers, strict=True)):
        reads[device] += layer.read
        experts = placement.host if number < placement.experts_on_host else device
        reads[experts] += layer.read_experts
    reads[placement.first] += table.first.read + table.looked_up
    reads[placement.output] += table.output.read + table.tied_read
    return reads
