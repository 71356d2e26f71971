"""The page itself: verdict and pictures first, then every figure with its source."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from core.drawing.tones import PARTS
from core.gguf import display, excerpt
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

_HEADER = Source(Rank.DERIVED, "the file's header and tensor table")
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
            element("title", f"{name} on {plan.machine.name}"),
            element("style", Markup(style())),
        ),
        element("body", element("main", *body)),
        lang="en",
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
    size = plan.model.weights.file_bytes or size_on_disk(file)
    if size is not None:
        facts.append(format_bytes(size, system))
    made = [element("h1", name), element("p", " · ".join(facts), class_="lead")]
    if file.tensors:
        refused = why_refused(plan.problems)
        verdict = Verdict.DOES_NOT_FIT if refused else plan.verdict
        word = REFUSED if refused else WORDS[verdict]
        made += [
            element("p", f"{_ICONS[verdict.value]} {word}", class_=f"verdict {verdict}"),
            element("p", f"On {plan.machine.name}: {refused or reason(plan, system)}"),
        ]
    return element("header", *made)


def _memory(plan: Plan, system: UnitSystem) -> Markup:
    memory = plan.memory
    sums = [
        Figure("KV cache", memory.cache, "memory.cache_bytes"),
        Figure("of it K", memory.cache_k, "memory.cache_k_bytes"),
        Figure("of it V", memory.cache_v, "memory.cache_v_bytes"),
        Figure("one token in the cache", memory.cache_per_token, "memory.cache_bytes_per_token"),
        Figure("recurrent state", memory.state, "memory.state_bytes"),
        Figure("compute buffers", memory.compute, "memory.compute_bytes"),
        Figure("output buffer", memory.output, "memory.output_bytes"),
        Figure("everything", memory.total, "memory.total_bytes"),
    ]
    devices = [_device(n, device, system) for n, device in enumerate(memory.devices)]
    return element(
        "section", element("h2", "Memory"), *devices, table("Over all devices", sums, system)
    )


def _device(number: int, plan: DevicePlan, system: UnitSystem) -> Markup:
    key = f"memory.devices.{number}"
    word = WORDS[plan.verdict]
    figures = [
        Figure(PARTS[part.kind][1], part.bytes, f"{key}.parts.{part.kind.value}")
        for part in plan.parts
    ]
    figures += [
        Figure("in all", plan.total, f"{key}.total"),
        _free(plan, f"{key}.free", system),
        Figure("memory", plan.device.memory, f"{key}.capacity"),
        Figure("bandwidth", plan.device.bandwidth, f"{key}.bandwidth"),
    ]
    figures += [Figure(f"{each.name}, with use, at most", each.bytes) for each in plan.growth]
    present = [part.kind for part in plan.parts if part.bytes.value != 0]
    entries = [element("span", swatch(kind), PARTS[kind][1]) for kind in present]
    if plan.free.value is not None and plan.free.value < 0:
        entries.append(element("span", swatch("over"), "too much"))
    elif plan.free.value is not None:
        entries.append(element("span", swatch("free"), "free"))
    return joined(
        element("h3", f"{plan.device.name}: {word}"),
        memory_bar(plan, f"{plan.device.name}: {word}", system),
        element("p", *entries, class_="legend"),
        table("Part", figures, system),
    )


def _free(plan: DevicePlan, key: str, system: UnitSystem) -> Figure:
    free = plan.free.value
    if free is None or free >= 0:
        return Figure("free", plan.free, key)
    return Figure("too much", plan.free, key, format_bytes(-free, system))


def _speed(plan: Plan, system: UnitSystem) -> Markup:
    speed = plan.speed
    figures = [
        Figure("read for one token", speed.bytes_per_token, "speed.bytes_per_token"),
        Figure("ceiling", speed.ceiling, "speed.ceiling_tok_s"),
        Figure("expected, low", speed.expected.low, "speed.expected_tok_s.low"),
        Figure("expected, most likely", speed.expected.mid, "speed.expected_tok_s.mid"),
        Figure("expected, high", speed.expected.high, "speed.expected_tok_s.high"),
        Figure("reading the prompt", speed.prefill, "speed.prefill_tok_s"),
        Figure("time to the first token", speed.ttft, "speed.ttft_s"),
    ]
    drawing = speed_curve(speed.curve, plan.settings.depth)
    made: list[str] = [element("h2", "Speed")]
    if drawing:
        made += [drawing, legend(speed.expected.known)]
    depth = f"With {format_tokens(plan.settings.depth)} tokens in the cache"
    if speed.expected.basis:
        made.append(element("p", f"Expected from {speed.expected.basis}.", class_="lead"))
    return element("section", *made, table(depth, figures, system))


def _settings(plan: Plan) -> Markup:
    s = plan.settings
    rows = [
        ("engine", s.engine),
        ("context", f"{format_tokens(s.context)} tokens"),
        ("requests at the same time", f"{s.slots}, {'one cache' if s.unified_cache else 'each'}"),
        ("KV cache", f"K {s.cache_k}, V {s.cache_v}"),
        ("flash attention", "on" if s.flash_attention else "off"),
        ("batch, ubatch", f"{s.batch:,}, {s.ubatch:,}"),
        ("layers on the GPU", f"{s.gpu_layers} ({s.backend})"),
    ]
    if s.cpu_moe:
        rows.append(("experts in RAM", f"of {s.cpu_moe} layers"))
    if s.requantize:
        rows.append(("as if quantized to", s.requantize))
    if s.projector:
        rows.append(("projector", Path(s.projector).name))
    if s.drafted:
        what = "the file's own draft blocks" if s.draft is None else Path(s.draft).name
        rows.append(("drafting", f"{s.drafted} tokens at once with {what}"))
    lines = [
        element("tr", element("th", name, scope="row"), element("td", words))
        for name, words in rows
    ]
    head = element("h2", "Settings")
    return element("section", head, element("table", element("tbody", *lines), class_="plain"))


def _file(plan: Plan, system: UnitSystem) -> Markup:
    model, weights = plan.model, plan.weights
    own = model.weights

    def fact(value: int | float | None, unit: Unit) -> Number[int] | Number[float]:
        return Number(value or None, unit, _HEADER)

    figures = [
        Figure("size on disk", fact(size_on_disk(model.file), Unit.BYTES), "file.bytes"),
        Figure("parameters", fact(own.parameters, Unit.PARAMETERS), "model.parameters"),
        Figure(
            "used for one token",
            fact(own.active_parameters, Unit.PARAMETERS),
            "model.active_parameters",
        ),
        Figure(
            "bits per weight",
            fact(own.bits_per_weight, Unit.BITS_PER_WEIGHT),
            "model.bits_per_weight",
        ),
        Figure("layers", fact(model.shape.layers, Unit.COUNT), "model.layers"),
        Figure(
            "trained for", fact(model.shape.context_length, Unit.TOKENS), "model.context_length"
        ),
        Figure("weights in this plan", fact(weights.bytes, Unit.BYTES), "weights.bytes"),
        Figure(
            "of them read for one token",
            fact(weights.read_per_token, Unit.BYTES),
            "weights.read_per_token",
        ),
    ]
    return element("section", element("h2", "Model"), table("The file", figures, system))


def _formats(plan: Plan, system: UnitSystem) -> Markup:
    weights = plan.weights
    titles = ("Format", "Tensors", "Size", "Share", "Bits per weight")
    head = [element("th", titles[0], scope="col")]
    head += [element("th", title, scope="col", class_="number") for title in titles[1:]]
    lines = []
    for number, each in enumerate(weights.formats):
        size = Number(each.bytes, Unit.BYTES, _HEADER)
        share = format_share(each.bytes / weights.bytes) if weights.bytes else ""
        cells = [
            element("td", f"{each.tensors:,}", class_="number"),
            element("td", value(size, system, f"formats.{number}.bytes", ""), class_="number"),
            element("td", share, class_="number"),
            element("td", f"{each.bits_per_weight:.2f}", class_="number"),
        ]
        lines.append(element("tr", element("th", each.type_name, scope="row"), *cells))
    body = element("tbody", *lines)
    made = element("table", element("thead", element("tr", *head)), body, class_="plain")
    return element("section", element("h2", "By format"), made)


def _problems(problems: Sequence[Problem]) -> Markup:
    if not problems:
        return Markup()
    lines = [
        element(
            "p",
            element("b", f"{each.severity.value.capitalize()}:"),
            " ".join(words for words in (each.message, each.advice) if words),
            class_="problem",
        )
        for each in problems
    ]
    return element("section", element("h2", "Notes"), *lines)


def _foot(made: str) -> Markup:
    words = (
        "The ceiling is what the memory bandwidth allows at most; what is expected comes from "
        "published runs. Every source can be opened for its formula."
    )
    lines = [element("p", words)]
    if made:
        lines.append(element("p", made))
    return element("footer", *lines)
