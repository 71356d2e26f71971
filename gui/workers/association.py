"""Whether a double-click on a .gguf file opens this program, and how it comes to that.

Only what belongs to this user is written, and no default of another program is replaced unless the
user asked for it. What was written can be taken away again.
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

from core.language import tr
from core.problems import Problem
from gui.workers import windows_files
from gui.workers.runner import Function, Handle

MIME_TYPE = "application/x-gguf"
_DESKTOP = "weighbridge.desktop"
_ENTRY = Path("applications") / _DESKTOP
_ICON_SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
_SECONDS = 10  # that a tool of the desktop may take


@dataclass(frozen=True, slots=True)
class Association:
    """``offered`` says that the desktop lists this program for .gguf files, ``default`` which
    program opens them at a double-click ("" for none, or where that cannot be told). ``problem``
    is why nothing can be done here. ``ours_to_take`` says that this user's own files offer it, and
    not a package of the system; ``settings`` is the address at which the desktop lets nobody but
    the user choose the default, "" where `installing` may."""

    offered: bool = False
    default: str = ""
    problem: Problem | None = None
    ours_to_take: bool = False
    settings: str = ""

    @property
    def ours(self) -> bool:
        """Whether a double-click opens this program."""
        return self.default in (_DESKTOP, windows_files.PROG_ID, windows_files.BROWSED)


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


def taking_away() -> Function:
    """Let the desktop offer this program no longer. Answers an `Association`."""

    def take(handle: Handle) -> Association:
        return take_out(os.environ)

    return take


def state(environ: Mapping[str, str], platform: str = sys.platform) -> Association:
    """What is known of .gguf files on this desktop. Never raises."""
    try:
        if platform == "win32":
            return _windows_state()
        if platform == "darwin":
            return Association(problem=_mac())
        here, *packaged = (folder / _ENTRY for folder in _data_folders(environ))
        own = here.is_file()
        offered = own or any(path.is_file() for path in packaged)
        return Association(offered, _xdg_default(environ), ours_to_take=own)
    except OSError as error:
        return Association(problem=_failed(error))


def put_in(
    environ: Mapping[str, str], *, default: bool, platform: str = sys.platform
) -> Association:
    """Write what the desktop reads. Never raises."""
    try:
        if platform == "win32":
            words = command()
            windows_files.put_in(windows_files.registry(), words, words[0])
        elif platform != "darwin":
            _xdg_put_in(environ, default=default)
    except OSError as error:
        return Association(problem=_failed(error))
    return state(environ, platform)


def take_out(environ: Mapping[str, str], *, platform: str = sys.platform) -> Association:
    """Take away what `put_in` wrote. Never raises."""
    try:
        if platform == "win32":
            windows_files.take_out(windows_files.registry())
        elif platform != "darwin":
            for path in _xdg_files(data_home(environ)):
                path.unlink(missing_ok=True)
            _refresh(environ)
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


def _data_folders(environ: Mapping[str, str]) -> list[Path]:
    """Where desktop files lie, this user's folder first (XDG Base Directory Specification)."""
    told = environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    return [data_home(environ), *(Path(folder) for folder in told.split(":") if folder)]


def _xdg_files(home: Path) -> list[Path]:
    icons = home / "icons" / "hicolor"
    sized = [icons / f"{side}x{side}" / "apps" / "weighbridge.png" for side in _ICON_SIZES]
    drawing = icons / "scalable" / "apps" / "weighbridge.svg"
    return [home / _ENTRY, home / "mime" / "packages" / "weighbridge.xml", drawing, *sized]


def _xdg_put_in(environ: Mapping[str, str], *, default: bool) -> None:
    before = _xdg_default(environ)
    source = files("resources") / "desktop"
    text = (source / _DESKTOP).read_text("utf-8")
    text = text.replace("Exec=weighbridge %F", f"Exec={_exec(command())} %F")
    entry, kind, icon, *sized = _xdg_files(data_home(environ))
    _write(entry, text.encode())
    _write(kind, (source / "weighbridge.xml").read_bytes())
    drawing = (files("resources") / "icons" / "weighbridge.svg").read_bytes()
    _write(icon, drawing)
    for side, path in zip(_ICON_SIZES, sized, strict=True):
        _draw(drawing, side, path)
    _refresh(environ)
    if default:
        _tool(environ, "xdg-mime", "default", _DESKTOP, MIME_TYPE)
    elif before not in ("", _DESKTOP) and _xdg_default(environ) != before:
        # Where nobody ever chose, a desktop takes what lies in the user's own folder.
        _tool(environ, "xdg-mime", "default", before, MIME_TYPE)


def _refresh(environ: Mapping[str, str]) -> None:
    """The desktop's own lists of types, programs and icons."""
    home = data_home(environ)
    _tool(environ, "update-mime-database", str(home / "mime"))
    _tool(environ, "update-desktop-database", str(home / "applications"))
    _tool(environ, "gtk-update-icon-cache", "-q", "-t", "-f", str(home / "icons" / "hicolor"))


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


def _windows_state() -> Association:
    reg = windows_files.registry()
    offered = windows_files.offered(reg)
    return Association(
        offered,
        windows_files.default(reg),
        ours_to_take=offered,
        settings=windows_files.SETTINGS,
    )


def _mac() -> Problem:
    return Problem(
        "bundle-only",
        tr("On macOS an application says in its bundle which files it opens."),
        advice=tr(
            "Use the application bundle, and choose it in the Finder under Get Info, Open with."
        ),
    )


def _failed(error: OSError) -> Problem:
    reason = error.strerror or str(error)
    return Problem(
        "not-written",
        tr("The desktop's files could not be written: {reason}.", reason=reason),
        advice=tr("Check that your home folder can be written to."),
    )
