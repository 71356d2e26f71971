"""Two runs held against each other: what differs in speed, how certain that is, and what else
differs between them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import PurePath
from statistics import median
from typing import Any

from core.language import mark, tr, written
from core.machine.machine import spoken_name
from core.measure import metrics
from core.measure.history.store import Stored
from core.measure.resample import ratio_interval
from core.measure.run import Cell, Sample
from core.plan.setting_names import setting_name

# What is compared of a cell.
DECODE = mark("decode")
PREFILL = mark("prefill")
FIRST_TOKEN = mark("time to first token")
_VERSIONS = {
    "weighbridge": mark("weighbridge version"),
    "python": mark("python version"),
    "system": mark("system version"),
}
# Follow from others, or say nothing about speed.
_LEFT_OUT = ("context", "depth")


@dataclass(frozen=True, slots=True)
class Difference:
    """One figure of a cell in both runs: ``what`` is `DECODE`, `PREFILL` or `FIRST_TOKEN`, to be
    translated where it is shown. ``change`` is second / first - 1; ``low`` and ``high``
    bound it with 95 % confidence and are None where there are too few requests."""

    what: str
    depth: int
    concurrency: int
    first: float
    second: float
    low: float | None = None
    high: float | None = None

    @property
    def change(self) -> float:
        """Of the second against the first."""
        return self.second / self.first - 1

    @property
    def seen(self) -> bool | None:
        """Whether there is a difference at all; None where that cannot be told."""
        if self.low is None or self.high is None:
            return None
        return not self.low <= 0 <= self.high

    @property
    def words(self) -> str:
        """ "+4.2 % (+3.1 to +5.4 %)", "no difference seen (-1.0 to +2.2 %)"."""
        text, facts = self._told()
        return tr(text, **facts)

    @property
    def exact(self) -> str:
        """The same for programs: in English, whatever the reader's language."""
        text, facts = self._told()
        return text.format(**facts)

    def _told(self) -> tuple[str, dict[str, float]]:
        facts = {"change": 100 * self.change}
        if self.low is None or self.high is None:
            return mark("{change:+.1f} %, too few requests to be certain"), facts
        facts |= {"low": 100 * self.low, "high": 100 * self.high}
        if not self.seen:
            return mark("no difference seen ({low:+.1f} to {high:+.1f} %)"), facts
        return mark("{change:+.1f} % ({low:+.1f} to {high:+.1f} %)"), facts


@dataclass(frozen=True, slots=True)
class Comparison:
    """``setup`` are the options, versions and machines that differ: (name, first, second), in the
    reader's words."""

    first: Stored
    second: Stored
    rows: tuple[Difference, ...]
    setup: tuple[tuple[str, str, str], ...]

    @property
    def summary(self) -> str:
        """All of it in one sentence, from the decode speeds."""
        decode = [row for row in self.rows if row.what == DECODE]
        if not decode:
            return tr("They have no depth in common: there is nothing to compare.")
        seen = [row for row in decode if row.seen]
        if not seen:
            told = all(row.seen is not None for row in decode)
            return (
                tr("No difference in decode speed was seen.")
                if told
                else tr("There are too few requests to tell a difference in decode speed.")
            )
        change = median(row.change for row in seen)
        if any((row.change > 0) is not (change > 0) for row in seen):
            return tr("The second is faster at some depths and slower at others.")
        share, where = 100 * abs(change), _where(len(seen), len(decode))
        if change > 0:
            return tr("The second writes {share:.1f} % faster, {where}.", share=share, where=where)
        return tr("The second writes {share:.1f} % slower, {where}.", share=share, where=where)


def _where(seen: int, depths: int) -> str:
    if depths == 1:
        return tr("seen at the one depth that both have")
    return tr("seen at {seen} of {depths} depths", seen=seen, depths=depths)


def compare(first: Stored, second: Stored) -> Comparison:
    """Every depth and number of requests that both have; takes some 0.1 s a depth."""
    theirs = {cell.key: cell for cell in second.run.cells}
    rows: list[Difference] = []
    for cell in first.run.cells:
        other = theirs.get(cell.key)
        if other is not None:
            rows += _rows(cell, other)
    return Comparison(first, second, tuple(rows), tuple(_setup(first, second)))


def _rows(a: Cell, b: Cell) -> Iterable[Difference]:
    by_server = all(
        metrics.server_decode_rate(s) is not None for cell in (a, b) for s in cell.measured
    )
    rate = metrics.server_decode_rate if by_server else metrics.decode_rate
    yield from _row(DECODE, a, b, a.measured, b.measured, rate)
    yield from _row(PREFILL, a, b, metrics.fresh(a), metrics.fresh(b), metrics.prefill_rate)
    yield from _row(FIRST_TOKEN, a, b, metrics.fresh(a), metrics.fresh(b), metrics.ttft)


def _row(
    what: str,
    a: Cell,
    b: Cell,
    first: Iterable[Sample],
    second: Iterable[Sample],
    read: Callable[[Sample], float | None],
) -> Iterable[Difference]:
    ours = [v for s in first if (v := read(s)) is not None and v > 0]
    theirs = [v for s in second if (v := read(s)) is not None and v > 0]
    if not ours or not theirs:
        return
    interval = ratio_interval(theirs, ours)
    low, high = (interval[0] - 1, interval[1] - 1) if interval else (None, None)
    yield Difference(what, a.depth, a.concurrency, median(ours), median(theirs), low, high)


def _setup(first: Stored, second: Stored) -> Iterable[tuple[str, str, str]]:
    ours, theirs = _setup_of(first), _setup_of(second)
    for name in dict.fromkeys((*ours, *theirs)):
        a, b = ours.get(name), theirs.get(name)
        if a != b and not (a in (None, "") and b in (None, "")):
            yield tr(name), _shown(a), _shown(b)


def _setup_of(stored: Stored) -> dict[str, Any]:
    run, plan = stored.run, stored.plan
    target = run.target
    found: dict[str, Any] = {
        mark("server"): target.kind.value,
        mark("version"): target.version,
        mark("model"): PurePath(target.model_path).name or target.model,
        mark("server context"): target.context,
        mark("tokens written"): run.plan.tokens,
    }
    if plan is not None:
        found[mark("machine")] = spoken_name(plan.machine)
        found |= {
            setting_name(name): value
            for name, value in plan.settings.items()
            if name not in _LEFT_OUT
        }
    found |= {_VERSIONS.get(name, f"{name} version"): value for name, value in run.versions.items()}
    return found


def _shown(value: Any) -> str:
    if value is None or value == "":
        return tr("not known")
    if isinstance(value, bool):
        return tr("yes") if value else tr("no")
    return written(value) if isinstance(value, int) else str(value)
