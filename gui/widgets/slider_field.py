"""A slider beside a box: one state, shown twice."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QSignalBlocker, Qt, Signal
from PySide6.QtGui import QPaintEvent
from PySide6.QtWidgets import (
    QComboBox,
    QGridLayout,
    QLabel,
    QSizePolicy,
    QSpinBox,
    QStyle,
    QStyleOptionComboBox,
    QStylePainter,
    QWidget,
)

from core.language import tr, written
from gui.widgets.quiet_wheel import QuietWheel
from gui.widgets.stop_slider import SliderMark, StopSlider
from gui.widgets.undo_keys import UndoKeys


class _Field(QWidget):
    """What the two fields share. ``label`` belongs into the first column of whoever lays this out;
    its mnemonic goes to the slider.

    ``pressed`` and ``released`` enclose a drag, which is one step to undo.
    """

    pressed = Signal()
    released = Signal()

    def __init__(self, label: str, box: QSpinBox | QComboBox, parent: QWidget | None) -> None:
        super().__init__(parent)
        name = label.replace("&", "")
        self.slider = StopSlider()
        self.slider.setAccessibleName(name)
        self.slider.setMinimumWidth(6 * self.fontMetrics().averageCharWidth())
        self.label = QLabel(label)
        self.label.setBuddy(self.slider)
        box.setAccessibleName(tr("{name}, exact", name=name))
        box.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        QuietWheel(self).guard(self.slider, box)
        self.slider.sliderPressed.connect(self.pressed)
        self.slider.sliderReleased.connect(self.released)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setVerticalSpacing(0)
        self._grid.setHorizontalSpacing(2 * self.fontMetrics().averageCharWidth())
        self._grid.setColumnStretch(0, 1)
        self._grid.addWidget(self.slider, 0, 0)
        self._grid.addWidget(box, 0, 1)
        self.setFocusProxy(self.slider)

    def narrowest_slider(self) -> int:
        """Pixels that the slider and the gap beside it take at least; the box may have the rest."""
        return self.slider.minimumWidth() + self._grid.horizontalSpacing()


class _WordBox(QComboBox):
    """A list of words of which too long a one ends in dots; the tooltip has all of it."""

    def __init__(self) -> None:
        super().__init__()
        self.currentTextChanged.connect(self.setToolTip)

    def paintEvent(self, event: QPaintEvent) -> None:
        """As the style draws it, but for the end of the text."""
        painter = QStylePainter(self)
        option = QStyleOptionComboBox()
        self.initStyleOption(option)
        control, field = QStyle.ComplexControl.CC_ComboBox, QStyle.SubControl.SC_ComboBoxEditField
        painter.drawComplexControl(control, option)
        room = self.style().subControlRect(control, option, field, self).width() - 2
        option.currentText = self.fontMetrics().elidedText(
            option.currentText, Qt.TextElideMode.ElideRight, room
        )
        painter.drawControl(QStyle.ControlElement.CE_ComboBoxLabel, option)


class SliderField(_Field):
    """A whole number: the slider goes over stops, the box takes any number in its range.

    ``value_changed`` is emitted for changes by the user only.
    """

    value_changed = Signal(int)

    def __init__(
        self,
        label: str,
        *,
        step: int = 1,
        unit: str = "",
        parent: QWidget | None = None,
    ) -> None:
        self.box = QSpinBox()
        super().__init__(label, self.box, parent)
        UndoKeys(self.box)
        self._unit = unit
        self._mark: SliderMark | None = None
        self.box.setGroupSeparatorShown(True)
        self.box.setKeyboardTracking(False)
        self.box.setSingleStep(step)
        self.slider.chosen.connect(self._choose)
        self.box.valueChanged.connect(self._choose)

    def set_mark(self, value: int | None, words: str) -> None:
        """Point at one value below the slider and say what it is; only say it for None."""
        if self._mark is None:
            self._mark = SliderMark(self.slider)
            self._grid.addWidget(self._mark, 1, 0, 1, 2)
        self._mark.set_mark(value, words)

    @property
    def value(self) -> int:
        """The exact number."""
        return self.box.value()

    def set_range(self, stops: Sequence[int], low: int, high: int) -> None:
        """Slider stops, and what the box accepts."""
        self.slider.set_stops(stops)
        if (low, high) != (self.box.minimum(), self.box.maximum()):
            with QSignalBlocker(self.box):
                self.box.setRange(low, high)
        self.slider.set_value(self.value)

    def set_suffix(self, suffix: str) -> None:
        """Say more behind the number in the box."""
        if suffix != self.box.suffix():
            self.box.setSuffix(suffix)

    def set_value(self, value: int) -> None:
        """Show a value without telling anybody."""
        if value == self.box.value():
            return
        with QSignalBlocker(self.box):
            self.box.setValue(value)
        self._show()

    def _choose(self, value: int) -> None:
        self.set_value(value)
        self._show()
        self.value_changed.emit(value)

    def _show(self) -> None:
        self.slider.set_value(self.value)
        words = f"{written(self.value)} {self._unit}".rstrip()
        self.slider.setAccessibleDescription(words)


class WordField(_Field):
    """One of several words in an order that means something, such as formats by size.

    ``value_changed`` carries the index, for changes by the user only.
    """

    value_changed = Signal(int)

    def __init__(self, label: str, parent: QWidget | None = None) -> None:
        self.box = _WordBox()
        super().__init__(label, self.box, parent)
        self.box.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.slider.chosen.connect(self._choose)
        self.box.activated.connect(self._choose)

    @property
    def value(self) -> int:
        """The index of the word that is shown."""
        return self.box.currentIndex()

    def set_words(self, words: Sequence[str]) -> None:
        """Offer these, in this order; the first is shown."""
        if list(words) == [self.box.itemText(i) for i in range(self.box.count())]:
            return
        with QSignalBlocker(self.box):
            self.box.clear()
            self.box.addItems(list(words))
        self.slider.set_stops(range(max(len(words), 1)))
        self._show()

    def set_value(self, index: int) -> None:
        """Show a word without telling anybody."""
        if index != self.box.currentIndex():
            with QSignalBlocker(self.box):
                self.box.setCurrentIndex(index)
            self._show()

    def _choose(self, index: int) -> None:
        self.set_value(index)
        self._show()
        self.value_changed.emit(index)

    def _show(self) -> None:
        self.slider.set_value(max(self.value, 0))
        self.slider.setAccessibleDescription(self.box.currentText())
