"""A run, finished or growing: its headline, its pictures, its table, and what is said about it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QHBoxLayout, QTabWidget, QVBoxLayout, QWidget

from core.language import mark, tr, trc
from core.measure.checks import said
from core.measure.diagnosis import diagnose
from core.measure.history import PlanSnapshot
from core.measure.run import Cell, Run, RunStatus
from core.provenance import Input, Number, Rank, Source, Unit
from core.units import UnitSystem, format_tokens
from gui.panels.measure import charts
from gui.panels.measure.finding_lines import FindingLines
from gui.tables.run_cells import CellSheet
from gui.tables.view import SheetView
from gui.widgets.chart import ChartView
from gui.widgets.fact_label import FactLabel
from gui.widgets.live_text import LiveText
from gui.widgets.note_lines import NoteLines
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap

_NOTHING = mark("Measured points appear here, over the ceiling of the plan.")
# Rows that the table has room for, whatever it holds.
_ROWS = (3, 9)


class RunView(QWidget):
    """Draws a `Run` over the plan of its moment."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._run: Run | None = None
        self._plan: PlanSnapshot | None = None
        self._units = UnitSystem.GIB
        self.rate = FactLabel(tr("Decode speed"), style=Style.HEADLINE)
        self.share = FactLabel(tr("Share of the ceiling"), style=Style.HEADLINE)
        self.bandwidth = FactLabel(tr("Bytes read per second"), style=Style.HEADLINE)
        self.where = LiveText(Style.MUTED)
        self._head = Wrap()
        self._head.set_cells(
            [
                self.rate,
                _together(self.share, Text(tr("of the ceiling"), Style.MUTED)),
                _together(
                    self.bandwidth, Text(trc("bytes that are read per second", "read"), Style.MUTED)
                ),
                self.where,
            ]
        )
        self.decode = ChartView(tr("Decode speed by depth"))
        self.prefill = ChartView(tr("Prefill speed by prompt"))
        self.first = ChartView(tr("Time to first token by prompt"))
        self.gaps = ChartView(tr("Gaps between tokens"))
        self.cell = QComboBox()
        self.cell.setAccessibleName(tr("Depth whose gaps are shown"))
        self.cell.currentIndexChanged.connect(self._show_gaps)
        gaps = QWidget()
        below = QVBoxLayout(gaps)
        choice = QHBoxLayout()
        choice.addWidget(Text(tr("at depth"), Style.MUTED))
        choice.addWidget(self.cell)
        choice.addStretch(1)
        below.addLayout(choice)
        below.addWidget(self.gaps, 1)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.setAccessibleName(tr("Pictures of the run"))
        for name, page in (
            (tr("Decode"), self.decode),
            (tr("Prefill"), self.prefill),
            (tr("First token"), self.first),
            (tr("Gaps"), gaps),
        ):
            self.tabs.addTab(page, name)
        line = self.fontMetrics().height()
        self.tabs.setMinimumHeight(16 * line)
        self.sheet = CellSheet(self)
        self.table = SheetView(self.sheet, "depth")
        self.table.setAccessibleName(tr("Measured depths"))
        self.table.set_placeholder(tr("One row for each depth."))
        self.problems = NoteLines()
        self.findings = FindingLines()
        self._what = Text(tr("WHAT IT SAYS"), Style.HEADING)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(line // 2)
        column.addWidget(self._head)
        column.addWidget(self.tabs, 1)
        column.addWidget(self.table)
        column.addWidget(self.problems)
        column.addWidget(self._what)
        column.addWidget(self.findings)
        self.show_run(None, None)

    @property
    def run(self) -> Run | None:
        """What is shown."""
        return self._run

    @property
    def plan(self) -> PlanSnapshot | None:
        """The plan that it is drawn over."""
        return self._plan

    def show_run(
        self, run: Run | None, plan: PlanSnapshot | None, units: UnitSystem = UnitSystem.GIB
    ) -> None:
        """Show this run, or that there is none."""
        self._run, self._plan, self._units = run, plan, units
        self.sheet.show(run, plan)
        self.table.share_room()
        self._fit_table()
        self._show_head()
        self._show_charts()
        self._fill_cells()
        over = run is not None and run.status is not RunStatus.RUNNING
        findings = diagnose(run, plan) if run is not None and over else ()
        self.findings.show_findings(findings)
        self._what.setVisible(bool(findings))
        self.problems.set_problems(said(run) if run is not None else ())

    def _fit_table(self) -> None:
        """As high as its rows, so that what is said about them is in sight."""
        least, most = _ROWS
        rows = min(max(len(self.sheet.rows), least), most)
        header = self.table.horizontalHeader()
        wide = header.length() > self.table.viewport().width()
        bar = self.table.horizontalScrollBar().sizeHint().height() if wide else 0
        row = self.table.verticalHeader().defaultSectionSize()
        height = header.sizeHint().height() + rows * row + bar + 2 * self.table.frameWidth()
        self.table.setFixedHeight(height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """A table that no longer fits needs room for its scroll bar."""
        super().resizeEvent(event)
        self._fit_table()

    def show_preview(
        self, plan: PlanSnapshot | None, depths: Sequence[int], units: UnitSystem
    ) -> None:
        """Nothing was measured yet: the curve that points will be drawn over."""
        self.show_run(None, plan, units)
        if plan is not None:
            chart = charts.preview_chart(plan, depths)
            if chart.series:
                self.decode.set_chart(chart)

    def _show_head(self) -> None:
        run, plan = self._run, self._plan
        points = charts.points_of(run, plan) if run is not None else ()
        self._head.setVisible(bool(points))
        if not points:
            return
        first = points[0]
        source = Source(
            Rank.MEASURED, mark("median of the runs"), run.started[:10] if run is not None else ""
        )
        rate = Number(
            first.tok_s.median,
            Unit.TOKENS_PER_SECOND,
            source,
            mark("(tokens - 1) / time of writing"),
            (
                Input(mark("depth"), round(first.depth), Unit.TOKENS),
                Input(mark("runs"), first.tok_s.n),
                Input(mark("slowest"), first.tok_s.least, Unit.TOKENS_PER_SECOND),
                Input(mark("fastest"), first.tok_s.most, Unit.TOKENS_PER_SECOND),
            ),
        )
        self.rate.set_number(rate, self._units)
        figures = first.figures
        ceiling = figures.ceiling if figures is not None else None
        note = "" if ceiling else mark("The ceiling of what was measured is not known.")
        share = Number(
            first.share,
            Unit.SHARE,
            source,
            mark("passes per second / ceiling"),
            (
                Input(mark("passes per second"), first.steps.median),
                Input(mark("ceiling"), ceiling, Unit.TOKENS_PER_SECOND),
            ),
            note,
        )
        self.share.set_number(share, self._units)
        bandwidth = Number(
            first.bandwidth,
            Unit.BYTES_PER_SECOND,
            source,
            mark("passes per second x bytes per token"),
            (
                Input(mark("passes per second"), first.steps.median),
                Input(mark("bytes per token"), figures.bytes if figures else None, Unit.BYTES),
            ),
            note,
        )
        self.bandwidth.set_number(bandwidth, self._units)
        self.where.set_text(tr("at {depth:,.0f} tokens", depth=first.depth))

    def _show_charts(self) -> None:
        run, plan = self._run, self._plan
        if run is None:
            for view in (self.decode, self.prefill, self.first, self.gaps):
                view.set_words(tr(_NOTHING))
            return
        self.decode.set_chart(charts.decode_chart(run, plan))
        for view, chart in (
            (self.prefill, charts.prefill_chart(run, plan)),
            (self.first, charts.first_token_chart(run, plan)),
        ):
            if chart.series:
                view.set_chart(chart)
            else:
                view.set_words(tr("No prompt was read yet."))

    def _fill_cells(self) -> None:
        cells = [c for c in self._run.cells if c.measured] if self._run is not None else []
        names = [_cell_name(cell) for cell in cells]
        if names != [self.cell.itemText(n) for n in range(self.cell.count())]:
            chosen = self.cell.currentText()
            self.cell.blockSignals(True)
            self.cell.clear()
            self.cell.addItems(names)
            self.cell.setCurrentIndex(max(self.cell.findText(chosen), 0) if names else -1)
            self.cell.blockSignals(False)
        self._show_gaps()

    def _show_gaps(self) -> None:
        cells = [c for c in self._run.cells if c.measured] if self._run is not None else []
        at = self.cell.currentIndex()
        if not 0 <= at < len(cells):
            self.gaps.set_words(tr("The time between tokens appears here."))
            return
        self.gaps.set_chart(charts.gaps_chart(cells[at]))


def _cell_name(cell: Cell) -> str:
    depth = format_tokens(cell.depth)
    if cell.concurrency == 1:
        return depth
    return tr("{depth}, {count} at once", depth=depth, count=cell.concurrency)


def _together(*widgets: QWidget) -> QWidget:
    group = QWidget()
    row = QHBoxLayout(group)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(Style.HEADLINE.metrics().horizontalAdvance(" "))
    for widget in widgets:
        row.addWidget(widget)
    return group
