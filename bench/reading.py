"""Reading a large header: against gguf.GGUFReader, and against a plain loop with struct.

    python -m bench.reading

The header has the vocabulary of Qwen3.6 in size (248,320 tokens, 247,587 merges) and the tensor
table of Qwen3.6-35B-A3B (753 tensors). Each reader runs in a process of its own, on a file that is
in the page cache; "ours" includes the tensor table and the facts of the model.
"""

from __future__ import annotations

import json
import mmap
import random
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple, TypeAlias

from tests.support.gguf_files import (
    F32,
    I32,
    STRING,
    Plain,
    TensorSpec,
    array,
    f32,
    u32,
    write,
)

TOKENS, MERGES, TENSORS = 248_320, 247_587, 753
BAR_READER, BAR_LOOP, BAR_MEMORY = 100, 1.3, 60  # times, times, MB
_ROUNDS = 15


def make(path: Path) -> Path:
    """Write the file: full length, its data a hole."""
    chance = random.Random(35)
    letters = "etaoinshrdlucmfw" * 4 + "ypvbgkqjxz0123456789_(.)Ġé中"
    pool = "".join(chance.choices(letters, k=1 << 16))

    def word() -> str:
        size = min(60, max(1, round(chance.lognormvariate(1.75, 0.55))))
        start = chance.randrange(len(pool) - size)
        return pool[start : start + size]

    tokens = [word() for _ in range(TOKENS)]
    merges = [f"{word()[:6]} {word()[:5]}" for _ in range(MERGES)]
    metadata: dict[str, Plain] = {
        "general.architecture": "qwen35moe",
        "general.name": "Qwen3.6-35B-A3B (made by the benchmark)",
        "general.file_type": u32(15),
        "qwen35moe.block_count": u32(40),
        "qwen35moe.context_length": u32(262_144),
        "qwen35moe.embedding_length": u32(2048),
        "qwen35moe.attention.head_count": u32(16),
        "qwen35moe.attention.head_count_kv": u32(2),
        "qwen35moe.attention.key_length": u32(256),
        "qwen35moe.attention.value_length": u32(256),
        "qwen35moe.attention.layer_norm_rms_epsilon": f32(1e-6),
        "qwen35moe.full_attention_interval": u32(4),
        "qwen35moe.expert_count": u32(256),
        "qwen35moe.expert_used_count": u32(8),
        "qwen35moe.expert_feed_forward_length": u32(512),
        "qwen35moe.expert_shared_feed_forward_length": u32(512),
        "qwen35moe.ssm.conv_kernel": u32(4),
        "qwen35moe.ssm.state_size": u32(128),
        "qwen35moe.ssm.group_count": u32(16),
        "qwen35moe.ssm.time_step_rank": u32(32),
        "qwen35moe.ssm.inner_size": u32(4096),
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "qwen35",
        "tokenizer.ggml.tokens": array(STRING, tokens),
        "tokenizer.ggml.token_type": array(I32, [1] * TOKENS),
        "tokenizer.ggml.scores": array(F32, [0.0] * TOKENS),
        "tokenizer.ggml.merges": array(STRING, merges),
        "tokenizer.chat_template": "{{ messages }}" * 500,
    }
    return write(path, metadata, _tensors())


