"""A plan to read in a terminal or to paste: what the model holds, where it lies, how fast it could
write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from core import tabular
from core.gguf import display, excerpt
from core.language import mark, tr, trc, trn
from core.machine.machine import DeviceKind, Machine, spoken_name
from core.model.cache_size import bytes_per_token
from core.model.labels import mix_of
from core.plan import LargestContext, engine_words, largest_contexts, reason, resolve
from core.plan.advice import Aim, find_advice, gain, lead, ranked, starts
from core.plan.choice import Choice, Engine
from core.plan.engines import RULES
from core.plan.plan import DepthPoint, DevicePlan, PartKind, Plan, Settings, SpeedPlan
from core.plan.speed import tensor_parallel
from core.plan.verdict import REFUSED, WORDS, why_refused
from core.problems import Problem
from core.provenance import format_value
from core.report.layers import layer_lines
from core.report.values import all_problems, size_on_disk
from core.units import (
    UnitSystem,
    bare_rate,
    format_bandwidth,
    format_bytes,
    format_count,
    format_exact_bytes,
    format_parts,
    format_rate,
    format_seconds,
    format_share,
    format_tokens,
)

# Parts of a budget share one unit, in which engines log them as well.
_UNIT = {UnitSystem.GIB: "MiB", UnitSystem.GB: "MB"}
_ADVICE = 4  # lines
_ACROSS = 12  # letters for the size of a part
_SMALL = 100 * 10**6  # below it, parts of a whole MiB say nothing
_SUMS = (mark("total"), mark("free"), mark("too much"))  # below the parts of a device


def text(plan: Plan, system: UnitSystem = UnitSystem.GIB) -> str:
    """The report, lines ended by a line feed; every size in one system of units."""
    lines = heading_lines(plan, system)
    problems = all_problems(plan)
    if plan.model.file.tensors:
        lines += ["", *_formats(plan, system)]
        lines += ["", *_memory(plan, system)]
        lines += ["", *layer_lines(plan, system)]
        lines += ["", *_engine(plan, system)]
        lines += ["", *_speed(plan, system)]
    if problems:
        lines += ["", *(problem_line(problem) for problem in problems)]
    return "\n".join(lines) + "\n"


def heading_lines(plan: Plan, system: UnitSystem) -> list[str]:
    """The model in a few lines: name, file, size, parameters, quantization."""
    model, shape, weights = plan.model, plan.model.shape, plan.weights
    place = model.file.header.place
    facts = []
    if weights.parameters:
        facts.append(tr("{count} parameters", count=format_count(weights.parameters)))
        if weights.active_parameters != weights.parameters:
            facts.append(tr("{count} active", count=format_count(weights.active_parameters)))
        if weights.label:
            facts.append(display(weights.label))
        facts.append(tr("{bits:.2f} bits per weight", bits=weights.bits_per_weight))
    if shape.layers:
        facts.append(trn("{count} layer", "{count} layers", shape.layers))
    if shape.context_length:
        trained = format_tokens(shape.context_length)
        facts.append(tr("trained for {tokens} tokens", tokens=trained))
    size = size_on_disk(model.file)
    on_disk = "" if size is None else f", {format_bytes(size, system)}"
    lines = [
        excerpt(model.name, 200) or display(place.path.name),
        f"{display(place.address)}: {tr(model.file.kind.value)}{on_disk}",
    ]
    if model.architecture:
        facts.insert(0, excerpt(model.architecture))
    if facts:
        lines.append(", ".join(facts))
    mix = mix_of(weights.formats, weights.bytes, weights.blocks)
    if mix:
        lines.append(display(mix))
    return lines


def _formats(plan: Plan, system: UnitSystem) -> list[str]:
    weights = plan.weights
    rows = [
        (
            display(f.type_name),
            str(f.tensors),
            format_bytes(f.bytes, system),
            format_share(f.bytes / weights.bytes) if weights.bytes else "",
            tr("{value:.2f} bits", value=f.bits_per_weight),
        )
        for f in weights.formats
    ]
    head = (tr("type"), tr("tensors"), tr("size"), tr("share"), tr("per weight"))
    return _table(tr("by format"), head, rows)


def _memory(plan: Plan, system: UnitSystem) -> list[str]:
    settings = plan.settings
    on, off = trc("flash attention", "on"), trc("flash attention", "off")
    lines = [
        tr(
            "memory on {machine} with {engine}: context {tokens}, {slots}, K {k}, V {v}, "
            "ubatch {ubatch}, flash attention {state}",
            machine=display(spoken_name(plan.machine.name)),
            engine=settings.engine,
            tokens=format_tokens(settings.context),
            slots=_slots(settings),
            k=settings.cache_k,
            v=settings.cache_v,
            ubatch=settings.ubatch,
            state=on if settings.flash_attention else off,
        )
    ]
    lines += _beside(plan)
    for device in plan.memory.devices:
        lines += _device(device, system)
    lines += _per_token(plan, system)
    refused = why_refused(plan.problems)
    if refused:
        lines.append(f"  {tr(REFUSED)}: {display(tr(refused))}")
    else:
        lines.append(f"  {tr(WORDS[plan.verdict])}: {display(reason(plan, system))}")
    largest = largest_contexts(plan.model, plan.machine, plan.choice)
    if largest:
        each = "; ".join(f"{n.types} {_largest(n)}" for n in largest)
        lines.append("  " + tr("largest context that fits: {contexts}", contexts=each))
    return [*lines, *_advice(plan, system)]


def _slots(settings: Settings) -> str:
    """How many requests at a time, and whether they share what there is for them."""
    if settings.slots <= 1:
        return tr("1 slot")
    if settings.unified_cache:
        return tr("{count} slots (shared)", count=settings.slots)
    return tr("{count} slots (each its own)", count=settings.slots)


def _advice(plan: Plan, system: UnitSystem) -> list[str]:
    """What would make it fit or leave room, the best first; nothing where neither is wanted."""
    aim = Aim.ROOM if starts(plan) else Aim.FIT

    def attempt(machine: Machine, choice: Choice) -> Plan:
        return resolve(plan.model, machine, choice)

    found = [each for each in find_advice(plan, aim, attempt) if each is not None]
    best = ranked(found, plan, aim)[:_ADVICE]
    if not best:
        return []
    first = lead(plan, aim)
    lines = [f"  {first[:1].lower()}{first[1:]}"]
    for each in best:
        cost = f" ({each.cost})" if each.cost else ""
        lines.append(f"    {each.words}: {gain(each, plan, aim, system)}{cost}")
    return lines


def _beside(plan: Plan) -> list[str]:
    """What is loaded beside the model."""
    s = plan.settings
    lines = []
    if s.projector is not None:
        file = display(Path(s.projector).name)
        if s.projector_on_gpu:
            lines.append("  " + tr("with the projector {file} on the GPU", file=file))
        else:
            lines.append("  " + tr("with the projector {file} in RAM", file=file))
    if s.drafted:
        what = tr("its own draft blocks") if s.draft is None else display(Path(s.draft).name)
        words = tr(
            "drafting {count} tokens at once with {draft}, K {k}, V {v}",
            count=s.drafted,
            draft=what,
            k=s.draft_cache_k,
            v=s.draft_cache_v,
        )
        lines.append(f"  {words}")
    return lines


def _largest(each: LargestContext) -> str:
    """ "77,824, tight to 90,112"."""
    if each.refused:
        return tr(REFUSED)
    if each.most is None:
        return trc("no context fits", "none")
    words = most = format_tokens(each.most)
    if each.comfortable is None:
        words = tr("none, tight to {most}", most=most)
    elif each.comfortable != each.most:
        words = tr("{tokens}, tight to {most}", tokens=format_tokens(each.comfortable), most=most)
    return tr("{contexts} (all it was trained for)", contexts=words) if each.whole else words


def _engine(plan: Plan, system: UnitSystem) -> list[str]:
    rules = RULES[Engine(plan.settings.engine)]
    words = engine_words(plan, system)
    return [f"{rules.name} ({tr(rules.source)})", *(f"  {line}" for line in words)]


def _per_token(plan: Plan, system: UnitSystem) -> list[str]:
    """What a token takes in the cache; layers with a window stop growing when it is full."""
    per_token, settings, facts = plan.memory.cache_per_token.value, plan.settings, plan.model.cache
    if not per_token:
        return []
    size = format_bytes(per_token, system)
    full = tuple(group for group in facts.groups if group.window is None)
    if len(full) == len(facts.groups) or settings.swa_full:
        return ["  " + tr("one token takes {size} in the cache", size=size)]
    later = bytes_per_token(replace(facts, groups=full), settings.cache_k, settings.cache_v)
    words = tr(
        "one token takes {size} in the cache, {later} once the windows are full",
        size=size,
        later=format_bytes(later, system),
    )
    return [f"  {words}"]


def _device(device: DevicePlan, system: UnitSystem) -> list[str]:
    unit = _UNIT[system]
    digits = 0 if (device.total.value or _SMALL) >= _SMALL else 2
    capacity = format_value(device.device.memory.value, device.device.memory.unit, system)
    kind = _kind_words(device.device.kind)
    lines = [f"  {display(tr(device.device.name))} ({kind}), {capacity}"]
    known = [part for part in device.parts if part.bytes.value is not None]
    shown = format_parts([part.bytes.value or 0 for part in known], unit, digits)
    sizes = dict(zip((part.kind for part in known), shown, strict=True))
    rows = [(tr(part.kind.value), sizes.get(part.kind)) for part in device.parts]
    total, free = device.total.value, device.free.value
    if total is not None:
        rows.append((tr("total"), format_parts([total], unit, digits)[0]))
    if free is not None:
        word = tr("free") if free >= 0 else tr("too much")
        rows.append((word, format_parts([abs(free)], unit, digits)[0]))
    # As wide as any name that a part may have: the devices of a report stand alike.
    wide = max(len(tr(name)) for name in (*(kind.value for kind in PartKind), *_SUMS))
    unknown = tr("unknown")
    across = max(_ACROSS, len(unknown) + 1)
    for name, size in rows:
        number = f"{unknown:>{across}}" if size is None else f"{size:>{across}} {unit}"
        lines.append(f"    {name:{wide}}{number}")
    return lines


def _kind_words(kind: DeviceKind) -> str:
    if kind is DeviceKind.GPU:
        return trc("kind of device", "gpu")
    return trc("kind of device", "host")


def _speed(plan: Plan, system: UnitSystem) -> list[str]:
    speed, depth = plan.speed, plan.settings.depth
    lines = [tr("decode ceiling at a depth of {tokens} tokens", tokens=format_tokens(depth))]
    read, ceiling = speed.bytes_per_token, speed.ceiling
    if read.value is None:
        return [*lines, "  " + tr("unknown: {why}", why=tr(read.note))]
    parts = [
        f"{tr(i.name)} {format_value(i.value, i.unit, system)}" for i in read.inputs[:3] if i.value
    ]
    reads = tr(
        "reads {size} per token ({exact}): {parts}",
        size=format_bytes(read.value, system),
        exact=format_exact_bytes(read.value),
        parts=", ".join(parts),
    )
    lines.append(f"  {reads}")
    if ceiling.value is None:
        return [*lines, "  " + tr("ceiling unknown: {why}", why=tr(ceiling.note))]
    bandwidths = [
        f"{display(tr(d.name))} {format_bandwidth(d.bandwidth.value)}"
        for d in plan.machine.devices
        if d.bandwidth.value
    ]
    most = tr(
        "at most {rate} ({bandwidths})",
        rate=format_rate(ceiling.value),
        bandwidths=", ".join(bandwidths),
    )
    lines.append(f"  {most}")
    lines.append("  " + tr("by depth: {rates}", rates=", ".join(_points(speed.curve))))
    shared = tensor_parallel(plan)
    if shared is not None and shared.tok_s.value is not None:
        words = tr(
            "at most {rate} if the cards shared every layer (tensor parallel) instead of taking "
            "turns",
            rate=format_rate(shared.tok_s.value),
        )
        lines.append(f"  {words}")
    return lines + _expected(speed)


def _expected(speed: SpeedPlan) -> list[str]:
    """What published runs lead to expect, and how long a prompt of that depth takes."""
    band = speed.expected
    if not band.known:
        return ["  " + tr("expected unknown: {why}", why=display(tr(band.mid.note)))]
    low, mid, high = (each.value or 0.0 for each in (band.low, band.mid, band.high))
    words = tr(
        "expect {low} to {high}, most likely {mid} ({basis})",
        low=bare_rate(low),
        high=format_rate(high),
        mid=format_rate(mid),
        basis=display(tr(band.basis)),
    )
    lines = [f"  {words}"]
    if speed.prefill.value is not None and speed.ttft.value is not None:
        words = tr(
            "reads a prompt of that length at {rate}: {time} until the first token",
            rate=format_rate(speed.prefill.value),
            time=format_seconds(speed.ttft.value),
        )
        lines.append(f"  {words}")
    return lines


def _points(curve: tuple[DepthPoint, ...]) -> list[str]:
    """Five points from the first to the last."""
    chosen = {round(n * (len(curve) - 1) / 4) for n in range(5)}
    return [
        f"{format_tokens(curve[n].depth)} {format_rate(rate)}"
        for n in sorted(chosen)
        if (rate := curve[n].tok_s) is not None
    ]


def problem_line(problem: Problem) -> str:
    """One problem in one line, its severity first."""
    word = tr(problem.severity.value)
    where = f" ({display(problem.where)})" if problem.where else ""
    advice = f" {display(tr(problem.advice))}" if problem.advice else ""
    return f"{word}: {display(tr(problem.message))}{where}{advice}"


def _table(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    lines = tabular.aligned((head, *rows), [False] + [True] * (len(head) - 1))
    return [title, *(f"  {line}" for line in lines)]
