"""A file of a few hundred kilobytes with what specimens lack: weights and a vocabulary."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

from tests.support.vocabularies import with_merges

WIDTH = 256


def write_small_model(path: Path) -> None:
    """A llama of one layer whose weights are random numbers in Q4_0, the same every time."""
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("Small 100K")
    writer.add_block_count(1)
    writer.add_context_length(2048)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(2 * WIDTH)
    writer.add_head_count(4)
    rows = with_merges("llama-bpe").add_to(writer)
    random = np.random.default_rng(7)
    kind = gguf.GGMLQuantizationType.Q4_0

    def add(name: str, rows: int, columns: int = WIDTH) -> None:
        values = random.normal(0, 0.02, (rows, columns)).astype(np.float32)
        writer.add_tensor(f"{name}.weight", gguf.quants.quantize(values, kind), raw_dtype=kind)

    add("token_embd", rows)
    for name in ("attn_q", "attn_k", "attn_v", "attn_output"):
        add(f"blk.0.{name}", WIDTH)
    for name in ("ffn_gate", "ffn_up"):
        add(f"blk.0.{name}", 2 * WIDTH)
    add("blk.0.ffn_down", WIDTH, 2 * WIDTH)
    for name in ("blk.0.attn_norm", "blk.0.ffn_norm", "output_norm"):
        writer.add_tensor(f"{name}.weight", np.ones(WIDTH, np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
