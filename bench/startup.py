"""From process start to the first painted window with a model, against a bare window.

    python -m bench.startup [PAIRS]

Ours opens the benchmark's large header (`bench.reading`) by the program's own start, `gui.app.run`,
and the clock stops when the page of the model has been painted; the plot, which is loaded one turn
later, is told apart. The bare window is a QMainWindow with one pyqtgraph plot and nothing else.
Both are processes of their own, run in turns; the clock is the system's monotonic one, started
before the process.
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


def bare() -> int:
    """What anybody pays who opens a window with a plot."""
    import pyqtgraph
    from PySide6.QtWidgets import QMainWindow

    application = QApplication([])
    window = QMainWindow()
    plot = pyqtgraph.PlotWidget()  # type: ignore[no-untyped-call]
    plot.plot([1.0, 2.0, 3.0])
    window.setCentralWidget(plot)
    window.resize(1280, 800)
    _Stop(plot.viewport(), "window")
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
    """Print the medians and their ratio."""
    from bench import reading

    with tempfile.TemporaryDirectory() as folder:
        file = str(reading.make(Path(folder) / "large.gguf"))
        for arguments in (["--ours", file], ["--bare"]):
            _time(folder, *arguments)  # warm the page cache and the byte code
        found = [(_time(folder, "--ours", file), _time(folder, "--bare")) for _ in range(pairs)]
    mine = {word: median(o[word] for o, _ in found) for word in ("window", "model", "plot")}
    other = median(b["window"] for _, b in found)
    ratio = median(o["model"] / b["window"] for o, b in found)
    print(f"first paint            {mine['window']:.3f} s")
    print(f"window with the model  {mine['model']:.3f} s")
    print(f"the plot as well       {mine['plot']:.3f} s")
    print(f"bare window with plot  {other:.3f} s")
    print(f"ratio, median of {pairs} pairs: {ratio:.2f} (bar: {BAR})")


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["--ours", file]:
            sys.exit(ours(file))
        case ["--bare"]:
            sys.exit(bare())
        case [count]:
            main(int(count))
        case _:
            main()
