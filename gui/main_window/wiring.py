"""What every action of the menus does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from core.tabular import TextFormat
from gui import crash
from gui.main_window import helping, machine_report, pages, preferences, taking_away

if TYPE_CHECKING:
    from gui.main_window.window import MainWindow


def connect_actions(window: MainWindow) -> None:
    """Connect the actions of this window, which is whole."""
    a = window.commands
    for action, slot in (
        (a.open, window.opening.ask_for_file),
        (a.open_link, window.finding.ask_for_link),
        (a.library, window.finding.show_library),
        (a.cancel, window.opening.reader.cancel),
        (a.reload, window.opening.reload),
        (a.close_model, window.opening.close_model),
        (a.double_click, lambda: pages.double_click(window)),
        (a.save_report, lambda: taking_away.ask_for_report(window)),
        (a.quit, window.close),
        (a.reset, window.document.reset),
        (a.copy_markdown, lambda: taking_away.copy_report(window, TextFormat.MARKDOWN)),
        (a.copy_json, lambda: taking_away.copy_report(window, TextFormat.JSON)),
        (a.passes, lambda: pages.passes(window.document, window).open_front()),
        (a.copy_command, lambda: pages.command(window.document, window).open_copy()),
        (a.paste_settings, lambda: pages.command(window.document, window).open_paste()),
        (a.filter, window.page.show_filter),
        (a.overview, lambda: window.page.show_panel(window.page.overview)),
        (a.tensors, lambda: window.page.show_panel(window.page.tensors)),
        (a.metadata, lambda: window.page.show_panel(window.page.metadata)),
        (a.plan, lambda: window.page.show_panel(window.page.plan)),
        (a.compare, lambda: window.page_bar.open_named("Compare")),
        (a.session, lambda: window.page_bar.open_named("Session")),
        (a.measure_run, lambda: window.page_bar.open_named("Measure")),
        (a.history, lambda: window.page_bar.open_named("History")),
        (a.explain, lambda: window.page_bar.open_named("Explain")),
        (a.detect, lambda: window.computer.detect(wake=True)),
        (a.measure, window.computer.measure),
        (a.use_measured, window.computer.use_measured),
        (a.own_machines, lambda: pages.own_machines(window)),
        (a.measure_disk, window.computer.measure_disk),
        (a.save_machine, lambda: machine_report.save(window)),
        (a.check_engine, window.engine_check.open),
        (a.what_is_this, lambda: helping.what_is_this(window)),
        (a.glossary, lambda: helping.open_glossary(window)),
        (a.first_steps, lambda: helping.show_first_steps(window)),
        (a.shortcuts, lambda: helping.show_keys(window, a.key_groups())),
        (a.open_log, lambda: helping.open_log(window, crash.default_path())),
        (a.about, lambda: helping.show_about(window)),
    ):
        action.triggered.connect(slot)
    a.file_chosen.connect(window.opening.open)
    a.units_chosen.connect(lambda units: preferences.choose_units(window, units))
    a.theme_chosen.connect(lambda mode: preferences.choose_theme(window, mode))
    a.language_chosen.connect(lambda code: preferences.choose_language(window, language=code))
    a.numbers_chosen.connect(lambda style: preferences.choose_language(window, numbers=style))
    menu = a.pictures_menu
    menu.aboutToShow.connect(lambda: taking_away.fill_pictures(menu, window))
