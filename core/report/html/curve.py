"""Decode speed over depth as a drawing: the ceiling, the band to expect, the chosen depth."""

from __future__ import annotations

from collections.abc import Sequence

from core.drawing.ticks import depth_ticks, round_above
from core.language import tr, written
from core.plan.plan import DepthPoint
from core.report.html.markup import Markup, element
from core.units import bare_rate, format_rate, format_tokens

_WIDTH, _HEIGHT = 1000, 340
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 40, 34, 50
_INSIDE = (_WIDTH - _LEFT - _RIGHT, _HEIGHT - _TOP - _BOTTOM)


def words_of(curve: Sequence[DepthPoint]) -> str:
    """The curve for who does not see it."""
    first, last = curve[0], curve[-1]
    said = tr(
        "The decode ceiling is {first} at depth 0 and {last} at {tokens} tokens.",
        first=format_rate(first.tok_s or 0.0),
        last=format_rate(last.tok_s or 0.0),
        tokens=format_tokens(last.depth),
    )
    if first.low is None or first.high is None:
        return said
    if last.low is None or last.high is None:
        expected = tr(
            "Published runs lead to expect {low} to {high} at depth 0.",
            low=bare_rate(first.low),
            high=format_rate(first.high),
        )
    else:
        expected = tr(
            "Published runs lead to expect {low} to {high} at depth 0 and {last_low} to "
            "{last_high} at {tokens} tokens.",
            low=bare_rate(first.low),
            high=format_rate(first.high),
            last_low=bare_rate(last.low),
            last_high=format_rate(last.high),
            tokens=format_tokens(last.depth),
        )
    return f"{said} {expected}"


def speed_curve(curve: Sequence[DepthPoint], depth: int) -> Markup:
    """The drawing; "" where no rate is known."""
    known = [point for point in curve if point.tok_s is not None]
    if len(known) < 2:
        return Markup()
    plot = _Plot(known[-1].depth, max(point.tok_s or 0.0 for point in known))
    children = [element("title", words_of(known)), *plot.axes()]
    band = [point for point in known if point.low is not None and point.high is not None]
    if len(band) > 1:
        above = [plot.place(p.depth, p.high or 0.0) for p in band]
        below = [plot.place(p.depth, p.low or 0.0) for p in reversed(band)]
        children.append(element("polygon", points=" ".join((*above, *below)), class_="band"))
        likely = " ".join(plot.place(p.depth, p.mid or 0.0) for p in band)
        children.append(element("polyline", points=likely, class_="likely"))
    line = " ".join(plot.place(p.depth, p.tok_s or 0.0) for p in known)
    children.append(element("polyline", points=line, class_="ceiling"))
    at = next((p for p in known if p.depth == depth), None)
    if at is not None:
        x, y = plot.place(at.depth, at.tok_s or 0.0).split(",")
        children.append(element("circle", cx=x, cy=y, r=5, class_="marker"))
    return element(
        "svg",
        *children,
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        role="img",
        aria_label=words_of(known),
        class_="curve",
    )


def legend(with_band: bool) -> Markup:
    """A piece of each line with its name."""
    keys = [("ceiling", tr("ceiling: no software is faster"))]
    if with_band:
        keys.append(("likely", tr("expected, from published runs")))
    return element(
        "p",
        *(
            element(
                "span",
                element(
                    "svg",
                    *([element("rect", y=2, width=30, height=8, class_="band")] if band else []),
                    element("polyline", points="0,6 30,6", class_=kind),
                    width=30,
                    height=12,
                    aria_hidden="true",
                ),
                f" {words}",
            )
            for kind, words in keys
            for band in [kind == "likely"]
        ),
        class_="legend",
    )


class _Plot:
    """Where depths and rates lie on the paper."""

    def __init__(self, last: int, highest: float) -> None:
        self._last = max(last, 1)
        self._step, self._top = round_above(highest)

    def place(self, depth: float, rate: float) -> str:
        """ "x,y" of a point."""
        x = _LEFT + depth / self._last * _INSIDE[0]
        y = _TOP + (1 - rate / self._top) * _INSIDE[1]
        return f"{x:.1f},{y:.1f}"

    def axes(self) -> list[Markup]:
        """Lines across with their rates, and marks below with their depths."""
        made = []
        rates = [n * self._step for n in range(round(self._top / self._step) + 1)]
        right, bottom = _WIDTH - _RIGHT, _HEIGHT - _BOTTOM
        for rate in rates:
            y = self.place(0, rate).split(",")[1]
            made.append(element("line", x1=_LEFT, y1=y, x2=right, y2=y, class_="grid"))
            made.append(_words(written(rate, ",.10g"), _LEFT - 8, float(y) + 5, "end"))
        for depth in depth_ticks(self._last):
            x = self.place(depth, 0).split(",")[0]
            made.append(element("line", x1=x, y1=bottom, x2=x, y2=bottom + 5, class_="grid"))
            made.append(_words(format_tokens(depth), float(x), bottom + 22, "middle"))
        made.append(_words(tr("depth, tokens in the cache"), _WIDTH / 2, _HEIGHT - 6, "middle"))
        made.append(_words("tok/s", _LEFT - 8, 14, "end"))
        return made


def _words(words: str, x: float, y: float, anchor: str) -> Markup:
    return element("text", words, x=f"{x:g}", y=f"{y:g}", text_anchor=anchor)
