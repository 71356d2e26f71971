"""From one model of 1,000 tensors to another and back: time to the shown plan and table, and what
the process holds after 200 times.

    python -m bench.switching [TIMES]

The two files have 1,000 tensors and a vocabulary of 32,000 tokens each, one of experts and one
without. A switch begins where a file is opened and ends when its plan is painted beside its table
of tensors, the plot too. Against it stand the plain loop that walks the same header
with struct, and a bare window: a QTableView over a plain model, filled by that loop and painted.
"""

from __future__ import annotations

import gc
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING

from bench.reading import plain_loop, walked
from tests.support.gguf_files import STRING, Plain, TensorSpec, array, f32, u32, write

if TYPE_CHECKING:
    from PySide6.QtWidgets import QWidget

TENSORS, TOKENS = 1_000, 32_000
TIMES = 200
_WARM_UP = 10
_MEDIAN = "median\t"


def make(folder: Path) -> tuple[Path, Path]:
    """Both files: full length, their data a hole."""
    return _write(folder, "llama", 0), _write(folder, "qwen3moe", 128)


def _write(folder: Path, architecture: str, experts: int) -> Path:
    width, heads = 4096, 32
    parts: list[tuple[str, str, tuple[int, ...]]] = [
        ("attn_norm", "F32", (width,)),
        ("attn_q", "Q4_K", (width, width)),
        ("attn_k", "Q4_K", (width, 1024)),
        ("attn_v", "Q6_K", (width, 1024)),
        ("attn_output", "Q4_K", (width, width)),
        ("ffn_norm", "F32", (width,)),
    ]
    if experts:
        parts += [
            ("attn_q_norm", "F32", (128,)),
            ("attn_k_norm", "F32", (128,)),
            ("ffn_gate_inp", "F32", (width, experts)),
            *((f"ffn_{n}_exps", "Q4_K", (width, 1536, experts)) for n in ("gate", "up")),
            ("ffn_down_exps", "Q6_K", (1536, width, experts)),
        ]
    else:
        parts += [
            *((f"ffn_{n}", "Q4_K", (width, 12288)) for n in ("gate", "up")),
            ("ffn_down", "Q6_K", (12288, width)),
        ]
    layers = (TENSORS - 3) // len(parts)
    tensors = [
        TensorSpec("token_embd.weight", "Q4_K", (width, TOKENS)),
        TensorSpec("output.weight", "Q6_K", (width, TOKENS)),
        TensorSpec("output_norm.weight", "F32", (width,)),
    ]
    tensors += [
        TensorSpec(f"blk.{layer}.{name}.weight", kind, shape)
        for layer in range(layers)
        for name, kind, shape in parts
    ]
    # One part of a layer more, until the count is right.
    extra = TENSORS - len(tensors)
    tensors += [TensorSpec(f"blk.{n}.attn_output.bias", "F32", (width,)) for n in range(extra)]
    assert len(tensors) == TENSORS
    keys: dict[str, Plain] = {
        "general.architecture": architecture,
        "general.name": f"A thousand tensors, {architecture}",
        "general.file_type": u32(15),
        f"{architecture}.block_count": u32(layers),
        f"{architecture}.context_length": u32(131_072),
        f"{architecture}.embedding_length": u32(width),
        f"{architecture}.feed_forward_length": u32(12288),
        f"{architecture}.attention.head_count": u32(heads),
        f"{architecture}.attention.head_count_kv": u32(8),
        f"{architecture}.attention.key_length": u32(128),
        f"{architecture}.attention.value_length": u32(128),
        f"{architecture}.attention.layer_norm_rms_epsilon": f32(1e-6),
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.tokens": array(STRING, [f"token{n}" for n in range(TOKENS)]),
    }
    if experts:
        keys |= {
            f"{architecture}.expert_count": u32(experts),
            f"{architecture}.expert_used_count": u32(8),
            f"{architecture}.expert_feed_forward_length": u32(1536),
        }
    return write(folder / f"{architecture}-Q4_K_M.gguf", keys, tensors)


class Painted:
    """Whether each of these widgets has been painted since it was asked to wait."""

    def __init__(self, widgets: Sequence[QWidget]) -> None:
        from PySide6.QtCore import QEvent, QObject

        self._left: set[object] = set()
        left = self._left

        class Watch(QObject):
            def eventFilter(self, watched: QObject, event: QEvent) -> bool:
                if event.type() is QEvent.Type.Paint:
                    left.discard(watched)
                return False

        self._widgets = widgets
        self._watch = Watch()
        for widget in widgets:
            widget.installEventFilter(self._watch)

    def wait(self) -> None:
        """Forget what was painted."""
        self._left.update(self._widgets)

    @property
    def all(self) -> bool:
        """Whether nothing is left to wait for."""
        return not self._left


