"""Elements of XHTML: every text is escaped here, and nowhere is it forgotten."""

from __future__ import annotations

from html import escape

from core.gguf import display

_EMPTY = frozenset(("circle", "line", "meta", "path", "polygon", "polyline", "rect"))


class Markup(str):
    """Text that is markup already."""

    __slots__ = ()


def element(tag: str, *children: str, **attributes: object) -> Markup:
    """An element with these children; a plain string among them is a text.

    Attributes are named as Python allows it: ``class_``, ``stroke_width``. None leaves one out.
    """
    made = "".join(
        f' {name.rstrip("_").replace("_", "-")}="{text(str(value))}"'
        for name, value in attributes.items()
        if value is not None
    )
    inside = "".join(each if isinstance(each, Markup) else text(each) for each in children)
    if not inside and tag in _EMPTY:
        return Markup(f"<{tag}{made} />")
    return Markup(f"<{tag}{made}>{inside}</{tag}>")


def text(words: str) -> str:
    """Words as they stand in a page: nothing in them is markup, nothing is invisible."""
    return escape(display(words, lines=True))


def joined(*parts: str) -> Markup:
    """Several pieces one after the other."""
    return Markup("".join(each if isinstance(each, Markup) else text(each) for each in parts))
