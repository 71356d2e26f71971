"""How the window shows everything: its units, theme, language and numbers, now and next time."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from core.language import tr
from core.units import UnitSystem
from gui.main_window import anew
from gui.main_window.actions import THEME_WORDS
from gui.theme import ThemeMode

if TYPE_CHECKING:
    from gui.main_window.window import MainWindow


def choose_units(window: MainWindow, units: UnitSystem) -> None:
    """Show sizes in these units."""
    window.kept.keep(units=units)
    window.document.set_units(units)
    show_ticks(window)


def choose_theme(window: MainWindow, mode: ThemeMode) -> None:
    """Use this theme."""
    window.kept.keep(theme=mode.value)
    window.theme.set_mode(mode)
    show_ticks(window)


def choose_language(
    window: MainWindow, language: str | None = None, numbers: str | None = None
) -> None:
    """Speak this language and write numbers so, in a window that takes the place of this one; None
    leaves it as it is."""
    before = window.settings
    chosen = replace(
        before,
        language=before.language if language is None else language,
        numbers=before.numbers if numbers is None else numbers,
    )
    if chosen == before:
        return
    window.kept.save(chosen)
    show_ticks(window)
    if window.measuring.busy:
        window.message.say(
            tr("A server is being measured: this counts when the window opens again.")
        )
        return
    if window.measuring.serving:
        window.message.say(
            tr("A server that this window started is running: this counts when it opens again.")
        )
        return
    window.anew = anew.view_of(window)
    window.close()


def show_ticks(window: MainWindow) -> None:
    """Tick what counts in the menus."""
    actions, units, mode = window.commands, window.document.units, window.theme.mode
    actions.units.show_value(units, units.value)
    actions.theme.show_value(mode, tr(THEME_WORDS[mode]))
    actions.language.set_value(window.settings.language)
    actions.numbers.set_value(window.settings.numbers)
