"""How the open file's vocabulary cuts a typed text into tokens."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt, QTimer
from PySide6.QtGui import QColor, QMouseEvent, QShowEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit, QVBoxLayout, QWidget

from core.language import mark, tr, trn
from core.tokens import Piece
from gui import theme
from gui.document import Document
from gui.widgets.live_text import LiveText
from gui.widgets.text import Style, Text
from gui.workers.counting import Counter, CutText
from gui.workers.runner import Runner

_WORDS = mark(
    "A model reads and writes tokens: pieces of text that its vocabulary lists. Context, speed and "
    "price are counted in them. Type or paste a text; it stays on this computer."
)
_EXAMPLE = mark(
    "The weighbridge reads 21,718,480,960 bytes.\n"
    'def fits(model, gpu): return model["bytes"] < gpu.free\n'
    "Wie schwer ist es? ¿Cuánto pesa? どのくらい重い？"
)
_MOST_LETTERS = 20_000
_MOST_PIECES = 4_000  # drawn
_WAIT_MS = 150  # after the last key
_VISIBLE = {"\n": "↵\n", "\t": "→\t"}


class TokenView(QWidget):
    """A field to type in, and below it the same text with every token on a ground of its own."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._counter = Counter()
        self._cut: CutText | None = None
        self._ends: list[int] = []
        self._stale = True
        self._runner = Runner("text into tokens", self)
        self._runner.finished.connect(self._show)
        self._wait = QTimer(self)
        self._wait.setSingleShot(True)
        self._wait.setInterval(_WAIT_MS)
        self._wait.timeout.connect(self._ask)
        self.text = QPlainTextEdit(tr(_EXAMPLE))
        self.text.setAccessibleName(tr("Text to cut into tokens"))
        self.text.setTabChangesFocus(True)
        self.says = LiveText(wrap=True)
        self.pieces = QTextEdit()
        self.pieces.setReadOnly(True)
        self.pieces.setTabChangesFocus(True)
        self.pieces.setAccessibleName(tr("The text, token by token"))
        large = Style.BODY.font()
        large.setPointSizeF(large.pointSizeF() * 1.25)
        self.pieces.setFont(large)
        self.pieces.setTextInteractionFlags(
            Qt.TextInteractionFlag.TextSelectableByMouse
            | Qt.TextInteractionFlag.TextSelectableByKeyboard
        )
        self.pieces.viewport().setMouseTracking(True)
        self.pieces.viewport().installEventFilter(self)
        self.pieces.cursorPositionChanged.connect(self._at_cursor)
        self.one = LiveText(Style.MUTED, wrap=True)
        column = QVBoxLayout(self)
        space = self.fontMetrics().height()
        column.setContentsMargins(space, space, space, space)
        column.setSpacing(space // 2)
        column.addWidget(Text(tr(_WORDS), wrap=True))
        column.addWidget(self.text, 1)
        column.addWidget(self.says)
        column.addWidget(self.pieces, 2)
        column.addWidget(self.one)
        self.text.textChanged.connect(self._wait.start)
        document.model_changed.connect(self._model_changed)

    def showEvent(self, event: QShowEvent) -> None:
        """Another model may have been opened in the meantime."""
        super().showEvent(event)
        if self._stale:
            self._ask()

    def changeEvent(self, event: QEvent) -> None:
        """The grounds are those of the theme."""
        super().changeEvent(event)
        if event.type() is QEvent.Type.PaletteChange and self._cut is not None:
            self._draw(self._cut)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """Say which token is under the pointer."""
        if isinstance(event, QMouseEvent) and event.type() is QEvent.Type.MouseMove:
            place = self.pieces.cursorForPosition(event.position().toPoint()).position()
            self._tell(place)
        return super().eventFilter(watched, event)

    def _model_changed(self) -> None:
        self._stale = True
        self._runner.cancel()
        if self.isVisible():
            self._ask()

    def _ask(self) -> None:
        model = self._document.model
        if model is None:
            return
        self._stale = False
        text = self.text.toPlainText()[:_MOST_LETTERS]
        self._runner.start(self._counter.cutting(model.file.header, text))

    def _show(self, cut: CutText | None) -> None:
        if cut is None:
            return
        self._cut = cut
        self.pieces.setVisible(bool(cut.pieces) or not cut.doubt)
        self.one.setVisible(bool(cut.pieces))
        self.says.set_text(_said(cut, len(self.text.toPlainText())))
        self._draw(cut)

    def _draw(self, cut: CutText) -> None:
        """Neighbours lie on two grounds by turns, and a thin stroke stands between them."""
        c = theme.colors()
        grounds = [_mixed(c.accent, c.base, 0.30), _mixed(c.accent, c.base, 0.12)]
        self._ends = []
        self.pieces.clear()
        cursor = QTextCursor(self.pieces.document())
        cursor.beginEditBlock()
        for number, piece in enumerate(cut.pieces[:_MOST_PIECES]):
            form = QTextCharFormat()
            form.setBackground(grounds[number % 2])
            form.setForeground(QColor(c.text))
            cursor.insertText("".join(_VISIBLE.get(letter, letter) for letter in piece.text), form)
            self._ends.append(cursor.position())
            between = QTextCharFormat()
            between.setForeground(QColor(c.muted))
            cursor.insertText("\N{THIN SPACE}", between)
        cursor.endEditBlock()
        self.pieces.moveCursor(QTextCursor.MoveOperation.Start)

    def _at_cursor(self) -> None:
        self._tell(self.pieces.textCursor().position())

    def _tell(self, place: int) -> None:
        """The token at this place of the text that is shown."""
        number = next((n for n, end in enumerate(self._ends) if place <= end), None)
        if number is None or self._cut is None:
            self.one.set_text("")
            return
        self.one.set_text(_piece_words(number, self._cut.pieces[number]))


def _piece_words(number: int, piece: Piece) -> str:
    return tr(
        "Token {place:,}: number {number:,} of the vocabulary, bytes {data}",
        place=number + 1,
        number=piece.id,
        data=piece.bytes.hex(" "),
    )


def _said(cut: CutText, letters: int) -> str:
    if not cut.pieces and cut.doubt:
        return tr("It cannot be shown how this file cuts text: {doubt}", doubt=tr(cut.doubt))
    count, length = len(cut.pieces), len(cut.text)
    if count:
        words = trn(
            "{count:,} token for {length:,} characters, {each:.1f} characters each.",
            "{count:,} tokens for {length:,} characters, {each:.1f} characters each.",
            count,
            length=length,
            each=length / count,
        )
    else:
        words = tr("{count:,} tokens for {length:,} characters.", count=count, length=length)
    sentences = [words]
    if letters > length:
        sentences.append(tr("Only the first {count:,} characters are cut.", count=_MOST_LETTERS))
    if count > _MOST_PIECES:
        sentences.append(tr("The first {count:,} are drawn.", count=_MOST_PIECES))
    if not cut.exact:
        sentences.append(tr("An engine may cut it differently: {doubt}.", doubt=tr(cut.doubt)))
    return " ".join(sentences)


def _mixed(color: str, ground: str, share: float) -> QColor:
    one, other = QColor(color), QColor(ground)
    rest = 1 - share
    return QColor.fromRgbF(
        one.redF() * share + other.redF() * rest,
        one.greenF() * share + other.greenF() * rest,
        one.blueF() * share + other.blueF() * rest,
    )