def _tensors() -> list[TensorSpec]:
    tensors = [
        TensorSpec("token_embd.weight", "Q4_K", (2048, TOKENS)),
        TensorSpec("output.weight", "Q6_K", (2048, TOKENS)),
        TensorSpec("output_norm.weight", "F32", (2048,)),
    ]
    shapes: list[tuple[str, str, tuple[int, ...]]] = [
        ("attn_norm", "F32", (2048,)),
        ("post_attention_norm", "F32", (2048,)),
        ("ffn_gate_inp", "F32", (2048, 256)),
        ("ffn_gate_exps", "Q4_K", (2048, 512, 256)),
        ("ffn_up_exps", "Q4_K", (2048, 512, 256)),
        ("ffn_down_exps", "Q6_K", (512, 2048, 256)),
        ("ffn_gate_inp_shexp", "F32", (2048,)),
        ("ffn_gate_shexp", "Q8_0", (2048, 512)),
        ("ffn_up_shexp", "Q8_0", (2048, 512)),
        ("ffn_down_shexp", "Q8_0", (512, 2048)),
    ]
    attention: list[tuple[str, str, tuple[int, ...]]] = [
        ("attn_q", "Q4_K", (2048, 8192)),
        ("attn_k", "Q4_K", (2048, 512)),
        ("attn_v", "Q6_K", (2048, 512)),
        ("attn_output", "Q4_K", (4096, 2048)),
        ("attn_q_norm", "F32", (256,)),
        ("attn_k_norm", "F32", (256,)),
    ]
    recurrent: list[tuple[str, str, tuple[int, ...]]] = [
        ("attn_qkv", "Q4_K", (2048, 8192)),
        ("attn_gate", "Q4_K", (2048, 4096)),
        ("ssm_beta", "Q8_0", (2048, 32)),
        ("ssm_alpha", "Q8_0", (2048, 32)),
        ("ssm_conv1d", "F32", (4, 8192)),
        ("ssm_dt", "F32", (32,)),
        ("ssm_a", "F32", (32,)),
        ("ssm_norm", "F32", (128,)),
        ("ssm_out", "Q4_K", (4096, 2048)),
    ]
    for layer in range(40):
        own = attention if layer % 4 == 3 else recurrent
        for name, kind, shape in shapes + own:
            tensors.append(TensorSpec(f"blk.{layer}.{name}.weight", kind, shape))
    # The rest of the multi-token-prediction block is left out; its norms fill up the count.
    while len(tensors) < TENSORS:
        tensors.append(TensorSpec(f"blk.40.nextn.{len(tensors)}.weight", "F32", (2048,)))
    return tensors


_SIZES = {0: 1, 1: 1, 2: 2, 3: 2, 4: 4, 5: 4, 6: 4, 7: 1, 10: 8, 11: 8, 12: 8}


PlainTensor: TypeAlias = tuple[str, tuple[int, ...], int, int]  # name, shape, type id, offset


def plain_loop(path: Path) -> tuple[int, int]:
    """How many keys and tensors there are, by `walked`."""
    keys, tensors = walked(path)
    return len(keys), len(tensors)


def walked(path: Path) -> tuple[dict[str, int], list[PlainTensor]]:
    """The least that a reader can do: walk every key, step over strings, decode every tensor."""
    u32_at, u64_at = struct.Struct("<I").unpack_from, struct.Struct("<Q").unpack_from
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        tensor_count, key_count = struct.unpack_from("<QQ", data, 8)
        at = 24
        keys = {}
        for _ in range(key_count):
            size = u64_at(data, at)[0]
            key = data[at + 8 : at + 8 + size].decode()
            at += 8 + size
            kind = u32_at(data, at)[0]
            at += 4
            keys[key] = at
            if kind == 8:
                at += 8 + u64_at(data, at)[0]
            elif kind == 9:
                element, count = u32_at(data, at)[0], u64_at(data, at + 4)[0]
                at += 12
                if element == 8:
                    for _ in range(count):
                        at += 8 + u64_at(data, at)[0]
                else:
                    at += count * _SIZES[element]
            else:
                at += _SIZES[kind]
        tensors: list[PlainTensor] = []
        for _ in range(tensor_count):
            size = u64_at(data, at)[0]
            name = data[at + 8 : at + 8 + size].decode()
            at += 8 + size
            dimensions = u32_at(data, at)[0]
            at += 4
            shape = struct.unpack_from(f"<{dimensions}Q", data, at)
            at += 8 * dimensions
            tensors.append((name, shape, u32_at(data, at)[0], u64_at(data, at + 4)[0]))
            at += 12
    return keys, tensors


def ours(path: Path) -> tuple[int, int]:
    """What the window does when a file is opened."""
    from core.gguf import open_file
    from core.model import model_from

    file = open_file(path)
    model_from(file)
    return len(file.header.metadata), len(file.tensors)


