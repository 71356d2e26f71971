"""A plan held against what the engine says: part by part, device by device.

Nothing is called different that the log cannot tell: its figures are rounded, and a figure made
with other options is not compared at all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from core.check.engine_log import ZERO, Buffer, Context, EngineLog, Load, Size
from core.check.fit import fit_rows
from core.check.options import (
    Mismatch,
    changes,
    gpu_names,
    is_host,
    mismatches,
    other_model,
)
from core.check.values import (
    CACHE_AND_STATE,
    EVERYWHERE,
    LEFT_OUT,
    REPACKED,
    SECOND,
    Agreement,
    Row,
    agreed,
    device_names,
    owner,
    part_words,
    placed,
    total,
)
from core.language import mark, tr
from core.plan import resolve
from core.plan.plan import PartKind, Plan
from core.units import UnitSystem, format_bytes, format_share

_NO_BUFFER = mark("It is no buffer of llama.cpp: its log does not show it.")
_MAPPED = mark(
    "The engine maps the file from the first to the last tensor of this device, with others "
    "between them: this is the most that it can be."
)
_REPACKED = mark(
    "Copies of some weights in the order that this processor reads fastest, besides the file that "
    "is mapped. -nr leaves them out."
)
_DRAFT = mark("The engine opened a second context (a draft), which the plan does not hold.")
_NO_SIZES = mark(
    "No sizes of buffers are in this text. llama.cpp prints them with -v (or -lv 4) while it loads."
)


@dataclass(frozen=True, slots=True)
class Check:
    """The answer. ``changes`` are the fields of the `Choice` that the log implies: with them the
    plan is like the log. ``refusal`` says why nothing could be compared."""

    build: str
    rows: tuple[Row, ...] = ()
    mismatches: tuple[Mismatch, ...] = ()
    changes: dict[str, Any] = field(default_factory=dict)
    dry: bool = False
    refusal: str = ""


def alone(plan: Plan) -> Plan:
    """The plan without what is loaded beside the model, of which an engine is not asked: a draft
    changes states and work buffers of the model itself."""
    s = plan.settings
    if s.projector is None and not s.drafted:
        return plan
    return resolve(plan.model, plan.machine, plan.choice.alone())


def compare(plan: Plan, log: EngineLog) -> Check:
    """Hold a plan against a log, as far as the model itself goes."""
    plan = alone(plan)
    load = log.main()
    if load is None or not (load.contexts or load.buffers):
        if log.fit:
            return Check(log.build, fit_rows(plan, log.fit), dry=True)
        return Check(log.build, refusal=_NO_SIZES)
    if refusal := other_model(plan.model, load):
        return Check(log.build, refusal=refusal)
    context = load.contexts[0] if load.contexts else None
    found = mismatches(plan, load, context)
    rows = _Rows(plan, load, context, found)
    others = [one for one in log.loads if one.path != load.path and not one.dry]
    return Check(
        log.build,
        (*rows.made(), *_second(load, others)),
        found,
        changes(plan, load, context),
        load.dry,
    )


def summary(check: Check, system: UnitSystem = UnitSystem.GIB) -> str:
    """The answer in a sentence or two."""
    if check.refusal:
        return tr(check.refusal)
    compared = [row for row in check.rows if row.agreement is not Agreement.NOT_COMPARED]
    wrong = [row for row in compared if row.agreement is Agreement.DIFFERS]
    if not compared:
        if check.mismatches:
            return tr("Nothing can be compared: the log was made with other options.")
        return tr("Nothing in this log can be compared.")
    if not wrong:
        words = _all_agree(len(compared))
    else:
        worst = max(wrong, key=lambda row: abs(row.difference or 0))
        by = format_bytes(abs(worst.difference or 0), system)
        if worst.share is not None:
            by = f"{by} ({format_share(abs(worst.share))})"
        facts = {
            "count": len(compared) - len(wrong),
            "all": len(compared),
            "part": part_words(worst.part),
            "device": tr(worst.device),
            "size": by,
        }
        if (worst.difference or 0) > 0:
            words = tr(
                "{count} of {all} sizes agree. Furthest off: {part} on {device}, {size} more than "
                "the engine.",
                **facts,
            )
        else:
            words = tr(
                "{count} of {all} sizes agree. Furthest off: {part} on {device}, {size} less than "
                "the engine.",
                **facts,
            )
    if check.mismatches:
        more = tr("Other options were used for the rest.")
        return f"{words} {more}"
    return words


def _all_agree(count: int) -> str:
    match count:
        case 1:
            return tr("The one size that can be compared agrees.")
        case 2:
            return tr("Both sizes that can be compared agree.")
    return tr("All {count} sizes that can be compared agree.", count=count)


class _Rows:
    """Puts the sizes of plan and log side by side."""

    def __init__(
        self, plan: Plan, load: Load, context: Context | None, found: Iterable[Mismatch]
    ) -> None:
        self._plan = plan
        self._load = load
        self._context = context
        self._why = {part: m.sentence for m in reversed([*found]) for part in m.parts}
        self._names = device_names(plan)
        self._host = len(self._names) - 1
        self._index = placed(plan, gpu_names(load, context))

    def made(self) -> list[Row]:
        rows: list[Row] = []
        for number in range(len(self._names)):
            rows += self._weights(number)
            for kind in (PartKind.CACHE, PartKind.STATE, PartKind.COMPUTE, PartKind.OUTPUT):
                if not (kind is PartKind.CACHE and self._load.dry):
                    rows += self._part(kind, number, self._engine(kind, number))
        if self._load.dry and self._context is not None:
            rows += self._dry_cache(self._context)
        for number, device in enumerate(self._plan.memory.devices):
            rows += [
                Row(
                    part.kind,
                    self._names[number],
                    part.bytes.value,
                    None,
                    Agreement.NOT_COMPARED,
                    _NO_BUFFER,
                )
                for part in device.parts
                if part.kind not in _BUFFERS and part.bytes.value
            ]
        places = [*self._names, EVERYWHERE]
        return sorted(rows, key=lambda row: (places.index(row.device), _order(row.part)))

    def _part(self, kind: PartKind, number: int, engine: Size | None) -> list[Row]:
        planned, known = self._estimate(kind, number)
        if not planned and known and (engine is None or engine.low == 0):
            return []
        return [self._row(kind, kind, number, planned if known else None, engine)]

    def _row(
        self, part: str, kind: PartKind, number: int, estimate: int | None, engine: Size | None
    ) -> Row:
        device = self._names[number] if number >= 0 else EVERYWHERE
        agreement, reason = Agreement.NOT_COMPARED, self._why.get(kind, "")
        if not reason:
            agreement, reason = agreed(estimate, engine)
        return Row(part, device, estimate, engine, agreement, reason)

    def _estimate(self, kind: PartKind, number: int) -> tuple[int, bool]:
        """Bytes, and whether they are known; a part that is not there weighs nothing."""
        parts = [p for p in self._plan.memory.devices[number].parts if p.kind is kind]
        known = all(part.bytes.known for part in parts)
        return sum(part.bytes.value or 0 for part in parts), known

    def _engine(self, kind: PartKind, number: int) -> Size | None:
        if self._context is None:
            return None
        return total(
            buffer.size
            for buffer in self._context.buffers
            if buffer.kind is kind and self._index.get(_owner(buffer)) == number
        )

    def _weights(self, number: int) -> list[Row]:
        planned, _ = self._estimate(PartKind.WEIGHTS, number)
        own = [b for b in self._load.buffers if self._index.get(_owner(b)) == number]
        extra = total(buffer.size for buffer in own if _repacked(buffer))
        mapped = any(buffer.name.endswith("_Mapped") for buffer in own)
        base = total(buffer.size for buffer in own if not _repacked(buffer))
        if self._load.dry:
            base = total(
                row.weights
                for row in self._load.table
                if self._index.get(owner(row.name)) == number
            )
        elif extra is not None and not mapped:  # without a mapped file they are no copies
            base, extra = total(size for size in (base, extra) if size), None
        row = self._row(PartKind.WEIGHTS, PartKind.WEIGHTS, number, planned, base)
        rows = [row]
        if row.agreement is Agreement.DIFFERS and base is not None:
            most = base if extra is None else base + extra
            bound = (mapped and planned <= most.high) or (
                self._load.dry and extra is not None and planned >= base.low
            )
            if bound:
                reason = _MAPPED if mapped else LEFT_OUT
                rows = [
                    Row(row.part, row.device, planned, base, Agreement.WITHIN, reason),
                ]
        if not planned and base is None:
            rows = []
        if extra is not None and not self._load.dry:
            device = self._names[number]
            rows.append(Row(REPACKED, device, None, extra, Agreement.NOT_COMPARED, _REPACKED))
        return rows

    def _dry_cache(self, context: Context) -> list[Row]:
        """A dry pass prints the cache as a whole; its table has whole MiB by device."""
        engine = total(cache.k + cache.v for cache in context.caches)
        amounts = [self._estimate(PartKind.CACHE, n) for n in range(len(self._names))]
        holders = [n for n, (size, known) in enumerate(amounts) if size or not known]
        if not holders and engine is None:
            return []
        known = all(amounts[n][1] for n in holders)
        estimate = sum(size for size, _ in amounts) if known else None
        number = holders[0] if len(holders) == 1 else -1
        rows = [self._row(PartKind.CACHE, PartKind.CACHE, number, estimate, engine)]
        if len(holders) > 1 and known:
            for n in holders:
                state, _ = self._estimate(PartKind.STATE, n)
                table = total(
                    row.context for row in self._load.table if self._index.get(owner(row.name)) == n
                )
                if table is not None:
                    both = amounts[n][0] + state
                    rows.append(self._row(CACHE_AND_STATE, PartKind.CACHE, n, both, table))
        return rows


_BUFFERS = (
    PartKind.WEIGHTS,
    PartKind.CACHE,
    PartKind.STATE,
    PartKind.COMPUTE,
    PartKind.OUTPUT,
)
_ORDER = (PartKind.WEIGHTS, REPACKED, PartKind.CACHE, CACHE_AND_STATE, *_BUFFERS[2:])


def _order(part: str) -> int:
    return _ORDER.index(part) if part in _ORDER else len(_ORDER)


def _owner(buffer: Buffer) -> str:
    return owner(buffer.name)


def _repacked(buffer: Buffer) -> bool:
    """Host buffers of weights that are neither the plain nor the mapped nor the pinned one."""
    name = buffer.name
    return is_host(name) and name not in ("CPU", "CPU_Mapped", "Host") and "_Host" not in name


def _second(load: Load, others: list[Load]) -> list[Row]:
    """What the log has besides the main context."""
    buffers = [b for context in load.contexts[1:] for b in context.buffers]
    for other in others:
        buffers += [*other.buffers, *(b for context in other.contexts for b in context.buffers)]
    found: dict[str, Size] = {}
    for buffer in buffers:
        name = _owner(buffer)
        found[name] = found.get(name, ZERO) + buffer.size
    return [
        Row(SECOND, "RAM" if name == "Host" else name, None, size, Agreement.NOT_COMPARED, _DRAFT)
        for name, size in found.items()
    ]
