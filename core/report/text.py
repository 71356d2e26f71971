"""A plan to read in a terminal: what the model holds, where it lies, how fast it could write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from core import tabular
from core.gguf import display, excerpt
from core.machine.machine import Machine
from core.model.cache_size import bytes_per_token
from core.model.labels import mix_of
from core.plan import LargestContext, engine_words, largest_contexts, reason, resolve
from core.plan.advice import Aim, find_advice, gain, lead, ranked, starts
from core.plan.choice import Choice, Engine
from core.plan.engines import RULES
from core.plan.plan import DepthPoint, DevicePlan, Plan, SpeedPlan
from core.plan.speed import tensor_parallel
from core.plan.verdict import REFUSED, WORDS, why_refused
from core.problems import Problem, Severity
from core.provenance import format_value
from core.report.layers import layer_lines
from core.report.values import all_problems, size_on_disk
from core.units import (
    UnitSystem,
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
_SMALL = 100 * 10**6  # below it, parts of a whole MiB say nothing


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
        facts.append(f"{format_count(weights.parameters)} parameters")
        if weights.active_parameters != weights.parameters:
            facts.append(f"{format_count(weights.active_parameters)} active")
        label = f"{display(weights.label)}, " if weights.label else ""
        facts.append(f"{label}{weights.bits_per_weight:.2f} bits per weight")
    if shape.layers:
        facts.append(f"{shape.layers} layers")
    if shape.context_length:
        facts.append(f"trained for {format_tokens(shape.context_length)} tokens")
    size = size_on_disk(model.file)
    on_disk = "" if size is None else f", {format_bytes(size, system)}"
    lines = [
        excerpt(model.name, 200) or display(place.path.name),
        f"{display(place.address)}: {model.file.kind.value}{on_disk}",
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
            f"{f.bits_per_weight:.2f} bits",
        )
        for f in weights.formats
    ]
    return _table("by format", ("type", "tensors", "size", "share", "per weight"), rows)


def _memory(plan: Plan, system: UnitSystem) -> list[str]:
    settings = plan.settings
    pool = "shared" if settings.unified_cache else "each its own"
    slots = f"{settings.slots} slots ({pool})" if settings.slots > 1 else "1 slot"
    lines = [
        f"memory on {display(plan.machine.name)} with {settings.engine}: context "
        f"{format_tokens(settings.context)}, {slots}, K {settings.cache_k}, V {settings.cache_v}, "
        f"ubatch {settings.ubatch}, flash attention {'on' if settings.flash_attention else 'off'}"
    ]
    lines += _beside(plan)
    for device in plan.memory.devices:
        lines += _device(device, system)
    lines += _per_token(plan, system)
    refused = why_refused(plan.problems)
    if refused:
        lines.append(f"  {REFUSED}: {display(refused)}")
    else:
        lines.append(f"  {WORDS[plan.verdict]}: {display(reason(plan, system))}")
    largest = largest_contexts(plan.model, plan.machine, plan.choice)
    if largest:
        lines.append(f"  largest context that fits: {'; '.join(_largest(n) for n in largest)}")
    return [*lines, *_advice(plan, system)]


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
        where = "on the GPU" if s.projector_on_gpu else "in RAM"
        lines.append(f"  with the projector {display(Path(s.projector).name)} {where}")
    if s.drafted:
        what = "its own draft blocks" if s.draft is None else display(Path(s.draft).name)
        lines.append(
            f"  drafting {s.drafted} tokens at once with {what}, K {s.draft_cache_k}, "
            f"V {s.draft_cache_v}"
        )
    return lines


def _largest(each: LargestContext) -> str:
    """ "q8_0 77,824, tight to 90,112"."""
    if each.refused:
        return f"{each.types} refused"
    if each.most is None:
        return f"{each.types} none"
    most = format_tokens(each.most)
    whole = " (all it was trained for)" if each.whole else ""
    if each.comfortable is None:
        return f"{each.types} none, tight to {most}{whole}"
    if each.comfortable == each.most:
        return f"{each.types} {most}{whole}"
    return f"{each.types} {format_tokens(each.comfortable)}, tight to {most}{whole}"


def _engine(plan: Plan, system: UnitSystem) -> list[str]:
    rules = RULES[Engine(plan.settings.engine)]
    return [f"{rules.name} ({rules.source})", *(f"  {line}" for line in engine_words(plan, system))]


def _per_token(plan: Plan, system: UnitSystem) -> list[str]:
    """What a token takes in the cache; layers with a window stop growing when it is full."""
    per_token, settings, facts = plan.memory.cache_per_token.value, plan.settings, plan.model.cache
    if not per_token:
        return []
    line = f"  one token takes {format_bytes(per_token, system)} in the cache"
    full = tuple(group for group in facts.groups if group.window is None)
    if len(full) < len(facts.groups) and not settings.swa_full:
        later = bytes_per_token(replace(facts, groups=full), settings.cache_k, settings.cache_v)
        line += f", {format_bytes(later, system)} once the windows are full"
    return [line]


def _device(device: DevicePlan, system: UnitSystem) -> list[str]:
    unit = _UNIT[system]
    digits = 0 if (device.total.value or _SMALL) >= _SMALL else 2
    capacity = format_value(device.device.memory.value, device.device.memory.unit, system)
    lines = [f"  {display(device.device.name)} ({device.device.kind.value}), {capacity}"]
    known = [part for part in device.parts if part.bytes.value is not None]
    shown = format_parts([part.bytes.value or 0 for part in known], unit, digits)
    sizes = dict(zip((part.kind for part in known), shown, strict=True))
    for part in device.parts:
        size = f"{sizes[part.kind]:>12} {unit}" if part.kind in sizes else f"{'unknown':>12}"
        lines.append(f"    {part.kind.value:9}{size}")
    total = device.total.value
    if total is not None:
        lines.append(f"    {'total':9}{format_parts([total], unit, digits)[0]:>12} {unit}")
    free = device.free.value
    if free is not None:
        word = "free" if free >= 0 else "too much"
        lines.append(f"    {word:9}{format_parts([abs(free)], unit, digits)[0]:>12} {unit}")
    return lines


def _speed(plan: Plan, system: UnitSystem) -> list[str]:
    speed, depth = plan.speed, plan.settings.depth
    lines = [f"decode ceiling at a depth of {format_tokens(depth)} tokens"]
    read = speed.bytes_per_token
    if read.value is None:
        return [*lines, f"  unknown: {read.note}"]
    lines.append(
        f"  reads {format_bytes(read.value, system)} per token ({format_exact_bytes(read.value)}): "
        + ", ".join(
            f"{i.name} {format_value(i.value, i.unit, system)}" for i in read.inputs[:3] if i.value
        )
    )
    ceiling = speed.ceiling
    if ceiling.value is None:
        return [*lines, f"  ceiling unknown: {ceiling.note}"]
    bandwidths = [
        f"{display(d.name)} {format_bandwidth(d.bandwidth.value)}"
        for d in plan.machine.devices
        if d.bandwidth.value
    ]
    lines.append(f"  at most {format_rate(ceiling.value)} ({', '.join(bandwidths)})")
    lines.append(f"  by depth: {', '.join(_points(speed.curve))}")
    shared = tensor_parallel(plan)
    if shared is not None and shared.tok_s.value is not None:
        lines.append(
            f"  at most {format_rate(shared.tok_s.value)} if the cards shared every layer "
            "(tensor parallel) instead of taking turns"
        )
    return lines + _expected(speed)


def _expected(speed: SpeedPlan) -> list[str]:
    """What published runs lead to expect, and how long a prompt of that depth takes."""
    band = speed.expected
    if not band.known:
        return [f"  expected unknown: {display(band.mid.note)}"]
    low, mid, high = (format_rate(each.value or 0.0) for each in (band.low, band.mid, band.high))
    lines = [
        f"  expect {_bare(low)} to {high}, most likely {mid} ({display(band.basis)})",
    ]
    if speed.prefill.value is not None and speed.ttft.value is not None:
        lines.append(
            f"  reads a prompt of that length at {format_rate(speed.prefill.value)}: "
            f"{format_seconds(speed.ttft.value)} until the first token"
        )
    return lines


def _bare(rate: str) -> str:
    """The first of two rates needs no unit of its own."""
    return rate.removesuffix(" tok/s")


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
    word = "note" if problem.severity is Severity.NOTE else problem.severity.value
    where = f" ({display(problem.where)})" if problem.where else ""
    advice = f" {display(problem.advice)}" if problem.advice else ""
    return f"{word}: {display(problem.message)}{where}{advice}"


def _table(title: str, head: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> list[str]:
    lines = tabular.aligned((head, *rows), [False] + [True] * (len(head) - 1))
    return [title, *(f"  {line}" for line in lines)]
