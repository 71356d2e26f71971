"""What the words mean: read from one file of texts, found in any words on the screen.

``resources/glossary.txt`` has one entry after the other: "== name | other names", sentences, and
"See: " with the names of related ones. ``resources/glossary.<code>.txt`` has the same entries in
another language.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from unicodedata import combining, normalize

from core import language


@dataclass(frozen=True, slots=True)
class Term:
    """One word of the field. ``also`` are other names that it goes by, ``see`` names of others."""

    name: str
    also: tuple[str, ...]
    text: str
    see: tuple[str, ...]


def terms() -> tuple[Term, ...]:
    """All of them by name, in the reader's language. Reads a file the first time."""
    return _terms(language.code())


def entries(code: str) -> list[Term]:
    """What the file of a language has, in its order."""
    name = "glossary.txt" if code == language.SOURCE else f"glossary.{code}.txt"
    text = (files("resources") / name).read_text(encoding="utf-8")
    return list(map(_read, text.split("\n== ")))


def term_named(name: str) -> Term | None:
    """The term of this name, or of one that it also goes by, whatever its case."""
    return _names(language.code()).get(_folded(name))


def terms_in(words: str) -> list[Term]:
    """The terms that are named in some words, in their order, each once.

    Of "KV cache type" it is the longest name that counts, not every word of it.
    """
    found = (
        term_named(match.group()) for match in _pattern(language.code()).finditer(_folded(words))
    )
    return list(dict.fromkeys(term for term in found if term is not None))


def search(words: str) -> list[Term]:
    """Terms for what somebody types: those whose name begins so, then those named so somewhere,
    then those whose text has all of it. Everything for nothing typed."""
    wanted = _folded(words).strip()
    ranked: list[list[Term]] = [[], [], []]
    for term in terms():
        names = [_folded(name) for name in (term.name, *term.also)]
        if any(name.startswith(wanted) for name in names):
            ranked[0].append(term)
        elif any(wanted in name for name in names):
            ranked[1].append(term)
        elif all(word in _folded(term.text) for word in wanted.split()):
            ranked[2].append(term)
    return [term for rank in ranked for term in rank]


def _read(entry: str) -> Term:
    head, _, rest = entry.removeprefix("== ").strip().partition("\n")
    name, _, also = head.partition(" | ")
    text, _, see = rest.partition("\nSee: ")
    return Term(name.strip(), _listed(also), text.strip(), _listed(see))


def _listed(names: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",") if name.strip())


def _folded(words: str) -> str:
    """Without case, accents, mnemonics and superfluous spaces."""
    plain = "".join(sign for sign in normalize("NFKD", words.casefold()) if not combining(sign))
    return " ".join(plain.replace("&", "").split())


@cache
def _terms(code: str) -> tuple[Term, ...]:
    return tuple(sorted(entries(code), key=lambda term: _folded(term.name)))


@cache
def _names(code: str) -> dict[str, Term]:
    return {_folded(name): term for term in _terms(code) for name in (term.name, *term.also)}


@cache
def _pattern(code: str) -> re.Pattern[str]:
    names = sorted(_names(code), key=len, reverse=True)
    # The unit of a figure is no word that somebody asks about.
    return re.compile(rf"\d [kmgt]i?b\b|(?<!\w)(?:{'|'.join(map(re.escape, names))})(?!\w)")
