"""The memory of one device as a drawing: parts to scale, what is free, what is too much."""

from __future__ import annotations

from typing import Literal

from core.drawing.tones import PARTS
from core.language import tr
from core.plan.plan import DevicePlan, PartKind
from core.report.html.markup import Markup, element
from core.units import UnitSystem, format_bytes

_WIDTH, _HEIGHT, _OVERHANG = 1000, 40, 6
# A hatch for each part, so that nothing is told by colour alone: the strokes of a tile of 8.
_STROKES = {
    PartKind.OTHERS: ("M2,2h1M6,6h1",),
    PartKind.CACHE: ("M-2,2L2,-2M0,8L8,0M6,10L10,6",),
    PartKind.STATE: ("M4,0V8",),
    PartKind.COMPUTE: ("M-2,6L2,10M0,0L8,8M6,-2L10,2",),
    PartKind.OUTPUT: ("M0,4H8",),
    PartKind.PROJECTOR: ("M4,0V8M0,4H8",),
    PartKind.DRAFT: ("M0,8L8,0M0,0L8,8",),
    PartKind.OVERHEAD: ("M1,1h2M5,5h2",),
}
_TOO_MUCH = "M-2,6L2,10M0,0L8,8M6,-2L10,2"


def hatches() -> Markup:
    """What bars and legends are filled with; once for a page, referred to as "#hatch-cache"."""
    made = [
        element(
            "pattern",
            element("rect", width=8, height=8, class_=f"fill-{kind.value}"),
            *(element("path", d=stroke, class_="hatch") for stroke in _STROKES.get(kind, ())),
            id=f"hatch-{kind.value}",
            width=8,
            height=8,
            patternUnits="userSpaceOnUse",
        )
        for kind in PartKind
    ]
    made.append(
        element(
            "pattern",
            element("path", d=_TOO_MUCH, class_="over"),
            id="hatch-over",
            width=8,
            height=8,
            patternUnits="userSpaceOnUse",
        )
    )
    return element(
        "svg", element("defs", *made), width=0, height=0, class_="defs", aria_hidden="true"
    )


def swatch(kind: PartKind | Literal["free", "over"]) -> Markup:
    """A piece of a part's hatch, for a legend, or of what is free or too much."""
    fill = "none" if kind == "free" else f"url(#hatch-{kind})"
    box = element("rect", x=0.5, y=0.5, width=15, height=11, fill=fill, class_="edge")
    return element("svg", box, width=16, height=12, class_="swatch", aria_hidden="true")


def memory_bar(plan: DevicePlan, words: str, system: UnitSystem) -> Markup:
    """The bar; ``words`` say the same for who does not see it."""
    capacity = plan.device.memory.value
    known = sum(part.bytes.value or 0 for part in plan.parts)
    opened = any(part.bytes.value is None for part in plan.parts)
    # Without a capacity, what is known fills the bar; an unknown part leaves a quarter open.
    whole = max(capacity or 0, known * 4 // 3 if opened and not capacity else known)
    scale = _WIDTH / whole if whole else 0.0
    children = [element("title", words)]
    children.append(_box(0, _WIDTH, "ground"))
    at = 0
    for part in plan.parts:
        size = part.bytes.value or 0
        if size:
            told = f"{tr(PARTS[part.kind][1])}: {format_bytes(size, system)}"
            fill = f"url(#hatch-{part.kind.value})"
            children.append(
                element(
                    "rect",
                    element("title", told),
                    x=_round(at * scale),
                    y=_OVERHANG,
                    width=_round(size * scale),
                    height=_HEIGHT,
                    fill=fill,
                )
            )
        at += size
    children.append(_box(0, _WIDTH, "frame open" if opened else "frame"))
    if capacity is not None and known > capacity:
        edge = capacity * scale
        children += [_box(edge, _WIDTH, "ground"), _box(edge, _WIDTH, "too-much")]
        children.append(
            element("line", x1=_round(edge), y1=0, x2=_round(edge), y2=_HEIGHT + 2 * _OVERHANG)
        )
    return element(
        "svg",
        *children,
        viewBox=f"-1 0 {_WIDTH + 2} {_HEIGHT + 2 * _OVERHANG}",
        role="img",
        aria_label=words,
        class_="bar",
    )


def _box(left: float, right: float, kind: str) -> Markup:
    return element(
        "rect", x=_round(left), y=_OVERHANG, width=_round(right - left), height=_HEIGHT, class_=kind
    )


def _round(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
