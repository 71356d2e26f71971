"""Files that are no GGUF, and say what they are."""

from __future__ import annotations

import json
import struct
import time
from pathlib import Path

import pytest

from core.gguf import open_file, read_header
from core.gguf.header import Kind
from core.problems import Problem
from tests.support.gguf_files import TensorSpec, u32, write


def problem_of(path: Path, data: bytes) -> Problem:
    path.write_bytes(data)
    header = read_header(path)
    assert header.version is None
    (problem,) = header.problems
    assert problem.severity == "error"
    assert problem.where == str(path)
    assert "\n" not in problem.message
    return problem


def test_a_git_lfs_pointer_tells_the_size_of_the_real_file(tmp_path: Path) -> None:
    """P06."""
    data = (
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"ab" * 32 + b"\n"
        b"size 4081004224\n"
    )
    problem = problem_of(tmp_path / "model.Q4_K_M.gguf", data)
    assert problem.code == "lfs-pointer"
    assert "4,081,004,224 B" in problem.message
    assert "3.80 GiB" in problem.message
    assert "git lfs pull" in problem.advice


@pytest.mark.parametrize(
    "data",
    [
        b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Welcome</body></html>",
        b"\xef\xbb\xbf<html lang=en><title>Sign in</title>",
        b"\n\n   <html><script>var x = '<b>';</script><title>Sign in</title>",
        b"<?xml version='1.0'?><Error><Code>Sign in</Code></Error>",
    ],
)
def test_a_web_page_is_called_one_with_its_first_words(tmp_path: Path, data: bytes) -> None:
    """P07."""
    problem = problem_of(tmp_path / "model.gguf", data)
    assert problem.code == "web-page"
    assert "“Sign in" in problem.message
    assert f"{len(data):,} B" in problem.message
    assert "/resolve/" in problem.advice


def test_an_error_in_json_is_shown(tmp_path: Path) -> None:
    """P07."""
    problem = problem_of(tmp_path / "model.gguf", b'{"error":"Unauthorized","code":401}')
    assert problem.code == "json"
    assert "JSON" in problem.message
    assert "Unauthorized" in problem.message
    assert "log-in" in problem.advice


@pytest.mark.parametrize(
    ("data", "code", "words"),
    [
        (b"tjgg" + bytes(100), "old-format", "GGJT"),
        (b"lmgg" + bytes(100), "old-format", "GGML"),
        (b"fmgg" + bytes(100), "old-format", "GGMF"),
        (b"algg" + bytes(100), "old-format", "GGLA"),
        (b"PK\x03\x04" + bytes(100), "zip", "ZIP"),
        (b"\x1f\x8b" + bytes(100), "gzip", "gzip"),
        (b"\x28\xb5\x2f\xfd" + bytes(100), "zstd", "zstd"),
        (b"\x80\x02}q\x00." + bytes(100), "pickle", "pickle"),
        (bytes(100), "zeros", "zeros"),
        (bytes(70_000) + b"x" + bytes(100_000), "zeros", "zeros"),
        (b"\x00\x01\x02\x03\xff\xfe" * 9, "not-gguf", "00 01 02 03"),
        (b"A plain text\nof two lines", "text", "A plain text of two lines"),
        (b"[section]\nkey = 1\n", "text", "[section] key = 1"),
        (b'["Not found"]', "json", "Not found"),
    ],
)
def test_other_formats_are_named(tmp_path: Path, data: bytes, code: str, words: str) -> None:
    """P08."""
    problem = problem_of(tmp_path / "model.gguf", data)
    assert problem.code == code
    assert words in problem.message


def test_safetensors_are_named(tmp_path: Path) -> None:
    """P08."""
    table = json.dumps({"a": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}).encode()
    data = struct.pack("<Q", len(table)) + table + bytes(4)
    assert problem_of(tmp_path / "model.gguf", data).code == "safetensors"


def test_an_empty_file_is_named(tmp_path: Path) -> None:
    problem = problem_of(tmp_path / "model.gguf", b"")
    assert (problem.code, "0 bytes" in problem.message) == ("empty", True)


def test_words_of_a_page_cannot_reverse_the_sentence_they_stand_in(tmp_path: Path) -> None:
    problem = problem_of(tmp_path / "model.gguf", "<html>\u202eolleh\x07</html>".encode())
    assert "\u202e" not in problem.message
    assert "\\u202e" in problem.message


def test_a_page_of_nothing_but_open_tags_is_read_in_no_time(tmp_path: Path) -> None:
    start = time.process_time()
    problem = problem_of(tmp_path / "model.gguf", b"<html>" + b"<script " * 200_000)
    assert problem.code == "web-page"
    assert time.process_time() - start < 0.5


@pytest.mark.parametrize(
    "names",
    [
        ("big.Q5.gguf.part1of2", "big.Q5.gguf.part2of2"),
        ("big.Q5.gguf.part00", "big.Q5.gguf.part01"),
        ("big.Q5.gguf-split-a", "big.Q5.gguf-split-b"),
        ("big.Q5.gguf.part-aa", "big.Q5.gguf.part-ab"),
        ("big.Q5.gguf.001", "big.Q5.gguf.002"),
    ],
)
def test_raw_pieces_are_to_be_joined_and_not_called_damaged(
    tmp_path: Path, names: tuple[str, str]
) -> None:
    """P04."""
    tensors = [TensorSpec(f"blk.{i}.x", "F32", (256, 256)) for i in range(8)]
    whole = write(tmp_path / "whole", {"general.architecture": "llama"}, tensors)
    data = whole.read_bytes()
    first, second = (tmp_path / name for name in names)
    first.write_bytes(data[: 1 << 20])
    second.write_bytes(data[1 << 20 :])

    file = open_file(first)
    assert file.kind is Kind.MODEL
    assert len(file.tensors) == 8
    (problem,) = file.problems
    assert problem.code == "piece"
    assert "first piece of big.Q5.gguf" in problem.message
    assert "2 pieces found" in problem.message
    assert f"{len(data):,} B of the {len(data):,} B needed" in problem.message
    assert problem.missing_bytes == len(data) - (1 << 20)
    assert not file.complete

    later = open_file(second)
    assert later.kind is Kind.UNKNOWN
    (problem,) = later.problems
    assert problem.code == "piece"
    assert "no GGUF header" in problem.message
    assert "later piece" in problem.message
    assert "big.Q5.gguf" in problem.message


def test_a_cut_file_with_an_ordinary_name_is_no_piece(tmp_path: Path) -> None:
    for name in ("counter-parts.gguf", "x.gguf.part", "a.part1of2.gguf"):
        path = write(tmp_path / name, {"n": u32(1)}, [TensorSpec("a", "F32", (256,))], data=False)
        assert [p.code for p in read_header(path).problems] == ["truncated"]
