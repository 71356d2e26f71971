"""A position in a header that is read through a window, with every claim checked before it is
believed."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from core.gguf.header import ByteOrder, ValueType
from core.gguf.source import Cancelled, CancelledCheck, Source
from core.language import mark, tr

Progress: TypeAlias = Callable[[int], None]

WINDOW = 1 << 18
# What one header may cost. The largest real one known ends at byte 15,776,598 and walks 777,050
# strings; about 70,000 tensors is the most seen in one file.
MAX_READ = 256 << 20
MAX_STEPS = 1 << 21  # strings walked over; a nested array costs ARRAY_STEPS
MAX_KEPT = 32 << 20  # bytes of names and of short arrays kept in memory
MAX_TEXTS = 16 << 20  # bytes of text kept, of all keys together
MAX_TEXT = 1 << 20  # and of one
ARRAY_STEPS = 32
# More than this for one item of a header is a lie, not the rest of a cut file.
IMPLAUSIBLE = 1 << 32
MARK_EVERY = 1024

SCALARS: dict[ValueType, str] = {
    ValueType.UINT8: "B",
    ValueType.INT8: "b",
    ValueType.UINT16: "H",
    ValueType.INT16: "h",
    ValueType.UINT32: "I",
    ValueType.INT32: "i",
    ValueType.FLOAT32: "f",
    ValueType.BOOL: "?",
    ValueType.UINT64: "Q",
    ValueType.INT64: "q",
    ValueType.FLOAT64: "d",
}


class Stop(Exception):  # noqa: N818 - never leaves the package
    """The header cannot be read past ``offset``."""

    def __init__(self, code: str, message: str, offset: int, missing: int | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.offset = offset
        self.missing = missing


@dataclass(frozen=True, eq=False, slots=True)
class Layout:
    """How numbers lie in one version and byte order. Version 1 had 32-bit counts and lengths."""

    mark: str
    length: struct.Struct
    u32: struct.Struct
    array_head: struct.Struct
    scalars: dict[ValueType, struct.Struct]
    tensor_tails: tuple[struct.Struct, ...]
    strings: re.Pattern[bytes]


MAX_DIMENSIONS = 8  # llama.cpp stops at 4; other programs write up to 5
_COMMON_LENGTH = 64


@cache
def layout_of(version: int, byte_order: ByteOrder) -> Layout:
    mark = "<" if byte_order is ByteOrder.LITTLE else ">"
    code = "I" if version == 1 else "Q"
    length = struct.Struct(mark + code)
    # One match steps over MARK_EVERY short strings inside the regular expression engine, at half
    # the time of a loop. Each alternative is a length and so many bytes: only one can match.
    short = sorted(range(_COMMON_LENGTH), key=lambda size: abs(size - 6))
    alternatives = b"|".join(re.escape(length.pack(size)) + b".{%d}" % size for size in short)
    return Layout(
        mark=mark,
        length=length,
        u32=struct.Struct(mark + "I"),
        array_head=struct.Struct(mark + "I" + code),
        scalars={kind: struct.Struct(mark + scalar) for kind, scalar in SCALARS.items()},
        tensor_tails=tuple(
            struct.Struct(f"{mark}{dimensions}{code}IQ") for dimensions in range(MAX_DIMENSIONS + 1)
        ),
        strings=re.compile(b"(?s:(?:%s){%d})" % (alternatives, MARK_EVERY)),
    )


class Cursor:
    """Walks a source. ``data[at]`` is the next byte, which is byte ``base + at`` of the source.

    Every method raises Stop where the source ends early or a limit is passed, Cancelled where the
    caller gave up, and lets OSError of the source through.
    """

    def __init__(
        self,
        source: Source,
        layout: Layout,
        offset: int = 0,
        cancelled: CancelledCheck | None = None,
        progress: Progress | None = None,
    ) -> None:
        self.source = source
        self.layout = layout
        self.data = b""
        self.base = offset
        self.at = 0
        self.read_left = MAX_READ
        self.steps_left = MAX_STEPS
        self.kept_left = MAX_KEPT
        self.texts_left = MAX_TEXTS
        self._cancelled = cancelled
        self._progress = progress

    @property
    def offset(self) -> int:
        """The next byte to be read."""
        return self.base + self.at

    @property
    def left(self) -> int:
        """Bytes from here to the end of the source."""
        return self.source.size - self.base - self.at

    def seek(self, offset: int) -> None:
        """Go to a byte of the source, near or far."""
        if self.base <= offset <= self.base + len(self.data):
            self.at = offset - self.base
        else:
            self.data, self.base, self.at = b"", offset, 0

    def require(self, count: int, what: str) -> None:
        """Check that ``count`` more bytes exist, without reading them."""
        if count > self.left:
            raise self.short(count, what)

    def short(self, count: int, what: str) -> Stop:
        """``what`` claims ``count`` bytes and the source has fewer."""
        if self.left < 0:
            message = tr(
                "{what} runs {count:,} bytes past the end of the file",
                what=tr(what),
                count=count - self.left,
            )
        else:
            message = tr(
                "{what} needs {count:,} bytes and the file has {left:,} left",
                what=tr(what),
                count=count,
                left=self.left,
            )
        offset, missing = min(self.offset, self.source.size), count - self.left
        if missing > IMPLAUSIBLE:
            return Stop("impossible-length", message, offset)
        return Stop("truncated", message, offset, missing)

    def reserve(self, count: int) -> None:
        """Bring the next ``count`` bytes into ``data``, or all that there are."""
        if self.at + count > len(self.data) and self.base + len(self.data) < self.source.size:
            self._fill(min(count, max(self.left, 0)), mark("the next row"))

    def keep(self, count: int) -> None:
        """Count bytes that stay in memory."""
        self.kept_left -= count
        if self.kept_left < 0:
            raise Stop(
                "too-large",
                tr("the names in the header take more than {most} MiB", most=MAX_KEPT >> 20),
                self.offset,
            )

    def may_keep(self, count: int) -> bool:
        """Set memory aside for an array, if half of the allowance is left for names."""
        allowed = self.kept_left - count >= MAX_KEPT // 2
        self.kept_left -= count if allowed else 0
        return allowed

    def take(self, count: int, what: str) -> bytes:
        """The next ``count`` bytes. The caller bounds ``count``."""
        end = self.at + count
        if end > len(self.data):
            self._fill(count, what)
            end = count
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def unpack(self, form: struct.Struct, what: str) -> tuple[int, ...]:
        """The numbers of ``form``."""
        if self.at + form.size > len(self.data):
            self._fill(form.size, what)
        numbers = form.unpack_from(self.data, self.at)
        self.at += form.size
        return numbers

    def numbers(self, form: str, what: str) -> tuple[int | float | bool, ...]:
        """As many numbers as ``form`` says. The caller bounds their bytes."""
        return struct.unpack(form, self.take(struct.calcsize(form), what))

    def skip(self, count: int, what: str) -> None:
        """Step over ``count`` bytes that exist."""
        self.require(count, what)
        self.at += count

    def length(self, what: str) -> int:
        """A string's length, checked against what is left."""
        (count,) = self.unpack(self.layout.length, what)
        if count > self.left:
            raise self.short(count, what)
        return count

    def text(self, what: str, most: int = MAX_TEXT) -> tuple[str, bool]:
        """A string, and whether it was cut: after ``most`` bytes, or where the memory set aside
        for texts is used up. Bytes that are no UTF-8 stay, by surrogateescape."""
        count = self.length(what)
        kept = min(count, most, self.texts_left)
        self.texts_left -= kept
        text = self.take(kept, what).decode("utf-8", "surrogateescape")
        self.at += count - kept
        return text, kept < count

    def spend(self, steps: int, what: str) -> None:
        """Count work that goes element by element."""
        self.steps_left -= steps
        if self.steps_left < 0:
            raise Stop(
                "too-large",
                tr(
                    "{what} is far larger than any real one; reading stopped at {most:,} steps",
                    what=tr(what),
                    most=MAX_STEPS,
                ),
                self.offset,
            )

    def skip_strings(self, count: int, what: str) -> list[int]:
        """Step over ``count`` strings. Returns the offset of every ``MARK_EVERY``-th."""
        self.require(count * self.layout.length.size, what)
        self.spend(count, what)
        match = self.layout.strings.match
        marks = []
        for done in range(0, count, MARK_EVERY):
            marks.append(self.base + self.at)
            skipped = match(self.data, self.at) if count - done >= MARK_EVERY else None
            if skipped:
                self.at = skipped.end()
            else:
                self._skip_one_by_one(min(MARK_EVERY, count - done), what)
        return marks

    def _skip_one_by_one(self, count: int, what: str) -> None:
        unpack, head = self.layout.length.unpack_from, self.layout.length.size
        done = 0
        while done < count:
            if self.at + head > len(self.data):
                self._fill(head, what)
            data, at, last = self.data, self.at, len(self.data) - head
            while done < count and at <= last:
                at += head + unpack(data, at)[0]
                done += 1
            self.at = at
            if self.left < 0:
                raise self.short(0, what)

    def _fill(self, count: int, what: str) -> None:
        """Move the window so that at least ``count`` bytes lie in it from here on."""
        if self._cancelled is not None and self._cancelled():
            raise Cancelled
        self.require(count, what)
        offset, length = self.offset, min(max(count, WINDOW), self.left)
        self.read_left -= length
        if self.read_left < 0:
            raise Stop(
                "too-large",
                tr(
                    "the header is not over after {most} MiB, far more than any real one",
                    most=MAX_READ >> 20,
                ),
                offset,
            )
        self.data, self.base, self.at = self.source.read(offset, length), offset, 0
        if self._progress is not None:
            self._progress(offset + len(self.data))
        if len(self.data) < count:
            raise Stop(
                "truncated",
                tr(
                    "the file ended at byte {byte:,} while it was read",
                    byte=offset + len(self.data),
                ),
                offset,
                count - len(self.data),
            )
