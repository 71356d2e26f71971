"""What waits until the window has been painted, so that it is painted soon."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QTimer
from PySide6.QtWidgets import QStackedWidget

from gui.main_window.opening import Opening
from gui.main_window.this_computer import ThisComputer
from gui.panels.welcome import WelcomePanel
from gui.workers import opening as reading
from gui.workers.runner import Runner

# A timer's turn comes after everything that waits to be painted.
_AFTER_PAINT_MS = 1


class FirstLooks(QObject):
    """Looks at this computer, whether the recent files are still there, and what the specimens are;
    the latter once the welcome page is in front."""

    def __init__(
        self,
        computer: ThisComputer,
        opening: Opening,
        welcome: WelcomePanel,
        pages: QStackedWidget,
        specimens: Sequence[Path],
        parent: QObject | None = None,
    ) -> None:
        super().__init__(parent)
        self._computer = computer
        self._opening = opening
        self._welcome = welcome
        self._pages = pages
        self._specimens = specimens
        self._described = False
        self._looker = Runner("recent files", self)
        self._looker.finished.connect(opening.show_missing)
        self._summariser = Runner("specimens", self)
        self._summariser.finished.connect(welcome.set_summaries)

    def begin(self) -> None:
        """The window has been painted; a file that is being read comes first."""
        reader = self._opening.reader
        if reader.running:
            # The file is what the user waits for; more threads would only slow it down.
            reader.ended.connect(
                lambda: QTimer.singleShot(_AFTER_PAINT_MS, self, self._look),
                Qt.ConnectionType.SingleShotConnection,
            )
        else:
            self._look()
            # Whoever reads the welcome page does not notice; with a file the plot loads itself.
            QTimer.singleShot(0, lambda: import_module("gui.widgets.plot_canvas"))

    def _look(self) -> None:
        self._computer.detect()
        self._looker.start(reading.missing(self._opening.recent))
        self._describe_specimens()
        self._pages.currentChanged.connect(self._describe_specimens)

    def _describe_specimens(self) -> None:
        if self._pages.currentWidget() is self._welcome and not self._described:
            self._described = True
            self._summariser.start(reading.summarising(self._specimens))
