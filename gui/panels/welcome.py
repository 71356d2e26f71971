"""What the window shows without a model: how to get one, and this computer."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from PySide6.QtCore import QEvent, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPalette, QPen, QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from core.gguf import display
from core.language import tr
from core.provenance import Unit, format_value
from gui import theme
from gui.document import Document
from gui.panels.computer_card import ComputerCard
from gui.panels.help.tips import Tips
from gui.widgets.file_card import FileCard
from gui.widgets.scrolled import PageOfWords
from gui.widgets.text import Style, Text
from gui.workers.opening import Summary

_DARKER = 160  # per cent
_WIDTH = 165  # characters of the system's font; a wider window leaves margins
_CARD = 44  # characters that one card needs at least
_ONE_LINE = 90  # characters; a narrower window has the first button below the first words


class WelcomePanel(QScrollArea):
    """Drop a file, open one, take a recent one or a specimen. ``chosen`` gives the path."""

    open_asked = Signal()
    link_asked = Signal()
    library_asked = Signal()
    chosen = Signal(Path)

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._summaries: dict[Path, Summary] = {}
        self.tips = Tips()
        self.computer = ComputerCard(document)
        self.open_button = QPushButton(tr("Open a GGUF file…"))
        self.open_button.clicked.connect(self.open_asked)
        self.library_button = QPushButton(tr("Models on this computer…"))
        self.library_button.setToolTip(
            tr("All that other programs have loaded, and yours (Ctrl+M)")
        )
        self.library_button.clicked.connect(self.library_asked)
        self.link_button = QPushButton(tr("Open a link…"))
        self.link_button.setToolTip(
            tr("A model on a server, before it is downloaded (Ctrl+Shift+O)")
        )
        self.link_button.clicked.connect(self.link_asked)
        self._recent = _Cards(tr("RECENT FILES"))
        self._specimens = _Cards(tr("WELL-KNOWN MODELS, TO TRY IT WITHOUT A DOWNLOAD"))
        for cards in (self._recent, self._specimens):
            cards.chosen.connect(self.chosen)
        page = PageOfWords()
        space = self.fontMetrics().height()
        page.setMaximumWidth(_WIDTH * self.fontMetrics().averageCharWidth())
        column = QVBoxLayout(page)
        column.setContentsMargins(space, space, space, space)
        column.setSpacing(space // 2)
        column.addWidget(_DropBox(self.open_button, self.library_button, self.link_button))
        column.addWidget(self.tips)
        column.addSpacing(space)
        column.addWidget(Text(tr("THIS COMPUTER"), Style.HEADING))
        column.addWidget(self.computer)
        column.addWidget(self._recent)
        column.addWidget(self._specimens)
        column.addStretch(1)
        # The page stays in the middle of a wide window.
        middle = QWidget()
        row = QHBoxLayout(middle)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(page)
        self.setWidget(middle)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        # What stands in it takes the keyboard. In this order: a policy reaches the proxy too.
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFocusProxy(self.open_button)
        self.setAccessibleName(tr("Welcome"))
        document.units_changed.connect(self._say_more)

    def set_recent(self, paths: Sequence[Path], missing: Collection[Path]) -> None:
        """Show the recent files; those that are not there any more cannot be chosen."""
        self._recent.set_paths(paths)
        for card in self._recent.cards:
            gone = card.path in missing
            card.setEnabled(not gone)
            folder = display(str(card.path.parent))
            where = tr("not found in {folder}", folder=folder) if gone else folder
            card.set_words(display(card.path.name), where)

    def set_specimens(self, paths: Sequence[Path]) -> None:
        """Show the specimens, by file name until `set_summaries` says more."""
        self._specimens.set_paths(paths)
        self._say_more()

    def set_summaries(self, summaries: Sequence[Summary]) -> None:
        """What the specimens hold."""
        self._summaries = {summary.path: summary for summary in summaries}
        self._say_more()

    def _say_more(self) -> None:
        units = self._document.units
        for card in self._specimens.cards:
            summary = self._summaries.get(card.path)
            if summary is None:
                card.set_words(card.path.stem, "")
                continue
            words = [format_value(summary.parameters, Unit.PARAMETERS)]
            if summary.active_parameters:
                words[0] = tr(
                    "{parameters}, {active} active",
                    parameters=words[0],
                    active=format_value(summary.active_parameters, Unit.PARAMETERS),
                )
            words += [summary.label, format_value(summary.bytes, Unit.BYTES, units)]
            card.set_words(summary.name, " · ".join(word for word in words if word))


class _Cards(QWidget):
    """A title over cards in as many columns as there is room for; hidden without a card."""

    chosen = Signal(Path)

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.cards: list[FileCard] = []
        space = self.fontMetrics().height()
        self._grid = QGridLayout()
        self._grid.setSpacing(space // 2)
        self._columns = 1
        column = QVBoxLayout(self)
        column.setContentsMargins(0, space, 0, 0)
        column.setSpacing(space // 2)
        column.addWidget(Text(title, Style.HEADING, wrap=True))
        column.addLayout(self._grid)
        self.hide()

    def set_paths(self, paths: Sequence[Path]) -> None:
        """One card each, in this order."""
        if [card.path for card in self.cards] == list(paths):
            return
        for card in self.cards:
            self._grid.removeWidget(card)
            card.hide()
            card.deleteLater()
        self.cards = [FileCard(path) for path in paths]
        for card in self.cards:
            card.clicked.connect(lambda _=False, path=card.path: self.chosen.emit(path))
        self._place()
        self.setVisible(bool(paths))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """More or fewer columns."""
        super().resizeEvent(event)
        columns = max(1, self.width() // (_CARD * self.fontMetrics().averageCharWidth()))
        if columns != self._columns:
            self._columns = columns
            self._place()

    def _place(self) -> None:
        for number, card in enumerate(self.cards):
            self._grid.addWidget(card, number // self._columns, number % self._columns)
        for column in range(self._grid.columnCount()):
            self._grid.setColumnStretch(column, 1 if column < self._columns else 0)


class _DropBox(QFrame):
    """Where to drop a file. The whole window takes it; this says so."""

    def __init__(self, button: QPushButton, *others: QPushButton) -> None:
        super().__init__()
        space = self.fontMetrics().height()
        self._icon = QLabel()
        words = QVBoxLayout()
        words.setSpacing(2)
        words.addStretch(1)
        words.addWidget(Text(tr("Weigh a model before you load it"), Style.HEADLINE, wrap=True))
        words.addWidget(
            Text(
                tr(
                    "Drop a GGUF file, or a link to one, anywhere in this window to see what it "
                    "needs in memory and how fast it can write on this computer."
                ),
                Style.MUTED,
                wrap=True,
            )
        )
        words.addStretch(1)
        self._row = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._row.setContentsMargins(2 * space, 3 * space // 2, 2 * space, 3 * space // 2)
        self._row.setSpacing(3 * space // 2)
        self._row.addWidget(self._icon)
        self._row.addLayout(words, 1)
        buttons = QVBoxLayout()
        buttons.setSpacing(space // 3)
        buttons.addStretch(1)
        for each in (button, *others):
            buttons.addWidget(each)
        buttons.addStretch(1)
        self._row.addLayout(buttons)
        side = 3 * space
        self._icon.setPixmap(theme.icon("weighbridge", "").pixmap(QSize(side, side)))
        self._button = button
        button.setMinimumSize(
            button.sizeHint().width() + 2 * space, button.sizeHint().height() + space // 2
        )
        self._dress()

    def resizeEvent(self, event: QResizeEvent) -> None:
        """In a narrow window the button stands below the words."""
        super().resizeEvent(event)
        narrow = self.width() < _ONE_LINE * self.fontMetrics().averageCharWidth()
        way = QBoxLayout.Direction
        self._row.setDirection(way.TopToBottom if narrow else way.LeftToRight)
        self._icon.setVisible(not narrow)

    def minimumSizeHint(self) -> QSize:
        """As wide as the button."""
        margins = self._row.contentsMargins()
        width = self._button.minimumWidth() + margins.left() + margins.right()
        return QSize(width, super().minimumSizeHint().height())

    def changeEvent(self, event: QEvent) -> None:
        """The button follows the theme."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange:
            self._dress()

    def paintEvent(self, event: QPaintEvent) -> None:
        """A dashed border."""
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        c = theme.colors()
        painter.setPen(QPen(QColor(c.muted), 1, Qt.PenStyle.DashLine))
        painter.setBrush(QColor(c.base))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), 6, 6)

    def _dress(self) -> None:
        # The one button that a newcomer looks for.
        c = theme.colors()
        palette = self._button.palette()
        # The style lightens what it is given, and white words would fade.
        ground = QColor(c.accent) if c.dark else QColor(c.accent).darker(_DARKER)
        palette.setColor(QPalette.ColorRole.Button, ground)
        palette.setColor(QPalette.ColorRole.ButtonText, QColor(c.on_accent))
        self._button.setPalette(palette)
