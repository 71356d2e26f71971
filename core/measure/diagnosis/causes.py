"""Rules about the computer: memory, clocks, other programs, power."""

from __future__ import annotations

from statistics import median

from core.language import mark, tr, written
from core.measure import metrics
from core.measure.diagnosis.facts import Facts, Finding, spread_of
from core.measure.run import SampleKind
from core.units import UnitSystem, format_bytes, format_share

_GIB = UnitSystem.GIB
# Drivers keep some MB in RAM for any program.
_SPILL = 256 * 2**20
_FULL = 0.97
# Decoding reads a card's own memory nearly all the time; a card that waits for RAM does not
# (AtomicBot-ai/atomic-llama-cpp-turboquant#77: 98 % busy, memory 2 %).
_IDLE = 0.1
_FAR_APART = 0.15
_HALF, _QUARTER = (0.38, 0.56), (0.19, 0.28)


def spill(f: Facts) -> Finding | None:
    """The driver keeps a part of what belongs on the card in RAM."""
    if not f.on_gpu or (f.plan is not None and f.plan.unified):
        return None
    for gpu in f.gpus:
        spilled = gpu.values(lambda g: g.spilled)
        grown = max(spilled) - min(spilled) if spilled else 0
        most = max(spilled, default=0)
        used, total = gpu.values(lambda g: g.memory_used), gpu.values(lambda g: g.memory_total)
        full = max(used) / total[0] if used and total else None
        falls = len(f.shares) > 1 and f.shares[-1] < 0.6 * f.shares[0]
        low = bool(f.shares) and f.shares[-1] < 0.35
        use, memory_use = gpu.typical(lambda g: g.use), gpu.typical(lambda g: g.memory_use)
        idle = use is not None and memory_use is not None and use > 0.9 and memory_use < _IDLE
        words = []
        if (grown > _SPILL or most > 2 * _SPILL) and (full is None or full > 0.9):
            words.append(_spilled(gpu.name, most, grown))
        elif not (full is not None and full >= _FULL and (idle or (falls and low))):
            continue
        if full is not None:
            words.append(tr("Its own memory is {share} full.", share=format_share(full)))
        if idle:
            words.append(
                tr(
                    "It was busy {busy} of the time and its memory only {memory}: it waits for "
                    "something else.",
                    busy=format_share(use or 0),
                    memory=format_share(memory_use or 0),
                )
            )
        link = gpu.typical(lambda g: g.link_received)
        if link is not None and link > 1e9:
            words.append(tr("{rate:.1f} GB/s came over PCI Express.", rate=link / 1e9))
        if falls:
            words.append(
                tr(
                    "The share of the ceiling falls from {shallow} to {deep} with depth.",
                    shallow=format_share(f.shares[0]),
                    deep=format_share(f.shares[-1]),
                )
            )
        return Finding(
            "spill",
            tr("The driver spills into system RAM."),
            " ".join(words),
            tr(
                "What lies there is read over PCI Express for every token, at about 30 GB/s where "
                "the card reads at hundreds. Reduce the context or the GPU layers; on Windows set "
                "the driver's system memory fallback to none, so that it fails instead."
            ),
            amber=True,
        )
    return None


def _spilled(gpu: str, most: float, grown: float) -> str:
    size = format_bytes(round(most), _GIB)
    if not grown:
        return tr("{gpu} uses {size} of RAM as if it were its own.", gpu=gpu, size=size)
    return tr(
        "{gpu} uses {size} of RAM as if it were its own, {grown} more than at first.",
        gpu=gpu,
        size=size,
        grown=format_bytes(round(grown), _GIB),
    )


def single_stick(f: Facts) -> Finding | None:
    """A run in RAM at a flat half (or quarter) of what its channels would give."""
    plan = f.plan
    if plan is None or f.on_gpu or plan.bandwidth_measured or len(f.shares) < 1:
        return None
    share = median(f.shares)
    half, quarter = (low <= share <= high for low, high in (_HALF, _QUARTER))
    if not (half or quarter) or spread_of(f.shares) > 0.2 or not plan.several_channels:
        return None
    return Finding(
        "single-stick",
        tr(
            "It reaches half of the ceiling at every depth: perhaps not all memory channels have "
            "a stick."
        )
        if half
        else tr(
            "It reaches a quarter of the ceiling at every depth: perhaps not all memory channels "
            "have a stick."
        ),
        tr(
            "{shares} of {bandwidth}, which is computed from the sticks and not measured.",
            shares=", ".join(map(format_share, f.shares)),
            bandwidth=_bandwidth(plan.bandwidth),
        ),
        tr(
            "Measure the memory bandwidth (menu Machine). If it is half as well, put a second "
            "stick into the other channel."
        ),
        amber=True,
    )


