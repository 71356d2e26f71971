"""A plan held against the table of llama-fit-params.

It has whole MiB by device, and does not say with which options it was made.
"""

from __future__ import annotations

from core.check.engine_log import TableRow
from core.check.options import rows_of_logits
from core.check.values import (
    CACHE_AND_STATE,
    LEFT_OUT,
    Agreement,
    Row,
    agreed,
    device_names,
    placed,
    total,
)
from core.language import mark
from core.model.cache_size import PADDING
from core.plan.plan import PartKind, Plan

_WHOLE_BATCH = mark(
    "llama-fit-params reserves logits for a whole batch; a server reserves one row per slot."
)
_NOT_SHARED = mark("llama-fit-params cannot share one cache between slots.")


def fit_rows(plan: Plan, table: tuple[TableRow, ...]) -> tuple[Row, ...]:
    """llama-fit-params: whole MiB, and not with which options."""
    names = [row.name for row in table if row.name != "Host"]
    places = placed(plan, names)
    windows = any(group.window is not None for group in plan.model.cache.groups)
    s = plan.settings
    # Its streams, one per slot, are each padded for themselves.
    even = s.context % (PADDING * s.slots) == 0 and not windows
    apart = s.unified_cache and s.slots > 1 and not even
    reasons = {
        CACHE_AND_STATE: _NOT_SHARED if apart else "",
        PartKind.COMPUTE: _WHOLE_BATCH if rows_of_logits(plan) < s.ubatch else "",
    }
    rows = []
    for number, (device, name) in enumerate(
        zip(plan.memory.devices, device_names(plan), strict=True)
    ):
        here = [row for row in table if places.get(row.name) == number]
        for part, kinds, engine in (
            (PartKind.WEIGHTS, (PartKind.WEIGHTS,), total(row.weights for row in here)),
            (
                CACHE_AND_STATE,
                (PartKind.CACHE, PartKind.STATE),
                total(row.context for row in here),
            ),
            (PartKind.COMPUTE, (PartKind.COMPUTE,), total(row.compute for row in here)),
        ):
            own = [p.bytes for p in device.parts if p.kind in kinds]
            known = all(number.known for number in own)
            estimate = sum(number.value or 0 for number in own) if known else None
            if engine is None or (estimate == 0 and engine.low == 0):
                continue
            why = reasons.get(part, "")
            agreement, reason = (Agreement.NOT_COMPARED, why) if why else agreed(estimate, engine)
            on_host = part == PartKind.WEIGHTS and any(row.name == "Host" for row in here)
            if agreement is Agreement.DIFFERS and on_host and (estimate or 0) > engine.high:
                agreement, reason = Agreement.WITHIN, LEFT_OUT
            rows.append(Row(part, name, estimate, engine, agreement, reason))
    return tuple(rows)
