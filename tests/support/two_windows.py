"""The whole program in a process of its own, whose window gives way to one in another language."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

_PROGRAM = """
import os, signal, sys
from PySide6.QtCore import QTimer
from PySide6.QtWidgets import QApplication
from gui import app
from gui.main_window import preferences
from gui.workers.instance import Instance

heard = []
made = Instance.__init__

def init(self, *words):
    heard.append(self)
    made(self, *words)

Instance.__init__ = init
loop = QApplication.exec
turns = []

def windows():
    return [w for w in QApplication.topLevelWidgets() if w.objectName() == "window"]

def when(window, act):
    ready = window.document.model is not None and not window.opening.reader.running
    QTimer.singleShot(20, window, act if ready else lambda: when(window, act))

def watched():
    window, = windows()
    def act():
        menu = window.menuBar().actions()[0].text().replace("&", "")
        print(menu, *(SHOWS), sep="|", flush=True)
        if turns:
            return window.close()
        turns.append(1)
        ACT
    when(window, act)
    return loop()

QApplication.exec = staticmethod(watched)
status = app.run([sys.argv[1]])
AFTERWARDS
sys.exit(status)
"""


def said(act: str, config: Path, model: str, *, shows: str, afterwards: str = "pass") -> list[str]:
    """What each window printed once it had a model: the first menu and what ``shows`` has, a tuple
    of Python's. The first then does ``act``, a line of Python's; ``afterwards`` is one for the end.

    ``config`` takes the settings. Raises AssertionError where the program did not end well.
    """
    program = _PROGRAM.replace("SHOWS", shows).replace("AFTERWARDS", afterwards)
    done = subprocess.run(
        [sys.executable, "-c", program.replace("ACT", act), model],
        cwd=ROOT,
        env={
            **os.environ,
            "QT_QPA_PLATFORM": "offscreen",
            "XDG_CONFIG_HOME": str(config),
            "XDG_STATE_HOME": f"{config}-state",
        },
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout.splitlines()
