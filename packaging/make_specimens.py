"""Write resources/specimens: the headers of well-known models, without their weights.

    PYTHONPATH=. python packaging/make_specimens.py [FOLDER]

Dimensions and their sources are in specimens.json beside this file; names and shapes of tensors are
those that llama.cpp asks for (``src/models``), types those of its quantizer. A specimen is byte for
byte what llama.cpp would write in front of the weights, except that it has no list of tokens
(``tokenizer.ggml.model`` is "none") and says what it is (``weighbridge.specimen``). The output
depends on nothing but the two files, so that a test can write it again and compare.
"""

from __future__ import annotations

import json
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TypeAlias

from core.gguf.checks import SPECIMEN_KEY
from core.gguf.header import Array, Tensor, Value, ValueType
from core.gguf.types import BY_NAME
from core.model.recipes.rules import choose_types
from core.model.recipes.subject import subject_from

ROOT = Path(__file__).resolve().parent.parent
DESCRIPTION = Path(__file__).with_name("specimens.json")
ALIGNMENT = 32
# general.file_type, by llama.cpp's numbering (include/llama.h).
FILE_TYPES = {"Q4_K_M": 15, "MXFP4_MOE": 38}

Plain: TypeAlias = bool | int | float | str | list[int]
Shapes: TypeAlias = Iterator[tuple[str, tuple[int, ...]]]


@dataclass(frozen=True)
class Specimen:
    """One entry of specimens.json. ``keys`` lack the architecture's name in front."""

    file: str
    name: str
    recipe: str
    source: str
    parameters: int
    published: str
    architecture: str
    keys: Mapping[str, Plain]
    tied: bool = False
    rope_factors: bool = False

    def number(self, key: str) -> int:
        """A dimension; KeyError where it is missing, which is a mistake in specimens.json."""
        value = self.keys[key]
        assert isinstance(value, int), (self.file, key)
        return value


# Shapes, in GGUF order: the row length first.


def _ends(s: Specimen) -> Shapes:
    embedding, vocabulary = s.number("embedding_length"), s.number("vocab_size")
    yield "token_embd.weight", (embedding, vocabulary)
    if s.architecture == "lfm2":
        yield "token_embd_norm.weight", (embedding,)
    else:
        yield "output_norm.weight", (embedding,)
    if not s.tied:
        yield "output.weight", (embedding, vocabulary)


def _attention(s: Specimen, *, gated: bool = False, head: int | None = None) -> Shapes:
    """Separate query, key and value matrices; ``gated`` doubles the query for an output gate."""
    embedding, heads = s.number("embedding_length"), s.number("attention.head_count")
    head = head or s.number("attention.key_length")
    kv = s.keys["attention.head_count_kv"]
    kv_heads = max(kv) if isinstance(kv, list) else int(kv)
    yield "attn_q.weight", (embedding, heads * head * (2 if gated else 1))
    yield "attn_k.weight", (embedding, kv_heads * head)
    yield "attn_v.weight", (embedding, kv_heads * head)
    yield "attn_output.weight", (heads * head, embedding)


def _head_norms(head: int) -> Shapes:
    yield "attn_q_norm.weight", (head,)
    yield "attn_k_norm.weight", (head,)


def _feed_forward(embedding: int, width: int, suffix: str = "", experts: int = 0) -> Shapes:
    stack = (experts,) if experts else ()
    yield f"ffn_gate{suffix}.weight", (embedding, width, *stack)
    yield f"ffn_down{suffix}.weight", (width, embedding, *stack)
    yield f"ffn_up{suffix}.weight", (embedding, width, *stack)


def _experts(s: Specimen) -> Shapes:
    embedding, experts = s.number("embedding_length"), s.number("expert_count")
    width = s.keys.get("expert_feed_forward_length", s.keys.get("feed_forward_length"))
    assert isinstance(width, int)
    yield "ffn_gate_inp.weight", (embedding, experts)
    yield from _feed_forward(embedding, width, "_exps", experts)


def _norm(name: str, s: Specimen) -> tuple[str, tuple[int, ...]]:
    return f"{name}.weight", (s.number("embedding_length"),)


def _llama(s: Specimen, layer: int) -> Shapes:
    head = s.number("rope.dimension_count")
    yield _norm("attn_norm", s)
    yield from _attention(s, head=head)
    yield _norm("ffn_norm", s)
    if "expert_count" in s.keys:
        yield from _experts(s)
    else:
        yield from _feed_forward(s.number("embedding_length"), s.number("feed_forward_length"))


def _qwen3(s: Specimen, layer: int) -> Shapes:
    yield _norm("attn_norm", s)
    yield from _attention(s)
    yield from _head_norms(s.number("attention.key_length"))
    yield _norm("ffn_norm", s)
    if "expert_count" in s.keys:
        yield from _experts(s)
    else:
        yield from _feed_forward(s.number("embedding_length"), s.number("feed_forward_length"))


