"""Where llama.cpp's programs are installed on this computer."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from core.machine.places import home_of

# Where a build, a package manager or a release that was unpacked puts them, where the PATH does
# not lead there: the PATH of a program that was started from a desktop is often a short one.
_EVERYWHERE = ("llama.cpp/build/bin", "llama.cpp/build/bin/Release", "llama.cpp", ".local/bin")
_UNIX = (
    "/opt/homebrew/bin",  # Homebrew on Apple silicon
    "/usr/local/bin",
    "/home/linuxbrew/.linuxbrew/bin",
    "/opt/local/bin",  # MacPorts
    "/run/current-system/sw/bin",  # NixOS
    "/opt/llama.cpp/bin",
    "/opt/llama.cpp",
)
# Below a folder that Windows names in a variable.
_WINDOWS = (
    ("LOCALAPPDATA", "Microsoft/WinGet/Links"),
    ("LOCALAPPDATA", "Programs/llama.cpp"),
    ("ProgramFiles", "llama.cpp"),
    ("USERPROFILE", "scoop/shims"),
)


def folders(home: Path, environ: Mapping[str, str], platform: str) -> tuple[Path, ...]:
    """The common places, in the order in which they are looked at."""
    own = tuple(home / name for name in _EVERYWHERE)
    if platform == "win32":
        named = ((environ.get(variable, ""), below) for variable, below in _WINDOWS)
        return (*(Path(folder) / below for folder, below in named if folder), *own)
    return (*map(Path, _UNIX), *own)


def find(names: Sequence[str], folder: str = "") -> dict[str, str]:
    """Those of these programs that are here, by name, with their paths.

    ``folder`` is looked at first, then the PATH, then the common places.
    """
    places = os.pathsep.join(str(p) for p in folders(home_of(), os.environ, sys.platform))
    found = {}
    for name in names:
        path = (
            (folder and shutil.which(name, path=folder))
            or shutil.which(name)
            or shutil.which(name, path=places)
        )
        if path:
            found[name] = path
    return found
