"""A step of a slider: choice changed to everything painted, the whole window, 753 tensors.

    python -m bench.slider

The window is 1280x800 and offscreen; the model is the bundled Qwen3.6-35B-A3B on a graphics card
beside 64 GiB of RAM, the case with the most to draw, with the overview in front. Every step changes
the choice and lets the event loop run until nothing is left to lay out or paint. Milliseconds of
wall time; the processor's own time stands beside it, for a machine that is busy with other things.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from itertools import cycle, islice
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from PySide6.QtWidgets import QApplication

    from gui.main_window import MainWindow

STEPS = 300
WARM_UP = 90  # more than the stops of any slider: a recipe is made once
SPECIMEN = "Qwen3.6-35B-A3B-Q4_K_M.gguf"
MACHINE = "nvidia-geforce-rtx-3090"
RAM = 64 * 2**30
BAR_MEDIAN_MS, BAR_P99_MS = 16, 33


def main() -> None:
    from PySide6.QtCore import QEvent, QObject

    from core.model import recipe_sizes

    class Paints(QObject):
        """How many paints there were."""

        count = 0

        def eventFilter(self, watched: QObject, event: QEvent) -> bool:
            if event.type() is QEvent.Type.Paint:
                self.count += 1
            return False

    with TemporaryDirectory() as folder, loaded_window(Path(folder)) as (app, window):
        document, plot = window.document, window.page.plan.speed.plot
        model = document.model
        assert model is not None
        paints = Paints()
        assert plot.canvas is not None
        plot.canvas.widget.viewport().installEventFilter(paints)
        window.page.plan.memory.devices[0].bar.installEventFilter(paints)

        def steps(words: str, changes: Sequence[dict[str, Any]]) -> None:
            document.reset()
            settle(app, 0.5)
            times, own = [], []
            painted = paints.count
            for change in islice(cycle(changes), WARM_UP + STEPS):
                start, start_own = perf_counter(), process_time()
                document.choose(**change)
                run_out(app)
                times.append((perf_counter() - start) * 1000)
                own.append((process_time() - start_own) * 1000)
                settle(app, 0.002)
            each = (paints.count - painted) / (WARM_UP + STEPS)
            for kind, found in (("wall", times), ("processor", own)):
                found = sorted(found[WARM_UP:])
                print(
                    f"{words:28} {kind:9}  median {median(found):5.1f}  "
                    f"p99 {found[int(0.99 * STEPS)]:5.1f}  worst {found[-1]:5.1f}"
                    + (f"  ({each:.1f} paints of bar and plot a step)" if kind == "wall" else "")
                )
                words = ""

        def there_and_back(stops: Sequence[Any]) -> list[Any]:
            return [*stops, *stops[-2:0:-1]]

        contexts = [1024 * n for n in range(1, 257)]
        doubling = [512 * 2**n for n in range(10)]
        recipes = [None, *(size.ftype for size in recipe_sizes(model))]
        print(f"bars: median {BAR_MEDIAN_MS} ms, p99 {BAR_P99_MS} ms of wall time")
        steps("context, every 1,024 tokens", [{"context": c} for c in there_and_back(contexts)])
        steps("context, from stop to stop", [{"context": c} for c in there_and_back(doubling)])
        kinds = ("f16", "q8_0", "q4_0")
        steps("cache type", [{"cache_k": k, "cache_v": k} for k in kinds])
        steps("quantization", [{"requantize": name} for name in there_and_back(recipes)])
        steps("layers on the GPU", [{"gpu_layers": n} for n in there_and_back(range(42))])
        steps("experts in RAM", [{"cpu_moe": n} for n in there_and_back(range(41))])


@contextmanager
def loaded_window(folder: Path) -> Iterator[tuple[QApplication, MainWindow]]:
    """The application and its window with the model, painted to the last plot; closed at the end.
    ``folder`` takes its settings."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtWidgets import QApplication

    from core.gguf import open_file
    from core.machine import catalogue, with_ram
    from core.model import model_from
    from gui.document import Document
    from gui.main_window import MainWindow
    from gui.main_window.kept_settings import KeptSettings
    from gui.theme import Theme, ThemeMode

    held = QApplication.instance()
    app = held if isinstance(held, QApplication) else QApplication(sys.argv[:1])
    document = Document()
    kept = KeptSettings(folder / "settings.json")
    window = MainWindow(document, Theme(app, ThemeMode.LIGHT), kept)
    window.resize(1280, 800)
    window.show()
    gc.freeze()  # as the program does when its event loop begins
    document.set_machine(with_ram(catalogue.machine(MACHINE), RAM))
    document.set_model(
        model_from(open_file(Path(str(files("resources") / "specimens" / SPECIMEN))))
    )
    plot = window.page.plan.speed.plot
    until(app, lambda: plot.canvas is not None)
    settle(app, 1.0)
    try:
        yield app, window
    finally:
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
