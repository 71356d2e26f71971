"""The window's language: the program's texts, Qt's own, and how numbers are written and typed."""

from __future__ import annotations

from PySide6.QtCore import QLibraryInfo, QLocale, QTranslator
from PySide6.QtWidgets import QApplication

from core import language
from core.language import trc

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


class QtTexts(QTranslator):
    """Qt's own texts: ours first, then those of Qt, which for a language may lack some or call
    things otherwise than the program does."""

    def __init__(self, parent: QApplication) -> None:
        super().__init__(parent)
        self._ours: dict[str, str] = {}

    def take_ours(self) -> None:
        """Take the texts of the language that is spoken now."""
        self._ours = {text: ours for text, ours in _file_dialog() if ours != text}

    def translate(
        self, context: str, text: str, disambiguation: str | None = None, n: int = -1
    ) -> str | None:
        """What Qt asks for while it builds something; None leaves it in English, "" would not."""
        ours = self._ours.get(text) if context in _FILES else None
        return ours or super().translate(context, text, disambiguation, n) or None


_FILES = ("QFileDialog", "QFileSystemModel", "QAbstractFileIconProvider")


def _file_dialog() -> tuple[tuple[str, str], ...]:
    """Texts of the dialog for files where the desktop has none of its own, and our words for them.
    Keys of the keyboard are those that Qt puts into it."""
    return (
        ("&Look in:", trc("Qt", "&Look in:")),
        ("File &name:", trc("Qt", "File &name:")),
        ("Files of &type:", trc("Qt", "Files of &type:")),
        ("Directory:", trc("Qt", "Directory:")),
        ("All Files (*)", trc("Qt", "All Files (*)")),
        ("All files (*)", trc("Qt", "All files (*)")),
        ("Directories", trc("Qt", "Directories")),
        ("Find Directory", trc("Qt", "Find Directory")),
        ("Parent Directory", trc("Qt", "Parent Directory")),
        ("Go to the parent directory", trc("Qt", "Go to the parent directory")),
        ("Change to list view mode", trc("Qt", "Change to list view mode")),
        ("Change to detail view mode", trc("Qt", "Change to detail view mode")),
        ("Show &hidden files", trc("Qt", "Show &hidden files")),
        ("Could not delete directory.", trc("Qt", "Could not delete directory.")),
        ("Invalid filename", trc("Qt", "Invalid filename")),
        ("Folder", trc("Qt", "Folder")),
        ("File Folder", trc("Qt", "File Folder")),
        ("Drive", trc("Qt", "Drive")),
        ("File", trc("Qt", "File")),
        ("%1 File", trc("Qt", "%1 File")),
        ("Unknown", trc("Qt", "Unknown")),
        ("%1 bytes", trc("Qt", "%1 bytes")),
        (
            "%1 already exists.\nDo you want to replace it?",
            trc("Qt", "%1 already exists.\nDo you want to replace it?"),
        ),
        (
            "%1\nDirectory not found.\nPlease verify the correct directory name was given.",
            trc(
                "Qt",
                "%1\nDirectory not found.\nPlease verify the correct directory name was given.",
            ),
        ),
        (
            "%1\nFile not found.\nPlease verify the correct file name was given.",
            trc("Qt", "%1\nFile not found.\nPlease verify the correct file name was given."),
        ),
    )


class Speech:
    """Gives the application a language, and another one later. What is built already keeps the
    texts it has."""

    def __init__(self, application: QApplication) -> None:
        self._application = application
        self._qt = QtTexts(application)

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
            self._qt.take_ours()
            self._application.installTranslator(self._qt)
