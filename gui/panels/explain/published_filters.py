"""Which published runs are shown."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QWidget

from core.explain.published import BACKENDS, PROGRAMS, MemoryKind, Wanted, parts_of
from core.gguf import display
from core.language import mark, tr
from core.machine.machine import Backend, Machine
from core.plan.speed.calibration import BACKEND_NAMES
from gui.widgets.quiet_wheel import QuietWheel
from gui.widgets.share_marks import MarkButton
from gui.widgets.wrap import Wrap

_KINDS = (
    (mark("Dense and mixtures"), None),
    (mark("Dense only"), False),
    (mark("Mixtures only"), True),
)
_THIS_MACHINE = mark("Only this machine's parts")
_NO_PART = mark("No published run is of a part of this machine")
_ALL_MEMORY = mark("All kinds of memory")
_ALL_PROGRAMS = mark("All programs")


class PublishedFilters(QWidget):
    """Boxes for memory, kind and program, and what stands beside the marks of the legend."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._parts: tuple[str, ...] = ()
        self.memory = _box(
            tr("Kind of memory of the runs shown"), [tr(_ALL_MEMORY), *map(_sentence, MemoryKind)]
        )
        self.kind = _box(tr("Kind of model of the runs shown"), [tr(words) for words, _ in _KINDS])
        self.program = _box(tr("Program of the runs shown"), [tr(_ALL_PROGRAMS), *PROGRAMS])
        self.part = QCheckBox(tr(_THIS_MACHINE))
        self.compared = QCheckBox(tr("Leave out runs with a remark"))
        self.compared.setToolTip(
            tr("Hollow marks: several cards, or a clock that is not comparable")
        )
        self.boxes = Wrap()
        self.boxes.set_cells([self.memory, self.kind, self.program, self.part, self.compared])
        self.marks = {backend: MarkButton(n) for n, backend in enumerate(BACKENDS)}
        self.own = MarkButton(-1)
        self.legend = Wrap()
        self.legend.set_cells([*self.marks.values(), self.own])
        quiet = QuietWheel(self)
        for box in (self.memory, self.kind, self.program):
            quiet.guard(box)
            box.currentIndexChanged.connect(lambda _: self.changed.emit())
        for button in (self.part, self.compared, *self.marks.values(), self.own):
            button.toggled.connect(lambda _: self.changed.emit())

    def set_machine(self, machine: Machine) -> None:
        """Offer the parts of this machine, where runs of them are known."""
        parts = parts_of(machine)
        names = {d.catalogue_id: display(d.name) for d in machine.devices}
        self._parts = parts
        these = ", ".join(names[part] for part in parts)
        self.part.setText(tr("Only {parts}", parts=these) if parts else tr(_THIS_MACHINE))
        self.part.setToolTip("" if parts else tr(_NO_PART))
        self.part.setEnabled(bool(parts))
        if not parts:
            self.part.setChecked(False)
        self.boxes.updateGeometry()

    def count(self, counts: dict[Backend, int], own: int) -> None:
        """So many runs of each backend that the other boxes let through."""
        for backend, button in self.marks.items():
            button.set_words(BACKEND_NAMES[backend], counts.get(backend, 0))
        self.own.set_words(tr("your own"), own)
        self.own.setVisible(own > 0)

    def wanted(self, *, by_backend: bool = True) -> Wanted:
        """What the boxes say; without the legend where ``by_backend`` is False."""
        memory, program = self.memory.currentIndex(), self.program.currentIndex()
        shown = frozenset(backend for backend, b in self.marks.items() if b.isChecked())
        return Wanted(
            backends=shown if by_backend else None,
            memory=tuple(MemoryKind)[memory - 1] if memory else None,
            experts=_KINDS[self.kind.currentIndex()][1],
            program=PROGRAMS[program - 1] if program else None,
            parts=frozenset(self._parts) if self.part.isChecked() else None,
            remarked=not self.compared.isChecked(),
        )


def _box(name: str, lines: list[str]) -> QComboBox:
    box = QComboBox()
    box.addItems(lines)
    box.setAccessibleName(name)
    return box


def _sentence(kind: MemoryKind) -> str:
    words = tr(kind.value)
    return words[0].upper() + words[1:]
