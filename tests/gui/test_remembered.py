"""The next start is as the last one ended: the machine, and the choice for each model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

import resources
from core.machine import catalogue, custom, own, with_ram
from core.plan.choice import Choice, Engine
from gui import settings
from gui.document import Document
from gui.main_window import MainWindow
from gui.main_window.kept_settings import KeptSettings
from gui.settings import Settings
from gui.theme import Theme
from gui.workers import computer
from tests.support import every_page, plans

GIB = 2**30
Start = Callable[[], MainWindow]


@pytest.fixture
def start(
    qtbot: QtBot, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Start]:
    here = plans.machine(id="this", name="This computer")
    monkeypatch.setattr(computer, "detecting", lambda handle: here)
    made: list[MainWindow] = []

    def begin() -> MainWindow:
        window = MainWindow(Document(), theme, KeptSettings(tmp_path / "settings.json"))
        qtbot.addWidget(window)
        window.show()
        qtbot.waitUntil(lambda: window.document.this_computer is not None)
        made.append(window)
        return window

    yield begin
    for window in made:
        window.close()


def stored(window: MainWindow) -> Settings:
    return settings.load(window.kept.path)


def test_the_page_that_was_open_comes_back_with_the_first_model(start: Start) -> None:
    window = start()
    every_page.open_specimen(window, "Qwen3.6-35B")
    window.page_bar.open_named("Compare")
    window.close()
    assert stored(window).page == "Compare"
    idle = start()  # a start without a model changes nothing
    assert idle.document.model is None
    idle.close()
    assert stored(idle).page == "Compare"
    again = start()
    every_page.open_specimen(again, "Llama-3.1-8B")
    assert again.page_bar.name == "Compare"
    again.page_bar.show_named("Plan")
    every_page.open_specimen(again, "Qwen3.6-35B")  # once is enough
    assert again.page_bar.name == "Plan"
    again.close()
    assert stored(again).page == "Plan"


def test_a_stored_page_that_is_none_is_the_first(start: Start, tmp_path: Path) -> None:
    settings.save(tmp_path / "settings.json", Settings(page="Beauty"))
    window = start()
    every_page.open_specimen(window, "Llama-3.1-8B")
    assert window.page_bar.name == "Plan"


def test_the_choice_for_a_model_comes_back_with_it(start: Start) -> None:
    window = start()
    every_page.open_specimen(window, "Qwen3.6-35B")
    window.document.choose(context=65_536, cache_k="q8_0", cpu_moe=12, engine=Engine.IK_LLAMA)
    chosen = window.document.choice
    window.close()
    again = start()
    every_page.open_specimen(again, "Llama-3.1-8B")
    assert again.document.choice == Choice()
    assert again.message.text() == ""
    every_page.open_specimen(again, "Qwen3.6-35B")
    assert again.document.choice == chosen
    assert "the last time" in again.message.text()
    assert not again.document.undo_stack.canUndo()
    again.document.reset()
    again.close()
    assert stored(again).choices == {}


def test_each_model_has_its_own_choice_within_one_start(start: Start) -> None:
    window = start()
    every_page.open_specimen(window, "Qwen3.6-35B")
    window.document.choose(requantize="IQ4_XS")
    every_page.open_specimen(window, "Gemma-3-27B")
    assert window.document.choice.requantize is None
    window.document.choose(requantize="Q5_K_M")
    every_page.open_specimen(window, "Qwen3.6-35B")
    assert window.document.choice.requantize == "IQ4_XS"
    window.opening.close_model()
    every_page.open_specimen(window, "Gemma-3-27B")
    assert window.document.choice.requantize == "Q5_K_M"


def test_the_machine_of_the_last_time_is_planned_for_again(start: Start, qtbot: QtBot) -> None:
    window = start()
    chosen = with_ram(catalogue.machine("nvidia-geforce-rtx-3090"), 64 * GIB)
    window.document.set_machine(chosen)
    window.close()
    again = start()
    qtbot.waitUntil(lambda: again.document.machine.id != "this")
    assert again.document.machine.devices == chosen.devices
    assert not again.document.undo_stack.canUndo()
    assert again.document.this_computer is not None
    again.document.set_machine(again.document.this_computer)
    again.close()
    assert stored(again).machine == ""


def test_a_machine_of_ones_own_comes_back_while_it_is_kept(start: Start, qtbot: QtBot) -> None:
    window = start()
    attic = own.added((), custom(48 * GIB, 900e9), "Attic")
    own.save(attic)
    window.document.set_machine(attic[0])
    window.close()
    again = start()
    qtbot.waitUntil(lambda: again.document.machine.name == "Attic")
    again.close()
    own.save(())
    third = start()
    qtbot.wait(100)
    assert third.document.machine.id == "this"


@pytest.mark.parametrize(
    "text", ["no-such-machine", "gpu:many@1", "own:gone", "+", "gpu:1GiB" * 99]
)
def test_a_machine_that_is_gone_leaves_this_computer(
    start: Start, qtbot: QtBot, tmp_path: Path, text: str
) -> None:
    settings.save(tmp_path / "settings.json", Settings(machine=text))
    window = start()
    qtbot.wait(100)
    assert window.document.machine.id == "this"
    assert window.isVisible()


def test_a_model_that_is_saved_before_the_machine_is_back_does_not_forget_it(
    start: Start, tmp_path: Path
) -> None:
    settings.save(tmp_path / "settings.json", Settings(machine="nvidia-geforce-rtx-3090"))
    window = start()
    window.kept.save()
    assert stored(window).machine == "nvidia-geforce-rtx-3090"


def test_two_windows_keep_each_others_choices(tmp_path: Path) -> None:
    path = tmp_path / "settings.json"
    base = Settings(choices={"/a.gguf": {"slots": 2}, "/b.gguf": {"slots": 3}})
    settings.save(path, base)
    settings.save_changes(path, base, Settings(choices={**base.choices, "/c.gguf": {"slots": 4}}))
    kept = settings.save_changes(path, base, Settings(choices={"/a.gguf": {"slots": 9}}))
    assert kept.choices == {"/a.gguf": {"slots": 9}, "/c.gguf": {"slots": 4}}


def test_a_damaged_choice_costs_only_itself(start: Start, tmp_path: Path) -> None:
    place = next(str(path) for path in resources.specimens() if "Llama-3.1-8B" in path.name)
    (tmp_path / "settings.json").write_text(
        f'{{"version": 1, "theme": "dark", "choices": {{"{place}": '
        '{"context": -5, "cache_k": "q8_0", "slots": []}, "x": 7}, "machine": 3}'
    )
    window = start()
    assert window.settings.theme == "dark"
    every_page.open_specimen(window, "Llama-3.1-8B")
    assert window.document.choice == Choice(cache_k="q8_0")
