"""Files that lie: no exception, no walk as long as a claim, no memory in proportion to one."""

from __future__ import annotations

import os
import struct
import time
import tracemalloc
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from core.gguf import Cancelled, open_file, read_header
from core.gguf.header import Array, Header
from core.problems import Problem
from tests.support.gguf_files import (
    ARRAY,
    F32,
    STRING,
    U8,
    Encoder,
    TensorSpec,
    Typed,
    array,
    header_bytes,
    u32,
    write,
)

HUGE = 1 << 60


@contextmanager
def within(seconds: float, memory: float) -> Iterator[None]:
    """Processor time and Python's own memory that the block may take."""
    tracemalloc.start()
    start = time.process_time()
    try:
        yield
        spent = time.process_time() - start
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert spent < seconds, f"{spent:.2f} s"
    assert peak < memory, f"{peak / 1e6:.1f} MB"


def faults(header: Header) -> list[Problem]:
    """Without the note that llama.cpp no longer reads version 1."""
    return [p for p in header.problems if p.code != "old-version"]


def only(header: Header) -> Problem:
    (problem,) = faults(header)
    return problem


def entry(key: bytes, kind: int, payload: bytes) -> bytes:
    return struct.pack("<Q", len(key)) + key + struct.pack("<I", kind) + payload


def head(tensors: int, keys: int, body: bytes = b"") -> bytes:
    return b"GGUF" + struct.pack("<IQQ", 3, tensors, keys) + body


@pytest.mark.parametrize(
    ("data", "code", "claim"),
    [
        (head(0, HUGE), "impossible-count", f"{HUGE:,} keys"),
        (head(HUGE, 0), "impossible-count", f"{HUGE:,} tensors"),
        (head(0, 1, struct.pack("<Q", 1 << 40)), "impossible-length", f"{1 << 40:,} bytes"),
        (
            head(0, 1, entry(b"k", STRING, struct.pack("<Q", 1 << 30) + b"x" * 100)),
            "truncated",
            f"{1 << 30:,} bytes",
        ),
        (
            head(0, 1, entry(b"k", ARRAY, struct.pack("<IQ", U8, 1 << 40))),
            "impossible-length",
            f"{1 << 40:,} elements",
        ),
        (
            head(0, 1, entry(b"k", ARRAY, struct.pack("<IQ", STRING, 1 << 32) + bytes(64))),
            "impossible-length",
            f"{1 << 32:,} elements",
        ),
        (
            head(0, 1, entry(b"k", ARRAY, struct.pack("<IQ", ARRAY, HUGE) + bytes(64))),
            "impossible-length",
            f"{HUGE:,} elements",
        ),
        (
            head(0, 1, entry(b"k", ARRAY, struct.pack("<IQ", F32, 2**64 - 1))),
            "impossible-length",
            f"{2**64 - 1:,} elements",
        ),
        (head(0, 1, entry(b"k", 13, bytes(8))), "unknown-value-type", "value type 13"),
        (
            head(0, 1, entry(b"k", ARRAY, struct.pack("<IQ", 99, 3) + bytes(64))),
            "unknown-value-type",
            "value type 99",
        ),
        (
            head(1, 0, struct.pack("<Q", 1) + b"t" + struct.pack("<I", 0xFFFF_FFFF) + bytes(64)),
            "impossible-dimensions",
            "4,294,967,295 dimensions",
        ),
        (
            head(1, 0, struct.pack("<Q", 1) + b"t" + struct.pack("<I", 1_000_000) + bytes(64)),
            "impossible-dimensions",
            "1,000,000 dimensions",
        ),
        (head(1, 0, struct.pack("<Q", 1 << 50)), "impossible-length", f"{1 << 50:,} bytes"),
    ],
)
def test_an_enormous_claim_in_a_tiny_file_is_refused_with_the_claim(
    tmp_path: Path, data: bytes, code: str, claim: str
) -> None:
    """P25, P26."""
    path = tmp_path / "a.gguf"
    path.write_bytes(data)
    with within(seconds=0.1, memory=2e6):
        header = read_header(path)
    problem = only(header)
    assert problem.code == code
    assert claim in problem.message
    assert problem.offset is not None
    assert problem.offset <= len(data)
    if code == "truncated":
        assert problem.missing_bytes == (1 << 30) - 100


