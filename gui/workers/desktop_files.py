"""Files of a freedesktop.org desktop: the entry of a program, its kind of file, its icons.

By the Desktop Entry, Shared MIME-info, Icon Theme and XDG Base Directory specifications.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QRectF, Qt
from PySide6.QtGui import QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgRenderer

from core.machine.places import home_of

MIME_TYPE = "application/x-gguf"
DESKTOP = "weighbridge.desktop"
_ENTRY = Path("applications") / DESKTOP
_ICON_SIZES = (16, 22, 24, 32, 48, 64, 128, 256, 512)
_SECONDS = 10  # that a tool of the desktop may take


def offered(environ: Mapping[str, str]) -> tuple[bool, bool]:
    """Whether the desktop lists this program for .gguf files, and whether by this user's own
    files."""
    here, *packaged = (folder / _ENTRY for folder in _data_folders(environ))
    own = here.is_file()
    return own or any(path.is_file() for path in packaged), own


def default(environ: Mapping[str, str]) -> str:
    """The entry that a double-click opens; "" for none, or where that cannot be told."""
    return _tool(environ, "xdg-mime", "query", "default", MIME_TYPE).strip()


def put_in(environ: Mapping[str, str], command: Sequence[str], *, chosen: bool) -> None:
    """Write this user's files; make the program the default only where that was ``chosen``.
    ``command`` starts it without a file. Raises OSError."""
    before = default(environ)
    write(_data_home(environ), command)
    _refresh(environ)
    if chosen:
        _tool(environ, "xdg-mime", "default", DESKTOP, MIME_TYPE)
    elif before not in ("", DESKTOP) and default(environ) != before:
        # Where nobody ever chose, a desktop takes what lies in the user's own folder.
        _tool(environ, "xdg-mime", "default", before, MIME_TYPE)


def take_out(environ: Mapping[str, str]) -> None:
    """Take away what `put_in` wrote; what is not there is no error. Raises OSError."""
    entry, kind, drawing, sized = _places(_data_home(environ))
    for path in (entry, kind, drawing, *sized.values()):
        path.unlink(missing_ok=True)
    _refresh(environ)


def write(folder: Path, command: Sequence[str]) -> None:
    """What a desktop reads, into a folder like /usr/share. Raises OSError."""
    entry, kind, drawing, sized = _places(folder)
    source = files("resources") / "desktop"
    text = (source / DESKTOP).read_text("utf-8")
    text = text.replace("Exec=weighbridge %F", f"Exec={exec_line(command)} %F")
    for path, data in (
        (entry, text.encode()),
        (kind, (source / "weighbridge.xml").read_bytes()),
        (drawing, _drawing()),
    ):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    for side, path in sized.items():
        draw_icon(side, path)


def draw_icon(side: int, path: Path) -> None:
    """The program's icon in pixels, in the format that the name asks for. Raises OSError."""
    image = QImage(side, side, QImage.Format.Format_ARGB32)
    image.fill(Qt.GlobalColor.transparent)
    painter = QPainter(image)
    QSvgRenderer(QByteArray(_drawing())).render(painter, QRectF(image.rect()))
    painter.end()
    # Python writes to any name that the system has; Qt only to those that are text.
    data = QBuffer()
    data.open(QBuffer.OpenModeFlag.WriteOnly)
    if not QImageWriter(data, QByteArray(path.suffix[1:].encode())).write(image):
        raise OSError(f"Qt writes no icons in the format {path.suffix}")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data.data().data())


def exec_line(words: Sequence[str]) -> str:
    """The words of a program as the Exec key takes them (Desktop Entry Specification)."""
    quoted = []
    for word in words:
        text = word.replace("%", "%%")
        if shlex.quote(word) != word:
            for letter in '\\"`$':
                text = text.replace(letter, f"\\{letter}")
            # A string of the file itself takes its backslashes twice.
            text = f'"{text}"'.replace("\\", "\\\\")
            for letter, escape in (("\n", "\\n"), ("\r", "\\r"), ("\t", "\\t")):
                text = text.replace(letter, escape)
        quoted.append(text)
    return " ".join(quoted)


def _data_home(environ: Mapping[str, str]) -> Path:
    told = Path(environ.get("XDG_DATA_HOME", ""))
    # One that is not absolute is to be ignored.
    return told if told.is_absolute() else home_of(environ) / ".local" / "share"


def _data_folders(environ: Mapping[str, str]) -> list[Path]:
    """Where desktop files lie, this user's folder first."""
    told = environ.get("XDG_DATA_DIRS") or "/usr/local/share:/usr/share"
    folders = (Path(folder) for folder in told.split(":"))
    return [_data_home(environ), *(folder for folder in folders if folder.is_absolute())]


def _places(folder: Path) -> tuple[Path, Path, Path, dict[int, Path]]:
    """The entry, the kind of file, the drawing, and the icon of each size in pixels."""
    icons = folder / "icons" / "hicolor"
    sized = {n: icons / f"{n}x{n}" / "apps" / "weighbridge.png" for n in _ICON_SIZES}
    drawing = icons / "scalable" / "apps" / "weighbridge.svg"
    return folder / _ENTRY, folder / "mime" / "packages" / "weighbridge.xml", drawing, sized


def _drawing() -> bytes:
    return (files("resources") / "icons" / "weighbridge.svg").read_bytes()


def _refresh(environ: Mapping[str, str]) -> None:
    """The desktop's own lists of types, programs and icons."""
    home = _data_home(environ)
    _tool(environ, "update-mime-database", str(home / "mime"))
    _tool(environ, "update-desktop-database", str(home / "applications"))
    _tool(environ, "gtk-update-icon-cache", "-q", "-t", "-f", str(home / "icons" / "hicolor"))


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
