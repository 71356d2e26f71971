"""Models, machines and plans made by hand, for tests of what is drawn rather than computed.

The arithmetic is a deliberate simplification (one cache rule, everything on the first device):
these plans test the window, never the numbers.
"""

from __future__ import annotations

from pathlib import Path

from core.gguf.header import Header, Kind, ModelFile
from core.gguf.source import FilePlace
from core.machine.machine import Backend, Device, DeviceKind, Machine
from core.model.model import (
    CacheFacts,
    CacheGroup,
    FormatShare,
    Model,
    Role,
    Shape,
    WeightBlock,
    Weights,
)
from core.plan.choice import Choice
from core.plan.plan import (
    Band,
    DepthPoint,
    DevicePlan,
    MemoryPlan,
    Part,
    PartKind,
    Plan,
    Settings,
    SpeedPlan,
    Verdict,
)
from core.problems import Problem
from core.provenance import Input, Number, Rank, Source, Unit

FILE = Source(Rank.DERIVED, "file header")
SHEET = Source(Rank.DATASHEET, "maker's data sheet", "2020-09-01")
SYSTEM = Source(Rank.REPORTED, "the operating system")

# Bytes of one value in each cache type: block bytes over block length.
CACHE_BYTES = {
    "f32": 4.0,
    "f16": 2.0,
    "bf16": 2.0,
    "q8_0": 34 / 32,
    "q5_1": 24 / 32,
    "q5_0": 22 / 32,
    "q4_1": 20 / 32,
    "q4_0": 18 / 32,
    "iq4_nl": 18 / 32,
}


def bytes_number(value: int | None, *, note: str = "", formula: str = "") -> Number[int]:
    """A size."""
    return Number(value, Unit.BYTES, FILE, formula=formula, note=note)


def _unknown(unit: Unit) -> Number[float]:
    return Number(None, unit, SHEET, note="nobody has told")


def device(
    name: str,
    *,
    kind: DeviceKind = DeviceKind.HOST,
    memory: int | None = 32 * 2**30,
    used: int | None = 2**30,
    bandwidth: float | None = 51.2e9,
) -> Device:
    """One device; None where a figure is not known."""
    return Device(
        name=name,
        kind=kind,
        backend=Backend.CUDA if kind is DeviceKind.GPU else Backend.CPU,
        memory=Number(memory, Unit.BYTES, SHEET if memory else SYSTEM),
        used=Number(used, Unit.BYTES, SYSTEM),
        bandwidth=Number(
            bandwidth, Unit.BYTES_PER_SECOND, SHEET, note="" if bandwidth else "nobody has told"
        ),
    )


def machine(*devices: Device, id: str = "custom", name: str = "A test machine") -> Machine:
    """A machine of these devices; without any, a host with 32 GiB."""
    return Machine(id=id, name=name, devices=devices or (device("RAM"),))


RTX_3090 = machine(
    device("RTX 3090", kind=DeviceKind.GPU, memory=24 * 2**30, used=800 * 2**20, bandwidth=936e9),
    device("RAM", memory=64 * 2**30, used=6 * 2**30, bandwidth=51.2e9),
    id="nvidia-geforce-rtx-3090",
    name="RTX 3090",
)


def model(
    *,
    weights: int = 21_718_480_960,
    read: int = 2_400_000_000,
    layers: int = 40,
    cache_layers: int = 10,
    kv_width: int = 512,
    trained: int | None = 262_144,
    known: bool = True,
    label: str = "Q4_K_M",
    architecture: str = "qwen35moe",
    problems: tuple[Problem, ...] = (),
) -> Model:
    """A model by its totals; the defaults weigh what Qwen3.6-35B-A3B does."""
    parameters = 35_505_251_456
    header = Header(FilePlace(Path("model.gguf")), file_bytes=weights, modified_ns=0, version=3)
    return Model(
        file=ModelFile(header=header, headers=(header,), kind=Kind.MODEL, tensors=()),
        architecture=architecture,
        name="A test model",
        label=label,
        mix="",
        tied=False,
        shape=Shape(
            layers=layers,
            draft_layers=0,
            embedding=2048,
            context_length=trained,
            vocabulary=248_320,
            heads=(16,) * layers,
            kv_heads=(2,) * layers,
            key_length=256,
            value_length=256,
            feed_forward=(),
            experts=256,
            experts_used=8,
            expert_feed_forward=512,
        ),
        weights=Weights(
            label=label,
            blocks=(WeightBlock(None, Role.EXPERTS, weights, read, parameters, 3 * 10**9),),
            formats=(FormatShare("Q4_K", 753, parameters, weights),),
            tensor_types=(),
            tensor_bytes=(),
            bytes=weights,
            read_per_token=read,
            parameters=parameters,
            active_parameters=3 * 10**9,
            file_bytes=weights,
        ),
        cache=CacheFacts(
            known=known,
            groups=(CacheGroup("full", tuple(range(cache_layers)), kv_width, kv_width),)
            if known
            else (),
        ),
        tensor_roles=(),
        tensor_layers=(),
        tensor_reads=(),
        problems=problems,
    )


