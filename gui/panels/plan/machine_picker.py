"""Which machine the plan is for: this computer, one of the catalogue, or one typed by hand."""

from __future__ import annotations

from PySide6.QtCore import (
    QEvent,
    QObject,
    QSignalBlocker,
    QStringListModel,
    Qt,
    QTimer,
    Signal,
)
from PySide6.QtGui import QFocusEvent, QKeyEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import (
    QComboBox,
    QCompleter,
    QGridLayout,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QListView,
    QPushButton,
    QWidget,
)

from core.language import tr
from core.machine import catalogue, own, typed_machine
from core.machine.machine import Machine, spoken_name
from core.machine.spec import THIS
from core.problems import Severity
from core.provenance import format_value
from core.units import UnitSystem, format_bandwidth
from gui.document import LOOKING, Document
from gui.panels.plan.bandwidth import BandwidthLabel, measure_words
from gui.panels.plan.combination import CombinationDialog
from gui.panels.plan.own_machine import OwnMachineDialog
from gui.widgets.quiet_wheel import QuietWheel
from gui.widgets.text import Style, Text
from gui.widgets.undo_keys import UndoKeys

_MOST_FOUND = 60
_ONE_LINE = 85  # characters
_MOST_RECENT = 6
_ENTER = (Qt.Key.Key_Return, Qt.Key.Key_Enter)


def summary(machine: Machine, units: UnitSystem) -> str:
    """A machine in one line: its name and the memory of its first device."""
    memory = machine.devices[0].memory
    name = spoken_name(machine.name)
    # One line has one family of units, and a name such as "RTX 3090 + 64.0 GiB RAM" stays as it is.
    system = UnitSystem.GIB if "GiB" in name else units
    size = f", {format_value(memory.value, memory.unit, system)}" if memory.known else ""
    return f"{name}{size}"


