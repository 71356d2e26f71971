"""Sums over the tensor table: by role and layer, by type, and what decoding one token reads.

Parameters that are only looked up (the token embedding, unless it is also the head) count as
parameters and not as active ones: an operation per token is a multiplication by a weight, and
published figures ("3 B active") count so too.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.gguf.header import Tensor
from core.model.model import WHOLE, FormatShare, Model, Read, Role, WeightBlock, Weights
from core.problems import Problem


def weights_from(
    tensors: Sequence[Tensor],
    roles: Sequence[Role],
    layers: Sequence[int | None],
    reads: Sequence[Read],
    *,
    label: str = "",
    types: Sequence[str] | None = None,
    sizes: Sequence[int] | None = None,
    file_bytes: int | None = None,
    problems: tuple[Problem, ...] = (),
) -> Weights:
    """The sums over ``tensors``, in their own types or in ``types`` with ``sizes`` in bytes.

    All sequences are parallel. ``file_bytes`` is passed on.
    """
    names = [tensor.type_name for tensor in tensors] if types is None else types
    weighed = [tensor.bytes for tensor in tensors] if sizes is None else sizes
    blocks: dict[tuple[int | None, Role], list[int]] = {}
    formats: dict[str, list[int]] = {}
    for tensor, role, layer, read, name, size in zip(
        tensors, roles, layers, reads, names, weighed, strict=True
    ):
        parameters = used = tensor.parameters
        moved = size
        if read is not WHOLE:
            numerator, denominator, multiplies = read
            moved = size * numerator // denominator
            used = parameters * numerator // denominator if multiplies else 0
        key = (layer, role)
        block = blocks.get(key)
        if block is None:
            blocks[key] = [size, moved, parameters, used]
        else:
            block[0] += size
            block[1] += moved
            block[2] += parameters
            block[3] += used
        share = formats.get(name)
        if share is None:
            share = formats[name] = [0, 0, 0]
        share[0] += 1
        share[1] += parameters
        share[2] += size
    sums = [sum(column) for column in zip(*blocks.values(), strict=True)] or [0, 0, 0, 0]
    return Weights(
        label=label,
        blocks=tuple(WeightBlock(*key, *block) for key, block in blocks.items()),
        formats=tuple(FormatShare(name, *share) for name, share in formats.items()),
        tensor_types=tuple(names),
        tensor_bytes=tuple(weighed),
        bytes=sums[0],
        read_per_token=sums[1],
        parameters=sums[2],
        active_parameters=sums[3],
        file_bytes=file_bytes,
        problems=problems,
    )


def weights_as(
    model: Model,
    types: Sequence[str],
    sizes: Sequence[int],
    *,
    label: str,
    file_bytes: int | None = None,
    problems: tuple[Problem, ...] = (),
) -> Weights:
    """The same model in other types: ``types`` and ``sizes`` are parallel to its tensors."""
    return weights_from(
        model.file.tensors,
        model.tensor_roles,
        model.tensor_layers,
        model.tensor_reads,
        label=label,
        types=types,
        sizes=sizes,
        file_bytes=file_bytes,
        problems=problems,
    )
