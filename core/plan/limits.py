"""What a platform or an engine does at the edge of a memory, beside the verdict itself."""

from __future__ import annotations

from core.language import listed, tr
from core.machine.machine import Backend, DeviceKind
from core.plan.choice import Engine
from core.plan.engines import RULES
from core.plan.growth import PROMPT_CACHE
from core.plan.plan import DevicePlan, MemoryPlan, PartKind, Settings, Verdict
from core.problems import Problem, Severity
from core.units import format_bandwidth, format_bytes

# PCIe 4.0 x16, bytes per second each way: the path of what a driver moves out of a full card.
_PCIE = 31.5e9


def problems_of(
    settings: Settings, memory: MemoryPlan, *, mixture: bool, layers: int
) -> tuple[Problem, ...]:
    """Limits that this budget meets, and what happens there. Of a ``mixture`` of experts a token
    reads a part only."""
    found = []
    for plan in memory.devices:
        if plan.works and plan.device.kind is DeviceKind.GPU:
            found += [_share(plan, settings), _spill(plan, mixture), _lent(plan)]
        found.append(_growth(plan, settings))
    found.append(_split_in_one_memory(settings, memory, layers))
    return tuple(problem for problem in found if problem is not None)


def _share(plan: DevicePlan, settings: Settings) -> Problem | None:
    """The engine's own share of a card is too small, whatever the card could hold."""
    rules = RULES[Engine(settings.engine)]
    capacity, total = plan.device.memory.value, plan.total.value
    if rules.reserved_share is None or capacity is None or total is None:
        return None
    others = sum(p.bytes.value or 0 for p in plan.parts if p.kind is PartKind.OTHERS)
    whole = int(capacity * rules.reserved_share)
    if total - others <= whole:
        return None
    return Problem(
        "reserved-share",
        tr(
            "{engine} takes {share:.0%} of {device} and needs more: {needed} of {room}. It ends "
            "without a cache.",
            engine=rules.name,
            share=rules.reserved_share,
            device=tr(plan.device.name),
            needed=format_bytes(total - others),
            room=format_bytes(whole),
        ),
        advice=tr("Choose a smaller context, or raise --gpu-memory-utilization."),
    )


def _spill(plan: DevicePlan, mixture: bool) -> Problem | None:
    """What Windows does where Linux fails: it moves what is too much out of a graphics card."""
    free = plan.free.value
    if plan.verdict is not Verdict.DOES_NOT_FIT or plan.device.unified or free is None:
        return None
    link = plan.device.link
    rate = link.most.value if link is not None else None
    path = tr("PCIe at {rate}", rate=format_bandwidth(rate)) if rate else "PCIe 4.0 x16"
    by = rate or _PCIE
    cost = (
        tr("each GiB that a token reads of it takes {time:.0f} ms", time=1000 * 2**30 / by)
        if mixture
        else tr("at least {time:,.0f} ms a token", time=1000 * -free / by)
    )
    return Problem(
        "shared-memory",
        tr(
            "Linux refuses what {device} cannot hold; Windows moves it to RAM without a word: "
            "{cost} over {path}.",
            device=tr(plan.device.name),
            cost=cost,
            path=path,
        ),
        Severity.NOTE,
    )


def _split_in_one_memory(settings: Settings, memory: MemoryPlan, layers: int) -> Problem | None:
    """Both processors read the same memory: a split brings no bandwidth, and cost half of the speed
    of the processor alone on an Arc 140T."""
    gpus = [d.device for d in memory.devices if d.device.kind is DeviceKind.GPU]
    if not gpus or not all(d.unified for d in gpus) or settings.backend == Backend.CPU:
        return None
    parted = 0 < settings.gpu_layers < layers
    if not parted and not settings.cpu_moe:
        return None
    return Problem(
        "one-memory",
        tr(
            "{device} and the processor read the same memory: a split between them reads no "
            "faster, and runs that were measured were slower than either alone.",
            device=tr(gpus[0].name),
        ),
        Severity.NOTE,
        tr("Choose all layers on the GPU, or the cpu backend, and measure both."),
    )


def _lent(plan: DevicePlan) -> Problem | None:
    """A graphics device beside the RAM gets a part of it, which settings of the system decide."""
    device, total = plan.device, plan.total.value
    if not device.unified or device.backend not in (Backend.VULKAN, Backend.ROCM, Backend.SYCL):
        return None
    capacity = device.memory.value
    if capacity is None or total is None or not capacity // 2 < total <= capacity:
        return None
    return Problem(
        "lent-memory",
        tr(
            "This needs {size}, more than the half of its memory that a system lends "
            "{device} unless told otherwise.",
            size=format_bytes(total),
            device=tr(device.name),
        ),
        Severity.WARNING,
        tr(
            "Raise the GTT limit (ttm.pages_limit) on Linux, or the memory that the firmware sets "
            "aside for graphics."
        ),
    )


def _growth(plan: DevicePlan, settings: Settings) -> Problem | None:
    """Prompts and checkpoints that the engine keeps may take more RAM than is left. Half of the
    computer's RAM for prompts is worth a word as well: other programs grow too."""
    free, capacity = plan.free.value, plan.device.memory.value
    bound = sum(each.bytes.value or 0 for each in plan.growth)
    if not bound or free is None or capacity is None or free < 0:
        return None
    prompts = sum(each.bytes.value or 0 for each in plan.growth if each.name == PROMPT_CACHE)
    if bound <= free and 2 * prompts < capacity:
        return None
    rules = RULES[Engine(settings.engine)]
    return Problem(
        "growth",
        tr(
            "In use, {engine} keeps more in RAM: {names}, up to {bound} where {free} is free.",
            engine=rules.name,
            names=listed([tr(each.name) for each in plan.growth]),
            bound=format_bytes(bound),
            free=format_bytes(free),
        ),
        Severity.NOTE if bound <= free else Severity.WARNING,
        _limits(plan, settings),
    )


def _limits(plan: DevicePlan, settings: Settings) -> str:
    option = tr(RULES[Engine(settings.engine)].prompt_cache_option)
    if len(plan.growth) > 1:
        return tr("Limit it with {option} (MiB, 0 for none) and --ctx-checkpoints.", option=option)
    return tr("Limit it with {option} (MiB, 0 for none).", option=option)