def resolve(model: Model, machine: Machine, choice: Choice) -> Plan:
    """Everything on the first device, one cache rule, no padding."""
    trained = model.shape.context_length
    context = choice.context or min(16_384, trained or 16_384)
    depth = context if choice.depth is None else choice.depth
    host = machine.devices[0]
    known = model.cache.known
    group = model.cache.groups[0] if known else None
    rows = len(group.layers) * group.k_width if group else 0
    per_k = round(rows * CACHE_BYTES[choice.cache_k])
    per_v = round(rows * CACHE_BYTES[choice.cache_v])
    cache = context * (per_k + per_v) if known else None
    rule = "" if known else f"What {model.architecture} keeps per token is not known."
    parts = (
        Part(PartKind.OTHERS, host.used),
        Part(PartKind.WEIGHTS, bytes_number(model.weights.bytes, formula="sum of all tensors")),
        Part(
            PartKind.CACHE,
            Number(
                cache,
                Unit.BYTES,
                FILE,
                formula="context × bytes per token",
                inputs=(Input("context", context, Unit.TOKENS),),
                note=rule,
            ),
        ),
        Part(PartKind.STATE, bytes_number(63 * 2**20)),
        Part(PartKind.COMPUTE, bytes_number(493 * 2**20)),
        Part(PartKind.OUTPUT, bytes_number(990_000)),
    )
    sizes = [part.bytes.value for part in parts]
    total = None if None in sizes else sum(size for size in sizes if size is not None)
    capacity = host.memory.value
    free = None if total is None or capacity is None else capacity - total
    verdict = Verdict.UNKNOWN
    if free is not None and capacity is not None:
        verdict = Verdict.FITS if free > capacity // 10 else Verdict.TIGHT
        if free < 0:
            verdict = Verdict.DOES_NOT_FIT
    placed = DevicePlan(host, parts, bytes_number(total, note=rule), bytes_number(free), verdict)
    others = tuple(
        DevicePlan(
            d,
            (Part(PartKind.OTHERS, d.used),),
            d.used,
            bytes_number(None if d.memory.value is None else d.memory.value - (d.used.value or 0)),
            Verdict.UNKNOWN if d.memory.value is None else Verdict.FITS,
            works=False,
        )
        for d in machine.devices[1:]
    )
    bandwidth = host.bandwidth.value
    layers = model.shape.layers + 1 if machine.gpus else 0

    def point(at: int) -> DepthPoint:
        if not known:
            return DepthPoint(at, None, None)
        read = model.weights.read_per_token + at * (per_k + per_v)
        return DepthPoint(at, read, bandwidth / read if bandwidth else None)

    depths = sorted({context * i // 128 for i in range(129)} | {depth})
    chosen = point(depth)
    no_rate = _unknown(Unit.TOKENS_PER_SECOND)
    return Plan(
        model=model,
        machine=machine,
        choice=choice,
        settings=Settings(
            requested_context=context,
            context=context,
            depth=depth,
            cache_k=choice.cache_k,
            cache_v=choice.cache_v,
            flash_attention=True,
            ubatch=choice.ubatch or 512,
            batch=choice.batch or 2048,
            slots=choice.slots or 1,
            unified_cache=True,
            swa_full=choice.swa_full,
            engine=choice.engine,
            requantize=choice.requantize,
            gpu_layers=layers if choice.gpu_layers == "all" else choice.gpu_layers,
            cpu_moe=choice.cpu_moe,
            backend=host.backend.value,
        ),
        weights=model.weights,
        memory=MemoryPlan(
            cache=bytes_number(cache, note=rule),
            cache_k=bytes_number(context * per_k if known else None),
            cache_v=bytes_number(context * per_v if known else None),
            cache_per_token=bytes_number(per_k + per_v if known else None),
            state=bytes_number(63 * 2**20),
            compute=bytes_number(493 * 2**20),
            output=bytes_number(990_000),
            total=bytes_number(total),
            devices=(placed, *others),
            verdict=verdict,
        ),
        speed=SpeedPlan(
            bytes_per_token=Number(chosen.bytes, Unit.BYTES, FILE, note=rule),
            ceiling=Number(
                chosen.tok_s,
                Unit.TOKENS_PER_SECOND,
                host.bandwidth.source,
                formula="bandwidth / bytes per token",
                inputs=(
                    Input("bandwidth", bandwidth, Unit.BYTES_PER_SECOND),
                    Input("bytes per token", chosen.bytes, Unit.BYTES),
                ),
                note=rule,
            ),
            expected=Band(no_rate, no_rate, no_rate),
            prefill=no_rate,
            ttft=_unknown(Unit.SECONDS),
            curve=tuple(point(at) for at in depths),
        ),
        verdict=verdict,
    )
