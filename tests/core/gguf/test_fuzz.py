"""Mutated, spliced and truncated headers: no exception, bounded time, bounded memory."""

from __future__ import annotations

import os
import time
import tracemalloc
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.gguf import PageError, display, open_file, read_page
from core.gguf.header import Array, ModelFile, Value
from tests.support.gguf_files import (
    ARRAY,
    F32,
    F64,
    I16,
    STRING,
    U8,
    Encoder,
    Plain,
    TensorSpec,
    array,
    header_bytes,
    u16,
    u32,
)

METADATA: dict[str, Plain] = {
    "general.architecture": "llama",
    "general.alignment": u32(32),
    "llama.block_count": u32(2),
    "llama.attention.head_count_kv": array(I16, [8, 0]),
    "llama.rope.freq_base": 500000.0,
    "tokenizer.ggml.tokens": array(STRING, ["a", "", "▁the", "x" * 40] * 3),
    "tokenizer.ggml.scores": array(F32, [0.0, -1.0]),
    "split.count": u16(1),
    "nested": array(ARRAY, [array(U8, [1]), array(ARRAY, [array(STRING, ["deep"])])]),
    "tokenizer.chat_template": "{% for m in messages %}",
    "last": array(F64, []),
}
TENSORS = [
    TensorSpec("token_embd.weight", "Q4_K", (256, 4)),
    TensorSpec("blk.0.attn_q.weight", 40, (64, 2), stored=72),
    TensorSpec("blk.1.attn_q.weight", 144, (256, 2), stored=280),
    TensorSpec("blk.1.odd.weight", 4000, (7, 3, 2), stored=64),
    TensorSpec("output_norm.weight", "F32", (8,)),
]
BASES = [
    header_bytes(METADATA, TENSORS, version=version, byte_order=order) + bytes(data)
    for version, order, data in (
        (3, "little", 2048),
        (3, "big", 2048),
        (2, "little", 0),
        (1, "little", 300),
    )
]
# The numbers that break programs: nothing, everything, signs, and what wraps when multiplied.
NUMBERS = [0, 1, 2, 8, 9, 13, 36, 255, 4096, 65_536, 2**31 - 1, 2**31, 2**32 - 1, 2**32]
NUMBERS += [2**40, 2**42 + 1, 2**60, 2**61, 2**62, 2**63 - 1, 2**63, 2**64 - 32, 2**64 - 1]

Edit = tuple[str, int, bytes]
POSITIONS = st.integers(0, 1200)
EDITS: st.SearchStrategy[Edit] = st.one_of(
    st.tuples(st.just("write"), POSITIONS, st.binary(min_size=1, max_size=8)),
    st.tuples(
        st.just("write"),
        POSITIONS,
        st.builds(
            lambda number, order: number.to_bytes(8, order),
            st.sampled_from(NUMBERS),
            st.sampled_from(["little", "big"]),
        ),
    ),
    st.tuples(st.just("insert"), POSITIONS, st.binary(min_size=1, max_size=24)),
    st.tuples(st.just("delete"), POSITIONS, st.binary(min_size=1, max_size=40)),
    st.tuples(st.just("cut"), POSITIONS, st.just(b"")),
)


def mutate(data: bytes, edits: list[Edit]) -> bytes:
    for kind, position, payload in edits:
        at = min(position, len(data))
        if kind == "write":
            data = data[:at] + payload + data[at + len(payload) :]
        elif kind == "insert":
            data = data[:at] + payload + data[at:]
        elif kind == "delete":
            data = data[:at] + data[at + len(payload) :]
        else:
            data = data[:at]
    return data


def arrays(values: Iterator[Value] | tuple[Value, ...]) -> Iterator[Array]:
    for value in values:
        if isinstance(value, Array):
            yield value
            yield from arrays(value.items or ())


