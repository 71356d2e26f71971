"""Slider and box: one state, every value reachable, arrows from stop to stop."""

from __future__ import annotations

from typing import TypeVar

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QHBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from gui.widgets.slider_field import SliderField, WordField
from gui.widgets.stop_slider import SliderMark, StopSlider, doubling_stops

Field = TypeVar("Field", SliderField, WordField)


@pytest.fixture
def page(qtbot: QtBot) -> QWidget:
    made = QWidget()
    qtbot.addWidget(made)
    made.resize(700, 60)
    return made


def on(page: QWidget, field: Field) -> Field:
    """Lay the field out as a panel does, its label in front of it, and show it."""
    row = QHBoxLayout(page)
    row.addWidget(field.label)
    row.addWidget(field, 1)
    page.show()
    return field


@pytest.fixture
def context(page: QWidget) -> SliderField:
    field = on(page, SliderField("&Context", step=256, unit="tokens"))
    field.set_range(doubling_stops(512, 40_960), 1, 1_000_000)
    field.set_value(16_384)
    return field


def heard(field: SliderField | WordField) -> list[int]:
    values: list[int] = []
    field.value_changed.connect(values.append)
    return values


def test_stops_double_and_end_at_the_trained_length() -> None:
    assert doubling_stops(512, 8192) == (512, 1024, 2048, 4096, 8192)
    assert doubling_stops(512, 40_960)[-3:] == (16_384, 32_768, 40_960)
    assert doubling_stops(512, 512) == (512,)
    assert doubling_stops(512, 300) == (300,)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (Qt.Key.Key_Right, 32_768),
        (Qt.Key.Key_Up, 32_768),
        (Qt.Key.Key_Left, 8192),
        (Qt.Key.Key_Down, 8192),
        (Qt.Key.Key_Home, 512),
        (Qt.Key.Key_End, 40_960),
    ],
)
def test_arrows_move_one_stop_and_home_and_end_go_to_the_ends(
    context: SliderField, key: Qt.Key, value: int
) -> None:
    values = heard(context)
    QTest.keyClick(context.slider, key)
    assert context.value == value
    assert values == [value]


def test_page_keys_move_several_stops(context: SliderField) -> None:
    context.set_value(2048)
    QTest.keyClick(context.slider, Qt.Key.Key_PageUp)
    assert context.value == 8192
    QTest.keyClick(context.slider, Qt.Key.Key_PageDown)
    assert context.value == 2048


def test_from_between_two_stops_the_arrows_go_to_its_neighbours(context: SliderField) -> None:
    context.set_value(12_345)
    QTest.keyClick(context.slider, Qt.Key.Key_Right)
    assert context.value == 16_384
    context.set_value(12_345)
    QTest.keyClick(context.slider, Qt.Key.Key_Left)
    assert context.value == 8192


def test_the_box_takes_a_number_between_stops_and_beyond_them(context: SliderField) -> None:
    values = heard(context)
    for typed, value in (("12345", 12_345), ("131072", 131_072)):
        context.box.selectAll()
        QTest.keyClicks(context.box, typed)
        QTest.keyClick(context.box, Qt.Key.Key_Return)
        assert context.value == value
    assert values == [12_345, 131_072]  # not the digits on the way
    assert context.slider.value() == context.slider.maximum()


def test_slider_and_box_show_one_state(context: SliderField) -> None:
    context.set_value(8192)
    at_stop = context.slider.value()
    context.set_value(12_288)
    between = context.slider.value()
    context.set_value(16_384)
    assert at_stop < between < context.slider.value()
    QTest.keyClick(context.slider, Qt.Key.Key_Home)
    assert context.box.value() == 512


def test_showing_a_value_tells_nobody(context: SliderField) -> None:
    values = heard(context)
    context.set_value(4096)
    context.set_range(doubling_stops(512, 8192), 1, 100_000)
    assert values == []
    assert context.value == 4096


def test_a_number_on_the_screen_is_grouped(context: SliderField) -> None:
    assert context.box.text() == "16,384"


def test_dragging_snaps_to_stops_and_is_enclosed_by_pressed_and_released(
    context: SliderField,
) -> None:
    values = heard(context)
    events: list[str] = []
    context.pressed.connect(lambda: events.append("pressed"))
    context.value_changed.connect(lambda _: events.append("moved"))
    context.released.connect(lambda: events.append("released"))
    slider, middle = context.slider, context.slider.height() // 2
    start, end = slider.x_of(16_384), slider.x_of(1024)
    QTest.mousePress(
        slider, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, QPoint(start, middle)
    )
    for x in range(start, end - 1, -7):
        QTest.mouseMove(slider, QPoint(x, middle))
    QTest.mouseMove(slider, QPoint(end, middle))
    QTest.mouseRelease(
        slider, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, QPoint(end, middle)
    )
    assert values == [8192, 4096, 2048, 1024]
    assert events == ["pressed", "moved", "moved", "moved", "moved", "released"]


