"""A llama model of about a megabyte with random weights, which a real engine loads and runs.

It has a small SentencePiece vocabulary with bytes and a chat template, so that an engine can take
any text and answer with tokens that mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import gguf
import numpy as np

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_TEMPLATE = (
    "{% for message in messages %}{{ message.role + ': ' + message.content + ' ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"
)
_NORMAL, _UNKNOWN, _CONTROL, _BYTE = 1, 2, 3, 6  # gguf.TokenType


def write_tiny_llama(
    path: Path,
    *,
    layers: int = 2,
    embedding: int = 64,
    context_length: int = 131_072,
    tokenizer: Callable[[gguf.GGUFWriter], int] | None = None,
) -> Path:
    """Write it: 4 heads of which 2 hold K and V, untied head, f32.

    ``tokenizer`` adds another vocabulary and answers how many tokens it has.
    """
    heads, kv_heads, feed_forward = 4, 2, 2 * embedding
    head = embedding // heads
    writer = gguf.GGUFWriter(str(path), "llama")
    writer.add_name("Tiny random llama")
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_context_length(context_length)
    writer.add_embedding_length(embedding)
    writer.add_block_count(layers)
    writer.add_feed_forward_length(feed_forward)
    writer.add_head_count(heads)
    writer.add_head_count_kv(kv_heads)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(head)
    count = (tokenizer or _add_tokenizer)(writer)
    writer.add_vocab_size(count)
    writer.add_chat_template(_TEMPLATE)
    random = np.random.default_rng(0)

    def matrix(name: str, rows: int, columns: int, silent: int = 0) -> None:
        values = random.standard_normal((rows, columns), dtype=np.float32)
        values[:silent] = 0
        writer.add_tensor(f"{name}.weight", values / np.float32(columns**0.5))

    def norm(name: str) -> None:
        writer.add_tensor(f"{name}.weight", np.ones(embedding, np.float32))

    matrix("token_embd", count, embedding)
    norm("output_norm")
    # The likeliest token is always one with a text of its own: neither a control token nor a byte,
    # of which half are parts of a character that a server keeps back.
    matrix("output", count, embedding, silent=0 if tokenizer else 3 + 256)
    for layer in range(layers):
        block = f"blk.{layer}"
        norm(f"{block}.attn_norm")
        norm(f"{block}.ffn_norm")
        matrix(f"{block}.attn_q", heads * head, embedding)
        matrix(f"{block}.attn_k", kv_heads * head, embedding)
        matrix(f"{block}.attn_v", kv_heads * head, embedding)
        matrix(f"{block}.attn_output", embedding, heads * head)
        matrix(f"{block}.ffn_gate", feed_forward, embedding)
        matrix(f"{block}.ffn_up", feed_forward, embedding)
        matrix(f"{block}.ffn_down", embedding, feed_forward)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def _add_tokenizer(writer: gguf.GGUFWriter) -> int:
    tokens, types = _vocabulary()
    writer.add_tokenizer_model("llama")
    writer.add_tokenizer_pre("default")
    writer.add_token_list(tokens)
    writer.add_token_types(types)
    writer.add_token_scores([-float(n) for n in range(len(tokens))])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    return len(tokens)


def _vocabulary() -> tuple[list[bytes], list[int]]:
    """Three control tokens, 256 bytes, the letters, and pairs of a consonant and a vowel."""
    words = ["▁", *_LETTERS, *(f"▁{a}{b}" for a in _LETTERS for b in "aeiou")]
    tokens = [b"<unk>", b"<s>", b"</s>"]
    tokens += [f"<0x{byte:02X}>".encode() for byte in range(256)]
    tokens += [word.encode() for word in words]
    types = [_UNKNOWN, _CONTROL, _CONTROL] + [_BYTE] * 256 + [_NORMAL] * len(words)
    return tokens, types
