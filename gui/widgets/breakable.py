"""Where lines may end: in long paths, names and keys on narrow panels, but in no option."""

from __future__ import annotations

import re

# A point between digits belongs to a number: 21.702 is one in Spanish.
_PLACE = re.compile(r"[/\\_-]|(?<![0-9])\.|\.(?![0-9])")
_OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z0-9-]*")


def breakable(text: str) -> str:
    """The same text with places where a line may end. To be shown, not to be copied."""
    return _PLACE.sub("\\g<0>\u200b", text)


def unbroken(text: str) -> str:
    """The same text with options such as --cache-ram each on one line. To be shown, not to be
    copied."""
    return _OPTION.sub(lambda found: found[0].replace("-", "-\u2060"), text)
