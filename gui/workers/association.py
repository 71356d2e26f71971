"""Whether a double-click on a .gguf file opens this program, and how it comes to that.

Only what belongs to this user is written, and no default of another program is replaced unless the
user asked for it. What was written can be taken away again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from core.language import tr
from core.problems import Problem
from gui.workers import desktop_files, windows_files
from gui.workers.runner import Function, Handle

# The system says no; a name that has signs which no name may have; there is no home folder.
_NOT_DONE = (OSError, ValueError, RuntimeError)


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
        return self.default in (
            desktop_files.DESKTOP,
            windows_files.PROG_ID,
            windows_files.BROWSED,
        )


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
        offered, own = desktop_files.offered(environ)
        return Association(offered, desktop_files.default(environ), ours_to_take=own)
    except _NOT_DONE as error:
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
            desktop_files.put_in(environ, command(), chosen=default)
    except _NOT_DONE as error:
        return Association(problem=_failed(error))
    return state(environ, platform)


def take_out(environ: Mapping[str, str], *, platform: str = sys.platform) -> Association:
    """Take away what `put_in` wrote. Never raises."""
    try:
        if platform == "win32":
            windows_files.take_out(windows_files.registry())
        elif platform != "darwin":
            desktop_files.take_out(environ)
    except _NOT_DONE as error:
        return Association(problem=_failed(error))
    return state(environ, platform)


def command() -> list[str]:
    """What starts this program, without a file."""
    if getattr(sys, "frozen", False):
        return [os.environ.get("APPIMAGE") or sys.executable]
    script = Path(sys.executable).with_name(
        "weighbridge.exe" if sys.platform == "win32" else "weighbridge"
    )
    return [str(script)] if script.is_file() else [sys.executable, "-m", "gui"]


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


def _failed(error: Exception) -> Problem:
    reason = getattr(error, "strerror", None) or str(error)
    if isinstance(error, UnicodeError):
        reason = tr("the name of a folder on the way to this program is no text")
    return Problem(
        "not-written",
        tr("The desktop's files could not be written: {reason}.", reason=reason),
        advice=tr("Check that your home folder can be written to."),
    )
