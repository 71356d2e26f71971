"""Where lines may end: in long paths, names and keys on narrow panels, but in no option and not
between a number and its unit."""

from __future__ import annotations

import re

# A point between digits belongs to a number: 21.702 is one in Spanish.
_PLACE = re.compile(r"/(?!s\b)|[\\_-]|(?<![0-9])\.|\.(?![0-9])")
_OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z0-9-]*")
_ROOT = re.compile(r"(?<![\w.~/])/(?=[\w.])")  # of a path: "(/home/me/model.gguf)"
_UNIT = re.compile(r"(?<=[0-9]) (?=(?:[KMGT]i?B|GB/s|tok/s|ms|min|[Bsh%])(?!\w))")


def breakable(text: str) -> str:
    """The same text with places where a line may end. To be shown, not to be copied."""
    return _with_units(_PLACE.sub("\\g<0>\u200b", text))


def unbroken(text: str) -> str:
    """The same text with options such as --cache-ram, and numbers with their units, each on one
    line, and no line that ends with the first stroke of a path. To be shown, not to be copied."""
    text = _ROOT.sub("/\u2060", text)
    return _with_units(_OPTION.sub(lambda found: found[0].replace("-", "-\u2060"), text))


def _with_units(text: str) -> str:
    return _UNIT.sub("\u00a0", text)