def throttle(f: Facts) -> Finding | None:
    """Clocks were held back, or fell, while it ran."""
    words: list[str] = []
    hot = power = False
    for gpu in f.gpus:
        for reason, share in gpu.reasons():
            if share >= 0.2:
                hot = hot or reason != "power"
                power = power or reason == "power"
                words.append(
                    tr(
                        "{gpu}: held back by {reason} {share} of the time.",
                        gpu=gpu.name,
                        reason=tr(_REASONS.get(reason, reason)),
                        share=format_share(share),
                    )
                )
        clocks = gpu.thirds(lambda g: g.clock)
        if clocks is not None and clocks[1] < 0.85 * clocks[0]:
            hot = True
            words.append(
                tr(
                    "{gpu}: its clock fell from {first:,.0f} to {last:,.0f} MHz.",
                    gpu=gpu.name,
                    first=clocks[0],
                    last=clocks[1],
                )
            )
    rates = _thirds(f)
    if rates is not None and rates[1] < 0.97 * rates[0]:
        cold, steady = rates
        words.append(
            tr(
                "Cold {cold:.1f}, steady {steady:.1f} passes/s ({change:+.0f} %).",
                cold=cold,
                steady=steady,
                change=100 * (steady / cold - 1),
            )
        )
        hot = hot or bool(f.gpus)
    if hot:
        return Finding(
            "throttle",
            tr("It slowed down while it ran."),
            " ".join(words),
            tr(
                "The steady figure is the one to plan with. Let it cool down, clean the fans, or "
                "lower the power limit, and measure again."
            ),
            amber=True,
        )
    if power:
        return Finding(
            "power-cap",
            tr("The GPU reached its power limit."),
            " ".join(words),
            tr("Raising the limit changes little for decoding, which waits for memory."),
        )
    return None


_REASONS = {
    "heat": mark("heat"),
    "power": mark("its power limit"),
    "hardware": mark("the hardware (power or heat)"),
}


def paging(f: Facts) -> Finding | None:
    """The model is read from disk while it writes."""
    faults = f.gained(lambda r: r.major_faults)
    read = f.gained(lambda r: r.read_bytes)
    swap = f.gained(lambda r: r.swap_used)
    words = []
    if read is not None and read > 512 * 2**20:
        size = format_bytes(round(read), _GIB)
        words.append(tr("{size} were read from disk while it ran.", size=size))
    if faults is not None and faults > 1000:
        words.append(tr("{pages:,.0f} pages had to be fetched.", pages=faults))
    if swap is not None and swap > 256 * 2**20:
        words.append(tr("Swap grew by {size}.", size=format_bytes(round(swap), _GIB)))
    pressure = f.typical(lambda r: r.memory_pressure)
    if pressure is not None and pressure > 0.1:
        share = format_share(pressure)
        words.append(tr("Programs waited for memory {share} of the time.", share=share))
    if not words:
        return None
    return Finding(
        "paging",
        tr("The model does not stay in RAM: it is read from disk again and again."),
        " ".join(words),
        tr(
            "Close other programs, or choose a smaller file or context. --mlock keeps it in RAM "
            "where there is room."
        ),
        amber=True,
    )


def busy(f: Facts) -> Finding | None:
    """Other programs took the processor."""
    other = f.typical(lambda r: r.other_cpu)
    pressure = f.typical(lambda r: r.cpu_pressure)
    words = []
    if other is not None and other > 0.15:
        share = format_share(other)
        words.append(tr("Other programs used {share} of the processor.", share=share))
    if pressure is not None and pressure > 0.25:
        share = format_share(pressure)
        words.append(tr("Programs waited for the processor {share} of the time.", share=share))
    if not words:
        return None
    spreads = [s for cell in f.run.cells if (s := metrics.spread(cell)) is not None]
    if spreads and max(spreads) > 0.05:
        words.append(tr("Equal requests differ by {share}.", share=format_share(max(spreads))))
    return Finding(
        "busy",
        tr("The computer was busy with something else."),
        " ".join(words),
        tr(
            "Close other programs and measure again; on a CPU give the server fewer threads than "
            "there are cores (-t)."
        ),
        amber=True,
    )


def battery(f: Facts) -> Finding | None:
    """Laptops run slower without their charger."""
    told = [r for r in f.readings if r.on_battery]
    if not told:
        return None
    level = told[-1].battery
    return Finding(
        "battery",
        tr("The computer ran on its battery."),
        tr("Charge {share}.", share=format_share(level)) if level is not None else "",
        tr("Most laptops hold their clocks back then. Plug it in and measure again."),
        amber=True,
    )


