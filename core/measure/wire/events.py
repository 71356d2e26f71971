"""Streams cut into events: server-sent events, and JSON lines. Bytes until an event is whole, so
that no character is split."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple, Protocol

from core.language import tr
from core.measure.wire.http import WireError

MOST_EVENT = 16 * 1024 * 1024
_LINE = 64  # what keeping a line takes, be it empty


class StreamEvent(NamedTuple):
    """One event: its name (often empty) and its data."""

    name: str
    data: bytes


class Splitter(Protocol):
    """Cuts a stream into events."""

    def feed(self, data: bytes) -> Iterator[StreamEvent]: ...
    def rest(self) -> bytes: ...


class JsonLines:
    """One JSON object a line, as Ollama streams; empty lines are nothing."""

    def __init__(self) -> None:
        self._begun: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[StreamEvent]:
        """The events that these bytes complete. Raises WireError for a line without an end."""
        *lines, last = data.split(b"\n")
        for line in lines:
            whole = b"".join([*self._begun, line]).strip()
            self._begun, self._size = [], 0
            if whole:
                yield StreamEvent("", whole)
        if last:
            self._begun.append(last)
            self._size += len(last)
            if self._size > MOST_EVENT:
                raise WireError(tr("a line of the answer has no end"))

    def rest(self) -> bytes:
        """What was begun and never ended."""
        return b"".join(self._begun).strip()


class ServerSentEvents:
    """The event stream of the HTML standard: CRLF or LF, comments, several data lines, names."""

    def __init__(self) -> None:
        self._lines = _Lines()
        self._name = ""
        self._data: list[bytes] = []
        self._size = 0

    def feed(self, data: bytes) -> Iterator[StreamEvent]:
        """The events that these bytes complete. Raises WireError for a line without an end."""
        for line in self._lines.feed(data):
            if not line:
                if self._data:
                    yield StreamEvent(self._name, b"\n".join(self._data))
                self._name, self._data, self._size = "", [], 0
                continue
            field, _, value = line.partition(b":")
            value = value.removeprefix(b" ")
            if field == b"data":
                self._data.append(value)
                self._size += len(value) + _LINE
                if self._size > MOST_EVENT:
                    raise WireError(tr("an event of the answer has no end"))
            elif field == b"event":
                self._name = value.decode("utf-8", "replace")

    def rest(self) -> bytes:
        """What was begun and never ended."""
        return b"\n".join([*self._data, self._lines.rest()]).strip()


class _Lines:
    """Lines that end in CRLF, LF or CR; a CR at the end of a read may be half of a CRLF."""

    def __init__(self) -> None:
        self._begun = b""
        self._after_cr = False
        self._first = True

    def feed(self, data: bytes) -> list[bytes]:
        if self._after_cr and data[:1] == b"\n":
            data = data[1:]
        self._after_cr = data[-1:] == b"\r" if data else self._after_cr
        if b"\r" in data:
            data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        *lines, last = data.split(b"\n")
        if lines:
            lines[0] = self._begun + lines[0]
            self._begun = last
        else:
            self._begun += last
        if len(self._begun) > MOST_EVENT:
            raise WireError(tr("a line of the answer has no end"))
        if lines and self._first:
            lines[0] = lines[0].removeprefix(b"\xef\xbb\xbf")
            self._first = False
        return lines

    def rest(self) -> bytes:
        return self._begun
