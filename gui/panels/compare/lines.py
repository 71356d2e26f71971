"""A curve of a comparison, as a plot draws it."""

from __future__ import annotations

from core.compare import Figures
from core.plan.plan import DepthPoint
from gui.widgets.curves_plot import Line


def curve_of(name: str, figures: Figures, *, expected: bool) -> Line:
    """The ceiling (or the middle of what to expect) from an empty cache to a full one."""
    points = tuple(
        (point.depth, rate)
        for point in figures.whole.curve
        if (rate := _rate(point, expected)) is not None
    )
    return Line(name, points, figures.most)


def _rate(point: DepthPoint, expected: bool) -> float | None:
    return point.mid if expected else point.tok_s