def _qwen35(s: Specimen, layer: int) -> Shapes:
    """Three gated delta nets to one full attention; the draft block is a full attention too."""
    embedding = s.number("embedding_length")
    draft = layer >= s.number("block_count") - s.number("nextn_predict_layers")
    yield _norm("attn_norm", s)
    yield _norm("post_attention_norm", s)
    if draft or (layer + 1) % s.number("full_attention_interval") == 0:
        yield from _attention(s, gated=True)
        yield from _head_norms(s.number("attention.key_length"))
    else:
        inner, state = s.number("ssm.inner_size"), s.number("ssm.state_size")
        heads = s.number("ssm.time_step_rank")
        channels = inner + 2 * s.number("ssm.group_count") * state
        yield "attn_qkv.weight", (embedding, channels)
        yield "attn_gate.weight", (embedding, inner)
        yield "ssm_conv1d.weight", (s.number("ssm.conv_kernel"), channels)
        yield "ssm_dt.bias", (heads,)
        yield "ssm_a", (heads,)
        yield "ssm_beta.weight", (embedding, heads)
        yield "ssm_alpha.weight", (embedding, heads)
        yield "ssm_norm.weight", (state,)
        yield "ssm_out.weight", (inner, embedding)
    if "expert_count" in s.keys:
        yield from _experts(s)
        yield _norm("ffn_gate_inp_shexp", s)
        yield from _feed_forward(
            embedding, s.number("expert_shared_feed_forward_length"), suffix="_shexp"
        )
    else:
        yield from _feed_forward(embedding, s.number("feed_forward_length"))
    if draft:
        yield "nextn.eh_proj.weight", (2 * embedding, embedding)
        yield _norm("nextn.enorm", s)
        yield _norm("nextn.hnorm", s)
        yield _norm("nextn.shared_head_norm", s)


def _gemma3(s: Specimen, layer: int) -> Shapes:
    yield _norm("attn_norm", s)
    yield from _attention(s)
    yield _norm("post_attention_norm", s)
    yield from _head_norms(s.number("attention.key_length"))
    yield _norm("ffn_norm", s)
    yield from _feed_forward(s.number("embedding_length"), s.number("feed_forward_length"))
    yield _norm("post_ffw_norm", s)


def _gpt_oss(s: Specimen, layer: int) -> Shapes:
    """Every matrix has a bias, and every head a sink."""
    yield _norm("attn_norm", s)
    yield _norm("post_attention_norm", s)
    for part in (_attention(s), _experts(s)):
        for name, shape in part:
            yield name, shape
            yield name.replace(".weight", ".bias"), shape[1:]
    yield "attn_sinks.weight", (s.number("attention.head_count"),)


def _deepseek2(s: Specimen, layer: int) -> Shapes:
    """Latent attention, with the second projection absorbed into one matrix per head."""
    embedding, heads = s.number("embedding_length"), s.number("attention.head_count")
    query, latent = s.number("attention.q_lora_rank"), s.number("attention.kv_lora_rank")
    rope, value = s.number("rope.dimension_count"), s.number("attention.value_length_mla")
    key = s.number("attention.key_length_mla")
    yield _norm("attn_norm", s)
    yield "attn_q_a_norm.weight", (query,)
    yield "attn_kv_a_norm.weight", (latent,)
    yield "attn_q_a.weight", (embedding, query)
    yield "attn_q_b.weight", (query, heads * key)
    yield "attn_kv_a_mqa.weight", (embedding, latent + rope)
    yield "attn_k_b.weight", (key - rope, latent, heads)
    yield "attn_v_b.weight", (latent, value, heads)
    yield "attn_output.weight", (heads * value, embedding)
    yield _norm("ffn_norm", s)
    if layer < s.number("leading_dense_block_count"):
        yield from _feed_forward(embedding, s.number("feed_forward_length"))
        return
    yield from _experts(s)
    yield "exp_probs_b.bias", (s.number("expert_count"),)
    shared = s.number("expert_shared_count") * s.number("expert_feed_forward_length")
    yield from _feed_forward(embedding, shared, suffix="_shexp")


def _lfm2(s: Specimen, layer: int) -> Shapes:
    """Short convolutions, and attention in the layers that have KV heads."""
    embedding = s.number("embedding_length")
    kv_heads = s.keys["attention.head_count_kv"]
    assert isinstance(kv_heads, list)
    yield _norm("attn_norm", s)
    if kv_heads[layer]:
        head = embedding // s.number("attention.head_count")
        yield from _attention(s, head=head)
        yield from _head_norms(head)
    else:
        yield "shortconv.conv.weight", (s.number("shortconv.l_cache"), embedding)
        yield "shortconv.in_proj.weight", (embedding, 3 * embedding)
        yield "shortconv.out_proj.weight", (embedding, embedding)
    yield _norm("ffn_norm", s)
    yield from _feed_forward(embedding, s.number("feed_forward_length"))


