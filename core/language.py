"""The reader's language: every sentence and every number that somebody reads passes here.

The program speaks English unless `speak` was called, which the window does before anything is
built; the command line never does. A sentence is one whole text with names in braces, so that a
translator can turn it round, and its facts are formatted after it was translated:

    tr("{size} of {room} are free", size=format_bytes(size), room=format_bytes(room))
    tr("{share:.1f} % of the weights", share=share)
    trn("one tensor", "{count:,} tensors", count)

A text that is made when a module is loaded is only marked (`mark`) and translated where it is
shown, ``tr(WORDS[key])``. A number which stands in no sentence is formatted by `written`. Whatever
a program reads back (JSON, commands, keys, names in a file) never passes here.

Catalogues are GNU gettext's: ``resources/translations/<code>.po``, compiled beside it.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files

SOURCE = "en"


@dataclass(frozen=True, slots=True)
class NumberStyle:
    """How a number is written: what stands before the tenths, what between the thousands, and from
    how many digits before the point thousands are set apart."""

    decimal: str = "."
    group: str = ","
    least: int = 4


_PLAIN = NumberStyle()  # as Python writes them
# As the Unicode CLDR has them for English, Spanish and French, by the example the user chooses.
STYLES = {
    "12,345.6": _PLAIN,
    "12.345,6": NumberStyle(",", ".", 5),
    "12\N{NARROW NO-BREAK SPACE}345,6": NumberStyle(",", "\N{NARROW NO-BREAK SPACE}", 4),
}
NAMES = {SOURCE: "English", "es": "Español"}
_STYLE_OF = {SOURCE: "12,345.6", "es": "12.345,6"}

_SPACES = "[ \N{NO-BREAK SPACE}\N{THIN SPACE}\N{NARROW NO-BREAK SPACE}]"
_catalogue: NullTranslations = NullTranslations()
_style = _PLAIN
_code = SOURCE


def speak(code: str = SOURCE, numbers: str = "") -> None:
    """From now on texts are in the language ``code``, a key of `NAMES`, and numbers as ``numbers``,
    a key of `STYLES`; "" writes them as the language does. Anything else means English."""
    style = STYLES.get(numbers, STYLES[_STYLE_OF.get(code, "12,345.6")])
    use(_catalogue_of(code), style, code if code in NAMES else SOURCE)


def use(catalogue: NullTranslations, style: NumberStyle = _PLAIN, language: str = SOURCE) -> None:
    """From now on texts are translated by this catalogue, and numbers written in this style."""
    global _catalogue, _style, _code
    _catalogue, _style, _code = catalogue, style, language


def code() -> str:
    """The language that is spoken now, a key of `NAMES`: for what a file of its own says in it."""
    return _code


def style() -> NumberStyle:
    """How numbers are written now."""
    return _style


def numbers() -> str:
    """The same, as a key of `STYLES`: for others that are to `speak` alike."""
    return next(name for name, each in STYLES.items() if each == _style)


def mark(text: str) -> str:
    """The text as it is: it will be translated where it is shown."""
    return text


def tr(text: str, /, **facts: object) -> str:
    """The text in the reader's language, with the facts in its braces."""
    return _filled(_catalogue.gettext(text) if text else "", text, facts)


def trc(context: str, text: str, /, **facts: object) -> str:
    """Like `tr`, for a word that means different things in different places."""
    return _filled(_catalogue.pgettext(context, text), text, facts)


def trn(one: str, many: str, count: int, /, **facts: object) -> str:
    """One of two texts by a count, which both know as ``{count}``."""
    text = one if count == 1 else many
    return _filled(_catalogue.ngettext(one, many, count), text, {"count": count, **facts})


def listed(words: Sequence[str]) -> str:
    """Words in one line: "a", "a and b", "a, b and c"."""
    if len(words) < 2:
        return "".join(words)
    return tr("{words} and {last}", words=", ".join(words[:-1]), last=words[-1])


def either(words: Sequence[str]) -> str:
    """One of these, whichever: "a", "a or b", "a, b or c"."""
    if len(words) < 2:
        return "".join(words)
    return tr("{words} or {last}", words=", ".join(words[:-1]), last=words[-1])


def written(value: float, spec: str = ",") -> str:
    """A number by a format of Python's, in the reader's way of writing: "12,345" or "12.345"."""
    return format(value if _style is _PLAIN else _spoken(value), spec)


def plain(typed: str) -> str:
    """What a reader typed with numbers of the own way of writing, with Python's instead.

    "24,5 GB" becomes "24.5 GB" where a comma stands before the tenths. What is no number in that
    way of writing stays as it is. Where thousands are set apart by a space, any space does it: few
    keyboards have the narrow one.
    """
    if _style is _PLAIN:
        return typed
    return _number_pattern(_style).sub(
        lambda m: re.sub(_group(_style), "", m[0]).replace(_style.decimal, "."), typed
    )


class _Int(int):
    def __format__(self, spec: str) -> str:
        return _spelled(super().__format__(spec))


class _Float(float):
    def __format__(self, spec: str) -> str:
        return _spelled(super().__format__(spec))


def _filled(text: str, source: str, facts: dict[str, object]) -> str:
    if not facts:
        return text
    spoken = facts
    if _style is not _PLAIN:
        spoken = {name: _spoken(fact) for name, fact in facts.items()}
    try:
        return text.format(**spoken)
    except Exception:  # braces of a damaged catalogue may be anything
        return source.format(**spoken)


def _spoken(fact: object) -> object:
    match fact:
        case bool():
            return fact
        case int():
            return _Int(fact)
        case float():
            return _Float(fact)
    return fact


def _spelled(text: str) -> str:
    whole, point, rest = text.partition(".")
    apart = _style.group if sum(map(str.isdigit, whole)) >= _style.least else ""
    words = whole.replace(",", apart) + (_style.decimal if point else "") + rest
    return words.replace("%", "\N{NO-BREAK SPACE}%")


@cache
def _number_pattern(style: NumberStyle) -> re.Pattern[str]:
    group, decimal = _group(style), re.escape(style.decimal)
    whole = rf"(?:[1-9][0-9]{{0,2}}(?:{group}[0-9]{{3}})+|[0-9]+)"
    return re.compile(rf"(?<![0-9.,]){whole}(?:{decimal}[0-9]*)?(?![0-9.,])")


def _group(style: NumberStyle) -> str:
    return _SPACES if style.group.isspace() else re.escape(style.group)


@cache
def _catalogue_of(code: str) -> NullTranslations:
    if code == SOURCE or code not in NAMES:
        return NullTranslations()
    try:
        with (files("resources") / "translations" / f"{code}.mo").open("rb") as file:
            return GNUTranslations(file)
    except Exception as error:  # the standard library promises nothing of a damaged file
        logging.warning("texts stay in English, the catalogue of %r is damaged: %s", code, error)
        return NullTranslations()
