"""What a file's name alone says: which shard, which quantization, model or helper."""

from __future__ import annotations

import re
from dataclasses import dataclass

# llama.cpp names shards so (llama_split_path), counting from 1; split.no inside counts from 0.
_SHARD = re.compile(r"(?P<stem>.*)-(?P<number>\d{5})-of-(?P<count>\d{5})(?P<end>\.gguf)", re.I)
# As publishers write it: "Q4_K_M", "UD-Q4_K_XL", "IQ2_XXS", "BF16", "MXFP4".
_LABEL = re.compile(
    r"(?<![A-Z0-9])((?:UD[-_])?(?:I?Q\d(?:_K)?_[A-Z]{1,3}|Q\d_K|Q\d_[0-9](?:_\d_\d)?|TQ\d_\d|BF16"
    r"|FP?16|FP?32|MXFP4(?:_MOE)?|NVFP4))(?![A-Z0-9])",
    re.I,
)


@dataclass(frozen=True, slots=True)
class ShardName:
    """A shard's place in its family, from 1 on, as its name has it."""

    stem: str
    number: int
    count: int
    end: str

    def other(self, number: int) -> str:
        """The name of another shard of the family."""
        return f"{self.stem}-{number:05}-of-{self.count:05}{self.end}"


def shard_name(name: str) -> ShardName | None:
    """What the name says of shards; None where it says nothing."""
    match = _SHARD.fullmatch(name)
    if match is None:
        return None
    return ShardName(match["stem"], int(match["number"]), int(match["count"]), match["end"])


def is_gguf(name: str) -> bool:
    """Whether it ends as a GGUF file does."""
    return name.lower().endswith(".gguf")


def is_projector(name: str) -> bool:
    """Whether a file is a projector by its name."""
    return "mmproj" in name.lower() and is_gguf(name)


def is_imatrix(name: str) -> bool:
    """Whether a file is an importance matrix by its name."""
    return "imatrix" in name.lower() and is_gguf(name)


def label_in(name: str) -> str:
    """The quantization that a file's name ends with, in capitals; "" where it names none."""
    found = _LABEL.findall(name)
    return str(found[-1]).upper() if found else ""
