"""Which layers keep what, how much, and by which rule."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from core.gguf import display
from core.language import mark, tr, trn, written
from core.model.cache_size import cache_size
from core.model.model import CacheGroup
from core.plan.memory import cache_settings
from core.plan.plan import Plan
from core.units import UnitSystem, format_bytes, format_tokens

_NO_RULE = mark("No rule covers this architecture.")
_SHOWN = 8  # layer numbers in a row that is not regular


def layer_lines(plan: Plan, system: UnitSystem = UnitSystem.GIB) -> list[str]:
    """A line for each kind of layer and one for its rule; why where nothing is kept or known."""
    facts = plan.model.cache
    if not facts.known:
        why = tr(facts.problem.message if facts.problem else _NO_RULE)
        return [tr("what layers keep"), "  " + tr("unknown: {why}", why=display(why))]
    if not facts.groups and not facts.states:
        return [tr("what layers keep"), f"  {display(tr(facts.rule))}"]
    size = cache_size(facts, cache_settings(plan.settings))
    lines = [
        trn(
            "what {count} layers keep, counted from 0",
            "what {count} layers keep, counted from 0",
            facts.layers,
        )
    ]
    for group, made in zip(facts.groups, size.groups, strict=True):
        cells = _cells(made.cells, made.streams)
        total = format_bytes(made.k_bytes + made.v_bytes, system)
        name = display(tr(group.name))
        lines.append(f"  {name}, {_layers(group.layers)}: {cells} x ({_row(group)}), {total}")
        rule = "    " + tr("by {rule}", rule=display(tr(group.rule)))
        lines.append("    " + tr("by the same rule") if rule in lines else rule)
    for state in facts.states:
        words = trn(
            "a state of {size} in each of {count} slots, whatever the context",
            "a state of {size} in each of {count} slots, whatever the context",
            plan.settings.slots,
            size=format_bytes(state.bytes_per_sequence, system),
        )
        lines.append(f"  {display(tr(state.name))}, {_layers(state.layers)}: {words}")
        lines.append("    " + tr("by {rule}", rule=display(tr(state.rule))))
    return lines


def _cells(cells: int, streams: int) -> str:
    """ "16,384 cells", "8,192 cells x 2 slots"."""
    count = format_tokens(cells)
    if streams > 1:
        return tr("{cells} cells x {slots} slots", cells=count, slots=streams)
    return tr("{cells} cells", cells=count)


def _row(group: CacheGroup) -> str:
    """Values of one row: "K 1,024 + V 1,024 values"."""
    width = f"K {written(group.k_width)}"
    if group.v_width:
        width = f"{width} + V {written(group.v_width)}"
    if group.stride > 1:
        return tr("{width} values, one row for {count} tokens", width=width, count=group.stride)
    return tr("{width} values", width=width)


def _layers(layers: Sequence[int]) -> str:
    """ "10 layers (3, 7, 11 ... 39)", "32 layers (0 to 31)"."""
    count = trn("1 layer", "{count} layers", len(layers))
    steps = {after - before for before, after in pairwise(layers)}
    if len(layers) > 2 and steps == {1}:
        span = tr("{first} to {last}", first=layers[0], last=layers[-1])
        return f"{count} ({span})"
    if len(layers) > _SHOWN and len(steps) == 1:
        return f"{count} ({layers[0]}, {layers[1]}, {layers[2]} ... {layers[-1]})"
    shown = ", ".join(str(n) for n in layers[:_SHOWN])
    rest = f" ... {layers[-1]}" if len(layers) > _SHOWN else ""
    return f"{count} ({shown}{rest})"
