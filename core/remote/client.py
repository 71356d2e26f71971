"""One reader's connections: HTTP with limits in bytes, time, requests and trust.

The standard library's client does the protocol. Around it: a connection goes to an address that was
looked at before, redirects stay on their scheme and away from private networks, no cookie is kept,
and a watcher cuts the connection where time is up or nobody wants the answer any more.
"""

from __future__ import annotations

import ipaddress
import os
import socket
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException, HTTPMessage, HTTPResponse, HTTPSConnection
from threading import Event, Thread
from time import monotonic
from typing import NamedTuple, Self
from urllib.parse import urljoin, urlsplit

from core.gguf.source import Cancelled, CancelledCheck
from core.gguf.text import display
from core.language import tr
from core.remote.errors import LinkError, of_failure, of_status
from core.remote.links import HUB, hub_of
from core.remote.network import Network, Proxy, proxy_for
from core.units import format_bytes

USER_AGENT = "Weighbridge (reads the headers of GGUF files)"
_REDIRECTS = frozenset((301, 302, 303, 307, 308))
_PORTS = {"http": 80, "https": 443}
_PIECE = 1 << 16
_WATCH_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Limits:
    """What one opening may cost. The largest header known has 15.8 MB; ``pause`` is the longest
    silence in seconds."""

    bytes: int = 96 << 20
    seconds: float = 180.0
    pause: float = 20.0
    requests: int = 400
    redirects: int = 5


class _Hop(NamedTuple):
    """Where a file really lies. ``foreign`` is True where another host sent us there."""

    url: str
    foreign: bool = False


