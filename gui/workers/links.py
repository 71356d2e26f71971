"""Models behind links, as functions for a runner or a feed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass

from core.gguf import Cancelled
from core.model import model_from
from core.model.model import Model
from core.problems import Problem, Severity
from core.remote import FileLink, RepositoryLink
from core.remote.opening import list_link, open_link
from core.remote.repository import Offer, Repository
from core.remote.source import RemotePlace
from gui.workers.feed import Spring
from gui.workers.runner import Function, Handle

# Requests of one user at the same time; hubs slow down whoever sends more.
_AT_ONCE = 3


@dataclass(frozen=True, slots=True)
class Checked:
    """What the header of an offer says; ``problem`` where it could not be read."""

    offer: Offer
    model: Model | None
    problem: Problem | None = None


def opening_link(link: FileLink) -> Function:
    """Read the header behind a link, and those of its shards. Answers a `Model`."""

    def read(handle: Handle) -> Model:
        return model_from(open_link(link, handle.cancelled, handle.progress))

    return read


def listing(link: RepositoryLink) -> Function:
    """What a repository offers. Answers a `Repository` or a `Problem`."""

    def read(handle: Handle) -> Repository | Problem:
        return list_link(link, handle.cancelled)

    return read


def checking(offers: Sequence[Offer]) -> Spring:
    """Read the headers of these offers, a few at once. Brings `Checked`, as each is ready."""

    def check(offer: Offer, handle: Handle) -> Checked:
        file = open_link(offer.link, handle.cancelled)
        fault = next((p for p in file.problems if p.severity is Severity.ERROR), None)
        for header in file.headers:
            if isinstance(header.place, RemotePlace):
                header.place.forget()  # of many models the dimensions are enough
        return Checked(offer, model_from(file) if file.tensors else None, fault)

    def run(handle: Handle) -> Iterator[Checked]:
        with ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="link") as pool:
            waiting = [pool.submit(check, offer, handle) for offer in offers]
            try:
                for done in as_completed(waiting):
                    yield done.result()
            except Cancelled:
                return
            finally:
                for future in waiting:
                    future.cancel()

    return run
