"""Prompts of exact lengths that nobody has sent before.

Servers keep what they have read: a prompt is only read whole if its very beginning is new. So every
fresh prompt is drawn from a generator seeded with the run and a tag, its first word included, and
a longer prompt of the same tag begins with the shorter one.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from random import Random

# Common English words, which nearly every vocabulary has as one token with a space before.
_COMMON = """
    about above across after again against almost along already also always among another answer
    area around back became because become been before began behind being best better between book
    both bring brought built business called came cannot care case cause center certain change
    child children church city clear close cold come common company could country course death
    development different does done door down during each early economic education effect either
    enough even ever every example experience face fact family feeling felt field figure find first
    five following food force form found four free friend from front full future gave general give
    given going gone good government great ground group half hand hard have head heard held help
    here high himself history home hope hour house however human hundred idea important increase
    indeed information interest into itself just keep kind knew know known land large last late
    later least left less letter level life light like line little living local long look looking
    love made major make making many material matter maybe mean means members method might mind
    mine minutes modern moment money month more morning most mother move much music must name
    national nature near necessary need never next night nothing number office often once only open
    order other outside over paper part party past peace people perhaps period person place point
    police political position possible power present president pressure problem program provide
    public question quite rather reason receive record report result return right river road room
    same school second section seem seen sense service several shall short should show side since
    small social society some something soon special stage stand state still story street strong
    such support sure system table take taken tell terms than that their them then there these they
    thing think third this those though thought three through time today together told took toward
    town true turn under union united until upon used value various very view voice wall want water
    week well went were west what when where which while white whole whose will wish with within
    without woman word work working world would year young
"""
COMMON_WORDS = tuple(_COMMON.split())
WORD = re.compile(r"[▁Ġ]([a-z]{3,8})")
LEAST_CHOICES = 16  # fewer different pieces would make a prompt of repetitions


@dataclass(frozen=True, slots=True)
class Prompt:
    """What is sent: ids, or else text. ``tokens`` are what the server should count."""

    tokens: int
    ids: tuple[int, ...] = ()
    text: str = ""


def believable(counted: int, sent: int) -> bool:
    """Whether a server can have counted so many tokens in a prompt of ``sent``: a template puts
    some in front, and words may be several tokens each."""
    return counted <= 4 * sent + 16_384


def words_in(vocabulary: Iterable[str]) -> tuple[str, ...]:
    """Whole words of a vocabulary that are one token with a space before; empty where too few.

    Both ways of writing that space are known, SentencePiece's and that of byte-level BPE.
    """
    found = [match[1] for token in vocabulary if (match := WORD.fullmatch(token))]
    return tuple(dict.fromkeys(found)) if len(set(found)) >= LEAST_CHOICES else ()


class IdPrompts:
    """Prompts of token ids, exact by themselves. ``prefix`` is what a server's tokenizer puts in
    front (a token that begins a text), ``ids`` the ordinary ones to draw from."""

    def __init__(self, seed: str, prefix: Sequence[int], ids: Sequence[int]) -> None:
        self._seed = seed
        self._prefix = tuple(prefix)
        self._ids = tuple(ids)

    def prompt(self, depth: int, tag: str) -> Prompt:
        """So many tokens, at least one."""
        count = max(1, depth)
        drawn = Random(f"{self._seed}/{tag}").choices(self._ids, k=max(0, count))
        ids = (*self._prefix, *drawn)[:count]
        return Prompt(count, ids)

    def learn(self, prompt: Prompt, counted: int) -> bool:
        """Ids need no correction."""
        return False


class TextPrompts:
    """Prompts of words, whose length is learned from what the server counts."""

    def __init__(self, seed: str, words: Sequence[str]) -> None:
        self._seed = seed
        self._words = tuple(words)
        self._more = 0  # tokens that the server counts beyond the words

    def prompt(self, depth: int, tag: str) -> Prompt:
        """Words for so many tokens, at least one word."""
        count = max(1, depth - self._more)
        drawn = Random(f"{self._seed}/{tag}").choices(self._words, k=count)
        return Prompt(max(depth, 1 + max(0, self._more)), text=" " + " ".join(drawn))

    def learn(self, prompt: Prompt, counted: int) -> bool:
        """Take in how many tokens this prompt really had; whether another one would be nearer."""
        if counted == prompt.tokens:
            return False
        words = prompt.text.count(" ")
        if words + counted - prompt.tokens < 0 or counted <= 0:
            return False
        if not believable(counted, prompt.tokens):
            return False
        changed = counted - words != self._more
        self._more = counted - words
        return changed
