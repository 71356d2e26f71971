"""A file behind a link, as a place of the reader: its header by parts, never its weights."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Self
from urllib.parse import quote, unquote, urlsplit

from core.gguf.source import CancelledCheck, OpenSource
from core.gguf.text import display
from core.language import tr
from core.problems import Problem
from core.remote.client import Answer, Client
from core.remote.errors import LinkError, of_failure

# A header of 250,000 tokens has 15.8 MB: five requests. One of 32,000 tokens has 0.7 MB: one.
_BLOCKS = (1 << 20, 3 << 20, 4 << 20)  # the last one over and over
_GAP = 4 << 20  # what is rather read than asked for anew
_SNIFF = 1 << 16  # of a file whose length nobody states
_PART = re.compile(r"bytes\s+(\d{1,18})-(\d{1,18})/(\d{1,18})", re.IGNORECASE)
_WHOLE = re.compile(r"bytes\s+\*/(\d{1,18})", re.IGNORECASE)


class RemotePlace:
    """A file at ``url``.

    What was read of its header stays in memory: pages of long arrays come from there, and nobody
    asks the server again once ``client`` is closed.
    """

    def __init__(self, url: str, client: Client) -> None:
        self.url = url
        self._client = client
        self._kept: _Kept | None = None

    @property
    def path(self) -> Path:
        """The file's name alone, which it would have after a download."""
        parts = urlsplit(self.url)
        name = unquote(parts.path.rsplit("/", 1)[-1])
        name = re.sub(r"[/\\\x00-\x1f]", "_", name).strip(". ")
        return Path(name or parts.hostname or "file")

    @property
    def address(self) -> str:
        """The link; of a query, which may hold a key, only that there is one, and no password."""
        parts = urlsplit(self.url)
        netloc = parts.netloc.rpartition("@")[2]
        shown = parts._replace(netloc=netloc, query="", fragment="").geturl()
        return shown + ("?…" if parts.query else "")

    @property
    def local(self) -> bool:
        """Never."""
        return False

    def beside(self, name: str) -> RemotePlace:
        """The file of another name under the same address."""
        parts = urlsplit(self.url)
        folder = parts.path.rsplit("/", 1)[0]
        return RemotePlace(parts._replace(path=f"{folder}/{quote(name)}").geturl(), self._client)

    def open(self, cancelled: CancelledCheck | None = None) -> OpenSource:
        """The file by parts; after the first time what was kept of it. Raises LinkError and
        Cancelled."""
        if self._kept is not None:
            return self._kept
        return _RangeSource(self, self._client, cancelled)

    def keep(self, data: bytes, size: int) -> None:
        """What was read from the file's beginning."""
        self._kept = _Kept(data, size)

    def forget(self) -> None:
        """Let go of what was kept."""
        self._kept = _Kept(b"", self._kept.size if self._kept else 0)

    def unreadable(self, error: OSError | ValueError) -> Problem:
        """In the words of a network."""
        host = urlsplit(self.url).hostname or ""
        found = of_failure(error, host, self._client.limits.pause)
        return Problem(found.code, found.message, advice=found.advice, where=display(self.address))


class _Kept:
    """The beginning of a file that lies elsewhere."""

    def __init__(self, data: bytes, size: int) -> None:
        self.size = size
        self.modified_ns = 0
        self._data = data

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        return

    def read(self, offset: int, length: int) -> bytes:
        if offset + length > len(self._data) and offset + length <= self.size:
            raise LinkError(
                "not-downloaded",
                tr("Only the header of this file was read; its weights are not on this computer."),
                tr("Download the file, then open it."),
            )
        return self._data[offset : offset + length]

    def changed(self) -> bool:
        return False


