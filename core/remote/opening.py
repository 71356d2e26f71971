"""A link opened like a file: its header is read, and of a repository the one file that is meant."""

from __future__ import annotations

import os
from collections.abc import Mapping

from core.gguf.cursor import Progress
from core.gguf.header import Header, Kind, ModelFile
from core.gguf.shards import open_file
from core.gguf.source import CancelledCheck
from core.gguf.text import display
from core.language import mark, tr
from core.problems import Problem
from core.remote.client import Client, Limits
from core.remote.errors import LinkError
from core.remote.links import FileLink, Link, RepositoryLink, read_link
from core.remote.network import Network
from core.remote.repository import Repository, choose, list_repository
from core.remote.source import RemotePlace
from core.units import format_bytes

_MOST_NAMED = 12


def open_link(
    link: Link | str,
    cancelled: CancelledCheck | None = None,
    progress: Progress | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    limits: Limits | None = None,
    network: Network | None = None,
) -> ModelFile:
    """The model behind a link, its shards included; weights stay where they are.

    Every fault is a Problem of the result, as with a file. Raises Cancelled and nothing else.
    """
    with Client(environ, limits, network) as client:
        try:
            found = read_link(link, environ) if isinstance(link, str) else link
        except ValueError as error:
            return _nothing(RemotePlace(str(link), client), "bad-link", str(error))
        if isinstance(found, RepositoryLink):
            page = found.page
            try:
                found = _only(list_repository(found, client, cancelled))
            except LinkError as error:
                place = RemotePlace(page, client)
                return _nothing(place, error.code, error.message, error.advice)
        return open_file(RemotePlace(found.url, client), cancelled, progress)


def list_link(
    link: RepositoryLink,
    cancelled: CancelledCheck | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    limits: Limits | None = None,
    network: Network | None = None,
) -> Repository | Problem:
    """What a repository offers, or why that is not known. Raises Cancelled and nothing else."""
    with Client(environ, limits, network) as client:
        try:
            return list_repository(link, client, cancelled)
        except LinkError as error:
            return Problem(error.code, error.message, advice=error.advice, where=link.page)


def _only(repository: Repository) -> FileLink:
    """The one model of a repository, or the one of the quantization that was asked for."""
    link = repository.link
    if not repository.offers:
        raise LinkError(
            "no-gguf",
            tr("{name} holds no GGUF file.", name=display(link.name)),
            tr("Look for a repository whose name ends in GGUF."),
        )
    found = choose(repository, link.label)
    if len(found) == 1:
        return found[0].link
    if not found:
        found = list(repository.offers)
        what = mark("{name} has no {label}; it has: {names}.")
    else:
        what = mark("{name} holds {count} models: {names}.")
    names = [
        display(offer.name) + (f" ({format_bytes(offer.bytes)})" if offer.bytes else "")
        for offer in found[:_MOST_NAMED]
    ]
    if len(found) > _MOST_NAMED:
        names.append(tr("{count} more", count=len(found) - _MOST_NAMED))
    label = next((offer.label for offer in found if offer.label), "Q4_K_M")
    raise LinkError(
        "choose-file",
        tr(
            what,
            name=display(link.name),
            label=display(link.label),
            count=len(found),
            names=", ".join(names),
        ),
        tr(
            "Name one of them, as in hf:{name}:{label}.",
            name=display(link.name),
            label=display(label),
        ),
    )


def _nothing(place: RemotePlace, code: str, message: str, advice: str = "") -> ModelFile:
    problem = Problem(code, message, advice=advice, where=display(place.address))
    header = Header(place, 0, 0, None, problems=(problem,))
    return ModelFile(header, (header,), Kind.UNKNOWN, (), problems=(problem,))
