"""The report as a web page: whole, safe, and with the very figures of the JSON report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.drawing.tones import DARK, LIGHT, PARTS
from core.gguf import open_file
from core.language import speak
from core.machine import Machine, catalogue, combine, custom
from core.model import model_from
from core.plan import resolve
from core.plan.choice import Choice
from core.plan.plan import PartKind, Plan, Verdict
from core.report import as_json, html
from core.report.html.markup import Markup, element
from core.units import UnitSystem
from resources import specimens
from tests.support import plans
from tests.support.gguf_files import TensorSpec, u32, write

GIB = 2**30
CARD = combine(catalogue.machine("nvidia-geforce-rtx-3090"), custom(64 * GIB, 51.2e9, gpu=False))
SVG = "{http://www.w3.org/1999/xhtml}"


def planned(name: str, machine: Machine = CARD, **choice: Any) -> Plan:
    path = next(path for path in specimens() if name in path.name)
    return resolve(model_from(open_file(path)), machine, Choice(**choice))


PLANS = {
    "fits": planned("Qwen3.6-35B"),
    "does not fit": planned("Qwen3.6-27B", context=262_144),
    "requantized": planned("Gemma-3-27B", requantize="IQ4_XS", cache_k="q8_0", cache_v="q8_0"),
    "nothing known": planned(
        "gpt-oss-20b", plans.machine(plans.device("Card", memory=None, bandwidth=None))
    ),
}
EACH = pytest.mark.parametrize("plan", PLANS.values(), ids=PLANS)


def page_of(plan: Plan, system: UnitSystem = UnitSystem.GIB) -> ElementTree.Element:
    """The page as any XML parser reads it."""
    return ElementTree.fromstring(html(plan, system))


def figures_of(page: ElementTree.Element) -> dict[str, float | None]:
    """Exact values by their places in the JSON report; None for what is said to be unknown."""
    found: dict[str, float | None] = {}
    for each in page.iter():
        key = each.get("data-key")
        if key is not None:
            assert key not in found
            value = each.get("value")
            found[key] = None if value is None else float(value)
    return found


def at(values: Any, key: str) -> Any:
    """The JSON report's value at "memory.devices.0.parts.weights"."""
    for name in key.split("."):
        if isinstance(values, list):
            named = {each.get("part"): each.get("bytes") for each in values}
            values = named[name] if name in named else values[int(name)]
        else:
            values = values[name] if values is not None else None
    return values


@EACH
def test_every_figure_is_that_of_the_json_report(plan: Plan) -> None:
    values, shown = as_json(plan), figures_of(page_of(plan))
    for key, value in shown.items():
        assert value == at(values, key), key
    assert set(shown) >= {
        f"memory.{name}" for name in values["memory"] if name.endswith(("_bytes", "_per_token"))
    }
    assert {f"memory.devices.{n}.total" for n in range(len(plan.memory.devices))} <= set(shown)
    assert {"speed.ceiling_tok_s", "speed.bytes_per_token", "weights.bytes"} <= set(shown)


@EACH
def test_every_figure_stands_beside_its_source(plan: Plan) -> None:
    page = page_of(plan)
    for row in page.iter(f"{SVG}tr"):
        cells = list(row.iter(f"{SVG}td"))
        if any(cell.get("data-key", "").startswith("formats") for cell in row.iter()):
            continue  # of the file, as the table above says
        if row.find(f".//{SVG}data") is not None:
            assert re.match(
                r"(measured|derived|datasheet|reported|estimated|assumed): .", text_of(cells[-1])
            )


def text_of(each: ElementTree.Element) -> str:
    return "".join(each.itertext()).strip()


def test_what_is_not_known_is_said_and_never_nought() -> None:
    page = page_of(PLANS["nothing known"])
    assert figures_of(page)["speed.ceiling_tok_s"] is None
    (cell,) = (e for e in page.iter() if e.get("data-key") == "speed.ceiling_tok_s")
    assert text_of(cell) == "unknown"
    assert PLANS["nothing known"].verdict is Verdict.UNKNOWN
    assert "not known" in html(PLANS["nothing known"])


@EACH
def test_the_page_needs_nothing_else_and_runs_nothing(plan: Plan) -> None:
    page = page_of(plan)
    for each in page.iter():
        tag = each.tag.removeprefix(SVG)
        assert tag not in ("script", "link", "img", "iframe", "object", "embed", "base", "a")
        for name, value in each.attrib.items():
            assert not name.startswith("on")
            assert name not in ("src", "href", "style")
            assert "url(" not in value or value.startswith("url(#hatch-")
    rules = page.find(f".//{SVG}style")
    assert rules is not None and rules.text is not None
    assert "@import" not in rules.text and "http" not in rules.text
    policies = [m.get("content") for m in page.iter(f"{SVG}meta") if m.get("http-equiv")]
    assert policies == ["default-src 'none'; style-src 'unsafe-inline'"]


def test_folders_of_the_user_are_not_told(tmp_path: Path) -> None:
    secret = tmp_path / "jane.doe"
    secret.mkdir()
    path = secret / "m.gguf"
    write(
        path,
        {
            "general.architecture": "llama",
            "llama.block_count": u32(1),
            "llama.embedding_length": u32(64),
            "llama.attention.head_count": u32(1),
        },
        [TensorSpec("token_embd.weight", "F16", (64, 8))],
    )
    made = html(resolve(model_from(open_file(path)), CARD, Choice()))
    assert "m.gguf" in made
    assert "jane.doe" not in made


