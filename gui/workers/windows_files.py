"""The registry of Windows: a program's own kind of file, and its place in "Open with".

Everything is written for this user alone. The default is never written: Windows lets nobody but the
user choose it, in "Open with" or in its settings, where the program registers itself.
Written against Microsoft's documentation ("File Types", "Default Programs") and tested with a
registry of plain dictionaries: no Windows was at hand.
"""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from core.language import tr

PROG_ID = "Weighbridge.gguf"
# What Windows itself makes of a program that somebody looked up by "Open with".
BROWSED = r"Applications\weighbridge.exe"
# The page of Windows' settings on which the user makes a program the default.
SETTINGS = "ms-settings:defaultapps?registeredAppUser=Weighbridge"
_CLASSES = r"Software\Classes"
_OURS = rf"{_CLASSES}\{PROG_ID}"
_OPEN_WITH = rf"{_CLASSES}\.gguf\OpenWithProgids"
_PROGRAM = r"Software\Weighbridge"
_CAPABILITIES = rf"{_PROGRAM}\Capabilities"
_REGISTERED = r"Software\RegisteredApplications"
_CHOSEN = r"Software\Microsoft\Windows\CurrentVersion\Explorer\FileExts\.gguf\UserChoice"

# A key below HKEY_CURRENT_USER, the name of a value in it ("" for the key's own), and the value;
# None for one without content.
Entry = tuple[str, str, str | None]


def registry() -> Any:
    """Python's module for the registry; ImportError where there is none."""
    import winreg

    return winreg


def entries(command: Sequence[str], icon: str) -> tuple[Entry, ...]:
    """What is written. ``command`` starts the program without a file, ``icon`` is the file that
    holds its icon."""
    return (
        (_OURS, "", tr("GGUF language model")),
        (rf"{_OURS}\DefaultIcon", "", f"{icon},0"),
        (rf"{_OURS}\shell\open\command", "", f'{subprocess.list2cmdline(command)} "%1"'),
        (_OPEN_WITH, PROG_ID, None),
        (_CAPABILITIES, "ApplicationName", "Weighbridge"),
        (_CAPABILITIES, "ApplicationDescription", tr("Weigh a language model before you load it")),
        (rf"{_CAPABILITIES}\FileAssociations", ".gguf", PROG_ID),
        (_REGISTERED, "Weighbridge", _CAPABILITIES),
    )


def offered(reg: Any) -> bool:
    """Whether "Open with" lists this program."""
    return bool(_read(reg, reg.HKEY_CURRENT_USER, rf"{_OURS}\shell\open\command"))


def default(reg: Any) -> str:
    """The ProgID that a double-click opens: what the user chose, or what a program has set; ""."""
    return (
        _read(reg, reg.HKEY_CURRENT_USER, _CHOSEN, "ProgId")
        or _read(reg, reg.HKEY_CURRENT_USER, rf"{_CLASSES}\.gguf")
        or _read(reg, reg.HKEY_LOCAL_MACHINE, rf"{_CLASSES}\.gguf")
    )


def put_in(reg: Any, command: Sequence[str], icon: str) -> None:
    """Write it. Raises OSError."""
    for path, name, value in entries(command, icon):
        with reg.CreateKey(reg.HKEY_CURRENT_USER, path) as key:
            kind = reg.REG_NONE if value is None else reg.REG_SZ
            reg.SetValueEx(key, name, 0, kind, b"" if value is None else value)
    _tell_the_desktop()


def take_out(reg: Any) -> None:
    """Take away what `put_in` wrote; what is not there is no error. Raises OSError."""
    for path, name in ((_OPEN_WITH, PROG_ID), (_REGISTERED, "Weighbridge")):
        with (
            suppress(FileNotFoundError),
            reg.OpenKey(reg.HKEY_CURRENT_USER, path, 0, reg.KEY_SET_VALUE) as key,
        ):
            reg.DeleteValue(key, name)
    for path in _keys_of_our_own():
        with suppress(FileNotFoundError):
            reg.DeleteKey(reg.HKEY_CURRENT_USER, path)
    _tell_the_desktop()


def _keys_of_our_own() -> Iterator[str]:
    """From the inner to the outer ones: a key that has others inside is not deleted."""
    for inner in (r"shell\open\command", r"shell\open", "shell", "DefaultIcon"):
        yield rf"{_OURS}\{inner}"
    yield from (_OURS, rf"{_CAPABILITIES}\FileAssociations", _CAPABILITIES, _PROGRAM)


def _read(reg: Any, root: Any, path: str, name: str = "") -> str:
    try:
        with reg.OpenKey(root, path) as key:
            return str(reg.QueryValueEx(key, name)[0])
    except OSError:
        return ""


def _tell_the_desktop() -> None:
    """Its icons and menus are read anew (SHCNE_ASSOCCHANGED)."""
    import ctypes

    shell = getattr(getattr(ctypes, "windll", None), "shell32", None)
    if shell is not None:
        shell.SHChangeNotify(0x08000000, 0, None, None)
