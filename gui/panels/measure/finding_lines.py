"""What is said about a run: a sentence each, with its evidence and what to try."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QVBoxLayout, QWidget

from core.measure.diagnosis import Finding
from core.problems import Severity
from gui.widgets.live_text import LiveText
from gui.widgets.rows import fit_rows
from gui.widgets.severity_icon import SeverityIcon
from gui.widgets.text import Style


class FindingLines(QWidget):
    """Shows these findings in their order; hidden where there are none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.lines: list[_Line] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(self.fontMetrics().height() // 2)
        self.hide()

    def show_findings(self, findings: Sequence[Finding]) -> None:
        """Show these."""
        fit_rows(self._column, self.lines, len(findings), _Line)
        for line, finding in zip(self.lines, findings, strict=True):
            line.show_finding(finding)
        self.setVisible(bool(findings))


class _Line(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.icon = SeverityIcon()
        self.message = LiveText(Style.STRONG, wrap=True)
        self.evidence = LiveText(Style.MUTED, wrap=True)
        self.advice = LiveText(Style.BODY, wrap=True)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        for text in (self.message, self.evidence, self.advice):
            texts.addWidget(text)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(self.fontMetrics().averageCharWidth())
        row.addWidget(self.icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(texts, 1)

    def show_finding(self, finding: Finding) -> None:
        self.icon.set_severity(Severity.WARNING if finding.amber else Severity.NOTE)
        for text, words in (
            (self.message, finding.message),
            (self.evidence, finding.evidence),
            (self.advice, finding.advice),
        ):
            text.set_text(words)
            text.setVisible(bool(words))
        self.setAccessibleName(finding.message)
        self.setAccessibleDescription(f"{finding.evidence} {finding.advice}".strip())
