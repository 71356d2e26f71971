"""Models in several files: any of them opens the family, and what is missing is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.gguf import Cancelled, open_file
from core.gguf.header import Kind
from core.problems import Severity
from tests.support.gguf_files import Plain, TensorSpec, i32, u16, write


def shard_name(stem: str, number: int, count: int) -> str:
    return f"{stem}-{number:05}-of-{count:05}.gguf"


def make_set(folder: Path, stem: str = "m", count: int = 3, rows: int = 4) -> list[Path]:
    """Shards as llama-gguf-split writes them: metadata in the first, three tensors in each."""
    paths = []
    for number in range(count):
        metadata: dict[str, Plain] = {
            "split.no": u16(number),
            "split.count": u16(count),
            "split.tensors.count": i32(3 * count),
        }
        if number == 0:
            metadata |= {"general.architecture": "llama", "general.name": "family"}
        tensors = [TensorSpec(f"blk.{number}.t{i}", "F32", (8, rows)) for i in range(3)]
        paths.append(write(folder / shard_name(stem, number + 1, count), metadata, tensors))
    return paths


@pytest.mark.parametrize("opened", [0, 1, 2])
def test_any_shard_opens_the_whole_family(tmp_path: Path, opened: int) -> None:
    paths = make_set(tmp_path)
    file = open_file(paths[opened])
    assert file.problems == ()
    assert file.complete
    assert file.kind is Kind.MODEL
    assert file.paths == tuple(paths)
    assert file.header.metadata["general.name"] == "family"
    assert [(t.name, t.shard) for t in file.tensors] == [
        (f"blk.{shard}.t{i}", shard) for shard in range(3) for i in range(3)
    ]
    assert file.file_bytes == sum(path.stat().st_size for path in paths)


def test_a_missing_shard_is_named_and_every_total_is_a_lower_bound(tmp_path: Path) -> None:
    paths = make_set(tmp_path)
    paths[1].unlink()
    file = open_file(paths[0])
    assert file.missing == ("m-00002-of-00003.gguf",)
    assert len(file.tensors) == 6
    assert not file.complete
    (problem,) = file.problems
    assert (problem.code, problem.severity) == ("missing-shard", Severity.WARNING)
    assert "m-00002-of-00003.gguf" in problem.message
    assert "1 of 3" in problem.message
    assert "lower bound" in problem.message


def test_without_the_first_shard_there_is_no_metadata_and_the_kind_says_so(tmp_path: Path) -> None:
    paths = make_set(tmp_path)
    paths[0].unlink()
    file = open_file(paths[2])
    assert file.kind is Kind.SHARD
    assert file.missing == ("m-00001-of-00003.gguf",)
    assert {p.code for p in file.problems} == {"missing-shard", "shard"}


def test_a_shard_that_is_a_stub_is_missing_and_says_why(tmp_path: Path) -> None:
    paths = make_set(tmp_path)
    paths[1].write_bytes(
        b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 99\n"
    )
    file = open_file(paths[0])
    assert file.missing == ("m-00002-of-00003.gguf",)
    assert {p.code for p in file.problems} == {"lfs-pointer", "missing-shard"}


def test_a_shard_that_is_cut_off_is_found_and_the_family_incomplete(tmp_path: Path) -> None:
    paths = make_set(tmp_path)
    data = paths[2].read_bytes()
    paths[2].write_bytes(data[:-64])
    file = open_file(paths[0])
    assert file.missing == ()
    assert not file.complete
    (problem,) = file.problems
    assert problem.where == str(paths[2])
    assert problem.missing_bytes == 64


@pytest.mark.parametrize("name", ["best-of-breed.gguf", "y-00001-of-00001.gguf", "plain.gguf"])
def test_an_ordinary_file_is_read_alone_whatever_its_name(tmp_path: Path, name: str) -> None:
    """P03."""
    metadata = {"general.architecture": "llama", "split.count": u16(1)}
    file = open_file(write(tmp_path / name, metadata, [TensorSpec("a", "F32", (8,))]))
    assert file.problems == ()
    assert file.missing == ()
    assert file.complete


@pytest.mark.parametrize(
    "name", ["x-00000-of-00002.gguf", "x-00005-of-00003.gguf", "z-00001-of-00002.gguf"]
)
def test_a_name_that_promises_shards_is_overruled_by_the_file(tmp_path: Path, name: str) -> None:
    """P03."""
    metadata = {"general.architecture": "llama"}
    file = open_file(write(tmp_path / name, metadata, [TensorSpec("a", "F32", (8,))]))
    assert file.missing == ()
    assert file.complete
    (note,) = file.problems
    assert (note.code, note.severity) == ("shard-name", Severity.NOTE)


def test_a_shard_under_another_name_cannot_find_the_others(tmp_path: Path) -> None:
    paths = make_set(tmp_path)
    renamed = paths[1].rename(tmp_path / "renamed.gguf")
    file = open_file(renamed)
    assert file.missing == ("shard 1 of 3", "shard 3 of 3")
    assert not file.complete
    assert file.kind is Kind.SHARD
    assert "missing-shard" in {p.code for p in file.problems}


@pytest.mark.parametrize("name", ["m-00005-of-00003.gguf", "m-00000-of-00003.gguf"])
def test_a_shard_with_an_impossible_number_cannot_find_the_others(
    tmp_path: Path, name: str
) -> None:
    paths = make_set(tmp_path)
    file = open_file(paths[1].rename(tmp_path / name))
    assert len(file.tensors) == 3
    assert not file.complete
    assert "missing-shard" in {p.code for p in file.problems}


def test_a_shard_of_another_set_is_noticed(tmp_path: Path) -> None:
    paths = make_set(tmp_path)
    paths[2].write_bytes(paths[1].read_bytes())
    codes = {p.code for p in open_file(paths[0]).problems}
    assert codes == {"shard-mismatch", "duplicate-tensor"}


def test_a_set_with_fewer_tensors_than_it_counts_is_noticed(tmp_path: Path) -> None:
    paths = make_set(tmp_path)
    metadata = {"split.no": u16(2), "split.count": u16(3), "split.tensors.count": i32(9)}
    write(paths[2], metadata, [TensorSpec("blk.2.t0", "F32", (8,))])
    (problem,) = open_file(paths[0]).problems
    assert problem.code == "shard-tensors"
    assert "7 tensors" in problem.message
    assert "9" in problem.message


def test_a_claim_of_very_many_shards_looks_for_none(tmp_path: Path) -> None:
    metadata = {"general.architecture": "llama", "split.count": i32(2_000_000_000)}
    file = open_file(write(tmp_path / "a.gguf", metadata, [TensorSpec("a", "F32", (8,))]))
    assert not file.complete
    assert len(file.missing) == 1
    assert [p.code for p in file.problems] == ["missing-shard"]


def test_the_parameters_of_one_part_are_not_the_models(tmp_path: Path) -> None:
    """P42."""
    paths = make_set(tmp_path, "deepseek", rows=100)
    folder = tmp_path / "alone"
    folder.mkdir()
    alone = paths[1].rename(folder / paths[1].name)
    file = open_file(alone)
    assert sum(t.parameters for t in file.tensors) == 3 * 800
    assert not file.complete
    assert len(file.missing) == 2


def test_names_with_other_scripts_and_regular_expressions_in_them_find_their_family(
    tmp_path: Path,
) -> None:
    folder = tmp_path / "Загрузки ' \" & % ^ (x)[y]"
    folder.mkdir()
    paths = make_set(folder, "модель+(v1.0)* 日本 👩\u200d👧")
    file = open_file(paths[2])
    assert file.problems == ()
    assert file.paths == tuple(paths)


def test_cancelling_stops_between_shards(tmp_path: Path) -> None:
    paths = make_set(tmp_path)
    asked = []

    def cancelled() -> bool:
        asked.append(1)
        return len(asked) > 2

    with pytest.raises(Cancelled):
        open_file(paths[0], cancelled)


def test_a_large_set_under_wrong_names_takes_few_sentences(tmp_path: Path) -> None:
    paths = make_set(tmp_path, count=20)
    for path in paths[1:]:
        path.write_bytes(paths[0].read_bytes())
    mismatches = [p for p in open_file(paths[0]).problems if p.code == "shard-mismatch"]
    assert len(mismatches) == 9
    assert "11 more shards" in mismatches[-1].message
