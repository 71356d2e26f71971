"""The page "Explain": caches, formats, how text is cut, and how fast others were."""

from __future__ import annotations

from PySide6.QtWidgets import QTabWidget, QVBoxLayout, QWidget

from core.language import tr
from gui.document import Document
from gui.panels.explain.block_view import BlockView
from gui.panels.explain.cache_growth import CacheGrowth
from gui.panels.explain.published_view import PublishedView
from gui.panels.explain.token_view import TokenView
from gui.widgets.scrolled import scrolled


class ExplainPage(QWidget):
    """One picture at a time."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.cache = CacheGrowth(document)
        self.blocks = BlockView(document)
        self.tokens = TokenView(document)
        self.published = PublishedView(document)
        self.tabs = QTabWidget()
        self.tabs.setDocumentMode(True)
        self.tabs.setAccessibleName(tr("What is explained"))
        for widget, name in (
            (self.cache, tr("Why there is a cache")),
            (self.blocks, tr("What a format does")),
            (self.tokens, tr("How text is cut")),
            (self.published, tr("How fast others were")),
        ):
            self.tabs.addTab(scrolled(widget, name), name)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.tabs)
        self.setFocusProxy(self.tabs.tabBar())