class Client:
    """Asks servers, inside ``with``, as far as the limits go. Not for several threads at once."""

    def __init__(
        self,
        environ: Mapping[str, str] = os.environ,
        limits: Limits | None = None,
        network: Network | None = None,
    ) -> None:
        self.limits = limits or Limits()
        self._environ = environ
        self._hub = hub_of(environ)
        # The names under which huggingface_hub takes a token from the environment.
        token = environ.get("HF_TOKEN") or environ.get("HUGGING_FACE_HUB_TOKEN") or ""
        self._token = "".join(c for c in token if 32 < ord(c) < 127)
        self._network = network or Network()
        self._bytes_left = self.limits.bytes
        self._requests_left = self.limits.requests
        self._until = monotonic() + self.limits.seconds
        self._moved: dict[str, _Hop] = {}
        self._connection: HTTPConnection | None = None
        self._connected = ""
        self._private: bool | None = None  # whether the address that was typed is a private one
        self._watch = _Watch(self._until)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._drop()
        self._watch.end()

    @property
    def bytes_left(self) -> int:
        """What may still be read."""
        return self._bytes_left

    def get(
        self,
        url: str,
        part: tuple[int, int] | None = None,
        cancelled: CancelledCheck | None = None,
    ) -> Answer:
        """The answer of status 200 or 206 (or 416, where a part was asked for); redirects are
        followed. ``part`` is the first and the last byte wanted.

        Raises LinkError and Cancelled. The answer must be read to its end or closed before the
        next one.
        """
        self._watch.cancelled = cancelled
        hop = self._moved.get(url)
        if hop is not None:
            answer = self._ask(hop, part)
            if answer.status in (200, 206, 416):
                return answer
            # A signed address may have run out: once more from where it was handed out.
            answer.close()
            del self._moved[url]
        hop = _Hop(url)
        seen = {url}
        for _ in range(self.limits.redirects + 1):
            answer = self._ask(hop, part)
            if answer.status not in _REDIRECTS:
                break
            answer.close()
            hop = self._next(hop, answer.headers.get("Location", ""))
            if hop.url in seen:
                raise LinkError(
                    "redirect-loop",
                    tr("The server sends one round in a circle."),
                    tr("Check the address."),
                )
            seen.add(hop.url)
        else:
            raise LinkError(
                "redirects",
                tr("The server sends one on more than {count} times.", count=self.limits.redirects),
                tr("Check the address."),
            )
        if answer.status not in (200, 206) and not (answer.status == 416 and part):
            answer.close()
            host = urlsplit(hop.url).hostname or ""
            raise of_status(answer.status, answer.headers, host, self._is_hub(hop.url))
        self._moved[url] = hop
        return answer

    # Where one may go.

    def _is_hub(self, url: str) -> bool:
        return any(_origin(url) == _origin(hub) for hub in (self._hub, HUB))

    def _may_have_token(self, hop: _Hop) -> bool:
        """The hub alone, never unencrypted over a network, and not once another host was asked."""
        if hop.foreign or not self._token or _origin(hop.url) != _origin(self._hub):
            return False
        scheme, host, _ = _origin(hop.url)
        return scheme == "https" or _is_loopback(host)

    def _next(self, hop: _Hop, location: str) -> _Hop:
        try:
            url = urljoin(hop.url, location)
            scheme, host, _ = _origin(url)
            parts = urlsplit(url)
        except ValueError:
            scheme = host = ""
        here = urlsplit(hop.url).scheme
        if not location or not scheme or (scheme == here and not host):
            raise LinkError(
                "bad-redirect", tr("The server sends one on to no address."), tr("Try again.")
            )
        if scheme != here:
            raise LinkError(
                "redirect-scheme",
                tr(
                    "The server sends one on from {here}:// to {scheme}://, which is not followed.",
                    here=here,
                    scheme=display(scheme),
                ),
                tr("If you trust it, paste the address that it leads to."),
            )
        if parts.username is not None or parts.password is not None:
            raise LinkError(
                "bad-redirect",
                tr("The server sends one on with a name and a password."),
                tr("Try again."),
            )
        foreign = hop.foreign or _origin(url) != _origin(hop.url)
        return _Hop(parts._replace(fragment="").geturl(), foreign)

    def _addresses(self, host: str, port: int, foreign: bool) -> list[str]:
        found = self._network.addresses(host, port)
        if not foreign:
            # Who types a private address means it.
            self._private = any(map(self._network.is_private, found))
            return found
        allowed = [a for a in found if self._private or not self._network.is_private(a)]
        if not allowed:
            raise LinkError(
                "redirect-private",
                tr(
                    "The server sends one on to {host}, an address inside a private network, "
                    "which is not followed.",
                    host=display(host),
                ),
                tr("If you trust it, paste that address."),
            )
        return allowed

    def _proxy(self, hop: _Hop) -> Proxy | None:
        """The proxy looks names up and has rules of its own; numbers are held to ours first."""
        scheme, host, _ = _origin(hop.url)
        proxy = proxy_for(self._environ, scheme, host)
        if proxy is not None and _is_number(host):
            self._addresses(host, 0, hop.foreign)
        return proxy

    # One request.

    def _ask(self, hop: _Hop, part: tuple[int, int] | None) -> Answer:
        scheme, host, port = _origin(hop.url)
        kept = self._connection is not None and self._connected == f"{scheme}:{host}:{port}"
        try:
            try:
                return self._send(hop, part)
            except (HTTPException, ConnectionError):
                # A server may close a connection that waits, just as it is asked again.
                if not kept or self._over():
                    raise
                self._drop()
                return self._send(hop, part)
        except (Cancelled, LinkError):
            self._drop()
            raise
        except Exception as error:
            raise self._failure(error, host) from error

    def _send(self, hop: _Hop, part: tuple[int, int] | None) -> Answer:
        self._requests_left -= 1
        if self._requests_left < 0:
            raise self._limit(tr("after {count:,} requests", count=self.limits.requests))
        self._check()
        connection = self._open(hop)
        parts = urlsplit(hop.url)
        target = f"{parts.path or '/'}?{parts.query}" if parts.query else parts.path or "/"
        headers = {"User-Agent": USER_AGENT, "Accept": "*/*", "Accept-Encoding": "identity"}
        proxy = self._proxy(hop)
        if proxy is not None and parts.scheme == "http":
            target = parts._replace(fragment="").geturl()
            headers |= proxy.headers
        if part is not None:
            headers["Range"] = f"bytes={part[0]}-{part[1]}"
        if self._may_have_token(hop):
            headers["Authorization"] = f"Bearer {self._token}"
        connection.request("GET", target, headers=headers)
        response = connection.getresponse()
        encoding = response.headers.get("Content-Encoding", "identity").strip().lower()
        if response.status in (200, 206) and encoding not in ("identity", ""):
            self._drop()
            raise LinkError(
                "encoded",
                tr(
                    "The server sends the file compressed ({encoding}) although it was asked "
                    "not to; no part of it can be read so.",
                    encoding=display(encoding),
                ),
                tr("Download the file, then open it."),
            )
        return Answer(self, response, hop.url)

    def _open(self, hop: _Hop) -> HTTPConnection:
        scheme, host, port = _origin(hop.url)
        name = f"{scheme}:{host}:{port}"
        seconds = min(self.limits.pause, max(self._until - monotonic(), 0.1))
        connection = self._connection
        if connection is not None and self._connected == name and connection.sock is not None:
            connection.sock.settimeout(seconds)
            return connection
        self._drop()
        made = (HTTPSConnection if scheme == "https" else HTTPConnection)(host, port)
        made.auto_open = 0  # only to an address that was looked at
        proxy = self._proxy(hop)
        if proxy is None:
            addresses = self._addresses(host, port, hop.foreign)
            made.sock = self._network.connect(scheme, host, port, addresses, seconds)
        else:
            made.sock = self._network.tunnel(proxy, scheme, host, port, seconds)
        self._connection, self._connected = made, name
        self._watch.follow(made.sock)
        return made

    # What an answer asks of its client.

    def _take(self, count: int) -> None:
        self._check()
        self._bytes_left -= count
        if self._bytes_left < 0:
            raise self._limit(tr("after {size}", size=format_bytes(self.limits.bytes)))

    def _check(self) -> None:
        if self._watch.unwanted():
            raise Cancelled
        if monotonic() > self._until:
            raise self._out_of_time()

    def _over(self) -> bool:
        return self._watch.unwanted() or monotonic() > self._until

    def _failure(self, error: Exception, host: str) -> Exception:
        """What to raise in place of what a socket said; the connection is of no more use."""
        self._drop()
        if self._watch.unwanted():
            return Cancelled()
        if monotonic() > self._until:
            return self._out_of_time()
        return of_failure(error, host, self.limits.pause)

    def _out_of_time(self) -> LinkError:
        return self._limit(tr("after {seconds:.0f} seconds", seconds=self.limits.seconds))

    def _limit(self, when: str) -> LinkError:
        return LinkError(
            "limit",
            tr("Reading was given up {when}: no header needs as much.", when=when),
            tr("Check the network; or download the file and open it."),
        )

    def _drop(self) -> None:
        connection, self._connection = self._connection, None
        self._watch.follow(None)
        if connection is not None:
            connection.close()


