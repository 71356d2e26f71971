"""Which machines of the catalogue are drawn."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QWidget

from core.compare import Wanted
from core.machine import catalogue
from core.machine.catalogue import RowKind
from gui.widgets.quiet_wheel import QuietWheel
from gui.widgets.wrap import Wrap

_GIB = 2**30
_KINDS = (
    ("All kinds", None),
    ("Cards", RowKind.DESKTOP_GPU),
    ("Laptops", RowKind.LAPTOP_GPU),
    ("Datacenter", RowKind.DATACENTER),
    ("Integrated", RowKind.APU),
    ("Apple", RowKind.APPLE),
    ("Processors", RowKind.CPU),
)
_SIZES = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192)
_FIRST_YEAR = 2016


class Filters(Wrap):
    """Boxes for kind, maker, memory and year, and whether only what fits is wanted."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        rows = catalogue.all()
        self.kind = _box("Kind", [words for words, _ in _KINDS])
        self.vendor = _box("Maker", ["All makers", *sorted({row.vendor for row in rows})])
        self.memory = _box("Memory", ["Any memory", *(f"{size} GB or more" for size in _SIZES)])
        last = max(row.year or 0 for row in rows)
        self._years = tuple(range(last, _FIRST_YEAR, -1))
        self.year = _box("Year", ["Any year", *(f"Since {year}" for year in self._years)])
        self.only_fitting = QCheckBox("Only what fits")
        quiet = QuietWheel(self)
        boxes = (self.kind, self.vendor, self.memory, self.year)
        for box in boxes:
            quiet.guard(box)
            box.currentIndexChanged.connect(lambda _: self.changed.emit())
        self.only_fitting.toggled.connect(lambda _: self.changed.emit())
        self.set_cells([*boxes, self.only_fitting])

    def wanted(self) -> Wanted:
        """What the boxes say."""
        memory, year = self.memory.currentIndex(), self.year.currentIndex()
        return Wanted(
            kind=_KINDS[self.kind.currentIndex()][1],
            vendor=self.vendor.currentText() if self.vendor.currentIndex() else "",
            memory=_SIZES[memory - 1] * _GIB if memory else 0,
            year=self._years[year - 1] if year else 0,
        )


def _box(name: str, lines: list[str]) -> QComboBox:
    box = QComboBox()
    box.addItems(lines)
    box.setAccessibleName(f"{name} of the machines drawn")
    return box
