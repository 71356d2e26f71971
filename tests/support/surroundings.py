"""The same surroundings for every test, whoever runs it and wherever: nothing that the user has set
for the desktop, the language, engines or hubs counts, and nothing of the user's is read or written.

It imports nothing of the program, and no Qt: both look at the environment when they are imported.
"""

from __future__ import annotations

import os
import tempfile
import time
from pathlib import Path

import pytest

# What Qt, desktops, engines, hubs and terminals look at.
_FAMILIES = (
    *("QT_", "QML", "XDG_", "LC_", "GTK_", "GNOME_", "KDE_", "DBUS_SESSION_"),
    *("HF_", "HUGGING_FACE_", "LLAMA_", "GGML_", "OLLAMA_", "LM_STUDIO_", "WEIGHBRIDGE_"),
)
_SINGLE = (
    *("LANG", "LANGUAGE", "DISPLAY", "WAYLAND_DISPLAY", "DESKTOP_SESSION", "APPIMAGE"),
    *("COLUMNS", "LINES", "NO_COLOR", "FORCE_COLOR"),
)
# What a person says to the tests themselves, and where these keep what they downloaded.
_FOR_TESTS = ("WEIGHBRIDGE_DRAW", "WEIGHBRIDGE_TESTS_CACHE")
_NOT_ASKED_THROUGH_A_PROXY = "127.0.0.1,localhost,::1"


def settle() -> Path:
    """Make the environment that of the tests. Returns a folder of this process, to be removed at
    its end: it takes what the program would keep in the user's."""
    environ = os.environ
    # Said before the user's folders go, and handed on to the processes that share the work.
    cache = environ.get("XDG_CACHE_HOME") or _home() / ".cache"
    environ.setdefault("WEIGHBRIDGE_TESTS_CACHE", str(Path(cache, "weighbridge-tests")))
    for name in list(environ):
        if name not in _FOR_TESTS and (name.startswith(_FAMILIES) or name in _SINGLE):
            del environ[name]
    folder = Path(tempfile.mkdtemp(prefix="weighbridge-tests-"))
    for name in ("CONFIG", "STATE", "DATA", "CACHE"):
        environ[f"XDG_{name}_HOME"] = str(folder / name.lower())
    environ["QT_QPA_PLATFORM"] = "offscreen"
    environ["QT_SCALE_FACTOR"] = "1"
    environ["LC_ALL"] = "C.UTF-8"
    environ["FONTCONFIG_FILE"] = str(Path(__file__).parents[1] / "fonts" / "fonts.conf")
    environ["no_proxy"] = environ["NO_PROXY"] = _NOT_ASKED_THROUGH_A_PROXY
    environ["TZ"] = "UTC"
    if hasattr(time, "tzset"):
        time.tzset()
    return folder


def without_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    """A user without a folder of his own who is in no list of users, as in some containers."""

    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("HOME", "USERPROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", unknown)


def _home() -> Path:
    """The user's folder; that for passing things where somebody has none."""
    try:
        return Path.home()
    except RuntimeError:
        return Path(tempfile.gettempdir())