class Answer:
    """One answer, its body still on the way."""

    def __init__(self, client: Client, response: HTTPResponse, url: str) -> None:
        self._client = client
        self._response = response
        self._host = urlsplit(url).hostname or ""
        self.status = response.status
        self.headers: HTTPMessage = response.headers

    @property
    def length(self) -> int | None:
        """Bytes of the body as the server states them; None where it does not."""
        if self._response.chunked:
            return None
        stated = self.headers.get("Content-Length", "").strip()
        return int(stated) if stated.isdecimal() and len(stated) <= 18 else None

    def read(self, count: int) -> bytes:
        """``count`` bytes more: fewer only at the end of the body. Raises LinkError, Cancelled."""
        parts = []
        left = count
        while left > 0:
            try:
                data = self._response.read1(min(left, _PIECE))
            except Exception as error:
                raise self._client._failure(error, self._host) from error
            self._client._take(len(data))
            if not data:
                break
            parts.append(data)
            left -= len(data)
        return b"".join(parts)

    def done(self) -> None:
        """Nothing more is wanted: the connection is kept where the body was read to its end."""
        if self._response.length == 0 or self._response.isclosed():
            self._response.close()
        else:
            self.close()

    def close(self) -> None:
        """Nothing more is wanted: the connection is cut, whatever is on the way."""
        self._response.close()
        self._client._drop()


class _Watch:
    """Cuts a connection from beside it: a read that waits cannot be stopped otherwise."""

    def __init__(self, until: float) -> None:
        self.cancelled: CancelledCheck | None = None
        self._until = until
        self._socket: socket.socket | None = None
        self._ended = Event()
        self._thread: Thread | None = None

    def follow(self, connection: socket.socket | None) -> None:
        """Watch this connection from now on."""
        self._socket = connection
        if connection is not None and self._thread is None:
            self._thread = Thread(target=self._run, name="link watch", daemon=True)
            self._thread.start()

    def unwanted(self) -> bool:
        """Whether the caller has given up."""
        return self.cancelled is not None and self.cancelled()

    def end(self) -> None:
        """Stop watching, for good."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(_WATCH_SECONDS):
            if self.unwanted() or monotonic() > self._until:
                connection = self._socket
                if connection is not None:
                    # Not SSLSocket's own: it would take the encryption away under a read.
                    with suppress(OSError):
                        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _origin(url: str) -> tuple[str, str, int]:
    """Scheme, host and port of an address. Raises ValueError."""
    parts = urlsplit(url)
    scheme = parts.scheme.lower()
    return scheme, (parts.hostname or "").lower(), parts.port or _PORTS.get(scheme, 0)


def _is_number(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