class _Box(QComboBox):
    """Tells a line that arrow keys or the wheel came by from one that was chosen."""

    def __init__(self) -> None:
        super().__init__()
        self.stepping = False

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Every key but Enter steps at most."""
        self.stepping = event.key() not in _ENTER
        super().keyPressEvent(event)
        self.stepping = False

    def wheelEvent(self, event: QWheelEvent) -> None:
        """The wheel steps."""
        self.stepping = True
        super().wheelEvent(event)
        self.stepping = False


class MachinePicker(QWidget):
    """A box that lists this computer, what was chosen before and what the user keeps; words typed
    into it search the catalogue. Beside it stands the bandwidth of the first device."""

    measure_asked = Signal()

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._document = document
        self._recent: list[Machine] = []
        self._listed: list[Machine] = []  # the recent ones, and those that the user keeps
        self._found: dict[str, str] = {}  # the completer's lines and their catalogue ids
        self.label = QLabel(tr("Machi&ne"))
        self.box = _Box()
        self._edit = QLineEdit()
        self.box.setEditable(True)
        self.box.setLineEdit(self._edit)
        self.box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.box.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.box.setMinimumContentsLength(16)
        self.box.setAccessibleName(tr("Machine"))
        self._edit.setAccessibleName(tr("Machine"))
        self.box.setAccessibleDescription(tr("Type words to search the catalogue"))
        self.box.setToolTip(tr("Choose a machine, or type words to search the catalogue"))
        self.label.setBuddy(self.box)
        self._lines = QStringListModel(self)
        self.completer = QCompleter(self._lines, self)
        self.completer.setCompletionMode(QCompleter.CompletionMode.UnfilteredPopupCompletion)
        self.completer.setMaxVisibleItems(12)
        self._matches = QListView()
        self.completer.setPopup(self._matches)
        self.box.setCompleter(self.completer)
        self._edit.setPlaceholderText(tr("words of its name, like rtx 3060 12"))
        self.problem = Text("", Style.BODY, wrap=True)
        self.problem.hide()
        # What detection could not tell: whoever opens a file at once sees no welcome page.
        self.told = Text("", Style.MUTED, wrap=True)
        self.bandwidth = BandwidthLabel()
        self.measure = QPushButton(tr("Measure RAM"))
        self.measure.setToolTip(tr("Time the RAM of this computer; takes a few seconds"))
        self.measure.clicked.connect(self.measure_asked)
        self._side = QWidget()
        side = QHBoxLayout(self._side)
        side.setContentsMargins(0, 0, 0, 0)
        side.addWidget(self.bandwidth)
        side.addWidget(self.measure)
        side.addStretch(1)
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setColumnStretch(1, 1)
        self._grid.addWidget(self.label, 0, 0)
        self._grid.addWidget(self.box, 0, 1)
        self._grid.addWidget(self._side, 1, 1)
        self._grid.addWidget(self.problem, 2, 1)
        self._grid.addWidget(self.told, 3, 1, 1, 2)
        self._beside = False
        QuietWheel(self).guard(self.box)
        UndoKeys(self.box)
        self.box.installEventFilter(self)
        self._edit.installEventFilter(self)
        self._edit.textEdited.connect(self._search)
        self._edit.returnPressed.connect(self._take_typed)
        self.box.activated.connect(self._take)
        self.completer.activated.connect(self._take_found)
        document.machine_changed.connect(self.show_machine)
        document.units_changed.connect(self.show_machine)
        self.show_machine()

    def show_machine(self) -> None:
        """Show the machine of the document."""
        machine, here = self._document.machine, self._document.this_computer
        if machine.id != "this":
            self._recent = [machine, *(m for m in self._recent if m != machine)][:_MOST_RECENT]
        units = self._document.units
        recent = {m.id for m in self._recent}
        self._listed = [*self._recent, *(m for m in own.load().machines if m.id not in recent)]
        lines = [summary(here or LOOKING, units)]
        lines += [summary(m, units) for m in self._listed]
        first_kept = len(lines)
        lines += [
            tr("Search the catalogue…"),
            tr("Cards and RAM together…"),
            tr("Type your own…"),
        ]
        at = 0 if machine.id == "this" else 1 + self._recent.index(machine)
        with QSignalBlocker(self.box):
            self.box.clear()
            self.box.addItems(lines)
            self.box.insertSeparator(first_kept)
            self.box.setCurrentIndex(at)
        self._edit.setCursorPosition(0)
        self.problem.hide()
        if self.box.hasFocus():
            self._select_all()
        self.bandwidth.show_device(machine.devices[0], units)
        serious = [p for p in machine.problems if p.severity is not Severity.NOTE]
        self.told.set_text(" ".join(f"{tr(p.message)} {tr(p.advice)}".rstrip() for p in serious))
        self.told.setVisible(bool(serious))
        words = measure_words(here) if machine is here else ""
        self.measure.setText(words)
        self.measure.setVisible(bool(words))

    def resizeEvent(self, event: QResizeEvent) -> None:
        """The bandwidth stands beside the box, or below it where there is no room."""
        super().resizeEvent(event)
        beside = self.width() > _ONE_LINE * self.fontMetrics().averageCharWidth()
        if beside != self._beside:
            self._beside = beside
            self._grid.addWidget(self._side, *((0, 2) if beside else (1, 1)))

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        """A click into the box selects its text, as the Tab key does, so that typing searches at
        once; leaving it without a choice brings back the machine that stands."""
        if watched is self._edit and event.type() is QEvent.Type.MouseButtonRelease:
            # What the user typed counts as modified; the machine's own line does not.
            if not self._edit.isModified() and not self._edit.hasSelectedText():
                self._select_all()
        elif (
            watched is self.box
            and isinstance(event, QFocusEvent)
            and (
                # Opening the list of matches is about to change the focus, and does not.
                event.type() is QEvent.Type.FocusOut
                and event.reason() is not Qt.FocusReason.PopupFocusReason
                and not self._matches.isVisible()
            )
        ):
            self.show_machine()
        return False

    def _select_all(self) -> None:
        """All of it, seen from its beginning."""
        length = len(self._edit.text())
        self._edit.setSelection(length, -length)

    def _search(self, words: str) -> None:
        self.problem.hide()
        rows = catalogue.search(words)[:_MOST_FOUND] if words.strip() else ()
        self._found = {}
        for row in rows:
            line = f"{row.words}, {format_bandwidth(row.bandwidth)}"
            # Rows that read alike are told apart by their id.
            self._found[f"{line} ({row.id})" if line in self._found else line] = row.id
        self._lines.setStringList(list(self._found))

    def _take_typed(self) -> None:
        """Enter takes the line of the list that was walked to, the best match of the words, or
        parts as the command line takes them."""
        line = self._edit.text()
        if line in self._found:
            self._take_found(line)
        elif self.box.findText(line) >= 0 or not line.strip():
            return
        elif self._found:
            self._take_found(next(iter(self._found)))
        else:
            self._take_parts(line)

    def _take_parts(self, text: str) -> None:
        """ "2x nvidia-geforce-rtx-3090 + ram:64GiB@51.2"; what is no machine is said in place."""
        try:
            machine = typed_machine(text, self._named)
        except (LookupError, ValueError) as error:
            words = str(error.args[0])
            if "+" not in text:
                words = tr("{problem}; type words of its name, like rtx 3060 12", problem=words)
            self.problem.set_text(_sentence(words))
            self.problem.show()
            return
        self._document.set_machine(machine)
        self.show_machine()

    def _named(self, name: str) -> Machine:
        """A machine of the list or of the catalogue. Raises LookupError with a sentence."""
        here = self._document.this_computer
        if name == THIS and here is not None:
            return here
        kept = next((m for m in self._listed if m.id == name), None)
        return kept or catalogue.machine(name.lower())

    def _take_found(self, line: str) -> None:
        if line in self._found:
            self._document.set_machine(catalogue.machine(self._found[line]))
            self._found = {}
        self.show_machine()
        # Where the list was clicked, Qt writes its line into the box after this.
        QTimer.singleShot(0, self, self.show_machine)

    def _take(self, index: int) -> None:
        if index == 0:
            here = self._document.this_computer
            if here is not None:
                self._document.set_machine(here)
        elif index <= len(self._listed):
            self._document.set_machine(self._listed[index - 1])
        elif not self.box.stepping:
            match self.box.count() - index:
                case 1:
                    self.type_own()
                case 2:
                    self.combine()
                case _:
                    # The list writes its line into the box after this.
                    QTimer.singleShot(0, self, self._begin_search)
        self.show_machine()

    def _begin_search(self) -> None:
        """Empty the box for words; leaving it brings the machine back."""
        self.box.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self._edit.clear()
        self._edit.setModified(True)

    def combine(self) -> None:
        """Open the dialog for cards and RAM, starting from those that are chosen."""
        dialog = CombinationDialog(self._document.units, self._document.machine, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.made.connect(self._document.set_machine)
        dialog.open()

    def type_own(self) -> None:
        """Open the dialog for a machine of one's own, starting from the one that is chosen."""
        dialog = OwnMachineDialog(self._document.machine, self._document.units, self)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.made.connect(self._document.set_machine)
        dialog.open()


def _sentence(text: str) -> str:
    """A message with a capital and a full stop."""
    return f"{text[:1].upper()}{text[1:].rstrip('.')}."
