"""What a link leads to: a file on some server, or a repository of a model hub.

Every form in which people pass a Hugging Face link on is read: the page of a repository, a folder
(/tree/), a file's page (/blob/), the file itself (/resolve/), ``hf:org/name``, ``org/name`` and
``org/name:Q4_K_M``, as llama.cpp takes it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import quote, unquote, unquote_to_bytes, urlsplit, urlunsplit

from core.gguf.names import is_gguf
from core.language import mark, tr

HUB = "https://huggingface.co"
_HUB_HOSTS = frozenset(("huggingface.co", "www.huggingface.co", "hf.co"))
_PART = re.compile(r"[A-Za-z0-9][\w.-]{0,95}", re.ASCII)
_WORDS = re.compile(r"hf:(?://)?(?P<rest>.+)", re.IGNORECASE)
_BARE = re.compile(r"[\w.-]+/[\w.-]+(?:@[^:\s]+)?(?::[\w.-]+|/[^:\s]+)?", re.ASCII)
_FILE = re.compile(r"\s*file:(?://(?:localhost)?)?(?P<path>/(?!/).*)", re.IGNORECASE | re.DOTALL)
_KINDS = {
    "datasets": mark("a data set"),
    "spaces": mark("a program of a hub"),
    "docs": mark("a page of text"),
}
_VIEWS = frozenset(("tree", "blob", "resolve", "raw", "blame", "commits"))
_MOST = 4096  # characters; servers take no longer ones
# What may stand unquoted in a path and in a query (RFC 3986), a percent sign included: what was
# quoted already stays as it is.
_PATH_SAFE = "/%:@!$&'()*+,;=~"
_QUERY_SAFE = _PATH_SAFE + "?"


@dataclass(frozen=True, slots=True)
class FileLink:
    """A file on a server, by its address."""

    url: str


@dataclass(frozen=True, slots=True)
class RepositoryLink:
    """A repository of a hub, or a folder in it. ``label`` is the quantization that was asked for,
    "" where nobody did."""

    name: str
    revision: str = "main"
    folder: str = ""
    label: str = ""
    hub: str = HUB

    def file(self, path: str) -> FileLink:
        """A file of it, by its path from the root."""
        revision = quote(self.revision, safe="")
        return FileLink(f"{self.hub}/{self.name}/resolve/{revision}/{quote(path)}")

    @property
    def page(self) -> str:
        """Its page, for people."""
        page = f"{self.hub}/{self.name}"
        if self.revision != "main" or self.folder:
            page += f"/tree/{quote(self.revision, safe='')}"
        return f"{page}/{quote(self.folder)}" if self.folder else page


Link: TypeAlias = FileLink | RepositoryLink


def is_link(text: str) -> bool:
    """Whether a name that could be a file's is a link: it begins with http://, https:// or hf:."""
    return bool(re.match(r"\s*(?:https?://|hf:)", text, re.IGNORECASE))


def local_name(text: str) -> str:
    """The name of a file of this computer in its address ("file:///models/a%20b.gguf"); any other
    text as it is."""
    match = _FILE.fullmatch(text)
    if match is None:
        return text
    path = match["path"].partition("?")[0].partition("#")[0]
    if os.name == "nt":
        from urllib.request import url2pathname  # brings HTTP along

        return url2pathname(path)
    # A name is bytes, which need not be UTF-8.
    return os.fsdecode(unquote_to_bytes(path))


def full_name(text: str) -> str:
    """The same for a file or a link that somebody named, from whatever folder it is looked for
    later: links as they are, files from the root."""
    if is_link(text):
        return text
    path = Path(local_name(text))
    try:
        return str(path.absolute())
    except OSError:  # the folder that this program was started in is gone
        return str(path)


def hub_of(environ: Mapping[str, str] = os.environ) -> str:
    """The hub that bare names mean: HF_ENDPOINT as huggingface_hub reads it, or Hugging Face."""
    named = environ.get("HF_ENDPOINT", "").strip().rstrip("/")
    try:
        return named if urlsplit(named).scheme in ("http", "https") else HUB
    except ValueError:
        return HUB


def read_link(text: str, environ: Mapping[str, str] = os.environ) -> Link:
    """What somebody pasted. Raises ValueError with one sentence that repeats no password."""
    typed = text.strip().strip("<>\"'").strip()
    if not typed:
        raise ValueError(tr("Paste the address of a model: a file, or a page of Hugging Face."))
    if len(typed) > _MOST or re.search(r"[\x00-\x1f\x7f]", typed):
        raise ValueError(tr("This is no address: it is too long, or breaks over several lines."))
    hub = hub_of(environ)
    if match := _WORDS.fullmatch(typed):
        return _bare(match["rest"], hub)
    host = re.split(r"[/:]", typed.lower(), maxsplit=1)[0]
    if "://" not in typed and host in _HUB_HOSTS:
        typed = f"https://{typed}"
    if "://" not in typed:
        if _BARE.fullmatch(typed):
            return _bare(typed, hub)
        raise ValueError(
            tr("An address begins with https://, or is a name of Hugging Face like org/model.")
        )
    return _address(typed, hub)


