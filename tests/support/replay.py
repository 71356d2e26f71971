"""A server that plays what it is told: every answer is a script of pieces, pauses and breaks.

def generate(asked: Asked) -> Iterable[Act]:
    yield HEAD_SSE
    yield event({"content": "a"})
    yield Pause(0.01)
    yield Break()

with replay({"/completion": generate}) as server:
    ...server.url, server.asked
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any, NamedTuple, TypeAlias


class Pause(NamedTuple):
    """Nothing for so long; ends early where the server is closed."""

    seconds: float


class Break(NamedTuple):
    """The connection is reset, as by a process that died."""


Act: TypeAlias = bytes | Pause | Break


class Asked(NamedTuple):
    """One request: its path, its headers in lower case, and its JSON body."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Script: TypeAlias = Callable[[Asked], Iterable[Act]]
HEAD_STREAM = (
    b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n"
    b"Connection: close\r\n\r\n"
)
END = b"0\r\n\r\n"


def chunk(data: bytes) -> bytes:
    """One part of a chunked answer."""
    return b"%x\r\n%b\r\n" % (len(data), data)


def event(values: Mapping[str, Any] | str) -> bytes:
    """One server-sent event as a part of a chunked answer; a text stands as it is ("[DONE]")."""
    text = values if isinstance(values, str) else json.dumps(values)
    return chunk(f"data: {text}\n\n".encode())


def line(values: Mapping[str, Any]) -> bytes:
    """One line of JSON as a part of a chunked answer."""
    return chunk(json.dumps(values).encode() + b"\n")


def answer(values: Any, status: int = 200, server: str = "") -> bytes:
    """A whole answer of JSON, or of text."""
    body = values.encode() if isinstance(values, str) else json.dumps(values).encode()
    head = f"HTTP/1.1 {status} X\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
    if server:
        head += f"Server: {server}\r\n"
    return head.encode() + b"\r\n" + body


def always(values: Any, status: int = 200, server: str = "") -> Script:
    """A script that gives the same whole answer each time."""
    return lambda asked: [answer(values, status, server)]


@dataclass
class Replay:
    """A running server. ``scripts`` may be changed while it runs; ``asked`` is every request."""

    port: int
    listening: socket.socket
    scripts: dict[str, Script]
    server: str = ""
    asked: list[Asked] = field(default_factory=list)
    over: Event = field(default_factory=Event)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def die(self) -> None:
        """As a process that is killed: from now on nothing listens, and answers break off."""
        self.over.set()
        self.listening.close()

    def bodies(self, path: str) -> list[dict[str, Any]]:
        """What was sent to a path, in order."""
        return [asked.body for asked in self.asked if asked.path == path]


@contextmanager
def replay(scripts: Mapping[str, Script], server: str = "") -> Iterator[Replay]:
    """A server on a free port; what it has no script for is not found. ``server`` is its header."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0.02)
        playing = Replay(listening.getsockname()[1], listening, dict(scripts), server)
        threads: list[Thread] = []

        def accept() -> None:
            while not playing.over.is_set():
                with suppress(TimeoutError, OSError):
                    connection, _ = listening.accept()
                    thread = Thread(target=_serve, args=(connection, playing), daemon=True)
                    threads.append(thread)
                    thread.start()

        accepting = Thread(target=accept, daemon=True)
        accepting.start()
        try:
            yield playing
        finally:
            playing.over.set()
            accepting.join(5)
            for thread in threads:
                thread.join(30)


def _serve(connection: socket.socket, playing: Replay) -> None:
    with connection, suppress(OSError):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        asked = _read(connection)
        if asked is None:
            return
        playing.asked.append(asked)
        script = playing.scripts.get(asked.path)
        acts = script(asked) if script else [answer({"error": "not found"}, 404, playing.server)]
        for act in acts:
            if isinstance(act, Pause):
                playing.over.wait(act.seconds)
                if playing.over.is_set():
                    return
            elif isinstance(act, Break):
                linger = struct.pack("ii", 1, 0)
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
                return
            else:
                connection.sendall(act)


def _read(connection: socket.socket) -> Asked | None:
    connection.settimeout(5)
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65536)
        if not more:
            return None
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    headers = {
        name.strip().lower(): value.strip()
        for name, _, value in (each.partition(":") for each in lines)
    }
    while len(body) < int(headers.get("content-length", "0")):
        body += connection.recv(65536)
    values = json.loads(body) if body else {}
    return Asked(first.split(" ")[1], headers, values)
