"""What a file is for: told from its own words, never refused."""

from __future__ import annotations

from collections.abc import Mapping

from core.gguf.header import Header, Kind, Tensor, Value
from core.gguf.text import display, excerpt
from core.language import mark, tr
from core.problems import Problem, Severity

# Architectures of llama.cpp that answer with vectors and write no text.
_EMBEDDING = {
    *("bert", "nomic-bert", "nomic-bert-moe", "jina-bert-v2", "jina-bert-v3", "modern-bert"),
    *("neo-bert", "eurobert", "gemma-embedding", "llama-embed", "t5encoder"),
}
# LLAMA_POOLING_TYPE_MEAN to _RANK; 0 is none and 2^32 - 1 is not specified.
_POOLING = range(1, 5)
# Language models that write by diffusion (llama.cpp), then image and video models, by the names
# that stable-diffusion.cpp and ComfyUI-GGUF write.
_DIFFUSION = {
    *("dream", "llada", "llada-moe", "rnd1"),
    *("flux", "flux2", "sd1", "sd2", "sd3", "sdxl", "aura", "auraflow", "ltxv", "hyvid", "wan"),
    *("lumina", "lumina2", "hidream", "cosmos", "chroma", "qwen_image", "z_image", "pixart"),
}
_SPEECH = {
    *("wavtokenizer-dec", "qwen3tts", "pockettts", "whisper", "outetts", "csm", "dia", "kokoro"),
    *("parler-tts", "bark", "chatterbox", "cosyvoice", "sensevoice", "parakeet", "vibevoice"),
    *("snac", "dac", "mimi", "encodec"),
}
_BUNDLED = ("v.", "mm.", "a.", "mtp.")


def kind_of(header: Header) -> Kind:
    """The kind of one file by its metadata. A shard without metadata of its own is a SHARD."""
    metadata, tensors = header.metadata, header.tensors
    architecture = _word(metadata, "general.architecture")
    stated = _word(metadata, "general.type")
    if header.version is None:
        return Kind.UNKNOWN
    if architecture == "clip" or stated in ("mmproj", "clip-vision"):
        return Kind.PROJECTOR
    if architecture == "controlvector":
        return Kind.CONTROL_VECTOR
    if stated == "adapter" or any(key.startswith("adapter.") for key in metadata):
        return Kind.ADAPTER
    if stated == "imatrix" or "imatrix.chunk_count" in metadata or "imatrix.datasets" in metadata:
        return Kind.IMATRIX
    if not architecture:
        return Kind.SHARD if _is_later_shard(metadata) else Kind.UNKNOWN
    if architecture in _DIFFUSION or any(key.startswith("diffusion.") for key in metadata):
        return Kind.DIFFUSION
    if architecture in _SPEECH:
        return Kind.SPEECH
    if not tensors:
        complete = header.data_offset is not None
        return Kind.VOCABULARY if complete and _has_vocabulary(metadata) else Kind.UNKNOWN
    pooled = metadata.get(f"{architecture}.pooling_type") in _POOLING
    two_way = metadata.get(f"{architecture}.attention.causal") is False
    return Kind.EMBEDDING if pooled or two_way or architecture in _EMBEDDING else Kind.MODEL


def describe(kind: Kind, header: Header) -> list[Problem]:
    """What the kind means for the one who opened the file; nothing for a plain model."""
    text = _DESCRIPTIONS.get(kind)
    notes = []
    if text:
        name = display(header.path.name)
        notes.append(Problem(kind.value, tr(text[0], name=name), Severity.NOTE, tr(text[1])))
    if kind in (Kind.MODEL, Kind.EMBEDDING):
        notes += _bundled(header.tensors)
    return notes


_DESCRIPTIONS: dict[Kind, tuple[str, str]] = {
    Kind.PROJECTOR: (
        mark(
            "{name} is a projector: the part that turns pictures or sound into tokens for a text "
            "model."
        ),
        mark(
            "It adds to the memory of the model that it is loaded with (--mmproj). Open that model."
        ),
    ),
    Kind.ADAPTER: (
        mark("{name} is an adapter (LoRA): changes to a model, not a model."),
        mark("It is loaded beside the model that it was made for (--lora). Open that model."),
    ),
    Kind.IMATRIX: (
        mark("{name} is an importance matrix: statistics for quantizing a model."),
        mark("It is given to llama-quantize (--imatrix) and is never loaded with a model."),
    ),
    Kind.CONTROL_VECTOR: (
        mark("{name} is a control vector: a direction added to a model's layers."),
        mark(
            "It is loaded beside the model that it was made for (--control-vector). Open that "
            "model."
        ),
    ),
    Kind.VOCABULARY: (
        mark("{name} is a vocabulary without weights."),
        mark("It serves to test tokenizers and cannot write."),
    ),
    Kind.EMBEDDING: (
        mark("{name} is an embedding or reranking model: it turns text into vectors or scores."),
        mark("It writes no text, so it has no decode speed."),
    ),
    Kind.DIFFUSION: (
        mark("{name} is a diffusion model: it works on the whole result at once, in steps."),
        mark("It does not write token by token, so it has no decode speed and keeps no cache."),
    ),
    Kind.SPEECH: (
        mark("{name} is a speech model: its tokens are sound."),
        mark("Its speed is in frames of sound, not in words."),
    ),
    Kind.SHARD: (
        mark("{name} is one shard of a model; the metadata is in the first."),
        mark("Put all shards into one folder and open any of them."),
    ),
}


def _bundled(tensors: tuple[Tensor, ...]) -> list[Problem]:
    """Ollama writes the vision, audio and draft parts into the model's own file."""
    extra = [t for t in tensors if t.name.startswith(_BUNDLED)]
    if not extra:
        return []
    return [
        Problem(
            "bundled-parts",
            tr(
                "The file also holds {count:,} tensors of its vision, audio or draft part (the "
                "first is {name}), as files made by Ollama do; llama-server expects them in a "
                "file of their own and may refuse this one.",
                count=len(extra),
                name=excerpt(extra[0].name),
            ),
            Severity.NOTE,
        )
    ]


def _word(metadata: Mapping[str, Value], key: str) -> str:
    value = metadata.get(key)
    return value.lower() if isinstance(value, str) else ""


def _is_later_shard(metadata: Mapping[str, Value]) -> bool:
    count, number = metadata.get("split.count"), metadata.get("split.no")
    return isinstance(count, int) and count > 1 and isinstance(number, int)


def _has_vocabulary(metadata: Mapping[str, Value]) -> bool:
    return any(key.startswith("tokenizer.") for key in metadata)
