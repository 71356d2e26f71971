"""Labels in a few calm styles, sized after the system's font and following it and the theme."""

from __future__ import annotations

from enum import Enum
from functools import lru_cache
from math import ceil

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QFont, QFontDatabase, QFontMetrics, QImage, QPainter, QPalette
from PySide6.QtWidgets import QApplication, QLabel, QSizePolicy, QWidget

_INK = 64  # of 255: a paler row nobody misses
_TALL = "ÁÉÍÓÚÑÜÂÈÅ"


def qt_app() -> QApplication:
    """The application, which says when the system's font changes."""
    app = QApplication.instance()
    if not isinstance(app, QApplication):
        raise RuntimeError("a widget needs an application")
    return app


def fixed_font() -> QFont:
    """The system's font of letters of one width, as large as its other one."""
    made = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    made.setStyleHint(QFont.StyleHint.Monospace)
    made.setPointSizeF(QApplication.font().pointSizeF())
    return made


class Style(Enum):
    """Size relative to the system's font, weight, letter spacing in per cent, colour role."""

    BODY = (1.0, QFont.Weight.Normal, 100.0, QPalette.ColorRole.WindowText)
    MUTED = (1.0, QFont.Weight.Normal, 100.0, QPalette.ColorRole.PlaceholderText)
    STRONG = (1.0, QFont.Weight.DemiBold, 100.0, QPalette.ColorRole.WindowText)
    HEADING = (0.86, QFont.Weight.DemiBold, 108.0, QPalette.ColorRole.PlaceholderText)
    HEADLINE = (1.4, QFont.Weight.DemiBold, 100.0, QPalette.ColorRole.WindowText)

    @property
    def role(self) -> QPalette.ColorRole:
        """The palette's role for this text."""
        return self.value[3]

    def font(self) -> QFont:
        """The system's font in this style."""
        scale, weight, spacing, _ = self.value
        made = QFont(QApplication.font())
        made.setPointSizeF(made.pointSizeF() * scale)
        made.setWeight(weight)
        made.setLetterSpacing(QFont.SpacingType.PercentageSpacing, spacing)
        return made

    def metrics(self) -> QFontMetrics:
        """The measures of that font."""
        return QFontMetrics(self.font())

    def headroom(self) -> int:
        """Pixels that the accents of capitals reach beyond the height that the font claims."""
        font = self.font()
        ratio = qt_app().devicePixelRatio()
        return _beyond_ascent(font.toString(), font.hintingPreference(), ratio)


@lru_cache(maxsize=64)
def _beyond_ascent(name: str, hinting: QFont.HintingPreference, ratio: float) -> int:
    """As it is drawn: with hinting, the font's own measures are less than what is inked."""
    font = QFont()
    font.fromString(name)
    font.setHintingPreference(hinting)
    metrics = QFontMetrics(font)
    width, height = metrics.horizontalAdvance(_TALL) + metrics.height(), 3 * metrics.height()
    image = QImage(ceil(width * ratio), ceil(height * ratio), QImage.Format.Format_Grayscale8)
    image.setDevicePixelRatio(ratio)
    image.fill(0)
    painter = QPainter(image)
    painter.setFont(font)
    painter.setPen(Qt.GlobalColor.white)
    painter.drawText(QPoint(0, 2 * metrics.height()), _TALL)
    painter.end()
    line, pixels = image.bytesPerLine(), bytes(image.constBits())
    rows = (pixels[y * line : y * line + image.width()] for y in range(image.height()))
    top = next((y for y, row in enumerate(rows) if max(row) > _INK), image.height()) / ratio
    return max(0, ceil(2 * metrics.height() - top - metrics.ascent()))


class Text(QLabel):
    """Plain text in one of the styles. What a file says is never taken for markup."""

    def __init__(
        self,
        text: str = "",
        style: Style = Style.BODY,
        *,
        wrap: bool = False,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._style = style
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setForegroundRole(style.role)
        self._follow_font()
        qt_app().fontChanged.connect(self._follow_font)
        self.setIndent(0)
        self.setWordWrap(wrap)
        if wrap:
            self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.setText(text)

    def set_text(self, text: str) -> None:
        """Show another text; nothing is laid out again where it is the same."""
        if text != self.text():
            self.setText(text)

    def _follow_font(self) -> None:
        self.setFont(self._style.font())
        headroom = self._style.headroom()
        self.setContentsMargins(0, headroom, 0, headroom)
