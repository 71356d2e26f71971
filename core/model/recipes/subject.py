"""What a llama-quantize recipe looks at in a model, read once from its header.

The facts are those of llama.cpp's ``src/llama-quant.cpp`` (build 11434): which tensors are never
quantized, the order in which tensors are visited, and what each tensor counts as.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum, auto

from core.gguf.header import Array, Tensor, Value


class Group(IntEnum):
    """What a tensor counts as. The first pattern found in its name decides."""

    OUTPUT = auto()
    EMBEDDING = auto()
    QKV = auto()
    KV_B = auto()
    VALUE = auto()
    KEY = auto()
    QUERY = auto()
    ATTENTION_OUTPUT = auto()
    UP = auto()
    GATE = auto()
    DOWN = auto()
    GUARDED = auto()
    OTHER = auto()


# These three share one rule and one counter.
VALUE_LIKE = frozenset({Group.QKV, Group.KV_B, Group.VALUE})

_WHOLE_NAMES = {
    "output.weight": Group.OUTPUT,
    "token_embd.weight": Group.EMBEDDING,
    "per_layer_token_embd.weight": Group.EMBEDDING,
}
_PATTERNS = (
    ("attn_qkv.weight", Group.QKV),
    ("attn_kv_b.weight", Group.KV_B),
    ("attn_v.weight", Group.VALUE),
    ("attn_k.weight", Group.KEY),
    ("attn_q.weight", Group.QUERY),
    ("attn_output.weight", Group.ATTENTION_OUTPUT),
    ("ffn_up", Group.UP),
    ("ffn_gate", Group.GATE),
    ("ffn_down", Group.DOWN),
)

# A name with one of these in it keeps its type in every recipe: norms, routers, and matrices that
# are small or looked up by position.
_NEVER_QUANTIZED = re.compile(
    "|".join(
        (
            r"_norm\.weight",
            r"ffn_gate_inp\.weight",
            r"ffn_gate_tid2eid\.weight",
            r"altup",
            r"laurel",
            r"per_layer_model_proj",
            r"^position_embd\.weight$",
            r"^token_types\.weight$",
            r"ssm_conv1d",
            r"shortconv\.conv\.weight",
            r"indexer\.[kq]_proj\.weight",
            r"time_mix_(?:first|decay_w[12]|lerp_fused|w[012]|v[012]|a[012]|g[12])\.weight",
            r"attn_rel_b\.weight",
            r"\.position_embd",
            r"sam\.pos_embd",
            r"sam\.neck\.",
            r"sam\.net_",
            r"\.rel_pos",
            r"\.patch_embd",
            r"\.patch_merger",
            r"a\.rvq\.codebook",
            r"mm\.a\.code_embd",
        )
    )
)

# One family has more of them, and some that never get less than eight bits.
_GLM5_NEXT = "glm5-next"
_NEVER_QUANTIZED_IN_GLM5_NEXT = re.compile(
    r"hc_|indexer\.(?:attn_q_b|attn_k|proj)|indexer_compressor_(?:gate|ape)"
    r"|ssm_[fg]_[ab]\.weight|ssm_beta\.weight|attn_kv_a_mqa\.weight|attn_[kv]_b\.weight"
)
_GUARDED_IN_GLM5_NEXT = re.compile(r"attn_q_[ab]|nextn\.eh_proj")

# Of those, the ones that llama.cpp's converter writes in 16 bits; it writes the others as F32.
_KEPT_IN_16_BIT = re.compile(
    r"altup_proj|altup_unembd_proj|altup_router|laurel|per_layer_model_proj|attn_rel_b"
    r"|indexer\.[kq]_proj|time_mix_[avg]"
)
_FLOATS = frozenset({"F32", "F16", "BF16"})
# llama-quantize has no way from these to a float.
_NOT_CONVERTIBLE = frozenset({"I8", "I16", "I32", "I64", "F64"})

# Nine digits are more layers than any model has, and stay within what a name can be asked for.
_BLOCK = re.compile(r"blk\.([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Row:
    """A tensor that recipes may quantize. ``index`` is its place in the file's tensor table,
    ``layer`` is -1 where the name has none, ``stacked`` marks three-dimensional ones (experts)."""

    index: int
    name: str
    group: Group
    layer: int
    length: int
    stacked: bool


@dataclass(frozen=True, slots=True)
class Subject:
    """All that recipes ask about a model.

    ``blocks`` counts draft blocks too. ``grouping`` is query heads per KV head in layer 0, rounded
    down; 0 where that layer has no attention, None where there is no layer (a projector).
    ``large`` marks the models that llama.cpp itself classes as 70B. ``values`` counts the tensors
    of ``VALUE_LIKE``. ``kept`` has an entry per tensor of the file: the type it keeps in every
    recipe, or None where ``rows`` has it.
    """

    architecture: str
    blocks: int
    grouping: int | None
    experts: int
    large: bool
    tied: bool
    values: int
    kept: tuple[str | None, ...]
    rows: tuple[Row, ...]
    not_convertible: str | None


def subject_from(metadata: Mapping[str, Value], tensors: Sequence[Tensor]) -> Subject:
    """Read what recipes ask from a header. Absent keys count as llama.cpp's defaults, 0."""
    name = metadata.get("general.architecture")
    architecture = name if isinstance(name, str) else ""
    blocks = _first(metadata.get(f"{architecture}.block_count"))
    if architecture == "nanbeige":  # runs its blocks several times and counts every pass
        blocks *= _first(metadata.get(f"{architecture}.num_loops"), 1)
    elif architecture == "graniteswitch":  # its router counts as one more
        blocks += 1
    heads = _first(metadata.get(f"{architecture}.attention.head_count"))
    kv_heads = _first(metadata.get(f"{architecture}.attention.head_count_kv"), heads)
    experts = _first(metadata.get(f"{architecture}.expert_count"))

    groups = [group_of(tensor.name, architecture) for tensor in tensors]
    allowed = [quantizable(tensor.name, tensor.shape, architecture) for tensor in tensors]
    rows = [
        Row(
            index=index,
            name=tensor.name,
            group=groups[index],
            layer=layer_of(tensor.name),
            length=tensor.shape[0],
            stacked=len(tensor.shape) > 2 and tensor.shape[2] > 1,
        )
        for index, tensor in enumerate(tensors)
        if allowed[index]
    ]
    # llama-quantize visits layer by layer, and by name within one. Its strings compare by bytes.
    rows.sort(key=lambda row: (row.layer, row.name.encode("utf-8", "surrogateescape")))
    return Subject(
        architecture=architecture,
        blocks=blocks,
        grouping=(heads // kv_heads if kv_heads else 0) if blocks else None,
        experts=experts,
        large=_classed_as_70b(architecture, blocks, heads, kv_heads, experts),
        tied=Group.OUTPUT not in groups,
        values=sum(group in VALUE_LIKE for group in groups),
        kept=tuple(
            None if may else _kept_type(tensor)
            for tensor, may in zip(tensors, allowed, strict=True)
        ),
        rows=tuple(rows),
        not_convertible=next(
            (
                tensor.name
                for tensor, may in zip(tensors, allowed, strict=True)
                if may and tensor.type_name in _NOT_CONVERTIBLE
            ),
            None,
        ),
    )


def group_of(name: str, architecture: str = "") -> Group:
    """What a tensor of this name counts as."""
    if architecture == _GLM5_NEXT and _GUARDED_IN_GLM5_NEXT.search(name):
        return Group.GUARDED
    whole = _WHOLE_NAMES.get(name)
    if whole is not None:
        return whole
    return next((group for pattern, group in _PATTERNS if pattern in name), Group.OTHER)


def layer_of(name: str) -> int:
    """The N of a leading "blk.N", or -1."""
    match = _BLOCK.match(name)
    return int(match[1]) if match else -1


def quantizable(name: str, shape: tuple[int, ...], architecture: str = "") -> bool:
    """Whether recipes may change this tensor: a weight of two dimensions or more, mostly."""
    if not name.endswith("weight") or not any(length > 1 for length in shape[1:]):
        return False
    if architecture == _GLM5_NEXT and _NEVER_QUANTIZED_IN_GLM5_NEXT.search(name):
        return False
    return not _NEVER_QUANTIZED.search(name)


def _kept_type(tensor: Tensor) -> str:
    """The type a tensor that is never quantized has in a 16-bit file.

    Some other tool may have quantized it all the same; then the converter's rule says what it was.
    """
    if tensor.type_name in _FLOATS or tensor.type_name in _NOT_CONVERTIBLE:
        return tensor.type_name
    return "BF16" if _KEPT_IN_16_BIT.search(tensor.name) else "F32"


def _classed_as_70b(
    architecture: str, blocks: int, heads: int, kv_heads: int, experts: int
) -> bool:
    """llama.cpp gives these the type 70B, by their family and number of blocks (``src/models``)."""
    if architecture in ("llama", "llama-embed"):
        return blocks == 80 and experts != 8 and heads != kv_heads
    return (architecture, blocks) in (("deci", 80), ("olmo", 80), ("qwen2", 80), ("jais2", 68))


def _first(value: Value | None, default: int = 0) -> int:
    """A count that may be given per layer: that of layer 0."""
    if isinstance(value, Array):
        value = value.items[0] if value.items else None
    if isinstance(value, bool) or not isinstance(value, int):
        return default
    return value
