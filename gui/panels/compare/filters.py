"""Which machines of the catalogue are drawn."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QWidget

from core.compare import Wanted
from core.language import mark, tr
from core.machine import catalogue
from core.machine.catalogue import RowKind
from gui.widgets.quiet_wheel import QuietWheel
from gui.widgets.wrap import Wrap

_GIB = 2**30
_KINDS = (
    (mark("All kinds"), None),
    (mark("Cards"), RowKind.DESKTOP_GPU),
    (mark("Laptops"), RowKind.LAPTOP_GPU),
    (mark("Datacenter"), RowKind.DATACENTER),
    (mark("Integrated"), RowKind.APU),
    ("Apple", RowKind.APPLE),
    (mark("Processors"), RowKind.CPU),
)
_NOBODY = mark("generic")  # the maker of a row that many makers build
_SIZES = (8, 12, 16, 24, 32, 48, 64, 96, 128, 192)
_FIRST_YEAR = 2016


class Filters(Wrap):
    """Boxes for kind, maker, memory and year, and whether only what fits is wanted."""

    changed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        rows = catalogue.all()
        self.kind = _box(tr("Kind of the machines drawn"), [tr(words) for words, _ in _KINDS])
        self._vendors = sorted({row.vendor for row in rows})
        self.vendor = _box(
            tr("Maker of the machines drawn"),
            [tr("All makers"), *(tr(v) if v == _NOBODY else v for v in self._vendors)],
        )
        self.memory = _box(
            tr("Memory of the machines drawn"),
            [tr("Any memory"), *(tr("{size} GB or more", size=size) for size in _SIZES)],
        )
        last = max(row.year or 0 for row in rows)
        self._years = tuple(range(last, _FIRST_YEAR, -1))
        self.year = _box(
            tr("Year of the machines drawn"),
            [tr("Any year"), *(tr("Since {year}", year=str(year)) for year in self._years)],
        )
        self.only_fitting = QCheckBox(tr("Only what fits"))
        quiet = QuietWheel(self)
        boxes = (self.kind, self.vendor, self.memory, self.year)
        for box in boxes:
            quiet.guard(box)
            box.currentIndexChanged.connect(lambda _: self.changed.emit())
        self.only_fitting.toggled.connect(lambda _: self.changed.emit())
        self.set_cells([*boxes, self.only_fitting])

    def wanted(self) -> Wanted:
        """What the boxes say."""
        vendor = self.vendor.currentIndex()
        memory, year = self.memory.currentIndex(), self.year.currentIndex()
        return Wanted(
            kind=_KINDS[self.kind.currentIndex()][1],
            vendor=self._vendors[vendor - 1] if vendor else "",
            memory=_SIZES[memory - 1] * _GIB if memory else 0,
            year=self._years[year - 1] if year else 0,
        )


def _box(name: str, lines: list[str]) -> QComboBox:
    box = QComboBox()
    box.addItems(lines)
    box.setAccessibleName(name)
    return box
