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
    return _tag_for(chosen).partition("-")[0].lower() or language.SOURCE


def numbers_for(chosen: str) -> str:
    """The style of numbers of a language that nobody chose: as the reader's country writes them,
    which in Mexico is not as in Spain; "" for the language's own."""
    tag = "" if chosen else _tag_for("")
    if not tag:
        return ""
    locale = QLocale(tag)
    group = locale.groupSeparator().replace("\N{NO-BREAK SPACE}", "\N{NARROW NO-BREAK SPACE}")
    found = (
        name
        for name, style in language.STYLES.items()
        if (style.decimal, style.group) == (locale.decimalPoint(), group)
    )
    return next(found, "")


def _tag_for(chosen: str) -> str:
    tags = [chosen] if chosen else QLocale.system().uiLanguages()
    return next((t for t in tags if t.partition("-")[0].lower() in language.NAMES), "")


class Speech:
    """Gives the application a language, and another one later. What is built already keeps the
    texts it has."""

    def __init__(self, application: QApplication) -> None:
        self._application = application
        self._qt = QTranslator(application)

    def speak(self, chosen: str, numbers: str) -> None:
        """Speak ``chosen`` ("" for the system's) and write ``numbers`` in this style ("" for the
        language's, or the system's); see `core.language.speak`."""
        code = code_for(chosen)
        language.speak(code, numbers or numbers_for(chosen))
        QLocale.setDefault(_LOCALES[language.numbers()])
        self._application.removeTranslator(self._qt)
        folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        # Of English there is none: Qt's texts are in English.
        if code != language.SOURCE and self._qt.load(QLocale(code), "qtbase", "_", folder):
            self._application.installTranslator(self._qt)
