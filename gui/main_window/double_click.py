"""The dialog that lets a double-click on a .gguf file open this program."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QCheckBox, QDialog, QDialogButtonBox, QVBoxLayout, QWidget

from core.language import mark, tr
from gui.widgets.dialog_size import open_at
from gui.widgets.text import Text
from gui.workers import association
from gui.workers.association import Association
from gui.workers.runner import Runner

_WHY = mark(
    "Weighbridge can be offered for .gguf files on your desktop: in the menu that opens a file "
    "with another program, and at a double-click. Only files of your own account are written."
)


class DoubleClickDialog(QDialog):
    """Says how it is, and does nothing before its button is pressed."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self.setWindowTitle(tr("Open .gguf files by double-click"))
        self.says = Text(tr("Looking at your desktop…"), wrap=True)
        self.default = QCheckBox(tr("&Make Weighbridge the program for double-clicks"))
        self.default.setEnabled(False)
        self.buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
        self.install = self.buttons.addButton(
            tr("&Offer it"), QDialogButtonBox.ButtonRole.ActionRole
        )
        action = QDialogButtonBox.ButtonRole.ActionRole
        self.take_out = self.buttons.addButton(tr("&Take it away"), action)
        self.take_out.setToolTip(tr("Offer Weighbridge for .gguf files no longer"))
        self.choose = self.buttons.addButton(tr("Choose the &default…"), action)
        self.choose.setToolTip(tr("Open the settings of your desktop: there only you can choose"))
        for button in (self.install, self.take_out):
            button.setEnabled(False)
        self.choose.hide()
        self._settings = ""
        self._runner = Runner("association", self)
        self._runner.finished.connect(self._show)
        self.install.clicked.connect(self._put_in)
        self.take_out.clicked.connect(self._take_out)
        self.choose.clicked.connect(lambda: QDesktopServices.openUrl(QUrl(self._settings)))
        self.buttons.rejected.connect(self.reject)
        column = QVBoxLayout(self)
        column.addWidget(Text(tr(_WHY), wrap=True))
        column.addWidget(self.says)
        column.addWidget(self.default)
        column.addStretch(1)
        column.addWidget(self.buttons)
        open_at(self, 60, self.sizeHint().height() // self.fontMetrics().height() + 1)
        self._runner.start(association.looking())

    def _put_in(self) -> None:
        self.install.setEnabled(False)
        self._runner.start(association.installing(default=self.default.isChecked()))

    def _take_out(self) -> None:
        self.take_out.setEnabled(False)
        self._runner.start(association.taking_away())

    def _show(self, found: Association) -> None:
        self.says.set_text(_words(found))
        able = found.problem is None
        self._settings = found.settings
        self.install.setEnabled(able)
        self.take_out.setEnabled(found.ours_to_take)
        self.choose.setVisible(bool(found.settings))
        self.default.setVisible(not found.settings)
        self.default.setEnabled(able and not found.ours)
        # Another program's place is taken only by whoever ticks the box.
        self.default.setChecked(able and not found.default)


def _words(found: Association) -> str:
    if found.problem is not None:
        return f"{tr(found.problem.message)} {tr(found.problem.advice)}".rstrip()
    if found.ours:
        return tr("A double-click on a .gguf file opens Weighbridge.")
    program = found.default.removesuffix(".desktop")
    if found.offered and program:
        return tr(
            "Weighbridge is offered for .gguf files; a double-click opens {program}.",
            program=program,
        )
    if found.offered:
        return tr("Weighbridge is offered for .gguf files; no program is set for a double-click.")
    if program:
        return tr("It is not offered yet; a double-click opens {program}.", program=program)
    return tr("It is not offered yet; no program is set for a double-click.")
