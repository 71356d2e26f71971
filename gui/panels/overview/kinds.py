"""What files that are no plain language model are for, in words for people."""

from __future__ import annotations

from core.gguf.header import Kind
from core.language import mark

EXPLAINED: dict[Kind, tuple[str, str]] = {
    Kind.EMBEDDING: (
        mark("Embedding model"),
        mark(
            "It turns a whole text into one vector, for search or ranking, and writes nothing. So "
            "there is no decode speed and no cache that grows; memory is its weights and the "
            "buffers for one batch."
        ),
    ),
    Kind.PROJECTOR: (
        mark("Projector"),
        mark(
            "It translates pictures or sound into what a language model reads and cannot write by "
            "itself. Load it together with its language model (llama-server --mmproj); its weights "
            "and work buffers come on top of that model's memory."
        ),
    ),
    Kind.ADAPTER: (
        mark("Adapter"),
        mark(
            "Small changes to the weights of another model (LoRA). It is loaded over that base "
            "model (llama-server --lora) and adds its own weights to the memory."
        ),
    ),
    Kind.IMATRIX: (
        mark("Importance matrix"),
        mark(
            "It says which weights of a model matter most. llama-quantize reads it (--imatrix) "
            "while it makes a smaller file; it is not needed to run one."
        ),
    ),
    Kind.CONTROL_VECTOR: (
        mark("Control vector"),
        mark(
            "Directions that push a model towards a style or a mood. It is loaded over the model "
            "that it was made for (llama-server --control-vector) and needs little memory."
        ),
    ),
    Kind.VOCABULARY: (
        mark("Vocabulary"),
        mark(
            "A tokenizer without weights: enough to turn text into tokens and back, for tests and "
            "for counting tokens, but nothing here can write."
        ),
    ),
    Kind.DIFFUSION: (
        mark("Diffusion model"),
        mark(
            "It works on the whole result in several passes instead of token after token, so "
            "tokens per second and a growing cache mean nothing here. Its weights and their "
            "formats are shown below."
        ),
    ),
    Kind.SPEECH: (
        mark("Speech model"),
        mark(
            "It listens or speaks: made for whisper.cpp or a speech program and not for "
            "llama-server. Its weights and their formats are shown below."
        ),
    ),
    Kind.SHARD: (
        mark("One part of a model"),
        mark(
            "The model is split over several files and the first, which holds the metadata, was "
            "not found. Put all parts into one folder and open any of them."
        ),
    ),
    Kind.UNKNOWN: (
        mark("Unknown kind"),
        mark(
            "Nothing in the file says what it is for. Whatever could be read is shown; figures "
            "about memory and speed may not apply."
        ),
    ),
}
