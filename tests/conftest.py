"""What holds for every test: no screen, one scale, the same fonts, and nothing of the user's. Set
before Qt is imported."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from time import monotonic

import pytest

from core.language import speak
from tests.support import surroundings
from tests.support.real_files import gemma3_270m, smollm2_135m  # noqa: F401 - fixtures

_FOLDER = surroundings.settle()
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
    from hypothesis import HealthCheck, settings
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

    # How long an example takes says how busy the machine is. Nor does one run begin with what
    # another one, perhaps at this moment, found.
    settings.register_profile(
        "any machine",
        deadline=None,
        database=None,
        suppress_health_check=[HealthCheck.too_slow],
    )
    settings.load_profile("any machine")
    # Numbers in boxes as the window has them from its start where English is spoken.
    QLocale.setDefault(QLocale(QLocale.Language.English, QLocale.Country.UnitedStates))
    QtBot.waitUntil = wait_until  # type: ignore[method-assign]
    for wait in (QtBot.waitSignal, QtBot.waitSignals):
        wait.__kwdefaults__ = {**(wait.__kwdefaults__ or {}), "timeout": _PATIENCE_MS}


def pytest_unconfigure() -> None:
    """Nothing is left behind."""
    shutil.rmtree(_FOLDER, ignore_errors=True)
