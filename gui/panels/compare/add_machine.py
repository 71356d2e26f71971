"""Adding machines: words search the catalogue, parts make a computer, a menu has the rest."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import QStringListModel, Qt, QTimer, Signal
from PySide6.QtWidgets import QCompleter, QHBoxLayout, QLineEdit, QMenu, QWidget

from core.gguf import display
from core.language import tr
from core.machine import catalogue, spec_of, typed_machine
from core.machine.machine import Machine, spoken_name
from core.machine.spec import THIS
from core.units import format_bandwidth
from gui.document import Document
from gui.panels.compare.chosen import Chosen
from gui.panels.compare.own_machines import OwnMachinesDialog
from gui.panels.plan.combination import CombinationDialog
from gui.panels.plan.own_machine import OwnMachineDialog
from gui.widgets.matches import keep_whole
from gui.widgets.menu_button import MenuButton

_MOST_FOUND = 60
_PARTS = frozenset("+:")


class AddMachine(QWidget):
    """A field that searches the catalogue or takes the parts of a computer, and a menu for every
    other kind of machine.

    ``said`` carries a sentence for the user where something could not be done.
    """

    said = Signal(str)

    def __init__(self, document: Document, chosen: Chosen, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._chosen = chosen
        self._found: dict[str, str] = {}
        self.search = QLineEdit()
        self.search.setPlaceholderText(tr("Add a machine, like rtx 4090"))
        self.search.setAccessibleName(tr("Add a machine from the catalogue"))
        self.search.setClearButtonEnabled(True)
        self._lines = QStringListModel(self)
        self.completer = QCompleter(self._lines, self)
        self.completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self.completer.setMaxVisibleItems(12)
        self.search.setCompleter(self.completer)
        keep_whole(self.completer)
        self.menu = MenuButton(
            tr("Add"),
            tr("This computer, own machines, typed figures and combinations"),
            self._fill,
        )
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self.search, 1)
        row.addWidget(self.menu)
        self.search.setMinimumWidth(36 * self.fontMetrics().averageCharWidth())
        self.search.textEdited.connect(self._look)
        self.search.returnPressed.connect(self._take_first)
        self.completer.activated.connect(self._take)

    def type_figures(self) -> None:
        """Ask for figures, starting from the machine of the plan."""
        dialog = OwnMachineDialog(self._document.machine, self._document.units, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.made.connect(self._add_machine)
        dialog.open()

    def combine(self) -> None:
        """Ask for cards and RAM."""
        dialog = CombinationDialog(self._document.units, self._document.machine, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.made.connect(self._add_machine)
        dialog.open()

    def show_own(self) -> None:
        """Open the list of the user's machines."""
        dialog = OwnMachinesDialog(self._document, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.changed.connect(self._chosen.read_own)
        dialog.chosen.connect(lambda id: self._chosen.add([id]))
        dialog.open()

    def _look(self, words: str) -> None:
        rows = catalogue.search(words)[:_MOST_FOUND] if words.strip() else ()
        self._found = {}
        for machine in self._chosen.own if words.strip() else ():
            if all(word in machine.name.casefold() for word in words.casefold().split()):
                self._found[tr("{machine} (your own)", machine=display(machine.name))] = machine.id
        for row in rows:
            line = f"{row.words}, {format_bandwidth(row.bandwidth)}"
            # Rows that read alike are told apart by their id.
            self._found[f"{line} ({row.id})" if line in self._found else line] = row.id
        self._lines.setStringList(list(self._found))

    def _take_first(self) -> None:
        line = self.search.text()
        if line in self._found:
            self._take(line)
        elif self._found:
            self._take(next(iter(self._found)))
        elif line.strip():
            self._take_parts(line)

    def _take_parts(self, text: str) -> None:
        """ "2x nvidia-geforce-rtx-3090 + ram:64GiB@51.2", as the machine of the plan is typed."""
        try:
            machine = typed_machine(text, self._chosen.named)
        except (LookupError, ValueError) as error:
            words = str(error.args[0])
            if not _PARTS.intersection(text):
                words = tr("The catalogue has nothing like it; try fewer words.")
            self.said.emit(f"{words[:1].upper()}{words[1:].rstrip('.')}.")
            return
        self._add_machine(machine)
        self.search.clear()

    def _take(self, line: str) -> None:
        id = self._found.get(line)
        if id is not None:
            self._found = {}
            self._chosen.add([id])
        # The list writes its line into the field after this.
        QTimer.singleShot(0, self.search, self.search.clear)

    def _add_machine(self, machine: Machine) -> None:
        text = spec_of(machine)
        if text:
            self._chosen.add([text])
        else:
            self.said.emit(tr("A machine needs its memory; that of this one is not known."))

    def _fill(self, menu: QMenu) -> None:
        menu.addAction(tr("This computer"), lambda: self._chosen.add([THIS]))
        machine = self._document.machine
        if machine.id != THIS:
            name = display(spoken_name(machine.name)).replace("&", "&&")
            menu.addAction(
                tr("The plan's machine: {name}", name=name), lambda: self._add_machine(machine)
            )
        for each in self._chosen.own:
            name = display(each.name).replace("&", "&&")
            menu.addAction(name, partial(self._chosen.add, [each.id]))
        menu.addSeparator()
        menu.addAction(tr("Typed figures…"), self.type_figures)
        menu.addAction(tr("Cards and RAM together…"), self.combine)
        menu.addSeparator()
        menu.addAction(tr("Own machines…"), self.show_own)
