"""What a table says when rows of it were copied."""

from __future__ import annotations

from collections.abc import Callable

from core.language import trn
from core.tabular import TextFormat


def copied_words(noun: str, count: int, form: TextFormat) -> str:
    """So many rows were copied in this format; ``noun`` is what a row is called in English."""
    return _SENTENCES[noun](count, form.value)


_SENTENCES: dict[str, Callable[[int, str], str]] = {
    "part": lambda count, form: trn(
        "{count:,} part copied as {format}",
        "{count:,} parts copied as {format}",
        count,
        format=form,
    ),
    "check": lambda count, form: trn(
        "{count:,} check copied as {format}",
        "{count:,} checks copied as {format}",
        count,
        format=form,
    ),
    "machine": lambda count, form: trn(
        "{count:,} machine copied as {format}",
        "{count:,} machines copied as {format}",
        count,
        format=form,
    ),
    "model": lambda count, form: trn(
        "{count:,} model copied as {format}",
        "{count:,} models copied as {format}",
        count,
        format=form,
    ),
    "run": lambda count, form: trn(
        "{count:,} run copied as {format}",
        "{count:,} runs copied as {format}",
        count,
        format=form,
    ),
    "figure": lambda count, form: trn(
        "{count:,} figure copied as {format}",
        "{count:,} figures copied as {format}",
        count,
        format=form,
    ),
    "depth": lambda count, form: trn(
        "{count:,} depth copied as {format}",
        "{count:,} depths copied as {format}",
        count,
        format=form,
    ),
    "element": lambda count, form: trn(
        "{count:,} element copied as {format}",
        "{count:,} elements copied as {format}",
        count,
        format=form,
    ),
    "key": lambda count, form: trn(
        "{count:,} key copied as {format}",
        "{count:,} keys copied as {format}",
        count,
        format=form,
    ),
    "turn": lambda count, form: trn(
        "{count:,} turn copied as {format}",
        "{count:,} turns copied as {format}",
        count,
        format=form,
    ),
    "tensor": lambda count, form: trn(
        "{count:,} tensor copied as {format}",
        "{count:,} tensors copied as {format}",
        count,
        format=form,
    ),
}