def switch(
    words: str,
    open_file: Callable[[Path], None],
    is_there: Callable[[Path], bool],
    painted: Painted,
    files: Sequence[Path],
    times: int,
) -> None:
    """Switch so often in the event loop; print the times and what the process holds meanwhile."""
    from PySide6.QtCore import QCoreApplication, QTimer

    from bench.weight import Weight, slope, weigh

    took: list[float] = []
    seen: list[tuple[int, Weight]] = []
    marks = [_WARM_UP + times * tenth // 10 for tenth in range(11)]
    wanted, begun, here = files[0], 0.0, True

    def step() -> None:
        nonlocal wanted, begun, here
        if not here:
            here = is_there(wanted)
            return
        if begun and not painted.all:
            return
        if begun:
            took.append((perf_counter() - begun) * 1000)
            if len(took) in marks:
                seen.append((len(took), weigh()))
            if len(took) == marks[-1]:
                timer.stop()
                QCoreApplication.exit()
                return
        wanted, here = files[len(took) % 2], False
        painted.wait()
        begun = perf_counter()
        open_file(wanted)

    timer = QTimer()  # of no time: due when nothing else is
    timer.timeout.connect(step)
    timer.start(0)
    QCoreApplication.exec()
    memory, objects = slope(seen[1:])
    found = took[_WARM_UP:]
    print(f"{words}: median {median(found):.1f} ms, worst {max(found):.1f} ms, {times} times")
    for when, (_, weight) in (("start", seen[0]), ("a tenth", seen[1]), ("end", seen[-1])):
        print(f"  {when:8} {weight.megabytes}, {weight.counts}")
    print(f"  since the tenth, a switch: {memory / 1e3:+.1f} kB and {objects:+.2f} objects")
    print(f"{_MEDIAN} {median(found)}", flush=True)


def ours(files: Sequence[Path], times: int) -> None:
    """The program's own window, with the table of tensors in front."""
    from bench.slider import loaded_window

    with TemporaryDirectory() as folder, loaded_window(Path(folder)) as (_, window):
        page, document = window.page, window.document
        page.show_panel(page.tensors)
        canvas = page.plan.speed.plot.canvas
        assert canvas is not None
        shown = [page.tensors.view.viewport(), page.plan.memory.devices[0].bar]
        gc.freeze()  # as the program does when its event loop begins

        def is_there(path: Path) -> bool:
            model = document.model
            return model is not None and model.file.header.path == path

        painted = Painted([*shown, canvas.widget.viewport()])
        switch("the window", window.opening.open, is_there, painted, files, times)


def bare(files: Sequence[Path], times: int) -> None:
    """A window with a table and nothing else, filled by the plain loop."""
    from PySide6.QtGui import QStandardItem, QStandardItemModel
    from PySide6.QtWidgets import QApplication, QTableView

    _app = QApplication(sys.argv[:1])
    view, model = QTableView(), QStandardItemModel()
    view.setModel(model)
    view.resize(1280, 800)
    view.show()
    gc.freeze()

    def open_file(path: Path) -> None:
        model.clear()
        for tensor in walked(path)[1]:
            model.appendRow([QStandardItem(str(part)) for part in tensor])

    painted = Painted([view.viewport()])
    switch("bare window with a table", open_file, lambda path: True, painted, files, times)
    view.close()


def main(times: int = TIMES) -> None:
    """Both windows, each in a process of its own, and the plain loop without one."""
    with TemporaryDirectory() as folder:
        files = make(Path(folder))
        loops = []
        for number in range(times):
            begun = perf_counter()
            plain_loop(files[number % 2])
            loops.append((perf_counter() - begun) * 1000)
        print(f"plain loop over the header: median {median(loops):.1f} ms, worst {max(loops):.1f}")
        medians = []
        for way in ("--bare", "--ours"):
            done = subprocess.run(
                [sys.executable, "-m", "bench.switching", way, *map(str, files), str(times)],
                env={**os.environ, "QT_QPA_PLATFORM": "offscreen"},
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
                check=True,
            )
            said, _, last = done.stdout.rpartition(_MEDIAN)
            print(said, end="")
            medians.append(float(last))
    theirs, mine = medians
    print(f"{mine / theirs:.1f} times the bare window, {mine / median(loops):.1f} the plain loop")


if __name__ == "__main__":
    match sys.argv[1:]:
        case [way, *paths, count]:
            (ours if way == "--ours" else bare)([Path(path) for path in paths], int(count))
        case [count]:
            main(int(count))
        case _:
            main()
