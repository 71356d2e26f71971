"""Requests as bytes, and answers taken apart as they come, without any socket.

The standard library's client reads through a buffer of its own and blocks; here one loop waits for
many connections, and what arrives is stamped before anything looks at it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from core.language import tr

MOST_HEAD = 64 * 1024
MOST_BODY = 64 * 1024 * 1024  # of an answer that is kept whole
_STATUS = re.compile(rb"HTTP/1\.[01] (\d{3})")
_CHUNK = re.compile(rb"[ \t]*([0-9A-Fa-f]{1,8})[ \t]*(?:;|$)")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_LAST_PORT = 65_535


class WireError(Exception):
    """What came is no HTTP; the one argument is a clause for people."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens. ``path`` is what every request's path begins with, often empty."""

    host: str
    port: int
    secure: bool = False
    path: str = ""

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        scheme = "https" if self.secure else "http"
        port = "" if self.port == _DEFAULT_PORTS[scheme] else f":{self.port}"
        return f"{scheme}://{host}{port}{self.path}"


def address_of(text: str) -> Address:
    """The address in what somebody typed: "8080", "127.0.0.1:8080", "http://localhost:1234/v1".

    A trailing /v1 is dropped, since every client adds it. Raises ValueError with a sentence that
    repeats nothing of a password.
    """
    typed = text.strip()
    if typed.isdecimal():
        typed = f"127.0.0.1:{typed}"
    if "://" not in typed:
        typed = f"http://{typed}"
    try:
        parts = urlsplit(typed)
        port = parts.port
    except ValueError:
        raise ValueError(_no_port()) from None
    if parts.scheme not in _DEFAULT_PORTS:
        raise ValueError(tr("An address begins with http:// or https://."))
    if parts.username is not None or parts.password is not None:
        raise ValueError(tr("Give the key apart from the address: an address is shown and kept."))
    if not parts.hostname or re.search(r"[\s\x00-\x1f]", parts.netloc + parts.path):
        raise ValueError(tr("An address looks like http://127.0.0.1:8080."))
    if port == 0:
        raise ValueError(_no_port())
    path = parts.path.rstrip("/").removesuffix("/v1").rstrip("/")
    return Address(
        parts.hostname, port or _DEFAULT_PORTS[parts.scheme], parts.scheme == "https", path
    )


def _no_port() -> str:
    return tr("The port must be a number from 1 to {last:,}.", last=_LAST_PORT)


def request_bytes(
    address: Address,
    path: str,
    body: Mapping[str, Any] | None = None,
    key: str = "",
) -> bytes:
    """A GET, or a POST of JSON, that asks for an uncompressed answer on a connection of its own."""
    data = b"" if body is None else json.dumps(body, separators=(",", ":")).encode()
    host = f"[{address.host}]" if ":" in address.host else address.host
    lines = [
        f"{'GET' if body is None else 'POST'} {address.path}{path} HTTP/1.1",
        f"Host: {host}:{address.port}",
        "Accept-Encoding: identity",
        "Connection: close",
    ]
    if key:
        lines.append(f"Authorization: Bearer {_header_text(key)}")
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(data)}"]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace") + data


def _header_text(text: str) -> str:
    return "".join(c for c in text if c.isprintable())


class Response:
    """An answer as it comes. Feed it bytes; it gives the bytes of the body that are new.

    ``status`` is 0 until the head is complete. ``complete`` is set when the body has ended by its
    own rules; where the head names none, by `close`.
    """

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.complete = False
        self._head = b""
        self._heads = 0  # bytes of all heads so far
        self._left: int | None = None  # of the body, or of this chunk; None: until the end
        self._chunked = False
        self._line = b""  # of a chunk's size, begun
        self._state = "head"

    def feed(self, data: bytes) -> bytes:
        """The new part of the body in these bytes. Raises WireError."""
        while self._state == "head":  # after a 100 Continue the real one follows
            self._head += data
            head, mark, data = self._head.partition(b"\r\n\r\n")
            if self._heads + len(head) > MOST_HEAD:
                raise WireError(tr("the answer's head has no end"))
            if not mark:
                if not b"HTTP/1.".startswith(self._head[:7]):
                    raise WireError(tr("the answer is no HTTP"))
                return b""
            self._read_head(head)
            self._heads += len(head)
            self._head = b""
        if self._chunked:
            return self._dechunk(data)
        if self._left is None:
            return data
        part = data[: self._left]
        self._left -= len(part)
        self.complete = self._left == 0
        return part

    def close(self) -> bool:
        """The other side has closed; whether the answer was whole."""
        if self.status and not self._chunked and self._left is None:
            self.complete = True
        return self.complete

    def _read_head(self, head: bytes) -> None:
        first, *lines = head.split(b"\r\n")
        match = _STATUS.match(first)
        if match is None:
            raise WireError(tr("the answer is no HTTP"))
        status = int(match[1])
        if status < 200:
            return
        for line in lines:
            name, _, value = line.decode("latin-1").partition(":")
            self.headers[name.strip().lower()] = value.strip()
        if self.headers.get("content-encoding", "identity").lower() not in ("identity", ""):
            raise WireError(tr("the answer is compressed, which it was asked not to be"))
        self.status = status
        self._chunked = "chunked" in self.headers.get("transfer-encoding", "").lower()
        length = self.headers.get("content-length", "")
        if not self._chunked and length:
            if not length.isdecimal() or len(length) > 18:
                raise WireError(tr("the answer's length is no number"))
            self._left = int(length)
            self.complete = self._left == 0
        self._state = "size" if self._chunked else "body"

    def _dechunk(self, data: bytes) -> bytes:
        parts = []
        while data and not self.complete:
            if self._state == "data":
                assert self._left is not None
                part, data = data[: self._left], data[self._left :]
                parts.append(part)
                self._left -= len(part)
                if self._left == 0:
                    self._state = "gap"
                continue
            line, mark, rest = data.partition(b"\n")
            self._line += line
            if len(self._line) > MOST_HEAD:
                raise WireError(tr("a part of the answer has no length"))
            if not mark:
                break
            data, text, self._line = rest, self._line.rstrip(b"\r"), b""
            if self._state == "gap":
                if text:
                    raise WireError(tr("a part of the answer is longer than it said"))
                self._state = "size"
            elif self._state == "trailer":
                self.complete = not text
            else:
                match = _CHUNK.match(text)
                if match is None:
                    raise WireError(tr("a part of the answer has no length"))
                self._left = int(match[1], 16)
                self._state = "data" if self._left else "trailer"
        return b"".join(parts)