class _RangeSource:
    """Parts of the file as they are needed, in growing blocks from where reading began."""

    modified_ns = 0

    def __init__(
        self, place: RemotePlace, client: Client, cancelled: CancelledCheck | None
    ) -> None:
        self._place = place
        self._client = client
        self._cancelled = cancelled
        self._base = 0
        self._data = bytearray()
        self._blocks = 0
        self._mark: tuple[str | None, str | None] | None = None
        self._stream: Answer | None = None  # of a server that knows no parts
        self.size = 0
        self._begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._stream is not None:
            self._stream.close()
        if error is None:
            self._place.keep(bytes(self._data) if self._base == 0 else b"", self.size)

    def changed(self) -> bool:
        """Every answer was compared with the first as it came."""
        return False

    def read(self, offset: int, length: int) -> bytes:
        """The bytes at ``offset``: fewer than ``length`` only at the end. Raises LinkError."""
        end = min(offset + length, self.size)
        if offset >= end:
            return b""
        held = self._base + len(self._data)
        if not self._base <= offset <= held + _GAP:
            if self._stream is not None:
                raise self._no_parts()
            self._base, self._data, held = offset, bytearray(), offset
        if end > held:
            self._grow(end - held)
        return bytes(self._data[offset - self._base : end - self._base])

    def _grow(self, wanted: int) -> None:
        """Bring at least ``wanted`` bytes more behind those that are there."""
        offset = self._base + len(self._data)
        block = _BLOCKS[min(self._blocks, len(_BLOCKS) - 1)]
        self._blocks += 1
        block = max(wanted, min(block, self._client.bytes_left))
        if self._stream is None:
            while wanted > 0:
                data = self._part(offset, min(block, self.size - offset))
                self._data += data
                offset, wanted, block = offset + len(data), wanted - len(data), block - len(data)
            return
        # A whole file is on its way: no more of it is taken than is asked for.
        data = self._stream.read(wanted)
        self._data += data
        if len(data) < wanted:
            raise _ended(offset + len(data))

    # Answers, taken at no word.

    def _begin(self) -> None:
        last = _BLOCKS[0] - 1
        self._blocks = 1
        answer = self._client.get(self._place.url, (0, last), self._cancelled)
        if answer.status == 416:
            match = _WHOLE.fullmatch(answer.headers.get("Content-Range", "").strip())
            answer.close()
            if match is None or int(match[1]):
                raise _odd(tr("it has no beginning"))
            return
        if answer.status == 206:
            self._mark = _mark_of(answer)
            self._data += self._body(answer, 0, last + 1)
            return
        length = answer.length
        if length is None:
            self._sniff(answer)
            return
        self.size, self._stream = length, answer

    def _sniff(self, answer: Answer) -> None:
        """Of a page without a length enough is read to say what it is."""
        self._data += answer.read(_SNIFF)
        answer.close()
        if self._data[:4] == b"GGUF":
            raise LinkError(
                "no-length",
                tr("The server does not say how long the file is."),
                tr("Download the file, then open it."),
            )
        self.size = len(self._data)

    def _part(self, offset: int, length: int) -> bytes:
        answer = self._client.get(self._place.url, (offset, offset + length - 1), self._cancelled)
        if answer.status != 206:
            answer.close()
            raise _odd(tr("it gave one part and then refused the next"))
        if _mark_of(answer) != self._mark:
            answer.close()
            raise LinkError(
                "changed",
                tr("The file was changed on the server while it was read."),
                tr("Open the link again."),
            )
        return self._body(answer, offset, length)

    def _body(self, answer: Answer, offset: int, length: int) -> bytes:
        """The part that an answer holds: from ``offset`` on, at most ``length`` bytes."""
        match = _PART.fullmatch(answer.headers.get("Content-Range", "").strip())
        if match is None:
            answer.close()
            raise _odd(tr("it does not say which part of the file it sent"))
        first, last, total = map(int, match.groups())
        if first != offset or not first <= last < min(total, offset + length):
            answer.close()
            raise _odd(
                tr(
                    "asked for byte {byte:,} it sent bytes {first:,} to {last:,} of {total:,}",
                    byte=offset,
                    first=first,
                    last=last,
                    total=total,
                )
            )
        if self.size and total != self.size:
            answer.close()
            raise LinkError(
                "changed",
                tr(
                    "The file had {before:,} bytes on the server and then {total:,}.",
                    before=self.size,
                    total=total,
                ),
                tr("Open the link again."),
            )
        self.size = total
        count = last - first + 1
        if answer.length is not None and answer.length != count:
            answer.close()
            raise _odd(
                tr(
                    "it promised {promised:,} bytes and {length:,} at once",
                    promised=count,
                    length=answer.length,
                )
            )
        data = answer.read(count)
        answer.done()
        if len(data) < count:
            raise _ended(offset + len(data))
        return data

    def _no_parts(self) -> LinkError:
        return LinkError(
            "no-ranges",
            tr("The server sends this file only as a whole."),
            tr("Download the file, then open it."),
        )


def _mark_of(answer: Answer) -> tuple[str | None, str | None]:
    """By what a server tells one version of a file from another."""
    return answer.headers.get("ETag"), answer.headers.get("Last-Modified")


def _odd(what: str) -> LinkError:
    return LinkError(
        "odd-server",
        tr("The server contradicts itself: {what}.", what=what),
        tr("Try again; or download the file and open it."),
    )


def _ended(offset: int) -> LinkError:
    return LinkError(
        "broke-off",
        tr("The server broke off at byte {offset:,}.", offset=offset),
        tr("Check the network, then try again."),
    )
