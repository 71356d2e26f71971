"""Pictures and the report leave the window whole: as drawings, as pixels, as a page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QImage
from PySide6.QtWidgets import QApplication, QFileDialog, QMenu, QWidget
from pytestqt.qtbot import QtBot

from gui import theme as theme_module
from gui.main_window import MainWindow, preferences
from gui.main_window.taking_away import fill_pictures, save_report
from gui.theme import Theme, ThemeMode
from gui.widgets.pictures import Picture, image, pictures, save_picture, svg
from tests.support import every_page
from tests.support.scenes import machine
from tests.support.shown_window import shown_window

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture
def window(qtbot: QtBot, theme: Theme, tmp_path: Path) -> Iterator[MainWindow]:
    with shown_window(qtbot, theme, tmp_path, machine(), (1280, 800)) as made:
        every_page.open_specimen(made, "Qwen3.6-35B")
        plot = made.page.plan.speed.plot
        qtbot.waitUntil(lambda: plot.canvas is not None)
        yield made


def named(window: QWidget, name: str) -> Picture:
    return next(each for each in pictures(window) if each.name.startswith(name))


def words_of(drawing: bytes) -> str:
    root = ElementTree.fromstring(drawing)
    return " ".join("".join(each.itertext()) for each in root.iter(f"{SVG}text"))


def test_the_plan_has_its_bar_its_token_its_curve_and_its_layers_to_take_away(
    window: MainWindow,
) -> None:
    assert {each.name for each in pictures(window)} >= {
        "Memory of GeForce RTX 3090",
        "Bytes of one token by part",
        "Decode ceiling by depth",
    }


def test_every_picture_of_every_page_is_written_both_ways(
    window: MainWindow, tmp_path: Path
) -> None:
    seen = set()
    for _, root in every_page.pages(window):
        for each in pictures(root):
            if each.name in seen:
                continue
            seen.add(each.name)
            path = tmp_path / f"{len(seen)}.png"
            assert save_picture(each.drawn(), path, each.name) == f"Saved as {path.name}."
            pixels = QImage(str(path))
            assert (
                len(
                    {
                        pixels.pixel(x, y)
                        for x in range(0, pixels.width(), 7)
                        for y in range(0, pixels.height(), 3)
                    }
                )
                > 2
            )
            drawing = ElementTree.fromstring(svg(each.drawn(), each.name))
            told = drawing.find(f"{SVG}desc")
            assert told is not None and told.text
    assert len(seen) >= 12


def test_the_picture_of_the_memory_has_its_figures_and_says_what_it_is_of(
    window: MainWindow,
) -> None:
    each = named(window, "Memory of")
    drawing = svg(each.drawn(), f"{each.name}: {window.picture_title()}")
    words = words_of(drawing)
    assert "19.44 GiB" in words and "KV cache" in words
    assert "Qwen3.6 35B A3B Q4_K_M on GeForce RTX 3090" in words
    assert "context 16,384, K f16, V f16" in " ".join(words.split())


def test_the_picture_of_a_session_has_its_legend(window: MainWindow) -> None:
    window.commands.session.trigger()
    every_page.settle(window)
    words = words_of(svg(named(window, "Turns").drawn()))
    assert "waiting for the first token" in words


def test_pixels_are_twice_as_fine_and_in_the_colours_of_the_theme(window: MainWindow) -> None:
    preferences.choose_theme(window, ThemeMode.DARK)
    drawn = named(window, "Bytes of one token").drawn()
    made = image(drawn)
    assert made.width() >= 2 * drawn[0].width()
    assert made.pixelColor(0, 0).name() == theme_module.DARK.window


def test_a_context_menu_on_the_plot_has_the_two_lines(qtbot: QtBot, window: MainWindow) -> None:
    plot = window.page.plan.speed.plot
    assert plot.contextMenuPolicy() is Qt.ContextMenuPolicy.ActionsContextMenu
    assert [action.text() for action in plot.actions()] == ["Save picture…", "Copy picture"]
    canvas = plot.canvas
    assert canvas is not None
    inside = canvas.widget.viewport()
    middle = inside.rect().center()
    event = QContextMenuEvent(QContextMenuEvent.Reason.Mouse, middle, inside.mapToGlobal(middle))
    menus: list[QMenu] = []

    def look() -> None:
        shown = QApplication.activePopupWidget()
        if isinstance(shown, QMenu):
            menus.append(shown)
            shown.close()

    QTimer.singleShot(200, look)
    QApplication.sendEvent(inside, event)
    qtbot.waitUntil(lambda: bool(menus))


def test_copying_puts_it_on_the_clipboard_and_says_so(window: MainWindow) -> None:
    plot = window.page.plan.speed.plot
    plot.actions()[1].trigger()
    assert not QGuiApplication.clipboard().image().isNull()
    assert "clipboard" in window.message.text()


def test_the_menu_lists_what_is_drawn_on_the_page_in_front(window: MainWindow) -> None:
    menu = window.commands.pictures_menu
    menu.aboutToShow.emit()
    before = [action.text() for action in menu.actions()]
    assert "Decode ceiling by depth…" in before
    window.commands.session.trigger()
    menu.aboutToShow.emit()
    assert "Turns of the session…" in [action.text() for action in menu.actions()]
    window.opening.close_model()
    fill_pictures(menu, window)
    (only,) = menu.actions()
    assert not only.isEnabled()


@pytest.mark.parametrize("ending", ["", ".svg", ".png"])
def test_asking_for_a_picture_writes_it_with_the_right_ending(
    window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    asked: list[str] = []

    def chosen(parent: QWidget, title: str, name: str, kinds: str) -> tuple[str, str]:
        asked.append(name)
        return str(tmp_path / f"out{ending}"), "Drawing (*.svg)"

    monkeypatch.setattr(QFileDialog, "getSaveFileName", chosen)
    named(window, "Decode ceiling").ask()
    assert asked == ["decode-ceiling-by-depth.svg"]
    assert (tmp_path / f"out{ending or '.svg'}").stat().st_size > 1000
    assert window.message.text().startswith("Saved as out")


def test_the_report_is_saved_as_a_page_and_a_place_that_refuses_is_a_sentence(
    window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "plan"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    window.commands.save_report.trigger()
    page = path.with_suffix(".html").read_text("utf-8")
    assert "Qwen3.6 35B A3B" in page and "Weighbridge" in page
    assert window.message.text().startswith("Saved as plan.html")
    plan = window.document.plan
    assert plan is not None
    told = save_report(tmp_path / "no" / "where.html", plan, window.document.units)
    assert "could not be written" in told


def test_giving_up_the_dialog_writes_and_says_nothing(
    window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    before = window.message.text()
    window.commands.save_report.trigger()
    named(window, "Decode ceiling").ask()
    assert window.message.text() == before
