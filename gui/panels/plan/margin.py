"""What shall stay free on the machine shown: the margin below which a plan is called tight."""

from __future__ import annotations

from dataclasses import replace

from PySide6.QtGui import QAction, QActionGroup
from PySide6.QtWidgets import QInputDialog, QMenu, QWidget

from core.language import plain, tr, trc
from core.machine.machine import Device, spoken_name
from core.plan import margin_of
from core.plan.plan import Plan
from core.provenance import explain, origin_words
from core.units import UnitSystem, format_bytes, parse_bytes
from gui.document import Document
from gui.widgets.fact_label import explanation_html
from gui.widgets.menu_button import MenuButton

MIB = 2**20
_OFFERED = (0, 256 * MIB, 512 * MIB, 1024 * MIB, 2048 * MIB, 4096 * MIB)


class MarginButton(MenuButton):
    """Shows the margin; its menu changes it for this machine, now and next time."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__("", "", self._fill, parent)
        self._document = document
        self._device: Device | None = None
        self._units: UnitSystem | None = None

    def show_plan(self, plan: Plan) -> None:
        """Show the margin of this plan's machine."""
        device = (plan.machine.gpus or plan.machine.devices)[0]
        units = self._document.units
        if device == self._device and units is self._units:
            return
        self._device, self._units = device, units
        number = margin_of(device)
        words = format_bytes(number.value, units) if number.value else trc("keep free", "nothing")
        if words != self.text():
            self.setText(words)
        self.setAccessibleName(tr("Keep {size} free", size=words))
        self.setToolTip(explanation_html(tr("Kept free"), explain(number, units)))

    def _fill(self, menu: QMenu) -> None:
        if self._device is None:
            return
        units = self._document.units
        own = self._document.margins.get(self._document.machine.id)
        usual = margin_of(replace(self._device, margin=None))
        group = QActionGroup(menu)
        usual_words = tr(
            "As usual: {size} ({source})",
            size=format_bytes(usual.value or 0, units),
            source=origin_words(usual.source),
        )
        self._add(menu, group, usual_words, None, own)
        menu.addSeparator()
        for size in _OFFERED:
            words = format_bytes(size, units) if size else trc("keep free", "Nothing")
            self._add(menu, group, words, size, own)
        if own is not None and own not in _OFFERED:
            self._add(menu, group, format_bytes(own, units), own, own)
        menu.addSeparator()
        menu.addAction(tr("Another size…")).triggered.connect(self._ask)

    def _add(
        self, menu: QMenu, group: QActionGroup, words: str, size: int | None, own: int | None
    ) -> None:
        action = QAction(words.replace("&", "&&"), menu)
        action.setCheckable(True)
        action.setChecked(size == own)
        action.triggered.connect(lambda: self._document.set_margin(size))
        group.addAction(action)
        menu.addAction(action)

    def _ask(self) -> None:
        if self._device is None:
            return
        machine, units = self._document.machine, self._document.units
        words = tr("What shall stay free on {machine}:", machine=spoken_name(machine.name))
        text = shown = format_bytes(margin_of(self._device).value or 0, units)
        while True:
            text, given = QInputDialog.getText(self, tr("Keep free"), words, text=text)
            if not given or text.strip() == shown:
                return
            try:
                self._document.set_margin(parse_bytes(plain(text), units.value))
                return
            except ValueError as error:
                words = f"{str(error)[:1].upper()}{str(error)[1:]}."
