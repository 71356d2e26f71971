"""The window's language: chosen in a menu, kept, and spoken by the window that takes its place."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QLocale, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import (
    QApplication,
    QComboBox,
    QDialogButtonBox,
    QFileDialog,
    QLineEdit,
    QSpinBox,
    QTreeView,
    QWidget,
)
from pytestqt.qtbot import QtBot

import resources
from core import language
from core.language import tr, written
from core.machine import catalogue
from gui import settings
from gui.language import Speech, code_for
from gui.main_window import preferences
from gui.settings import Settings
from gui.theme import Theme
from tests.support.shown_window import shown_window
from tests.support.two_windows import said

HERE = catalogue.machine("nvidia-geforce-rtx-3090")


@pytest.fixture
def speech(qapp: QApplication) -> Iterator[Speech]:
    made = Speech(qapp)
    yield made
    made.speak("en", "")


def test_texts_numbers_boxes_and_the_buttons_of_qt_change_together(
    speech: Speech, qtbot: QtBot
) -> None:
    speech.speak("es", "")
    assert tr("&File") == "&Archivo"
    assert written(12345.5, ",.1f") == "12.345,5"
    box = QSpinBox()
    qtbot.addWidget(box)
    box.setRange(0, 10**6)
    box.setGroupSeparatorShown(True)
    box.setValue(123456)
    assert box.text() == "123.456"
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Cancel)
    qtbot.addWidget(buttons)
    assert buttons.buttons()[0].text().replace("&", "") == "Cancelar"
    speech.speak("en", "")
    assert tr("&File") == "&File"
    assert QLocale().toString(123456) == "123,456"


def dialog_words(qtbot: QtBot, folder: Path, **modes: object) -> list[str]:
    """All that Qt's own dialog for files shows or says, in one order."""
    dialog = QFileDialog(None, "…", str(folder))
    qtbot.addWidget(dialog)
    dialog.setOption(QFileDialog.Option.DontUseNativeDialog)
    for name, mode in modes.items():
        getattr(dialog, name)(mode)
    dialog.show()
    found = []
    for widget in dialog.findChildren(QWidget):
        for name in ("text", "toolTip", "accessibleName", "accessibleDescription"):
            read = getattr(widget, name, None)
            # What the user types or where the dialog stands is nobody's text.
            if read is not None and not isinstance(widget, QLineEdit):
                found.append(read())
    for view in dialog.findChildren(QTreeView):
        model = view.model()
        columns = range(model.columnCount())
        found += [model.headerData(column, Qt.Orientation.Horizontal) for column in columns]
    found += [action.text() for action in dialog.findChildren(QAction)]
    filters = dialog.findChild(QComboBox, "fileTypeCombo")
    assert filters is not None
    return [*found, *(filters.itemText(n) for n in range(filters.count()))]


@pytest.mark.parametrize("mode", QFileDialog.FileMode)
@pytest.mark.parametrize("accept", QFileDialog.AcceptMode)
def test_qts_own_dialog_for_files_has_no_english_word_and_calls_things_as_the_program_does(
    mode: QFileDialog.FileMode,
    accept: QFileDialog.AcceptMode,
    speech: Speech,
    qtbot: QtBot,
    tmp_path: Path,
) -> None:
    speech.speak("en", "")
    english = dialog_words(qtbot, tmp_path, setFileMode=mode, setAcceptMode=accept)
    speech.speak("es", "")
    spanish = dialog_words(qtbot, tmp_path, setFileMode=mode, setAcceptMode=accept)
    assert len(english) == len(spanish) > 20
    same = {one for one, other in zip(english, spanish, strict=True) if one == other}
    assert [word for word in same if any(map(str.isalpha, word))] == []
    told = " ".join(spanish).lower().replace("&", "")
    assert "archivo" in told or "carpeta" in told
    assert not any(word in told for word in ("fichero", "directorio"))


