"""Whether a double-click on a .gguf file opens this program, and how it comes to that.

Only what belongs to this user is written, and no default of another program is replaced unless the
user asked for it.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QImage, QPainter
from PySide6.QtSvg import QSvgRenderer

from core.problems import Problem
from gui.workers.runner import Function, Handle

MIME_TYPE = "application/x-gguf"
_DESKTOP = "weighbridge.desktop"
_PROG_ID = "Weighbridge.gguf"
_ICON_SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
_SECONDS = 10  # that a tool of the desktop may take


@dataclass(frozen=True, slots=True)
class Association:
    """``offered`` says that the desktop lists this program for .gguf files, ``default`` which
    program opens them at a double-click ("" for none, or where that cannot be told). ``problem``
    is why nothing can be done here."""

    offered: bool = False
    default: str = ""
    problem: Problem | None = None

    @property
    def ours(self) -> bool:
        """Whether a double-click opens this program."""
        return self.default in (_DESKTOP, _PROG_ID)


def looking() -> Function:
    """Answers an `Association`: how it is now."""

    def look(handle: Handle) -> Association:
        return state(os.environ)

    return look


def installing(*, default: bool) -> Function:
    """Let the desktop offer this program for .gguf files; make it the default only where asked.
    Answers an `Association`: how it is afterwards."""

    def install(handle: Handle) -> Association:
        return put_in(os.environ, default=default)

    return install


def state(environ: Mapping[str, str], platform: str = sys.platform) -> Association:
    """What is known of .gguf files on this desktop. Never raises."""
    try:
        if sys.platform == "win32":
            return _windows_state()
        if platform == "darwin":
            return Association(problem=_mac())
        offered = (data_home(environ) / "applications" / _DESKTOP).is_file()
        return Association(offered, _xdg_default(environ))
    except OSError as error:
        return Association(problem=_failed(error))


def put_in(
    environ: Mapping[str, str], *, default: bool, platform: str = sys.platform
) -> Association:
    """Write what the desktop reads. Never raises."""
    try:
        if sys.platform == "win32":
            _windows_put_in()
            return _windows_state()
        if platform == "darwin":
            return Association(problem=_mac())
        _xdg_put_in(environ, default=default)
    except OSError as error:
        return Association(problem=_failed(error))
    return state(environ, platform)


def data_home(environ: Mapping[str, str]) -> Path:
    """The folder of this user's desktop files, types and icons."""
    return Path(environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")


def command() -> list[str]:
    """What starts this program, without a file."""
    if getattr(sys, "frozen", False):
        return [os.environ.get("APPIMAGE") or sys.executable]
    script = Path(sys.executable).with_name(
        "weighbridge.exe" if sys.platform == "win32" else "weighbridge"
    )
    return [str(script)] if script.is_file() else [sys.executable, "-m", "gui"]


def _xdg_put_in(environ: Mapping[str, str], *, default: bool) -> None:
    home = data_home(environ)
    source = files("resources") / "desktop"
    entry = (source / _DESKTOP).read_text("utf-8")
    entry = entry.replace("Exec=weighbridge %F", f"Exec={_exec(command())} %F")
    _write(home / "applications" / _DESKTOP, entry.encode())
    _write(
        home / "mime" / "packages" / "weighbridge.xml", (source / "weighbridge.xml").read_bytes()
    )
    drawing = (files("resources") / "icons" / "weighbridge.svg").read_bytes()
    icons = home / "icons" / "hicolor"
    _write(icons / "scalable" / "apps" / "weighbridge.svg", drawing)
    for side in _ICON_SIZES:
        _draw(drawing, side, icons / f"{side}x{side}" / "apps" / "weighbridge.png")
    _tool(environ, "update-mime-database", str(home / "mime"))
    _tool(environ, "update-desktop-database", str(home / "applications"))
    _tool(environ, "gtk-update-icon-cache", "-q", "-t", "-f", str(icons))
    if default:
        _tool(environ, "xdg-mime", "default", _DESKTOP, MIME_TYPE)


def _xdg_default(environ: Mapping[str, str]) -> str:
    return _tool(environ, "xdg-mime", "query", "default", MIME_TYPE).strip()


def _exec(words: list[str]) -> str:
    """The words of a program as the Exec key takes them (Desktop Entry Specification)."""
    quoted = []
    for word in words:
        text = word.replace("%", "%%")
        if shlex.quote(word) != word:
            for letter in '\\"`$':
                text = text.replace(letter, f"\\{letter}")
            # A string of the file itself takes its backslashes twice.
            text = f'"{text}"'.replace("\\", "\\\\")
        quoted.append(text)
    return " ".join(quoted)


def _tool(environ: Mapping[str, str], name: str, *words: str) -> str:
    """What a tool of the desktop prints; "" where it is missing, fails or takes too long."""
    program = shutil.which(name, path=environ.get("PATH"))
    if program is None:
        return ""
    try:
        done = subprocess.run(
            [program, *words],
            env=dict(environ),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_SECONDS,
        )
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout if done.returncode == 0 else ""


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _draw(drawing: bytes, side: int, path: Path) -> None:
    image = QImage(side, side, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(drawing)).render(painter, QRectF(image.rect()))
    painter.end()
    path.parent.mkdir(parents=True, exist_ok=True)
    if not image.save(str(path)):
        raise OSError(f"{path} could not be written")


if sys.platform == "win32":
    # Written against the registry's documentation and untested: no Windows was at hand.
    import winreg

    _CLASSES = r"Software\Classes"
    _CHOSEN = r"Software\Microsoft\Windows\CurrentVersion\Explorer\FileExts\.gguf\UserChoice"

    def _registered(name: str, value: str = "") -> str:
        """A value of this user's registry; "" where it is not there."""
        try:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, name) as key:
                return str(winreg.QueryValueEx(key, value)[0])
        except OSError:
            return ""

    def _windows_state() -> Association:
        offered = _registered(rf"{_CLASSES}\{_PROG_ID}\shell\open\command")
        return Association(bool(offered), _registered(_CHOSEN, "ProgId"))

    def _windows_put_in() -> None:
        """A ProgID of our own, and a place in "Open with". The default is the user's to choose
        there; Windows lets no program set it."""
        words = subprocess.list2cmdline(command())
        root = winreg.HKEY_CURRENT_USER
        for name, value in (
            (rf"{_CLASSES}\{_PROG_ID}", "GGUF language model"),
            (rf"{_CLASSES}\{_PROG_ID}\shell\open\command", f'{words} "%1"'),
        ):
            with winreg.CreateKey(root, name) as key:
                winreg.SetValueEx(key, "", 0, winreg.REG_SZ, value)
        with winreg.CreateKey(root, rf"{_CLASSES}\.gguf\OpenWithProgids") as key:
            winreg.SetValueEx(key, _PROG_ID, 0, winreg.REG_NONE, b"")


def _mac() -> Problem:
    return Problem(
        "bundle-only",
        "On macOS an application says in its bundle which files it opens.",
        advice="Use the application bundle, and choose it in the Finder under Get Info, Open with.",
    )


def _failed(error: OSError) -> Problem:
    reason = error.strerror or str(error)
    return Problem(
        "not-written",
        f"The desktop's files could not be written: {reason}.",
        advice="Check that your home folder can be written to.",
    )
