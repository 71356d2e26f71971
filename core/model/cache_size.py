"""Bytes of cache and state: pure arithmetic on what ``core.model.cache`` found.

Called at every step of a slider. The rules are those of llama.cpp b11434: a context is padded to
256 tokens, a cache that is not unified is split into one stream per slot, and each layer's rows
are reserved for the whole context when the model loads, used or not.
"""

from __future__ import annotations

from dataclasses import dataclass

from core.gguf.types import BY_NAME
from core.model.model import CacheFacts, CacheGroup

# Block formats as a cache may use them, ggml's first: elements and bytes of one block.
BLOCKS: dict[str, tuple[int, int]] = {
    name: (BY_NAME[name.upper()].block_size, BY_NAME[name.upper()].block_bytes)
    for name in ("f32", "f16", "bf16", "q8_0", "q5_1", "q5_0", "q4_1", "q4_0", "iq4_nl")
}
# vLLM's fp8 (e4m3): one byte a value, and no engine's but its own.
FP8 = "fp8"
BLOCKS[FP8] = (1, 1)
PADDING = 256  # tokens; llama.cpp pads every context and every window cache to it


@dataclass(frozen=True, slots=True)
class CacheSettings:
    """The options that decide how much cache an engine reserves.

    ``context`` is in tokens for all slots together, before padding. ``drafted`` is the number of
    tokens that a draft head proposes at once, 0 without one (llama.cpp's n_rs_seq).
    """

    context: int
    slots: int = 1
    unified: bool = False
    batch: int = 2048
    ubatch: int = 512
    swa_full: bool = False
    type_k: str = "f16"
    type_v: str = "f16"
    flash_attention: bool = True
    drafted: int = 0


@dataclass(frozen=True, slots=True)
class GroupSize:
    """One group's share. ``cells`` are rows of one layer in one of ``streams`` streams; the bytes
    are those of all its layers and streams."""

    name: str
    cells: int
    streams: int
    k_bytes: int
    v_bytes: int


@dataclass(frozen=True, slots=True)
class CacheSize:
    """What is reserved. ``context`` is what the engine makes of the wish, all slots together;
    ``cache_by_layer`` and ``state_by_layer`` have one entry per layer of the engine (partial
    offload puts each where its layer is)."""

    context: int
    k_bytes: int
    v_bytes: int
    state_bytes: int
    groups: tuple[GroupSize, ...]
    cache_by_layer: tuple[int, ...]
    state_by_layer: tuple[int, ...]

    @property
    def cache_bytes(self) -> int:
        """K and V."""
        return self.k_bytes + self.v_bytes


def row_bytes(type_name: str, width: int) -> int:
    """Bytes of one row of ``width`` elements. A width that the block does not divide counts the
    begun block (an engine refuses such a type)."""
    block, size = BLOCKS[type_name]
    return -(-width // block) * size


def padded_context(context: int, slots: int = 1, unified: bool = False) -> tuple[int, int]:
    """Tokens (all slots together, per stream) that an engine makes of ``context``.

    10,000 in three slots become 10,752: 3,584 each.
    """
    total = _pad(max(context, 1))
    if unified:
        return total, total
    per_stream = _pad(max(total // slots, 1))
    return per_stream * slots, per_stream


def cache_size(facts: CacheFacts, settings: CacheSettings) -> CacheSize:
    """Bytes of cache and state of the main context."""
    return _size(facts, facts.groups, settings, with_states=True)


def draft_cache_size(facts: CacheFacts, settings: CacheSettings) -> CacheSize:
    """Bytes of the second context that a built-in draft head opens when it is used."""
    return _size(facts, facts.draft_groups, settings, with_states=False)


def cache_read(facts: CacheFacts, depth: int, type_k: str = "f16", type_v: str = "f16") -> int:
    """Cache bytes that decoding one token reads with ``depth`` tokens in its sequence.

    A full layer reads every row, a window its last ones, a compressed cache one row per
    ``stride`` tokens, a sparse one the selected rows; layers that share a cache read it again.
    """
    total = 0
    for group in facts.groups:
        rows = depth // group.stride
        if group.window is not None:
            rows = min(rows, group.window)
        if group.read_limit is not None:
            rows = min(rows, group.read_limit)
        row = row_bytes(type_k, group.k_width)
        if group.v_read:
            row += row_bytes(type_v, group.v_width)
        part, whole = group.read_share
        total += rows * row * part // whole * (len(group.layers) + group.sharers)
    return total


def state_moved(facts: CacheFacts) -> int:
    """State bytes that decoding one token moves: read once and written once, at any depth."""
    return 2 * sum(state.bytes_per_sequence for state in facts.states)


def bytes_per_token(facts: CacheFacts, type_k: str = "f16", type_v: str = "f16") -> int:
    """What one token takes in the cache while every window still grows."""
    return sum(
        (row_bytes(type_k, group.k_width) + row_bytes(type_v, group.v_width))
        * len(group.layers)
        // group.stride
        for group in facts.groups
    )


def _size(
    facts: CacheFacts,
    groups: tuple[CacheGroup, ...],
    settings: CacheSettings,
    with_states: bool,
) -> CacheSize:
    slots = max(settings.slots, 1)
    context, per_stream = padded_context(settings.context, slots, settings.unified)
    batch = min(max(settings.context, 1), settings.batch)
    ubatch = min(batch, settings.ubatch)
    k_total = v_total = state_total = 0
    cache_by_layer = [0] * facts.layers
    state_by_layer = [0] * facts.layers
    sizes = []
    for group in groups:
        unified = settings.unified and not group.sequence_streams
        streams = 1 if unified else slots
        cells = per_stream
        if group.stride > 1:
            cells = _pad(max(-(-per_stream // group.stride), 1))
        elif group.window is not None and not settings.swa_full:
            cells = _pad(min(per_stream, group.window * (slots if unified else 1) + ubatch))
        v_width = group.v_width if settings.flash_attention else group.v_width_padded
        k_layer = row_bytes(settings.type_k, group.k_width) * cells * streams
        v_layer = row_bytes(settings.type_v, v_width) * cells * streams
        for layer in group.layers:
            cache_by_layer[layer] += k_layer + v_layer
        k_bytes = k_layer * len(group.layers)
        v_bytes = v_layer * len(group.layers)
        k_total += k_bytes
        v_total += v_bytes
        sizes.append(GroupSize(group.name, cells, streams, k_bytes, v_bytes))
    for state in facts.states if with_states else ():
        copies = slots * (1 + settings.drafted if state.rollback else 1)
        state_layer = state.bytes_per_layer * copies
        for layer in state.layers:
            state_by_layer[layer] += state_layer
        state_total += state_layer * len(state.layers)
    return CacheSize(
        context=context,
        k_bytes=k_total,
        v_bytes=v_total,
        state_bytes=state_total,
        groups=tuple(sizes),
        cache_by_layer=tuple(cache_by_layer),
        state_by_layer=tuple(state_by_layer),
    )


def _pad(tokens: int) -> int:
    return -(-tokens // PADDING) * PADDING
