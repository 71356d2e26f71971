"""From process start to the first painted window with a model, against bare windows.

    python -m bench.startup [PAIRS]

Ours opens the benchmark's large header (`bench.reading`) by the program's own start, `gui.app.run`,
and the clock stops when the page of the model has been painted; the plot, which is loaded one turn
later, is told apart. One bare window is a QMainWindow with a label and nothing else, the other has
one pyqtgraph plot. What they are compared with is what they have, too: the first paint with the
bare one, the painted model with the one with a plot (the bar), and with its plot drawn as well. All
are processes of their own, run in turns; the clock is the system's monotonic one, started before
the process.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from PySide6.QtCore import QCoreApplication, QEvent, QObject, QTimer
from PySide6.QtWidgets import QApplication, QGraphicsView, QWidget

BAR = 1.5
PAIRS = 9


class _Stop(QObject):
    """Prints the time once a widget has been painted, its children included."""

    def __init__(self, widget: QWidget, word: str) -> None:
        super().__init__(widget)
        self._widget = widget
        self._word = word
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() is QEvent.Type.Paint and watched is self._widget:
            self._widget.removeEventFilter(self)
            # The window is painted in one go; what is posted now comes right after it, before
            # anything that its children ask for while they are painted.
            QCoreApplication.postEvent(self, QEvent(QEvent.Type.User))
        return False

    def customEvent(self, event: QEvent) -> None:
        print(self._word, time.monotonic(), flush=True)


def ours(file: str) -> int:
    """The program, with a look at its window when its event loop begins."""
    from gui import app

    run_loop = QApplication.exec

    def watched_loop() -> int:
        from gui.main_window import MainWindow

        (window,) = (w for w in QApplication.topLevelWidgets() if isinstance(w, MainWindow))
        _Stop(window, "window")
        _Stop(window.page, "model")
        plot = window.page.plan.speed.plot
        wait = QTimer(window)

        def look() -> None:
            if plot.findChildren(QGraphicsView):
                wait.stop()
                print("plot", time.monotonic(), flush=True)
                window.close()

        wait.timeout.connect(look)
        wait.start(5)
        return run_loop()

    QApplication.exec = staticmethod(watched_loop)  # type: ignore[method-assign]
    return app.run([file])


def bare(*, plot: bool) -> int:
    """What anybody pays who opens a window, or one with a plot."""
    from PySide6.QtWidgets import QLabel, QMainWindow

    application = QApplication([])
    window = QMainWindow()
    painted: QWidget
    if plot:
        import pyqtgraph

        drawn = pyqtgraph.PlotWidget()  # type: ignore[no-untyped-call]
        drawn.plot([1.0, 2.0, 3.0])
        window.setCentralWidget(drawn)
        painted = drawn.viewport()
    else:
        painted = QLabel("a window")
        window.setCentralWidget(painted)
    window.resize(1280, 800)
    _Stop(painted, "window")
    window.show()
    QTimer.singleShot(300, window.close)
    return application.exec()


def _time(folder: str, *arguments: str) -> dict[str, float]:
    environment = {
        **os.environ,
        # Byte code is kept, as it is for everybody who starts a program twice.
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(Path(folder) / "bytecode"),
        "QT_QPA_PLATFORM": "offscreen",
        "XDG_CONFIG_HOME": folder,
        "XDG_STATE_HOME": folder,
    }
    start = time.monotonic()
    try:
        done = subprocess.run(
            [sys.executable, "-m", "bench.startup", *arguments],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            check=True,
            timeout=60,
        )
    except subprocess.SubprocessError as error:
        for log in Path(folder).rglob("*.log"):
            print(log.read_text())
        sys.exit(str(error))
    lines = (line.split() for line in done.stdout.splitlines())
    return {word: float(at) - start for word, at in lines}


def main(pairs: int = PAIRS) -> None:
    """Print the medians and their ratios."""
    from bench import reading

    with tempfile.TemporaryDirectory() as folder:
        file = str(reading.make(Path(folder) / "large.gguf"))
        ways = (["--ours", file], ["--plot"], ["--bare"])
        for arguments in ways:
            _time(folder, *arguments)  # warm the page cache and the byte code
        found = [[_time(folder, *arguments) for arguments in ways] for _ in range(pairs)]
    mine = {word: median(o[word] for o, _, _ in found) for word in ("window", "model", "plot")}
    plot, empty = (median(times[way]["window"] for times in found) for way in (1, 2))
    print(f"first paint            {mine['window']:.3f} s")
    print(f"window with the model  {mine['model']:.3f} s")
    print(f"the plot as well       {mine['plot']:.3f} s")
    print(f"bare window            {empty:.3f} s")
    print(f"bare window with plot  {plot:.3f} s")
    model = median(o["model"] / p["window"] for o, p, _ in found)
    print(f"with the model / bare with plot, median of {pairs} pairs: {model:.2f} (bar: {BAR})")
    whole = median(o["plot"] / p["window"] for o, p, _ in found)
    print(f"the plot as well / bare with plot: {whole:.2f}")
    first = median(o["window"] / e["window"] for o, _, e in found)
    print(f"first paint / bare window: {first:.2f}")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--ours", file]:
            sys.exit(ours(file))
        case ["--plot"]:
            sys.exit(bare(plot=True))
        case ["--bare"]:
            sys.exit(bare(plot=False))
        case [count]:
            main(int(count))
        case _:
            main()
