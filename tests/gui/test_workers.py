"""Functions off the GUI thread: answers come back in it, stale ones are dropped."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from threading import Event

import pytest
import shiboken6
from pytestqt.qtbot import QtBot

from gui.workers.runner import Function, Handle, Runner


@pytest.fixture
def runner() -> Iterator[Runner]:
    made = Runner("test")
    yield made
    assert made.stop()


def waiting_for(event: Event, answer: object) -> Function:
    def wait(handle: Handle) -> object:
        assert event.wait(30)
        return answer

    return wait


def test_the_function_runs_elsewhere_and_its_answer_comes_here(
    qtbot: QtBot, runner: Runner
) -> None:
    here = threading.current_thread()
    places = []
    runner.finished.connect(lambda answer: places.append(threading.current_thread()))
    with qtbot.waitSignal(runner.finished) as heard:
        runner.start(lambda handle: threading.current_thread())
    assert heard.args is not None
    assert heard.args[0] is not here
    assert places == [here]
    assert not runner.running


def test_an_earlier_answer_is_dropped_even_when_it_comes_later(
    qtbot: QtBot, runner: Runner
) -> None:
    first, second = Event(), Event()
    answers: list[object] = []
    runner.finished.connect(answers.append)
    runner.start(waiting_for(first, "old"))
    runner.start(waiting_for(second, "new"))
    with qtbot.waitSignal(runner.ended):
        second.set()
    first.set()
    runner.stop()
    qtbot.wait(20)
    assert answers == ["new"]


def test_an_answer_that_is_on_its_way_when_another_call_begins_is_dropped(
    qtbot: QtBot, runner: Runner
) -> None:
    answers: list[object] = []
    runner.finished.connect(answers.append)
    runner.start(lambda handle: "old")
    runner._threads[0].join()  # answered, but not yet delivered
    with qtbot.waitSignal(runner.ended):
        runner.start(lambda handle: "new")
    assert answers == ["new"]


def test_cancel_ends_it_at_once_and_tells_the_function(qtbot: QtBot, runner: Runner) -> None:
    seen = Event()

    def until_cancelled(handle: Handle) -> None:
        while not handle.cancelled():
            pass
        seen.set()
        raise RuntimeError("nobody wants to know")

    answers: list[object] = []
    runner.finished.connect(answers.append)
    runner.start(until_cancelled)
    with qtbot.waitSignal(runner.ended):
        runner.cancel()
    assert not runner.running
    assert seen.wait(30)
    assert runner.stop()
    qtbot.wait(20)
    assert answers == []


def test_progress_is_passed_on_but_not_more_often_than_can_be_seen(
    qtbot: QtBot, runner: Runner
) -> None:
    counts: list[int] = []
    runner.progressed.connect(counts.append)

    def work(handle: Handle) -> None:
        for step in range(100_000):
            handle.progress(step)

    with qtbot.waitSignal(runner.ended):
        runner.start(work)
    assert counts[0] == 0
    assert 1 <= len(counts) < 100


def test_progress_of_an_earlier_call_is_dropped(qtbot: QtBot, runner: Runner) -> None:
    handles: list[Handle] = []
    started, end = Event(), Event()

    def first(handle: Handle) -> None:
        handles.append(handle)
        started.set()
        assert end.wait(30)

    counts: list[int] = []
    runner.progressed.connect(counts.append)
    runner.start(first)
    assert started.wait(30)
    runner.start(lambda handle: None)
    handles[0].progress(5)
    end.set()
    qtbot.waitUntil(lambda: not runner.running)
    assert counts == []


def test_an_exception_is_reported_like_any_that_nobody_caught(
    qtbot: QtBot, runner: Runner, monkeypatch: pytest.MonkeyPatch
) -> None:
    reported: list[BaseException] = []
    monkeypatch.setattr("sys.excepthook", lambda kind, error, trace: reported.append(error))

    def fail(handle: Handle) -> None:
        raise ValueError("broken")

    with qtbot.waitSignal(runner.ended):
        runner.start(fail)
    assert [str(error) for error in reported] == ["broken"]


def test_stop_says_when_a_thread_hangs(runner: Runner) -> None:
    end = Event()
    runner.start(waiting_for(end, None))
    assert not runner.stop(0.05)
    end.set()
    assert runner.stop(5)


def test_a_thread_that_outlives_its_runner_ends_without_a_word(
    qapp: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    complaints: list[object] = []
    monkeypatch.setattr(threading, "excepthook", complaints.append)
    gone, release = Runner("gone"), Event()
    gone.start(waiting_for(release, "answer"))
    (thread,) = (t for t in threading.enumerate() if t.name == "gone")
    shiboken6.delete(gone)
    release.set()
    thread.join(30)
    assert not thread.is_alive()
    assert complaints == []
