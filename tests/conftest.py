"""What holds for every test: no screen, one scale, the same fonts. Set before Qt is imported."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"
os.environ["QT_SCALE_FACTOR"] = "1"
os.environ.pop("QT_QPA_PLATFORMTHEME", None)
os.environ.pop("QT_STYLE_OVERRIDE", None)
# What the tests keep must not be what the user keeps.
os.environ["XDG_CONFIG_HOME"] = tempfile.mkdtemp(prefix="weighbridge-tests-")
os.environ["FONTCONFIG_FILE"] = str(Path(__file__).parent / "fonts" / "fonts.conf")

from tests.support.real_files import gemma3_270m, smollm2_135m  # noqa: F401 - fixtures

_PATIENCE_MS = 30_000


def pytest_configure() -> None:
    """Waiting ends at once when what is waited for comes; a busy machine may need long for it."""
    from pytestqt.qtbot import QtBot

    for wait in (QtBot.waitUntil, QtBot.waitSignal, QtBot.waitSignals):
        wait.__kwdefaults__ = {**(wait.__kwdefaults__ or {}), "timeout": _PATIENCE_MS}


def pytest_unconfigure() -> None:
    """Nothing is left behind."""
    shutil.rmtree(os.environ["XDG_CONFIG_HOME"], ignore_errors=True)
