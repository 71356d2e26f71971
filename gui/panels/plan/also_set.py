"""What is chosen without a control of its own: by a pasted command, or by advice."""

from __future__ import annotations

from PySide6.QtWidgets import QLabel, QPushButton, QWidget

from core.language import tr
from core.plan.choice import Choice
from gui.document import Document
from gui.widgets.text import Text
from gui.widgets.wrap import Wrap

_FIELDS = (
    "ubatch",
    "batch",
    "unified_cache",
    "swa_full",
    "backend",
    "draft_cache_k",
    "draft_cache_v",
)


class AlsoSet(Wrap):
    """Says it in words, and a button gives it back to the engine. There is nothing to show where
    nothing of the kind is chosen; ``label`` and the row are hidden then."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._document = document
        self.label = QLabel(tr("Also set"))
        self.words = Text()
        self.clear = QPushButton(tr("As the engine does"))
        self.clear.setToolTip(tr("Give these options back to the engine's defaults"))
        self.clear.clicked.connect(self._give_back)
        self.set_cells([self.words, self.clear])

    def show_choice(self, choice: Choice) -> None:
        """Show what of this choice has no other place."""
        said = ", ".join(_said(name, getattr(choice, name)) for name in _chosen(choice))
        if said != self.words.text():
            self.words.set_text(said)
            self.clear.setAccessibleName(tr("{settings}: as the engine does", settings=said))
        for part in (self.label, self):
            if part.isHidden() is bool(said):
                part.setVisible(bool(said))

    def _give_back(self) -> None:
        self._document.end_step()
        usual = Choice()
        names = _chosen(self._document.choice)
        self._document.choose(**{name: getattr(usual, name) for name in names})


def _chosen(choice: Choice) -> list[str]:
    usual = Choice()
    return [name for name in _FIELDS if getattr(choice, name) != getattr(usual, name)]


def _said(name: str, value: object) -> str:
    match name:
        case "unified_cache":
            return tr("one cache for all slots") if value else tr("a cache for each slot")
        case "swa_full":
            return tr("whole context in windowed layers")
        case "ubatch":
            return tr("ubatch {count:,}", count=value)
        case "batch":
            return tr("batch {count:,}", count=value)
        case "draft_cache_k":
            return tr("K cache of the draft {type}", type=value)
        case "draft_cache_v":
            return tr("V cache of the draft {type}", type=value)
    return tr("backend {name}", name=value)