def _address(typed: str, hub: str) -> Link:
    try:
        parts = urlsplit(typed)
        port, host = parts.port, parts.hostname or ""
    except ValueError:
        raise ValueError(tr("The address is not written as one: check host and port.")) from None
    scheme = parts.scheme.lower()
    if scheme not in ("http", "https"):
        raise ValueError(
            tr("Addresses of {scheme}:// are not read; use https://.", scheme=parts.scheme)
        )
    if parts.username is not None or parts.password is not None:
        raise ValueError(tr("Leave name and password out of the address: it is shown and kept."))
    try:
        host.encode("idna")
    except UnicodeError:
        host = ""
    if not host or re.search(r"[\s\\^`{|}]", host):
        raise ValueError(tr("The address names no server."))
    netloc = _netloc(host, port)
    own = urlsplit(hub)
    if host in _HUB_HOSTS or (scheme, netloc) == (own.scheme, own.netloc.lower()):
        base = HUB if host in _HUB_HOSTS else hub
        prefix = urlsplit(base).path
        return _of_hub(parts.path.removeprefix(prefix), base)
    path = quote(parts.path or "/", safe=_PATH_SAFE)
    return FileLink(urlunsplit((scheme, netloc, path, quote(parts.query, safe=_QUERY_SAFE), "")))


def _netloc(host: str, port: int | None) -> str:
    if ":" in host:
        host = f"[{host}]"
    elif not host.isascii():
        host = host.encode("idna").decode("ascii")
    return host if port is None else f"{host}:{port}"


def _bare(rest: str, hub: str) -> Link:
    """org/name, and what may follow: @revision, :label, or a path."""
    name, mark, label = rest.partition(":")
    if mark and not re.fullmatch(r"[\w.-]+", label, re.ASCII):
        raise ValueError(tr("Behind the colon stands a quantization, as in org/model:Q4_K_M."))
    name, _, revision = name.partition("@")
    parts = [part for part in name.split("/") if part]
    revision, *inside = (revision or "main").split("/") if revision else ("main",)
    if revision == "refs" and len(inside) >= 2:
        revision, inside = "/".join((revision, *inside[:2])), inside[2:]
    repository = _repository(parts[:2], revision, hub)
    return _in_repository(repository, [*parts[2:], *inside], label)


def _of_hub(path: str, hub: str) -> Link:
    parts = [unquote(part) for part in path.split("/") if part]
    if parts[:2] == ["api", "models"]:
        parts = parts[2:]
    if parts and parts[0] in _KINDS:
        raise ValueError(
            tr("This is the address of {what}, not of a model.", what=tr(_KINDS[parts[0]]))
        )
    repository = _repository(parts[:2], "main", hub)
    if len(parts) < 4 or parts[2] not in _VIEWS:
        return repository
    revision, inside = parts[3], parts[4:]
    if revision == "refs" and len(inside) >= 2:  # refs/pr/1, its slashes unquoted
        revision, inside = "/".join((revision, *inside[:2])), inside[2:]
    repository = _repository(parts[:2], revision, hub)
    if parts[2] in ("blob", "resolve", "raw") and inside:
        return _file(repository, inside)
    return _in_repository(repository, inside, "")


def _repository(parts: list[str], revision: str, hub: str) -> RepositoryLink:
    if len(parts) != 2 or not all(_PART.fullmatch(part) for part in parts):
        raise ValueError(tr("The address names no model; a model has one like org/model."))
    if not revision or ".." in revision or re.search(r"[\s\x00-\x1f?#\\]", revision):
        raise ValueError(tr("The address names an odd revision; the usual one is main."))
    return RepositoryLink("/".join(parts), revision, hub=hub)


def _in_repository(repository: RepositoryLink, inside: list[str], label: str) -> Link:
    if inside and is_gguf(inside[-1]):
        return _file(repository, inside)
    _require_plain(inside)
    return RepositoryLink(
        repository.name, repository.revision, "/".join(inside), label, repository.hub
    )


def _file(repository: RepositoryLink, inside: list[str]) -> FileLink:
    _require_plain(inside)
    return repository.file("/".join(inside))


def _require_plain(inside: list[str]) -> None:
    if any(part in (".", "..") or re.search(r"[\x00-\x1f\\/]", part) for part in inside):
        raise ValueError(tr("The address leads out of the repository."))
