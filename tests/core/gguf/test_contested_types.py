"""Type ids that mean several things, or nothing: the offsets are asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from core.gguf import read_header
from core.gguf.types import IK_ONLY
from core.problems import Severity
from tests.support.gguf_files import TensorSpec, pad, write

SHAPE = (2048, 2048)
MAINLINE, LEGACY = 1_179_648, 1_114_112  # 64 and 128 weights to a scale


@pytest.mark.parametrize(
    ("type_id", "name", "bytes_"),
    [(40, "NVFP4", 2_359_296), (41, "Q1_0", 589_824), (42, "Q2_0", 1_179_648)],
)
def test_the_types_of_2026_have_their_sizes(
    tmp_path: Path, type_id: int, name: str, bytes_: int
) -> None:
    """P14."""
    tensors = [TensorSpec(f"t{i}", type_id, SHAPE, stored=bytes_) for i in range(2)]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert [(t.type_name, t.bytes) for t in header.tensors] == [(name, bytes_)] * 2
    assert header.problems == ()


@pytest.mark.parametrize(
    ("stored", "name", "codes"),
    [(MAINLINE, "Q2_0", []), (LEGACY, "Q2_0_G128", ["type-layout"])],
)
@pytest.mark.parametrize("count", [1, 2, 5])
def test_the_spacing_tells_which_layout_id_42_has(
    tmp_path: Path, stored: int, name: str, codes: list[str], count: int
) -> None:
    """P15."""
    tensors = [TensorSpec(f"t{i}", 42, SHAPE, stored=stored) for i in range(count)]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert [(t.type_name, t.bytes) for t in header.tensors] == [(name, stored)] * count
    assert [p.code for p in header.problems] == codes
    if codes:
        assert "2.125 bits" in header.problems[0].message
        assert "2.25 bits" in header.problems[0].message


def test_a_legacy_file_without_its_last_padding_is_whole(tmp_path: Path) -> None:
    tensors = [TensorSpec("t", 42, (128, 3), stored=34 * 3)]
    path = write(tmp_path / "a.gguf", {}, tensors)
    os.truncate(path, path.stat().st_size - (pad(34 * 3) - 34 * 3))
    header = read_header(path)
    assert header.tensors[0].bytes == 34 * 3
    assert [p.code for p in header.problems] == ["type-layout"]


def test_where_nothing_decides_both_layouts_are_named(tmp_path: Path) -> None:
    """P15."""
    path = write(tmp_path / "a.gguf", {}, [TensorSpec("t", 42, SHAPE, stored=MAINLINE)])
    with path.open("ab") as file:
        file.write(bytes(1000))
    header = read_header(path)
    (problem,) = header.problems
    assert (problem.code, problem.severity) == ("ambiguous-type", Severity.WARNING)
    for words in ("2.25 bits", "1,179,648 B", "2.125 bits", "1,114,112 B"):
        assert words in problem.message
    assert header.tensors[0].bytes == MAINLINE


def test_id_142_is_the_later_name_of_the_legacy_layout(tmp_path: Path) -> None:
    """P15."""
    tensors = [TensorSpec(f"t{i}", 142, SHAPE, stored=LEGACY) for i in range(2)]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert [(t.type_name, t.bytes) for t in header.tensors] == [("PQ2_0", LEGACY)] * 2
    assert "PrismML" in header.problems[0].message


def test_a_size_that_does_not_match_the_table_is_taken_from_the_offsets(tmp_path: Path) -> None:
    """P16."""
    # A fork's 1.5-bit type under the id that is now NVFP4's.
    tensors = [
        TensorSpec("a", 47, (1024, 1024), stored=196_608),
        TensorSpec("b", 39, (1024, 1024), stored=196_608),
        TensorSpec("c", "F32", (8,)),
    ]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert [t.bytes for t in header.tensors] == [196_608, 196_608, 32]
    by_code = {p.code: p for p in header.problems}
    assert set(by_code) == {"unknown-type", "type-size"}
    message = by_code["type-size"].message
    assert "occupies 196,608 B" in message
    assert "MXFP4 would take 557,056 B" in message
    assert "1.5 bits per weight" in message
    assert "fork" in message


def test_a_forks_type_larger_than_the_tables_is_no_row_of_holes(tmp_path: Path) -> None:
    tensors = [TensorSpec(f"t{i}", 41, (1024, 1024), stored=294_912) for i in range(3)]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert [t.bytes for t in header.tensors] == [294_912] * 3
    (problem,) = header.problems
    assert problem.code == "type-size"
    assert "Q1_0 would take 147,456 B" in problem.message


def test_an_early_prism_file_under_the_id_of_nvfp4_is_recognized(tmp_path: Path) -> None:
    """P16."""
    tensors = [
        TensorSpec("a", 40, (1024, 1024), stored=196_608),
        TensorSpec("b", 40, (1024, 512), stored=98_304),
    ]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert [(t.type_name, t.bytes) for t in header.tensors] == [
        ("Q1_0_G32", 196_608),
        ("Q1_0_G32", 98_304),
    ]
    (problem,) = header.problems
    assert problem.code == "type-layout"
    assert "1.5 bits" in problem.message


def test_the_last_tensor_of_a_forks_type_is_scaled_from_the_others(tmp_path: Path) -> None:
    tensors = [
        TensorSpec("a", 4000, (1024, 1024), stored=196_608),
        TensorSpec("b", 4000, (1024, 512), stored=98_304),
    ]
    path = write(tmp_path / "a.gguf", {}, tensors, data=False)
    header = read_header(path)
    assert [(t.type_name, t.bytes) for t in header.tensors] == [
        ("unknown 4000", 196_608),
        ("unknown 4000", 98_304),
    ]
    assert {p.code for p in header.problems} == {"unknown-type", "truncated"}


def test_a_single_tensor_of_an_unknown_type_takes_what_the_file_has(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", {}, [TensorSpec("a", 217_000, (64, 64), stored=1536)])
    header = read_header(path)
    (tensor,) = header.tensors
    assert (tensor.type_name, tensor.bytes, tensor.parameters) == ("unknown 217000", 1536, 4096)
    assert [p.code for p in header.problems] == ["unknown-type"]


def test_microsofts_two_bit_type_under_a_removed_id_divides_nothing_by_zero(tmp_path: Path) -> None:
    """P17."""
    stored = 6912 * 2560 // 4 + 32
    tensors = [
        TensorSpec("blk.0.ffn_down.weight", 36, (6912, 2560), stored=stored),
        TensorSpec("output_norm.weight", "F32", (2560,)),
    ]
    path = write(tmp_path / "a.gguf", {"general.architecture": "bitnet-25"}, tensors)
    header = read_header(path)
    assert header.tensors[0].type_name == "I2_S"
    assert header.tensors[0].bytes == stored
    (problem,) = header.problems
    assert problem.code == "unknown-type"
    for words in ("I2_S", "BitNet", "bitnet.cpp and ik_llama.cpp read", "llama.cpp refuses"):
        assert words in problem.message


def test_rows_with_extra_bytes_keep_the_offsets_in_step(tmp_path: Path) -> None:
    """P18."""
    tensors = [
        TensorSpec("a", 144, (4096, 8), stored=8 * 2180),
        TensorSpec("b", 153, (4096, 8), stored=8 * 1092),
        TensorSpec("c", 138, (4096, 8), stored=8 * 1760),
        TensorSpec("d", "F32", (8,)),
    ]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert [(t.type_name, t.bytes) for t in header.tensors] == [
        ("IQ4_KS", 8 * 2180),
        ("IQ2_KT", 8 * 1092),
        ("IQ3_K", 8 * 1760),
        ("F32", 32),
    ]
    assert {p.code for p in header.problems} == {"limited-type"}
    assert all(p.severity is Severity.NOTE for p in header.problems)
    assert all(IK_ONLY in p.message for p in header.problems)


def test_a_hole_behind_one_tensor_of_a_new_type_changes_no_size(tmp_path: Path) -> None:
    tensors = [
        TensorSpec("a", 40, (64, 8), 0, 288),
        TensorSpec("b", 40, (64, 8), 288, 288),
        TensorSpec("c", "F32", (8,), 1024),
    ]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert [t.bytes for t in header.tensors] == [288, 288, 32]
    assert [p.code for p in header.problems] == ["gap"]


def test_an_old_type_is_never_resized_by_what_overlaps_it(tmp_path: Path) -> None:
    tensors = [TensorSpec("a", "Q4_K", (256, 8), 0), TensorSpec("b", "Q4_K", (256, 8), 64)]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert [t.bytes for t in header.tensors] == [1152, 1152]
    assert [p.code for p in header.problems] == ["overlap"]


def test_repacked_types_of_2024_are_sized_and_said_to_be_removed(tmp_path: Path) -> None:
    tensors = [TensorSpec("a", 33, (32, 8), stored=144), TensorSpec("b", 33, (32, 8), stored=144)]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert [(t.type_name, t.bytes) for t in header.tensors] == [("Q4_0_8_8", 144)] * 2
    assert "removed from llama.cpp" in header.problems[0].message


@pytest.mark.parametrize("count", [1, 9, 10, 4096])
def test_thousands_of_unknown_types_take_few_sentences(tmp_path: Path, count: int) -> None:
    tensors = [TensorSpec(f"t{i}", 100_000 + i, (64,), stored=64) for i in range(count)]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert sum(t.bytes for t in header.tensors) == 64 * count
    codes = [p.code for p in header.problems]
    expected = ["unknown-type"] * min(count, 9 if count == 9 else 8)
    assert codes == expected + ["more-types"] * (count > 9)
    if count > 9:
        assert header.problems[-1].message.startswith(f"{count - 8:,} more types")
