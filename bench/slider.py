"""A step of a slider: choice changed to everything painted, the whole window, 753 tensors.

    python -m bench.slider

The window is 1280x800 and offscreen; the model is the bundled Qwen3.6-35B-A3B on a graphics card
beside 64 GiB of RAM, the case with the most to draw. Every step changes the choice and lets the
event loop run until the last paint has been done. Milliseconds of wall time.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from importlib.resources import files
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

STEPS = 300
WARM_UP = 30
SPECIMEN = "Qwen3.6-35B-A3B-Q4_K_M.gguf"
MACHINE = "nvidia-geforce-rtx-3090"
RAM = 64 * 2**30
BAR_MEDIAN_MS, BAR_P99_MS = 16, 33


def main() -> None:
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import QEvent, QObject
    from PySide6.QtWidgets import QApplication

    from core.gguf import open_file
    from core.machine import catalogue, with_ram
    from core.model import model_from
    from gui.document import Document
    from gui.main_window import MainWindow
    from gui.theme import Theme, ThemeMode

    held = QApplication.instance()
    app = held if isinstance(held, QApplication) else QApplication(sys.argv[:1])

    class Paints(QObject):
        """When the last paint was done."""

        count = 0

        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() is QEvent.Type.Paint:
                self.count += 1
            return False

    with TemporaryDirectory() as folder:
        document = Document()
        window = MainWindow(document, Theme(app, ThemeMode.LIGHT), Path(folder) / "settings.json")
        window.resize(1280, 800)
        window.show()
        document.set_machine(with_ram(catalogue.machine(MACHINE), RAM))
        document.set_model(
            model_from(open_file(Path(str(files("resources") / "specimens" / SPECIMEN))))
        )
        plot = window.page.plan.speed.plot
        until(app, lambda: plot.canvas is not None)
        settle(app, 0.5)
        paints = Paints()
        assert plot.canvas is not None
        plot.canvas.widget.viewport().installEventFilter(paints)
        window.page.plan.memory.devices[0].bar.installEventFilter(paints)

        def steps(words: str, changes: Iterator[dict[str, Any]]) -> None:
            times = []
            painted = paints.count
            for change in islice(changes, WARM_UP + STEPS):
                start = perf_counter()
                document.choose(**change)
                run_out(app)
                times.append((perf_counter() - start) * 1000)
                settle(app, 0.002)
            times = sorted(times[WARM_UP:])
            each = (paints.count - painted) / (WARM_UP + STEPS)
            p99 = times[int(0.99 * STEPS)]
            print(
                f"{words:28} median {median(times):5.1f} ms   p99 {p99:5.1f} ms   "
                f"worst {times[-1]:5.1f} ms   ({each:.1f} paints of bar and plot a step)"
            )

        contexts = [1024 * n for n in range(1, 257)]
        print(f"bars: median {BAR_MEDIAN_MS} ms, p99 {BAR_P99_MS} ms")
        steps("context, every 1,024 tokens", cycle({"context": c} for c in contexts))
        stops = [512 * 2**n for n in range(10)]
        steps("context, from stop to stop", cycle({"context": c} for c in (*stops, *stops[::-1])))
        kinds = ("f16", "q8_0", "q4_0")
        steps("cache type", cycle({"cache_k": k, "cache_v": k} for k in kinds))
        layers = [*range(42), *range(41, 0, -1)]
        steps("layers on the GPU", cycle({"gpu_layers": n} for n in layers))
        window.close()


def run_out(app: Any) -> None:
    """Let the event loop run until nothing is left to lay out or paint."""
    for _ in range(4):
        app.processEvents()


def settle(app: Any, seconds: float) -> None:
    end = perf_counter() + seconds
    while perf_counter() < end:
        app.processEvents()


def until(app: Any, done: Callable[[], bool]) -> None:
    while not done():
        app.processEvents()


if __name__ == "__main__":
    main()
