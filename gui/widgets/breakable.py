"""Long paths, names and keys on narrow panels."""

from __future__ import annotations


def breakable(text: str) -> str:
    """The same text with places where a line may end. To be shown, not to be copied."""
    for mark in "/\\._-":
        text = text.replace(mark, f"{mark}\u200b")
    return text
