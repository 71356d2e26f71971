"""Where this program keeps what it knows about machines: small JSON files of the user's.

The folder is that of the window's settings (Qt's AppConfigLocation), so that window and command
line share it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from core.language import tr
from core.whole_file import open_file, set_aside, write_whole

# No file of ours comes near this; one that does was not written by us.
_SIZE_LIMIT = 5_000_000


def folder(environ: Mapping[str, str] = os.environ, system: str = sys.platform) -> Path:
    """The folder for this user; it may not exist yet."""
    home = home_of(environ)
    if system == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "weighbridge"
    if system == "darwin":
        return home / "Library" / "Preferences" / "weighbridge"
    configured = environ.get("XDG_CONFIG_HOME", "")
    base = Path(configured) if configured.startswith("/") else home / ".config"
    return base / "weighbridge"


def home_of(environ: Mapping[str, str] = os.environ) -> Path:
    """The user's own folder; "/" for a user without one, as in some containers."""
    named = environ.get("HOME") or environ.get("USERPROFILE")
    try:
        return Path(named) if named else Path.home()
    except RuntimeError:
        return Path("/")


class UnreadableError(ValueError):
    """A file that the system does not give, now: another time it may."""


def read_json(path: Path) -> object:
    """What a JSON file holds. Raises FileNotFoundError, UnreadableError, and ValueError with a
    sentence for anything that is no JSON of ours."""
    try:
        with open_file(path) as file:
            data = file.read(_SIZE_LIMIT + 1)
    except FileNotFoundError:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UnreadableError(
            tr("{name} could not be read: {why}", name=path.name, why=reason)
        ) from None
    if len(data) > _SIZE_LIMIT:
        raise ValueError(tr("{name} is too large for a file of machines", name=path.name))
    try:
        return json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        raise ValueError(tr("{name} is no JSON file", name=path.name)) from None


def write_json(path: Path, values: object) -> None:
    """Write a file whole or not at all. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, json_of(values).encode())


def replace_json(path: Path, values: object, understood: Callable[[object], object]) -> None:
    """`write_json` in the place of a file that ``understood`` reads; one at which it raises
    ValueError is kept beside. Raises OSError."""
    try:
        understood(read_json(path))
    except FileNotFoundError:
        pass
    except ValueError:
        set_aside(path)
    write_json(path, values)


def json_of(values: object) -> str:
    """What a file of this kind holds."""
    return json.dumps(values, indent=1, allow_nan=False) + "\n"