def test_what_nobody_translated_of_qt_stays_in_english(speech: Speech) -> None:
    speech.speak("es", "")
    assert QCoreApplication.translate("QFileDialog", "No such text") == "No such text"
    assert QCoreApplication.translate("Other", "&Look in:") == "&Look in:"
    assert QCoreApplication.translate("QFileDialog", "&Look in:") == "&Buscar en:"


def test_numbers_may_be_written_unlike_the_language(speech: Speech) -> None:
    speech.speak("en", "12.345,6")
    assert tr("&File") == "&File"
    assert written(12345.5, ",.1f") == "12.345,5"
    assert QLocale().decimalPoint() == ","


@pytest.mark.parametrize(
    ("system", "code"),
    [
        (["es-MX", "en-US"], "es"),
        (["de-DE", "es-ES", "en-US"], "es"),
        (["en-GB", "es"], "en"),
        (["fi"], "en"),
        ([], "en"),
    ],
)
def test_the_systems_language_is_the_first_of_its_list_that_there_is(
    system: list[str], code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QLocale, "uiLanguages", lambda self: system)
    assert code_for("") == code
    assert code_for("es") == "es"


@pytest.mark.parametrize(
    ("system", "chosen", "numbers"),
    [
        # As the Unicode CLDR has it: Mexico writes 12,345.6, Spain and Argentina 12.345,6.
        (["es-MX"], "", "12,345.6"),
        (["es-AR"], "", "12.345,6"),
        (["es-ES"], "", "12.345,6"),
        (["en-GB"], "", "12,345.6"),
        (["en-ZA"], "", "12\N{NARROW NO-BREAK SPACE}345,6"),
        # Texts in English have English numbers, whoever reads them.
        (["de-DE"], "", "12,345.6"),
        (["es-MX"], "es", "12.345,6"),
    ],
)
def test_numbers_are_written_as_in_the_readers_country(
    speech: Speech,
    system: list[str],
    chosen: str,
    numbers: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(type(QLocale.system()), "uiLanguages", lambda self: system)
    speech.speak(chosen, "")
    assert language.numbers() == numbers


@pytest.mark.parametrize("stored", ['"tlh"', "7", "null", '["es"]'])
def test_a_language_that_there_is_not_is_the_systems(stored: str, tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    path.write_text(f'{{"version": 1, "language": {stored}, "numbers": {stored}, "theme": "dark"}}')
    loaded = settings.load(path)
    assert (loaded.language, loaded.numbers, loaded.theme) == ("", "", "dark")


def test_a_language_and_a_style_of_numbers_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    chosen = Settings(language="es", numbers="12,345.6")
    settings.save(path, chosen)
    assert settings.load(path) == chosen


def test_the_same_language_again_changes_nothing(
    qtbot: QtBot, theme: Theme, tmp_path: Path
) -> None:
    with shown_window(qtbot, theme, tmp_path, HERE) as window:
        preferences.choose_language(window, language="")
        assert window.isVisible() and window.anew is None


ACT = "; ".join(
    (
        "window.document.choose(context=12288)",
        "window.page_bar.open_named('Compare')",
        "languages = window.commands.language.menu.actions()",
        "next(a for a in languages if a.text() == 'Español').trigger()",
    )
)
SHOWS = """
    window.page_bar.tabText(window.page_bar.currentIndex()), window.document.model.name,
    window.document.choice.context
"""


def test_another_language_comes_at_once_with_the_same_model_page_and_choice(
    tmp_path: Path,
) -> None:
    specimen = next(path for path in resources.specimens() if "Qwen3-4B" in path.name)
    left_over = "print(len(windows()), flush=True)"
    first, second, left = said(ACT, tmp_path, str(specimen), shows=SHOWS, afterwards=left_over)
    assert first.startswith("File|Plan|Qwen3")
    assert second.startswith("Archivo|Comparar|Qwen3")
    assert second.endswith("|12288")
    assert left == "1"  # the last; the one before it is gone
    stored = json.loads((tmp_path / "weighbridge" / "settings.json").read_text("utf-8"))
    assert stored["language"] == "es"