def gguf_reader(path: Path) -> tuple[int, int]:
    """The gguf package's own reader."""
    from gguf import GGUFReader

    reader = GGUFReader(path)
    # Three of its fields are the counts and the version of the file.
    return len(reader.fields) - 3, len(reader.tensors)


_READERS: dict[str, Callable[[Path], tuple[int, int]]] = {
    "ours": ours,
    "loop": plain_loop,
    "GGUFReader": gguf_reader,
}


def _peak_memory() -> int:
    """The most memory that this process has held, in bytes. Linux only."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("VmHWM is not in /proc/self/status")


class Figures(NamedTuple):
    """What one process found: seconds of every round, counts of keys and tensors, peak memory."""

    seconds: dict[str, list[float]]
    counts: dict[str, list[int]]
    memory: int


def _measure_here(names: list[str], path: Path, small: Path, rounds: int) -> Figures:
    """Readers by turns, so that a busy moment hits all of them."""
    for name in names:  # imports and caches are not what is measured
        _READERS[name](small)
    before = _peak_memory()
    seconds: dict[str, list[float]] = {name: [] for name in names}
    counts: dict[str, list[int]] = {}
    for _ in range(rounds):
        for name in names:
            start = time.perf_counter()
            counts[name] = list(_READERS[name](path))
            seconds[name].append(time.perf_counter() - start)
    return Figures(seconds, counts, _peak_memory() - before)


def _measure(names: list[str], path: Path, small: Path, rounds: int) -> Figures:
    """The same in a process of its own."""
    arguments = [",".join(names), str(path), str(small), str(rounds)]
    command = [sys.executable, "-m", "bench.reading", *arguments]
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run(command, cwd=root, stdout=subprocess.PIPE, text=True, check=True)
    return Figures(*json.loads(done.stdout))


def main() -> None:
    """Print the figures and their bars."""
    with tempfile.TemporaryDirectory() as folder:
        path, small = Path(folder, "large.gguf"), Path(folder, "small.gguf")
        make(path)
        write(
            small,
            {"general.architecture": "llama", "llama.block_count": u32(1)},
            [TensorSpec("token_embd.weight", "F32", (32, 4))],
        )
        alone = _measure(["ours"], path, small, 1)
        both = _measure(["ours", "loop"], path, small, _ROUNDS)
        reader = _measure(["GGUFReader"], path, small, 1)
    ours, loop = min(both.seconds["ours"]), min(both.seconds["loop"])
    theirs = min(reader.seconds["GGUFReader"])
    for figures in (alone, both, reader):
        assert all(count[1] == TENSORS for count in figures.counts.values())
    print(f"{TOKENS:,} tokens, {MERGES:,} merges, {TENSORS} tensors; best of {_ROUNDS}, warm")
    _row("ours, with tensors and facts", ours, alone.memory)
    _row("plain loop with struct", loop, None)
    _row("gguf.GGUFReader, one round", theirs, reader.memory)
    _bar("times faster than GGUFReader", theirs / ours, BAR_READER, at_least=True)
    _bar("times the plain loop", ours / loop, BAR_LOOP)
    _bar("MB more memory", alone.memory / 1e6, BAR_MEMORY)


def _row(what: str, seconds: float, memory: int | None) -> None:
    more = "" if memory is None else f"{memory / 1e6:9.1f} MB more"
    print(f"{what:30}{1000 * seconds:9.1f} ms{more}")


def _bar(what: str, value: float, bar: float, *, at_least: bool = False) -> None:
    kept = value >= bar if at_least else value <= bar
    limit = "at least" if at_least else "at most"
    print(f"{value:8.2f} {what} (bar: {limit} {bar:g}) {'ok' if kept else 'MISSED'}")


if __name__ == "__main__":
    if sys.argv[1:]:
        wanted, large_file, small_file, times = sys.argv[1:]
        found = _measure_here(wanted.split(","), Path(large_file), Path(small_file), int(times))
        print(json.dumps(found))
    else:
        main()
