"""The building blocks of the overview: titled sections, lists of facts, notes."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QVBoxLayout, QWidget

from core.gguf import display
from core.language import tr
from core.problems import Problem
from core.provenance import Number
from core.units import UnitSystem
from gui import theme
from gui.panels.overview.facts import Fact
from gui.widgets.banner import details, place
from gui.widgets.breakable import breakable
from gui.widgets.fact_label import FactLabel
from gui.widgets.icon_button import IconButton
from gui.widgets.live_text import LiveText
from gui.widgets.severity_icon import SeverityIcon
from gui.widgets.text import Style, Text


class Section(QWidget):
    """A heading with a figure of its own on the right, a line of words, and what stands below."""

    def __init__(self, title: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._title = title
        self.total = FactLabel(title, style=Style.STRONG, align=Qt.AlignmentFlag.AlignRight)
        self.total.hide()
        self._words = LiveText(Style.MUTED, wrap=True)
        self._words.hide()
        head = QHBoxLayout()
        head.addWidget(Text(title.upper(), Style.HEADING), 1)
        head.addWidget(self.total)
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        self._column.addLayout(head)
        self._column.addWidget(self._words)

    def add(self, widget: QWidget) -> None:
        """Put a widget at the end of the section."""
        self._column.addWidget(widget)

    def set_words(self, text: str) -> None:
        """A sentence under the heading; none for ""."""
        self._words.set_text(text)
        if self._words.isHidden() is bool(text):
            self._words.setVisible(bool(text))

    def set_total(self, number: Number[int], units: UnitSystem, text: str) -> None:
        """The figure of the whole section."""
        self.total.set_number(number, units, text)
        self.total.show()


class FactList(QWidget):
    """Names on the left, figures on the right, as many as are given."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._rows: list[tuple[Text, FactLabel]] = []
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(2 * self.fontMetrics().averageCharWidth())
        self._grid.setVerticalSpacing(2)
        self._grid.setColumnStretch(0, 1)

    def set_facts(self, facts: Sequence[Fact], units: UnitSystem) -> None:
        """Show these, in this order."""
        while len(self._rows) > len(facts):
            for widget in self._rows.pop():
                self._grid.removeWidget(widget)
                widget.hide()
                widget.deleteLater()
        while len(self._rows) < len(facts):
            name = Text("", wrap=True)
            label = FactLabel(align=Qt.AlignmentFlag.AlignRight)
            self._grid.addWidget(name, len(self._rows), 0)
            self._grid.addWidget(label, len(self._rows), 1)
            self._rows.append((name, label))
        for fact, (name, label) in zip(facts, self._rows, strict=True):
            name.set_text(fact.name)
            label.set_number(fact.number, units, fact.text, name=fact.name)


class Note(QWidget):
    """A problem of the file or the model: icon, sentence, where, and what to do."""

    def __init__(self, problem: Problem, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._problem = problem
        word = tr(theme.colors().severity(problem.severity).word)
        message = tr(problem.message)
        copy = IconButton("copy", tr("Copy this note"))
        copy.setAccessibleName(tr("Copy this note: {note}", note=message))
        copy.clicked.connect(self._copy_text)
        texts = QVBoxLayout()
        texts.setSpacing(0)
        for line, style in (
            (f"{word}: {message}", Style.BODY),
            (place(problem), Style.MUTED),
            (tr(problem.advice), Style.MUTED),
        ):
            if line:
                texts.addWidget(Text(breakable(display(line)), style, wrap=True))
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(self.fontMetrics().averageCharWidth())
        row.addWidget(SeverityIcon(problem.severity), 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(texts, 1)
        row.addWidget(copy, 0, Qt.AlignmentFlag.AlignTop)
        self.setAccessibleName(f"{word}: {message}")

    def _copy_text(self) -> None:
        QGuiApplication.clipboard().setText(details(self._problem))


class Notes(QWidget):
    """Notes below each other; of very many only the first."""

    MOST = 20

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._notes: list[QWidget] = []
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(6)

    def set_problems(self, problems: Sequence[Problem]) -> None:
        """Show these, in this order."""
        for note in self._notes:
            self._column.removeWidget(note)
            note.hide()
            note.deleteLater()
        self._notes = [Note(problem) for problem in problems[: self.MOST]]
        rest = len(problems) - self.MOST
        if rest > 0:
            self._notes.append(Text(tr("and {count:,} more", count=rest), Style.MUTED))
        for note in self._notes:
            self._column.addWidget(note)
