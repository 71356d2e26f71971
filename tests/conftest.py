"""What holds for every test: no screen, one scale, the same fonts. Set before Qt is imported."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import monotonic

import pytest

os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["QT_SCALE_FACTOR"] = "1"
os.environ.pop("QT_QPA_PLATFORMTHEME", None)
os.environ.pop("QT_STYLE_OVERRIDE", None)
# Nor does the language of whoever runs the tests matter.
os.environ["LC_ALL"] = "C.UTF-8"
# What the tests keep must not be what the user keeps.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="weighbridge-tests-")
os.environ["FONTCONFIG_FILE"] = str(Path(__file__).parent / "fonts" / "fonts.conf")

from core.language import speak
from tests.support.real_files import gemma3_270m, smollm2_135m  # noqa: F401 - fixtures

_PATIENCE_MS = 30_000


@pytest.fixture(autouse=True)
def _english_afterwards() -> Iterator[None]:
    """Whatever language a test speaks, the next one begins in English."""
    yield
    speak()


def pytest_configure() -> None:
    """Waiting ends at once when what is waited for comes; a busy machine may need long for it.

    QTest's own wait keeps the interpreter to itself, so that a thread which reads a database gets
    on by a step in ten milliseconds. An event loop lets it go, as the program's own does.
    """
    from PySide6.QtCore import QEventLoop, QLocale, QTimer
    from pytestqt.exceptions import TimeoutError as WaitedTooLongError
    from pytestqt.qtbot import QtBot

    def wait_until(
        self: QtBot, callback: Callable[[], bool | None], *, timeout: int = _PATIENCE_MS
    ) -> None:
        end = monotonic() + timeout / 1000
        while True:
            last: AssertionError | None = None
            try:
                if callback() in (None, True):
                    return
            except AssertionError as failed:
                last = failed
            if monotonic() > end:
                raise WaitedTooLongError(f"nothing came in {timeout} milliseconds") from last
            loop = QEventLoop()
            QTimer.singleShot(10, loop.quit)
            loop.exec()

    # Numbers in boxes as the window has them from its start where English is spoken.
    QLocale.setDefault(QLocale(QLocale.Language.English, QLocale.Country.UnitedStates))
    QtBot.waitUntil = wait_until  # type: ignore[method-assign]
    for wait in (QtBot.waitSignal, QtBot.waitSignals):
        wait.__kwdefaults__ = {**(wait.__kwdefaults__ or {}), "timeout": _PATIENCE_MS}


def pytest_unconfigure() -> None:
    """Nothing is left behind."""
    shutil.rmtree(os.environ["XDG_CONFIG_HOME"], ignore_errors=True)
