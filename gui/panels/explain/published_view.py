"""How fast others were: published runs as a picture and as a list, with one's own among them."""

from __future__ import annotations

from collections import Counter
from math import exp, log

from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from core.explain.efficiency import Share, expected_line, expected_share, expected_words
from core.explain.entries import Entry, own_entries, published_entries
from core.explain.published import BACKENDS, peer_words, shown_words, summary
from core.language import mark, tr
from core.units import UnitSystem
from gui.document import Document
from gui.panels.explain.published_filters import PublishedFilters
from gui.tables.filter_edit import FilterEdit
from gui.tables.published import show_entries
from gui.tables.sheet import Sheet
from gui.tables.view import SheetView
from gui.widgets.live_text import LiveText
from gui.widgets.menu_button import MenuButton
from gui.widgets.share_plot import Level, ShareDot, SharePlot
from gui.widgets.text import Style, Text

_WORDS = mark(
    "Each mark is a run that somebody published: how many bytes one token read, and which share of "
    "the memory's peak bandwidth was reached. Nobody reaches all of it; what is expected of a plan "
    "is fitted on these runs, for processors also on bandwidths of LocalScore.ai, which are not "
    "drawn."
)
_HINT = mark(
    "Point at a mark, or walk through them with the arrow keys: Enter, or a click, copies the "
    "address of its source."
)
_NOBODY = mark("No run has these properties. Show more kinds above.")
_STEP = {UnitSystem.GIB: 2.0**30, UnitSystem.GB: 1e9}
_PLACES = {backend: n for n, backend in enumerate(BACKENDS)}
_POINTS = 64  # of the line


