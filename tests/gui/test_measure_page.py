"""The page that measures, with a worker that replays events."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

import resources
from core.gguf import open_file
from core.language import speak
from core.machine import catalogue, custom
from core.measure import inner
from core.measure.diagnosis import point_of
from core.measure.discovery import Found, State
from core.measure.history import History, Stored
from core.measure.run import RunPlan, RunStatus, ServerKind, Target
from core.model import model_from
from core.plan import resolve
from gui.document import Document
from gui.panels.measure import servers
from gui.panels.measure.held_against import held_against
from gui.panels.measure.page import MeasurePage
from gui.theme import Theme, ThemeMode
from gui.widgets.chart import Ink
from gui.workers import engine
from gui.workers.run_history import RunHistory
from gui.workers.runner import Runner
from tests.support import fake_worker, runs
from tests.support.cut import cut
from tests.support.specimen_plans import on_a_3090

SECONDS = 30_000
TARGET = replace(runs.TARGET, model="llama-8b", context=2048)
READY = Found("http://127.0.0.1:8080", State.READY, ServerKind.LLAMA_SERVER, (TARGET,))
LOCKED = Found("http://127.0.0.1:8000", State.NEEDS_KEY, ServerKind.VLLM)
EMPTY = Found(
    "http://127.0.0.1:11434", State.EMPTY, ServerKind.OLLAMA, available=("llama3.2:latest",)
)
PRIVATE = Found(
    "http://127.0.0.1:40001",
    State.READY,
    ServerKind.LLAMA_SERVER,
    (replace(TARGET, url="http://127.0.0.1:40001"),),
    driver="http://127.0.0.1:11434",
)


@pytest.fixture
def document() -> Document:
    made = Document()
    made.set_this_computer(replace(on_a_3090(), id="this", name="This computer"))
    path = next(p for p in resources.specimens() if p.name.startswith("Llama-3.1-8B"))
    made.set_model(model_from(open_file(path)))
    made.choose(context=2048)
    return made


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch) -> list[Found]:
    there = [READY]
    monkeypatch.setattr(servers, "looking_for_servers", lambda keys: lambda handle: tuple(there))
    monkeypatch.setattr(engine, "programs", lambda folder="": {})
    return there


@pytest.fixture
def page(
    qtbot: QtBot, document: Document, tmp_path: Path, found: list[Found]
) -> Iterator[MeasurePage]:
    history = RunHistory(tmp_path / "runs.sqlite")
    made = MeasurePage(document, history, "")
    qtbot.addWidget(made)
    made.resize(1280, 700)
    yield made
    made.end()
    for runner in made.findChildren(Runner):
        runner.stop()
    history.close()
    history.deleteLater()


@pytest.fixture
def scenario(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    return lambda name: monkeypatch.setattr(inner, "command", fake_worker.command(name))


def show(qtbot: QtBot, page: MeasurePage) -> None:
    page.show()
    qtbot.waitUntil(lambda: not page.servers.finder.running and not page.own.finder.running)


def measure(qtbot: QtBot, page: MeasurePage, depths: str = "0, 512, 1024") -> None:
    show(qtbot, page)
    page.choices.depths.setText(depths)
    page.choices.depths.textEdited.emit(depths)
    QTest.mouseClick(page.progress.start, Qt.MouseButton.LeftButton)


def finished(qtbot: QtBot, page: MeasurePage) -> None:
    qtbot.waitUntil(lambda: page.worker.run is not None and not page.busy, timeout=SECONDS)
    qtbot.waitUntil(lambda: not page.worker.process.running, timeout=SECONDS)


def kept(tmp_path: Path) -> History:
    return History(tmp_path / "runs.sqlite")


def test_a_run_from_the_button_to_the_history(
    qtbot: QtBot, page: MeasurePage, tmp_path: Path, scenario: Callable[[str], None]
) -> None:
    scenario("done")
    measure(qtbot, page)
    assert page.choices.note.shown == ""  # it says what is left, beside the bar
    finished(qtbot, page)
    assert page.choices.note.shown
    run = page.worker.run
    assert run is not None
    assert run.status is RunStatus.DONE
    # The picture: ceiling, and the three points at their true depth (d + (N - 1) / 2).
    chart = page.view.decode.chart
    assert chart is not None
    inks = [series.ink for series in chart.series]
    assert Ink.CEILING in inks
    (points,) = (series for series in chart.series if series.ink is Ink.POINTS)
    assert [dot.x for dot in points.dots] == [1 + 31.5, 512 + 31.5, 1024 + 31.5]
    assert all(dot.low is not None and dot.high is not None for dot in points.dots)
    assert page.view.rate.shown == "51.2 tok/s"
    # 936 GB/s over what a token reads: the share is measured / ceiling.
    assert page.view.share.shown.endswith("%")
    assert len(page.view.sheet.rows) == 3
    assert page.view.findings.isVisible()
    assert "of the ceiling" in page.view.findings.lines[0].message.shown
    assert "kept in History" in page.progress.words.shown
    history = kept(tmp_path)
    stored = history.load(run.id)
    history.close()
    assert stored is not None
    assert stored.run == run
    assert stored.run.telemetry
    assert stored.plan is not None
    assert stored.plan.figures(512) is not None


def test_what_is_to_be_measured_and_for_how_long_is_said_before_the_start(
    qtbot: QtBot, page: MeasurePage
) -> None:
    show(qtbot, page)
    assert page.progress.start.isEnabled()
    # A context of 2,048 less 64 tokens to write and 64 to spare: an eighth, a quarter, a half, all.
    assert page.choices.depths.placeholderText() == "0, 256, 768, 1792"
    plan = page.choices.run_plan()
    assert not isinstance(plan, str)
    assert plan.depths == (0, 256, 768, 1792)
    assert page.choices.note.shown


def test_the_duration_is_that_of_this_computer_whatever_the_plan_is_for(
    qtbot: QtBot, page: MeasurePage, document: Document
) -> None:
    """A plan for a fast card promised half a minute for a processor that took five."""
    show(qtbot, page)
    words = page.choices.note.shown
    assert words.startswith("Takes about")
    document.set_machine(catalogue.machine("nvidia-geforce-rtx-5090"))
    document.choose(context=4096)
    document.choose(context=2048)
    assert page.choices.note.shown == words
    document.set_this_computer(replace(custom(64 * 2**30, 50e9, gpu=False), id="this"))
    document.choose(context=4096)
    assert page.choices.note.shown == "How long it takes is known after the first requests."


@pytest.mark.parametrize(
    ("depths", "expected"),
    [
        ("0, x", "whole numbers"),
        ("-1", "whole numbers"),
        ("4096", "do not fit into a context of 2,048; 1,920 would"),
        (", ".join(map(str, range(40))), "More than 32 depths"),
    ],
)
def test_what_cannot_be_measured_is_a_sentence_and_no_start(
    qtbot: QtBot, page: MeasurePage, depths: str, expected: str
) -> None:
    show(qtbot, page)
    page.choices.depths.setText(depths)
    page.choices.depths.textEdited.emit(depths)
    assert expected in page.choices.note.shown
    assert not page.progress.start.isEnabled()
    page.start()
    assert page.worker.run is None


def test_depths_may_be_typed_as_the_reader_writes_numbers(page: MeasurePage) -> None:
    speak(numbers="12.345,6")
    page.choices.depths.setText("0, 1.024 1536")
    plan = page.choices.run_plan()
    page.choices.depths.setText(page.choices.depths.placeholderText())
    usual = page.choices.run_plan()
    assert isinstance(plan, RunPlan)
    assert plan.depths == (0, 1024, 1536)
    assert isinstance(usual, RunPlan)
    assert usual.depths == (0, 256, 768, 1792)


def test_requests_at_the_same_time_are_numbers(qtbot: QtBot, page: MeasurePage) -> None:
    show(qtbot, page)
    page.choices.at_once.setText("1, 4")
    plan = page.choices.run_plan()
    assert not isinstance(plan, str)
    assert plan.concurrency == (1, 4)
    page.choices.at_once.setText("0")
    assert "from 1 to 64" in page.choices.note.shown


def test_cancelling_keeps_what_was_finished_and_resume_measures_the_rest(
    qtbot: QtBot, page: MeasurePage, tmp_path: Path, scenario: Callable[[str], None]
) -> None:
    scenario("waits")
    measure(qtbot, page)
    qtbot.waitUntil(
        lambda: page.worker.run is not None and bool(page.worker.run.finished_cells),
        timeout=SECONDS,
    )
    assert page.progress.cancel.isVisible()
    assert "of 6" in page.progress.words.shown or page.progress.words.shown
    QTest.mouseClick(page.progress.cancel, Qt.MouseButton.LeftButton)
    finished(qtbot, page)
    run = page.worker.run
    assert run is not None
    assert run.status is RunStatus.STOPPED
    assert [cell.depth for cell in run.finished_cells] == [0]
    assert page.progress.resume.isVisible()
    scenario("done")
    QTest.mouseClick(page.progress.resume, Qt.MouseButton.LeftButton)
    finished(qtbot, page)
    again = page.worker.run
    assert again is not None
    assert again.id == run.id
    assert again.status is RunStatus.DONE
    assert again.cells[0] == run.cells[0]
    assert [cell.depth for cell in again.finished_cells] == [0, 512, 1024]
    history = kept(tmp_path)
    (stored,) = history.all()
    history.close()
    assert stored.run.status is RunStatus.DONE
    assert len(stored.run.cells) == 3


def test_a_run_of_the_history_goes_on_at_the_server_that_was_started_anew(
    qtbot: QtBot,
    page: MeasurePage,
    found: list[Found],
    tmp_path: Path,
    scenario: Callable[[str], None],
) -> None:
    """A server of our own has another port each time."""
    whole = runs.run({0: [50.0] * 6, 512: [45.0] * 6}, target=READY.targets[0])
    half = replace(whole, status=RunStatus.STOPPED, cells=whole.cells[:1])
    elsewhere = replace(READY.targets[0], url="http://127.0.0.1:9999")
    found[:] = [replace(READY, url=elsewhere.url, targets=(elsewhere,))]
    show(qtbot, page)
    page.take_up(Stored(half, None))
    assert page.progress.resume.isVisible()
    assert page.view.run == half
    scenario("done")
    QTest.mouseClick(page.progress.resume, Qt.MouseButton.LeftButton)
    finished(qtbot, page)
    assert page.worker.run is not None
    assert page.worker.run.id == half.id
    assert page.worker.run.target.url == elsewhere.url
    assert page.worker.run.cells[0] == half.cells[0]


def test_another_model_does_not_go_on_with_a_run(
    qtbot: QtBot, page: MeasurePage, found: list[Found]
) -> None:
    show(qtbot, page)
    other = replace(READY.targets[0], model="another", model_path="/models/another.gguf")
    stopped = replace(runs.run({0: [50.0] * 6}, target=other), status=RunStatus.STOPPED)
    page.take_up(Stored(stopped, None))
    QTest.mouseClick(page.progress.resume, Qt.MouseButton.LeftButton)
    assert not page.busy
    assert "does not run what" in page.problems.stack.banners[0].problem.message


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("fails", "It failed: The server closed the connection. Look at its log."),
        ("dies", "The measuring process ended before the measurement did."),
    ],
)
def test_a_run_that_fails_says_why_and_keeps_what_was_finished(
    qtbot: QtBot,
    page: MeasurePage,
    tmp_path: Path,
    scenario: Callable[[str], None],
    name: str,
    words: str,
) -> None:
    scenario(name)
    measure(qtbot, page)
    finished(qtbot, page)
    assert words in page.progress.words.shown
    assert page.progress.resume.isVisible()
    assert page.view.problems.isVisible()
    history = kept(tmp_path)
    (stored,) = history.all()
    history.close()
    assert stored.run.status is RunStatus.FAILED
    assert [cell.depth for cell in stored.run.finished_cells] == [0]


def test_other_words_between_the_events_are_passed_over(
    qtbot: QtBot, page: MeasurePage, scenario: Callable[[str], None]
) -> None:
    scenario("noise")
    measure(qtbot, page)
    finished(qtbot, page)
    assert page.worker.run is not None
    assert page.worker.run.status is RunStatus.DONE
    assert len(page.worker.run.finished_cells) == 3


def test_closing_in_the_middle_ends_the_worker_and_keeps_the_run(
    qtbot: QtBot, page: MeasurePage, tmp_path: Path, scenario: Callable[[str], None]
) -> None:
    scenario("waits")
    measure(qtbot, page)
    qtbot.waitUntil(
        lambda: page.worker.run is not None and bool(page.worker.run.finished_cells),
        timeout=SECONDS,
    )
    page.end()
    assert not page.worker.process.running
    history = kept(tmp_path)
    (stored,) = history.all()
    history.close()
    assert stored.run.status is RunStatus.STOPPED
    assert len(stored.run.finished_cells) == 1


def test_m46_less_context_than_planned_is_amber_before_and_after(
    qtbot: QtBot,
    page: MeasurePage,
    found: list[Found],
    document: Document,
    scenario: Callable[[str], None],
) -> None:
    """M46: asked for 200,000, got 152,576."""
    document.choose(context=200_000)
    target = replace(TARGET, context=152_576)
    found[:] = [replace(READY, targets=(target,))]
    show(qtbot, page)
    words = [line.text.shown for line in page.servers.notes.lines]
    assert any(
        "The plan has 200,000 tokens of context, the server 152,576." in text for text in words
    )
    scenario("done")
    measure(qtbot, page, "0")
    finished(qtbot, page)
    assert page.view.findings.lines[0].message.shown == (
        "Asked 200,000 → got 152,576 tokens of context."
    )


def test_servers_that_cannot_be_measured_say_why(
    qtbot: QtBot, page: MeasurePage, found: list[Found]
) -> None:
    found[:] = [LOCKED, EMPTY, PRIVATE]
    show(qtbot, page)
    expected = ["wants a key", "No model is loaded", "Ollama runs this server for itself"]
    for row, words in enumerate(expected):
        page.servers.list.setCurrentRow(row)
        assert page.target is None
        assert not page.progress.start.isEnabled()
        assert words in page.servers.notes.lines[0].text.shown


def test_without_a_server_it_says_what_to_do(
    qtbot: QtBot, page: MeasurePage, found: list[Found]
) -> None:
    found.clear()
    show(qtbot, page)
    assert "No server runs on this computer" in page.servers.state.shown
    assert not page.progress.start.isEnabled()
    assert "llama-server was not found" in page.own.why.shown
    assert not page.own.start.isEnabled()


def test_an_address_that_is_typed_is_asked_and_its_key_is_kept_for_the_session_only(
    qtbot: QtBot, page: MeasurePage, found: list[Found], monkeypatch: pytest.MonkeyPatch
) -> None:
    found.clear()
    asked: list[tuple[str, str]] = []
    other = replace(READY, url="http://10.0.0.5:8080")

    def looking(address: str, key: str) -> Callable[[object], Found | str]:
        asked.append((address, key))
        return lambda handle: other if address == "10.0.0.5:8080" else "It is no address."

    monkeypatch.setattr(servers, "looking_at", looking)
    show(qtbot, page)
    QTest.keyClicks(page.servers.address, "10.0.0.5:8080")
    QTest.keyClicks(page.servers.key, "secret")
    QTest.keyClick(page.servers.key, Qt.Key.Key_Return)
    qtbot.waitUntil(lambda: page.target is not None)
    assert asked == [("10.0.0.5:8080", "secret")]
    assert page.keys.key_for("http://10.0.0.5:8080") == "secret"
    assert page.servers.key.text() == ""
    page.servers.address.setText("nonsense")
    QTest.mouseClick(page.servers.ask, Qt.MouseButton.LeftButton)
    qtbot.waitUntil(lambda: page.servers.state.shown == "It is no address.")


def test_a_key_is_in_no_file(
    qtbot: QtBot, page: MeasurePage, tmp_path: Path, scenario: Callable[[str], None]
) -> None:
    page.keys.remember(TARGET.url, "s3cr3t-key")
    scenario("done")
    measure(qtbot, page, "0")
    finished(qtbot, page)
    for path in tmp_path.rglob("*"):
        if path.is_file():
            assert b"s3cr3t-key" not in path.read_bytes()


def test_gaps_prefill_and_first_token_have_pictures_of_their_own(
    qtbot: QtBot, page: MeasurePage, scenario: Callable[[str], None]
) -> None:
    scenario("done")
    measure(qtbot, page)
    finished(qtbot, page)
    view = page.view
    for chart, unit in ((view.prefill.chart, "tok/s"), (view.first.chart, "s")):
        assert chart is not None
        assert chart.y_label == unit
        _, expected = chart.series
        # What the plan says about prompts of the lengths that were measured.
        assert expected.ink is Ink.OTHER
        assert [dot.x for dot in expected.dots] == [512, 1024]
    prefill, first = view.prefill.chart, view.first.chart
    assert prefill is not None
    assert first is not None
    for rate, wait in zip(prefill.series[1].dots, first.series[1].dots, strict=True):
        assert rate.y * wait.y == pytest.approx(rate.x)
    assert [view.cell.itemText(n) for n in range(view.cell.count())] == ["0", "512", "1,024"]
    view.cell.setCurrentIndex(2)
    chart = view.gaps.chart
    assert chart is not None
    # 6 runs of 64 tokens at 40 tok/s and a little more: 63 gaps each of 25 ms at most.
    assert len(chart.series[0].dots) == 6 * 63
    assert max(dot.y for dot in chart.series[0].dots) == pytest.approx(25.0, rel=1e-3)


def test_the_run_is_copied_as_markdown(
    qtbot: QtBot, page: MeasurePage, scenario: Callable[[str], None]
) -> None:
    scenario("done")
    measure(qtbot, page, "0")
    finished(qtbot, page)
    QTest.mouseClick(page.copy, Qt.MouseButton.LeftButton)
    assert "llama-bench -m" in QGuiApplication.clipboard().text()


@pytest.mark.parametrize("size", [(1280, 700), (800, 500), (520, 500)])
@pytest.mark.parametrize("mode", [ThemeMode.LIGHT, ThemeMode.DARK])
def test_nothing_is_cut(
    qtbot: QtBot,
    page: MeasurePage,
    theme: Theme,
    scenario: Callable[[str], None],
    size: tuple[int, int],
    mode: ThemeMode,
) -> None:
    theme.set_mode(mode)
    page.resize(*size)
    show(qtbot, page)
    QTest.qWait(50)
    assert cut(page) == []
    scenario("fails")
    measure(qtbot, page, "0")
    finished(qtbot, page)
    QTest.qWait(50)
    assert cut(page) == []


def test_in_one_column_the_progress_and_the_picture_come_into_sight(
    qtbot: QtBot, page: MeasurePage, scenario: Callable[[str], None]
) -> None:
    page.resize(800, 500)
    scenario("waits")
    measure(qtbot, page)
    qtbot.waitUntil(lambda: page.area.verticalScrollBar().value() > 0)
    assert not page.progress.bar.visibleRegion().isEmpty()
    page.end()


def test_everything_has_a_name_and_is_reached_by_the_keyboard(
    qtbot: QtBot, page: MeasurePage
) -> None:
    show(qtbot, page)
    for widget in (
        page.servers.list, page.servers.address, page.servers.key, page.choices.depths,
        page.choices.at_once, page.choices.runs, page.choices.tokens, page.choices.cold,
        page.view.table, page.view.tabs, page.own.log,
    ):  # fmt: skip
        assert widget.accessibleName()
    for button in page.findChildren(QPushButton):
        assert button.text()
    page.servers.list.setFocus()
    seen = set()
    for _ in range(40):
        focused = page.focusWidget()
        seen.add(focused)
        QTest.keyClick(focused, Qt.Key.Key_Tab)
    assert {page.servers.list, page.choices.depths, page.progress.start} <= seen


def test_a_target_that_is_elsewhere_has_no_ceiling_of_this_computer(
    qtbot: QtBot, page: MeasurePage, found: list[Found]
) -> None:
    elsewhere: Target = replace(TARGET, url="http://192.168.1.20:8080")
    found[:] = [replace(READY, url=elsewhere.url, targets=(elsewhere,))]
    show(qtbot, page)
    assert page.target == elsewhere
    assert page._machine(elsewhere) == {}


def test_events_that_come_fast_do_not_draw_each(
    qtbot: QtBot,
    page: MeasurePage,
    scenario: Callable[[str], None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    drawn: list[float] = []
    original = page.view.show_run

    def counted(*args: object) -> None:
        drawn.append(time.monotonic())
        original(*args)  # type: ignore[arg-type]

    monkeypatch.setattr(page.view, "show_run", counted)
    scenario("done")
    measure(qtbot, page)
    finished(qtbot, page)
    # 21 samples and 3 cells were said; the picture is drawn five times a second at most, and
    # a few times more at the start and the end.
    assert len(drawn) <= 6 + 5 * (drawn[-1] - drawn[0])


def test_a_server_of_our_own_is_held_against_what_it_loads_beside_the_model(
    document: Document,
) -> None:
    plan = document.plan
    assert plan is not None
    target = READY.targets[0]
    alone = held_against(document, target, RunPlan((0,)))
    started = resolve(plan.model, plan.machine, replace(plan.choice, draft=plan.model))
    beside = held_against(document, target, RunPlan((0,)), started)
    assert alone is not None
    assert beside is not None
    assert alone.total
    assert beside.total
    # The draft is the same file once more.
    assert beside.total - alone.total > 0.9 * plan.weights.bytes


@pytest.mark.parametrize(
    "changes", [{"model_bytes": 1000}, {"parameters": 1000}, {"label": "Q8_0"}]
)
def test_nothing_is_worked_out_with_the_open_file_where_the_server_runs_another(
    document: Document, changes: dict[str, object]
) -> None:
    """GB/s and the share of the ceiling would be those of bytes that nobody read."""
    other = replace(TARGET, **changes)  # type: ignore[arg-type]
    kept = held_against(document, other, RunPlan((0, 512)))
    assert kept is not None
    assert kept.figures(0) is None
    run = runs.run({0: [50.0] * 6, 512: [45.0] * 6}, target=other)
    assert all(point_of(cell, kept).bandwidth is None for cell in run.cells)  # type: ignore[union-attr]
    own = held_against(document, TARGET, RunPlan((0, 512)))
    assert own is not None
    assert own.figures(0) is not None
