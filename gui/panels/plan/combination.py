"""A machine put together: some cards, and so much RAM."""

from __future__ import annotations

from collections import Counter

from PySide6.QtCore import QStringListModel, Signal
from PySide6.QtWidgets import (
    QCompleter,
    QDialog,
    QDialogButtonBox,
    QFormLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QSpinBox,
    QWidget,
)

from core.language import tr
from core.machine import Machine, catalogue, combine, custom
from core.machine.rows import DISCRETE
from core.units import UnitSystem, format_bandwidth
from gui import theme
from gui.panels.plan.figure_edit import FigureEdit
from gui.widgets.mark_label import MarkLabel
from gui.widgets.matches import keep_whole
from gui.widgets.text import Style, Text

_CARDS = 2  # kinds of cards
_MOST = 8  # of a kind
_MOST_FOUND = 40


class CombinationDialog(QDialog):
    """Starts from the cards of ``start`` where the catalogue has them. ``made`` carries the new
    machine."""

    made = Signal(object)

    def __init__(
        self, units: UnitSystem, start: Machine | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Cards and RAM together"))
        self.cards = [_CardField() for _ in range(_CARDS)]
        self.ram = FigureEdit("64 GiB", units)
        self.ram_bandwidth = FigureEdit(format_bandwidth(51.2e9), units)
        self.problem = MarkLabel(Style.BODY)
        self.problem.hide()
        self.buttons = QDialogButtonBox(
            QDialogButtonBox.StandardButton.Ok | QDialogButtonBox.StandardButton.Cancel
        )
        self.buttons.accepted.connect(self._accept)
        self.buttons.rejected.connect(self.reject)
        form = QFormLayout(self)
        rows: list[tuple[str, QWidget, QLineEdit]] = [
            (tr("&Card"), self.cards[0], self.cards[0].name),
            (tr("&Another kind"), self.cards[1], self.cards[1].name),
            (tr("&RAM"), self.ram, self.ram),
            (tr("RAM band&width"), self.ram_bandwidth, self.ram_bandwidth),
        ]
        for text, control, edit in rows:
            label = QLabel(text)
            label.setBuddy(edit)
            edit.setAccessibleName(text.replace("&", ""))
            form.addRow(label, control)
        hint = tr(
            "Layers are shared out by memory. Each card reads its own layers, one after the other: "
            "memory adds up, speed does not."
        )
        form.addRow(Text(hint, Style.MUTED, wrap=True))
        form.addRow(self.problem)
        form.addRow(self.buttons)
        self.setMinimumWidth(64 * self.fontMetrics().averageCharWidth())
        if start is not None:
            self._begin(start)

    def _begin(self, start: Machine) -> None:
        """Show what is known of this machine, as far as the fields have room for it."""
        ids = Counter(gpu.catalogue_id for gpu in start.gpus if not gpu.unified)
        if "" not in ids and len(ids) <= len(self.cards):
            for card, (id, count) in zip(self.cards, ids.items(), strict=False):
                card.show_card(id, count)
        host = start.host
        self.ram.show_number(host.memory if host else None)
        self.ram_bandwidth.show_number(host.bandwidth if host else None)
        empty = (card.name for card in self.cards[:1] if not card.name.text())
        next(empty, self.ram).setFocus()

    def _accept(self) -> None:
        try:
            machine = self._machine()
        except (ValueError, LookupError) as error:
            words = str(error.args[0])
            self.problem.set_mark(lambda c: theme.Mark(c.bad, "error", words))
            self.problem.show()
            return
        self.made.emit(machine)
        self.accept()

    def _machine(self) -> Machine:
        """What the fields say. Raises ValueError or LookupError with a sentence."""
        parts = [machine for card in self.cards for machine in card.machines()]
        if not parts:
            raise ValueError(tr("name a card; words search the catalogue"))
        if self.ram.text().strip():
            parts.append(custom(self.ram.as_bytes(), self.ram_bandwidth.as_rate(), gpu=False))
        return combine(*parts)


class _CardField(QWidget):
    """So many of one kind of card, found by words."""

    def __init__(self) -> None:
        super().__init__()
        self.count = QSpinBox()
        self.count.setRange(1, _MOST)
        self.count.setSuffix(" ×")
        self.count.setAccessibleName(tr("How many"))
        self.name = QLineEdit()
        example = tr("words of its name, like rtx 3090")
        self.name.setPlaceholderText(example)
        metrics = self.fontMetrics()
        room = metrics.horizontalAdvance(example) + 3 * metrics.averageCharWidth()
        self.name.setMinimumWidth(room)
        self._found: dict[str, str] = {}
        self._lines = QStringListModel(self)
        self.completer = QCompleter(self._lines, self)
        self.completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self.name.setCompleter(self.completer)
        keep_whole(self.completer)
        self.name.textEdited.connect(self._look)
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.count)
        row.addWidget(self.name, 1)

    def show_card(self, id: str, count: int) -> None:
        """Show so many of this card of the catalogue."""
        row = catalogue.find(id)
        if row is not None:
            line = row.words
            self._found = {line: id}
            self.name.setText(line)
            self.count.setValue(count)

    def machines(self) -> list[Machine]:
        """The cards; none where nothing was typed. Raises LookupError with a sentence."""
        words = self.name.text().strip()
        if not words:
            return []
        if not self._found:
            self._look(words)
        id = self._found.get(words) or next(iter(self._found.values()), None)
        if id is None:
            raise LookupError(tr("no card is called “{words}”; try fewer words", words=words))
        return [catalogue.machine(id)] * self.count.value()

    def _look(self, words: str) -> None:
        rows = catalogue.search(words) if words.strip() else ()
        cards = [row for row in rows if row.kind in DISCRETE][:_MOST_FOUND]
        self._found = {row.words: row.id for row in reversed(cards)}
        self._found = dict(reversed(self._found.items()))
        self._lines.setStringList(list(self._found))
