"""A model of the library as a row of the table, and in words."""

from __future__ import annotations

from core.gguf import display
from core.language import tr, trn
from core.library import Entry, State
from core.units import UnitSystem, format_bytes
from gui.tables.model_rows import ModelLine


def line_of(entry: Entry) -> ModelLine:
    """What the table shows of it."""
    facts, fit = entry.facts, entry.fit
    state = ""
    if entry.state is not State.WHOLE:
        state = tr(entry.state.value)
        fit = None
    elif facts is not None and entry.helper:
        state = tr(facts.kind.value)
    elif fit is None:
        state = "…"
    return ModelLine(
        name=entry.name,
        label=facts.label if facts else "",
        bits=facts.bits if facts else None,
        bytes=entry.bytes,
        parameters=facts.parameters if facts else None,
        active=facts.active if facts else 0,
        context=facts.context if facts else None,
        verdict=fit.verdict if fit else None,
        ceiling=fit.ceiling if fit else None,
        state=state,
        where=entry.where,
        about="\n".join(part for part in (fit.why if fit else "", entry.remark) if part),
    )


def words_of(entry: Entry) -> str:
    """Where it lies, how many files it has, what lies beside it, and what is wrong with it."""
    words = [display(str(entry.path))]
    if entry.files > 1:
        words.append(trn("{count} shard", "{count} shards", entry.files))
    if entry.projectors:
        names = ", ".join(display(path.name) for path in entry.projectors[:3])
        words.append(tr("with {names}", names=names))
    if entry.remark:
        words.append(entry.remark.rstrip("."))
    return " · ".join(words)


def summary_of(entries: list[Entry], helpers: int, units: UnitSystem) -> str:
    """How many there are, and how much they take."""
    unreadable = sum(1 for entry in entries if entry.state is State.UNREADABLE)
    count = trn("{count:,} model", "{count:,} models", len(entries) - unreadable)
    words = [count, format_bytes(sum(entry.bytes for entry in entries), units)]
    waiting = sum(1 for entry in entries if entry.state is State.INCOMPLETE)
    if waiting:
        words.append(trn("{count:,} incomplete", "{count:,} incomplete", waiting))
    if unreadable:
        words.append(trn("{count:,} not readable", "{count:,} not readable", unreadable))
    if helpers:
        words.append(trn("{count:,} helper file", "{count:,} helper files", helpers))
    return ", ".join(words)
