"""The colours of light and dark, and what each part of a memory budget is drawn in and called.

The window and the report in a browser share them. Colours are "#rrggbb"; every text has a contrast
of 4.5 to 1 on every ground, every part and every edge one of 3 to 1 (WCAG 2.2, AA).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from core.language import mark
from core.plan.plan import PartKind


@dataclass(frozen=True, slots=True)
class Shades:
    """The colours of one theme that do not depend on what is drawn."""

    window: str
    base: str
    raised: str
    text: str
    muted: str
    line: str
    edge: str  # of what can be filled in or ticked
    accent: str
    on_accent: str
    good: str
    warn: str
    bad: str


LIGHT = Shades(
    window="#f4f5f7",
    base="#ffffff",
    raised="#ebedf0",
    text="#1c2128",
    muted="#58626e",
    line="#cdd2d8",
    edge="#747d88",
    accent="#1a62b3",
    on_accent="#ffffff",
    good="#1a7034",
    warn="#885200",
    bad="#b3261e",
)
DARK = Shades(
    window="#20242a",
    base="#181b20",
    raised="#2b3038",
    text="#e4e7eb",
    muted="#a4adb8",
    line="#434b56",
    edge="#7f8995",
    accent="#76b5f5",
    on_accent="#10151b",
    good="#69c982",
    warn="#e3b04b",
    bad="#ff8a80",
)


class Hue(NamedTuple):
    """One hue in both themes."""

    light: str
    dark: str


BLUE = Hue("#2066b0", "#6aaef0")
ORANGE = Hue("#b4540a", "#f0a050")
TEAL = Hue("#0b7a6c", "#4fc4b0")
VIOLET = Hue("#7a4fc0", "#b79af2")
PINK = Hue("#b02f6c", "#f08bb4")
GREEN = Hue("#3d7a1e", "#93cc6a")
BROWN = Hue("#80613c", "#c9a77c")
OLIVE = Hue("#6e6a12", "#cbc558")
GREY = Hue("#69727d", "#98a2ae")
SLATE = Hue("#47566b", "#b5c3d6")

PARTS: dict[PartKind, tuple[Hue, str]] = {
    PartKind.OTHERS: (GREY, mark("system and others")),
    PartKind.WEIGHTS: (BLUE, mark("weights")),
    PartKind.CACHE: (ORANGE, mark("KV cache")),
    PartKind.STATE: (TEAL, mark("recurrent state")),
    PartKind.COMPUTE: (VIOLET, mark("compute buffers")),
    PartKind.OUTPUT: (PINK, mark("output buffer")),
    PartKind.PROJECTOR: (OLIVE, mark("projector")),
    PartKind.DRAFT: (GREEN, mark("draft model")),
    PartKind.OVERHEAD: (BROWN, mark("runtime overhead")),
}
