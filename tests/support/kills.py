"""How often things are killed: a few times by default; ``KILL_ROUNDS=50`` before a release."""

from __future__ import annotations

import os


def kill_rounds(few: int) -> int:
    """So many, or as many as the environment asks for."""
    return int(os.environ.get("KILL_ROUNDS") or few)
