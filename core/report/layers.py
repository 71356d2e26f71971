"""Which layers keep what, how much, and by which rule."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from core.gguf import display
from core.model.cache_size import cache_size
from core.model.model import CacheGroup
from core.plan.memory import cache_settings
from core.plan.plan import Plan
from core.units import UnitSystem, format_bytes, format_tokens

_SHOWN = 8  # layer numbers in a row that is not regular


def layer_lines(plan: Plan, system: UnitSystem = UnitSystem.GIB) -> list[str]:
    """A line for each kind of layer and one for its rule; why where nothing is kept or known."""
    facts = plan.model.cache
    if not facts.known:
        why = facts.problem.message if facts.problem else "No rule covers this architecture."
        return ["what layers keep", f"  unknown: {display(why)}"]
    if not facts.groups and not facts.states:
        return ["what layers keep", f"  {display(facts.rule)}"]
    size = cache_size(facts, cache_settings(plan.settings))
    lines = [f"what {facts.layers} layers keep, counted from 0"]
    for group, made in zip(facts.groups, size.groups, strict=True):
        streams = f" x {made.streams} slots" if made.streams > 1 else ""
        cells = f"{format_tokens(made.cells)} cells{streams}"
        total = format_bytes(made.k_bytes + made.v_bytes, system)
        lines.append(
            f"  {display(group.name)}, {_layers(group.layers)}: {cells} x {_row(group)}, {total}"
        )
        rule = f"    by {display(group.rule)}"
        lines.append("    by the same rule" if rule in lines else rule)
    for state in facts.states:
        each = format_bytes(state.bytes_per_sequence, system)
        lines.append(
            f"  {display(state.name)}, {_layers(state.layers)}: a state of {each} in each of "
            f"{plan.settings.slots} slots, whatever the context"
        )
        lines.append(f"    by {display(state.rule)}")
    return lines


def _row(group: CacheGroup) -> str:
    """Values of one row: "K 1,024 + V 1,024 values"."""
    width = (
        f"K {group.k_width:,} + V {group.v_width:,}" if group.v_width else f"K {group.k_width:,}"
    )
    stride = f", one row for {group.stride} tokens" if group.stride > 1 else ""
    return f"({width} values{stride})"


def _layers(layers: Sequence[int]) -> str:
    """ "10 layers (3, 7, 11 ... 39)", "32 layers (0 to 31)"."""
    count = f"{len(layers)} layers" if len(layers) != 1 else "1 layer"
    steps = {after - before for before, after in pairwise(layers)}
    if len(layers) > 2 and steps == {1}:
        return f"{count} ({layers[0]} to {layers[-1]})"
    if len(layers) > _SHOWN and len(steps) == 1:
        return f"{count} ({layers[0]}, {layers[1]}, {layers[2]} ... {layers[-1]})"
    shown = ", ".join(str(n) for n in layers[:_SHOWN])
    rest = f" ... {layers[-1]}" if len(layers) > _SHOWN else ""
    return f"{count} ({shown}{rest})"
