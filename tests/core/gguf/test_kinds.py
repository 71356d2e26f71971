"""What a file is for, in its own words."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from core.gguf import open_file
from core.gguf.header import Kind
from core.problems import Severity
from tests.support.gguf_files import (
    STRING,
    Metadata,
    TensorSpec,
    array,
    f32,
    i32,
    u32,
    write,
)
from tests.support.heads import heads

TENSORS = [TensorSpec("blk.0.attn_q.weight", "F32", (8, 8))]
TOKENS = {"tokenizer.ggml.model": "gpt2", "tokenizer.ggml.tokens": array(STRING, ["a", "b"])}


@pytest.mark.parametrize(
    ("kind", "metadata", "tensors"),
    [
        (Kind.MODEL, {"general.architecture": "llama", "general.type": "model"}, TENSORS),
        (Kind.MODEL, {"general.architecture": "never-heard-of"}, TENSORS),
        (Kind.MODEL, {"general.architecture": "qwen3", "qwen3.pooling_type": u32(0)}, TENSORS),
        (Kind.PROJECTOR, {"general.architecture": "clip", "general.type": "mmproj"}, TENSORS),
        (Kind.PROJECTOR, {"general.architecture": "clip", "general.type": "clip-vision"}, TENSORS),
        (Kind.PROJECTOR, {"general.architecture": "clip"}, TENSORS),
        (Kind.ADAPTER, {"general.architecture": "llama", "general.type": "adapter"}, TENSORS),
        (Kind.ADAPTER, {"general.architecture": "llama", "adapter.lora.alpha": f32(16.0)}, TENSORS),
        (Kind.IMATRIX, {"general.type": "imatrix", "imatrix.chunk_count": u32(10)}, TENSORS),
        (Kind.IMATRIX, {"imatrix.datasets": array(STRING, ["wiki.txt"])}, TENSORS),
        (Kind.CONTROL_VECTOR, {"general.architecture": "controlvector"}, TENSORS),
        (Kind.VOCABULARY, {"general.architecture": "llama", **TOKENS}, []),
        (Kind.EMBEDDING, {"general.architecture": "bert", "bert.pooling_type": u32(2)}, TENSORS),
        (Kind.EMBEDDING, {"general.architecture": "nomic-bert-moe"}, TENSORS),
        (Kind.EMBEDDING, {"general.architecture": "gemma-embedding"}, TENSORS),
        (Kind.EMBEDDING, {"general.architecture": "qwen3", "qwen3.pooling_type": u32(3)}, TENSORS),
        (Kind.EMBEDDING, {"general.architecture": "qwen3", "qwen3.pooling_type": u32(4)}, TENSORS),
        (Kind.EMBEDDING, {"general.architecture": "x", "x.attention.causal": False}, TENSORS),
        (Kind.DIFFUSION, {"general.architecture": "flux"}, TENSORS),
        (Kind.DIFFUSION, {"general.architecture": "sdxl"}, TENSORS),
        (
            Kind.DIFFUSION,
            {"general.architecture": "dream", "dream.attention.causal": False},
            TENSORS,
        ),
        (
            Kind.DIFFUSION,
            {"general.architecture": "qwen2", "diffusion.shift_logits": True},
            TENSORS,
        ),
        (Kind.SPEECH, {"general.architecture": "wavtokenizer-dec"}, TENSORS),
        (Kind.SHARD, {"split.no": i32(1), "split.count": i32(2)}, TENSORS),
        (Kind.UNKNOWN, {"general.name": "no architecture"}, TENSORS),
        (Kind.UNKNOWN, {"general.architecture": "llama"}, []),
        (Kind.UNKNOWN, {}, []),
    ],
)
def test_the_kind_is_told_from_the_metadata(
    tmp_path: Path, kind: Kind, metadata: Metadata, tensors: list[TensorSpec]
) -> None:
    """P32."""
    file = open_file(write(tmp_path / "a.gguf", metadata, tensors))
    assert file.kind is kind
    notes = [p for p in file.problems if p.code == kind.value]
    if kind in (Kind.MODEL, Kind.UNKNOWN):
        assert notes == []
    else:
        assert [p.severity for p in notes] == [Severity.NOTE]


def test_an_architecture_that_is_no_text_is_no_exception(tmp_path: Path) -> None:
    file = open_file(write(tmp_path / "a.gguf", {"general.architecture": u32(7)}, TENSORS))
    assert file.kind is Kind.UNKNOWN


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("llama-dense", Kind.MODEL),
        ("qwen35moe-moe", Kind.MODEL),
        ("gpt-oss-moe", Kind.MODEL),
        ("mamba2-dense", Kind.MODEL),
        ("llada-dense", Kind.DIFFUSION),
        ("rnd1-moe", Kind.DIFFUSION),
        ("qwen3tts-dense", Kind.SPEECH),
        ("pockettts-dense", Kind.SPEECH),
    ],
)
def test_headers_that_llama_cpp_wrote_are_of_their_kind(
    tmp_path: Path, name: str, kind: Kind
) -> None:
    # They carry every key there is; a pooling type of 2^32 - 1 says that none was chosen.
    assert open_file(heads()[name].write(tmp_path / "a.gguf")).kind is kind


DIGEST = "0123456789abcdef" * 4


@pytest.fixture
def blob(tmp_path: Path) -> Path:
    folder = tmp_path / "models" / "blobs"
    folder.mkdir(parents=True)
    tensors = [
        *[TensorSpec(f"blk.{i}.attn_q.weight", "F32", (8, 8)) for i in range(6)],
        TensorSpec("v.patch_embd.weight", "F32", (8, 8)),
        TensorSpec("mm.0.weight", "F32", (8, 8)),
        TensorSpec("a.conv.weight", "F32", (8, 8)),
    ]
    metadata: Metadata = {
        "general.architecture": "gemma4",
        "gemma4.rope.dimension_sections": array(5, [16, 24, 24]),
    }
    return write(folder / f"sha256-{DIGEST}", metadata, tensors)


def manifest(blob: Path, *parts: str, content: object) -> None:
    path = blob.parent.parent.joinpath("manifests", *parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(content if isinstance(content, str) else json.dumps(content))


def layers(digest: str, media: str = "application/vnd.ollama.image.model") -> object:
    return {
        "schemaVersion": 2,
        "layers": [
            {"mediaType": "application/vnd.ollama.image.template", "digest": "sha256:ff"},
            {"mediaType": media, "digest": f"sha256:{digest}", "size": 1},
        ],
    }


def test_a_blob_of_ollama_opens_without_an_extension_and_names_its_extra_parts(blob: Path) -> None:
    """P36."""
    file = open_file(blob)
    assert file.kind is Kind.MODEL
    assert len(file.tensors) == 9
    notes = {p.code: p for p in file.problems}
    assert set(notes) == {"bundled-parts", "ollama-blob"}
    assert "3 tensors" in notes["bundled-parts"].message
    assert "llama-server" in notes["bundled-parts"].message
    assert all(p.severity is Severity.NOTE for p in file.problems)


@pytest.mark.parametrize(
    ("parts", "name"),
    [
        (("registry.ollama.ai", "library", "gemma4", "e4b"), "gemma4:e4b"),
        (("registry.ollama.ai", "someone", "tuned", "latest"), "someone/tuned:latest"),
    ],
)
def test_the_manifest_beside_the_store_gives_a_blob_its_name(
    blob: Path, parts: tuple[str, ...], name: str
) -> None:
    """P36."""
    manifest(blob, "registry.ollama.ai", "library", "other", "1b", content=layers("e" * 64))
    manifest(blob, "registry.ollama.ai", "library", "bad", "1b", content="{not json")
    manifest(blob, "registry.ollama.ai", "library", "odd", "1b", content=[1, 2])
    manifest(blob, *parts, content=layers(DIGEST))
    (note,) = [p for p in open_file(blob).problems if p.code == "ollama-blob"]
    assert note.message.endswith(f", {name}.")


def test_a_blob_that_no_manifest_names_says_so(blob: Path) -> None:
    manifest(blob, "h", "library", "m", "1", content=layers(DIGEST, "application/vnd.other"))
    (note,) = [p for p in open_file(blob).problems if p.code == "ollama-blob"]
    assert "No manifest" in note.advice
