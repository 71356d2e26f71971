"""Files that lie, opened one after the other in one window: it shows each and goes on."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication, QTabWidget
from pytestqt.qtbot import QtBot

from core.plan.choice import CACHE_TYPES
from gui.document import Document
from gui.main_window import MainWindow
from gui.main_window.kept_settings import KeptSettings
from gui.theme import Theme
from gui.workers import computer
from tests.support import plans
from tests.support.gguf_files import (
    F32,
    STRING,
    U32,
    Plain,
    TensorSpec,
    array,
    f32,
    u32,
    u64,
    write,
)
from tests.support.heads import heads

SMALL: dict[str, Plain] = {
    "general.architecture": "llama",
    "llama.block_count": u32(2),
    "llama.embedding_length": u32(64),
    "llama.attention.head_count": u32(4),
    "llama.context_length": u32(4096),
}
LAYER = {"attn_q": (64, 64), "attn_k": (64, 64), "attn_v": (64, 64), "ffn_down": (64, 64)}
TENSORS = [
    TensorSpec("token_embd.weight", "F16", (64, 100)),
    *(
        TensorSpec(f"blk.{n}.{x}.weight", "F16", shape)
        for n in (0, 1)
        for x, shape in LAYER.items()
    ),
]
EVIL = "<h1>\x1b[31m\u202egpj</h1>\n<img src='/a.png'>\x00"


def odd_files(folder: Path) -> list[Path]:
    made: list[Path] = []

    def add(keys: dict[str, Plain], tensors: list[TensorSpec], name: str = "") -> None:
        made.append(write(folder / (name or f"{len(made)}.gguf"), keys, tensors))

    for value in ("text", f32(float("nan")), u64(2**63), u32(0), array(U32, [1, 2, 3]), True):
        for key in ("block_count", "context_length", "embedding_length", "attention.head_count"):
            add({**SMALL, f"llama.{key}": value}, TENSORS)
    add({**SMALL, "general.name": EVIL, EVIL: EVIL}, [*TENSORS, TensorSpec(EVIL, "F16", (3, 5))])
    add(SMALL, TENSORS, "a\nb\u202e<b>.gguf")
    add({**SMALL, "general.name": "x" * 500_000, "general.url": "\x00" * 300_000}, TENSORS)
    add({**SMALL, "llama.block_count": u32(10_000)}, TENSORS)
    add(SMALL, [TensorSpec(f"t{n}", 1000 + n, (64,), stored=64) for n in range(600)])
    add({**SMALL, "tokenizer.ggml.tokens": array(STRING, [EVIL] * 5000)}, TENSORS)
    add({**SMALL, "a": array(F32, [float("inf"), float("nan")] * 3000)}, TENSORS)
    add(SMALL, [TensorSpec("zero", "F16", (0,)), TensorSpec("none", "F16", ())])
    add({}, TENSORS)
    add(SMALL, [])
    add({}, [])
    add({**SMALL, "split.count": u32(3), "split.no": u32(7)}, TENSORS, "x-00001-of-00003.gguf")
    order = random.Random(1)
    for name, head in heads().items():
        data = bytearray(head.data)
        for _ in range(3):
            data[order.randrange(8, len(data))] = order.choice((0, 1, 0x7F, 0xFF))
        path = folder / f"{name}.gguf"
        path.write_bytes(data[: order.choice((len(data), order.randrange(len(data))))])
        made.append(path)
    return [*made, folder, folder / "nowhere.gguf", Path("/dev/zero"), Path("\ud800")]


def test_no_file_stops_the_window(
    qtbot: QtBot, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    this = plans.machine(id="this", name="The test's computer")
    monkeypatch.setattr(computer, "detecting", lambda handle: this)
    window = MainWindow(Document(), theme, KeptSettings(tmp_path / "settings.json"))
    qtbot.addWidget(window)
    window.show()
    qtbot.waitUntil(lambda: window.document.this_computer is not None)
    order = random.Random(2)
    tabs = window.findChild(QTabWidget)
    assert tabs is not None
    folder = tmp_path / "files"
    folder.mkdir()
    for path in odd_files(folder):
        window.opening.open(path)
        qtbot.waitUntil(lambda: not window.opening.reader.running)
        for index in range(tabs.count()):
            tabs.setCurrentIndex(index)
            QApplication.processEvents()
        for _ in range(2):
            window.document.choose(
                context=order.choice((None, 1, 131_072, 2**31 - 1)),
                cache_k=order.choice(CACHE_TYPES),
                cache_v=order.choice(CACHE_TYPES),
                slots=order.choice((None, 1, 256)),
                gpu_layers=order.choice(("all", 0, 1)),
                requantize=order.choice((None, "Q4_K_M", "IQ1_S")),
            )
            QApplication.processEvents()
        assert all(ord(c) >= 32 for c in window.windowTitle())
    window.close()
