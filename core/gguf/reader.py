"""Reading one header: counts, metadata, tensor table.

Nothing that the file claims is believed before it is checked against the bytes that are left, and
whatever could be read before a fault is kept.
"""

from __future__ import annotations

import struct
from dataclasses import replace
from pathlib import Path

from core.gguf import checks, pieces, signatures
from core.gguf.arrays import read_value, value_type
from core.gguf.cursor import (
    MAX_DIMENSIONS,
    Cursor,
    Progress,
    Stop,
    layout_of,
)
from core.gguf.header import ByteOrder, Entry, Header, Value, ValueType
from core.gguf.sizes import Row, align, size_tensors
from core.gguf.source import CancelledCheck, FilePlace, Place, Source
from core.gguf.text import display, excerpt
from core.language import mark, tr, trc
from core.problems import Problem, Severity

MAGIC = b"GGUF"
VERSIONS = (1, 2, 3)
# The most keys seen in a real file are about a hundred, the most tensors about 70,000.
MAX_KEYS = 1 << 14
MAX_TENSORS = 1 << 17
MAX_KEY = (1 << 16) - 1  # the specification's limit
_MIN_KEY = 4 + 1  # a type and one byte, beside the length of the key


def read_header(
    path: Path | str | Place,
    cancelled: CancelledCheck | None = None,
    progress: Progress | None = None,
) -> Header:
    """The header of one file, by its path or its place. The file is open, for reading only, while
    this runs.

    ``cancelled`` is asked before every further 256 KiB; ``progress`` is told how many bytes of the
    header are behind. Every fault is a Problem of the header; the only exception is Cancelled.
    """
    place: Place = FilePlace(Path(path)) if isinstance(path, str | Path) else path
    try:
        source = place.open(cancelled)
    except (OSError, ValueError) as error:  # ValueError: a zero byte in the path
        return Header(place, 0, 0, None, problems=(place.unreadable(error),))
    with source:
        header = parse(source, place, cancelled, progress)
        try:
            changed = source.changed()
        except OSError:
            changed = True
    if changed:
        header = replace(header, problems=(*header.problems, _still_written(place)))
    return header


def parse(
    source: Source,
    place: Place,
    cancelled: CancelledCheck | None = None,
    progress: Progress | None = None,
) -> Header:
    """The header that ``source`` begins with. ``place`` is only asked for its names."""
    try:
        head = source.read(0, 8)
        if head[:4] != MAGIC or len(head) < 8:
            problem = signatures.recognize(source, place)
            return Header(place, source.size, source.modified_ns, None, problems=(problem,))
    except OSError as error:
        problem = place.unreadable(error)
        return Header(place, source.size, source.modified_ns, None, problems=(problem,))
    version, byte_order = _version(head)
    if version not in VERSIONS:
        return Header(
            place,
            source.size,
            source.modified_ns,
            version,
            byte_order,
            problems=(_unsupported(version, place),),
        )
    cursor = Cursor(source, layout_of(version, byte_order), len(head), cancelled, progress)
    return _Reading(cursor, place).header(version, byte_order)


def _version(head: bytes) -> tuple[int, ByteOrder]:
    """A version read in the wrong order has its low half empty; llama.cpp tells them apart so."""
    little, big = struct.unpack("<I", head[4:])[0], struct.unpack(">I", head[4:])[0]
    if little and little & 0xFFFF == 0:
        return big, ByteOrder.BIG
    return little, ByteOrder.LITTLE


