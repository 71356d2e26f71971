"""Settings out and in, in the window: the text follows the choice, and what is pasted is shown
before it is applied."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QGuiApplication
from pytestqt.qtbot import QtBot

from core.plan.choice import Choice, Engine
from core.plan.commands import Shell, command
from gui.document import Document
from gui.main_window import MainWindow
from gui.panels.command import CommandDialog
from gui.theme import Theme
from tests.support.shown_window import shown_window
from tests.support.specimen_plans import on_a_3090, specimen_plan


@pytest.fixture
def document() -> Document:
    made = Document()
    made.set_machine(on_a_3090())
    made.set_model(specimen_plan("Llama-3.1-8B").model)
    return made


@pytest.fixture
def dialog(qtbot: QtBot, document: Document) -> CommandDialog:
    made = CommandDialog(document)
    qtbot.addWidget(made)
    return made


def choose(dialog: CommandDialog, engine: Engine) -> None:
    side = dialog.copy_side
    side.engine.setCurrentIndex(list(Engine).index(engine))
    side.engine.activated.emit(side.engine.currentIndex())


def test_the_text_is_that_of_the_choice_and_follows_it(
    dialog: CommandDialog, document: Document
) -> None:
    dialog.open_copy()
    side = dialog.copy_side
    side.shell.setCurrentText(Shell.BASH)
    side.show_plan()
    assert document.plan is not None
    assert side.text.toPlainText() == command(document.plan, Shell.BASH).text
    document.choose(context=4096, cache_k="q8_0")
    assert "-c 4096 -ctk q8_0" in " ".join(side.text.toPlainText().split())
    side.options.setCurrentIndex(1)
    side.show_plan()
    assert "-ngl 33" in side.text.toPlainText()


def test_the_button_puts_it_on_the_clipboard(dialog: CommandDialog) -> None:
    dialog.open_copy()
    dialog.copy_side.copy.click()
    assert QGuiApplication.clipboard().text() == dialog.copy_side.text.toPlainText()
    assert dialog.copy_side.copied.text()


def test_another_engine_is_looked_at_and_planned_only_when_asked(
    dialog: CommandDialog, document: Document
) -> None:
    dialog.open_copy()
    side = dialog.copy_side
    assert not side.use.isVisible()
    choose(dialog, Engine.OLLAMA)
    assert "PARAMETER num_ctx" in side.text.toPlainText()
    assert "Ollama" in side.verdict.text()
    assert document.choice == Choice()
    side.use.click()
    assert document.choice == Choice(engine=Engine.OLLAMA)
    assert not side.use.isVisible()
    document.undo_stack.undo()
    assert document.choice == Choice()


def test_what_an_engine_cannot_be_told_is_said(dialog: CommandDialog, document: Document) -> None:
    document.choose(cache_k="q8_0")
    dialog.open_copy()
    choose(dialog, Engine.OLLAMA)
    assert dialog.copy_side.notes.isVisible()
    assert "one cache type" in dialog.copy_side.notes.text()


def test_a_pasted_line_says_what_it_would_change_and_changes_it_in_one_step(
    dialog: CommandDialog, document: Document
) -> None:
    before = document.choice
    dialog.open_paste()
    side = dialog.paste_side
    side.text.setPlainText("llama-server -c 32768 -np 2 -ctk q8_0 -ctv q8_0 -ot a=CPU --port 1")
    assert document.choice == before
    lines = side.changes.lines.text().split("\n")
    assert "Context: 16,384 → 32,768" in lines
    assert "K cache type: f16 → q8_0" in lines
    assert "Slots: 4 → 2" in lines
    assert side.unread.lines.text().startswith("-ot a=CPU: ")
    assert side.no_matter.lines.text() == "--port 1"
    assert side.then.text().startswith("Then: fits")
    count = document.undo_stack.count()
    side.apply.click()
    assert document.choice == Choice(context=32768, slots=2, cache_k="q8_0", cache_v="q8_0")
    assert document.undo_stack.count() == count + 1
    assert document.undo_stack.undoText() == "several settings"
    assert not side.apply.isEnabled()
    document.undo_stack.undo()
    assert document.choice == before


def test_a_context_that_is_not_understood_stays_and_every_option_is_accounted_for(
    dialog: CommandDialog, document: Document
) -> None:
    """Once "-c 32k" was not taken over and the context changed all the same; -ngl and -fa were
    nowhere."""
    dialog.open_paste()
    side = dialog.paste_side
    side.text.setPlainText(
        "llama-server -m x.gguf -c 32k -ngl 99 --foo 3 -ctk q8_0 -fa on --temp 0.8"
    )
    assert side.changes.lines.text().split("\n") == [
        "K cache type: f16 → q8_0",
        "It names x.gguf; the open file stays.",
    ]
    assert side.already.lines.text() == "-ngl 99, -fa on"
    unread = [line.split(":")[0] for line in side.unread.lines.text().split("\n")]
    assert unread == ["-c 32k", "--foo 3"]
    assert side.no_matter.lines.text() == "--temp 0.8"
    before = document.choice.context
    side.apply.click()
    assert document.choice.context == before


def test_it_is_a_step_of_its_own_even_right_after_another(
    dialog: CommandDialog, document: Document
) -> None:
    dialog.open_paste()
    document.choose(context=4096, depth=None)
    dialog.paste_side.text.setPlainText("-c 8192")
    dialog.paste_side.apply.click()
    assert document.choice.context == 8192
    document.undo_stack.undo()
    assert document.choice.context == 4096


def test_nonsense_ends_in_a_sentence_and_nothing_can_be_applied(dialog: CommandDialog) -> None:
    dialog.open_paste()
    side = dialog.paste_side
    for text in ("hello", "rm -rf /", '{"a":', "\u202e"):
        side.text.setPlainText(text)
        assert not side.apply.isEnabled()
        assert side.changes.isVisible() or side.unread.isVisible()
    side.text.setPlainText("")
    assert not side.changes.isVisible()


@pytest.mark.parametrize("width", [380, 640])
def test_however_much_is_said_no_line_is_cut(
    qtbot: QtBot, dialog: CommandDialog, width: int
) -> None:
    dialog.open_paste()
    dialog.resize(width, 420)
    options = " ".join(f"--unheard-of-option-{n} with-some-value" for n in range(30))
    dialog.paste_side.text.setPlainText(f"llama-server -c 4096 {options} --port 1 --temp 0")
    qtbot.wait(20)
    for section in (dialog.paste_side.changes, dialog.paste_side.unread):
        lines = section.lines
        assert lines.isVisible()
        assert lines.height() >= lines.heightForWidth(lines.width())


def test_the_clipboard_is_taken_where_it_says_something(dialog: CommandDialog) -> None:
    clipboard = QGuiApplication.clipboard()
    clipboard.setText("a shopping list")
    dialog.open_paste()
    assert dialog.paste_side.text.toPlainText() == ""
    clipboard.setText("llama-server -c 2048")
    dialog.open_paste()
    assert dialog.paste_side.text.toPlainText() == "llama-server -c 2048"
    assert dialog.paste_side.apply.isEnabled()


@pytest.fixture
def window(qtbot: QtBot, theme: Theme, tmp_path: Path) -> Iterator[MainWindow]:
    with shown_window(qtbot, theme, tmp_path, on_a_3090()) as made:
        yield made


def test_the_menu_opens_one_dialog_on_either_side(window: MainWindow) -> None:
    assert not window.commands.copy_command.isEnabled()
    window.document.set_model(specimen_plan("Llama-3.2-1B").model)
    window.commands.copy_command.trigger()
    (made,) = window.findChildren(CommandDialog)
    assert made.sides.currentWidget() is made.copy_side
    window.commands.paste_settings.trigger()
    assert window.findChildren(CommandDialog) == [made]
    assert made.sides.currentWidget() is made.paste_side
    window.opening.close_model()
    assert not made.isVisible()
