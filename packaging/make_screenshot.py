"""Draw the window with a specimen, as the README shows it: make_screenshot.py OUT.png"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from PySide6.QtGui import QFont
from PySide6.QtWidgets import QApplication

import tests.conftest  # noqa: F401 - the fonts and the scale of the visual tests
from gui.theme import Theme, ThemeMode
from tests.support.scenes import SCENES, WIDE, picture, window_of


def main(out: str) -> None:
    application = QApplication([])
    application.setFont(QFont("DejaVu Sans", 10))
    scene = next(scene for scene in SCENES if scene.name == "fits")
    with (
        tempfile.TemporaryDirectory() as folder,
        window_of(scene, WIDE, Theme(application, ThemeMode.LIGHT), Path(folder)) as window,
    ):
        if not picture(window).save(out):
            sys.exit(f"{out} could not be written")


if __name__ == "__main__":
    main(sys.argv[1])