BLOCKS: Mapping[str, Callable[[Specimen, int], Shapes]] = {
    "llama": _llama,
    "qwen3": _qwen3,
    "qwen3moe": _qwen3,
    "qwen35": _qwen35,
    "qwen35moe": _qwen35,
    "gemma3": _gemma3,
    "gpt-oss": _gpt_oss,
    "deepseek2": _deepseek2,
    "lfm2": _lfm2,
}


def shapes(specimen: Specimen) -> list[tuple[str, tuple[int, ...]]]:
    """Name and shape of every tensor, in the order of the file."""
    rows = list(_ends(specimen))
    if specimen.rope_factors:
        rows.append(("rope_freqs.weight", (specimen.number("rope.dimension_count") // 2,)))
    for layer in range(specimen.number("block_count")):
        block = BLOCKS[specimen.architecture](specimen, layer)
        rows += [(f"blk.{layer}.{name}", shape) for name, shape in block]
    return rows


# Bytes


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def _entry(key: str, value: Plain) -> bytes:
    if isinstance(value, bool):
        return _string(key) + struct.pack("<I?", ValueType.BOOL, value)
    if isinstance(value, int):
        return _string(key) + struct.pack("<II", ValueType.UINT32, value)
    if isinstance(value, float):
        return _string(key) + struct.pack("<If", ValueType.FLOAT32, value)
    if isinstance(value, str):
        return _string(key) + struct.pack("<I", ValueType.STRING) + _string(value)
    head = struct.pack("<IIQ", ValueType.ARRAY, ValueType.INT32, len(value))
    return _string(key) + head + struct.pack(f"<{len(value)}i", *value)


def metadata(specimen: Specimen) -> dict[str, Plain]:
    """Every key of the file, in its order."""
    prefix = specimen.architecture
    return {
        "general.architecture": prefix,
        "general.name": specimen.name,
        "general.file_type": FILE_TYPES[specimen.recipe],
        "general.quantization_version": 2,
        SPECIMEN_KEY: specimen.source,
        **{f"{prefix}.{key}": value for key, value in specimen.keys.items()},
        "tokenizer.ggml.model": "none",
    }


def _as_read(value: Plain) -> Value:
    if isinstance(value, list):
        return Array(ValueType.INT32, len(value), 0, 0, tuple(value))
    return value


def _pad(position: int) -> int:
    return -(-position // ALIGNMENT) * ALIGNMENT


def header(specimen: Specimen) -> bytes:
    """The file: everything in front of the data section, padded."""
    keys = metadata(specimen)
    rows = shapes(specimen)
    parameters = sum(prod(shape) for _, shape in rows)
    if parameters != specimen.parameters:
        raise ValueError(f"{specimen.file}: {parameters} parameters, not {specimen.parameters}")
    tensors = [Tensor(name, shape, 0, "F32", 0, 0, prod(shape)) for name, shape in rows]
    subject = subject_from({key: _as_read(value) for key, value in keys.items()}, tensors)
    infos, offset = [], 0
    for (name, shape), type_name in zip(
        rows, choose_types(subject, specimen.recipe).types, strict=True
    ):
        kind = BY_NAME[type_name]
        dimensions = struct.pack(f"<I{len(shape)}Q", len(shape), *shape)
        infos.append(_string(name) + dimensions + struct.pack("<IQ", kind.id, offset))
        offset += _pad(kind.tensor_bytes(shape))
    head = b"GGUF" + struct.pack("<IQQ", 3, len(rows), len(keys))
    body = head + b"".join(_entry(key, value) for key, value in keys.items()) + b"".join(infos)
    return body + bytes(_pad(len(body)) - len(body))


# Files


def specimens() -> list[Specimen]:
    """Everything in specimens.json."""
    return [Specimen(**entry) for entry in json.loads(DESCRIPTION.read_text("utf-8"))]


def readme(made: list[Specimen]) -> str:
    """The table of resources/specimens/README.md."""
    lines = [
        "# Specimens",
        "",
        "GGUF headers of well-known models, without weights and without lists of tokens: enough to",
        "plan with before anything is downloaded. A real file adds its tokenizer (1-8 MB).",
        "Written by `packaging/make_specimens.py` from `packaging/specimens.json`; do not edit.",
        "",
        "| file | architecture | parameters | as published | dimensions from |",
        "|---|---|---|---|---|",
    ]
    lines += [
        f"| {s.file}.gguf | {s.architecture} | {s.parameters:,} | {s.published} | {s.source} |"
        for s in made
    ]
    return "\n".join(lines) + "\n"


def main(folder: Path) -> None:
    """Write every specimen and the table."""
    folder.mkdir(parents=True, exist_ok=True)
    made = specimens()
    for specimen in made:
        (folder / f"{specimen.file}.gguf").write_bytes(header(specimen))
    (folder / "README.md").write_text(readme(made), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "resources" / "specimens")
