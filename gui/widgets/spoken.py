"""What a screen reader is told of a widget that paints itself, beside its name and description.

Qt takes every widget that it does not know for a mere client of its window. A widget that mixes in
`Spoken` is what it looks like, and has a value.
"""

from __future__ import annotations

from functools import cache

from PySide6.QtCore import QObject
from PySide6.QtGui import QAccessible, QAccessibleInterface
from PySide6.QtWidgets import QAccessibleWidget, QWidget

Role = QAccessible.Role


class Spoken:
    """Mixed into a widget. ``spoken_role`` is what it is: a chart, unless it says otherwise.

    A decoration, which shows nothing that the words beside it do not say, is `Role.Whitespace`:
    readers pass over it.
    """

    spoken_role = Role.Chart

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        _install()

    def spoken_value(self) -> str:
        """What it shows now, in a few words; all of it stands in the description."""
        return ""


class ToldLate:
    """Mixed into a widget, before its class, whose description takes time to put into words: that
    is done when somebody asks, and at every change only once something reads the screen."""

    _read = False

    def __init_subclass__(cls, **options: object) -> None:
        super().__init_subclass__(**options)
        _install()

    def in_words(self) -> str:
        """All that it shows now."""
        raise NotImplementedError

    def accessibleDescription(self) -> str:
        """The same, as Qt calls it."""
        return self.in_words()

    def words_changed(self) -> None:
        """Tell who reads the screen; to be called whenever `in_words` may have changed."""
        if self._read and isinstance(self, QWidget):
            self.setAccessibleDescription(self.in_words())

    def be_read(self) -> None:
        """Something reads the screen and has come here."""
        if not self._read:
            self._read = True
            self.words_changed()


class _Interface(QAccessibleWidget):
    def text(self, kind: QAccessible.Text) -> str:
        if kind is QAccessible.Text.Value:
            widget = self.widget()
            return widget.spoken_value() if isinstance(widget, Spoken) else ""
        return super().text(kind)


def _made(name: str, thing: QObject) -> QAccessibleInterface | None:
    """The interface of a spoken widget; None leaves all others to Qt."""
    if isinstance(thing, ToldLate):
        thing.be_read()
    if isinstance(thing, Spoken) and isinstance(thing, QWidget):
        return _Interface(thing, thing.spoken_role, thing.accessibleName())
    return None


@cache
def _install() -> None:
    """Once for the program. Qt asks only while something reads the screen."""
    QAccessible.installFactory(_made)
