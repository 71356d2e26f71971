"""What the keys of a file do not say and llama.cpp knows by the architecture's name.

Taken from llama.cpp b11434 (``src/models/*.cpp``, ``llama_model::create_memory``). An architecture
that is not in a table here is judged by its keys and tensors alone.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class WindowDefault:
    """How an architecture with sliding windows fills in what its keys leave out.

    Every ``period``-th layer is full, the last of each group or, with ``dense_first``, the first;
    a period of 0 makes every layer windowed, None means that the file must bring a pattern.
    ``size`` stands in for a missing attention.sliding_window, ``fixed_size`` for any value of it.
    ``needs_key`` marks families that have windows only where the key is there and not 0;
    ``reads_pattern`` is False where the engine looks at no key for the pattern.
    """

    period: int | None
    dense_first: bool = False
    size: int | None = None
    fixed_size: int | None = None
    needs_key: bool = True
    chunked: bool = False
    reads_pattern: bool = True


WINDOWS: dict[str, WindowDefault] = {
    "afmoe": WindowDefault(4),
    "cohere2": WindowDefault(4),
    "cohere2moe": WindowDefault(4, dense_first=True),
    "deepseek4": WindowDefault(0, reads_pattern=False),
    "dflash": WindowDefault(None),
    "dots3note": WindowDefault(None),
    "exaone-moe": WindowDefault(4, size=128, needs_key=False),
    "exaone4": WindowDefault(4, size=4096, needs_key=False),  # only with 64 layers
    "gemma2": WindowDefault(2, size=4096, needs_key=False),
    "gemma3": WindowDefault(6),
    "gemma3n": WindowDefault(5),
    "gemma4": WindowDefault(None),
    "gpt-oss": WindowDefault(2),
    "granite_swa": WindowDefault(None),
    "laguna": WindowDefault(4, dense_first=True),
    "lfm2": WindowDefault(0, reads_pattern=False),
    "llama4": WindowDefault(4, fixed_size=8192, needs_key=False, chunked=True),
    "maple": WindowDefault(None),
    "mellum": WindowDefault(4),
    "mimo2": WindowDefault(None),
    "muse-glimmer": WindowDefault(4),
    "olmo2": WindowDefault(4),
    "plamo3": WindowDefault(8),
    "smallthinker": WindowDefault(4, dense_first=True, fixed_size=4096),
    "spark2_5": WindowDefault(None),
    "step35": WindowDefault(None),
}

# exaone4 has windows in its 32B alone, which llama.cpp tells by the number of layers.
EXAONE4_WINDOWED_LAYERS = 64

# The first layers own a cache, the rest read those of the last owners; the key is in newer files.
GEMMA3N_OWN_CACHE = 20

# No cache at all: those that read a text and write none, and so have no head,
ENCODERS = frozenset(
    (
        *("bert", "clef", "eurobert", "gemma-embedding", "jina-bert-v2", "jina-bert-v3"),
        *("modern-bert", "neo-bert", "nomic-bert", "nomic-bert-moe", "wavtokenizer-dec"),
    )
)
# and language models that write by diffusion.
DIFFUSION_TEXT = frozenset(("dream", "llada", "llada-moe", "rnd1"))

# A draft model that reads the cache of the model it drafts for.
READS_TARGET_CACHE = frozenset(("gemma4-assistant",))

# Every layer keeps a state, and none a cache.
RECURRENT = frozenset(("arwkv7", "mamba", "mamba2", "rwkv6", "rwkv6qwen2", "rwkv7"))
# Every layer keeps both.
PARALLEL = frozenset(("falcon-h1",))
# Every n-th layer is attention, the others keep a state; n where full_attention_interval is absent.
INTERVALS = {"minimax-01": 8, "qwen35": 4, "qwen35moe": 4, "qwen3next": 4, "qwen4exp": 4}
# Linear attention whose state is head size x head size for every head.
LIGHTNING = frozenset(("minimax-01",))
# The main context of these keeps rows for the draft block too.
DRAFT_IN_MAIN_CACHE = frozenset(
    (
        *("granitehybrid", "jamba", "kimi-k3", "kimi-linear", "lfm2", "lfm2moe", "plamo2"),
        *("bailingmoe3", "falcon-h1", "hy_v4", "minimax-m3"),
    )
)

# A state for every drafted token, to go back to (llm_arch_supports_rs_rollback).
ROLLBACK = frozenset(
    (
        *("bailingmoe3", "deepseek4", "glm5-next", "kimi-k3", "lfm2", "lfm2moe"),
        *("nemotron_h", "nemotron_h_moe", "qwen35", "qwen35moe", "qwen4exp"),
    )
)

# The engine turns flash attention off for these.
NO_FLASH_ATTENTION = frozenset(("grok",))

# A model of 1 M tokens and more without indexer.types is GLM 5.2: layers 0 and 1, then every
# fourth from layer 2 on, have an indexer of their own.
GLM_5_2_CONTEXT = 1_048_576

# What llama.cpp b11434 loads (LLM_ARCH_NAMES). It reads a window only for those in WINDOWS,
# whatever else stands in their keys; for a name that is not here the keys are believed.
KNOWN = frozenset(
    """
    afmoe apertus arcee arctic arwkv7 baichuan bailingmoe bailingmoe2 bailingmoe3 bert bitnet bloom
    chameleon chatglm clef codeshell cogvlm cohere2 cohere2moe command-r dbrx deci deepseek
    deepseek2 deepseek2-ocr deepseek32 deepseek4 dflash dots1 dots3note dream eagle3 ernie4_5
    ernie4_5-moe eurobert exaone exaone-moe exaone4 falcon falcon-h1 gemma gemma-embedding gemma2
    gemma3 gemma3n gemma4 gemma4-assistant glm-dsa glm4 glm4moe glm5-next gpt-oss gpt2 gptj gptneox
    granite granite_swa granitehybrid granitemoe graniteswitch grok grovemoe hrm_text hunyuan-dense
    hunyuan-moe hunyuan_vl hy_v3 hy_v4 internlm2 jais jais2 jamba jina-bert-v2 jina-bert-v3 kimi-k3
    kimi-linear laguna lfm2 lfm2moe llada llada-moe llama llama-embed llama4 maincoder mamba mamba2
    maple mellum mimo2 minicpm minicpm3 minimax-01 minimax-m2 minimax-m3 mistral3 mistral4
    modern-bert mpt muse-glimmer nanbeige nemotron nemotron_h nemotron_h_moe neo-bert nomic-bert
    nomic-bert-moe olmo olmo2 olmoe openelm orion paddleocr pangu-embedded phi2 phi3 phimoe plamo
    plamo2 plamo3 plm pockettts qwen qwen2 qwen2moe qwen2vl qwen3 qwen35 qwen35moe qwen3moe
    qwen3next qwen3tts qwen3vl qwen3vlmoe qwen4exp refact rnd1 rwkv6 rwkv6qwen2 rwkv7 seed_oss
    smallthinker smollm3 spark2_5 stablelm starcoder starcoder2 step35 t5 t5encoder talkie
    wavtokenizer-dec xverse
    """.split()  # noqa: SIM905 - a hundred quotation marks would hide the names
)
