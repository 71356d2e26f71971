"""Tensor tables whose offsets, shapes, names or alignment are not as llama.cpp wants them."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.gguf import read_header
from core.gguf.header import Header
from core.problems import Problem, Severity
from tests.support.gguf_files import U64, TensorSpec, Typed, f32, u32, write


def only(header: Header) -> Problem:
    (problem,) = header.problems
    return problem


def test_an_offset_of_zero_is_an_offset(tmp_path: Path) -> None:
    """P44."""
    tensors = [TensorSpec("a", "F32", (8,), 0), TensorSpec("b", "F32", (8,), 32)]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert header.problems == ()
    assert [(t.offset, t.bytes) for t in header.tensors] == [(0, 32), (32, 32)]


def test_tensors_in_another_order_than_the_table_are_whole(tmp_path: Path) -> None:
    """P44."""
    tensors = [TensorSpec("b", "F32", (8,), 32), TensorSpec("a", "F32", (8,), 0)]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert [t.bytes for t in header.tensors] == [32, 32]
    problem = only(header)
    assert (problem.code, problem.severity) == ("unordered", Severity.NOTE)


def test_overlapping_tensors_are_both_named(tmp_path: Path) -> None:
    """P44."""
    tensors = [
        TensorSpec("first", "F32", (16,), 0),
        TensorSpec("second", "F32", (16,), 32),
        TensorSpec("third", "F32", (16,), 96),
    ]
    problem = only(read_header(write(tmp_path / "a.gguf", {}, tensors)))
    assert (problem.code, problem.severity) == ("overlap", Severity.ERROR)
    assert "first" in problem.message
    assert "second" in problem.message
    assert "third" not in problem.message


def test_tensors_at_the_same_place_overlap(tmp_path: Path) -> None:
    tensors = [TensorSpec("a", "F32", (8,), 0), TensorSpec("b", "F32", (8,), 0)]
    assert only(read_header(write(tmp_path / "a.gguf", {}, tensors))).code == "overlap"


def test_an_offset_off_the_alignment_is_named(tmp_path: Path) -> None:
    """P44."""
    tensors = [TensorSpec("a", "F32", (4,), 0), TensorSpec("b", "F32", (8,), 16)]
    problem = only(read_header(write(tmp_path / "a.gguf", {}, tensors)))
    assert (problem.code, problem.severity) == ("misaligned", Severity.ERROR)
    assert problem.message.startswith("b ")
    assert "32" in problem.message


def test_a_hole_between_tensors_is_counted_and_no_size_changes(tmp_path: Path) -> None:
    tensors = [TensorSpec("a", "F32", (8,), 64), TensorSpec("b", "F32", (8,), 160)]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert [t.bytes for t in header.tensors] == [32, 32]
    problem = only(header)
    assert (problem.code, problem.severity) == ("gap", Severity.NOTE)
    assert "128 bytes" in problem.message
    assert "the header" in problem.message


def test_a_tensor_without_elements_between_others_is_no_overlap(tmp_path: Path) -> None:
    tensors = [
        TensorSpec("a", "F32", (8,), 0),
        TensorSpec("none", "F32", (0,), 32),
        TensorSpec("b", "F32", (8,), 32),
    ]
    assert read_header(write(tmp_path / "a.gguf", {}, tensors)).problems == ()


def test_two_tensors_of_one_name_are_both_counted_and_named(tmp_path: Path) -> None:
    """P30."""
    tensors = [TensorSpec("blk.0.x", "F32", (8,)), TensorSpec("blk.0.x", "F32", (16,))]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert [t.bytes for t in header.tensors] == [32, 64]
    problem = only(header)
    assert (problem.code, problem.severity) == ("duplicate-tensor", Severity.WARNING)
    assert "blk.0.x" in problem.message
    assert "llama.cpp refuses" in problem.message


@pytest.mark.parametrize(
    ("name", "too_long"), [("n" * 63, False), ("n" * 64, True), ("é" * 32, True), ("n" * 200, True)]
)
def test_a_name_that_llama_cpp_finds_too_long_is_noted(
    tmp_path: Path, name: str, too_long: bool
) -> None:
    """P30."""
    header = read_header(write(tmp_path / "a.gguf", {}, [TensorSpec(name, "F32", (8,))]))
    assert header.tensors[0].name == name
    assert [p.code for p in header.problems] == (["long-name"] if too_long else [])


def test_a_shape_that_would_wrap_around_is_shown_exactly_and_called_impossible(
    tmp_path: Path,
) -> None:
    """P26."""
    tensors = [TensorSpec("t", "Q8_0", (1152, 4_398_046_511_105), stored=0)]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    (tensor,) = header.tensors
    assert tensor.parameters == 1152 * 4_398_046_511_105
    assert tensor.bytes == 1152 // 32 * 34 * 4_398_046_511_105
    assert (only(header).code, only(header).severity) == ("impossible-size", Severity.ERROR)


def test_a_product_beyond_64_bits_is_exact_and_called_an_overflow(tmp_path: Path) -> None:
    """P26."""
    tensors = [TensorSpec("t", "F32", (2**63, 2), stored=0)]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert header.tensors[0].parameters == 2**64
    assert header.tensors[0].bytes == 2**66
    assert (only(header).code, only(header).severity) == ("overflow", Severity.ERROR)


def test_a_row_that_ends_inside_a_block_is_named(tmp_path: Path) -> None:
    tensors = [TensorSpec("t", "Q4_K", (300, 2), stored=4 * 144)]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert header.tensors[0].bytes == 4 * 144
    assert only(header).code == "broken-row"


@pytest.mark.parametrize(
    ("value", "used"),
    [(u32(0), 32), (u32(24), 24), (Typed(U64, 64), 64), (f32(32.0), 32), ("32", 32)],
)
def test_an_alignment_that_llama_cpp_refuses_is_named(
    tmp_path: Path, value: Typed | str, used: int
) -> None:
    tensors = [TensorSpec("t", "F32", (8,))]
    path = write(tmp_path / "a.gguf", {"general.alignment": value}, tensors, alignment=used)
    header = read_header(path)
    assert header.alignment == used
    assert (only(header).code, only(header).severity) == ("alignment", Severity.WARNING)


def test_an_enormous_alignment_puts_the_data_far_away(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.gguf", {"general.alignment": u32(1 << 31)}, [TensorSpec("t", "F32", (8,))]
    )
    header = read_header(path)
    assert header.data_offset == 1 << 31
    assert only(header).code == "truncated"


def test_an_offset_that_no_file_reaches_is_no_cut_download(tmp_path: Path) -> None:
    tensors = [TensorSpec("a", "F32", (8,)), TensorSpec("b", "F32", (8,), 1 << 62)]
    path = write(tmp_path / "a.gguf", {}, tensors, data=False)
    with path.open("ab") as file:
        file.write(bytes(32))
    header = read_header(path)
    codes = {p.code: p for p in header.problems}
    assert set(codes) == {"impossible-offset", "gap"}
    assert codes["impossible-offset"].severity is Severity.ERROR
    assert codes["impossible-offset"].message.startswith("b ")


def test_a_hundred_faults_of_one_kind_are_one_problem(tmp_path: Path) -> None:
    tensors = [TensorSpec(f"t{i}", "F32", (8,), 64 * i + 1) for i in range(100)]
    codes = [p.code for p in read_header(write(tmp_path / "a.gguf", {}, tensors)).problems]
    assert len(codes) == len(set(codes))
    assert "misaligned" in codes