@pytest.mark.parametrize(
    ("element", "count"),
    [(STRING, 1 << 33), (ARRAY, 1 << 33), (STRING, 4_000_000), (ARRAY, 60_000)],
)
def test_an_array_of_empty_elements_in_a_file_full_of_holes_ends_within_a_second(
    tmp_path: Path, element: int, count: int
) -> None:
    # Zeros are valid empty strings and valid empty arrays, and a hole costs no disk.
    path = tmp_path / "a.gguf"
    path.write_bytes(head(0, 2, entry(b"k", ARRAY, struct.pack("<IQ", element, count))))
    os.truncate(path, 1 << 37)
    start = time.process_time()
    header = read_header(path)
    assert time.process_time() - start < 1
    assert any(p.code in ("too-large", "empty-key", "truncated") for p in header.problems)


def test_an_array_of_long_strings_in_a_file_full_of_holes_ends_within_a_second(
    tmp_path: Path,
) -> None:
    path = tmp_path / "a.gguf"
    step = 1 << 20
    with path.open("wb") as file:
        file.write(head(0, 1, entry(b"k", ARRAY, struct.pack("<IQ", STRING, 2_000))))
        for _ in range(2_000):
            file.write(struct.pack("<Q", step - 8))
            file.seek(step - 8, os.SEEK_CUR)
        file.truncate()
    with within(seconds=1, memory=8e6):
        header = read_header(path)
    assert header.problems[0].code == "too-large"


