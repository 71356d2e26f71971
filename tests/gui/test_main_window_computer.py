"""This computer in the window: detected again, measured, and remembered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtWidgets import QFileDialog
from pytestqt.qtbot import QtBot

from core.machine import BandwidthMeasurement, DeviceKind, Disk, DiskKind, Machine, facts, own
from core.machine.detect.disk import unknown
from core.provenance import Number, Rank, Source, Unit
from gui.document import Document
from gui.main_window import MainWindow
from gui.main_window.kept_settings import KeptSettings
from gui.main_window.taking_away import file_name
from gui.main_window.this_computer import ThisComputer
from gui.theme import Theme
from gui.workers import computer
from tests.support import plans

RAM = 64 * 2**30
HERE = plans.machine(plans.device("RAM", memory=RAM, bandwidth=None), id="this", name="Here")


def measurement(value: float | None, note: str = "") -> BandwidthMeasurement:
    source = Source(Rank.MEASURED, "memory read by this program", "2026-01-02")
    number = Number(value, Unit.BYTES_PER_SECOND, source, note=note)
    return BandwidthMeasurement(number, (value,) if value else (), 2, 2**26)


@pytest.fixture
def document() -> Document:
    return Document(resolve=plans.resolve)


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[Machine]:
    """What detection finds, the last of the list."""
    machines = [HERE]
    monkeypatch.setattr(computer, "detecting", lambda handle: machines[-1])
    return machines


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "config" / "facts.json"


def make(document: Document, path: Path, ram: int = 0, *, chosen: bool = True) -> ThisComputer:
    """``ram`` is that of the computer on which 41.5 GB/s were measured; 0 for no measurement."""
    if ram:
        rate = facts.MeasuredRate(facts.RAM, 41.5e9, "2026-01-02", ram, "timed", chosen=chosen)
        facts.save([rate], path)
    # The document keeps it alive, and ends it.
    return ThisComputer(document, path, document)


def detect(qtbot: QtBot, this: ThisComputer) -> None:
    with qtbot.waitSignal(this.detector.ended):
        this.detect()


def measure(qtbot: QtBot, this: ThisComputer) -> None:
    with qtbot.waitSignal(this.meter.ended):
        this.measure()


def bandwidth(document: Document) -> Number[float]:
    return document.machine.devices[-1].bandwidth


def test_what_is_found_becomes_the_machine_of_the_plan(
    qtbot: QtBot, document: Document, path: Path, found: list[Machine]
) -> None:
    document.set_model(plans.model())
    detect(qtbot, make(document, path))
    assert document.machine is HERE
    assert document.plan is not None
    assert document.plan.machine is HERE


def test_a_measured_bandwidth_is_used_at_once_and_kept(
    qtbot: QtBot,
    document: Document,
    path: Path,
    found: list[Machine],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(computer, "measuring", lambda handle: measurement(41.5e9, "Busy."))
    this = make(document, path)
    said: list[str] = []
    this.said.connect(said.append)
    detect(qtbot, this)
    measure(qtbot, this)
    number = bandwidth(document)
    assert (number.value, number.source.rank) == (41.5e9, Rank.MEASURED)
    assert number.source.date == "2026-01-02"
    assert number.note == "Busy."
    (kept,) = facts.load(path)
    assert (kept.device, kept.ram, kept.value) == (facts.RAM, RAM, 41.5e9)
    assert (kept.date, kept.note) == ("2026-01-02", "Busy.")
    assert said[-1] == "Memory bandwidth: 41.5 GB/s. Busy."


def test_a_kept_bandwidth_counts_at_the_next_start_and_after_looking_again(
    qtbot: QtBot, document: Document, path: Path, found: list[Machine]
) -> None:
    this = make(document, path, RAM)
    for _ in range(2):
        detect(qtbot, this)
        assert bandwidth(document).value == 41.5e9


def test_a_kept_bandwidth_does_not_count_for_other_memory(
    qtbot: QtBot, document: Document, path: Path, found: list[Machine]
) -> None:
    detect(qtbot, make(document, path, 2 * RAM))
    assert bandwidth(document).value is None


def test_a_kept_bandwidth_that_the_user_does_not_want_stays_out(
    qtbot: QtBot, document: Document, path: Path, found: list[Machine]
) -> None:
    detect(qtbot, make(document, path, RAM, chosen=False))
    assert bandwidth(document).value is None


def test_a_folder_that_cannot_be_written_costs_only_the_memory(
    qtbot: QtBot,
    document: Document,
    path: Path,
    found: list[Machine],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(computer, "measuring", lambda handle: measurement(41.5e9))
    path.parent.write_text("a file where the folder should be")
    this = make(document, path)
    detect(qtbot, this)
    measure(qtbot, this)
    assert bandwidth(document).value == 41.5e9


def test_a_measurement_that_found_nothing_changes_nothing_and_says_why(
    qtbot: QtBot,
    document: Document,
    path: Path,
    found: list[Machine],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nothing = measurement(None, "There is too little free memory for it.")
    monkeypatch.setattr(computer, "measuring", lambda handle: nothing)
    this = make(document, path)
    said: list[str] = []
    this.said.connect(said.append)
    detect(qtbot, this)
    measure(qtbot, this)
    assert bandwidth(document).value is None
    assert "too little free memory" in said[-1]


def test_a_doubtful_measurement_leaves_an_earlier_good_one_and_says_so(
    qtbot: QtBot,
    document: Document,
    path: Path,
    found: list[Machine],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(computer, "measuring", lambda handle: measurement(7e9, "Others ran."))
    this = make(document, path, RAM)
    said: list[str] = []
    this.said.connect(said.append)
    detect(qtbot, this)
    measure(qtbot, this)
    assert bandwidth(document).value == 41.5e9
    assert said[-1].endswith("The earlier figure, which nothing speaks against, stays.")


def test_asking_twice_measures_once(
    qtbot: QtBot,
    document: Document,
    path: Path,
    found: list[Machine],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    calls: list[int] = []
    go = threading.Event()

    def slow(handle: object) -> BandwidthMeasurement:
        calls.append(1)
        assert go.wait(30)
        return measurement(1e9)

    monkeypatch.setattr(computer, "measuring", slow)
    this = make(document, path)
    this.measure()
    this.measure()
    with qtbot.waitSignal(this.meter.ended):
        go.set()
    assert calls == [1]


def test_on_one_memory_for_all_the_gpu_keeps_its_own_figure(
    qtbot: QtBot, document: Document, path: Path, found: list[Machine]
) -> None:
    one = plans.device("Strix Halo", kind=DeviceKind.GPU, memory=RAM, bandwidth=256e9)
    unified = replace(HERE, devices=(replace(one, unified=True),))
    found.append(unified)
    this = make(document, path, RAM)
    for _ in range(2):
        detect(qtbot, this)
        assert bandwidth(document).value == 256e9
        assert len(document.machine.problems) == 1


def test_while_it_is_measured_no_button_asks_for_it_again(
    qtbot: QtBot,
    theme: Theme,
    tmp_path: Path,
    found: list[Machine],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    go = threading.Event()

    def slow(handle: object) -> BandwidthMeasurement:
        assert go.wait(30)
        return measurement(None, "There is too little free memory for it.")

    monkeypatch.setattr(computer, "measuring", slow)
    window = MainWindow(
        Document(resolve=plans.resolve), theme, KeptSettings(tmp_path / "settings.json")
    )
    qtbot.addWidget(window)
    window.show()
    qtbot.waitUntil(lambda: window.document.this_computer is not None)
    window.document.set_model(plans.model())
    plan = window.page.plan
    buttons = (plan.speed.remedy, plan.machine.measure, window.welcome.computer.measure_button)
    words = [button.text() for button in buttons]
    assert all("Measure" in text for text in words)
    plan.speed.remedy.click()
    assert [button.text() for button in buttons] == ["Measuring…"] * 3
    assert not any(button.isEnabled() for button in buttons)
    with qtbot.waitSignal(window.computer.meter.ended):
        go.set()
    assert [button.text() for button in buttons] == words
    assert all(button.isEnabled() for button in buttons)
    window.close()


@pytest.fixture
def window(
    qtbot: QtBot, theme: Theme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[MainWindow]:
    """A window on a computer whose RAM was measured with 41.5 GB/s; its own figure is 51.2."""
    here = plans.machine(plans.device("RAM", memory=RAM, bandwidth=51.2e9), id="this", name="Here")
    rate = facts.MeasuredRate(facts.RAM, 41.5e9, "2026-01-02", RAM, "timed")
    facts.save([rate], tmp_path / "facts.json")
    monkeypatch.setattr(computer, "detecting", lambda handle: here)
    made = MainWindow(
        Document(resolve=plans.resolve), theme, KeptSettings(tmp_path / "settings.json")
    )
    qtbot.addWidget(made)
    made.show()
    qtbot.waitUntil(lambda: made.document.this_computer is not None)
    yield made
    made.close()


def test_the_menu_says_what_was_measured_and_takes_it_back(
    window: MainWindow, tmp_path: Path
) -> None:
    action = window.commands.use_measured
    assert action.isEnabled()
    assert action.isChecked()
    assert "41.5 GB/s, 2026-01-02" in action.text()
    assert bandwidth(window.document).value == 41.5e9
    action.trigger()
    assert bandwidth(window.document).value == 51.2e9
    assert [rate.chosen for rate in facts.load(tmp_path / "facts.json")] == [False]
    action.trigger()
    assert bandwidth(window.document).value == 41.5e9


def test_where_nothing_was_measured_there_is_nothing_to_plan_with(
    qtbot: QtBot, theme: Theme, tmp_path: Path, found: list[Machine]
) -> None:
    window = MainWindow(
        Document(resolve=plans.resolve), theme, KeptSettings(tmp_path / "settings.json")
    )
    qtbot.addWidget(window)
    assert not window.commands.use_measured.isEnabled()
    assert not window.commands.use_measured.isChecked()


def test_looking_again_wakes_what_sleeps_and_the_first_look_does_not(
    qtbot: QtBot, window: MainWindow, monkeypatch: pytest.MonkeyPatch
) -> None:
    woken: list[int] = []

    def waking(handle: object) -> Machine:
        woken.append(1)
        return HERE

    monkeypatch.setattr(computer, "waking", waking)
    with qtbot.waitSignal(window.computer.detector.ended):
        window.commands.detect.trigger()
    assert woken == [1]


def test_a_machine_report_is_saved_where_the_user_wants_it(
    window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chosen = tmp_path / "PC"
    asked: list[str] = []

    def ask(parent: object, title: str, suggested: str, kinds: str) -> tuple[str, str]:
        asked.append(suggested)
        return str(chosen), ""

    monkeypatch.setattr(QFileDialog, "getSaveFileName", ask)
    window.commands.save_machine.trigger()
    assert asked[0].endswith("Here.json")
    (opened,) = own.opened(tmp_path / "PC.json")
    assert opened.devices[0].memory.value == RAM
    assert "PC.json" in window.message.text()
    chosen.mkdir()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (f"{chosen}/a/b.json", ""))
    window.commands.save_machine.trigger()
    assert "could not be saved" in window.message.text()
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: ("", ""))
    window.commands.save_machine.trigger()


def test_the_disk_of_the_open_model_is_timed_and_kept(
    qtbot: QtBot, window: MainWindow, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    disk = unknown(DiskKind.NVME, "Samsung SSD 980 PRO")
    asked: list[Path] = []
    answers = [measurement(3.1e9).bandwidth, measurement(None, "The file is too small.").bandwidth]

    def timing(path: Path) -> Callable[[object], tuple[Disk, Number[float]]]:
        asked.append(path)
        return lambda handle: (disk, answers.pop(0))

    monkeypatch.setattr(computer, "timing_disk", timing)
    action = window.commands.measure_disk
    assert not action.isEnabled()
    window.document.set_model(plans.model())
    with qtbot.waitSignal(window.computer.disk_meter.ended):
        action.trigger()
    assert asked == [plans.model().file.header.path]
    assert "Samsung SSD 980 PRO" in window.message.text()
    assert "3.1 GB/s" in window.message.text()
    kept = facts.load(tmp_path / "facts.json")
    assert kept[-1].device == "disk nvme Samsung SSD 980 PRO"
    with qtbot.waitSignal(window.computer.disk_meter.ended):
        action.trigger()
    assert "too small" in window.message.text()
    assert facts.load(tmp_path / "facts.json") == kept


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("GeForce RTX 4090 + 63,7 GiB", "GeForce RTX 4090 + 63.7 GiB"),
        ("2 x RTX 3090, 48 GiB", "2 x RTX 3090 48 GiB"),
        ("Qwen3: 30B/A3B", "Qwen3 30B A3B"),
        ("a/b" * 40, ("a b" * 40)[:60].strip()),
        ("???", ""),
    ],
)
def test_a_name_that_is_proposed_for_a_file_keeps_its_tenths(words: str, name: str) -> None:
    """In Spanish a machine is "63,7 GiB": a comma taken out made it "63 7 GiB"."""
    assert file_name(words) == name
