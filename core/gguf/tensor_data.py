"""A few blocks of a tensor's data, read from the file when somebody asks for them."""

from __future__ import annotations

from core.gguf.arrays import PageError, unchanged_file
from core.gguf.header import ModelFile, Tensor
from core.gguf.text import display
from core.gguf.types import layout_of
from core.language import tr
from core.problems import Problem


def rows_of(tensor: Tensor) -> int:
    """How many rows it has: all dimensions but the first, multiplied."""
    width = tensor.shape[0] if tensor.shape else 1
    return tensor.parameters // width if width else 0


def read_elements(file: ModelFile, tensor: Tensor, row: int, first: int, count: int) -> bytes:
    """The bytes of ``count`` elements of one row, from element ``first`` on, as stored.

    ``first`` and ``count`` are multiples of the type's block. Raises PageError where the type's
    layout is not known, or the file is gone, changed or ends before these bytes.
    """
    header = file.headers[tensor.shard]
    where = display(header.place.address)
    kind = layout_of(tensor.type_id, tensor.type_name)
    if kind is None or kind.row_extra_bytes or header.data_offset is None:
        raise PageError(
            Problem(
                "unknown-layout",
                tr(
                    "How {type} lays out its blocks is not known here.",
                    type=display(tensor.type_name),
                ),
                advice=tr("Choose a tensor of another type."),
                where=where,
            )
        )
    if first % kind.block_size or count % kind.block_size:
        raise ValueError(f"{first} and {count} are no multiples of {kind.block_size}")
    width = tensor.shape[0] if tensor.shape else 1
    if not (0 <= row < rows_of(tensor) and 0 <= first <= first + count <= width):
        raise ValueError("there are no such elements")
    size = count // kind.block_size * kind.block_bytes
    offset = header.data_offset + tensor.offset
    offset += row * kind.row_bytes(width) + first // kind.block_size * kind.block_bytes
    with unchanged_file(header) as source:
        try:
            data = source.read(offset, size)
        except OSError as error:
            raise PageError(header.place.unreadable(error)) from error
    if len(data) < size:
        raise PageError(
            Problem(
                "no-data",
                tr(
                    "{file} ends before the weights of {tensor}.",
                    file=display(header.path.name),
                    tensor=display(tensor.name),
                ),
                advice=tr(
                    "This file holds a header alone, as specimens do, or its download is not "
                    "complete."
                ),
                where=where,
                offset=offset,
            )
        )
    return data
