"""Problems, said in place: what happened, where, and what to do. Several stack."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QColor, QGuiApplication, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from core.language import tr, trn
from core.problems import Problem, Severity
from gui import theme
from gui.widgets.icon_button import IconButton
from gui.widgets.severity_icon import SeverityIcon
from gui.widgets.text import Style, Text


def place(problem: Problem) -> str:
    """Where it happened: path or name, byte offset, missing bytes; empty where nothing is said."""
    parts = [problem.where] if problem.where else []
    if problem.offset is not None:
        parts.append(tr("at byte {byte:,}", byte=problem.offset))
    if problem.missing_bytes:
        parts.append(
            trn("{count:,} bytes missing", "{count:,} bytes missing", problem.missing_bytes)
        )
    return ", ".join(parts)


def details(problem: Problem) -> str:
    """The whole problem as text, for a bug report."""
    word = tr(problem.severity.value).capitalize()
    lines = [f"{word} ({problem.code}): {tr(problem.message)}"]
    lines += [line for line in (place(problem), tr(problem.advice)) if line]
    return "\n".join(lines)


class Banner(QWidget):
    """One problem. The cross hides it, the button beside it copies all of it, and the one with the
    word ``action``, if any, is what to do about it."""

    def __init__(self, problem: Problem, action: str = "", parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.problem = problem
        icon = SeverityIcon(problem.severity)
        word = theme.colors().severity(problem.severity).word
        message = Text(f"{word}: {tr(problem.message)}", Style.STRONG, wrap=True)
        self.copy = IconButton("copy", tr("Copy details"))
        self.copy.clicked.connect(self._copy_details)
        self.dismiss = IconButton("close", tr("Dismiss"))
        # The first line, the icon and the buttons stand on one line.
        line_height = self.dismiss.sizeHint().height()
        message.setMinimumHeight(line_height)
        icon.setFixedHeight(line_height)
        texts = QVBoxLayout()
        texts.setSpacing(2)
        texts.addWidget(message)
        for line, style in ((place(problem), Style.MUTED), (tr(problem.advice), Style.BODY)):
            if line:
                label = Text(line, style, wrap=True)
                label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
                texts.addWidget(label)
        row = QHBoxLayout(self)
        space = self.fontMetrics().averageCharWidth()
        row.setContentsMargins(2 * space, space, space, space)
        row.setSpacing(space)
        row.addWidget(icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(texts, 1)
        self.action = QPushButton(action)
        self.action.setVisible(bool(action))
        for button in (self.action, self.copy, self.dismiss):
            row.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Minimum)
        self.setAccessibleName(word)
        self.setAccessibleDescription(details(problem))

    def paintEvent(self, event: QPaintEvent) -> None:
        """A raised surface with a stripe in the colour of the severity."""
        painter = QPainter(self)
        c = theme.colors()
        painter.fillRect(self.rect(), QColor(c.raised))
        stripe = max(3, self.fontMetrics().averageCharWidth() // 2)
        mark = c.severity(self.problem.severity)
        painter.fillRect(0, 0, stripe, self.height(), QColor(mark.color))

    def _copy_details(self) -> None:
        QGuiApplication.clipboard().setText(details(self.problem))


class BannerStack(QWidget):
    """The problems that stand now, most severe first. One that was dismissed stays away until it
    has gone and come back.

    ``actions`` are the words of a button by the code of a problem; ``acted`` carries the problem.
    """

    acted = Signal(Problem)

    def __init__(
        self, actions: Mapping[str, str] | None = None, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._actions = actions or {}
        self._banners: list[Banner] = []
        self._dismissed: set[Problem] = set()
        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(2)
        self.setVisible(False)

    @property
    def banners(self) -> tuple[Banner, ...]:
        """What is shown, from the top."""
        return tuple(self._banners)

    def set_problems(self, problems: Sequence[Problem]) -> None:
        """Show these problems, each once."""
        self._dismissed &= set(problems)
        order = list(Severity)
        wanted = [p for p in dict.fromkeys(problems) if p not in self._dismissed]
        wanted.sort(key=lambda p: order.index(p.severity), reverse=True)
        if wanted == [banner.problem for banner in self._banners]:
            return
        for banner in self._banners:
            self._column.removeWidget(banner)
            banner.hide()
            banner.deleteLater()
        self._banners = [Banner(p, self._actions.get(p.code, "")) for p in wanted]
        for banner in self._banners:
            banner.action.clicked.connect(lambda _=False, p=banner.problem: self.acted.emit(p))
            banner.dismiss.clicked.connect(lambda _=False, b=banner: self._dismiss(b))
            self._column.addWidget(banner)
        self.setVisible(bool(self._banners))

    def _dismiss(self, banner: Banner) -> None:
        self._dismissed.add(banner.problem)
        self._banners.remove(banner)
        self._column.removeWidget(banner)
        banner.hide()
        banner.deleteLater()
        self.setVisible(bool(self._banners))
