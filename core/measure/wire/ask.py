"""One question, one whole answer: for everything that is not timed."""

from __future__ import annotations

import json
import selectors
import socket
import ssl
from collections.abc import Mapping
from time import monotonic
from typing import Any, NamedTuple

from core.language import tr
from core.measure.wire.connect import connect, receive, send
from core.measure.wire.http import MOST_BODY, Address, Response, WireError, request_bytes


class NoAnswerError(Exception):
    """Nobody answered, or not in HTTP. ``refused`` is set where nothing listens there."""

    def __init__(self, clause: str, refused: bool = False) -> None:
        super().__init__(clause)
        self.refused = refused


class Answer(NamedTuple):
    """A status, the headers by their names in lower case, and the body."""

    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        """The body's value; None where it holds no JSON."""
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    def object(self) -> dict[str, Any]:
        """The body's JSON object; empty where it holds none."""
        value = self.json()
        return value if isinstance(value, dict) else {}


def ask(
    address: Address,
    path: str,
    body: Mapping[str, Any] | None = None,
    key: str = "",
    connect_seconds: float = 1.0,
    seconds: float = 5.0,
) -> Answer:
    """The answer to a GET, or to a POST of ``body``. Raises NoAnswerError."""
    end = monotonic() + seconds
    try:
        connection = connect(address, connect_seconds).socket
    except ConnectionRefusedError:
        raise NoAnswerError(tr("nothing listens there"), refused=True) from None
    except (OSError, ValueError) as error:
        raise NoAnswerError(_clause(error)) from None
    response, found = Response(), bytearray()
    try:
        left = memoryview(request_bytes(address, path, body, key))
        while left:
            _wait(connection, end, writing=True)
            left = left[send(connection, left) :]
        while not response.complete:
            _wait(connection, end, writing=False)
            data = receive(connection)
            if data is None:
                continue
            if not data:
                if not response.close():
                    raise NoAnswerError(tr("it closed the connection"))
                break
            found += response.feed(data)
            if len(found) > MOST_BODY:
                raise NoAnswerError(tr("its answer has no end"))
    except (OSError, WireError) as error:
        raise NoAnswerError(_clause(error)) from None
    finally:
        connection.close()
    return Answer(response.status, response.headers, bytes(found))


def _wait(connection: socket.socket, end: float, writing: bool) -> None:
    """Until it is ready. Bytes that the encryption has taken in already count."""
    if not writing and isinstance(connection, ssl.SSLSocket) and connection.pending():
        return
    with selectors.DefaultSelector() as selector:
        selector.register(connection, selectors.EVENT_WRITE if writing else selectors.EVENT_READ)
        if not selector.select(max(0.0, end - monotonic())):
            raise NoAnswerError(tr("it did not answer in time"))


def _clause(error: BaseException) -> str:
    if isinstance(error, TimeoutError):
        return tr("it did not answer in time")
    if isinstance(error, OSError):
        return (error.strerror or str(error)).lower()
    return str(error)
