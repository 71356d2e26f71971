"""Text from a file, made safe to show: nothing in it moves, hides or reverses what is around it."""

from __future__ import annotations

import re

# C0 and C1 controls, the marks and overrides of bidirectional text, zero-width and other
# invisible characters, line and paragraph separators, tags, surrogates and non-characters.
# The joiners U+200C and U+200D stay: scripts and emoji need them.
_UNSAFE = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)
_UNSAFE_BUT_LINES = re.compile(_UNSAFE.pattern.replace("\x00-\x1f", "\x00-\x08\x0b-\x1f", 1))
_SHORT = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}


def _escape(match: re.Match[str]) -> str:
    character = match.group()
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # a byte that was no UTF-8, kept by surrogateescape
        return f"\\x{code - 0xDC00:02x}"
    if character in _SHORT:
        return _SHORT[character]
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def display(text: str, *, lines: bool = False) -> str:
    """``text`` with control, bidirectional, invisible and undecodable characters escaped.

    With ``lines`` line feeds and tabs stay, for templates shown over many lines.
    """
    return (_UNSAFE_BUT_LINES if lines else _UNSAFE).sub(_escape, text)


def excerpt(text: str, length: int = 80) -> str:
    """The first ``length`` characters on one line, white space folded, safe to show."""
    folded = " ".join(text[: 8 * length].split())
    return display(folded if len(folded) <= length else folded[: length - 1] + "…")
