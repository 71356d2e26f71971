"""Merging symbols into tokens, pair by pair, as llama.cpp does it."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heapify, heappop, heappush
from typing import TypeAlias

# Which of two pairs is merged first: the smaller key; None where they do not merge.
Key: TypeAlias = Callable[[str, str], float | None]


def merged(word: str, key: Key) -> list[str]:
    """The symbols that are left of a word when no pair merges any more.

    Of equal keys the leftmost pair is first.
    """
    symbols: list[str] = list(word)
    count = len(symbols)
    if count < 2:
        return symbols
    before = list(range(-1, count - 1))
    after = [*range(1, count), -1]
    queue: list[tuple[float, int, int, str]] = []
    for left in range(count - 1):
        found = key(symbols[left], symbols[left + 1])
        if found is not None:
            queue.append((found, left, left + 1, symbols[left] + symbols[left + 1]))
    heapify(queue)

    def offer(left: int, right: int) -> None:
        if left < 0 or right < 0:
            return
        found = key(symbols[left], symbols[right])
        if found is not None:
            heappush(queue, (found, left, right, symbols[left] + symbols[right]))

    while queue:
        _, left, right, text = heappop(queue)
        if not symbols[left] or not symbols[right] or symbols[left] + symbols[right] != text:
            continue  # one of the two has been merged with another meanwhile
        symbols[left], symbols[right] = text, ""
        after[left] = after[right]
        if after[right] >= 0:
            before[after[right]] = left
        offer(before[left], left)
        offer(left, after[left])
    return [symbol for symbol in symbols if symbol]
