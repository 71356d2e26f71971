"""A folder of 500 models: listed with what their headers say and whether they fit, against a plain
loop that walks the same headers with struct.

    python -m bench.library [MODELS]

Every tenth model has a vocabulary of 50,000 tokens; the others are specimens of real headers. The
second time nothing has changed and no header is read. Then the dialog fills with 500 models and
with 5,000, and the longest time in which the window could not answer is told, beside that of a bare
window while a thread runs the plain loop.
"""

from __future__ import annotations

import gc
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from threading import Thread

import resources
from bench.reading import plain_loop
from core.library import Entry, Folder, scan
from core.machine import catalogue
from tests.support.gguf_files import STRING, array, write

MODELS = 500
TIMES = 3
_MANY = 5_000
_LATE_MS = 30
_SPEC = "nvidia-geforce-rtx-3090"


def make(folder: Path, count: int) -> None:
    """``count`` models in folders of ten, as publishers lay them out."""
    specimens = resources.specimens()
    words = [f"token{number:06}" for number in range(50_000)]
    for number in range(count):
        place = folder / f"publisher{number // 50}" / f"model{number // 10}"
        place.mkdir(parents=True, exist_ok=True)
        path = place / f"model-{number}-Q4_K_M.gguf"
        if number % 10:
            shutil.copyfile(specimens[number % len(specimens)], path)
        else:
            keys = {"general.architecture": "llama", "tokenizer.ggml.tokens": array(STRING, words)}
            write(path, keys)


def plain(folder: Path) -> int:
    """The least that can be done: find the files, walk every key and tensor of each."""
    return sum(1 for path in folder.rglob("*.gguf") if plain_loop(path))


def best(work: Callable[[], int]) -> tuple[float, int]:
    """The shortest of a few times, and what was found."""
    times = []
    for _ in range(TIMES):
        begun = time.perf_counter()
        found = work()
        times.append(time.perf_counter() - begun)
    return min(times), found


class Pauses:
    """A timer that is due every millisecond: how late it came at most."""

    def __init__(self) -> None:
        from PySide6.QtCore import Qt, QTimer

        self.longest, self.late, self._last = 0.0, 0, time.perf_counter()
        self._timer = QTimer()
        self._timer.setTimerType(Qt.TimerType.PreciseTimer)
        self._timer.timeout.connect(self._tick)
        self._timer.start(1)

    def watch(self, running: Callable[[], bool]) -> float:
        """Let the event loop run as long as this is true; seconds that it took."""
        from PySide6.QtCore import QCoreApplication, QEventLoop

        begun = self._last = time.perf_counter()
        while running():
            QCoreApplication.processEvents(QEventLoop.ProcessEventsFlag.WaitForMoreEvents)
        self._timer.stop()
        return time.perf_counter() - begun

    def _tick(self) -> None:
        now = time.perf_counter()
        away, self._last = 1000 * (now - self._last), now
        self.longest = max(self.longest, away)
        self.late += away > _LATE_MS

    def __str__(self) -> str:
        return f"away for {self.longest:.0f} ms at most, more than {_LATE_MS} ms {self.late} times"


def window(folder: Path) -> None:
    """The dialog fills: how long the event loop was away at most."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtWidgets import QApplication, QWidget

    from gui.document import Document
    from gui.panels.library import LibraryDialog

    app = QApplication.instance() or QApplication([])
    gc.freeze()  # as the program does when its event loop begins
    reading = Thread(target=plain, args=(folder,))
    pauses, bare = Pauses(), QWidget()
    bare.show()
    reading.start()
    seconds = pauses.watch(reading.is_alive)
    bare.close()
    print(f"bare window, plain loop beside it: {seconds:.1f} s; {pauses}")

    document = Document()
    document.set_this_computer(catalogue.machine(_SPEC))
    dialog = LibraryDialog(document, (), known=[Folder(folder)])
    dialog.show()
    app.processEvents()  # the first paint loads the fonts
    pauses = Pauses()
    seconds = pauses.watch(lambda: dialog.feed.running)
    dialog.close()
    dialog.feed.stop()
    print(f"dialog: {len(dialog.sheet.lines):,} models listed in {seconds:.1f} s; {pauses}")


def main(count: int = MODELS) -> None:
    machine = catalogue.machine(_SPEC)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        make(folder, count)
        folders = [Folder(folder)]
        known: dict[Path, Entry] = {}

        def listed() -> int:
            known.update((e.path, e) for e in scan(folders, machine) if isinstance(e, Entry))
            return len(known)

        def again() -> int:
            return sum(1 for _ in scan(folders, machine, known=known))

        loop, found = best(partial(plain, folder))
        print(f"plain loop: {found} files in {1000 * loop:.0f} ms")
        for words, work in (("listed and judged", listed), ("again, nothing changed", again)):
            seconds, found = best(work)
            print(
                f"{words}: {found} models in {1000 * seconds:.0f} ms, {seconds / loop:.1f} times "
                f"the plain loop, {1000 * seconds / max(found, 1):.2f} ms a model"
            )
    for number in (count, _MANY):
        with tempfile.TemporaryDirectory() as name:
            make(Path(name), number)
            window(Path(name))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
