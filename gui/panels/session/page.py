"""The page: what a session is like on the left, what comes of it on the right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QDragEnterEvent, QDropEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QFileDialog,
    QMenu,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from core.gguf import display
from core.language import mark, tr
from core.plan.choice import Engine
from core.plan.session import (
    PRESETS,
    Change,
    Event,
    Session,
    SessionChoice,
    headline,
    plan_session,
    range_words,
    reuse_words,
)
from core.plan.session.rates import disk_of
from core.plan.session.storing import choice_from_json, choice_to_json
from core.problems import Problem, Severity
from core.units import format_tokens
from gui.document import Document
from gui.panels.session.controls import TOKEN_FIELDS, SessionControls, field_name
from gui.panels.session.facts import SessionFacts
from gui.panels.session.request import RequestView
from gui.panels.session.token_field import text_file
from gui.panels.session.turn_table import TurnSheet, bars_of
from gui.tables.view import SheetView
from gui.widgets.dropping import accept_copy
from gui.widgets.live_text import LiveText
from gui.widgets.note_lines import NoteLines
from gui.widgets.pictures import Picture
from gui.widgets.scrolled import scrolled
from gui.widgets.session_picture import OTHER, WAIT, WRITE, SessionPicture
from gui.widgets.text import Style
from gui.widgets.tone_legend import Swatch, ToneLegend
from gui.workers.counting import Counter, StartFound, TextCount
from gui.workers.runner import Runner

DEFAULT = PRESETS[0].choice
_CONTEXT_STEP = 1024  # tokens
_PICTURE = 55  # characters; with less room beside the controls the picture stands below them
_LONGER = 9  # letters that the sliders get where there is room
_ROWS = 8  # of the table
_WHOLE = 1000  # of the room that is left, as against nothing below the table
_ANY = 16_777_215  # pixels: Qt's own word for no limit
_LEGEND: tuple[tuple[Swatch, str], ...] = (
    (WAIT, mark("waiting for the first token")),
    (WRITE, mark("writing")),
    (OTHER, mark("compacting and side requests")),
    ("dashed", mark("without reuse of what was read")),
    ("line", mark("context in use")),
)


class SessionPage(QWidget):
    """Plans a session on the document's plan, at every change of either.

    ``stored`` is what `keep` was given the last time; ``keep`` takes the choice as text.
    """

    def __init__(
        self,
        document: Document,
        stored: str = "",
        keep: Callable[[str], None] = lambda text: None,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._document = document
        self._keep = keep
        self._stale = True
        self._session: Session | None = None
        self._wanted = 0
        self._counter = Counter()
        self.runner = Runner("count", self)
        self.controls = SessionControls(choice_from_json(stored, DEFAULT) if stored else DEFAULT)
        self.runner.finished.connect(self._counted)
        self.runner.ended.connect(lambda: self.controls.set_counting(False))
        self.controls.changed.connect(self._choose)
        self.controls.count_asked.connect(self.count)
        self.controls.text_asked.connect(self._ask_for_text)
        self.controls.compare_asked.connect(self._ask_for_two)
        self.counted = NoteLines()
        self.count_menu = QMenu(self)
        self.headline = LiveText(Style.HEADLINE, wrap=True)
        self.reuse = LiveText(wrap=True)
        self.facts = SessionFacts()
        self.picture = SessionPicture()
        self.picture.chosen.connect(self.show_turn)
        self.legend = ToneLegend([(tone, tr(words)) for tone, words in _LEGEND])
        Picture(self.picture, self.legend)
        self.request = RequestView()
        self.notes = NoteLines()
        self.reserve = QPushButton()
        self.reserve.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.reserve.clicked.connect(self._reserve)
        self.beyond = LiveText(Style.MUTED, wrap=True)
        self.sheet = TurnSheet(self)
        self.table = SheetView(self.sheet, "turn", sortable=True)
        self.table.setAccessibleName(tr("Turns"))
        self.table.row_changed.connect(self._row_changed)
        self._lay_out()
        document.plan_changed.connect(self._plan_changed)
        document.units_changed.connect(self._plan_changed)

    @property
    def session(self) -> Session | None:
        """What is shown."""
        return self._session

    def count(self, field: str, path: Path) -> None:
        """Count the tokens of a text file for a field of the choice."""
        model = self._document.model
        if model is not None:
            self.controls.set_counting(True)
            self.runner.start(self._counter.counting(model.file.header, path, field))

    def showEvent(self, event: QShowEvent) -> None:
        """The plan may have changed in the meantime."""
        super().showEvent(event)
        self.setAcceptDrops(True)  # of texts; the window takes all others
        self._refresh()

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        """A text may be dropped anywhere here."""
        if text_file(event) is not None:
            accept_copy(event)
        else:
            event.ignore()

    def dropEvent(self, event: QDropEvent) -> None:
        """Ask which number the text is counted for."""
        path = text_file(event)
        if path is None:
            event.ignore()
            return
        accept_copy(event)
        self.count_menu.clear()
        for name in TOKEN_FIELDS:
            words = tr("Count it for {field}", field=field_name(name))
            action = self.count_menu.addAction(words)
            action.triggered.connect(lambda _=False, n=name: self.count(n, path))
        self.count_menu.popup(self.mapToGlobal(event.position().toPoint()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Controls beside the picture where there is room for both."""
        super().resizeEvent(event)
        room = self.width() - self._controls_width()
        narrow = room < _PICTURE * self.fontMetrics().averageCharWidth()
        way = QBoxLayout.Direction.TopToBottom if narrow else QBoxLayout.Direction.LeftToRight
        if self._sides.direction() != way:
            self._sides.setDirection(way)
        self._place(narrow)

    def _plan_changed(self) -> None:
        self._stale = True
        if self.isVisible():
            self._refresh()

    def _choose(self, choice: SessionChoice) -> None:
        self._keep(choice_to_json(choice))
        self._stale = True
        self._refresh()

    def _refresh(self) -> None:
        plan = self._document.plan
        if not self._stale or plan is None:
            return
        self._stale = False
        self.controls.show_choice(self.controls.choice, Engine(plan.settings.engine))
        self.controls.show_disk(disk_of(plan, replace(self.controls.choice, disk_rate=None)))
        made = self._session = plan_session(plan, self.controls.choice)
        self.headline.set_text(headline(made))
        self.reuse.set_text(" ".join(w for w in (range_words(made), reuse_words(made)) if w))
        self.reuse.setVisible(bool(self.reuse.shown))
        self.picture.set_bars(bars_of(made))
        for widget in (self.picture, self.legend, self.table):
            widget.setVisible(bool(made.turns))
        self.facts.show_session(made, self._document.units)
        self.notes.set_problems(made.problems)
        self._offer_context(made)
        self.sheet.show(made)
        self.show_turn(self.picture.current)

    def _offer_context(self, session: Session) -> None:
        """A context for all turns, where they do not fit and the model can hold them."""
        plan = self._document.plan
        assert plan is not None
        tokens = -(-(session.needed.value or 0) // _CONTEXT_STEP) * _CONTEXT_STEP
        trained = plan.model.shape.context_length
        ended = session.full_turn or session.pool_turn or session.first(Event.TRUNCATION)
        wanted = bool(ended) and tokens > plan.settings.requested_context
        beyond = trained is not None and tokens > trained
        self._wanted = tokens
        self.reserve.setText(tr("Reserve {count} tokens", count=format_tokens(tokens)))
        self.reserve.setVisible(wanted and not beyond)
        self.beyond.setVisible(wanted and beyond)
        if wanted and beyond:
            self.beyond.set_text(
                tr(
                    "All turns would need {count} tokens, more than the {trained} that the model "
                    "was trained for: no context that can be reserved holds them.",
                    count=format_tokens(tokens),
                    trained=format_tokens(trained or 0),
                )
            )

    def _reserve(self) -> None:
        self._document.choose(context=self._wanted, depth=None)

    def show_turn(self, place: int) -> None:
        """Show one turn, counted from 0, in the picture, the table and as a request."""
        self.picture.set_current(place)
        plan = self._document.plan
        if plan is None or self._session is None:
            return
        self.request.show_turn(plan, self._session, place)
        position = self.sheet.position(place)
        if position is not None and self.table.currentIndex().row() != position:
            self.table.setCurrentIndex(self.sheet.index(position, 0))

    def _row_changed(self, row: int) -> None:
        if row >= 0 and row != self.picture.current:
            self.show_turn(row)

    # Counting.

    def _ask_for_text(self, field: str) -> None:
        name, _ = QFileDialog.getOpenFileName(self, tr("Count the tokens of a text"))
        if name:
            self.count(field, Path(name))

    def compare(self, first: Path, second: Path) -> None:
        """Find the first token in which the second request differs from the first."""
        model = self._document.model
        if model is not None:
            self.controls.set_counting(True)
            self.runner.start(self._counter.comparing(model.file.header, first, second))

    def _ask_for_two(self) -> None:
        first, _ = QFileDialog.getOpenFileName(self, tr("The earlier request, as text"))
        second = ""
        if first:
            second, _ = QFileDialog.getOpenFileName(self, tr("The later one"))
        if second:
            self.compare(Path(first), Path(second))

    def _compared(self, answer: StartFound) -> None:
        if answer.start is None:
            self.counted.set_problems([answer.problem] if answer.problem else [])
            return
        start = answer.start
        facts = {
            "common": format_tokens(start.tokens),
            "again": format_tokens(start.second - start.tokens),
            "whole": format_tokens(start.second),
        }
        if answer.differs:
            words = tr(
                "The two requests have their first {common} tokens in common; {again} of {whole} "
                "are read again, from “{place}” on.",
                place=display(answer.differs),
                **facts,
            )
        else:
            words = tr(
                "The two requests have their first {common} tokens in common; {again} of {whole} "
                "are read again.",
                **facts,
            )
        self.counted.set_problems([Problem("compared", words, Severity.NOTE)])
        # The end of the first may join with what follows it: that is no change.
        if start.tokens >= start.first - 1:
            self.controls.take(change=Change.NOTHING)
        else:
            self.controls.take(change=Change.OWN, change_at=start.tokens)

    def _counted(self, answer: TextCount | StartFound | None) -> None:
        if answer is None:
            return
        if isinstance(answer, StartFound):
            self._compared(answer)
            return
        if answer.problem is not None or answer.counted is None:
            self.counted.set_problems([answer.problem] if answer.problem else [])
            return
        number = answer.counted.tokens
        facts = {
            "file": display(answer.path.name),
            "count": format_tokens(number.value or 0),
            "field": field_name(answer.field),
        }
        if answer.counted.exact:
            words = tr("{file} has {count} tokens; that is “{field}” now.", **facts)
        else:
            words = tr("{file} has about {count} tokens; that is “{field}” now.", **facts)
        self.counted.set_problems(
            [
                Problem(
                    "counted",
                    words,
                    Severity.NOTE,
                    tr(number.note) or tr("Counted with the model's own vocabulary."),
                )
            ]
        )
        self.controls.take(**{answer.field: number.value or 0})

    # How it is put together.

    def _lay_out(self) -> None:
        line = self.fontMetrics().height()
        left = self._controls = QWidget()
        column = QVBoxLayout(left)
        column.setContentsMargins(line // 2, line // 2, 0, line // 2)
        column.addWidget(self.controls)
        column.insertWidget(0, self.counted)
        right = QWidget()
        column = QVBoxLayout(right)
        column.setContentsMargins(line // 2, line // 2, line // 2, line // 2)
        column.setSpacing(line // 2)
        for widget in (
            self.headline,
            self.reuse,
            self.facts,
            self.picture,
            self.legend,
            self.notes,
            self.reserve,
            self.beyond,
            self.request,
        ):
            column.addWidget(widget)
        column.addWidget(self.table, _WHOLE)
        column.addStretch(1)
        row = self.table.verticalHeader().defaultSectionSize()
        head = self.table.horizontalHeader().sizeHint().height()
        self.table.setMinimumHeight(head + _ROWS * row + 2 * self.table.frameWidth())
        self._left, self._right = _scrolled(left, tr("Session")), _scrolled(right, tr("Turns"))
        self._sides = QBoxLayout(QBoxLayout.Direction.LeftToRight, self)
        self._sides.setContentsMargins(0, 0, 0, 0)
        self._sides.addWidget(self._left)
        self._sides.addWidget(self._right, 1)
        self._place(False)

    def _controls_width(self) -> int:
        """What the controls need, a scroll bar beside them."""
        bar = self._left.verticalScrollBar().sizeHint().width()
        return self._controls.minimumSizeHint().width() + bar

    def _place(self, narrow: bool) -> None:
        wide = self._controls_width()
        letter = self.fontMetrics().averageCharWidth()
        # The sliders are the longer the better, as long as the picture has its room.
        spare = (self.width() - wide - _PICTURE * letter) // 2
        wide += max(0, min(spare, _LONGER * letter))
        self._left.setMaximumWidth(_ANY if narrow else wide)
        self._left.setMinimumWidth(0 if narrow else wide)
        self._left.setMaximumHeight(self.height() * 2 // 5 if narrow else _ANY)


def _scrolled(widget: QWidget, name: str) -> QScrollArea:
    area = scrolled(widget, name)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    return area
