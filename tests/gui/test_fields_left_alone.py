"""Every field of every page and dialog: what it shows, typed once more, changes nothing."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from PySide6.QtWidgets import QAbstractSpinBox, QApplication, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from core.machine import Machine, combine, custom
from gui import settings
from gui.language import Speech
from gui.main_window import MainWindow
from gui.settings import StoredComparison
from gui.theme import Theme
from tests.support.every_page import dialogs, open_specimen, pages
from tests.support.shown_window import shown_window

# Nothing of it is round: what a field shows of it is not all of it.
HERE = combine(
    custom(24_564 * 2**20, 1_008_096_000_000.0), custom(65_698_123_776, 51.20012e9, gpu=False)
)
RAM = "68719476737B@51.20012"
PRICES = (("nvidia-geforce-rtx-3090", 12_345.67),)


def figures(machine: Machine) -> list[tuple[float | None, float | None]]:
    return [(d.memory.value, d.bandwidth.value) for d in machine.devices]


def kept(window: MainWindow) -> list[object]:
    """What a field could change."""
    window.kept.save()
    stored = window.settings
    return [
        window.document.choice,
        figures(window.document.machine),
        window.document.margins,
        stored.comparison,
        stored.session,
    ]


def type_again(inside: QWidget) -> Iterator[str]:
    """The names of the fields, each after its text was typed once more."""
    for box in inside.findChildren(QAbstractSpinBox):
        line = box.lineEdit()
        if box.isVisible() and box.isEnabled() and line is not None:
            line.selectAll()
            line.insert(line.text())
            box.interpretText()
            box.editingFinished.emit()
            yield box.accessibleName() or box.objectName()
    for line in inside.findChildren(QLineEdit):
        inner = isinstance(line.parentWidget(), QAbstractSpinBox)
        if line.isVisible() and line.isEnabled() and not inner and line.text():
            line.selectAll()
            line.insert(line.text())
            line.editingFinished.emit()
            yield line.accessibleName() or line.objectName()


def test_a_field_that_gets_the_text_it_has_changes_nothing(
    qtbot: QtBot, qapp: QApplication, theme: Theme, tmp_path: Path
) -> None:
    speech = Speech(qapp)
    speech.speak("en", "12.345,6")
    stored = StoredComparison(
        machines=("nvidia-geforce-rtx-3090",), prices=PRICES, prompt=12_345, ram=RAM
    )
    settings.save(tmp_path / "settings.json", settings.Settings(comparison=stored))
    fields: set[str] = set()
    try:
        with shown_window(qtbot, theme, tmp_path, HERE, (1280, 900)) as window:
            open_specimen(window, "Qwen3-4B")
            window.document.choose(context=12_345, slots=3)
            for views in (pages, dialogs):
                for place, shown in views(window):
                    before = kept(window)
                    for name in type_again(shown):
                        fields.add(name)
                        assert kept(window) == before, f"{name} on {place}"
    finally:
        speech.speak("en", "")
    assert len(fields) > 30, fields
