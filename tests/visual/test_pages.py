"""Every page looks as it did when somebody last looked at it and found it good.

The pictures are in tests/visual/golden. After a change that is meant, draw them anew with
`WEIGHBRIDGE_DRAW=1 python -m pytest tests/visual` and look at each before committing it.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QLibraryInfo
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QApplication

from gui.theme import Theme, ThemeMode
from tests.support.scenes import NARROW, SCENES, WIDE, Scene, picture, window_of

GOLDEN = Path(__file__).parent / "golden"
# Another minor version of Qt draws text and frames differently.
DRAWN_WITH = (6, 11)
# Of 255. The same Qt draws the same bytes; another processor may round a blend otherwise.
SHADES = 8

pytestmark = [pytest.mark.visual, pytest.mark.xdist_group("visual")]


LIGHT, DARK = ThemeMode.LIGHT, ThemeMode.DARK
SPANISH_NARROW = ("fits", "session", "measure")
SPANISH = (
    *SPANISH_NARROW,
    "welcome",
    "does-not-fit",
    "compare-machines",
    "history",
    "explain-cache",
)
PAGES = [
    *((scene, mode, WIDE, "en") for scene in SCENES for mode in (LIGHT, DARK)),
    *((scene, LIGHT, NARROW, "en") for scene in SCENES),
    # Spanish is a quarter longer.
    *((scene, LIGHT, WIDE, "es") for scene in SCENES if scene.name in SPANISH),
    *((scene, LIGHT, NARROW, "es") for scene in SCENES if scene.name in SPANISH_NARROW),
]


def name_of(scene: Scene, mode: ThemeMode, size: tuple[int, int], language: str) -> str:
    name = f"{scene.name}-{mode.value}-{size[0]}"
    return name if language == "en" else f"{name}-{language}"


@pytest.mark.parametrize(
    ("scene", "mode", "size", "language"), PAGES, ids=[name_of(*page) for page in PAGES]
)
def test_a_page_looks_as_it_was_last_approved(
    scene: Scene,
    mode: ThemeMode,
    size: tuple[int, int],
    language: str,
    theme: Theme,
    qapp: QApplication,
    tmp_path: Path,
) -> None:
    qapp.setCursorFlashTime(0)
    theme.set_mode(mode)
    with window_of(scene, size, theme, tmp_path, language) as window:
        image = picture(window, busy=scene.busy)
    assert (image.width(), image.height()) == size
    name = f"{name_of(scene, mode, size, language)}.png"
    if os.environ.get("WEIGHBRIDGE_DRAW"):
        GOLDEN.mkdir(exist_ok=True)
        assert image.save(str(GOLDEN / name))
        return
    assert len(np.unique(pixels(image).reshape(-1, 3), axis=0)) > 50, "the page is empty"
    if QLibraryInfo.version().segments()[:2] != list(DRAWN_WITH):
        pytest.skip(f"the approved pictures were drawn with Qt {DRAWN_WITH[0]}.{DRAWN_WITH[1]}")
    approved = QImage(str(GOLDEN / name)).convertToFormat(QImage.Format.Format_RGB32)
    assert not approved.isNull(), f"no approved picture {name}"
    off = np.abs(pixels(image).astype(int) - pixels(approved)).max(axis=2) > SHADES
    if off.any():
        actual = tmp_path / name
        image.save(str(actual))
        rows, columns = np.nonzero(off)
        pytest.fail(
            f"{off.sum()} pixels differ, between x {columns.min()}-{columns.max()} "
            f"and y {rows.min()}-{rows.max()}; drawn now: {actual}"
        )


def pixels(image: QImage) -> np.ndarray[tuple[int, ...], np.dtype[np.uint8]]:
    """Height x width x 3, in the order blue, green, red."""
    array = np.frombuffer(image.constBits(), np.uint8)
    return array.reshape(image.height(), image.width(), 4)[:, :, :3]
