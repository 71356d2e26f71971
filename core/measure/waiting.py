"""Waiting for a server: until it has loaded, until it is back, until nobody else uses it."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from core.language import tr
from core.measure.client import Client
from core.measure.control import Control
from core.measure.recorder import refusal
from core.measure.wire.ask import NoAnswerError
from core.problems import Problem

LOAD_SECONDS = 900.0  # how long a server may take to load its model
IDLE_SECONDS = 60.0  # how long another one's request is waited for
GONE_SECONDS = 3.0  # how long a server that is gone may take to come back
_LOOK_SECONDS = 0.25
_SHORT_LOOK_SECONDS = 0.05  # at first: most waits are short


class RunError(Exception):
    """Nothing more can be measured; the one argument is a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


class Waiting:
    """Every wait ends at a cancel (StoppedError). ``tell`` is called at each look."""

    def __init__(self, client: Client, control: Control, tell: Callable[[], None]) -> None:
        self._client = client
        self._control = control
        self._tell = tell

    def until_ready(self) -> None:
        """While it loads its model. Raises RunError where it does not come to an end,
        NoAnswerError where nobody answers."""
        end = monotonic() + LOAD_SECONDS
        while True:
            answer = self._client.state()
            if answer.status < 300:
                return
            if answer.status != 503 or monotonic() >= end:
                raise RunError(refusal(answer.status, answer.body))
            self._pause(_LOOK_SECONDS)

    def until_back(self, fault: Problem) -> None:
        """A server that broke off may come back, if something starts it again at once. Raises
        RunError where it does not."""
        end = monotonic() + GONE_SECONDS
        while True:
            try:
                self.until_ready()
                return
            except NoAnswerError:
                if monotonic() >= end:
                    raise RunError(_lost(fault)) from None
            self._pause(_LOOK_SECONDS)

    def until_idle(self) -> bool:
        """Until nobody else is served, within limits; whether somebody still is."""
        begun = monotonic()
        while True:
            try:
                busy = self._client.busy()
            except NoAnswerError:
                return False  # the request itself will tell
            waited = monotonic() - begun
            if not busy or waited >= IDLE_SECONDS:
                return bool(busy)
            self._pause(_SHORT_LOOK_SECONDS if waited < 1 else _LOOK_SECONDS)

    def shared(self) -> bool:
        """Whether the server still works although what was asked of it has ended: then it did so
        for somebody else as well. A slot may take a moment to be let go of."""
        try:
            if not self._client.busy():
                return False
            self._pause(_SHORT_LOOK_SECONDS)
            return bool(self._client.busy())
        except NoAnswerError:
            return False

    def _pause(self, seconds: float) -> None:
        self._tell()
        self._control.wait(seconds)


def _lost(fault: Problem) -> Problem:
    message = tr(fault.message)
    if fault.code == "cut_off":
        message = tr("The server has ended. {why}", why=message)
    return Problem(
        "server_gone",
        message,
        advice=tr("What was finished is kept. See its log, start it again and resume."),
    )
