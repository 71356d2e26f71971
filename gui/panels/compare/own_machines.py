"""The machines that the user keeps: a list with all that can be done to it."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Signal
from PySide6.QtWidgets import (
    QAbstractItemView,
    QDialog,
    QDialogButtonBox,
    QFileDialog,
    QHBoxLayout,
    QInputDialog,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from core.gguf import display
from core.language import mark, tr, trn
from core.machine import Machine, own
from core.provenance import format_value
from core.whole_file import write_out
from gui.document import Document
from gui.panels.plan.own_machine import OwnMachineDialog
from gui.widgets.dialog_size import open_at
from gui.widgets.line_list import LineList
from gui.widgets.live_text import LiveText
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap

_WHAT = mark(
    "A report tells what a plan needs: no serial numbers, no names of people or computers."
)

_SIZE = (96, 22)  # letters and lines


class OwnMachinesDialog(QDialog):
    """Every change is made to what is kept at that moment, as another window may have left it, and
    written at once. ``changed`` comes after it, ``chosen`` carries the id of a
    machine that shall be compared."""

    changed = Signal()
    chosen = Signal(str)

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Own machines"))
        self._document = document
        stored = own.load()
        self._machines = stored.machines
        self.list = LineList(tr("Own machines"))
        self.list.setSelectionMode(QAbstractItemView.SelectionMode.SingleSelection)
        self.status = LiveText(Style.MUTED, wrap=True)
        self._deleted: tuple[int, Machine] | None = None  # where it stood
        self.undo = QPushButton(tr("U&ndo"))
        self.undo.setAccessibleName(tr("Bring the deleted machine back"))
        self.undo.hide()
        self.compare = QPushButton(tr("Com&pare"))
        self.plan = QPushButton(tr("&Use for the plan"))
        self.rename = QPushButton(tr("&Rename…"))
        self.delete = QPushButton(tr("&Delete"))
        self.save_report = QPushButton(tr("Save &report…"))
        self.add_typed = QPushButton(tr("&Type figures…"))
        self.add_present = QPushButton(tr("&Keep the plan's machine"))
        self.import_file = QPushButton(tr("&Open a report or list…"))
        self.export = QPushButton(tr("E&xport all…"))
        of_one = Wrap()
        self._of_one = (self.compare, self.plan, self.rename, self.delete, self.save_report)
        of_all = Wrap()
        close = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        close.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.addWidget(self.list, 1)
        column.addWidget(of_one)
        column.addWidget(of_all)
        column.addWidget(Text(tr(_WHAT), Style.MUTED, wrap=True))
        foot = QHBoxLayout()
        foot.addWidget(self.status, 1)
        foot.addWidget(self.undo)
        foot.addWidget(close)
        column.addLayout(foot)
        of_one.set_cells(self._of_one)
        of_all.set_cells([self.add_typed, self.add_present, self.import_file, self.export])
        for button, slot in (
            (self.compare, lambda: self.chosen.emit(self._current().id)),
            (self.plan, lambda: self._document.set_machine(self._current())),
            (self.rename, self._rename),
            (self.delete, self._delete),
            (self.save_report, self._save_report),
            (self.add_typed, self._type),
            (self.add_present, lambda: self._add(self._document.machine)),
            (self.import_file, self._import),
            (self.export, self._export),
            (self.undo, self._bring_back),
        ):
            button.setAutoDefault(False)
            button.clicked.connect(slot)
        self.list.itemDoubleClicked.connect(lambda _: self.chosen.emit(self._current().id))
        self.list.currentRowChanged.connect(lambda _: self._enable())
        open_at(self, *_SIZE)
        self._show()
        if stored.problem is not None:
            self.status.set_text(f"{tr(stored.problem.message)} {tr(stored.problem.advice)}")

    def take_file(self, path: Path) -> None:
        """Keep the machines of a report or of an exported list."""
        try:
            found = own.opened(path)
        except ValueError as error:
            self.status.set_text(f"{display(path.name)}: {error}.")
            return
        before = own.load().machines
        machines = own.imported(before, found)
        more = len(machines) - len(before)
        words = tr("All of them are here already.")
        if more:
            words = trn(
                "{count} of {all} machines added.",
                "{count} of {all} machines added.",
                more,
                all=len(found),
            )
        self._keep(machines, words)

    def save_list(self, path: Path) -> None:
        """Write all machines for another computer."""
        try:
            own.export(path, self._machines)
        except OSError as error:
            self.status.set_text(
                tr(
                    "{name} could not be written: {why}.",
                    name=display(path.name),
                    why=error.strerror,
                )
            )
            return
        self.status.set_text(
            trn(
                "{count} machine written to {name}.",
                "{count} machines written to {name}.",
                len(self._machines),
                name=display(path.name),
            )
        )

    def rename_to(self, name: str) -> None:
        """Give the machine that is chosen in the list another name."""
        try:
            machines = own.renamed(own.load().machines, self._current().id, name)
        except ValueError as error:
            self.status.set_text(f"{str(error)[:1].upper()}{str(error)[1:]}.")
            return
        self._keep(machines, tr("Renamed."))

    def _current(self) -> Machine:
        return self._machines[self.list.currentRow()]

    def _add(self, machine: Machine) -> None:
        if all(device.memory.value is None for device in machine.devices):
            self.status.set_text(tr("Nothing is known of this machine yet."))
            return
        self._keep(own.added(own.load().machines, machine), tr("Kept."))
        self.list.setCurrentRow(len(self._machines) - 1)

    def _keep(
        self,
        machines: tuple[Machine, ...],
        words: str,
        deleted: tuple[int, Machine] | None = None,
    ) -> None:
        """Write first: what could not be written is not shown as if it were."""
        try:
            own.save(machines)
        except OSError as error:
            why = error.strerror or error
            self.status.set_text(tr("Your machines could not be saved: {why}.", why=why))
            return
        self._machines, self._deleted = machines, deleted
        self.undo.setVisible(deleted is not None)
        self._show()
        self.status.set_text(words)
        self.changed.emit()

    def _show(self) -> None:
        row = self.list.currentRow()
        self.list.clear()
        units = self._document.units
        for machine in self._machines:
            devices = "; ".join(
                f"{display(d.name)} {format_value(d.memory.value, d.memory.unit, units)}, "
                f"{format_value(d.bandwidth.value, d.bandwidth.unit, units)}"
                for d in machine.devices
            )
            self.list.addItem(f"{display(machine.name)}:  {devices}")
        self.list.setCurrentRow(min(max(row, 0), len(self._machines) - 1))
        self._enable()

    def _enable(self) -> None:
        if not self._machines:
            self.status.set_text(tr("No machine is kept yet."))
        for button in self._of_one:
            button.setEnabled(self.list.currentRow() >= 0)
        self.export.setEnabled(bool(self._machines))

    def _rename(self) -> None:
        name, accepted = QInputDialog.getText(
            self, tr("Rename"), tr("Name"), QLineEdit.EchoMode.Normal, self._current().name
        )
        if accepted:
            self.rename_to(name)

    def _delete(self) -> None:
        machine, row = self._current(), self.list.currentRow()
        words = tr("{name} deleted.", name=display(machine.name))
        self._keep(own.removed(own.load().machines, machine.id), words, (row, machine))

    def _bring_back(self) -> None:
        if self._deleted is None:
            return
        row, machine = self._deleted
        machines = own.removed(own.load().machines, machine.id)
        self._keep((*machines[:row], machine, *machines[row:]), tr("Brought back."))

    def _type(self) -> None:
        dialog = OwnMachineDialog(self._document.machine, self._document.units, self)
        dialog.made.connect(self._add)
        dialog.open()

    def _save_report(self) -> None:
        machine = self._current()
        name, _ = QFileDialog.getSaveFileName(
            self, tr("Save report"), f"{machine.id}.json", _files()
        )
        if not name:
            return
        try:
            write_out(Path(name), own.report(machine))
        except OSError as error:
            self.status.set_text(tr("The report could not be written: {why}.", why=error.strerror))
            return
        self.status.set_text(tr("Written to {name}.", name=display(Path(name).name)))

    def _import(self) -> None:
        name, _ = QFileDialog.getOpenFileName(self, tr("Open a report or list"), "", _files())
        if name:
            self.take_file(Path(name))

    def _export(self) -> None:
        name, _ = QFileDialog.getSaveFileName(self, tr("Export"), "machines.json", _files())
        if name:
            self.save_list(Path(name))


def _files() -> str:
    return "{} (*.json);;{} (*)".format(tr("Machines"), tr("All files"))
