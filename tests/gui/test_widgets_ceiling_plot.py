"""The ceiling curve: loaded after the first paint, still axes, a marker, words where unknown."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QColor, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QGraphicsTextItem, QToolTip
from pytestqt.qtbot import QtBot

from core.drawing.ticks import depth_ticks, round_above
from core.plan.plan import DepthPoint
from gui.theme import DARK, LIGHT, Theme, ThemeMode
from gui.widgets.ceiling_plot import CeilingPlot, Curve, sentence

# domain.md section 2: 936 / (16.1 + 0.3) = 57 tok/s at 16K, 936 / (16.1 + 3.6) = 47.5 at 192K.
LAST = 196_608
PER_TOKEN = 3.6e9 / LAST


def points(start: int, end: int, steps: int = 128) -> tuple[DepthPoint, ...]:
    depths = [start + (end - start) * i // steps for i in range(steps + 1)]
    return tuple(
        DepthPoint(d, round(16.1e9 + d * PER_TOKEN), 936e9 / (16.1e9 + d * PER_TOKEN))
        for d in depths
    )


def curve(context: int = 16_384) -> Curve:
    return Curve(points(0, context), points(context, LAST), context, LAST)


@pytest.fixture
def plot(qtbot: QtBot) -> CeilingPlot:
    made = CeilingPlot()
    qtbot.addWidget(made)
    made.resize(600, 240)
    made.set_curve(curve())
    made.show()
    qtbot.waitUntil(lambda: made.canvas is not None)
    return made


def inked(plot: CeilingPlot, color: str) -> list[QPoint]:
    """Where the picture has about this colour; curves are smoothed, so no pixel is exact."""
    image = plot.grab().toImage()
    wanted = QColor(color)

    def near(x: int, y: int) -> bool:
        seen = image.pixelColor(x, y)
        return (
            abs(seen.red() - wanted.red())
            + abs(seen.green() - wanted.green())
            + abs(seen.blue() - wanted.blue())
            < 60
        )

    return [QPoint(x, y) for x in range(image.width()) for y in range(image.height()) if near(x, y)]


def test_the_plot_library_is_not_imported_before_the_first_paint() -> None:
    code = (
        "import sys\n"
        "from PySide6.QtWidgets import QApplication\n"
        "app = QApplication([])\n"
        "from gui.widgets.ceiling_plot import CeilingPlot\n"
        "plot = CeilingPlot()\n"
        "plot.show()\n"
        "plot.grab()\n"
        "assert 'pyqtgraph' not in sys.modules and 'numpy' not in sys.modules\n"
        "while plot.canvas is None:\n"
        "    app.processEvents()\n"
        "assert 'pyqtgraph' in sys.modules\n"
    )
    root = Path(__file__).parents[2]
    subprocess.run([sys.executable, "-c", code], cwd=root, check=True, timeout=60)


def test_a_curve_set_before_the_first_paint_is_drawn_after_it(plot: CeilingPlot) -> None:
    assert len(inked(plot, LIGHT.accent)) > 20


def test_the_sentence_has_both_ends_of_the_curve_with_units() -> None:
    assert sentence(curve()) == (
        "The decode ceiling is 58.1 tok/s at depth 0 and 57.1 tok/s at 16,384 tokens; "
        "with more context it would be 47.5 tok/s at 196,608."
    )


def test_a_screen_reader_hears_the_sentence(plot: CeilingPlot) -> None:
    spoken = QAccessible.queryAccessibleInterface(plot)
    assert spoken.text(QAccessible.Text.Name) == "Decode ceiling by depth"
    assert spoken.text(QAccessible.Text.Description) == sentence(curve())


def test_the_axes_stand_still_while_the_context_slides(plot: CeilingPlot) -> None:
    assert plot.canvas is not None
    before = plot.canvas.view_range()
    for context in (512, 4096, 131_072, LAST):
        plot.set_curve(curve(context))
        assert plot.canvas.view_range() == before
    depths, rates = before
    assert depths[0] == 0
    assert LAST < depths[1] < 1.05 * LAST
    assert rates[0] == 0
    assert 58.1 < rates[1] < 80


def test_the_marker_moves_with_the_chosen_depth(plot: CeilingPlot) -> None:
    assert plot.canvas is not None
    rightmost = []
    for context in (16_384, 131_072, LAST):
        plot.set_curve(curve(context))
        depth, rate = plot.canvas.marker()[0]
        assert depth == context
        assert rate == pytest.approx(936e9 / (16.1e9 + context * PER_TOKEN))
        rightmost.append(max(p.x() for p in inked(plot, LIGHT.accent)))
    assert rightmost[0] < rightmost[1] < rightmost[2] < plot.width()


def test_rates_below_one_are_in_the_unit_that_the_axis_names(plot: CeilingPlot) -> None:
    """A large model on a slow machine: 0.58 tok/s is not 0.00058."""
    assert plot.canvas is not None
    slow = tuple(p._replace(tok_s=0.01 * (p.tok_s or 0)) for p in points(0, LAST))
    plot.set_curve(Curve(slow, (), LAST, LAST))
    plot.grab()
    scene = plot.canvas.widget.scene()
    names = {i.toPlainText() for i in scene.items() if isinstance(i, QGraphicsTextItem)}
    assert "tok/s" in {name.strip() for name in names}
    assert not any("0.001" in name for name in names)


def test_without_a_curve_there_are_words_and_nothing_red(plot: CeilingPlot) -> None:
    plot.set_words("The bandwidth of this machine is not known.")
    spoken = QAccessible.queryAccessibleInterface(plot)
    assert (
        spoken.text(QAccessible.Text.Description) == "The bandwidth of this machine is not known."
    )
    assert inked(plot, LIGHT.accent) == []
    assert inked(plot, LIGHT.bad) == []
    plot.set_curve(curve())
    assert inked(plot, LIGHT.accent)


def test_the_same_curve_is_not_drawn_again(
    plot: CeilingPlot, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[Curve] = []
    assert plot.canvas is not None
    monkeypatch.setattr(plot.canvas, "set_curve", drawn.append)
    plot.set_curve(curve())
    assert drawn == []
    plot.set_curve(curve(32_768))
    assert len(drawn) == 1


def test_the_plot_follows_the_theme(plot: CeilingPlot, theme: Theme, qapp: QApplication) -> None:
    theme.set_mode(ThemeMode.DARK)
    qapp.processEvents()
    image = plot.grab().toImage()
    assert image.pixelColor(plot.width() // 2, plot.height() // 2) == QColor(DARK.window)
    assert inked(plot, DARK.accent)


def test_the_pointer_reads_a_computed_point_and_no_menu_opens(plot: CeilingPlot) -> None:
    assert plot.canvas is not None
    view = plot.canvas.widget
    target = view.viewport()
    place = QPointF(view.width() / 2, view.height() / 2)
    move = QMouseEvent(
        QMouseEvent.Type.MouseMove,
        place,
        target.mapToGlobal(place),
        Qt.MouseButton.NoButton,
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
    )
    QApplication.sendEvent(target, move)
    text = QToolTip.text()
    assert text.endswith(" tokens at most")
    known = {f"{p.depth:,}" for p in points(0, 16_384) + points(16_384, LAST)}
    assert text.split(" at ")[1].removesuffix(" tokens") in known
    QTest.mouseClick(target, Qt.MouseButton.RightButton)
    assert QApplication.activePopupWidget() is None


@pytest.mark.parametrize("value", [0.31, 1.0, 7.9, 58.1, 342.0, 1999.0, 25_000.0])
def test_the_rate_axis_ends_at_a_round_number_close_above_the_curve(value: float) -> None:
    step, top = round_above(value)
    assert value <= top <= 2 * value
    assert top / step == pytest.approx(round(top / step))
    assert 2 <= top / step <= 8


@pytest.mark.parametrize("last", [1, 300, 4096, 40_960, 131_072, 262_144, 1_048_576, 10_485_760])
def test_the_depth_axis_has_few_labels_and_ends_at_the_last_depth(last: int) -> None:
    ticks = depth_ticks(last)
    assert ticks[0] == 0
    assert ticks[-1] == last
    assert ticks == sorted(set(ticks))
    assert len(ticks) <= 7


def with_band(points: tuple[DepthPoint, ...]) -> tuple[DepthPoint, ...]:
    return tuple(
        p._replace(low=0.5 * (p.tok_s or 0), mid=0.6 * (p.tok_s or 0), high=0.7 * (p.tok_s or 0))
        for p in points
    )


def test_the_expected_band_is_drawn_named_and_said(plot: CeilingPlot) -> None:
    assert plot.canvas is not None
    assert plot.canvas.band() == []
    assert "expected, from published runs" not in plot.canvas.legend()
    plot.set_curve(Curve(with_band(points(0, 16_384)), with_band(points(16_384, LAST)), 0, LAST))
    band = plot.canvas.band()
    assert list(band[0]) == pytest.approx([0.0, 0.5 * 936 / 16.1, 0.7 * 936 / 16.1])
    assert band[-1][0] == LAST
    assert "expected, from published runs" in plot.canvas.legend()
    assert "Published runs lead to expect 29.1 to 40.7 tok/s at depth 0" in sentence(
        Curve(with_band(points(0, 16_384)), (), 0, LAST)
    )


def test_the_cliff_is_drawn_named_and_said(plot: CeilingPlot) -> None:
    spilled = tuple(DepthPoint(p.depth, p.bytes, 5.0) for p in points(131_072, LAST, 8))
    made = Curve(points(0, 16_384), points(16_384, LAST), 16_384, LAST, spilled)
    plot.set_curve(made)
    assert plot.canvas is not None
    assert "where the driver spills into RAM" in plot.canvas.legend()
    assert "From about 131,072 tokens the memory is too small" in sentence(made)
    assert "leaves 5.00 tok/s at 196,608" in sentence(made)


def test_measured_points_are_drawn_named_and_said(plot: CeilingPlot) -> None:
    plain = len(inked(plot, LIGHT.text))
    plot.set_curve(Curve(points(0, LAST), (), 0, LAST, measured=((32, 41.0), (8192, 36.5))))
    assert plot.canvas is not None
    assert plot.canvas.legend() == ["ceiling, up to the context chosen", "measured here"]
    assert len(inked(plot, LIGHT.text)) > plain
    assert " Measured: 41.0 tok/s at 32, 36.5 tok/s at 8,192." in plot.accessibleDescription()


def test_where_the_legend_has_no_room_the_tooltip_names_every_line(
    plot: CeilingPlot, qtbot: QtBot
) -> None:
    assert plot.canvas is not None
    spilled = replace(curve(), spilled=points(8_192, LAST))
    plot.set_curve(spilled)
    for height, told in ((400, False), (110, True)):
        plot.resize(600, height)
        qtbot.waitUntil(lambda: plot.grab() is not None)
        middle = plot.canvas.widget.mapToScene(plot.canvas.widget.viewport().rect().center())
        plot.canvas._read(middle)
        assert ("where the driver spills into RAM" in QToolTip.text()) is told
        assert "ceiling" not in QToolTip.text() or told
