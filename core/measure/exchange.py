"""Requests at the same time, in one thread: whatever arrives is stamped right after its read."""

from __future__ import annotations

import gc
import selectors
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from time import perf_counter_ns

from core.language import mark, tr
from core.measure.clocks import asleep_seconds
from core.measure.control import Control
from core.measure.recorder import CUT_OFF, Recorder
from core.measure.wire.connect import connect, receive, send
from core.measure.wire.http import Address
from core.problems import Problem

LOOK_SECONDS = 0.1  # at least so often somebody may look at the progress
SLEPT_SECONDS = 1.0

STOPPED = Problem("stopped", mark("The measurement was stopped."))
SLEPT = Problem(
    "slept",
    mark("The computer went to sleep during a request, so that its times mean nothing."),
    advice=mark("Keep the computer awake while it measures."),
)


def gone(error: OSError) -> Problem:
    """Why nobody answers any more."""
    if isinstance(error, ConnectionRefusedError):
        return Problem(
            "server_gone",
            tr("The server does not answer any more: nothing listens at its address."),
            advice=tr("See its log for the reason, start it again and resume."),
        )
    if isinstance(error, ConnectionResetError | BrokenPipeError):
        return CUT_OFF
    words = (error.strerror or str(error)).lower()
    return Problem(
        "server_gone",
        tr("The server could not be reached: {why}.", why=words),
        advice=tr("Is it still running?"),
    )


def endless(tokens: int) -> Problem:
    """It writes on and on."""
    return Problem(
        "endless",
        tr(
            "The server wrote {tokens:,} tokens, many more than it was asked for, and did not end.",
            tokens=tokens,
        ),
        advice=tr("It passes over the number of tokens in a request, so it cannot be measured."),
    )


def stalled(seconds: float) -> Problem:
    """It says nothing, and no error either."""
    return Problem(
        "stall",
        tr(
            "The server wrote nothing for {seconds:.0f} s, so the request was given up.",
            seconds=seconds,
        ),
        advice=tr("See whether it is stuck or serves somebody else; a longer patience can be set."),
    )


@dataclass(slots=True)
class Exchange:
    """One request: its bytes and who records the answer. ``started_ns`` is the clock's own value,
    just before the bytes were handed over."""

    request: bytes
    recorder: Recorder
    started_ns: int = 0
    last_ns: int = 0  # when it last said something
    further_ns: int = 0  # when it last was further than before
    how_far: tuple[int, int] = (0, 0)  # tokens written, tokens of the prompt read
    round_trip_ns: int | None = None  # what it took to connect
    connection: socket.socket | None = field(default=None, repr=False)


Watch = Callable[[Sequence[Exchange]], None]


def exchange_all(
    address: Address,
    exchanges: Sequence[Exchange],
    control: Control,
    *,
    first_seconds: float,
    stall_seconds: float,
    most_tokens: int,
    watch: Watch | None = None,
    clock: Callable[[], int] = perf_counter_ns,
    asleep: Callable[[], float] = asleep_seconds,
) -> None:
    """Send all requests and record their answers; returns when each has ended in some way.

    Connections are opened before any clock starts. A server may take ``first_seconds`` until its
    first text and ``stall_seconds`` for more of it; signs of life that bring neither text nor more
    of the prompt do not count. Beyond ``most_tokens`` it is stopped. ``watch`` is called some ten
    times a second. Never raises for what a server or a network does.
    """
    slept = asleep()
    for each in exchanges:
        try:
            each.connection, each.round_trip_ns = connect(address)
        except (OSError, ValueError) as error:
            failed = error if isinstance(error, OSError) else OSError(str(error))
            for other in exchanges:
                other.recorder.fail(gone(failed), 0)
            _close(exchanges)
            return
    collects = gc.isenabled()
    gc.disable()  # its pauses would be counted as the server's
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(control.wake, selectors.EVENT_READ)
            for each in exchanges:
                _begin(each, selector, clock)
            patience = _Patience(first_seconds, stall_seconds, most_tokens)
            _listen(exchanges, selector, control, patience, watch, clock)
    finally:
        _close(exchanges)
        if collects:
            gc.enable()
    if asleep() - slept > SLEPT_SECONDS:
        for each in exchanges:
            each.recorder.fail(SLEPT, each.last_ns - each.started_ns)


@dataclass(frozen=True, slots=True)
class _Patience:
    first_seconds: float
    stall_seconds: float
    most_tokens: int

    def lost(self, each: Exchange, now: int) -> Problem | None:
        """Why an answer is not waited for any longer."""
        recorder = each.recorder
        how_far = (recorder.written, recorder.prompt_done or 0)
        if how_far != each.how_far:
            each.how_far, each.further_ns = how_far, each.last_ns
        seconds = self.stall_seconds if recorder.written else self.first_seconds
        if now - each.further_ns > seconds * 1e9:
            return stalled(seconds)
        return endless(recorder.written) if recorder.written > self.most_tokens else None


def _begin(each: Exchange, selector: selectors.BaseSelector, clock: Callable[[], int]) -> None:
    connection = each.connection
    assert connection is not None
    left = memoryview(each.request)
    each.started_ns = each.last_ns = each.further_ns = clock()
    try:
        left = left[send(connection, left) :]
        while left:  # a long prompt does not go out in one piece
            with selectors.DefaultSelector() as way:
                way.register(connection, selectors.EVENT_WRITE)
                if not way.select(30.0):
                    raise TimeoutError(tr("it takes no request"))
            left = left[send(connection, left) :]
    except OSError as error:
        each.recorder.fail(gone(error), clock() - each.started_ns)
        return
    selector.register(connection, selectors.EVENT_READ, each)


def _listen(
    exchanges: Sequence[Exchange],
    selector: selectors.BaseSelector,
    control: Control,
    patience: _Patience,
    watch: Watch | None,
    clock: Callable[[], int],
) -> None:
    next_look = clock()
    while not all(each.recorder.done for each in exchanges):
        for key, _ in selector.select(LOOK_SECONDS):
            each = key.data
            if each is not None:
                _read(each, selector, clock)
        now = clock()
        if control.cancelled:
            for each in exchanges:
                if not each.recorder.done:
                    each.recorder.fail(STOPPED, now - each.started_ns)
            return
        if now < next_look:
            continue
        next_look = now + int(LOOK_SECONDS * 1e9)
        for each in exchanges:
            lost = None if each.recorder.done else patience.lost(each, now)
            if lost is not None:
                each.recorder.fail(lost, now - each.started_ns)
                _unregister(each, selector)
        if watch is not None:
            watch(exchanges)


def _read(each: Exchange, selector: selectors.BaseSelector, clock: Callable[[], int]) -> None:
    """One read, one stamp; more only where the encryption holds back what has already come."""
    connection, recorder = each.connection, each.recorder
    assert connection is not None
    while not recorder.done:
        try:
            data = receive(connection)
        except OSError as error:
            recorder.fail(gone(error), clock() - each.started_ns)
            break
        now = clock()
        if data is None:
            return
        each.last_ns = now
        if not data:
            recorder.close(now - each.started_ns)
            break
        recorder.feed(data, now - each.started_ns)
        if not getattr(connection, "pending", int)():
            break
    if recorder.done:
        _unregister(each, selector)


def _unregister(each: Exchange, selector: selectors.BaseSelector) -> None:
    if each.connection is not None:
        selector.unregister(each.connection)


def _close(exchanges: Sequence[Exchange]) -> None:
    for each in exchanges:
        if each.connection is not None:
            each.connection.close()
            each.connection = None
