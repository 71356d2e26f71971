"""Light and dark: the palettes, and the colour, hatch and word of every thing that is drawn.

Nothing on the screen is told by colour alone: a `Tone` always carries a pattern and a word. The
program brings its own palettes, because Qt's own colour scheme switch does nothing where there is
no platform theme. Which set of colours is in use is read from the application's palette, so there
is no second place that could disagree with what is painted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from functools import lru_cache
from importlib.resources import files
from typing import TypeAlias

from PySide6.QtCore import QByteArray, QObject, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QBrush, QColor, QIcon, QPainter, QPalette, QPixmap
from PySide6.QtSvg import QSvgRenderer
from PySide6.QtWidgets import QApplication, QToolTip

from core.drawing import tones
from core.language import tr
from core.model.model import Role
from core.plan.plan import PartKind, Verdict
from core.plan.verdict import WORDS
from core.problems import Severity


class ThemeMode(StrEnum):
    SYSTEM = "system"
    LIGHT = "light"
    DARK = "dark"


@dataclass(frozen=True, slots=True)
class Tone:
    """How one thing is drawn and what it is called. ``color`` is "#rrggbb", ``name`` marked for
    translation."""

    color: str
    pattern: Qt.BrushStyle
    name: str

    @property
    def word(self) -> str:
        """What it is called in the reader's language."""
        return tr(self.name)


@dataclass(frozen=True, slots=True)
class Mark:
    """How a state is said: a colour, the name of an icon in resources/icons, and words."""

    color: str
    icon: str
    word: str


Toned: TypeAlias = PartKind | Role


@dataclass(frozen=True, slots=True)
class Colors(tones.Shades):
    """Everything that is drawn, in one theme."""

    dark: bool
    parts: Mapping[PartKind, Tone]
    roles: Mapping[Role, Tone]

    def tone(self, key: Toned | None) -> Tone:
        """The tone of a memory part or a role; the plain accent for None."""
        if key is None:
            return Tone(self.accent, Qt.BrushStyle.SolidPattern, "")
        return self.parts[key] if isinstance(key, PartKind) else self.roles[key]

    def verdict(self, verdict: Verdict) -> Mark:
        """How a verdict is said."""
        color = {
            Verdict.FITS: self.good,
            Verdict.TIGHT: self.warn,
            Verdict.DOES_NOT_FIT: self.bad,
            Verdict.UNKNOWN: self.muted,
        }[verdict]
        return Mark(color, verdict.value, tr(WORDS[verdict]))

    def severity(self, severity: Severity) -> Mark:
        """How the severity of a problem is said."""
        color = {Severity.NOTE: self.accent, Severity.WARNING: self.warn, Severity.ERROR: self.bad}
        return Mark(color[severity], severity.value, tr(severity.value).capitalize())


# Neighbours in a bar differ in lightness and pattern as well as in hue.
_P = Qt.BrushStyle
_PATTERNS = {
    PartKind.OTHERS: _P.Dense5Pattern,
    PartKind.WEIGHTS: _P.SolidPattern,
    PartKind.CACHE: _P.BDiagPattern,
    PartKind.STATE: _P.VerPattern,
    PartKind.COMPUTE: _P.FDiagPattern,
    PartKind.OUTPUT: _P.HorPattern,
    PartKind.PROJECTOR: _P.CrossPattern,
    PartKind.DRAFT: _P.DiagCrossPattern,
    PartKind.OVERHEAD: _P.Dense6Pattern,
}
_ROLES: dict[Role, tuple[tones.Hue, Qt.BrushStyle]] = {
    Role.EMBEDDING: (tones.GREY, _P.BDiagPattern),
    Role.LAYER_EMBEDDING: (tones.GREY, _P.FDiagPattern),
    Role.ATTENTION: (tones.ORANGE, _P.SolidPattern),
    Role.RECURRENT: (tones.TEAL, _P.VerPattern),
    Role.FEED_FORWARD: (tones.BLUE, _P.SolidPattern),
    Role.EXPERTS: (tones.BLUE, _P.BDiagPattern),
    Role.SHARED_EXPERTS: (tones.BLUE, _P.FDiagPattern),
    Role.ROUTER: (tones.OLIVE, _P.HorPattern),
    Role.NORMS: (tones.SLATE, _P.CrossPattern),
    Role.HEAD: (tones.VIOLET, _P.SolidPattern),
    Role.DRAFT: (tones.GREEN, _P.DiagCrossPattern),
    Role.VISION: (tones.PINK, _P.VerPattern),
    Role.OTHER: (tones.BROWN, _P.Dense6Pattern),
}


def _tones(dark: bool) -> tuple[dict[PartKind, Tone], dict[Role, Tone]]:
    parts = {k: Tone(hue[dark], _PATTERNS[k], word) for k, (hue, word) in tones.PARTS.items()}
    roles = {k: Tone(hue[dark], pattern, k.value) for k, (hue, pattern) in _ROLES.items()}
    return parts, roles


_LIGHT_PARTS, _LIGHT_ROLES = _tones(dark=False)
_DARK_PARTS, _DARK_ROLES = _tones(dark=True)

LIGHT = Colors(dark=False, **asdict(tones.LIGHT), parts=_LIGHT_PARTS, roles=_LIGHT_ROLES)
DARK = Colors(dark=True, **asdict(tones.DARK), parts=_DARK_PARTS, roles=_DARK_ROLES)


def colors() -> Colors:
    """The colours in use now, by the application's palette."""
    return DARK if QApplication.palette().window().color().lightness() < 128 else LIGHT


