"""What a block format does to weights: levels and errors by the formats' own definitions."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from pathlib import Path

import gguf
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.explain.blocks import DECODED, SPAN, TRIED, Trial, read_sample, readable, trials
from core.gguf import PageError, open_file
from core.gguf.header import ModelFile


def file_of(path: Path, **tensors: np.ndarray[tuple[int, ...], np.dtype[np.float32]]) -> ModelFile:
    writer = gguf.GGUFWriter(path, "llama")
    for name, values in tensors.items():
        writer.add_tensor(name, values)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return open_file(path)


def q4_0(scale: float, codes: Sequence[int]) -> bytes:
    """A block as ggml lays it out: the scale as f16, then 16 bytes of two codes each."""
    low, high = codes[:16], codes[16:]
    packed = bytes(a | b << 4 for a, b in zip(low, high, strict=True))
    return struct.pack("<e", scale) + packed


def test_plain_weights_are_read_as_they_were_written(tmp_path: Path) -> None:
    rows = np.arange(2 * 512, dtype=np.float32).reshape(2, 512)
    file = file_of(tmp_path / "a.gguf", w=rows)
    sample = read_sample(file, file.tensors[0], 1, 256)
    assert sample.values == tuple(range(512 + 256, 1024))
    assert (sample.block_size, sample.bits_per_weight, len(sample.values)) == (1, 32, SPAN)


def test_a_q4_0_weight_is_its_scale_times_the_code_less_eight(tmp_path: Path) -> None:
    codes = [n % 16 for n in range(32)]
    writer = gguf.GGUFWriter(tmp_path / "q.gguf", "llama")
    raw = np.frombuffer(q4_0(0.5, codes), np.uint8).reshape(1, 18)
    writer.add_tensor("w", raw, raw_dtype=gguf.GGMLQuantizationType.Q4_0)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    file = open_file(tmp_path / "q.gguf")
    sample = read_sample(file, file.tensors[0], 0, 0)
    assert sample.values == tuple(0.5 * (code - 8) for code in codes)
    assert sample.levels(31) == tuple(0.5 * (code - 8) for code in range(16))


def by_name(values: Sequence[float]) -> dict[str, Trial]:
    return {trial.type_name: trial for trial in trials(values)}


def test_weights_that_stand_on_the_levels_of_a_format_lose_nothing() -> None:
    whole = [float(n % 16 - 8) for n in range(256)]
    found = by_name(whole)
    assert (found["Q4_0"].error, found["Q4_0"].worst) == (0, 0)
    assert found["TQ2_0"].error > 0.5
    assert found["Q4_0"].bits_per_weight == 4.5


def test_mxfp4_has_the_levels_of_its_four_bit_floats() -> None:
    steps = [0, 0.5, 1, 1.5, 2, 3, 4, 6]
    weights = [sign * step for step in steps for sign in (1, -1)] * 2
    assert by_name(weights)["MXFP4"].values == tuple(weights)


@given(st.lists(st.floats(-4, 4, width=32), min_size=32, max_size=32))
def test_more_bits_never_move_a_weight_further(weights: list[float]) -> None:
    found = by_name(weights)
    largest = max(abs(w) for w in weights)
    for name, codes in (("Q8_0", 127), ("Q4_0", 8)):
        # Half a step of the scale, and what the scale loses as a 16-bit float: the smallest
        # are 2^-24 apart.
        assert found[name].worst <= largest / codes * (1 + 2**-10) + codes * 2**-25 + 1e-6
    assert found["BF16"].worst <= largest * 2**-8 + 1e-30


def test_a_block_of_zeros_is_no_error() -> None:
    assert all(trial.error == 0 for trial in trials([0.0] * 256))


def test_a_short_row_is_tried_in_what_it_fills() -> None:
    assert "TQ2_0" not in by_name([1.0] * 32)
    assert set(by_name([1.0] * 8)) == {"BF16"}


def test_everything_that_is_said_to_be_decoded_is() -> None:
    for name in DECODED - {"F32", "F16"}:
        kind = gguf.GGMLQuantizationType[name]
        _, size = gguf.GGML_QUANT_SIZES[kind]
        gguf.quants.dequantize(np.zeros(size, np.uint8), kind)
    assert set(TRIED) <= DECODED


def test_a_header_alone_says_that_the_weights_are_missing(tmp_path: Path) -> None:
    file_of(tmp_path / "a.gguf", w=np.ones((4, 256), np.float32))
    data = (tmp_path / "a.gguf").read_bytes()
    (tmp_path / "b.gguf").write_bytes(data[:-2048])
    file = open_file(tmp_path / "b.gguf")
    with pytest.raises(PageError, match="ends before the weights of w"):
        read_sample(file, file.tensors[0], 3, 0)


def test_a_file_that_changed_is_said_to_have_changed(tmp_path: Path) -> None:
    path = tmp_path / "a.gguf"
    file = file_of(path, w=np.ones((4, 256), np.float32))
    path.write_bytes(path.read_bytes() + b"more")
    with pytest.raises(PageError, match="changed since"):
        read_sample(file, file.tensors[0], 0, 0)


def test_a_type_that_nobody_decodes_is_refused_with_a_sentence(tmp_path: Path) -> None:
    file = file_of(tmp_path / "a.gguf", w=np.ones((1, 256), np.float32))
    odd = file.tensors[0]._replace(type_id=137, type_name="IQ2_K")
    assert not readable(odd)
    with pytest.raises(PageError, match="IQ2_K cannot be decoded"):
        read_sample(file, odd, 0, 0)


@pytest.mark.parametrize("odd", [float("nan"), float("inf"), float("-inf")])
def test_weights_that_are_no_numbers_are_counted_and_tried_in_no_format(
    tmp_path: Path, odd: float
) -> None:
    rows = np.ones((1, 256), np.float32)
    rows[0, 3] = rows[0, 40] = odd
    file = file_of(tmp_path / "a.gguf", w=rows)
    sample = read_sample(file, file.tensors[0], 0, 0)
    assert sample.odd == 2
    assert sample.levels(3) == ()
    assert trials(sample.values) == ()
    assert trials((1.0,) * 256)