class _Reading:
    """One pass over one header. What has been read stays when the pass ends early."""

    def __init__(self, cursor: Cursor, place: Place) -> None:
        self.cursor = cursor
        self.place = place
        self.key_count: int | None = None  # while the keys are read
        self.key = ""
        self.tensor_count: int | None = None  # while the tensors are read
        self.entries: list[Entry] = []
        self.metadata: dict[str, Value] = {}
        self.rows: list[Row] = []
        self.problems: list[Problem] = []
        self.cut: list[str] = []
        self.complete = False

    def header(self, version: int, byte_order: ByteOrder) -> Header:
        try:
            self._read()
            self.complete = True
        except Stop as stop:
            self.problems.append(self._stopped(stop))
        except OSError as error:
            self.problems.append(self.place.unreadable(error))
        source = self.cursor.source
        stated = (entry for entry in self.entries if entry.key == "general.alignment")
        alignment, remarks = checks.alignment_of(next(stated, None))
        self.problems += remarks
        data_offset = align(self.cursor.offset, alignment) if self.complete else None
        data_bytes = max(source.size - data_offset, 0) if data_offset is not None else None
        tensors, remarks = size_tensors(self.rows, alignment, data_bytes)
        self.problems += remarks
        self.problems += checks.check_entries(self.entries)
        self.problems += checks.check_tensors(tensors, alignment)
        if data_offset is not None:
            self.problems += (
                pieces.first_piece(self.place, problem)
                for problem in checks.check_length(
                    tensors,
                    data_offset,
                    source.size,
                    source.modified_ns,
                    self.metadata.get(checks.SPECIMEN_KEY),
                )
            )
        if self.cut:
            self.problems.append(_cut_text(self.cut))
        self.problems += _for_few(version, byte_order)
        where = display(self.place.address)
        return Header(
            place=self.place,
            file_bytes=source.size,
            modified_ns=source.modified_ns,
            version=version,
            byte_order=byte_order,
            alignment=alignment,
            data_offset=data_offset,
            entries=tuple(self.entries),
            metadata=self.metadata,
            tensors=tensors,
            problems=tuple(
                replace(problem, where=problem.where or where) for problem in self.problems
            ),
        )

    def _read(self) -> None:
        cursor = self.cursor
        (tensor_count,) = cursor.unpack(cursor.layout.length, mark("the number of tensors"))
        (key_count,) = cursor.unpack(cursor.layout.length, mark("the number of keys"))
        self._refuse(key_count, MAX_KEYS, _MIN_KEY, trc("of the metadata", "keys"))
        self.key_count = key_count
        self._read_keys(key_count)
        self.key_count = None
        self._refuse(
            tensor_count, MAX_TENSORS, cursor.layout.tensor_tails[0].size + 4, tr("tensors")
        )
        self.tensor_count = tensor_count
        self._read_tensors(tensor_count)

    def _place(self) -> str:
        if self.tensor_count is not None:
            return tr(
                "tensor {number:,} of {count:,}",
                number=len(self.rows) + 1,
                count=self.tensor_count,
            )
        if self.key_count is not None:
            number, count = len(self.entries) + 1, self.key_count
            if not self.key:
                return tr("key {number:,} of {count:,}", number=number, count=count)
            return tr(
                "key {number:,} of {count:,} ({name})",
                number=number,
                count=count,
                name=excerpt(self.key),
            )
        return tr("the counts of keys and tensors")

    def _refuse(self, count: int, most: int, least_bytes: int, what: str) -> None:
        """A count that no real file has is not worth the walk."""
        least = count * (least_bytes + self.cursor.layout.length.size)
        if count > most:
            raise Stop(
                "impossible-count",
                tr(
                    "it declares {count:,} {what}, which would need at least {least:,} bytes; "
                    "{left:,} are left and {most:,} {what} are the most that is read",
                    count=count,
                    what=what,
                    least=least,
                    left=max(self.cursor.left, 0),
                    most=most,
                ),
                self.cursor.offset,
            )

    def _read_keys(self, count: int) -> None:
        cursor, metadata = self.cursor, self.metadata
        for _ in range(count):
            self.key = ""
            key_bytes = cursor.length(mark("its name"))
            if key_bytes > MAX_KEY:
                raise self._long_name(key_bytes)
            key = cursor.take(key_bytes, mark("its name")).decode("utf-8", "surrogateescape")
            cursor.keep(key_bytes)
            self.key = key
            (number,) = cursor.unpack(cursor.layout.u32, mark("its type"))
            kind = value_type(number, cursor)
            offset = cursor.offset
            value: Value
            if kind is ValueType.STRING:
                value, cut = cursor.text(mark("its text"))
                if cut:
                    self.cut.append(key)
            else:
                value = read_value(cursor, kind, mark("its array"))
            duplicate = key in metadata
            self.entries.append(Entry(key, kind, value, offset, duplicate))
            if not duplicate:
                metadata[key] = value

    def _read_tensors(self, count: int) -> None:
        cursor, rows = self.cursor, self.rows
        length, u32, tails = cursor.layout.length, cursor.layout.u32, cursor.layout.tensor_tails
        most = length.size + MAX_KEY + u32.size + tails[-1].size
        for _ in range(count):
            cursor.reserve(most)
            data, at = cursor.data, cursor.at
            name_at = needed = length.size
            try:
                (name_bytes,) = length.unpack_from(data, at)
                if name_bytes > MAX_KEY:
                    raise self._long_name(name_bytes)
                needed += name_bytes + u32.size
                (dimensions,) = u32.unpack_from(data, at + needed - u32.size)
                if dimensions > MAX_DIMENSIONS:
                    raise Stop(
                        "impossible-dimensions",
                        tr(
                            "it declares {count:,} dimensions, where {most} are the most that is "
                            "read and 4 the most that llama.cpp takes",
                            count=dimensions,
                            most=MAX_DIMENSIONS,
                        ),
                        cursor.offset + needed - u32.size,
                    )
                tail = tails[dimensions]
                needed += tail.size
                *shape, type_id, offset = tail.unpack_from(data, at + needed - tail.size)
            except struct.error:
                raise cursor.short(needed, mark("its row")) from None
            name = data[at + name_at : at + name_at + name_bytes]
            rows.append((name.decode("utf-8", "surrogateescape"), tuple(shape), type_id, offset))
            cursor.at = at + needed
            cursor.keep(name_bytes)

    def _long_name(self, length: int) -> Stop:
        """A name longer than any: cut off where the file has no room for it either."""
        if length > self.cursor.left:
            return self.cursor.short(length, mark("its name"))
        return Stop(
            "long-name",
            tr(
                "its name has {length:,} bytes, where the format allows {most:,}",
                length=length,
                most=MAX_KEY,
            ),
            self.cursor.offset,
        )

    def _stopped(self, stop: Stop) -> Problem:
        truncated = stop.code == "truncated"
        return Problem(
            stop.code,
            tr(
                "The header is incomplete at byte {byte:,}, in {place}: {fault}.",
                byte=stop.offset,
                place=self._place(),
                fault=stop,
            ),
            advice=(
                tr("The file is cut off: finish the download, or get it again.")
                if truncated
                else tr("The file is damaged or was made to mislead; get it again from its source.")
            ),
            offset=stop.offset,
            missing_bytes=stop.missing,
        )


