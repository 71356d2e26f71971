"""Labels in a few calm styles, sized after the system's font and following it and the theme."""

from __future__ import annotations

from enum import Enum

from PySide6.QtCore import Qt
from PySide6.QtGui import QFont, QFontDatabase, QFontMetrics, QPalette
from PySide6.QtWidgets import QApplication, QLabel, QSizePolicy, QWidget


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
