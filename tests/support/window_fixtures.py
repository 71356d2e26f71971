"""Every test of the window: settings of its own, the light theme, English, nothing left alive."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication

from core.check import programs
from gui.language import Speech
from gui.panels.measure import servers
from gui.theme import Theme, ThemeMode
from tests.support.leaks import no_leaks


@pytest.fixture(autouse=True)
def _own_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings, state and cache lie in this test's own folder, and nothing is found that whoever
    runs the tests has: no llama.cpp in a usual place, no server."""
    for name in ("XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path / "home"))
    monkeypatch.setattr(programs, "_UNIX", ())
    monkeypatch.setattr(servers, "looking_for_servers", lambda keys: lambda handle: ())


@pytest.fixture(scope="session")
def _one_theme(qapp: QApplication) -> Theme:
    font = QFont("DejaVu Sans", 10)
    font.setHintingPreference(QFont.HintingPreference.PreferNoHinting)
    qapp.setFont(font)
    Speech(qapp).speak("en", "")
    return Theme(qapp, ThemeMode.LIGHT)


@pytest.fixture(autouse=True)
def theme(_one_theme: Theme) -> Theme:
    """The application's theme, light at the start of each test."""
    _one_theme.set_mode(ThemeMode.LIGHT)
    return _one_theme


@pytest.fixture(autouse=True)
def _nothing_left_alive(theme: Theme) -> Iterator[None]:
    with no_leaks():
        yield
