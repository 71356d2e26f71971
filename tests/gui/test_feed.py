"""Bit by bit from beside the GUI thread: everything comes, in order, and nothing after a stop."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest
from pytestqt.qtbot import QtBot

from gui.workers.feed import Feed
from gui.workers.runner import Handle


@pytest.fixture
def feed() -> Iterator[Feed]:
    made = Feed("test")
    yield made
    made.stop()


def came_of(feed: Feed) -> list[int]:
    found: list[int] = []
    feed.came.connect(found.extend)
    return found


def test_everything_comes_in_order_before_the_end(qtbot: QtBot, feed: Feed) -> None:
    found = came_of(feed)
    at_end: list[int] = []
    feed.finished.connect(lambda _: at_end.append(len(found)))
    feed.pull(lambda handle: range(10_000))
    qtbot.waitUntil(lambda: bool(at_end))
    assert found == list(range(10_000))
    assert at_end == [10_000]


def test_batches_come_while_the_rest_is_still_awaited(qtbot: QtBot, feed: Feed) -> None:
    release = threading.Event()

    def spring(handle: Handle) -> Iterator[int]:
        yield from (1, 2)
        release.wait(30)
        yield 3

    found = came_of(feed)
    feed.pull(spring)
    qtbot.waitUntil(lambda: found == [1, 2])
    assert feed.running
    release.set()
    qtbot.waitUntil(lambda: found == [1, 2, 3])


def test_nothing_comes_after_a_stop_or_from_an_earlier_call(qtbot: QtBot, feed: Feed) -> None:
    release = threading.Event()

    def old(handle: Handle) -> Iterator[int]:
        yield 1
        release.wait(30)
        yield 2

    found = came_of(feed)
    feed.pull(old)
    feed.pull(lambda handle: [7])
    release.set()
    qtbot.waitUntil(lambda: not feed.running)
    assert found == [7]
    feed.pull(old)
    feed.cancel()
    assert feed.stop(5)
    qtbot.wait(300)
    assert found == [7]


def test_the_interpreter_is_handed_on_as_usual_when_the_feed_has_ended(
    qtbot: QtBot, feed: Feed
) -> None:
    usual = sys.getswitchinterval()
    for pulls in (1, 2):
        for _ in range(pulls):
            feed.pull(lambda handle: [1])
        assert sys.getswitchinterval() < usual
        qtbot.waitUntil(lambda: not feed.running)
        assert sys.getswitchinterval() == usual
    feed.pull(lambda handle: [1])
    feed.cancel()
    assert sys.getswitchinterval() == usual


def test_a_feed_gives_way_until_what_came_is_drawn(
    qtbot: QtBot, feed: Feed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gui.workers.runner._WAY_SECONDS", 60)
    steps: list[int] = []
    go_on, waited = threading.Event(), threading.Event()

    def spring(handle: Handle) -> Iterator[int]:
        yield 1
        assert go_on.wait(30)
        handle.give_way()
        steps.append(2)
        waited.set()
        yield 2

    def draw(items: list[int]) -> None:
        if items == [1]:
            go_on.set()
            assert not waited.wait(0.2)

    feed.came.connect(draw)
    feed.pull(spring)
    qtbot.waitUntil(lambda: not feed.running)
    assert steps == [2]


def test_whoever_gives_way_is_let_go_by_a_cancel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gui.workers.runner._WAY_SECONDS", 60)
    handle = Handle(lambda done: None)
    handle.hold(True)
    handle.cancel()
    thread = threading.Thread(target=handle.give_way)
    thread.start()
    thread.join(30)
    assert not thread.is_alive()


def test_two_feeds_at_a_time_leave_python_as_it_was(qtbot: QtBot) -> None:
    usual = sys.getswitchinterval()
    release = threading.Event()

    def spring(handle: Handle) -> Iterator[int]:
        release.wait(30)
        yield 1

    feeds = [Feed("one"), Feed("other")]
    for feed in feeds:
        feed.pull(spring)
        assert sys.getswitchinterval() < usual
    for feed in feeds:
        feed.cancel()
    release.set()
    assert sys.getswitchinterval() == usual
    assert all(feed.stop() for feed in feeds)
    feeds[0].end()
    feeds[0].pull(spring)  # after its end it does nothing
    assert sys.getswitchinterval() == usual
