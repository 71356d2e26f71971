"""Good files: every version, byte order, value type and size, against independent oracles."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFEndian, GGUFReader, GGUFValueType, GGUFWriter

from core.gguf import open_file, read_header, read_page
from core.gguf.header import Array, ByteOrder, Kind, ValueType
from core.problems import Severity
from tests.support.gguf_files import (
    ARRAY,
    BOOL,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    STRING,
    U8,
    U16,
    U32,
    U64,
    TensorSpec,
    Typed,
    array,
    header_bytes,
    pad,
    u32,
    write,
)
from tests.support.heads import heads

SCALARS = {
    "u8": Typed(U8, 255),
    "i8": Typed(I8, -128),
    "u16": Typed(U16, 65_535),
    "i16": Typed(I16, -32_768),
    "u32": Typed(U32, 2**32 - 1),
    "i32": Typed(I32, -(2**31)),
    "f32": Typed(F32, 1.5),
    "bool": Typed(BOOL, True),
    "string": Typed(STRING, "▁hello"),
    "u64": Typed(U64, 2**64 - 1),
    "i64": Typed(I64, -(2**63)),
    "f64": Typed(F64, math.pi),
}
TENSORS = [
    TensorSpec("token_embd.weight", "Q4_K", (512, 100)),
    TensorSpec("blk.0.attn_q.weight", "F16", (512, 3)),
    TensorSpec("output_norm.weight", "F32", (7,)),
]


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("order", ["little", "big"])
def test_every_value_type_is_read_in_every_version_and_byte_order(
    tmp_path: Path, version: int, order: str
) -> None:
    """P10."""
    path = write(tmp_path / "a.gguf", SCALARS, TENSORS, version=version, byte_order=order)
    header = read_header(path)
    assert [p.code for p in header.problems] == [
        *["old-version"] * (version == 1),
        *["big-endian"] * (order == "big"),
    ]
    assert all(p.severity is Severity.NOTE for p in header.problems)
    assert header.version == version
    assert header.byte_order is ByteOrder(order)
    assert header.metadata == {key: typed.value for key, typed in SCALARS.items()}
    assert [entry.type for entry in header.entries] == [typed.type for typed in SCALARS.values()]
    assert [(t.name, t.shape, t.type_name, t.bytes) for t in header.tensors] == [
        ("token_embd.weight", (512, 100), "Q4_K", 512 * 100 // 256 * 144),
        ("blk.0.attn_q.weight", (512, 3), "F16", 512 * 3 * 2),
        ("output_norm.weight", (7,), "F32", 7 * 4),
    ]
    assert header.file_bytes == path.stat().st_size
    assert header.modified_ns == path.stat().st_mtime_ns


def test_versions_two_and_three_are_read_alike(tmp_path: Path) -> None:
    """P09."""
    two, three = (
        read_header(write(tmp_path / f"{version}.gguf", SCALARS, TENSORS, version=version))
        for version in (2, 3)
    )
    assert two.entries == three.entries
    assert two.tensors == three.tensors
    assert two.data_offset == three.data_offset


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize(
    ("element", "items"),
    [
        (U8, [0, 255]),
        (I8, [-128, 127]),
        (U16, [0, 65_535]),
        (I16, [-32_768, 32_767]),
        (U32, [0, 2**32 - 1]),
        (I32, [-(2**31), 2**31 - 1]),
        (F32, [0.0, -1.5, math.inf]),
        (BOOL, [True, False, True]),
        (STRING, ["", "a", "▁the", "\n"]),
        (U64, [0, 2**64 - 1]),
        (I64, [-(2**63), 2**63 - 1]),
        (F64, [math.pi, -math.inf]),
    ],
)
def test_a_short_array_of_every_element_type_is_kept_whole(
    tmp_path: Path, element: int, items: list[object], order: str
) -> None:
    path = write(
        tmp_path / "a.gguf", {"k": array(element, items), "after": u32(9)}, byte_order=order
    )
    header = read_header(path)
    value = header.metadata["k"]
    assert isinstance(value, Array)
    assert (value.element, value.count, value.items) == (element, len(items), tuple(items))
    assert header.metadata["after"] == 9
    assert read_page(header, value, 1, 2) == tuple(items[1:2])


def test_nested_arrays_are_read_to_the_depth_that_is_allowed(tmp_path: Path) -> None:
    inner = array(ARRAY, [array(U8, [1, 2, 3]), array(STRING, ["x", "yy"]), array(U8, [])])
    path = write(tmp_path / "a.gguf", {"k": array(ARRAY, [inner, inner]), "after": u32(9)})
    header = read_header(path)
    assert header.problems == ()
    assert header.metadata["after"] == 9
    value = header.metadata["k"]
    assert isinstance(value, Array)
    assert value.items is not None
    assert len(value.items) == 2
    second = value.items[1]
    assert isinstance(second, Array)
    assert second.items is not None
    assert [item.items for item in second.items if isinstance(item, Array)] == [
        (1, 2, 3),
        ("x", "yy"),
        (),
    ]


@pytest.mark.parametrize("order", ["little", "big"])
@pytest.mark.parametrize("version", [1, 3])
def test_any_page_of_a_large_array_is_what_was_written(
    tmp_path: Path, version: int, order: str
) -> None:
    words = ["x" * (i * 7 % 90) + str(i) for i in range(5_000)]
    numbers = list(range(20_000))
    lists = [array(I16, range(i % 5)) for i in range(3_000)]
    path = write(
        tmp_path / "a.gguf",
        {
            "words": array(STRING, words),
            "numbers": array(I32, numbers),
            "lists": array(ARRAY, lists),
        },
        version=version,
        byte_order=order,
    )
    header = read_header(path)
    word_array, number_array, list_array = header.metadata.values()
    assert isinstance(word_array, Array)
    assert isinstance(number_array, Array)
    assert isinstance(list_array, Array)
    assert word_array.items is number_array.items is list_array.items is None
    for start, stop in [(0, 3), (1023, 1025), (1024, 1030), (4_990, 9_999), (-5, 2), (7, 3)]:
        first, last = max(start, 0), max(stop, start, 0)
        assert read_page(header, word_array, start, stop) == tuple(words[first:last])
        assert read_page(header, number_array, start, stop) == tuple(numbers[first:last])
    assert read_page(header, word_array, 0, 5_000) == tuple(words)
    assert read_page(header, word_array, 5_000, 6_000) == ()
    page = read_page(header, list_array, 2_047, 2_050)
    assert [item.items for item in page if isinstance(item, Array)] == [
        (0, 1),
        (0, 1, 2),
        (0, 1, 2, 3),
    ]


def test_strings_longer_than_any_window_are_stepped_over(tmp_path: Path) -> None:
    words = ["a" * 300_000, "", "b" * 70, "c" * 1_000_000, *["d"] * 3_000]
    path = write(tmp_path / "a.gguf", {"words": array(STRING, words), "after": u32(9)})
    header = read_header(path)
    assert header.problems == ()
    assert header.metadata["after"] == 9
    value = header.metadata["words"]
    assert isinstance(value, Array)
    assert read_page(header, value, 0, 6) == tuple(words[:6])


def test_bytes_that_are_no_utf8_are_kept_exactly(tmp_path: Path) -> None:
    """P31."""
    tokens = [b"\x80", b"\xf0\x9f", b"\x00", b"", "▁the".encode(), "▁the".encode()]
    name = b"model \xff\xe2\x80\xaegpj.exe"
    path = write(tmp_path / "a.gguf", {"tokens": array(STRING, tokens), "general.name": name})
    header = read_header(path)
    value, kept = header.metadata["tokens"], header.metadata["general.name"]
    assert isinstance(value, Array)
    assert value.items is not None
    assert [str(item).encode("utf-8", "surrogateescape") for item in value.items] == tokens
    assert str(kept).encode("utf-8", "surrogateescape") == name


def test_a_token_of_a_megabyte_and_a_long_template_are_whole(tmp_path: Path) -> None:
    """P31."""
    template = "{% for ▁ in x %}\n" * 12_000
    path = write(
        tmp_path / "a.gguf",
        {"tokens": array(STRING, ["a", "b" * (1 << 20), "c"]), "tokenizer.chat_template": template},
    )
    header = read_header(path)
    assert header.metadata["tokenizer.chat_template"] == template
    value = header.metadata["tokens"]
    assert isinstance(value, Array)
    assert read_page(header, value, 1, 3) == ("b" * (1 << 20), "c")


def test_a_text_beyond_the_limit_is_cut_and_said_to_be(tmp_path: Path) -> None:
    path = write(tmp_path / "a.gguf", {"k": "é" * 3_000_000, "after": u32(9)})
    header = read_header(path)
    assert header.metadata["after"] == 9
    assert str(header.metadata["k"]).startswith("ééé")
    assert len(str(header.metadata["k"])) <= 1 << 20
    assert [p.code for p in header.problems] == ["long-text"]


@pytest.mark.parametrize(("table_end", "data_offset"), [(4095, 4096), (4096, 4096), (4097, 4128)])
def test_data_begins_at_the_next_boundary_and_not_one_block_later(
    tmp_path: Path, table_end: int, data_offset: int
) -> None:
    """P28."""
    tensors = [TensorSpec("a", "F32", (8,))]
    short = len(header_bytes({"k": ""}, tensors, padded=False))
    path = write(tmp_path / "a.gguf", {"k": "x" * (table_end - short)}, tensors)
    header = read_header(path)
    assert header.data_offset == data_offset
    assert header.file_bytes == data_offset + 32
    assert header.problems == ()


@pytest.mark.parametrize("alignment", [1, 8, 64, 4096])
def test_the_stated_alignment_is_used(tmp_path: Path, alignment: int) -> None:
    metadata = {"general.alignment": u32(alignment)}
    path = write(tmp_path / "a.gguf", metadata, TENSORS, alignment=alignment)
    header = read_header(path)
    assert header.alignment == alignment
    assert header.problems == ()
    assert header.data_offset == pad(len(header_bytes(metadata, TENSORS, padded=False)), alignment)


def test_empty_arrays_and_counts_of_zero_are_read(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.gguf",
        {
            "general.architecture": "llama",
            "llama.block_count": u32(0),
            "llama.attention.head_count_kv": array(I32, []),
            "llama.attention.sliding_window_pattern": array(BOOL, []),
            "tokenizer.ggml.tokens": array(STRING, []),
            "llama.nothing": array(ARRAY, []),
        },
    )
    header = read_header(path)
    assert header.problems == ()
    assert header.tensors == ()
    arrays = [value for value in header.metadata.values() if isinstance(value, Array)]
    assert [value.items for value in arrays] == [(), (), (), ()]
    assert read_header(write(tmp_path / "none.gguf")).problems == ()


def test_a_tensor_without_elements_or_without_dimensions_is_no_fault(tmp_path: Path) -> None:
    tensors = [
        TensorSpec("none", "F32", (4, 0)),
        TensorSpec("one", "F32", ()),
        TensorSpec("row", "Q4_K", (256,)),
    ]
    header = read_header(write(tmp_path / "a.gguf", {}, tensors))
    assert header.problems == ()
    assert [(t.bytes, t.parameters) for t in header.tensors] == [(0, 0), (4, 1), (144, 256)]


def test_per_layer_arrays_are_whole_however_long_the_vocabulary_is(tmp_path: Path) -> None:
    heads_per_layer = [2 if layer % 11 == 0 else 0 for layer in range(88)]
    path = write(
        tmp_path / "a.gguf",
        {
            "nemotron_h.attention.head_count_kv": array(I32, heads_per_layer),
            "tokenizer.ggml.tokens": array(STRING, ["token"] * 200_000),
        },
    )
    kv_heads, tokens = read_header(path).metadata.values()
    assert isinstance(kv_heads, Array)
    assert isinstance(tokens, Array)
    assert kv_heads.items == tuple(heads_per_layer)
    assert tokens.items is None
    assert tokens.count == 200_000


@pytest.mark.parametrize("name", sorted(heads()))
def test_headers_that_llama_cpp_wrote_give_its_own_sums(tmp_path: Path, name: str) -> None:
    head = heads()[name]
    file = open_file(head.write(tmp_path / f"{name}.gguf"))
    assert not file.header.problems
    assert sum(t.bytes for t in file.tensors) == head.weights_bytes
    assert sum(t.parameters for t in file.tensors) == head.parameters
    assert file.header.data_offset == len(head.data)


def test_such_a_header_alone_says_how_long_the_file_would_be(tmp_path: Path) -> None:
    head = heads()["llama-dense"]
    path = tmp_path / "a.gguf"
    path.write_bytes(head.data)
    (problem,) = read_header(path).problems
    assert problem.missing_bytes is not None
    # The last tensor's padding is no part of what is missing.
    assert 0 <= head.file_bytes - len(head.data) - problem.missing_bytes < 32


@pytest.mark.parametrize("endian", [GGUFEndian.LITTLE, GGUFEndian.BIG])
def test_a_file_of_the_packages_writer_is_read_as_the_packages_reader_reads_it(
    tmp_path: Path, endian: GGUFEndian
) -> None:
    path = tmp_path / "written.gguf"
    writer = GGUFWriter(path, "llama", endianess=endian)
    writer.add_block_count(2)
    writer.add_context_length(4096)
    writer.add_head_count_kv([8, 0])
    writer.add_float32("llama.rope.freq_base", 500000.0)
    writer.add_bool("tokenizer.ggml.add_bos_token", True)
    writer.add_key_value("big", 2**63, GGUFValueType.UINT64)
    writer.add_key_value("negative", -5, GGUFValueType.INT64)
    writer.add_array("tokenizer.ggml.tokens", [f"token {i}" for i in range(3_000)])
    writer.add_array("tokenizer.ggml.scores", [i / 2 for i in range(3_000)])
    writer.add_string("tokenizer.chat_template", "{{ ▁ }}")
    writer.add_tensor("token_embd.weight", np.zeros((10, 32), dtype=np.float32))
    writer.add_tensor("blk.0.attn_q.weight", np.zeros((5, 64), dtype=np.float16))
    writer.add_tensor(
        "blk.1.attn_q.weight",
        np.zeros((6, 34), dtype=np.uint8),
        raw_dtype=GGMLQuantizationType.Q8_0,
    )
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()

    header, oracle = read_header(path), GGUFReader(path)
    assert all(p.code == "big-endian" for p in header.problems)
    for key, value in header.metadata.items():
        field = oracle.fields[key]
        if isinstance(value, Array):
            # The reader hands out arrays of numbers in the machine's own order.
            assert list(read_page(header, value, 0, value.count)) == list(field.contents())
        else:
            assert value == field.contents()
    assert [
        (t.name, t.shape, t.type_name, t.bytes, header.data_offset + t.offset)
        for t in header.tensors
        if header.data_offset is not None
    ] == [
        (t.name, tuple(t.shape.tolist()), t.tensor_type.name, t.n_bytes, t.data_offset)
        for t in oracle.tensors
    ]


def test_the_large_header_of_a_modern_vocabulary_is_read(tmp_path: Path) -> None:
    """P40: the tensor table of a Gemma 4 begins 15.8 MB into the file."""
    # 262,144 tokens and 514,906 merges put the tensor table of a Gemma 4 at byte 15.8 million.
    path = write(
        tmp_path / "a.gguf",
        {
            "general.architecture": "gemma4",
            "tokenizer.ggml.tokens": array(STRING, ["▁token"] * 262_144),
            "tokenizer.ggml.merges": array(STRING, ["▁mer ges"] * 514_906),
        },
        [TensorSpec(f"blk.{i}.ffn_up.weight", "Q4_K", (256, 8)) for i in range(636)],
    )
    header = read_header(path)
    assert header.problems == ()
    assert len(header.tensors) == 636
    assert header.data_offset is not None
    assert header.data_offset > 13_000_000
    prefix = tmp_path / "prefix.gguf"
    prefix.write_bytes(path.read_bytes()[: header.data_offset])
    (problem,) = read_header(prefix).problems
    assert problem.code == "truncated"
    assert "header is complete" in problem.message


def test_a_hundred_thousand_tensors_are_read(tmp_path: Path) -> None:
    tensors = [TensorSpec(f"blk.{i}.x.weight", "F32", (8, 2)) for i in range(100_000)]
    file = open_file(write(tmp_path / "a.gguf", {"general.architecture": "llama"}, tensors))
    assert file.problems == ()
    assert file.kind is Kind.MODEL
    assert len(file.tensors) == 100_000
    assert file.tensors[-1].offset == 99_999 * 64


def test_value_types_have_the_numbers_of_the_format() -> None:
    assert {kind.name: int(kind) for kind in ValueType} == {
        kind.name: int(kind) for kind in GGUFValueType
    }


def test_a_big_endian_file_is_told_from_a_version_that_is_too_new(tmp_path: Path) -> None:
    """P10."""
    path = write(tmp_path / "a.gguf", {}, TENSORS, byte_order="big")
    assert struct.unpack("<I", path.read_bytes()[4:8]) == (50_331_648,)
    assert read_header(path).version == 3