EVIL = "</title><script>alert(1)</script>&amp;\"' onload=x \u202egpj.exe\x00\x1b[31m]]><!--"


def test_no_name_of_a_file_is_taken_for_markup(tmp_path: Path) -> None:
    path = tmp_path / "a<b>&\"'.gguf"
    write(
        path,
        {
            "general.architecture": f"x{EVIL}",
            "general.name": EVIL,
            f"x{EVIL}.block_count": u32(1),
        },
        [TensorSpec(EVIL, "F16", (64, 8))],
    )
    model = model_from(open_file(path))
    machine = custom(24 * GIB, 936e9, name=EVIL)
    page = page_of(resolve(model, machine, Choice()))
    assert not [e for e in page.iter() if e.tag.endswith("script")]
    title = page.find(f".//{SVG}title")
    assert title is not None and title.text is not None
    assert title.text.startswith("</title><script>alert(1)")
    whole = "".join(page.itertext())
    assert "\u202e" not in whole and "\x1b" not in whole


@given(st.text(), st.text())
def test_any_text_comes_out_of_an_element_unharmed_or_escaped(words: str, value: str) -> None:
    made = element("p", words, title=value)
    read = ElementTree.fromstring(made)
    assert len(read) == 0
    plain = "".join(c for c in words if c.isascii() and c.isprintable())
    assert plain in (read.text or "") or not words.isascii() or not words.isprintable()


def test_markup_is_not_escaped_twice() -> None:
    assert element("p", element("b", "a & b")) == "<p><b>a &amp; b</b></p>"
    assert element("p", Markup("<b/>")) == "<p><b/></p>"
    assert element("rect", class_="x", stroke_width=2, id=None) == (
        '<rect class="x" stroke-width="2" />'
    )


def test_parts_are_drawn_to_scale_and_what_is_too_much_beyond_the_mark() -> None:
    plan = PLANS["does not fit"]
    device = plan.memory.devices[0]
    capacity, total = device.device.memory.value, device.total.value
    assert capacity is not None and total is not None
    bar = next(e for e in page_of(plan).iter(f"{SVG}svg") if e.get("class") == "bar")
    boxes = {
        e.get("fill", ""): (float(e.get("x", 0)), float(e.get("width", 0)))
        for e in bar.iter(f"{SVG}rect")
    }
    at = 0
    for part in device.parts:
        size = part.bytes.value or 0
        if size:
            left, width = boxes[f"url(#hatch-{part.kind.value})"]
            assert left == pytest.approx(1000 * at / total, abs=0.01)
            assert width == pytest.approx(1000 * size / total, abs=0.01)
        at += size
    (mark,) = bar.iter(f"{SVG}line")
    assert float(mark.get("x1", 0)) == pytest.approx(1000 * capacity / total, abs=0.01)


def test_parts_differ_by_their_hatch_as_well_as_by_their_colour() -> None:
    page = page_of(PLANS["fits"])
    strokes = {
        pattern.get("id"): tuple(p.get("d") for p in pattern.iter(f"{SVG}path"))
        for pattern in page.iter(f"{SVG}pattern")
    }
    of_parts = [strokes[f"hatch-{kind.value}"] for kind in PartKind]
    assert len(set(of_parts)) == len(of_parts)
    assert set(PARTS) == set(PartKind)


def test_both_themes_are_in_the_page() -> None:
    rules = html(PLANS["fits"])
    assert "prefers-color-scheme: dark" in rules
    for shades in (LIGHT, DARK):
        assert f"--window: {shades.window};" in rules
        assert f"--text: {shades.text};" in rules


def test_sizes_are_in_the_units_of_the_reader() -> None:
    made = html(PLANS["fits"], UnitSystem.GB)
    assert " GB<" in made
    assert "GiB<" not in made


def test_who_made_it_and_when_stands_at_the_end() -> None:
    assert "Weighbridge 9.9, 2026-01-31</p></footer>" in html(
        PLANS["fits"], made="Weighbridge 9.9, 2026-01-31"
    )


@EACH
def test_the_page_says_its_language_and_has_the_same_figures_in_every_one(plan: Plan) -> None:
    page = page_of(plan)
    speak("es")
    spanish = page_of(plan)
    assert (page.get("lang"), spanish.get("lang")) == ("en", "es")
    assert figures_of(spanish) == figures_of(page)


def test_a_source_is_named_once_and_in_the_language_of_the_page() -> None:
    speak("es")
    page = html(PLANS["fits"])
    assert "catálogo: " in page
    assert "catalogue: " not in page
    assert "Ficha técnica: " not in page  # the line of the details that the summary says already


def test_the_head_has_the_size_of_the_whole_model_and_names_the_machine_once() -> None:
    path = next(each for each in specimens() if "Qwen3-30B" in each.name)
    model = model_from(open_file(path))
    plan = resolve(model, catalogue.machine("nvidia-geforce-rtx-4090"), Choice(context=32_768))
    page = html(plan)
    # The model's page lists 18.6 GB for this file; a specimen of it has a few KiB.
    assert "qwen3moe · Q4_K_M · 17.3 GiB</p>" in page
    assert "<p>3.42 GiB free on GeForce RTX 4090</p>" in page
    speed = page[page.index("<h2>Speed") :]
    assert "Published runs lead to expect 128 to 182 tok/s at depth 0 and " in speed
