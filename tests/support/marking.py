"""A language that nobody speaks: what the source gives to translators stands between marks.

"copied {size}" becomes "⟦copied ⟧12 GiB": letters outside of the marks are a fact, a name, or a
text that was forgotten. Numbers are written as nobody writes them: 12˙345'6.
"""

from __future__ import annotations

import re
import runpy
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from gettext import NullTranslations
from html import unescape
from pathlib import Path
from string import Formatter
from unittest.mock import patch

from core import language

_ROOT = Path(__file__).resolve().parent.parent.parent
_STRANGE = language.NumberStyle("'", "˙")
_MARKED = re.compile(r"⟦[^⟦⟧]*(?:⟧|…$)")  # what is too long for its place ends in "…"
_TAG = re.compile(r"<[^<>]*>")


class Marking(NullTranslations):
    """Marks the texts that the source gives to translators, and no others."""

    def gettext(self, message: str) -> str:
        """The text with its words between marks, but not the facts in it."""
        return _marked(None, message)

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        """One of two."""
        return _marked(None, msgid1 if n == 1 else msgid2)

    def pgettext(self, context: str, message: str) -> str:
        """One with a context."""
        return _marked(context, message)


@contextmanager
def marked() -> Iterator[None]:
    """Everything is said in this language meanwhile, whatever a window is told to speak."""
    language.use(Marking(), _STRANGE)
    try:
        with (
            patch.object(language, "speak", lambda *_: None),
            patch.dict(language.STYLES, {"12,345.6": _STRANGE}),
        ):
            yield
    finally:
        language.speak()


def bare(text: str) -> str:
    """What of a text stands outside of the marks, without markup; a line ends where something
    went."""
    text = text.replace("\u200b", "")
    if text.startswith("<"):
        text = unescape(_TAG.sub("\n", text))
    before = ""
    while before != text:
        before, text = text, _MARKED.sub("\n", text)
    return text


def _marked(context: str | None, message: str) -> str:
    if (context, message) not in _known():
        return message
    if "{" not in message:
        return f"⟦{message}⟧"
    parts = []
    for literal, name, form, turn in Formatter().parse(message):
        if literal:
            words = literal.replace("{", "{{").replace("}", "}}")
            parts.append(f"⟦{words}⟧")
        if name is not None:
            parts.append(f"{{{name}{'!' + turn if turn else ''}{':' + form if form else ''}}}")
    return "".join(parts)


@cache
def _known() -> frozenset[tuple[str | None, str]]:
    template = runpy.run_path(str(_ROOT / "packaging" / "make_translations.py"))["template"]()
    return frozenset(
        (message.context, text)
        for message in template
        for text in ([message.id] if isinstance(message.id, str) else message.id)
    )