def palette(c: Colors) -> QPalette:
    """The Qt palette of one theme. Muted text is the role PlaceholderText, hairlines are Mid."""
    role = QPalette.ColorRole
    made = QPalette(QColor(c.raised), QColor(c.window))
    for name, color in {
        role.Window: c.window,
        role.WindowText: c.text,
        role.Base: c.base,
        role.AlternateBase: c.window,
        role.Text: c.text,
        role.PlaceholderText: c.muted,
        role.Button: c.raised,
        role.ButtonText: c.text,
        role.BrightText: c.bad,
        role.ToolTipBase: c.base,
        role.ToolTipText: c.text,
        role.Highlight: c.accent,
        role.HighlightedText: c.on_accent,
        role.Accent: c.accent,
        role.Link: c.accent,
        role.LinkVisited: c.accent,
        role.Mid: c.line,
    }.items():
        made.setColor(name, QColor(color))
    for name in (role.WindowText, role.Text, role.ButtonText, role.HighlightedText):
        made.setColor(QPalette.ColorGroup.Disabled, name, QColor(c.muted))
    made.setColor(QPalette.ColorGroup.Disabled, role.Highlight, QColor(c.line))
    return made


# What is known by its edge: a box to tick, a line to write in, the handle of a slider.
_EDGED = (
    "QAbstractSpinBox",
    "QCheckBox",
    "QComboBox",
    "QLineEdit",
    "QPlainTextEdit",
    "QPushButton",
    "QRadioButton",
    "QSlider",
    "QTextEdit",
    "QToolButton",
)
_DARKER = 140  # per cent: how Fusion makes an edge from the ground that it believes to be on


def edged(c: Colors) -> QPalette:
    """The palette of those controls. Fusion draws their edges in a darker shade of Window, which
    no dark ground shows; they paint nothing else in it."""
    made = palette(c)
    made.setColor(QPalette.ColorRole.Window, QColor(c.edge).lighter(_DARKER))
    return made


class Theme(QObject):
    """Keeps the application in the theme that was chosen, following the system where asked to."""

    def __init__(self, app: QApplication, mode: ThemeMode = ThemeMode.SYSTEM) -> None:
        super().__init__(app)
        self._app = app
        self._mode = mode
        app.setStyle("Fusion")
        app.styleHints().colorSchemeChanged.connect(self._system_changed)
        self.set_mode(mode)

    @property
    def mode(self) -> ThemeMode:
        """What was chosen."""
        return self._mode

    def set_mode(self, mode: ThemeMode) -> None:
        """Choose a theme; everything on the screen is repainted in it."""
        self._mode = mode
        # The hint gives native title bars and dialogs the same scheme where it is taken.
        self._app.styleHints().setColorScheme(
            {
                ThemeMode.SYSTEM: Qt.ColorScheme.Unknown,
                ThemeMode.LIGHT: Qt.ColorScheme.Light,
                ThemeMode.DARK: Qt.ColorScheme.Dark,
            }[mode]
        )
        self._apply(self._app.styleHints().colorScheme())

    def _system_changed(self, scheme: Qt.ColorScheme) -> None:
        if self._mode is ThemeMode.SYSTEM:
            self._apply(scheme)

    def _apply(self, scheme: Qt.ColorScheme) -> None:
        asked = {ThemeMode.LIGHT: False, ThemeMode.DARK: True}
        dark = asked.get(self._mode, scheme is Qt.ColorScheme.Dark)
        c = DARK if dark else LIGHT
        made = palette(c)
        self._app.setPalette(made)
        for kind in _EDGED:
            self._app.setPalette(edged(c), kind)  # type: ignore[arg-type]  # as Qt itself takes it
        QToolTip.setPalette(made)


def fill(painter: QPainter, rect: QRect, tone: Tone, behind: str) -> None:
    """Fill a rectangle with a tone; its hatch is drawn in ``behind``, the colour around it."""
    painter.fillRect(rect, QColor(tone.color))
    if tone.pattern is not Qt.BrushStyle.SolidPattern:
        painter.fillRect(rect, QBrush(QColor(behind), tone.pattern))


def overflow(c: Colors) -> QBrush:
    """The hatch of what lies beyond a capacity."""
    return QBrush(QColor(c.bad), Qt.BrushStyle.FDiagPattern)


def draw_focus(painter: QPainter, rect: QRect) -> None:
    """The edge of a wide view that has the keyboard."""
    draw_frame(painter, rect, colors().accent)


def draw_frame(painter: QPainter, rect: QRect, color: str) -> None:
    """A frame of one pixel inside the rectangle. A pen would lose two of its sides where a pixel of
    the window is one and a half of the screen's."""
    left, top, width, height = rect.left(), rect.top(), rect.width(), rect.height()
    for side in (
        QRect(left, top, width, 1),
        QRect(left, top + height - 1, width, 1),
        QRect(left, top, 1, height),
        QRect(left + width - 1, top, 1, height),
    ):
        painter.fillRect(side, QColor(color))


@lru_cache(maxsize=256)
def _renderer(name: str, color: str) -> QSvgRenderer:
    text = files("resources").joinpath("icons", f"{name}.svg").read_text(encoding="utf-8")
    return QSvgRenderer(QByteArray(text.replace("currentColor", color).encode()))


def draw_icon(painter: QPainter, rect: QRect, name: str, color: str) -> None:
    """Draw an icon of resources/icons in one colour ("#rrggbb"), sharp at any size."""
    _renderer(name, color).render(painter, QRectF(rect))


@lru_cache(maxsize=256)
def icon(name: str, color: str) -> QIcon:
    """The same as a QIcon, at the sizes that buttons and windows need."""
    made = QIcon()
    for side in (14, 16, 18, 20, 24, 32, 48, 64, 128, 256):
        pixmap = QPixmap(QSize(side, side))
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        draw_icon(painter, pixmap.rect(), name, color)
        painter.end()
        made.addPixmap(pixmap)
    return made