def memory_figures(f: Facts) -> Finding | None:
    """Whose figure of the memory in use is right, where they are far apart."""
    told = f.target.gpu_bytes or f.target.loaded_bytes
    used = [max(v) for gpu in f.gpus if (v := gpu.values(lambda g: g.memory_used))]
    if told is None or not used or not f.on_gpu:
        return None
    driver = sum(used)
    if abs(told / driver - 1) < _FAR_APART:
        return None
    words = [
        tr(
            "The server counts {theirs}; the driver has {used} in use, by all programs.",
            theirs=format_bytes(told, _GIB),
            used=format_bytes(round(driver), _GIB),
        )
    ]
    if f.plan is not None and f.plan.total:
        words.append(tr("The plan has {size} in all.", size=format_bytes(f.plan.total, _GIB)))
    return Finding(
        "memory-figures",
        tr("The server's own figure of its memory is not what the driver says."),
        " ".join(words),
        tr(
            "The driver is right. Part by part: Check with llama.cpp (Ctrl+K), with the server's "
            "log."
        ),
    )


def launch_overhead(f: Facts) -> Finding | None:
    """A small model on a fast GPU waits for its own launches."""
    plan = f.plan
    if plan is None or not f.on_gpu or not plan.weights or plan.weights > 3e9 or not f.shares:
        return None
    use = f.gpus[0].typical(lambda g: g.use) if f.gpus else None
    if f.shares[0] > 0.5 or use is None or use > 0.75:
        return None
    return Finding(
        "overhead",
        tr("The fixed cost of every token weighs more than its bytes."),
        tr(
            "The file has {size}; the GPU was busy {busy} of the time and reaches {share} of the "
            "ceiling at the least depth.",
            size=format_bytes(plan.weights, _GIB),
            busy=format_share(use),
            share=format_share(f.shares[0]),
        ),
        tr(
            "That is usual for small models on fast cards; several requests at the same time use "
            "the rest."
        ),
    )


def slower_after(f: Facts) -> Finding | None:
    """Slow from some depth on, and slow for good: what a long prompt left behind."""
    if len(f.points) < 2:
        return None
    first = f.points[0].cell
    before = [r for s in first.measured if (r := metrics.step_rate(s))]
    again = [s for s in first.samples if s.kind is SampleKind.AGAIN and s.sound]
    after = [r for s in again if (r := metrics.step_rate(s))]
    if not before or not after or median(after) >= 0.8 * median(before):
        return None
    grown = [max(used) - used[0] for gpu in f.gpus if (used := gpu.values(lambda g: g.memory_used))]
    words = [
        tr(
            "At depth {depth:,}: {before:.1f} passes/s before, {after:.1f} after the deepest.",
            depth=first.depth,
            before=median(before),
            after=median(after),
        )
    ]
    if grown and max(grown) > 0:
        size = format_bytes(round(max(grown)), _GIB)
        words.append(tr("The GPU holds {size} more than at first.", size=size))
    return Finding(
        "slower-after",
        tr("It stays slow after a long prompt."),
        " ".join(words),
        tr(
            "Something that the long prompt left in memory pushed the model over the edge. Start "
            "the server anew; --ctx-checkpoints 0 or a smaller context keeps it from coming back."
        ),
        amber=True,
    )


def unsteady(f: Facts) -> Finding | None:
    """Equal requests do not take equal time."""
    worst, depth = 0.0, 0
    for cell in f.run.cells:
        spread = metrics.spread(cell) or 0.0
        if spread > worst:
            worst, depth = spread, cell.depth
    if worst <= 0.05:
        return None
    return Finding(
        "unsteady",
        tr("Equal requests differ: the median is less certain than its figure looks."),
        tr(
            "They differ by {share} at depth {depth:,} (standard deviation over mean).",
            share=format_share(worst),
            depth=depth,
        ),
        tr("Measure with more runs, on a computer that does nothing else."),
        amber=True,
    )


def delivery(f: Facts) -> Finding | None:
    """Text arrives at other times than it is made."""
    worst = 0.0
    for cell in f.run.cells:
        off = metrics.disagreement(cell) or 0.0
        if abs(off) > abs(worst):
            worst = off
    if abs(worst) <= metrics.DELIVERY:
        return None
    return Finding(
        "delivery",
        tr("What arrives here and what the server says differ."),
        tr("By {share}; the server's own figures are shown.", share=format_share(abs(worst))),
        tr("Something between holds text back: a proxy, an antivirus, a busy computer."),
        amber=True,
    )


def _thirds(f: Facts) -> tuple[float, float] | None:
    """Rates at the beginning and at the end of the run, each relative to its own depth: the
    median of the first and of the last third of all requests, as if all were at the least depth."""
    rated = []
    base = None
    for point in f.points:
        for s in point.cell.measured:
            rate = metrics.step_rate(s)
            if rate is None:
                continue
            base = base or point.steps.median
            rated.append((s.started_ns, rate / point.steps.median))
    rated.sort()
    third = len(rated) // 3
    if third < 2 or base is None:
        return None
    first, last = (
        median(r for _, r in rated[:third]),
        median(r for _, r in rated[-third:]),
    )
    return base * first, base * last


def _bandwidth(value: float | None) -> str:
    return f"{written(value / 1e9, '.1f')} GB/s" if value else tr("its bandwidth")
