"""The specimens: right about the models they stand for, and made anew to the same bytes."""

from __future__ import annotations

import runpy
from itertools import pairwise
from pathlib import Path

import pytest
from gguf import GGUFReader

from core.gguf import open_file
from core.gguf.header import Kind
from core.problems import Severity
from resources import specimens
from tests.support.quantized import recorded

ROOT = Path(__file__).resolve().parents[2]
EVERY = specimens()

# Parameters in billions, to the digits that the publisher gives: model cards and model pages.
PUBLISHED = {
    "DeepSeek-V3.1-Q4_K_M": "671",
    "Gemma-3-27B-it-Q4_K_M": "27.0",
    "LFM2-1.2B-Q4_K_M": "1.170340608",
    "Llama-3.1-8B-Instruct-Q4_K_M": "8.03",
    "Llama-3.2-1B-Instruct-Q4_K_M": "1.24",
    "Llama-3.3-70B-Instruct-Q4_K_M": "70.6",
    "Mistral-7B-Instruct-v0.3-Q4_K_M": "7.25",
    "Mixtral-8x7B-Instruct-v0.1-Q4_K_M": "46.7",
    "Qwen3-30B-A3B-Instruct-2507-Q4_K_M": "30.5",
    "Qwen3-4B-Instruct-2507-Q4_K_M": "4.02",
    "Qwen3.6-27B-Q4_K_M": "27.3",
    "Qwen3.6-35B-A3B-Q4_K_M": "35.505251456",
    "gpt-oss-120b-MXFP4": "116.83",
    "gpt-oss-20b-MXFP4": "20.91",
}

# The same model and recipe in llama.cpp's own answers.
RECORDED = {
    "DeepSeek-V3.1-Q4_K_M": ("deepseek-v3.1", "Q4_K_M"),
    "Gemma-3-27B-it-Q4_K_M": ("gemma3-27b", "Q4_K_M"),
    "LFM2-1.2B-Q4_K_M": ("lfm2-1.2b", "Q4_K_M"),
    "Llama-3.1-8B-Instruct-Q4_K_M": ("llama-3.1-8b", "Q4_K_M"),
    "Llama-3.2-1B-Instruct-Q4_K_M": ("llama-3.2-1b", "Q4_K_M"),
    "Llama-3.3-70B-Instruct-Q4_K_M": ("llama-3.3-70b", "Q4_K_M"),
    "Mixtral-8x7B-Instruct-v0.1-Q4_K_M": ("mixtral-8x7b", "Q4_K_M"),
    "Qwen3-30B-A3B-Instruct-2507-Q4_K_M": ("qwen3-30b-a3b", "Q4_K_M"),
    "Qwen3-4B-Instruct-2507-Q4_K_M": ("qwen3-4b", "Q4_K_M"),
    "Qwen3.6-35B-A3B-Q4_K_M": ("qwen3.5-35b-a3b", "Q4_K_M"),
    "gpt-oss-20b-MXFP4": ("gpt-oss-20b", "MXFP4_MOE"),
}


def _specimen(name: str) -> Path:
    return next(path for path in EVERY if path.stem == name)


def test_every_specimen_has_a_published_size_and_every_size_a_specimen() -> None:
    assert {path.stem for path in EVERY} == set(PUBLISHED)


def test_all_specimens_together_are_small_on_disk() -> None:
    assert sum(path.stat().st_size for path in EVERY) < 1_000_000


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_a_specimen_opens_as_a_model_with_nothing_to_complain_about(path: Path) -> None:
    file = open_file(path)
    assert file.kind is Kind.MODEL
    assert file.header.version == 3
    assert [p.code for p in file.problems if p.severity is not Severity.NOTE] == []
    assert file.header.data_offset == path.stat().st_size
    assert file.header.metadata["tokenizer.ggml.model"] == "none"
    assert str(file.header.metadata["weighbridge.specimen"])


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_a_specimen_has_the_parameters_that_were_published(path: Path) -> None:
    parameters = sum(tensor.parameters for tensor in open_file(path).tensors)
    published = PUBLISHED[path.stem]
    digits = len(published.partition(".")[2])
    assert f"{parameters / 1e9:.{digits}f}" == published


@pytest.mark.parametrize("name", RECORDED)
def test_a_specimen_has_the_tensors_that_llama_cpp_makes_of_this_model(name: str) -> None:
    label, recipe = RECORDED[name]
    model = recorded("quantized_models", label)
    case = model.case(recipe)
    theirs = {t.name: (t.shape, kind) for t, kind in zip(model.tensors, case.types, strict=True)}
    ours = {t.name: (t.shape, t.type_name) for t in open_file(_specimen(name)).tensors}
    assert ours == theirs
    assert sum(t.bytes for t in open_file(_specimen(name)).tensors) == case.bytes


@pytest.mark.parametrize(
    ("name", "tensors", "data_bytes"),
    [
        # llama.cpp build 11434: the same tables as F16, `llama_model_quantize` with dry_run.
        ("Mistral-7B-Instruct-v0.3-Q4_K_M", 291, 4_372_054_016),
        ("Qwen3.6-27B-Q4_K_M", 866, 16_799_719_424),
        ("gpt-oss-120b-MXFP4", 687, 63_374_323_968),
    ],
)
def test_a_model_that_was_not_recorded_weighs_what_llama_cpp_says(
    name: str, tensors: int, data_bytes: int
) -> None:
    file = open_file(_specimen(name))
    assert len(file.tensors) == tensors
    assert sum(tensor.bytes for tensor in file.tensors) == data_bytes


def test_the_published_file_of_llama_3_1_8b_is_larger_by_its_tokenizer_only() -> None:
    # Meta-Llama-3.1-8B-Instruct-Q4_K_M.gguf: 4,920,739,232 bytes in 292 tensors; 128,256 tokens
    # and 280,147 merges take 7.8 MB.
    file = open_file(_specimen("Llama-3.1-8B-Instruct-Q4_K_M"))
    assert len(file.tensors) == 292
    assert 7_700_000 < 4_920_739_232 - sum(t.bytes for t in file.tensors) < 7_900_000


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_the_table_of_a_specimen_is_that_of_a_whole_file(path: Path) -> None:
    tensors = open_file(path).tensors
    assert tensors[0].offset == 0
    for before, after in pairwise(tensors):
        assert after.offset == -(-(before.offset + before.bytes) // 32) * 32


def test_the_reference_reader_reads_the_same_header(tmp_path: Path) -> None:
    # It maps the whole data section, so the specimen is given its length, as a hole.
    path = _specimen("Llama-3.2-1B-Instruct-Q4_K_M")
    ours = open_file(path)
    last = ours.tensors[-1]
    whole = tmp_path / path.name
    whole.write_bytes(path.read_bytes())
    with whole.open("ab") as file:
        file.truncate(path.stat().st_size + last.offset + last.bytes)
    theirs = GGUFReader(whole)
    assert [(t.name, tuple(map(int, t.shape)), int(t.n_bytes)) for t in theirs.tensors] == [
        (t.name, t.shape, t.bytes) for t in ours.tensors
    ]
    keys = {key: theirs.fields[key].contents() for key in ours.header.metadata}
    assert keys == dict(ours.header.metadata)


def test_making_the_specimens_again_gives_the_same_bytes(tmp_path: Path) -> None:
    script = runpy.run_path(str(ROOT / "packaging" / "make_specimens.py"))
    script["main"](tmp_path)
    made = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    kept = {p.name: p.read_bytes() for p in (ROOT / "resources" / "specimens").iterdir()}
    assert made.keys() == kept.keys()
    assert [name for name in made if made[name] != kept[name]] == []
