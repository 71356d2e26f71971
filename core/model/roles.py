"""What a tensor is for, told from its name. The names are those of llama.cpp (llama-arch.cpp)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from core.gguf.header import Tensor
from core.model.model import Role

# What the tensors of one layer tell about the kind of its cache. Plain numbers: they are combined
# for every tensor of the file.
KEYS = 1  # a projection to keys of its own, or to a latent row
FUSED = 2  # query, key and value in one matrix: attention, or linear attention
STATE = 4  # a recurrence
INDEXER = 8  # keys for a sparse attention's choice
GATE = 16  # a gate on the attention output, as linear attention has
LATENT = 32  # one latent row for keys and values


@dataclass(frozen=True, slots=True)
class Survey:
    """One pass over the tensor table. ``roles`` and ``layers`` are parallel to it; ``marks`` has
    the layers that have tensors, ``decoder`` and ``head`` tell whether such tensors exist."""

    roles: tuple[Role, ...]
    layers: tuple[int | None, ...]
    marks: dict[int, int]
    decoder: bool
    head: bool


def survey(tensors: Sequence[Tensor]) -> Survey:
    """Role and layer of every tensor, and what each layer is made of."""
    roles: list[Role] = []
    layers: list[int | None] = []
    marks: dict[int, int] = {}
    numbers: dict[str, int | None] = {}
    decoder = head = False
    for tensor in tensors:
        name = tensor.name
        word, _, rest = name.partition(".")
        if word in ("enc", "dec") and rest.startswith("blk."):
            decoder = decoder or word == "dec"
            word, rest = "blk", rest[4:]
        layer = None
        if word == "blk":
            number, _, stem = rest.partition(".")
            layer = numbers[number] if number in numbers else _number(number, numbers)
        layers.append(layer)
        if layer is None:
            roles.append(_global_role(name))
            head = head or name == "output.weight"
            continue
        role, mark = _layer_role(stem)
        roles.append(role)
        if mark:
            marks[layer] = marks.get(layer, 0) | mark
        elif layer not in marks:
            marks[layer] = 0
    return Survey(tuple(roles), tuple(layers), marks, decoder, head)


def _number(text: str, numbers: dict[str, int | None]) -> int | None:
    """The layer that a name counts, remembered; blocks of an encoder count from 0 as well."""
    plain = text.isascii() and text.isdigit() and len(text) < 7
    numbers[text] = int(text) if plain else None
    return numbers[text]


@lru_cache(maxsize=4096)
def _layer_role(stem: str) -> tuple[Role, int]:
    word = stem.partition(".")[0]
    if word == "nextn":
        return Role.DRAFT, 0
    if word.startswith("vis_"):  # a second set of weights, for picture tokens alone (CogVLM)
        return Role.VISION, 0
    mark = _mark(stem, word)
    if "norm" in stem:
        return Role.NORMS, mark
    if word.endswith(("_exps", "_chexps")) or _is_single_expert(stem):
        return Role.EXPERTS, mark
    if word.endswith("_shexp"):
        return Role.SHARED_EXPERTS, mark
    if word in ("ffn_gate_inp", "exp_probs_b", "exp_probs_b_vl", "ffn_gate_tid2eid"):
        return Role.ROUTER, mark
    if word.startswith(("ssm_", "time_mix_", "shortconv")):
        return Role.RECURRENT, mark
    if word.startswith(("attn_", "cross_attn_", "indexer", "hc_attn")):
        return Role.ATTENTION, mark
    if word.startswith(("ffn", "channel_mix_", "hc_ffn")):
        return Role.FEED_FORWARD, mark
    return Role.OTHER, mark


def _mark(stem: str, word: str) -> int:
    if word.startswith(("ssm_", "time_mix_", "shortconv")):
        return STATE
    if word in ("indexer", "indexer_compressor_kv"):
        return INDEXER
    if not stem.endswith(".weight"):
        return 0
    if word in ("attn_kv_a_mqa", "attn_kv"):
        return KEYS | LATENT
    if word == "attn_k":
        return KEYS
    if word == "attn_qkv":
        return FUSED
    return GATE if word == "attn_gate" else 0


def _is_single_expert(stem: str) -> bool:
    """Files from before 2024-04 have one tensor per expert: ffn_gate.5.weight."""
    return stem.startswith("ffn_") and stem.partition(".")[2].partition(".")[0].isdigit()


@lru_cache(maxsize=4096)
def _global_role(name: str) -> Role:
    word = name.partition(".")[0]
    if name.startswith(("v.", "a.", "mm.", "vision", "audio", "resampler.")):
        return Role.VISION
    if word in ("nextn", "mtp"):
        return Role.DRAFT
    if word == "per_layer_token_embd":
        return Role.LAYER_EMBEDDING
    if "norm" in name:
        return Role.NORMS
    if word in ("token_embd", "position_embd", "token_types"):
        return Role.EMBEDDING
    return Role.HEAD if word == "output" else Role.OTHER