class PublishedView(QWidget):
    """Follows the document while it is in sight."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._stale = True
        self._asked: object = None
        self._shown: dict[str, Entry] = {}
        self._build()
        self._connect(document)

    # How it is put together.

    def _build(self) -> None:
        self._summary = ""
        self.says = LiveText(Style.STRONG, wrap=True)
        self.says_shown = LiveText(wrap=True)
        self.filters = PublishedFilters(self)
        self.plot = SharePlot(tr("Published runs by bytes per token and share of the peak"))
        self.plot.set_words(tr(_NOBODY))
        self.sheet = Sheet(self)
        self.table = SheetView(self.sheet, "run")
        self.table.setAccessibleName(tr("Published runs"))
        self.table.set_placeholder(tr(_NOBODY))
        self.list = QPushButton(tr("&List"))
        self.list.setCheckable(True)
        self.list.setToolTip(tr("The same runs as a table, or as a picture again"))
        self.search = FilterEdit(tr("Search runs"))
        self.search.setMinimumWidth(22 * self.fontMetrics().averageCharWidth())
        self.copy_button = MenuButton(tr("Copy"), tr("Runs, as text"), self.table.add_copy_actions)
        self.one = LiveText(Style.MUTED, wrap=True)
        self.one.set_text(tr(_HINT))
        self.views = QStackedWidget()
        self.views.addWidget(self.plot)
        self.views.addWidget(self.table)
        row = QHBoxLayout()
        row.addWidget(self.filters.legend, 1)
        row.addWidget(self.search)
        row.addWidget(self.copy_button)
        row.addWidget(self.list)
        column = QVBoxLayout(self)
        space = self.fontMetrics().height()
        column.setContentsMargins(space, space, space, space)
        column.setSpacing(space // 2)
        column.addWidget(Text(tr(_WORDS), wrap=True))
        column.addWidget(self.says)
        column.addWidget(self.says_shown)
        column.addWidget(self.filters.boxes)
        column.addLayout(row)
        column.addWidget(self.views, 1)
        column.addWidget(self.one)
        self._turn(False)

    def _connect(self, document: Document) -> None:
        self.filters.changed.connect(self._show)
        self.plot.taken.connect(self._copy_source)
        self.plot.pointed.connect(self._tell)
        self.list.toggled.connect(self._turn)
        self.search.textChanged.connect(self.sheet.set_filter)
        self.search.left.connect(self.table.enter)
        self.table.typed.connect(self.search.take)
        self.table.opened.connect(self._copy_row)
        self.table.row_changed.connect(self._tell_row)
        self.table.copied.connect(self.one.set_text)
        for signal in (document.plan_changed, document.machine_changed, document.units_changed):
            signal.connect(self._changed)

    @property
    def shown(self) -> tuple[Entry, ...]:
        """The runs that the filters let through."""
        return tuple(self._shown.values())

    def showEvent(self, event: QShowEvent) -> None:
        """What changed while it was out of sight is shown now."""
        super().showEvent(event)
        if self._stale:
            self._follow()

    # What the document says.

    def _changed(self) -> None:
        self._stale = True
        if self.isVisible():
            self._follow()

    def _follow(self) -> None:
        self._stale = False
        self.filters.blockSignals(True)
        self.filters.set_machine(self._document.machine)
        self.filters.blockSignals(False)
        self._show()

    def _show(self) -> None:
        """Dots and rows only where they are others than before; a slider moves the plan alone."""
        wanted, units = self.filters.wanted(), self._document.units
        own = own_entries(self._document.this_computer)
        asked = (wanted, units, own, self.filters.own.isChecked())
        if asked != self._asked:
            self._asked = asked
            self._choose(own)
        self._show_plan()

    def _choose(self, own: tuple[Entry, ...]) -> None:
        wanted, every = self.filters.wanted(), self.filters.wanted(by_backend=False)
        entries = [e for e in published_entries() if e.run is not None and wanted.takes(e.run)]
        self._summary = shown_words(summary(e.run for e in entries if e.run is not None))
        runs = (e.run for e in published_entries() if e.run is not None)
        self.filters.count(Counter(r.backend for r in runs if every.takes(r)), len(own))
        if self.filters.own.isChecked():
            entries = [*own, *entries]
        self._shown = {entry.id: entry for entry in entries}
        units = self._document.units
        step = _STEP[units]
        sizes = [entry.bytes / step for entry in (*published_entries(), *own)]
        self.plot.set_dots(
            [_dot(entry, step) for entry in entries], units.value, (min(sizes), max(sizes))
        )
        show_entries(self.sheet, entries, units)
        self.table.share_room()
        self.says_shown.set_text(self._summary)

    def _show_plan(self) -> None:
        plan, step = self._document.plan, _STEP[self._document.units]
        here = expected_share(plan) if plan is not None else None
        line: tuple[Share, ...] = ()
        if plan is not None and here is not None:
            sizes = [entry.bytes for entry in published_entries()]
            low, high = min(*sizes, here.bytes) / 2, max(*sizes, here.bytes) * 2
            steps = [log(low) + n * log(high / low) / _POINTS for n in range(_POINTS + 1)]
            line = expected_line(plan, [exp(at) for at in steps])
        self.plot.set_expected(
            [_level(share, step) for share in line], None if here is None else _level(here, step)
        )
        words = f"{peer_words(plan)}; {expected_words(plan)}" if plan is not None else ""
        self.says.set_text(words)
        self.says.setVisible(bool(words))
        self.plot.set_summary(f"{words} {self._summary}".strip())

    # What the user does.

    def _turn(self, listed: bool) -> None:
        """The list in place of the picture, or back."""
        self.views.setCurrentIndex(int(listed))
        for widget in (self.search, self.copy_button):
            widget.setVisible(listed)
        self.list.setText(tr("&Picture") if listed else tr("&List"))
        self.one.set_text("" if listed else tr(_HINT))

    def _copy_source(self, id: str) -> None:
        entry = self._shown.get(id)
        if entry is None:
            return
        if entry.run is None:
            self.one.set_text(tr("That is a run of your own: it is on the page History."))
            return
        text = entry.address or entry.source
        QGuiApplication.clipboard().setText(text)
        self.one.set_text(
            tr("Address copied: {text}", text=text)
            if entry.address
            else tr("Source, which names no address, copied: {text}", text=text)
        )

    def _copy_row(self) -> None:
        row = self.table.current_row()
        if row >= 0:
            self._copy_source(tuple(self._shown)[row])

    def _tell(self, id: str) -> None:
        entry = self._shown.get(id)
        self.one.set_text(entry.told.replace("\n", "; ") if entry is not None else tr(_HINT))

    def _tell_row(self, row: int) -> None:
        if row >= 0 and self.list.isChecked():
            self._tell(tuple(self._shown)[row])


def _dot(entry: Entry, step: float) -> ShareDot:
    group = -1 if entry.run is None else _PLACES[entry.run.backend]
    return ShareDot(
        entry.id, entry.bytes / step, 100 * entry.share, group, entry.told, bool(entry.remark)
    )


def _level(share: Share, step: float) -> Level:
    return Level(share.bytes / step, 100 * share.low, 100 * share.mid, 100 * share.high)
