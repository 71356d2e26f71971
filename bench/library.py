"""A folder of 500 models: listed with what their headers say and whether they fit, against a plain
loop that opens each file and reads its first bytes.

    python -m bench.library [MODELS]

Every tenth model has a vocabulary of 50,000 tokens; the others are specimens of real headers. The
second time nothing has changed and no header is read. Then the dialog fills with 5,000 models, and
the longest time in which the window could not answer is told.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import resources
from core.library import Entry, Folder, scan
from core.machine import catalogue
from tests.support.gguf_files import STRING, array, write

MODELS = 500
TIMES = 3
_FIRST_BYTES = 1 << 16
_MANY = 5_000
_LATE_MS = 100
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
    """What any program must do: find the files, open each, read its beginning."""
    found = 0
    for path in folder.rglob("*.gguf"):
        with path.open("rb") as file:
            found += file.read(_FIRST_BYTES).startswith(b"GGUF")
    return found


def best(work: Callable[[], int]) -> tuple[float, int]:
    """The shortest of a few times, and what was found."""
    times = []
    for _ in range(TIMES):
        begun = time.perf_counter()
        found = work()
        times.append(time.perf_counter() - begun)
    return min(times), found


def window(folder: Path) -> None:
    """The dialog fills: how long the event loop was away at most."""
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtCore import QElapsedTimer, QTimer
    from PySide6.QtWidgets import QApplication

    from gui.document import Document
    from gui.panels.library import LibraryDialog

    app = QApplication.instance() or QApplication([])
    document = Document()
    document.set_this_computer(catalogue.machine(_SPEC))
    dialog = LibraryDialog(document, (), known=[Folder(folder)])
    clock, gaps = QElapsedTimer(), [0]
    ticks = QTimer()
    ticks.timeout.connect(lambda: gaps.append(clock.restart()))
    clock.start()
    ticks.start(1)
    begun = time.perf_counter()
    dialog.show()
    while dialog.feed.running:
        app.processEvents()
        time.sleep(0.0005)  # as an event loop waits
    seconds = time.perf_counter() - begun
    late = sum(1 for gap in gaps if gap > _LATE_MS)
    dialog.close()
    dialog.feed.stop()
    print(
        f"dialog: {len(dialog.sheet.lines):,} models in {seconds:.1f} s; the window was away for "
        f"{max(gaps)} ms at most, more than {_LATE_MS} ms {late} times"
    )


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
    with tempfile.TemporaryDirectory() as name:
        make(Path(name), _MANY)
        window(Path(name))


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
