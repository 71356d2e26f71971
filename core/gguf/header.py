"""What a GGUF header says, as values. Nothing here keeps a file open."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import NamedTuple, TypeAlias

from core.gguf.source import Place
from core.language import mark
from core.problems import Problem


class ValueType(IntEnum):
    """The metadata value types of GGUF, by their number in the file."""

    UINT8 = 0
    INT8 = 1
    UINT16 = 2
    INT16 = 3
    UINT32 = 4
    INT32 = 5
    FLOAT32 = 6
    BOOL = 7
    STRING = 8
    ARRAY = 9
    UINT64 = 10
    INT64 = 11
    FLOAT64 = 12


@dataclass(frozen=True, slots=True)
class Array:
    """An array in the metadata. Its elements stay on disk until ``core.gguf.read_page`` is asked.

    ``offset`` is the byte of the first element, ``end`` the byte after the last one. ``items``
    holds every element where the array is short (the per-layer arrays that facts are made from),
    and is None where it is long. ``marks`` are the byte offsets of every ``MARK_EVERY``-th element
    of a long array of strings or arrays, so that a page is found without walking from the start.
    """

    element: ValueType
    count: int
    offset: int
    end: int
    items: tuple[Value, ...] | None = None
    marks: tuple[int, ...] = ()


# A string that is not UTF-8 keeps its bytes by surrogateescape; `core.gguf.text` shows it.
Value: TypeAlias = "int | float | bool | str | Array"


class Entry(NamedTuple):
    """One key of the metadata, as it stands in the file. ``offset`` is where the value begins."""

    key: str
    type: ValueType
    value: Value
    offset: int
    duplicate: bool = False


class Tensor(NamedTuple):
    """One row of the tensor table.

    ``shape`` is in GGUF order: the first dimension is the row length. ``offset`` counts from the
    start of the data section of shard ``shard``. ``bytes`` is what the tensor occupies without
    padding: from its type where that is known, else from the distance to the next tensor.
    ``type_name`` is the type's name, or "unknown 217".
    """

    name: str
    shape: tuple[int, ...]
    type_id: int
    type_name: str
    offset: int
    bytes: int
    parameters: int
    shard: int = 0


class ByteOrder(StrEnum):
    LITTLE = "little"
    BIG = "big"


@dataclass(frozen=True, eq=False)
class Header:
    """One GGUF file's header. What could be read before a problem is kept.

    ``place`` is where the file lies, on this computer or elsewhere.

    ``entries`` holds every key in file order; ``metadata`` the first value of each key.
    ``version`` is None where the file is no GGUF at all; ``data_offset`` is None where the header
    did not end. ``modified_ns`` tells whether the file changed since.
    """

    place: Place
    file_bytes: int
    modified_ns: int
    version: int | None
    byte_order: ByteOrder = ByteOrder.LITTLE
    alignment: int = 32
    data_offset: int | None = None
    entries: tuple[Entry, ...] = ()
    metadata: Mapping[str, Value] = field(default_factory=dict)
    tensors: tuple[Tensor, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def path(self) -> Path:
        """The file's path; of a file that is not on this computer its name alone."""
        return self.place.path


class Kind(StrEnum):
    """What a file is for, in the words of the command line's JSON."""

    MODEL = mark("model")
    EMBEDDING = mark("embedding")
    PROJECTOR = mark("projector")
    ADAPTER = mark("adapter")
    IMATRIX = mark("imatrix")
    CONTROL_VECTOR = mark("control-vector")
    VOCABULARY = mark("vocabulary")
    DIFFUSION = mark("diffusion")
    SPEECH = mark("speech")
    SHARD = mark("shard")
    UNKNOWN = mark("unknown")


# What writes no text by itself, but goes with a model that does.
HELPERS = frozenset(
    (Kind.PROJECTOR, Kind.ADAPTER, Kind.IMATRIX, Kind.CONTROL_VECTOR, Kind.VOCABULARY)
)


@dataclass(frozen=True, eq=False)
class ModelFile:
    """A model as it lies on disk: one file, or a family of shards read as one.

    ``header`` is the first shard's (the one with the metadata); ``tensors`` are those of every
    shard found, ``file_bytes`` their sum. ``missing`` names shards that were not found: every
    total is then a lower bound. ``problems`` are those of all headers and of the family.
    """

    header: Header
    headers: tuple[Header, ...]
    kind: Kind
    tensors: tuple[Tensor, ...]
    missing: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()

    @property
    def paths(self) -> tuple[Path, ...]:
        """The files that were found, in shard order; names alone of files elsewhere."""
        return tuple(header.path for header in self.headers)

    @property
    def addresses(self) -> tuple[str, ...]:
        """Paths, or the links of files that are not on this computer, in shard order."""
        return tuple(header.place.address for header in self.headers)

    @property
    def local(self) -> bool:
        """Whether the files lie on this computer."""
        return self.header.place.local

    @property
    def file_bytes(self) -> int:
        """Bytes on disk of all files found."""
        return sum(header.file_bytes for header in self.headers)

    @property
    def whole_bytes(self) -> int | None:
        """What the file would weigh with all the data of its tensors, where that is not all there;
        None where it is, and where more files belong to the model."""
        start = self.header.data_offset
        if len(self.headers) != 1 or self.missing or start is None or not self.tensors:
            return None
        end = start + max(tensor.offset + tensor.bytes for tensor in self.tensors)
        return end if end > self.file_bytes else None

    @property
    def complete(self) -> bool:
        """False where a shard is missing or data is cut off: totals are lower bounds."""
        return not self.missing and not any(p.missing_bytes for p in self.problems)
