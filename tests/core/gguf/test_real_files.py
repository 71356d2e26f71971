"""Two published model files, read as the gguf package reads them."""

from __future__ import annotations

from pathlib import Path

import pytest
from gguf import GGUFReader

from core.gguf import open_file, read_page
from core.gguf.header import Array, Kind

pytestmark = pytest.mark.download


def test_gemma_3_has_its_published_figures(gemma3_270m: Path) -> None:
    file = open_file(gemma3_270m)
    assert file.problems == ()
    assert file.kind is Kind.MODEL
    assert file.file_bytes == 253_113_024
    assert len(file.tensors) == 236
    assert sum(t.bytes for t in file.tensors) == 246_587_904
    metadata = file.header.metadata
    assert metadata["general.architecture"] == "gemma3"
    assert metadata["gemma3.block_count"] == 18
    assert metadata["gemma3.attention.sliding_window"] == 512
    tokens = metadata["tokenizer.ggml.tokens"]
    assert isinstance(tokens, Array)
    assert tokens.count == 262_144
    assert read_page(file.header, tokens, 0, 4) == ("<pad>", "<eos>", "<bos>", "<unk>")
    page = read_page(file.header, tokens, 262_140, 262_144)
    assert len(page) == 4
    # The data section ends with the file.
    last = max(file.tensors, key=lambda t: t.offset)
    assert file.header.data_offset is not None
    assert 0 <= 253_113_024 - file.header.data_offset - last.offset - last.bytes < 32


def test_smollm2_is_read_as_the_packages_reader_reads_it(smollm2_135m: Path) -> None:
    file, oracle = open_file(smollm2_135m), GGUFReader(smollm2_135m)
    assert file.problems == ()
    header = file.header
    assert header.data_offset == oracle.data_offset
    assert header.alignment == oracle.alignment
    assert [
        (t.name, t.shape, t.type_name, t.bytes, t.parameters, oracle.data_offset + t.offset)
        for t in file.tensors
    ] == [
        (
            t.name,
            tuple(t.shape.tolist()),
            t.tensor_type.name,
            t.n_bytes,
            t.n_elements,
            t.data_offset,
        )
        for t in oracle.tensors
    ]
    stated = [name for name in oracle.fields if not name.startswith("GGUF.")]
    assert [entry.key for entry in header.entries] == stated
    for key, value in header.metadata.items():
        contents = oracle.fields[key].contents()
        if isinstance(value, Array):
            assert read_page(header, value, 0, value.count) == tuple(contents)
        else:
            assert value == contents
