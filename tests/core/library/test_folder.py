"""Which files of a folder are one model, by their names."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.gguf.names import label_in
from core.library.folder import groups_of

FOLDER = Path("/models")


def rows(*names: str) -> list[tuple[str, int, int, bool, list[str]]]:
    return [
        (g.name, len(g.paths), g.missing, g.unfinished, [p.name for p in g.projectors])
        for g in groups_of(FOLDER, names)
    ]


def test_shards_are_one_model_and_a_projector_goes_with_the_model_that_it_names() -> None:
    """Field report P05: three shards, one ordinary file with its projector, one matrix."""
    found = rows(
        "Big-00001-of-00003.gguf",
        "Big-00003-of-00003.gguf",
        "Big-00002-of-00003.gguf",
        "Small.f16.gguf",
        "mmproj-Small.gguf",
        "imatrix.gguf",
    )
    assert found == [
        ("Big", 3, 0, False, []),
        ("Small.f16", 1, 0, False, ["mmproj-Small.gguf"]),
        ("imatrix", 1, 0, False, []),
        ("mmproj-Small", 1, 0, False, []),
    ]
    assert groups_of(FOLDER, ["Small.f16.gguf"])[0].paths == (FOLDER / "Small.f16.gguf",)


def test_a_projector_without_a_name_is_meant_for_every_model_beside_it() -> None:
    found = rows("M-Q4_K_M.gguf", "M-Q8_0.gguf", "mmproj-F16.gguf", "mmproj-model-f32.gguf")
    assert [r[4] for r in found[:2]] == [["mmproj-F16.gguf", "mmproj-model-f32.gguf"]] * 2


def test_a_family_says_how_many_shards_it_lacks() -> None:
    assert rows("A-00002-of-00004.gguf", "A-00003-of-00004.gguf") == [("A", 2, 2, False, [])]
    # The same stem in two cuts is two models.
    assert len(rows("A-00001-of-00002.gguf", "A-00001-of-00003.gguf")) == 2


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a.gguf.part", "a.gguf"),
        ("a.gguf.incomplete", "a.gguf"),
        ("a.gguf.downloadInProgress", "a.gguf"),
        ("a.gguf.crdownload", "a.gguf"),
        ("incomplete-a.gguf", "a.gguf"),
        ("downloading_a.gguf.part", "downloading_a.gguf"),
    ],
)
def test_unfinished_downloads_are_known_by_their_names(name: str, shown: str) -> None:
    assert rows(name) == [(shown, 1, 0, True, [])]


def test_a_file_whose_place_was_reserved_by_aria2_is_unfinished() -> None:
    assert rows("a.gguf", "a.gguf.aria2") == [("a", 1, 0, True, [])]


def test_pieces_for_transport_and_other_files_are_no_models() -> None:
    assert rows("a.gguf.part1of2", "a.gguf-split-a", "a.gguf.001", "README.md", "a.bin") == []


@given(st.lists(st.text(min_size=1, max_size=30), max_size=20))
def test_every_name_is_in_at_most_one_group(names: list[str]) -> None:
    found = [path for group in groups_of(FOLDER, set(names)) for path in group.paths]
    assert len(found) == len(set(found))
    assert {path.name for path in found} <= {Path(name).name for name in names}


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("Qwen3-8B-Q4_K_M.gguf", "Q4_K_M"),
        ("Qwen3-8B-UD-Q2_K_XL-00001-of-00002.gguf", "UD-Q2_K_XL"),
        ("model.IQ2_XXS.gguf", "IQ2_XXS"),
        ("gemma-3-27b-it-q4_0.gguf", "Q4_0"),
        ("gpt-oss-20b-MXFP4.gguf", "MXFP4"),
        ("Small.f16.gguf", "F16"),
        ("BF16/x-BF16.gguf", "BF16"),
        ("Phi-3-mini-4k-instruct-fp16.gguf", "FP16"),
        ("Model-Q6_K.gguf", "Q6_K"),
        ("T-TQ1_0.gguf", "TQ1_0"),
        ("Qwen2.5-Q.gguf", ""),
        ("plain.gguf", ""),
    ],
)
def test_a_name_tells_its_quantization(name: str, label: str) -> None:
    assert label_in(name) == label
