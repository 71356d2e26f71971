"""The table of tensor types, against the gguf package and against ik_llama.cpp's own library."""

from __future__ import annotations

from pathlib import Path

import pytest
from gguf.constants import GGML_QUANT_SIZES, GGMLQuantizationType

from core.gguf.types import BY_ID, BY_NAME, IK_ONLY, layout_of, name_of, note_of

DATA = Path(__file__).resolve().parents[2] / "data"
# What ggml_blck_size, ggml_type_size and ggml_row_size of ik-llama-cpp-python 0.1.5 answer.
IK_TYPES = [
    (int(number), name, int(block), int(size), int(extra))
    for number, name, block, size, extra in (
        line.split("\t") for line in (DATA / "ik_llama_types.tsv").read_text().splitlines()
    )
]


@pytest.mark.parametrize("known", list(GGMLQuantizationType), ids=lambda known: known.name)
def test_every_type_of_the_gguf_package_is_known_with_its_size(known: GGMLQuantizationType) -> None:
    block, size = GGML_QUANT_SIZES[known]
    if known is GGMLQuantizationType.Q8_1:
        # The package counts two floats; block_q8_1 in ggml-common.h has two halves.
        size = 2 * 2 + 32
    kind = BY_ID[known.value]
    assert (kind.name, kind.block_size, kind.block_bytes, kind.row_extra_bytes) == (
        known.name,
        block,
        size,
        0,
    )


@pytest.mark.parametrize("row", IK_TYPES, ids=lambda row: row[1])
def test_every_type_of_ik_llama_has_the_size_that_its_library_answers(
    row: tuple[int, str, int, int, int],
) -> None:
    number, name, block, size, extra = row
    kind = BY_ID[number]
    assert (kind.name, kind.block_size, kind.block_bytes, kind.row_extra_bytes) == (
        name,
        block,
        size,
        extra,
    )
    assert kind.note == IK_ONLY


@pytest.mark.parametrize(
    ("name", "shape", "bytes_"),
    [
        ("IQ4_KS", (4096, 8), 8 * 2180),
        ("IQ2_KT", (4096, 8), 8 * 1092),
        ("IQ3_K", (4096, 8), 8 * 1760),
        ("NVFP4", (2048, 2048), 2_359_296),
        ("Q1_0", (2048, 2048), 589_824),
        ("Q2_0", (2048, 2048), 1_179_648),
        ("MXFP4", (2880, 2880, 32), 2880 // 32 * 17 * 2880 * 32),
        ("Q4_K", (256,), 144),
        ("F32", (), 4),
        ("F32", (0,), 0),
        ("IQ4_KS", (0, 5), 0),
        ("IQ4_KS", (256, 0), 0),
    ],
)
def test_a_tensor_takes_its_blocks_and_the_extra_bytes_of_every_row(
    name: str, shape: tuple[int, ...], bytes_: int
) -> None:
    assert BY_NAME[name].tensor_bytes(shape) == bytes_


@pytest.mark.parametrize(("name", "bits"), [("Q8_0", 8.5), ("Q4_K", 4.5), ("Q6_K", 6.5625)])
def test_bits_per_weight_are_the_published_ones(name: str, bits: float) -> None:
    assert BY_NAME[name].bits_per_weight == bits


def test_ids_that_nobody_knows_are_named_by_their_number() -> None:
    assert name_of(217_000) == "unknown 217000"
    assert note_of(217_000) == ""


def test_a_removed_id_has_a_name_and_no_size() -> None:
    assert 36 not in BY_ID
    assert name_of(36) == "I2_S"
    assert "BitNet" in note_of(36)


def test_the_layout_of_a_tensor_follows_from_its_id_and_the_name_it_was_given() -> None:
    assert layout_of(42, "Q2_0") is BY_ID[42]
    legacy = layout_of(42, "Q2_0_G128")
    assert legacy is not None
    assert (legacy.block_size, legacy.block_bytes) == (128, 34)
    assert layout_of(36, "I2_S") is None
    assert layout_of(217, "unknown 217") is None
