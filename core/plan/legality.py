"""What an engine refuses, ignores or does badly, said before it fails."""

from __future__ import annotations

from core.language import either, listed, tr
from core.machine.machine import Backend
from core.model.cache_size import BLOCKS
from core.model.model import Model
from core.plan.choice import CUDA_ATTENDS, UNPACKED, Choice, Engine, FlashAttention
from core.plan.engines import RULES, BeyondTraining
from core.plan.growth import context_per_request
from core.plan.plan import Settings
from core.problems import Problem, Severity


def problems_of(model: Model, choice: Choice, settings: Settings) -> list[Problem]:
    """Combinations that the engine refuses, ignores or runs slowly, worst first."""
    return [
        *_cache_types(choice),
        *_flash_attention(model, choice, settings),
        *_latent(model, choice),
        *_indivisible(model, choice),
        *_no_kernel(model, settings),
        *_wide_latent(model, choice),
        *_beyond_training(model, choice, settings),
    ]


def _illegal(message: str, advice: str) -> Problem:
    return Problem("illegal", message, advice=advice)


def _cache_types(choice: Choice) -> list[Problem]:
    """Types that the engine has no option for, and two where one option sets both."""
    rules = RULES[choice.engine]
    name = rules.name
    asked = dict.fromkeys((choice.cache_k, choice.cache_v))
    unknown = [kind for kind in asked if kind not in rules.cache_types]
    if unknown:
        words = either(unknown)
        known = listed(rules.cache_types)
        message = (
            tr(
                "{engine} ignores the type {type}: it knows {known}.",
                engine=name,
                type=words,
                known=known,
            )
            if choice.engine is Engine.OLLAMA
            else tr(
                "{engine} has no cache type {type}: it knows {known}.",
                engine=name,
                type=words,
                known=known,
            )
        )
        return [_illegal(message, tr("Choose one of them, or another engine."))]
    if rules.one_cache_type and len(asked) > 1:
        return [
            _illegal(
                tr(
                    "{engine} sets K and V with one option, {option}: they cannot be "
                    "{k_type} and {v_type}.",
                    engine=name,
                    option=rules.one_cache_type,
                    k_type=choice.cache_k,
                    v_type=choice.cache_v,
                ),
                tr("Choose the same type for K and V."),
            )
        ]
    return []


def _flash_attention(model: Model, choice: Choice, settings: Settings) -> list[Problem]:
    if settings.flash_attention or choice.engine is Engine.VLLM:  # its attention has no switch
        return []
    why = (
        tr("flash attention is off")
        if choice.flash_attention is FlashAttention.OFF
        else tr("{architecture} runs without flash attention", architecture=model.architecture)
    )
    if choice.engine is Engine.OLLAMA and choice.cache_k not in UNPACKED:
        return [
            _illegal(
                tr(
                    "Ollama needs flash attention for OLLAMA_KV_CACHE_TYPE={type}, and {why}.",
                    type=choice.cache_k,
                    why=why,
                ),
                tr("Set OLLAMA_FLASH_ATTENTION=1, or keep f16."),
            )
        ]
    if choice.cache_v not in UNPACKED:
        return [
            _illegal(
                tr(
                    "A {type} V cache needs flash attention, and {why}: {engine} refuses to start.",
                    type=choice.cache_v,
                    why=why,
                    engine=RULES[choice.engine].name,
                ),
                tr("Turn flash attention on, or keep V at f16."),
            )
        ]
    return []


def _latent(model: Model, choice: Choice) -> list[Problem]:
    if not model.cache.same_types or choice.cache_k == choice.cache_v:
        return []
    if RULES[choice.engine].one_cache_type:
        return []  # said already
    return [
        _illegal(
            tr(
                "{architecture} keeps one latent row for K and V: the types must be equal, "
                "not {k_type} and {v_type}.",
                architecture=model.architecture,
                k_type=choice.cache_k,
                v_type=choice.cache_v,
            ),
            tr("Choose the same type for K and V."),
        )
    ]


