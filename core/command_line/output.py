"""Standard output and standard error, which a windowed start may not have."""

from __future__ import annotations

import sys

from core.gguf import display


def prepare() -> None:
    """Let no name crash the output: what the terminal's encoding lacks is escaped."""
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="backslashreplace")


def say(text: str) -> None:
    """Text on standard output, at once: somebody may answer line by line."""
    if sys.stdout is not None:
        sys.stdout.write(text if text.endswith("\n") else f"{text}\n")
        sys.stdout.flush()


def complain(sentence: str) -> None:
    """One line of plain words on standard error."""
    if sys.stderr is not None:
        sys.stderr.write(f"{display(sentence)}\n")