def examine(path: Path, most_seconds: float = 1.0) -> ModelFile:
    """Open it, look at everything there is, and hold the bounds."""
    start = time.process_time()
    file = open_file(path)
    assert time.process_time() - start < most_seconds
    for problem in file.problems:
        assert problem.message
        assert "\n" not in problem.message
        assert display(problem.message) == problem.message
        assert problem.offset is None or 0 <= problem.offset <= file.file_bytes
        assert problem.missing_bytes is None or problem.missing_bytes > 0
    for tensor in file.tensors:
        assert tensor.bytes >= 0
        assert tensor.parameters >= 0
    header = file.header
    assert set(header.metadata) == {entry.key for entry in header.entries}
    if header.data_offset is not None:
        assert header.data_offset % header.alignment == 0
    for value in arrays(tuple(entry.value for entry in header.entries)):
        assert value.end <= header.file_bytes
        try:
            page = read_page(header, value, 0, 50)
        except PageError as error:
            assert error.problem.message
        else:
            assert len(page) == min(value.count, 50)
    return file


@pytest.fixture(scope="module")
def scratch(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("fuzz") / "fuzz.gguf"


BOUNDED = settings(
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@settings(BOUNDED, max_examples=700)
@given(base=st.sampled_from(BASES), edits=st.lists(EDITS, min_size=1, max_size=4))
def test_a_mutated_header_gives_problems_and_never_an_exception(
    scratch: Path, base: bytes, edits: list[Edit]
) -> None:
    scratch.write_bytes(mutate(base, edits))
    examine(scratch)


@settings(BOUNDED, max_examples=150)
@given(data=st.binary(max_size=300), start=st.sampled_from([b"", b"GGUF", b"GGUF\x03\0\0\0"]))
def test_any_bytes_are_a_file_with_a_problem_or_a_model(
    scratch: Path, data: bytes, start: bytes
) -> None:
    scratch.write_bytes(start + data)
    examine(scratch)


@settings(BOUNDED, max_examples=100)
@given(base=st.sampled_from(BASES), edits=st.lists(EDITS, min_size=1, max_size=3))
def test_a_mutated_header_in_front_of_a_terabyte_of_nothing_is_read_as_fast(
    scratch: Path, base: bytes, edits: list[Edit]
) -> None:
    # Behind the header lie zeros without end: empty keys, empty arrays, tensors without names.
    scratch.write_bytes(mutate(base, edits))
    os.truncate(scratch, 1 << 40)
    examine(scratch)


@settings(BOUNDED, max_examples=150)
@given(
    key_count=st.sampled_from(NUMBERS),
    tensor_count=st.sampled_from(NUMBERS),
    element=st.integers(0, 13),
    claimed=st.sampled_from(NUMBERS),
    shape=st.lists(st.sampled_from(NUMBERS), max_size=9),
    type_id=st.sampled_from([0, 12, 36, 40, 42, 144, 217, 2**32 - 1]),
    offset=st.sampled_from(NUMBERS),
    hole=st.sampled_from([0, 64, 1 << 20, 1 << 40]),
)
def test_every_count_may_lie(
    scratch: Path,
    key_count: int,
    tensor_count: int,
    element: int,
    claimed: int,
    shape: list[int],
    type_id: int,
    offset: int,
    hole: int,
) -> None:
    encoder = Encoder()
    data = (
        b"GGUF"
        + encoder.pack("IQQ", 3, tensor_count, key_count)
        + encoder.string("k")
        + encoder.pack("IIQ", ARRAY, element, claimed)
        + b"\1\2\3"
        + encoder.tensor(TensorSpec("t", type_id, shape), offset)
    )
    scratch.write_bytes(data)
    os.truncate(scratch, len(data) + hole)
    examine(scratch)


def test_memory_stays_small_over_many_mutations(scratch: Path) -> None:
    # Files that differ in one number; tracing is too slow for the tests above.
    tracemalloc.start()
    try:
        for base in BASES:
            for position in range(8, 700, 13):
                number = NUMBERS[position % len(NUMBERS)]
                scratch.write_bytes(
                    mutate(base, [("write", position, number.to_bytes(8, "little"))])
                )
                tracemalloc.reset_peak()
                before = tracemalloc.get_traced_memory()[0]
                examine(scratch)
                assert tracemalloc.get_traced_memory()[1] - before < 5e6
    finally:
        tracemalloc.stop()
