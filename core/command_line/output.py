"""Standard output and standard error, which a windowed start may not have."""

from __future__ import annotations

import os
import sys
from typing import TextIO

from core.gguf import display


class OutputError(Exception):
    """Standard output takes no more; the one argument says why."""


def prepare() -> None:
    """Let no name crash the output: what the terminal's encoding lacks is escaped."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Text on standard output, at once: somebody may answer line by line.

    Raises BrokenPipeError where the reader has gone, OutputError where the disk is full.
    """
    if sys.stdout is None:
        return
    try:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        raise OutputError(error.strerror or str(error)) from None


def discard(stream: TextIO | None = None) -> None:
    """Let nothing that is left be written when the program ends (standard output, unless named)."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), (stream or sys.stdout).fileno())


def complain(sentence: str) -> None:
    """One line of plain words on standard error."""
    mutter(f"{display(sentence)}\n")


def mutter(text: str) -> None:
    """Text on standard error. Where nobody hears it, that changes nothing else."""
    if sys.stderr is None:
        return
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except OSError:
        discard(sys.stderr)
