"""The page that measures in a process of its own, without a screen, for tests that kill it.

    python -m tests.support.headless_measure MODEL PROGRAM_FOLDER HISTORY

starts llama-server with the plan, measures it, and prints ``server PID``, ``worker PID`` and
``kept DEPTH`` for every cell once it is in the history, then ``ended STATUS``.
"""

from __future__ import annotations

import os
import sys
from dataclasses import replace
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"

import psutil
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication

from core.gguf import open_file
from core.measure.discovery import find
from core.measure.events import CellDone, Event
from core.model import model_from
from gui.document import Document
from gui.panels.measure import servers
from gui.panels.measure.page import MeasurePage
from gui.workers.run_history import RunHistory
from tests.support.specimen_plans import RAM

DEPTHS = ", ".join(str(64 * n) for n in range(12))


def say(*words: object) -> None:
    sys.stdout.write(" ".join(map(str, words)) + "\n")
    sys.stdout.flush()


def main(model: str, folder: str, history_path: str) -> int:
    app = QApplication([])
    document = Document()
    document.set_this_computer(replace(RAM, id="this", name="This computer"))
    document.set_model(model_from(open_file(Path(model))))
    document.choose(context=2048, slots=1)
    history = RunHistory(Path(history_path))
    page = MeasurePage(document, history, folder)
    own = page.own.server
    ours = lambda handle: (find(own.url),) if own.url else ()  # noqa: E731
    setattr(servers, "looking_for_servers", lambda keys: ours)  # noqa: B010

    def ready() -> None:
        for process in psutil.Process(page.own.server._process.pid).children(recursive=True):
            say("server", process.pid)
        page.choices.depths.setText(DEPTHS)
        page.choices.depths.textEdited.emit(DEPTHS)
        page.choices.tokens.setValue(16)
        page.start()

    def begin() -> None:
        if page.target is not None and not page.busy and page.worker.run is None:
            ready()

    def happened(event: Event) -> None:
        if isinstance(event, CellDone):  # after the page's own slot, which has kept it
            say("kept", event.cell.depth)

    def told() -> None:
        if page.worker.process.pid:
            say("worker", page.worker.process.pid)
            timer.stop()

    def ended() -> None:
        run = page.worker.run
        say("ended", run.status.value if run is not None else "?")

    timer = QTimer()
    timer.setInterval(5)
    timer.timeout.connect(told)
    timer.start()
    page.servers.chosen_changed.connect(begin)
    page.worker.happened.connect(happened)
    page.worker.ended.connect(ended)
    page.own.finder.finished.connect(page.own._begin)
    page.show()
    return app.exec()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