def _indivisible(model: Model, choice: Choice) -> list[Problem]:
    for group in model.cache.groups:
        for side, kind, head in (
            ("K", choice.cache_k, group.k_head),
            ("V", choice.cache_v, group.v_head),
        ):
            block = BLOCKS[kind][0]
            if head and head % block:
                return [
                    _illegal(
                        tr(
                            "Heads of {head} values cannot be cut into {type} blocks of {block}: "
                            "the engine refuses this type for {side}.",
                            head=head,
                            type=kind,
                            block=block,
                            side=side,
                        ),
                        tr("Keep f16 for this model."),
                    )
                ]
    return []


def without_kernel(model: Model, settings: Settings) -> tuple[str, ...]:
    """Cache types that the backend cannot attend to, so that the processor does; mostly none."""
    if settings.backend not in (Backend.CUDA, Backend.ROCM) or not settings.flash_attention:
        return ()
    if not model.cache.groups or settings.gpu_layers < 2:
        return ()
    if settings.engine in (Engine.IK_LLAMA, Engine.VLLM):
        return ()  # kernels of their own
    types = dict.fromkeys((settings.cache_k, settings.cache_v))
    return tuple(kind for kind in types if kind not in CUDA_ATTENDS)


def _no_kernel(model: Model, settings: Settings) -> list[Problem]:
    """Nothing fails, but attention of layers on the GPU is then computed by the processor."""
    lacking = without_kernel(model, settings)
    if not lacking:
        return []
    return [
        Problem(
            "no-kernel",
            tr(
                "The {backend} backend has no flash attention for a {type} cache: the "
                "processor computes attention, and every layer's rows cross the bus for it.",
                backend=settings.backend,
                type=lacking[0],
            ),
            Severity.WARNING,
            tr("Choose q4_0: it is as small."),
        )
    ]


def _wide_latent(model: Model, choice: Choice) -> list[Problem]:
    """Buffers of ik_llama.cpp for latent attention, as seen: they are not llama.cpp's."""
    if choice.engine is not Engine.IK_LLAMA or not model.cache.same_types:
        return []
    return [
        Problem(
            "latent-buffer",
            tr(
                "ik_llama.cpp's work buffer for latent attention grows with the context: "
                "{first:.1f} GiB per GPU at {short:,} tokens and {second:.1f} GiB at {long:,} were "
                "seen with a ubatch of 4096. The compute part here is llama.cpp's.",
                first=8.4,
                short=131_072,
                second=15.6,
                long=262_144,
            ),
            Severity.WARNING,
            tr("Limit it with -amb 256."),
        )
    ]


def _beyond_training(model: Model, choice: Choice, settings: Settings) -> list[Problem]:
    trained, rules = model.shape.context_length, RULES[choice.engine]
    asked = settings.requested_context
    if not trained or min(context_per_request(settings), asked) <= trained:
        return []
    beyond = tr(
        "{asked:,} tokens are more than the {trained:,} that the model was trained for",
        asked=asked,
        trained=trained,
    )
    less = tr("Choose {trained:,} or less.", trained=trained)
    match rules.beyond_training:
        case BeyondTraining.REFUSES:
            words = tr("{beyond}: {engine} refuses to start.", beyond=beyond, engine=rules.name)
            return [_illegal(words, less)]
        case BeyondTraining.CAPS:
            words = tr(
                "{beyond}: {engine} loads {trained:,} instead, which takes less than this.",
                beyond=beyond,
                engine=rules.name,
                trained=trained,
            )
            advice = less
        case BeyondTraining.RESERVES:
            words = tr(
                "{beyond}: the memory is taken, but no conversation can use more than that.",
                beyond=beyond,
            )
            advice = tr("{advice} More takes a rope scaling of its own.", advice=less)
        case BeyondTraining.USES:
            words = f"{beyond}."
            advice = tr(
                "Output past the trained context is poor without a rope scaling of its own."
            )
    return [Problem("beyond-training", words, Severity.NOTE, advice)]