def test_many_long_texts_do_not_add_up_in_memory(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    size = 4 << 20
    with path.open("wb") as file:
        file.write(head(0, 200))
        for i in range(200):
            file.write(entry(b"k%d" % i, STRING, struct.pack("<Q", size)))
            file.seek(size, os.SEEK_CUR)
        file.truncate()
    with within(seconds=1.5, memory=80e6):
        header = read_header(path)
    assert len(header.entries) == 200
    assert header.problems[-1].code == "long-text"


@pytest.mark.parametrize("depth", [2, 8, 9, 10_000])
def test_arrays_nested_too_deep_are_refused_without_recursion(tmp_path: Path, depth: int) -> None:
    nested = struct.pack("<IQ", ARRAY, 1) * (depth - 1) + struct.pack("<IQ", U8, 3) + b"abc"
    path = tmp_path / "a.gguf"
    path.write_bytes(head(0, 1, entry(b"k", ARRAY, nested)))
    header = read_header(path)
    if depth <= 8:
        assert header.problems == ()
    else:
        problem = only(header)
        assert problem.code == "nested-too-deep"
        assert problem.offset is not None


@pytest.mark.parametrize("cut", range(8))
def test_a_file_shorter_than_a_version_is_named_too_short(tmp_path: Path, cut: int) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(b"GGUF\x03\0\0\0"[:cut])
    header = read_header(path)
    assert header.version is None
    problem = only(header)
    assert problem.code == ("empty" if cut == 0 else "truncated")
    if cut:
        assert problem.missing_bytes == 24 - cut


def test_a_file_of_three_other_bytes_is_too_short(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(b"abc")
    assert only(read_header(path)).code == "too-short"


def test_a_file_that_ends_in_its_counts_opens_and_says_so(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    path.write_bytes(head(1, 1)[:23])
    header = read_header(path)
    assert header.version == 3
    problem = only(header)
    assert (problem.code, problem.offset, problem.missing_bytes) == ("truncated", 16, 1)


@pytest.mark.parametrize("version", [0, 4, 999, 65_535])
@pytest.mark.parametrize("order", ["little", "big"])
def test_an_unknown_version_is_refused_by_its_number(
    tmp_path: Path, version: int, order: str
) -> None:
    """P09."""
    path = write(tmp_path / "a.gguf", version=version, byte_order=order)
    header = read_header(path)
    problem = only(header)
    assert problem.code == "version"
    assert f"version {version:,}" in problem.message
    assert header.version == version
    assert header.entries == ()


GOOD = {
    "general.architecture": "llama",
    "llama.block_count": u32(1),
    "llama.heads": array(F32, [1.0, 2.0]),
    "tokenizer.ggml.tokens": array(STRING, ["one", "two", "three"]),
    "nested": array(ARRAY, [array(U8, [1]), array(STRING, ["x"])]),
}
TENSORS = [
    TensorSpec("token_embd.weight", "F32", (8, 4)),
    TensorSpec("blk.0.attn_q.weight", "Q8_0", (32, 4)),
    TensorSpec("output_norm.weight", "F32", (3,)),
]


@pytest.mark.parametrize("version", [1, 3])
def test_a_file_cut_anywhere_says_where_and_how_much_is_missing(
    tmp_path: Path, version: int
) -> None:
    """P11."""
    whole = write(tmp_path / "whole.gguf", GOOD, TENSORS, version=version)
    data = whole.read_bytes()
    reference = read_header(whole)
    data_offset = reference.data_offset
    assert data_offset is not None
    last = reference.tensors[-1]
    needed = data_offset + last.offset + last.bytes
    table_end = len(header_bytes(GOOD, TENSORS, version=version, padded=False))
    path = tmp_path / "cut.gguf"
    for length in range(8, len(data) + 1):
        path.write_bytes(data[:length])
        header = read_header(path)
        assert header.entries == reference.entries[: len(header.entries)]
        if length >= needed:
            assert faults(header) == []
            continue
        problem = only(header)
        assert problem.code == "truncated"
        assert problem.missing_bytes is not None
        assert 0 < problem.missing_bytes <= len(data) - length
        assert problem.offset is not None
        assert problem.offset <= length
        if length >= table_end:
            assert problem.missing_bytes == needed - length
            assert header.tensors == reference.tensors
        else:
            assert header.data_offset is None
            assert f"incomplete at byte {problem.offset:,}" in problem.message


def test_a_cut_in_the_data_names_the_share_and_the_first_incomplete_tensor(tmp_path: Path) -> None:
    """P11."""
    tensors = [TensorSpec(f"blk.{i}.ffn_up.weight", "F32", (64, 64)) for i in range(10)]
    path = write(tmp_path / "a.gguf", {}, tensors)
    whole = path.stat().st_size
    os.truncate(path, whole - 16_384 * 5 - 1)
    os.utime(path, (1_700_000_000, 1_700_000_000))
    problem = only(read_header(path))
    assert problem.missing_bytes == 16_384 * 5 + 1
    assert "blk.4.ffn_up.weight" in problem.message
    assert f"{whole:,} B" in problem.message
    assert "50 %" in problem.message
    assert "download" in problem.advice


def test_a_file_cut_a_moment_ago_may_still_be_being_written(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", {}, TENSORS, data=False)
    assert "still being written" in only(read_header(path)).advice


def test_a_cut_file_is_no_complete_model(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", GOOD, TENSORS)
    assert open_file(path).complete
    os.truncate(path, path.stat().st_size - 32)
    assert not open_file(path).complete


def test_a_specimen_without_data_is_meant_to_be_one(tmp_path: Path) -> None:
    metadata = {**GOOD, "weighbridge.specimen": "dimensions of the published config"}
    path = write(tmp_path / "a.gguf", metadata, TENSORS, data=False)
    file = open_file(path)
    (note,) = file.problems
    assert (note.code, note.severity, note.missing_bytes) == ("specimen", "note", None)
    assert "header only" in note.message
    assert "dimensions of the published config" in note.message
    assert file.complete


def test_half_a_specimen_is_a_cut_file(tmp_path: Path) -> None:
    metadata = {**GOOD, "weighbridge.specimen": "made up"}
    path = write(tmp_path / "a.gguf", metadata, TENSORS)
    os.truncate(path, path.stat().st_size - 100)
    assert only(read_header(path)).code == "truncated"


def test_keys_before_a_fault_are_kept(tmp_path: Path) -> None:
    metadata = {**GOOD, "broken": Typed(STRING, "x")}
    data = header_bytes(metadata, padded=False)[:-9] + struct.pack("<Q", 1 << 62)
    path = tmp_path / "a.gguf"
    path.write_bytes(data)
    header = read_header(path)
    assert [e.key for e in header.entries] == list(GOOD)
    assert "key 6 of 6 (broken)" in only(header).message


def test_a_key_longer_than_the_format_allows_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", {"k" * 70_000: u32(1)})
    problem = only(read_header(path))
    assert problem.code == "long-name"
    assert "70,000 bytes" in problem.message
    assert len(problem.message) < 500


def test_a_tensor_name_longer_than_the_format_allows_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", {}, [TensorSpec("t" * 70_000, "F32", (8,))])
    problem = only(read_header(path))
    assert problem.code == "long-name"
    assert "tensor 1 of 1" in problem.message


def test_reading_can_be_cancelled_in_the_middle_of_a_vocabulary(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", {"tokens": array(STRING, ["a long token"] * 100_000)})
    asked = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 3

    with pytest.raises(Cancelled):
        open_file(path, cancelled)
    assert len(asked) == 4


def test_progress_grows_to_the_end_of_the_header(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", {"tokens": array(STRING, ["a long token"] * 100_000)})
    seen: list[int] = []
    header = read_header(path, progress=seen.append)
    assert seen == sorted(set(seen))
    assert len(seen) > 5
    assert header.data_offset is not None
    assert seen[-1] >= header.data_offset


def test_the_window_of_the_reader_does_not_show_in_what_is_read(tmp_path: Path) -> None:
    # Lengths that straddle every boundary of the reader's window of 256 KiB.
    for shift in range(12):
        words = ["y" * 13] * 60_000
        path = write(
            tmp_path / "a.gguf", {"p": "x" * shift, "w": array(STRING, words), "z": u32(7)}
        )
        header = read_header(path)
        assert header.problems == ()
        assert header.metadata["z"] == 7


def test_an_array_that_claims_more_than_it_has_swallows_what_follows_but_never_more(
    tmp_path: Path,
) -> None:
    metadata = {"a": array(U8, [1, 2, 3], 2_000), "b": u32(1)}
    header = read_header(write(tmp_path / "a.gguf", metadata))
    problem = only(header)
    assert problem.code == "truncated"
    assert header.entries == ()


def test_values_are_those_of_the_first_of_equal_keys(tmp_path: Path) -> None:
    """P30."""
    encoder = Encoder()
    body = encoder.entry("k", u32(1)) + encoder.entry("k", u32(2)) + encoder.entry("", u32(3))
    path = tmp_path / "a.gguf"
    path.write_bytes(head(0, 3, body))
    header = read_header(path)
    assert header.metadata == {"k": 1, "": 3}
    assert [e.duplicate for e in header.entries] == [False, True, False]
    assert [p.code for p in header.problems] == ["duplicate-key", "empty-key"]
    assert all("llama.cpp refuses" in p.message for p in header.problems)
    assert all(p.severity == "note" for p in header.problems)


def test_a_count_of_dimensions_beyond_what_llama_cpp_takes_is_shown(tmp_path: Path) -> None:
    """P26."""
    tensors = [TensorSpec(f"t{n}", "F32", (2,) * n) for n in range(1, 9)]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert [len(t.shape) for t in header.tensors] == list(range(1, 9))
    assert only(header).code == "many-dimensions"
    assert "t5 (and 3 more)" in only(header).message


def test_arrays_in_the_metadata_do_not_alias(tmp_path: Path) -> None:
    header = read_header(write(tmp_path / "a.gguf", {"a": array(U8, [1]), "b": array(U8, [2])}))
    values = [v.items for v in header.metadata.values() if isinstance(v, Array)]
    assert values == [(1,), (2,)]
