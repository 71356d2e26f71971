"""The report in another language: no English line is left, its columns stand, and what a program
reads of it is the same."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import pytest

from core.gguf import open_file
from core.gguf.header import Kind
from core.language import speak
from core.machine import catalogue, combine, custom
from core.machine.machine import Machine
from core.model import model_from
from core.plan import resolve
from core.plan.choice import Choice, Engine, FlashAttention
from core.plan.plan import Plan
from core.report import as_json, text
from resources import specimens
from tests.support import memory
from tests.support.marking import bare, marked
from tests.support.memory import file_of

GIB = 2**30
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "fits": ("Qwen3.6-35B", {"context": 8192}),
    "too much": ("Qwen3.6-27B", {"context": 262_144, "slots": 2}),
    "drafting": ("Qwen3.6-27B", {"draft_head": True, "drafted": 3, "context": 4096}),
    "windows": ("Gemma-3-27B", {"requantize": "IQ4_XS", "cache_k": "q8_0", "cache_v": "q8_0"}),
    "refused": ("Llama-3.1-8B", {"flash_attention": FlashAttention.OFF, "cache_v": "q8_0"}),
    "short convolution": ("LFM2", {"slots": 1}),
    "one row for K and V": ("DeepSeek", {"engine": Engine.VLLM}),
    "another engine": ("gpt-oss-20b", {"engine": Engine.OLLAMA, "slots": 4, "context": 8192}),
}
EACH = pytest.mark.parametrize(("word", "choice"), CASES.values(), ids=CASES)
# Sentences for people; all else is for programs.
SENTENCES = ("message", "advice", "reason", "expected_basis")
UNITS = "GiB MiB KiB TiB tok ms min GPU RAM ubatch"
NAMES = "llama-server vLLM Ollama ollama vllm CUDA Linux Windows PCIe"


def machine() -> Machine:
    """Made anew: what it is called is in the language that is spoken."""
    card, ram = catalogue.machine("nvidia-geforce-rtx-3090"), custom(64 * GIB, 51.2e9, gpu=False)
    return combine(card, card, ram)


def planned(word: str, choice: Mapping[str, Any]) -> Plan:
    path = next(path for path in specimens() if word in path.name)
    return resolve(model_from(open_file(path)), machine(), Choice(**choice))


def names_of(plan: Plan) -> set[str]:
    """What a file or a maker calls something, and the file's own remark on where it is from."""
    model = plan.model
    header = model.file.header
    found = {model.name, model.label or "", model.architecture, header.place.address}
    found |= {value for value in header.metadata.values() if isinstance(value, str)}
    found |= {device.name for device in plan.machine.devices}
    return {*found, *UNITS.split(), *NAMES.split()} - {""}


def english_in(line: str, names: set[str]) -> list[str]:
    """Words of a line that no translator was given: neither a name nor a key of the file."""
    rest = bare(line)
    for name in sorted(names, key=len, reverse=True):
        rest = rest.replace(name, " ")
    rest = re.sub(r"\S*\w[._/]\w\S*|--?[a-z][\w-]*|\b\w*\d\w*\b", " ", rest)
    return re.findall(r"[^\W\d_]{2,}", rest)


@EACH
def test_no_line_of_the_text_is_left_in_english(word: str, choice: dict[str, Any]) -> None:
    with marked():
        plan = planned(word, choice)
        lines = text(plan).splitlines()
    names = names_of(plan)
    assert len(lines) > 20
    assert [line for line in lines if english_in(line, names)] == []


def test_what_is_not_known_is_said_in_the_language_as_well() -> None:
    ram = custom(64 * GIB, gpu=False)  # how fast it is nobody said
    unknown = {"general.architecture": "never-heard-of", "never-heard-of.block_count": 4}
    with marked():
        files = [
            file_of(unknown, [("token_embd.weight", (64, 32), "F32")]),
            memory.model("bge-large-en").file,
            file_of({}, kind=Kind.PROJECTOR),
        ]
        plans = [resolve(model_from(file), ram, Choice()) for file in files]
        reports = [text(plan) for plan in plans]
    for plan, report in zip(plans, reports, strict=True):
        names = names_of(plan)
        assert [line for line in report.splitlines() if english_in(line, names)] == []
    assert "⟦unknown: ⟧" in reports[0] and "⟦error⟧" not in reports[1]


def test_what_is_loaded_beside_the_model_is_said_in_the_language_as_well() -> None:
    head = model_from(file_of({"general.architecture": "clip"}, kind=Kind.PROJECTOR))
    for on_gpu in (True, False):
        with marked():
            plan = planned("Qwen3.6-27B", {"projector": head, "projector_on_gpu": on_gpu})
            lines = text(plan).splitlines()
        assert [line for line in lines if english_in(line, names_of(plan))] == []
        where = "⟦ on the GPU⟧" if on_gpu else "⟦ in RAM⟧"
        assert f"  ⟦with the projector ⟧model.gguf{where}" in lines


@EACH
def test_numbers_of_the_text_are_written_as_the_reader_writes_them(
    word: str, choice: dict[str, Any]
) -> None:
    with marked():
        plan = planned(word, choice)
        report = text(plan)
    for name in names_of(plan):
        report = report.replace(name, " ")
    report = re.sub(r"⟦[^⟦⟧]*⟧", " ", report)
    assert "˙" in report and "'" in report
    assert not re.search(r"\d[.,]\d+ (?:[KMGT]iB|tok/s|GB/s|%)|\d,\d{3}\b", report)


@EACH
def test_columns_are_as_wide_as_the_words_of_the_language(
    word: str, choice: dict[str, Any]
) -> None:
    with marked():
        lines = text(planned(word, choice)).splitlines()
    start = lines.index("⟦by format⟧") + 1
    table = lines[start : lines.index("", start)]
    assert len({len(line) for line in table}) == 1  # the last column is of numbers
    parts = [line for line in lines if re.match(r" {4}⟦[^⟦⟧]+⟧ +[\d˙]+ MiB$", line)]
    assert len(parts) > 4
    assert len({line.index(" MiB") for line in parts}) == 1


@EACH
def test_what_a_program_reads_is_the_same_in_every_language(
    word: str, choice: dict[str, Any]
) -> None:
    english = as_json(planned(word, choice))
    with marked():
        foreign = as_json(planned(word, choice))
    assert foreign != english
    assert for_programs(foreign) == for_programs(english)
    speak("es")
    assert for_programs(as_json(planned(word, choice))) == for_programs(english)


def for_programs(value: Any) -> Any:
    if isinstance(value, dict):
        return {
            name: bool(inner) if name in SENTENCES else for_programs(inner)
            for name, inner in value.items()
        }
    return [for_programs(inner) for inner in value] if isinstance(value, list) else value
