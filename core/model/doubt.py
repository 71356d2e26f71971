"""When an architecture is new: whether its keys and tensors are all of kinds that have a rule."""

from __future__ import annotations

from core.gguf.header import Array
from core.gguf.text import excerpt
from core.language import tr
from core.model import architectures
from core.model.compressed import compressed_of
from core.model.indexers import INDEXER_KEY_LENGTH
from core.model.keys import Keys
from core.model.outline import Outline
from core.model.roles import FUSED, INDEXER, KEYS, LATENT, STATE, Survey

# Words that stand in the keys of caches which are not one row per token and layer.
_HINTS = (
    *("compress", "sparse", "linear", "recurrent", "ssm.", "state", "conv", "wkv", "kda."),
    *("lightning", "retention", "kv_lora", "chunk", "shared_kv", "cache", "indexer", "mamba"),
    *("cross_attention", "memory", "dilat", "stride", "loops", "cycles"),
)
# Keys with such a word that the rules read, or that say nothing about the cache.
_READ = frozenset(
    (
        *("attention.compress_ratios", "attention.recurrent_layers", "attention.shared_kv_layers"),
        *("attention.kv_lora_rank", "attention.kv_lora_rank_swa", "kda.head_dim", "num_loops"),
        *("ssm.conv_kernel", "ssm.inner_size", "ssm.state_size", "ssm.group_count"),
        *("ssm.time_step_rank", "ssm.dt_b_c_rms", "shortconv.l_cache", "wkv.head_size"),
        *("kda.safe_gate", "kda.gate_lower_bound", "expert_chunk_feed_forward_length"),
        *("attention.compress_rope_freq_base", "rope.scale_linear", "hrm.h_cycles", "hrm.l_cycles"),
        *(f"attention.indexer.{name}" for name in ("head_count", "key_length", "top_k")),
        *(f"attention.indexer.{name}" for name in ("block_size", "kpool", "kpool_select_tail")),
        *(f"attention.indexer.{name}" for name in ("local_blocks", "types")),
    )
)
_ELSEWHERE = ("activation.", "clip.", "expert", "ple.", "rope.", "vision.")


def doubt_of(keys: Keys, outline: Outline, survey: Survey) -> str:
    """Why a new architecture cannot be judged, or "". Known names are never doubted."""
    architecture = outline.architecture
    if architecture in architectures.KNOWN:
        return ""
    who = excerpt(architecture) or tr("An unnamed architecture")
    compressed = compressed_of(keys, outline)
    hybrid = any(survey.marks.get(n, 0) & STATE for n in range(outline.trunk))
    if compressed is not None and not compressed.fitting and not hybrid:
        return tr("{who} compresses its cache in a way that is not modelled", who=who)
    if keys.flag("attention.causal") is False:
        return tr(
            "{who} is a new architecture that reads a text in both directions at once", who=who
        )
    if keys.count("attention.kv_lora_rank") and not outline.latent:
        return tr(
            "{who} keeps latent rows, and no attention.key_length_mla says how the engine does",
            who=who,
        )
    hint = _hint(keys)
    if hint:
        return tr(
            "{who} is a new architecture and its key {key} has no rule here",
            who=who,
            key=excerpt(hint),
        )
    single = hybrid and 0 in outline.feed_forward  # each layer is one thing alone
    for n in range(outline.trunk) if survey.marks else ():
        mark = survey.marks.get(n, 0)
        if single and outline.feed_forward[n]:
            continue
        if outline.kv_heads[n] and not mark & (KEYS | FUSED | STATE):
            return tr(
                "{who} is a new architecture and its layer {layer} has no attention that is known",
                who=who,
                layer=n,
            )
        if mark & LATENT and not outline.latent and compressed is None:
            return tr(
                "{who} keeps latent rows in layer {layer}, and no key says how wide they are",
                who=who,
                layer=n,
            )
        if mark & INDEXER and not keys.count(INDEXER_KEY_LENGTH):
            return tr(
                "{who} has an indexer in layer {layer}, and no key says how wide its rows are",
                who=who,
                layer=n,
            )
    return ""


def _hint(keys: Keys) -> str:
    for name in keys.names():
        if name in _READ or name.startswith(_ELSEWHERE):
            continue
        if any(word in name for word in _HINTS):
            value = keys.value(name)
            says = value.count > 0 if isinstance(value, Array) else bool(value)
            if says:
                return name
    return ""
