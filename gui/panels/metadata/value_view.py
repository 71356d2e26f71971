"""One value of the metadata in full: text to read, a number, or an array by pages."""

from __future__ import annotations

from collections.abc import Iterator

from PySide6.QtCore import QMimeData, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QGuiApplication,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPlainTextEdit,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from core import units
from core.gguf import PageError, display, excerpt
from core.gguf.header import Array, Entry, Header
from core.language import tr, trn
from core.problems import Problem
from gui import theme
from gui.panels.metadata import reading
from gui.panels.metadata.array_pager import ArrayPager
from gui.tables import values
from gui.tables.metadata import DUPLICATE_HELP
from gui.widgets.breakable import breakable
from gui.widgets.icon_button import IconButton
from gui.widgets.text import Style, Text, fixed_font
from gui.workers.runner import Handle, Runner

# More than this makes the text field slow; the copy has everything. The time for one line without
# a space grows with its square: 200,000 letters take 8 s, in lines of 2,000 nothing.
SHOWN_LETTERS = 200_000
LINE_LETTERS = 2_000
_KEY_LETTERS = 300


class ValueView(QWidget):
    """Shows one entry. ``open_asked`` is emitted by the button that wants a window of its own."""

    open_asked = Signal()

    def __init__(self, with_window: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._header: Header | None = None
        self._entry: Entry | None = None
        self._copies = Runner("copy array", self)
        self._copies.finished.connect(self._copied_array)
        self.key = Text("", Style.STRONG, wrap=True)
        self.about = Text("", Style.MUTED, wrap=True)
        self.text = _Text()
        self.text.setReadOnly(True)
        self.text.setTabChangesFocus(True)
        self.text.setAccessibleName(tr("Value"))
        self.text.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self.text.setFont(fixed_font())
        self.pager = ArrayPager()
        self._body = QStackedWidget()
        self._body.addWidget(self.text)
        self._body.addWidget(self.pager)
        self.copy_button = IconButton("copy", tr("Copy value"))
        self.copy_button.setToolTip(
            tr(
                "Copy the value exactly as it stands in the file; an array as JSON, with every "
                "element"
            )
        )
        self.copy_button.clicked.connect(self.copy_value)
        self.open_button = QToolButton()
        self.open_button.setText(tr("Enlarge"))
        self.open_button.setToolTip(
            tr("Read the value in a window of its own (Enter in the table)")
        )
        self.open_button.clicked.connect(self.open_asked)
        self.open_button.setVisible(with_window)
        buttons = QHBoxLayout()
        buttons.addWidget(self.about, 1)
        buttons.addWidget(self.copy_button, 0, Qt.AlignmentFlag.AlignTop)
        if with_window:
            buttons.addWidget(self.open_button, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self.fontMetrics().averageCharWidth() // 2)
        column.addWidget(self.key)
        column.addLayout(buttons)
        column.addWidget(self._body, 1)
        self.set_entry(None, None)

    def set_entry(self, header: Header | None, entry: Entry | None) -> None:
        """Show an entry of a header; None for nothing."""
        self._copies.cancel()
        self._header = header
        self._entry = entry
        self.copy_button.setEnabled(entry is not None)
        self.open_button.setEnabled(entry is not None)
        if header is None or entry is None:
            self.key.set_text("")
            self.about.set_text("")
            self.pager.set_array(None, None)
            self.text.setPlaceholderText(tr("Choose a key to read its value."))
            self.text.setPlainText("")
            self._body.setCurrentWidget(self.text)
            return
        key = excerpt(entry.key, _KEY_LETTERS) or tr("(empty key)")
        self.key.set_text(breakable(key))
        self.key.setAccessibleName(key)
        self.about.set_text(_about(entry))
        if isinstance(entry.value, Array):
            self.pager.set_array(header, entry.value)
            self._body.setCurrentWidget(self.pager)
            return
        self.pager.set_array(None, None)
        self.text.setPlaceholderText(tr("The string is empty."))
        self.text.setPlainText("\n".join(_lines(values.scalar_text(entry.value, entry.type))))
        self._body.setCurrentWidget(self.text)

    def copy_value(self) -> None:
        """Copy exactly what stands in the file, byte by byte; an array as JSON."""
        header, entry = self._header, self._entry
        if header is None or entry is None:
            return
        if isinstance(entry.value, Array):
            array = entry.value
            self.about.set_text(tr("Reading the whole array…"))

            def read(handle: Handle) -> str | Problem:
                try:
                    return reading.array_json(header, array, handle.cancelled)
                except PageError as error:
                    return error.problem

            self._copies.start(read)
            return
        text = values.scalar_text(entry.value, entry.type)
        exact = values.exact_bytes(text)
        mime = QMimeData()
        try:
            mime.setText(exact.decode())
        except UnicodeDecodeError:
            mime.setData("text/plain", exact)
        QGuiApplication.clipboard().setMimeData(mime)
        copied = trn("copied, {count:,} bytes", "copied, {count:,} bytes", len(exact))
        self.about.set_text(f"{_about(entry)} · {copied}")

    def _copied_array(self, answer: str | Problem) -> None:
        if self._entry is None:
            return
        if isinstance(answer, Problem):
            self.pager.problems.set_problems([answer])
            self.about.set_text(_about(self._entry))
            return
        QGuiApplication.clipboard().setText(answer)
        self.about.set_text(f"{_about(self._entry)} · {tr('copied as JSON')}")


class _Text(QPlainTextEdit):
    """Text to read and to copy from, with an edge that tells that it has the keyboard."""

    marks_itself = True

    def focusInEvent(self, event: QFocusEvent) -> None:
        """Show the edge."""
        super().focusInEvent(event)
        self.viewport().update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        """Hide it."""
        super().focusOutEvent(event)
        self.viewport().update()

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        """The edge stays while the text moves."""
        super().scrollContentsBy(dx, dy)
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        """The text and the edge."""
        super().paintEvent(event)
        if self.hasFocus():
            theme.draw_focus(QPainter(self.viewport()), self.viewport().rect())


def _lines(text: str) -> Iterator[str]:
    """The lines of a text as they are shown, long ones in pieces."""
    for line in display(text[:SHOWN_LETTERS], lines=True).split("\n"):
        for start in range(0, max(1, len(line)), LINE_LETTERS):
            yield line[start : start + LINE_LETTERS]


def _about(entry: Entry) -> str:
    """Type, size and place in words."""
    value = entry.value
    words = [values.type_name(entry)]
    if isinstance(value, str):
        size = len(values.exact_bytes(value))
        words.append(units.format_exact_bytes(size))
        lines = value.count("\n") + 1
        if lines > 1:
            words.append(tr("{count:,} lines", count=lines))
        if len(value) > SHOWN_LETTERS:
            words.append(tr("the first {count:,} characters are shown", count=SHOWN_LETTERS))
        if sum(1 for _ in _lines(value)) > value[:SHOWN_LETTERS].count("\n") + 1:
            words.append(tr("lines are broken after {count:,} characters", count=LINE_LETTERS))
    elif isinstance(value, Array):
        words = [values.array_words(value, value.items or ()).partition(":")[0]]
    words.append(tr("at byte {byte:,}", byte=entry.offset))
    if entry.duplicate:
        words.append(tr("duplicate. {help}", help=tr(DUPLICATE_HELP)))
    return " · ".join(words)
