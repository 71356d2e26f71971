"""Wait until a server has its model, or have Ollama load one, so that its context is known."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic, sleep

from core.gguf import display
from core.language import tr
from core.measure.dialects.ollama import KEEP_ALIVE
from core.measure.discovery.probe import probe
from core.measure.discovery.values import Found, State
from core.measure.recorder import refusal
from core.measure.run import ServerKind
from core.measure.wire.ask import NoAnswerError, ask
from core.measure.wire.http import address_of
from core.problems import Problem

LOAD_SECONDS = 900.0  # a large model from a slow disk
_LOOK_SECONDS = 0.25

Look = Callable[[], Found]


class NotLoadedError(Exception):
    """The server did not come to have the model; the one argument is a problem."""

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def wait_until_loaded(look: Look, seconds: float = LOAD_SECONDS) -> Found:
    """What is found once the server does not load any more. Raises NotLoadedError."""
    end = monotonic() + seconds
    while True:
        found = look()
        if found.state is not State.LOADING:
            return found
        if monotonic() >= end:
            raise NotLoadedError(
                Problem(
                    "loading",
                    tr("The server was still loading after {seconds:.0f} s.", seconds=seconds),
                    advice=tr("See its log; a model that does not fit into memory loads for ever."),
                )
            )
        sleep(_LOOK_SECONDS)


def load_into_ollama(url: str, model: str, key: str = "", seconds: float = LOAD_SECONDS) -> Found:
    """Ollama with this model loaded at its own default context. Raises NotLoadedError.

    A request without a prompt loads and writes nothing (its documentation, "Load a model").
    """
    address = address_of(url)
    try:
        answer = ask(
            address,
            "/api/generate",
            {"model": model, "keep_alive": KEEP_ALIVE, "stream": False},
            key,
            seconds=seconds,
        )
    except NoAnswerError as error:
        raise NotLoadedError(
            Problem(
                "not_loaded",
                tr("Ollama did not load {model}: {why}.", model=display(model), why=error),
                advice=tr("See Ollama's log."),
            )
        ) from None
    if answer.status != 200:
        raise NotLoadedError(refusal(answer.status, answer.body))
    return probe(address, key)


def can_load(found: Found, model: str) -> bool:
    """Whether this is an Ollama that has the model but has not loaded it."""
    loaded = {target.model for target in found.targets}
    return found.kind is ServerKind.OLLAMA and model in found.available and model not in loaded
