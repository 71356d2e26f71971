"""Reports of files that were made to mislead: nothing moves, hides or floods the terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.gguf import open_file
from core.machine import custom
from core.model import model_from
from core.plan import resolve
from core.plan.choice import Choice
from core.plan.plan import Plan
from core.report import as_json, text
from tests.support.gguf_files import Plain, TensorSpec, array, f32, u32, write
from tests.support.memory import file_of

GIB = 2**30
EVIL = "\x1b[31m\x1b]0;title\x07\u202egpj.exe\u2066\nsecond line\r\x00\x9b\u200bend"
TENSORS = [
    TensorSpec("token_embd.weight", "F16", (64, 8)),
    *(TensorSpec(f"blk.0.attn_{part}.weight", "F16", (64, 64)) for part in "qkv"),
]


def keys(architecture: str = "llama") -> dict[str, Plain]:
    return {
        "general.architecture": architecture,
        f"{architecture}.block_count": u32(1),
        f"{architecture}.embedding_length": u32(64),
        f"{architecture}.attention.head_count": u32(1),
    }


def planned(path: Path) -> Plan:
    return resolve(model_from(open_file(path)), custom(24 * GIB, 936e9), Choice())


@pytest.mark.parametrize(
    ("metadata", "tensors", "file_name"),
    [
        ({**keys(), "general.name": EVIL}, TENSORS, "m.gguf"),
        (keys(EVIL.replace(".", "")), TENSORS, "m.gguf"),
        ({**keys(), EVIL: u32(1), f"llama.attention.{EVIL}": f32(1)}, TENSORS, "m.gguf"),
        ({**keys(), "general.file_type": EVIL, "llama.context_length": EVIL}, TENSORS, "m.gguf"),
        (keys(), [*TENSORS, TensorSpec(EVIL, "F16", (3, 5), offset=7)], "m.gguf"),
        (keys(), [*TENSORS, *(TensorSpec(EVIL, 999, (64,), stored=64) for _ in "12")], "m.gguf"),
        (keys(), [*TENSORS, TensorSpec(b"\xff\xed\xa0\x80", "F16", (64,))], "m.gguf"),
        (keys(), TENSORS, EVIL.replace("\x00", "").replace("/", "") + ".gguf"),
        ([*keys().items(), (EVIL, u32(1)), (EVIL, u32(1)), ("", u32(1))], TENSORS, "m.gguf"),
        ({**keys(), "split.count": u32(3), "split.no": u32(9)}, TENSORS, f"{EVIL[1:6]}.gguf"),
        ({**keys("new"), "new.attention.sliding_window": array(8, [EVIL])}, TENSORS, "m.gguf"),
        ({**keys("new"), f"new.ssm.{EVIL}": u32(5)}, TENSORS, "m.gguf"),
    ],
)
def test_no_name_in_a_file_reaches_the_terminal_as_it_is(
    tmp_path: Path, metadata: dict[str, Plain], tensors: list[TensorSpec], file_name: str
) -> None:
    plan = planned(write(tmp_path / file_name, metadata, tensors))
    said = text(plan)
    assert all(line.isprintable() for line in said.split("\n")), repr(said)
    assert not set(said) & set("\u202e\u2066\u200b")
    assert "second line\n" not in said
    json.dumps(as_json(plan), allow_nan=False)


def test_a_name_of_a_megabyte_takes_one_line(tmp_path: Path) -> None:
    long = "x" * (1 << 20)
    for metadata in ({**keys(), "general.name": long}, keys(long)):
        said = text(planned(write(tmp_path / "m.gguf", metadata, TENSORS)))
        assert len(said) < 10_000


def test_a_token_takes_less_once_the_windows_are_full() -> None:
    """Of six layers one is full: 2 x 1 head x 256 values x 2 bytes in each."""
    metadata = {
        "general.architecture": "gemma3",
        "gemma3.block_count": 6,
        "gemma3.embedding_length": 640,
        "gemma3.attention.head_count": 4,
        "gemma3.attention.head_count_kv": 1,
        "gemma3.attention.key_length": 256,
        "gemma3.attention.value_length": 256,
        "gemma3.attention.sliding_window": 512,
    }
    tensors = [
        ("token_embd.weight", (640, 1000), "F16"),
        ("blk.0.attn_k.weight", (640, 256), "F16"),
    ]
    model = model_from(file_of(metadata, tensors))
    machine = custom(24 * GIB, 936e9)
    said = text(resolve(model, machine, Choice(context=4096)))
    assert "one token takes 6.00 KiB in the cache, 1.00 KiB once the windows are full" in said
    said = text(resolve(model, machine, Choice(context=4096, swa_full=True)))
    assert "one token takes 6.00 KiB in the cache\n" in said
