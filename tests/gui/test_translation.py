"""Everything that the window shows or says has been given to a translator."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QWidget

import resources
from core.explain import glossary
from core.gguf import open_file
from core.language import NAMES
from core.machine import catalogue
from core.machine.machine import named_here
from core.machine.rows import PHRASES
from core.model import model_from
from core.plan.engines import RULES
from gui.panels.help.about import PARTS
from gui.theme import Theme
from gui.widgets.elided_text import plain_tip
from tests.support import every_page, scenes
from tests.support.marking import bare, marked
from tests.support.untranslated import left_over, painted, words_of

# What is never translated.
UNITS = "GiB MiB KiB TiB GB MB KB kB TB tok ms min TFLOPS GFLOPS FLOPS MT FLOP USD EUR"
FORMATS = "GGUF JSON Markdown CSV TSV SVG PNG HTML UTF imatrix little-endian big-endian string gguf"
TERMS = "TTFT TPOT"
SYSTEMS = "CUDA ROCm Vulkan Metal SYCL RAM GPU CPU PCIe cuda rocm vulkan metal sycl cpu"
MAKERS = "Weighbridge llama-server llama-cli Ollama ollama LM Studio vLLM Modelfile llamafile"
PLATFORMS = "ipex-llm GeForce Python Qt PySide Linux Windows macOS bash PowerShell cmd"
KEYS = "Ctrl Shift Alt"
VALUES = ("none", "linear")  # of keys, among the files of the scenes
# In the files and notes of the scenes.
MADE_UP = (
    "/models",
    "Small 100K",
    "Zebra 3B",
    "zebra",
    "Sign in",
    "with the new driver",
    "Curtain open, fans at half speed.",
)
WORDS = "|".join(" ".join((UNITS, FORMATS, TERMS, SYSTEMS, MAKERS, PLATFORMS, KEYS)).split())
ALLOWED = re.compile(
    r"--?[a-z][\w-]*"  # an engine's flag
    r"|\S*\w[._/]\w\S*"  # a key, a path, a name with a suffix, "tok/s"
    r"|\([a-z]+(?:-[a-z]+)+\):"  # the code of a problem
    r"|(?:\S*\u2009)+\S*"  # a text in its tokens
    r"|\b\w*\d\w*\b"  # Q4_K_M, f16, RTX3090
    rf"|\b(?:{WORDS})\b"
)


@pytest.fixture(scope="module")
def names() -> list[str]:
    """What a file, the catalogue or a maker calls something; the longest first."""
    found = {*MADE_UP, *NAMES.values(), *(rules.name for rules in RULES.values())}
    found |= {part for name, _, licence in PARTS for part in (name, licence)}
    found |= {device.name for device in scenes.machine().devices}
    for row in catalogue.all():
        found |= {row.name, row.id, row.vendor, row.architecture, row.memory_type}
        found |= {words for words in row.source.split("; ") if words not in PHRASES}
    for path in resources.specimens():
        file = open_file(path)
        model = model_from(file)
        found |= {path.name, path.stem, model.name, model.architecture, model.label or ""}
        found |= {tensor.name for tensor in file.tensors}
        found |= {value for value in file.header.metadata.values() if isinstance(value, str)}
    # A name which is a plain word as well would hide that word everywhere.
    proper = (name for name in found if len(name) > 1 and name not in ("generic", "gguf", *VALUES))
    return sorted(proper, key=len, reverse=True)


def folders(own: Path) -> list[str]:
    """Where the files of a test and the specimens lie, in a tip perhaps folded: words of whoever
    runs it."""
    tip = plain_tip(str(own / "model.gguf"))
    return [bare(tip).strip(), str(own), str(resources.specimens()[0].parent)]


def leaks(places: Iterable[tuple[str, QWidget]], names: list[str]) -> Iterator[str]:
    """Every text with something left over, and where it was seen first."""
    seen = {*names, *(term.name for term in glossary.terms())}
    for place, root in places:
        with painted() as drawn:
            root.grab()
        for where, text in [*words_of(root), *(("painted", text) for text in drawn)]:
            if place == "glossary" and "QTextBrowser" in where:
                continue  # it has a file of its own in every language
            if text not in seen:
                seen.add(text)
                told = [*names, *VALUES] if "MetadataPanel" in where else names
                left = left_over(text, told, ALLOWED)
                if left:
                    yield f"{place}: {where}: {', '.join(left)} in {text!r}"


@pytest.mark.parametrize("scene", scenes.SCENES, ids=lambda scene: scene.name)
def test_every_word_of_a_page_can_be_translated(
    scene: scenes.Scene, names: list[str], theme: Theme, tmp_path: Path
) -> None:
    with marked(), scenes.window_of(scene, scenes.WIDE, theme, tmp_path) as window:
        if not scene.busy:
            every_page.settle(window)
        found = list(leaks([(scene.name, window)], [*folders(tmp_path), *names]))
    assert not found, "\n".join(found)


def test_every_word_of_a_tab_and_a_dialog_can_be_translated(
    names: list[str], theme: Theme, tmp_path: Path
) -> None:
    QGuiApplication.clipboard().clear()  # a dialog shows what is there
    (fits,) = (scene for scene in scenes.SCENES if scene.name == "fits")
    with marked(), scenes.window_of(fits, scenes.WIDE, theme, tmp_path) as window:
        every_page.settle(window)
        shown = chain(every_page.pages(window), every_page.dialogs(window))
        found = list(leaks(shown, [*folders(tmp_path), *names]))
    assert not found, "\n".join(found)


def test_this_computer_is_named_in_the_readers_words_wherever_it_is_shown(
    theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = replace(scenes.machine(), id="this", name=named_here("RTX 3090"))
    monkeypatch.setattr(scenes, "machine", lambda: here)
    (fits,) = (scene for scene in scenes.SCENES if scene.name == "fits")
    told: set[str] = set()
    with marked(), scenes.window_of(fits, scenes.WIDE, theme, tmp_path) as window:
        every_page.settle(window)
        for _, root in chain(every_page.pages(window), every_page.dialogs(window)):
            with painted() as drawn:
                root.grab()
            told |= {*drawn, *(text for _, text in words_of(root))}
    assert not [text for text in told if here.name in text]
    assert [text for text in told if "⟦This computer⟧: RTX 3090" in text]
