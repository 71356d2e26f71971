"""Light and dark: enough contrast, nothing told by colour alone, the system followed."""

from __future__ import annotations

from itertools import pairwise

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QSpinBox,
    QWidget,
)
from pytestqt.qtbot import QtBot

from core.model.model import Role
from core.plan.plan import PartKind, Verdict
from core.problems import Severity
from gui import theme as theme_module
from gui.theme import DARK, LIGHT, Colors, Theme, ThemeMode
from gui.widgets.curves_plot import MOST, line_pen
from gui.widgets.text import Style, Text

THEMES = pytest.mark.parametrize("colors", [LIGHT, DARK], ids=["light", "dark"])
GROUNDS = ("window", "base", "raised")


def luminance(color: str) -> float:
    """WCAG 2.2, relative luminance of sRGB."""
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """WCAG 2.2, contrast ratio."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def mixed(color: str, ground: str, share: float) -> str:
    """A colour laid over a ground, so much of it."""
    one, other = QColor(color), QColor(ground)
    pairs = ((one.red(), other.red()), (one.green(), other.green()), (one.blue(), other.blue()))
    return QColor(*(round(share * a + (1 - share) * b) for a, b in pairs)).name()


def test_the_contrast_formula_gives_the_published_ratios() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)


@THEMES
def test_every_text_has_wcag_aa_contrast_on_every_ground(colors: Colors) -> None:
    for name in ("text", "muted", "accent", "good", "warn", "bad"):
        for ground in GROUNDS:
            ratio = contrast(getattr(colors, name), getattr(colors, ground))
            assert ratio >= 4.5, f"{name} on {ground}: {ratio:.2f}"
    assert contrast(colors.on_accent, colors.accent) >= 4.5


@THEMES
def test_every_part_and_role_stands_out_from_what_is_behind_it(colors: Colors) -> None:
    for key in (*PartKind, *Role):
        for ground in ("window", "base"):
            # The hatch is drawn in the ground's colour, so this is its contrast as well.
            ratio = contrast(colors.tone(key).color, getattr(colors, ground))
            assert ratio >= 3.0, f"{key} on {ground}: {ratio:.2f}"


@THEMES
def test_the_edge_of_what_is_filled_in_stands_out_of_every_ground(colors: Colors) -> None:
    for ground in GROUNDS:
        ratio = contrast(colors.edge, getattr(colors, ground))
        assert ratio >= 3.0, f"{ground}: {ratio:.2f}"


@pytest.mark.parametrize("mode", [ThemeMode.LIGHT, ThemeMode.DARK])
@pytest.mark.parametrize(
    "kind",
    [QCheckBox, QComboBox, QLineEdit, QPlainTextEdit, QPushButton, QRadioButton, QSpinBox],
)
def test_a_control_is_drawn_with_an_edge_that_can_be_seen(
    qtbot: QtBot, theme: Theme, mode: ThemeMode, kind: type[QWidget]
) -> None:
    """WCAG 2.2, 1.4.11: 3 to 1. An unchecked box had hardly any edge in the dark."""
    theme.set_mode(mode)
    control = kind()
    qtbot.addWidget(control)
    control.resize(80, 40)
    window = theme_module.colors().window
    image = control.grab().toImage()
    crossed = [image.pixelColor(x, image.height() // 2).name() for x in range(control.width())]
    assert max(contrast(color, window) for color in crossed[:20]) >= 3.0


@THEMES
def test_words_on_a_coloured_ground_can_be_read(colors: Colors) -> None:
    """The grounds of tokens, of cells with a verdict and of the turn that is pointed at."""
    grounds = [mixed(colors.accent, colors.base, share) for share in (0.30, 0.12)]
    grounds += [mixed(colors.verdict(v).color, colors.base, 0.16) for v in Verdict]
    for ground in grounds:
        assert contrast(colors.text, ground) >= 4.5, ground


@THEMES
def test_the_lines_of_a_comparison_stand_out_and_differ_in_colour_and_stroke(
    colors: Colors,
) -> None:
    pens = [line_pen(number, colors) for number in range(MOST)]
    for pen in pens:
        assert contrast(pen.color().name(), colors.window) >= 3.0
    assert len({pen.color().name() for pen in pens}) == MOST
    for one, other in pairwise(pens):
        assert one.style() is not other.style()


@THEMES
def test_every_part_and_role_has_a_word_and_a_look_of_its_own(colors: Colors) -> None:
    for kinds in (tuple(PartKind), tuple(Role)):
        tones = [colors.tone(key) for key in kinds]
        assert all(tone.word for tone in tones)
        assert len({tone.word for tone in tones}) == len(kinds)
        assert len({(tone.color, tone.pattern) for tone in tones}) == len(kinds)


@THEMES
def test_parts_of_a_budget_differ_without_their_colour(colors: Colors) -> None:
    patterns = [colors.tone(kind).pattern for kind in PartKind]
    assert len(set(patterns)) == len(patterns)


@THEMES
def test_verdicts_and_severities_differ_by_icon_and_word(colors: Colors) -> None:
    for marks in (
        [colors.verdict(verdict) for verdict in Verdict],
        [colors.severity(severity) for severity in Severity],
    ):
        assert len({mark.icon for mark in marks}) == len(marks)
        assert len({mark.word for mark in marks}) == len(marks)
        for mark in marks:
            assert not theme_module.icon(mark.icon, mark.color).isNull()


@THEMES
def test_what_is_unknown_is_never_red(colors: Colors) -> None:
    assert colors.verdict(Verdict.UNKNOWN).color == colors.muted


def test_an_icon_is_drawn_in_the_colour_asked_for() -> None:
    image = theme_module.icon("fits", "#ff0000").pixmap(32, 32).toImage()
    seen = {
        image.pixelColor(x, y).name()
        for x in range(image.width())
        for y in range(image.height())
        if image.pixelColor(x, y).alpha() == 255
    }
    assert seen == {"#ff0000"}


def test_a_chosen_theme_reaches_the_palette_and_the_colours(theme: Theme) -> None:
    for mode, colors in ((ThemeMode.DARK, DARK), (ThemeMode.LIGHT, LIGHT)):
        theme.set_mode(mode)
        assert theme.mode is mode
        assert theme_module.colors() == colors
        palette = QApplication.palette()
        assert palette.color(QPalette.ColorRole.Window) == QColor(colors.window)
        assert palette.color(QPalette.ColorRole.PlaceholderText) == QColor(colors.muted)


def test_the_system_theme_is_followed_while_it_changes(theme: Theme, qapp: QApplication) -> None:
    theme.set_mode(ThemeMode.SYSTEM)
    qapp.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert theme_module.colors() == DARK
    qapp.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Light)
    assert theme_module.colors() == LIGHT


def test_a_pinned_theme_does_not_follow_the_system(theme: Theme, qapp: QApplication) -> None:
    theme.set_mode(ThemeMode.LIGHT)
    qapp.styleHints().colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert theme_module.colors() == LIGHT


def test_what_is_shown_is_repainted_when_the_theme_changes(
    qtbot: QtBot, theme: Theme, qapp: QApplication
) -> None:
    text = Text("weighed", Style.MUTED)
    qtbot.addWidget(text)
    text.show()
    light = text.grab().toImage()
    theme.set_mode(ThemeMode.DARK)
    qapp.processEvents()
    dark = text.grab().toImage()
    assert light.pixelColor(0, 0) == QColor(LIGHT.window)
    assert dark.pixelColor(0, 0) == QColor(DARK.window)


def test_text_follows_the_systems_font_size(qtbot: QtBot, qapp: QApplication) -> None:
    before = qapp.font()
    texts = {style: Text("weighed", style) for style in Style}
    for text in texts.values():
        qtbot.addWidget(text)
    sizes = {style: text.font().pointSizeF() for style, text in texts.items()}
    bigger = QFont(before)
    bigger.setPointSizeF(2 * before.pointSizeF())
    try:
        qapp.setFont(bigger)
        qapp.processEvents()
        for style, text in texts.items():
            assert text.font().pointSizeF() == pytest.approx(2 * sizes[style]), style
    finally:
        qapp.setFont(before)
    assert sizes[Style.HEADLINE] > sizes[Style.BODY] > sizes[Style.HEADING]


def test_what_a_file_says_is_never_taken_for_markup(qtbot: QtBot) -> None:
    text = Text("<b>bold</b>")
    qtbot.addWidget(text)
    assert text.textFormat() is Qt.TextFormat.PlainText
