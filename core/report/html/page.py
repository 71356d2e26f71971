"""The page itself: verdict and pictures first, then every figure with its source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.drawing.tones import PARTS
from core.gguf import display, excerpt
from core.language import code, mark, tr, trc, written
from core.machine.machine import spoken_name
from core.plan.plan import DevicePlan, Plan, Verdict
from core.plan.verdict import REFUSED, WORDS, reason, why_refused
from core.problems import Problem
from core.provenance import Number, Rank, Source, Unit
from core.report.html.bar import hatches, memory_bar, swatch
from core.report.html.curve import legend, speed_curve
from core.report.html.figures import Figure, table, value
from core.report.html.markup import Markup, element, joined
from core.report.html.style import style
from core.report.values import all_problems, size_on_disk
from core.units import UnitSystem, format_bytes, format_share, format_tokens

_HEADER = Source(Rank.DERIVED, mark("the file's header and tensor table"))
_ICONS = {"fits": "✔", "tight": "◐", "does_not_fit": "✘", "unknown": "?"}
# Nothing may be loaded, run or sent, whatever a file's name pretends to be.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'"


def html(plan: Plan, system: UnitSystem = UnitSystem.GIB, made: str = "") -> str:
    """The plan as one XHTML page in UTF-8 that loads nothing: drawings of memory and speed, and
    the very figures of the JSON report, each with its source.

    Of paths it names the last part alone: the page is for other people. ``made`` stands in the
    last line ("Weighbridge 0.1.0, 2026-01-31").
    """
    model = plan.model
    name = excerpt(model.name, 200) or display(model.file.header.place.path.name)
    body: list[Markup] = [hatches(), _head(plan, name, system)]
    if model.file.tensors:
        body += [
            _memory(plan, system),
            _speed(plan, system),
            _settings(plan),
            _file(plan, system),
            _formats(plan, system),
        ]
    body += [_problems(all_problems(plan)), _foot(made)]
    whole = element(
        "html",
        element(
            "head",
            element("meta", charset="utf-8"),
            element("meta", http_equiv="Content-Security-Policy", content=_POLICY),
            element("meta", name="viewport", content="width=device-width, initial-scale=1"),
            element(
                "title",
                tr("{model} on {machine}", model=name, machine=spoken_name(plan.machine.name)),
            ),
            element("style", Markup(style())),
        ),
        element("body", element("main", *body)),
        lang=code(),
        xmlns="http://www.w3.org/1999/xhtml",
    )
    text = f"<!DOCTYPE html>\n{whole}\n"
    return text.encode("utf-8", "backslashreplace").decode()


def _head(plan: Plan, name: str, system: UnitSystem) -> Markup:
    file, weights = plan.model.file, plan.model.weights
    facts = [display(file.header.place.path.name)]
    if plan.model.architecture:
        facts.append(excerpt(plan.model.architecture))
    if weights.label:
        facts.append(excerpt(weights.label))
    size = file.whole_bytes or weights.file_bytes or size_on_disk(file)
    if size is not None:
        facts.append(format_bytes(size, system))
    made = [element("h1", name), element("p", " · ".join(facts), class_="lead")]
    if file.tensors:
        refused = why_refused(plan.problems)
        verdict = Verdict.DOES_NOT_FIT if refused else plan.verdict
        word = tr(REFUSED if refused else WORDS[verdict])
        machine, why = spoken_name(plan.machine.name), tr(refused) or reason(plan, system)
        if refused or machine not in why:
            why = tr("On {machine}: {reason}", machine=machine, reason=why)
        made += [
            element("p", f"{_ICONS[verdict.value]} {word}", class_=f"verdict {verdict}"),
            element("p", why),
        ]
    return element("header", *made)


def _memory(plan: Plan, system: UnitSystem) -> Markup:
    memory = plan.memory
    sums = [
        Figure(tr("KV cache"), memory.cache, "memory.cache_bytes"),
        Figure(tr("of it K"), memory.cache_k, "memory.cache_k_bytes"),
        Figure(tr("of it V"), memory.cache_v, "memory.cache_v_bytes"),
        Figure(
            tr("one token in the cache"), memory.cache_per_token, "memory.cache_bytes_per_token"
        ),
        Figure(tr("recurrent state"), memory.state, "memory.state_bytes"),
        Figure(tr("compute buffers"), memory.compute, "memory.compute_bytes"),
        Figure(tr("output buffer"), memory.output, "memory.output_bytes"),
        Figure(tr("everything"), memory.total, "memory.total_bytes"),
    ]
    devices = [_device(n, device, system) for n, device in enumerate(memory.devices)]
    return element(
        "section",
        element("h2", tr("Memory")),
        *devices,
        table(tr("Over all devices"), sums, system),
    )


def _device(number: int, plan: DevicePlan, system: UnitSystem) -> Markup:
    key = f"memory.devices.{number}"
    word = tr(WORDS[plan.verdict])
    figures = [
        Figure(tr(PARTS[part.kind][1]), part.bytes, f"{key}.parts.{part.kind.value}")
        for part in plan.parts
    ]
    figures += [
        Figure(tr("in all"), plan.total, f"{key}.total"),
        _free(plan, f"{key}.free", system),
        Figure(tr("memory"), plan.device.memory, f"{key}.capacity"),
        Figure(tr("bandwidth"), plan.device.bandwidth, f"{key}.bandwidth"),
    ]
    figures += [
        Figure(tr("{name}, with use, at most", name=tr(each.name)), each.bytes)
        for each in plan.growth
    ]
    present = [part.kind for part in plan.parts if part.bytes.value != 0]
    entries = [element("span", swatch(kind), tr(PARTS[kind][1])) for kind in present]
    if plan.free.value is not None and plan.free.value < 0:
        entries.append(element("span", swatch("over"), tr("too much")))
    elif plan.free.value is not None:
        entries.append(element("span", swatch("free"), tr("free")))
    return joined(
        element("h3", f"{tr(plan.device.name)}: {word}"),
        memory_bar(plan, f"{tr(plan.device.name)}: {word}", system),
        element("p", *entries, class_="legend"),
        table(tr("Part"), figures, system),
    )


def _free(plan: DevicePlan, key: str, system: UnitSystem) -> Figure:
    free = plan.free.value
    if free is None or free >= 0:
        return Figure(tr("free"), plan.free, key)
    return Figure(tr("too much"), plan.free, key, format_bytes(-free, system))


def _speed(plan: Plan, system: UnitSystem) -> Markup:
    speed = plan.speed
    figures = [
        Figure(tr("read for one token"), speed.bytes_per_token, "speed.bytes_per_token"),
        Figure(tr("ceiling"), speed.ceiling, "speed.ceiling_tok_s"),
        Figure(tr("expected, low"), speed.expected.low, "speed.expected_tok_s.low"),
        Figure(tr("expected, most likely"), speed.expected.mid, "speed.expected_tok_s.mid"),
        Figure(tr("expected, high"), speed.expected.high, "speed.expected_tok_s.high"),
        Figure(tr("reading the prompt"), speed.prefill, "speed.prefill_tok_s"),
        Figure(tr("time to the first token"), speed.ttft, "speed.ttft_s"),
    ]
    drawing = speed_curve(speed.curve, plan.settings.depth)
    made: list[str] = [element("h2", tr("Speed"))]
    if drawing:
        made += [drawing, legend(speed.expected.known)]
    depth = tr("With {tokens} tokens in the cache", tokens=format_tokens(plan.settings.depth))
    if speed.expected.basis:
        basis = tr("Expected from {basis}.", basis=tr(speed.expected.basis))
        made.append(element("p", basis, class_="lead"))
    return element("section", *made, table(depth, figures, system))


def _settings(plan: Plan) -> Markup:
    s = plan.settings
    slots = tr("{slots}, one cache", slots=s.slots)
    if not s.unified_cache:
        slots = tr("{slots}, each", slots=s.slots)
    rows = [
        (tr("engine"), s.engine),
        (tr("context"), tr("{count} tokens", count=format_tokens(s.context))),
        (tr("requests at the same time"), slots),
        (tr("KV cache"), f"K {s.cache_k}, V {s.cache_v}"),
        (
            tr("flash attention"),
            trc("a setting", "on") if s.flash_attention else trc("a setting", "off"),
        ),
        (tr("batch, ubatch"), f"{written(s.batch)}, {written(s.ubatch)}"),
        (tr("layers on the GPU"), f"{s.gpu_layers} ({s.backend})"),
    ]
    if s.cpu_moe:
        rows.append((tr("experts in RAM"), tr("of {count} layers", count=s.cpu_moe)))
    if s.requantize:
        rows.append((tr("as if quantized to"), s.requantize))
    if s.projector:
        rows.append((tr("projector"), Path(s.projector).name))
    if s.drafted:
        what = tr("the file's own draft blocks") if s.draft is None else Path(s.draft).name
        words = tr("{count} tokens at once with {draft}", count=s.drafted, draft=what)
        rows.append((tr("drafting"), words))
    lines = [
        element("tr", element("th", name, scope="row"), element("td", words))
        for name, words in rows
    ]
    head = element("h2", tr("Settings"))
    return element("section", head, element("table", element("tbody", *lines), class_="plain"))


def _file(plan: Plan, system: UnitSystem) -> Markup:
    model, weights = plan.model, plan.weights
    own = model.weights

    def fact(value: int | float | None, unit: Unit) -> Number[int] | Number[float]:
        return Number(value or None, unit, _HEADER)

    figures = [
        Figure(tr("size on disk"), fact(size_on_disk(model.file), Unit.BYTES), "file.bytes"),
        Figure(tr("parameters"), fact(own.parameters, Unit.PARAMETERS), "model.parameters"),
        Figure(
            tr("used for one token"),
            fact(own.active_parameters, Unit.PARAMETERS),
            "model.active_parameters",
        ),
        Figure(
            tr("bits per weight"),
            fact(own.bits_per_weight, Unit.BITS_PER_WEIGHT),
            "model.bits_per_weight",
        ),
        Figure(tr("layers"), fact(model.shape.layers, Unit.COUNT), "model.layers"),
        Figure(
            tr("trained for"), fact(model.shape.context_length, Unit.TOKENS), "model.context_length"
        ),
        Figure(tr("weights in this plan"), fact(weights.bytes, Unit.BYTES), "weights.bytes"),
        Figure(
            tr("of them read for one token"),
            fact(weights.read_per_token, Unit.BYTES),
            "weights.read_per_token",
        ),
    ]
    return element("section", element("h2", tr("Model")), table(tr("The file"), figures, system))


def _formats(plan: Plan, system: UnitSystem) -> Markup:
    weights = plan.weights
    titles = (tr("Format"), tr("Tensors"), tr("Size"), tr("Share"), tr("Bits per weight"))
    head = [element("th", titles[0], scope="col")]
    head += [element("th", title, scope="col", class_="number") for title in titles[1:]]
    lines = []
    for number, each in enumerate(weights.formats):
        size = Number(each.bytes, Unit.BYTES, _HEADER)
        share = format_share(each.bytes / weights.bytes) if weights.bytes else ""
        cells = [
            element("td", written(each.tensors), class_="number"),
            element("td", value(size, system, f"formats.{number}.bytes", ""), class_="number"),
            element("td", share, class_="number"),
            element("td", written(each.bits_per_weight, ".2f"), class_="number"),
        ]
        lines.append(element("tr", element("th", each.type_name, scope="row"), *cells))
    body = element("tbody", *lines)
    made = element("table", element("thead", element("tr", *head)), body, class_="plain")
    return element("section", element("h2", tr("By format")), made)


def _problems(problems: Sequence[Problem]) -> Markup:
    if not problems:
        return Markup()
    lines = [
        element(
            "p",
            element("b", f"{tr(each.severity.value).capitalize()}:"),
            " ".join(tr(words) for words in (each.message, each.advice) if words),
            class_="problem",
        )
        for each in problems
    ]
    return element("section", element("h2", tr("Notes")), *lines)


def _foot(made: str) -> Markup:
    words = tr(
        "The ceiling is what the memory bandwidth allows at most; what is expected comes from "
        "published runs. Every source can be opened for its formula."
    )
    lines = [element("p", words)]
    if made:
        lines.append(element("p", made))
    return element("footer", *lines)
