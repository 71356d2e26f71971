"""First steps, for who opens the window for the first time; dismissed for good with one button."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QDialog,
    QDialogButtonBox,
    QHBoxLayout,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from core.language import mark, tr
from gui.widgets.dialog_size import open_at
from gui.widgets.text import Style, Text

STEPS = (
    mark(
        "Open a model file, or try one of the well-known models: they are headers, nothing is "
        "downloaded."
    ),
    mark(
        "“Does it fit?” stands beside MEMORY; the sliders below it change everything at once, and "
        "Ctrl+Z takes it back."
    ),
    mark(
        "Point at any number to see where it comes from. Shift+F1, or a right click on a word, "
        "explains what the word means."
    ),
    mark(
        "Another computer? Type its name into the field Machine, or compare many on the page "
        "Compare."
    ),
)


class Tips(QWidget):
    """Hidden until somebody shows it. ``dismissed`` says that it shall not come back."""

    dismissed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.close_button = QPushButton(tr("Do not show this again"))
        self.close_button.clicked.connect(self._dismiss)
        head = QHBoxLayout()
        head.addWidget(Text(tr("FIRST STEPS"), Style.HEADING))
        head.addStretch(1)
        head.addWidget(self.close_button)
        space = self.fontMetrics().height()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, space, 0, 0)
        column.setSpacing(space // 3)
        column.addLayout(head)
        for line in _lines():
            column.addWidget(line)
        self.hide()

    def _dismiss(self) -> None:
        self.hide()
        self.dismissed.emit()


class FirstSteps(QDialog):
    """The same from the menu, whenever somebody wants to read them again."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("First steps"))
        column = QVBoxLayout(self)
        column.setSpacing(self.fontMetrics().height() // 2)
        for line in _lines():
            column.addWidget(line)
        column.addStretch(1)
        buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        buttons.rejected.connect(self.reject)
        column.addWidget(buttons)
        open_at(self, 70, 16)


def _lines() -> list[Text]:
    return [Text(f"{number}.  {tr(step)}", wrap=True) for number, step in enumerate(STEPS, start=1)]
