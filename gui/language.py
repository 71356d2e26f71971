"""The window's language: the program's texts, Qt's own, and how numbers are written and typed."""

from __future__ import annotations

from PySide6.QtCore import QLibraryInfo, QLocale, QTranslator
from PySide6.QtWidgets import QApplication

from core import language

# Whose numbers Qt's boxes write and read, by the styles of `core.language.STYLES`.
_LOCALES = dict(
    zip(
        language.STYLES,
        (
            QLocale(QLocale.Language.English, QLocale.Country.UnitedStates),
            QLocale(QLocale.Language.Spanish, QLocale.Country.Spain),
            QLocale(QLocale.Language.French, QLocale.Country.France),
        ),
        strict=True,
    )
)


def code_for(chosen: str) -> str:
    """The language to speak: the chosen one, or for "" the first of the system's that there is."""
    wanted = [chosen] if chosen else QLocale.system().uiLanguages()
    codes = (tag.partition("-")[0].lower() for tag in wanted)
    return next((code for code in codes if code in language.NAMES), language.SOURCE)


class Speech:
    """Gives the application a language, and another one later. What is built already keeps the
    texts it has."""

    def __init__(self, application: QApplication) -> None:
        self._application = application
        self._qt = QTranslator(application)

    def speak(self, chosen: str, numbers: str) -> None:
        """Speak ``chosen`` ("" for the system's) and write ``numbers`` in this style ("" for the
        language's); see `core.language.speak`."""
        code = code_for(chosen)
        language.speak(code, numbers)
        QLocale.setDefault(_LOCALES[language.numbers()])
        self._application.removeTranslator(self._qt)
        folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        # Of English there is none: Qt's texts are in English.
        if code != language.SOURCE and self._qt.load(QLocale(code), "qtbase", "_", folder):
            self._application.installTranslator(self._qt)
