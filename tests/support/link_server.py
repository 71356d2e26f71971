"""A server on this computer for the tests of links: honest, or as odd as a test wants it.

    with LinkServer() as server:
        server.files["/model.gguf"] = data
        server.answers["/odd"] = lambda request: request.reply(200, b"...", {"ETag": "x"})

Every request is kept in ``server.seen``.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self


@dataclass
class Seen:
    """One request as it came, and how many bytes of an answer's body left for it."""

    path: str
    headers: dict[str, str]
    sent: int = 0

    @property
    def range(self) -> tuple[int, int] | None:
        match = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("range", ""))
        return (int(match[1]), int(match[2])) if match else None


class Request(BaseHTTPRequestHandler):
    """What an answer is made with."""

    protocol_version = "HTTP/1.1"
    seen: Seen

    def do_GET(self) -> None:
        owner: LinkServer = self.server.owner  # type: ignore[attr-defined]
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.seen = Seen(self.path, headers)
        owner.seen.append(self.seen)
        path = self.path.partition("?")[0]
        answer = owner.answers.get(path)
        if answer is not None:
            answer(self)
        elif path in owner.files:
            self.part_of(owner.files[path])
        else:
            self.reply(404, b"nothing here")

    def do_CONNECT(self) -> None:
        """As a proxy that lets everything through, and then has nothing to say."""
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.owner.seen.append(Seen(self.path, headers))  # type: ignore[attr-defined]
        self.send_response(200)
        self.end_headers()
        self.close_connection = True

    def reply(
        self, status: int, body: bytes = b"", headers: Mapping[str, str] | None = None
    ) -> None:
        """A whole answer; ``headers`` may contradict it."""
        named = {"Content-Length": str(len(body)), **(headers or {})}
        self.send_response(status)
        for name, value in named.items():
            if value:
                self.send_header(name, value)
        self.end_headers()
        self.put(body)

    def put(self, body: bytes) -> None:
        """Bytes of a body, until the other side has gone."""
        try:
            for start in range(0, len(body), 1 << 16):
                piece = body[start : start + (1 << 16)]
                self.wfile.write(piece)
                self.seen.sent += len(piece)
        except OSError:
            self.close_connection = True

    def part_of(self, data: bytes, **headers: str) -> None:
        """What an honest server with ranges answers."""
        wanted = self.seen.range
        if wanted is None:
            self.reply(200, data, headers)
            return
        first, last = wanted[0], min(wanted[1], len(data) - 1)
        if first >= len(data):
            self.reply(416, b"", {"Content-Range": f"bytes */{len(data)}"})
            return
        content = {"Content-Range": f"bytes {first}-{last}/{len(data)}"}
        self.reply(206, data[first : last + 1], {**content, **headers})

    def redirect(self, location: str, status: int = 302) -> None:
        self.reply(status, b"", {"Location": location, "Set-Cookie": "seen=1"})

    def log_message(self, format: str, *arguments: Any) -> None:
        """Tests are silent."""


@dataclass
class LinkServer:
    """Listens on ``host`` while it is open."""

    host: str = "127.0.0.1"
    files: dict[str, bytes] = field(default_factory=dict)
    answers: dict[str, Callable[[Request], None]] = field(default_factory=dict)
    seen: list[Seen] = field(default_factory=list)

    def __enter__(self) -> Self:
        class Server(ThreadingHTTPServer):
            daemon_threads = True
            block_on_close = False

            def handle_error(self, request: object, client_address: object) -> None:
                """A client that hung up is no failure of the test."""

        self._server = Server((self.host, 0), Request)
        self._server.owner = self  # type: ignore[attr-defined]
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"

    @property
    def sent(self) -> int:
        """Bytes of all bodies that left."""
        return sum(each.sent for each in self.seen)