def test_a_click_beside_the_handle_goes_to_the_stop_under_the_pointer(context: SliderField) -> None:
    slider = context.slider
    place = QPoint(slider.x_of(2048) + 5, slider.height() // 2)
    QTest.mouseClick(slider, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, place)
    assert context.value == 2048


@pytest.mark.parametrize("last", [41, 33, 81])
def test_every_layer_is_reachable_by_keyboard_and_the_last_one_too(
    page: QWidget, last: int
) -> None:
    """U19: one could not stop at 40 of 41."""
    field = on(page, SliderField("GPU &layers", unit="layers"))
    field.set_range(range(last + 1), 0, last)
    reached = [field.value]
    for _ in range(last + 3):
        QTest.keyClick(field.slider, Qt.Key.Key_Right)
        reached.append(field.value)
    assert reached == [*range(last + 1), last, last, last]
    QTest.keyClick(field.slider, Qt.Key.Key_Left)
    assert field.value == last - 1


def test_a_screen_reader_hears_a_name_and_the_real_number(context: SliderField) -> None:
    spoken = QAccessible.queryAccessibleInterface(context.slider)
    assert spoken.role() is QAccessible.Role.Slider
    assert spoken.text(QAccessible.Text.Name) == "Context"
    context.set_value(12_345)
    assert spoken.text(QAccessible.Text.Description) == "12,345 tokens"
    box = QAccessible.queryAccessibleInterface(context.box)
    assert box.text(QAccessible.Text.Name) == "Context, exact"


def test_the_label_leads_to_the_slider(context: SliderField) -> None:
    assert context.label.buddy() is context.slider


def test_the_mark_points_at_its_value(context: SliderField) -> None:
    context.set_mark(32_768, "trained for 32,768")
    assert context.slider.x_of(16_384) < context.slider.x_of(32_768) < context.slider.width()
    mark = context.findChildren(QWidget, options=Qt.FindChildOption.FindDirectChildrenOnly)[-1]
    assert mark.accessibleName() == "trained for 32,768"


def test_the_mark_follows_where_the_box_takes_more_of_the_line(
    qtbot: QtBot, context: SliderField
) -> None:
    """The mark is as wide as both together: it has the same size as before and is drawn anew."""
    context.set_mark(40_960, "trained for 40,960")
    (mark,) = context.findChildren(SliderMark)
    qtbot.waitUntil(lambda: mark.width() > 100)
    qtbot.wait(20)
    painted = Painted(mark)
    width, at = mark.width(), context.slider.x_of(40_960)
    context.box.setMinimumWidth(context.box.width() + 60)
    qtbot.waitUntil(lambda: context.slider.x_of(40_960) < at)
    qtbot.waitUntil(lambda: painted.count > 0)
    assert mark.width() == width


class Painted(QObject):
    """Counts how often a widget is painted."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.count = 0
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        self.count += event.type() is QEvent.Type.Paint
        return False


def wheel(widget: QWidget) -> bool:
    at = QPointF(widget.rect().center())
    event = QWheelEvent(
        at,
        QPointF(widget.mapToGlobal(widget.rect().center())),
        QPoint(0, 0),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        Qt.KeyboardModifier.NoModifier,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(widget, event)
    return event.isAccepted()


def test_the_wheel_scrolls_the_page_unless_the_control_has_the_focus(
    qtbot: QtBot, context: SliderField
) -> None:
    other = QWidget(context.window())
    other.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
    other.show()
    context.window().activateWindow()
    other.setFocus()
    qtbot.waitUntil(other.hasFocus)
    for control in (context.slider, context.box):
        wheel(control)
        assert context.value == 16_384
    context.slider.setFocus()
    wheel(context.slider)
    assert context.value != 16_384


def test_words_are_stops_of_a_slider_and_lines_of_a_list(page: QWidget) -> None:
    field = on(page, WordField("&Quantization"))
    field.set_words(["as it is: Q4_K_M", "Q8_0", "Q2_K"])
    values = heard(field)
    QTest.keyClick(field.slider, Qt.Key.Key_Right)
    assert field.box.currentText() == "Q8_0"
    QTest.keyClick(field.box, Qt.Key.Key_Down)
    assert field.slider.value() == field.slider.maximum()
    assert values == [1, 2]
    field.set_value(0)
    assert values == [1, 2]
    spoken = QAccessible.queryAccessibleInterface(field.slider)
    assert spoken.text(QAccessible.Text.Description) == "as it is: Q4_K_M"


def test_a_single_stop_does_not_break_the_slider(qtbot: QtBot) -> None:
    slider = StopSlider()
    qtbot.addWidget(slider)
    slider.set_stops([300])
    slider.set_value(300)
    slider.show()
    assert slider.value() == 0
    QTest.keyClick(slider, Qt.Key.Key_Right)
    assert slider.value() == 0
    assert not slider.grab().isNull()
