"""The pages of an open model, at the foot of the window."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QStackedWidget, QTabBar, QVBoxLayout, QWidget

from core.language import mark, tr
from gui.main_window.drops import leave_to_window
from gui.widgets.reading_order import reading_order
from gui.widgets.scrolled import yielding

MakePage: TypeAlias = Callable[[], QWidget]


class PageBar(QTabBar):
    """Chooses among ``views``. A page is made when somebody first looks at it."""

    def __init__(self, views: QStackedWidget) -> None:
        super().__init__()
        self._views = views
        self._makers: list[MakePage | None] = [None]
        first = views.widget(0)
        assert first is not None
        self._pages = [first]
        self._names = [mark("Plan")]
        self.setShape(QTabBar.Shape.RoundedSouth)
        self.setDrawBase(False)
        self.setExpanding(False)
        # In a narrow window names end in dots: all pages stay in sight.
        self.setUsesScrollButtons(False)
        self.setElideMode(Qt.TextElideMode.ElideRight)
        self.setAccessibleName(tr("Pages"))
        self.addTab(tr(self._names[0]))
        self.currentChanged.connect(self._show)
        views.currentChanged.connect(self.setCurrentIndex)

    def add_page(self, name: str, make: MakePage) -> None:
        """One more page, of a name marked for translation; ``make`` is called once, when it is
        first needed."""
        place = QWidget()
        column = QVBoxLayout(place)
        column.setContentsMargins(0, 0, 0, 0)
        self._makers.append(make)
        self._pages.append(place)
        self._names.append(name)
        self._views.addWidget(place)
        self.setTabToolTip(self.addTab(tr(name)), tr(name))

    def page(self, number: int) -> QWidget:
        """A page by its place, made now if it is not there yet."""
        make, self._makers[number] = self._makers[number], None
        if make is not None:
            page = make()
            place = self._pages[number].layout()
            assert place is not None
            # The largest page does not decide how small the window may be.
            place.addWidget(yielding(page, self.tabText(number)))
            leave_to_window(page)
            self._pages[number] = page
        return self._pages[number]

    @property
    def name(self) -> str:
        """The page that is shown, by the name it was added with."""
        return self._names[self.currentIndex()]

    def show_named(self, name: str) -> None:
        """Bring a page to the front, where there is one of this name."""
        if name in self._names:
            self.setCurrentIndex(self._names.index(name))

    def open_named(self, name: str) -> None:
        """Bring a page to the front and give it the keyboard."""
        number = self._names.index(name)
        self.setCurrentIndex(number)
        for first in reading_order(self.page(number)):
            first.setFocus()
            return

    def _show(self, number: int) -> None:
        self.page(number)
        self._views.setCurrentIndex(number)