def _for_few(version: int, byte_order: ByteOrder) -> list[Problem]:
    """What this program reads and llama.cpp does not."""
    notes = []
    if version == 1:
        notes.append(
            Problem(
                "old-version",
                tr("GGUF version 1, of August 2023: llama.cpp no longer reads it."),
                Severity.NOTE,
                advice=tr("Convert the original model again with a current llama.cpp."),
                offset=4,
            )
        )
    if byte_order is ByteOrder.BIG:
        notes.append(
            Problem(
                "big-endian",
                tr(
                    "Written for big-endian machines (IBM Z, POWER); llama.cpp refuses it "
                    "elsewhere."
                ),
                Severity.NOTE,
                advice=tr("gguf-py's gguf_convert_endian.py turns it round."),
                offset=4,
            )
        )
    return notes


def _unsupported(version: int, place: Place) -> Problem:
    return Problem(
        "version",
        tr(
            "{name} is a GGUF file of version {version:,}; versions 1, 2 and 3 exist so far.",
            name=display(place.path.name),
            version=version,
        ),
        advice=(
            tr("Look for a newer version of this program.")
            if 3 < version < 100
            else tr("The file is damaged; get it again.")
        ),
        where=display(place.address),
        offset=4,
    )


def _still_written(place: Place) -> Problem:
    return Problem(
        "growing",
        tr(
            "{name} was changed while it was read: it is still being written.",
            name=display(place.path.name),
        ),
        Severity.WARNING,
        advice=tr("Open it again when that is over."),
        where=display(place.address),
    )


def _cut_text(keys: list[str]) -> Problem:
    name = excerpt(keys[0])
    return Problem(
        "long-text",
        tr(
            "The text of {name} and {count:,} more is too long to keep; its beginning is shown.",
            name=name,
            count=len(keys) - 1,
        )
        if len(keys) > 1
        else tr("The text of {name} is too long to keep; its beginning is shown.", name=name),
        Severity.NOTE,
    )
