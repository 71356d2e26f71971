"""What a block format does to real weights of the open file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, sqrt
from typing import TYPE_CHECKING

from core.gguf.arrays import PageError
from core.gguf.header import ByteOrder, ModelFile, Tensor
from core.gguf.tensor_data import read_elements
from core.gguf.text import display
from core.gguf.types import BY_ID, layout_of
from core.language import tr
from core.problems import Problem

if TYPE_CHECKING:
    from gguf import GGMLQuantizationType
    from numpy import float32
    from numpy.typing import NDArray

# Values shown at once: the longest block that a type has.
SPAN = 256
_IDS = {kind.name: kind.id for kind in BY_ID.values()}
# Formats that the gguf package can write, the finest first. The K formats and most IQ ones it only
# reads: their writers search for scales, and an error from another search would not be theirs.
TRIED = ("BF16", "Q8_0", "Q5_1", "Q5_0", "Q4_1", "Q4_0", "MXFP4", "TQ2_0")
# What it reads (and the plain types, which numpy reads).
PLAIN = ("F32", "F16", "BF16")
CLASSIC = ("Q4_0", "Q4_1", "Q5_0", "Q5_1", "Q8_0", "MXFP4", "NVFP4", "TQ1_0", "TQ2_0")
K_FORMATS = ("Q2_K", "Q3_K", "Q4_K", "Q5_K", "Q6_K")
IQ_FORMATS = (
    "IQ1_S",
    "IQ1_M",
    "IQ2_XXS",
    "IQ2_XS",
    "IQ2_S",
    "IQ3_XXS",
    "IQ3_S",
    "IQ4_NL",
    "IQ4_XS",
)
DECODED = frozenset((*PLAIN, *CLASSIC, *K_FORMATS, *IQ_FORMATS))


@dataclass(frozen=True, slots=True)
class Sample:
    """Weights of one row as they are stored, decoded.

    ``values`` has ``SPAN`` numbers, or the whole row where it is shorter; ``levels`` are the
    different ones among those of one block, ascending, ``block_size`` how many share a block.
    """

    tensor: Tensor
    row: int
    first: int
    block_size: int
    bits_per_weight: float
    values: tuple[float, ...]

    def levels(self, place: int) -> tuple[float, ...]:
        """The different values in the block that holds the value at this place."""
        start = place // self.block_size * self.block_size
        return tuple(sorted(set(filter(isfinite, self.values[start : start + self.block_size]))))

    @property
    def odd(self) -> int:
        """How many of the weights are no numbers, or infinite."""
        return sum(not isfinite(value) for value in self.values)


@dataclass(frozen=True, slots=True)
class Trial:
    """The same weights in another format. ``error`` is the root mean square of the differences
    over that of the weights (0 = nothing lost), ``worst`` the largest single difference."""

    type_name: str
    bits_per_weight: float
    values: tuple[float, ...]
    error: float
    worst: float


def readable(tensor: Tensor) -> bool:
    """Whether its type can be decoded."""
    return tensor.type_name in DECODED


def read_sample(file: ModelFile, tensor: Tensor, row: int, first: int) -> Sample:
    """Up to ``SPAN`` weights of one row. Raises PageError with a sentence."""
    header = file.headers[tensor.shard]
    kind = layout_of(tensor.type_id, tensor.type_name)
    if kind is None or not readable(tensor):
        raise PageError(
            Problem(
                "no-decoder",
                tr("{type} cannot be decoded by this program.", type=display(tensor.type_name)),
                advice=tr("Choose a tensor of another type."),
            )
        )
    if header.byte_order is ByteOrder.BIG and kind.name != "F32":
        raise PageError(
            Problem(
                "big-endian",
                tr("The blocks of big-endian files cannot be decoded by this program."),
                advice=tr("Choose a tensor of the type F32, or open a little-endian file."),
            )
        )
    width = tensor.shape[0] if tensor.shape else 1
    count = min(SPAN, width - first) // kind.block_size * kind.block_size
    data = read_elements(file, tensor, row, first, count)
    values = _decoded(data, kind.name, swapped=header.byte_order is ByteOrder.BIG)
    return Sample(tensor, row, first, kind.block_size, kind.bits_per_weight, tuple(values.tolist()))


def trials(values: Sequence[float]) -> tuple[Trial, ...]:
    """These weights in every format that can be written here and whose blocks they fill; none where
    a weight is no number, as in a damaged file: then no difference means anything."""
    import numpy as np
    from gguf import quants

    source = np.asarray(values, np.float32)
    if not np.isfinite(source).all():
        return ()
    energy = float(np.mean(np.square(source, dtype=np.float64)))
    found = []
    for name in TRIED:
        kind = BY_ID[_IDS[name]]
        if len(source) % kind.block_size or not len(source):
            continue
        with np.errstate(all="ignore"):  # a block of zeros has no scale
            packed = quants.quantize(source, _quant_type(name))
        back = _decoded(packed.tobytes(), name)
        off = np.abs(back.astype(np.float64) - source)
        mean = float(np.mean(np.square(off)))
        found.append(
            Trial(
                name,
                kind.bits_per_weight,
                tuple(back.tolist()),
                sqrt(mean / energy) if energy else 0.0,
                float(off.max()),
            )
        )
    return tuple(found)


def _quant_type(name: str) -> GGMLQuantizationType:
    from gguf import GGMLQuantizationType

    return GGMLQuantizationType[name]


def _decoded(data: bytes, name: str, *, swapped: bool = False) -> NDArray[float32]:
    import numpy as np
    from gguf import quants

    if name == "F32":
        return np.frombuffer(data, ">f4" if swapped else "<f4").astype(np.float32)
    if name == "F16":
        return np.frombuffer(data, "<f2").astype(np.float32)
    raw = np.frombuffer(data, np.uint8)
    with np.errstate(all="ignore"):  # damaged scales may be infinite
        return np.asarray(quants.dequantize(raw, _quant_type(name)), np.float32).reshape(-1)
