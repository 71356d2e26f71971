"""What a repository of a hub offers: its GGUF files, shards counted as one, without reading any."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urljoin, urlsplit

from core.gguf.names import is_gguf, is_imatrix, is_projector, label_in, shard_name
from core.gguf.source import CancelledCheck
from core.language import tr
from core.remote.client import Client
from core.remote.errors import LinkError
from core.remote.links import FileLink, RepositoryLink

_MOST_PAGES = 20  # of a thousand files each
_MOST_BYTES = 16 << 20
_NEXT = re.compile(r'<([^<>]+)>\s*;[^,]*\brel="?next"?')


@dataclass(frozen=True, slots=True)
class Offer:
    """One model that could be downloaded: a file, or a family of shards.

    ``name`` is the file's, of shards what they have in common; ``folder`` where it lies in the
    repository. ``bytes`` is the sum of all its files, None where the hub does not say. ``label`` is
    the quantization that the name states. ``missing`` shards are not in the repository.
    """

    name: str
    folder: str
    link: FileLink
    bytes: int | None
    files: int
    label: str
    missing: int = 0


@dataclass(frozen=True, slots=True)
class Repository:
    """The models of a repository from the smallest on, and what else lies there for them."""

    link: RepositoryLink
    offers: tuple[Offer, ...]
    projectors: tuple[Offer, ...] = ()


def list_repository(
    link: RepositoryLink, client: Client, cancelled: CancelledCheck | None = None
) -> Repository:
    """Ask the hub for names and sizes. Raises LinkError and Cancelled."""
    return _sorted_out(link, _files(link, client, cancelled))


def _files(
    link: RepositoryLink, client: Client, cancelled: CancelledCheck | None
) -> Iterator[tuple[str, int | None]]:
    """Path and size of every file (https://huggingface.co/docs/hub/api, "tree")."""
    revision = quote(link.revision, safe="")
    url = f"{link.hub}/api/models/{link.name}/tree/{revision}"
    if link.folder:
        url += f"/{quote(link.folder)}"
    url += "?recursive=true"
    for _ in range(_MOST_PAGES):
        answer = client.get(url, None, cancelled)
        data = answer.read(_MOST_BYTES + 1)
        following = _NEXT.search(answer.headers.get("Link", ""))
        answer.done()
        for entry in _entries(data):
            path, size = entry.get("path"), _size(entry)
            if entry.get("type") == "file" and isinstance(path, str):
                yield path, size
        if following is None:
            return
        before, url = url, urljoin(url, following[1])
        if urlsplit(before)[:2] != urlsplit(url)[:2]:
            return  # the next page on another host: no hub does so


def _entries(data: bytes) -> list[dict[str, Any]]:
    try:
        if len(data) > _MOST_BYTES:
            raise ValueError
        found = json.loads(data)
        if not isinstance(found, list):
            raise ValueError
    except (ValueError, RecursionError):
        raise LinkError(
            "odd-server",
            tr("The hub's list of files could not be understood."),
            tr("Open one of the files by its own address."),
        ) from None
    return [entry for entry in found if isinstance(entry, dict)]


def _size(entry: dict[str, Any]) -> int | None:
    """Of a large file its own size, not that of the pointer in its place."""
    large = entry.get("lfs")
    for size in (large.get("size") if isinstance(large, dict) else None, entry.get("size")):
        if isinstance(size, int) and not isinstance(size, bool) and size >= 0:
            return size
    return None


def _sorted_out(link: RepositoryLink, files: Iterable[tuple[str, int | None]]) -> Repository:
    families: dict[tuple[str, int], dict[int, tuple[str, int | None]]] = {}
    for path, size in files:
        if not is_gguf(path) or is_imatrix(path):
            continue
        shard = shard_name(path)
        if shard is None or not 1 <= shard.number <= shard.count:
            families[path, 0] = {1: (path, size)}
        else:
            families.setdefault((shard.stem, shard.count), {})[shard.number] = (path, size)
    offers = [_offer(link, stem, count, found) for (stem, count), found in families.items()]
    offers.sort(key=lambda offer: (offer.bytes is None, offer.bytes or 0, offer.name))
    return Repository(
        link,
        tuple(offer for offer in offers if not is_projector(offer.link.url)),
        tuple(offer for offer in offers if is_projector(offer.link.url)),
    )


def _offer(
    link: RepositoryLink, stem: str, count: int, found: dict[int, tuple[str, int | None]]
) -> Offer:
    sizes = [size for _, size in found.values()]
    known = [size for size in sizes if size is not None]
    folder, _, name = stem.rpartition("/")
    return Offer(
        name=name,
        folder=folder,
        link=link.file(found[min(found)][0]),
        bytes=sum(known) if len(known) == len(sizes) else None,
        files=len(found),
        label=label_in(name) or label_in(folder),
        missing=max(count - len(found), 0),
    )


def choose(repository: Repository, label: str) -> list[Offer]:
    """The offers that a quantization names, all of them where none is asked for."""
    wanted = label.upper().replace("-", "_")
    if not wanted:
        return list(repository.offers)
    exact = [offer for offer in repository.offers if offer.label.replace("-", "_") == wanted]
    return exact or [
        offer for offer in repository.offers if wanted in offer.name.upper().replace("-", "_")
    ]
