"""The glossary: a list of words that can be searched, and what each of them means."""

from __future__ import annotations

from html import escape

from PySide6.QtCore import Qt, QUrl
from PySide6.QtWidgets import QDialog, QHBoxLayout, QTextBrowser, QVBoxLayout, QWidget

from core.explain.glossary import Term, search, term_named
from core.language import tr
from gui.tables.filter_edit import FilterEdit
from gui.widgets.dialog_size import open_at
from gui.widgets.line_list import LineList
from gui.widgets.text import Style

# Characters and lines: the longest text without scrolling.
_SIZE = (96, 26)
_LIST = 30  # characters


class Glossary(QDialog):
    """``show_term`` brings it to the front at one word."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setWindowTitle(tr("Glossary"))
        self._found: list[Term] = []
        self.filter = FilterEdit(tr("Search words and texts"))
        self.list = LineList(tr("Words"))
        self.text = QTextBrowser()
        self.text.setAccessibleName(tr("What it means"))
        self.text.setPlaceholderText(tr("Choose a word, or search for one."))
        self.text.setOpenLinks(False)
        self.text.document().setDocumentMargin(self.fontMetrics().height() // 2)
        self.text.anchorClicked.connect(self._follow)
        m = self.fontMetrics()
        self.list.setFixedWidth(_LIST * m.averageCharWidth())
        row = QHBoxLayout()
        row.addWidget(self.list)
        row.addWidget(self.text, 1)
        column = QVBoxLayout(self)
        column.addWidget(self.filter)
        column.addLayout(row, 1)
        self.filter.textChanged.connect(self._search)
        self.filter.left.connect(self.list.setFocus)
        self.list.currentRowChanged.connect(self._show)
        open_at(self, *_SIZE)
        self._search("")

    @property
    def shown(self) -> Term | None:
        """The word whose text is shown."""
        row = self.list.currentRow()
        return self._found[row] if 0 <= row < len(self._found) else None

    def show_term(self, term: Term | None = None) -> None:
        """Come to the front with this word; where there is none, with the search and no word
        chosen."""
        self.filter.clear()
        if term is not None:
            self._go(term)
        else:
            self.list.setCurrentRow(-1)
            self.list.scrollToTop()
        self.show()
        self.raise_()
        self.activateWindow()
        (self.filter if term is None else self.list).setFocus(Qt.FocusReason.ShortcutFocusReason)

    def _search(self, words: str) -> None:
        before = self.shown
        self._found = search(words)
        self.list.clear()
        self.list.addItems([term.name for term in self._found])
        if self._found:
            unasked = self._found.index(before) if before in self._found else -1
            self.list.setCurrentRow(0 if words else unasked)
        else:
            self.text.setPlainText(tr("Nothing here is called “{words}” or says so.", words=words))

    def _go(self, term: Term) -> None:
        self.list.setCurrentRow(self._found.index(term))

    def _show(self, row: int) -> None:
        if 0 <= row < len(self._found):
            self.text.setHtml(_page(self._found[row], Style.HEADLINE.font().pointSizeF()))
        else:
            self.text.clear()

    def _follow(self, link: QUrl) -> None:
        term = term_named(link.path())
        if term is not None:
            self.filter.clear()
            self._go(term)


def _page(term: Term, heading: float) -> str:
    names = tr("Also: {names}", names=", ".join(term.also))
    also = f"<p><i>{escape(names)}</i></p>" if term.also else ""
    links = ", ".join(f'<a href="term:{escape(name)}">{escape(name)}</a>' for name in term.see)
    related = tr("See: {links}", links=links)
    see = f"<p>{related}</p>" if links else ""
    title = f'<p style="font-size:{heading:g}pt"><b>{escape(term.name)}</b></p>'
    return f"{title}<p>{escape(term.text)}</p>{also}{see}"
