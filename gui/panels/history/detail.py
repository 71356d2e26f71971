"""One run of the history with its name and notes, or two of them held against each other."""

from __future__ import annotations

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import (
    QGridLayout,
    QLineEdit,
    QPlainTextEdit,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from core.language import tr, trc
from core.machine.machine import spoken_name
from core.measure.history import Stored
from core.measure.history.compare import Comparison
from core.units import UnitSystem
from gui.panels.measure.run_view import RunView
from gui.tables.stored_runs import DifferenceSheet, local_time
from gui.tables.view import SheetView
from gui.widgets.elided_text import ElidedText
from gui.widgets.live_text import LiveText
from gui.widgets.text import Style, Text

# Notes are kept so long after the last letter.
_KEEP_MS = 600
_NOTES_LINES = 4


class RunDetail(QWidget):
    """``renamed`` and ``noted`` carry a run's id and its new words."""

    renamed = Signal(str, str)
    noted = Signal(str, str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._stored: Stored | None = None
        self.title = QLineEdit()
        self.title.setAccessibleName(tr("Name of the run"))
        self.title.setToolTip(tr("A name of your own; empty takes the model's"))
        self.title.editingFinished.connect(self._rename)
        self.facts = LiveText(Style.MUTED, wrap=True)
        self.notes = QPlainTextEdit()
        self.notes.setAccessibleName(tr("Notes"))
        self.notes.setPlaceholderText(tr("Notes: what was different, what to remember"))
        self.notes.setTabChangesFocus(True)
        line = self.fontMetrics().height()
        self.notes.setFixedHeight(_NOTES_LINES * line)
        self.notes.textChanged.connect(self._typed)
        self.view = RunView()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_KEEP_MS)
        self._timer.timeout.connect(self.keep_notes)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(line // 2)
        column.addWidget(self.title)
        column.addWidget(self.facts)
        column.addWidget(self.view, 1)
        column.addWidget(Text(tr("NOTES"), Style.HEADING))
        column.addWidget(self.notes)

    @property
    def stored(self) -> Stored | None:
        """What is shown."""
        return self._stored

    def show_stored(self, stored: Stored | None, units: UnitSystem) -> None:
        """Show this run. Notes that are being typed into the same run are left alone."""
        same = (
            stored is not None and self._stored is not None and stored.run.id == self._stored.run.id
        )
        if not same:
            self.keep_notes()
        self._stored = stored
        if stored is None:
            self.view.show_run(None, None, units)
            return
        self.title.setPlaceholderText(Stored(stored.run, stored.plan).name)
        if not self.title.hasFocus():
            self.title.setText(stored.title)
        self.facts.set_text(facts_of(stored))
        if not (same and self.notes.hasFocus()):
            self.notes.blockSignals(True)
            self.notes.setPlainText(stored.notes)
            self.notes.blockSignals(False)
        self.view.show_run(stored.run, stored.plan, units)

    def keep_notes(self) -> None:
        """Keep what was typed, now."""
        if self._timer.isActive():
            self._timer.stop()
            if self._stored is not None:
                self.noted.emit(self._stored.run.id, self.notes.toPlainText())

    def _typed(self) -> None:
        if self._stored is not None:
            self._timer.start()

    def _rename(self) -> None:
        stored = self._stored
        if stored is not None and self.title.text().strip() != stored.title:
            self.renamed.emit(stored.run.id, self.title.text())


class ComparisonView(QWidget):
    """Two runs: figures with their differences, and what else differs."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.heading = LiveText(Style.HEADLINE, wrap=True)
        self.first = ElidedText(style=Style.BODY)
        self.second = ElidedText(style=Style.BODY)
        self.sheet = DifferenceSheet(self)
        self.table = SheetView(self.sheet, "figure", sortable=False)
        self.table.setAccessibleName(tr("Differences"))
        self.table.set_placeholder(tr("They have no depth in common."))
        self.table.setMinimumHeight(10 * self.fontMetrics().height())
        self.setup = LiveText(Style.BODY, wrap=True)
        self._setup_head = Text(tr("WHAT ELSE DIFFERS"), Style.HEADING)
        names = QGridLayout()
        names.setColumnStretch(1, 1)
        both = (
            (trc("one of two runs", "first"), self.first),
            (trc("one of two runs", "second"), self.second),
        )
        for row, (word, name) in enumerate(both):
            names.addWidget(Text(word, Style.MUTED), row, 0)
            names.addWidget(name, row, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(self.fontMetrics().height() // 2)
        column.addWidget(self.heading)
        column.addLayout(names)
        column.addWidget(self.table, 1)
        column.addWidget(self._setup_head)
        column.addWidget(self.setup)

    def show_working(self, first: Stored, second: Stored) -> None:
        """It is being worked out."""
        self.heading.set_text(tr("Comparing…"))
        self._show_names(first, second)
        self.sheet.show(None)
        self.setup.set_text("")

    def show_comparison(self, comparison: Comparison) -> None:
        """Show this."""
        self.heading.set_text(comparison.summary)
        self._show_names(comparison.first, comparison.second)
        self.sheet.show(comparison)
        self.table.share_room()
        lines = [f"{name}: {a} → {b}" for name, a, b in comparison.setup]
        self.setup.set_text("\n".join(lines) or tr("Nothing that is known."))

    def _show_names(self, first: Stored, second: Stored) -> None:
        for label, entry in ((self.first, first), (self.second, second)):
            label.set_text(f"{entry.name}, {local_time(entry.run.started)}")


class DetailStack(QStackedWidget):
    """A hint, one run, or two."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.hint = LiveText(Style.MUTED, wrap=True)
        self.detail = RunDetail()
        self.comparison = ComparisonView()
        for page in (self.hint, self.detail, self.comparison):
            self.addWidget(page)


def facts_of(stored: Stored) -> str:
    """What it was made with, in a line or two."""
    run, target, plan = stored.run, stored.run.target, stored.plan
    k = target.cache_k or (plan.settings.get("cache_k") if plan else "")
    v = target.cache_v or (plan.settings.get("cache_v") if plan else "")
    words = [
        local_time(run.started),
        f"{target.kind.value} {target.version}".strip(),
        spoken_name(plan.machine) if plan is not None else "",
        tr("context {tokens:,}", tokens=target.context) if target.context else "",
        tr("cache {k}/{v}", k=k, v=v) if k and v else "",
        tr("{runs} runs of {tokens} tokens", runs=run.plan.runs, tokens=run.plan.tokens),
    ]
    return " · ".join(word for word in words if word)
