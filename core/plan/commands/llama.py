"""The options of llama.cpp's programs for a plan: for the one who copies a command, and for a run.

Written for llama.cpp b11434 (common/arg.cpp) and ik_llama.cpp of 2026-08.
"""

from __future__ import annotations

from core.language import tr
from core.machine.machine import Backend, DeviceKind
from core.plan.choice import Engine, FlashAttention
from core.plan.commands.command import Command, Part
from core.plan.commands.shells import Shell, joined
from core.plan.engines import RULES
from core.plan.plan import Plan, Verdict
from core.plan.settings import DRAFTED, layer_count, used_gpus

# Devices by the names that ggml gives them, by backend; they are counted from 0.
DEVICES = {
    Backend.CUDA: "CUDA",
    Backend.ROCM: "ROCm",
    Backend.VULKAN: "Vulkan",
    Backend.SYCL: "SYCL",
    Backend.METAL: "MTL",
}


def every_option(plan: Plan, *, unified: bool) -> list[str]:
    """All options that decide memory, said aloud: nothing is left to the engine's defaults.

    ``unified``: whether the program has an option for one cache that all slots share.
    """
    s = plan.settings
    per_request = RULES[Engine(s.engine)].per_request
    # One per request is asked for as all of them together.
    context = s.context if per_request else s.requested_context
    flash = "on" if s.flash_attention else "off"
    words = ["-m", str(plan.model.file.header.path), "-c", str(context)]
    words += ["-b", str(s.batch), "-ub", str(s.ubatch), "-np", str(s.slots)]
    words += ["-ctk", s.cache_k, "-ctv", s.cache_v, "-fa", flash, "-ngl", str(s.gpu_layers)]
    if s.cpu_moe:
        words += ["-ncmoe", str(s.cpu_moe)]
    if s.swa_full:
        words += ["--swa-full"]
    if unified:
        words += ["-kvu" if s.unified_cache else "-no-kvu"]
    return words


def write(plan: Plan, shell: Shell, path: str, *, everything: bool) -> Command:
    """The command for llama-server, llama-cli or ik_llama.cpp's llama-server."""
    engine = Engine(plan.settings.engine)
    program = "llama-cli" if engine is Engine.LLAMA_CLI else "llama-server"
    pooled = engine is Engine.LLAMA_SERVER
    if everything:
        words = every_option(plan, unified=pooled)
        words[1] = path
        words += _device(plan)
    else:
        words = ["-m", path, *_differing(plan)]
    words += beside(plan)
    notes = []
    if engine is Engine.IK_LLAMA and plan.settings.draft_head:
        notes.append(tr("How ik_llama.cpp uses the file's own draft blocks is not known here."))
    if engine is Engine.IK_LLAMA and not plan.settings.unified_cache:
        notes.append(tr("ik_llama.cpp has no option for a cache of its own for every slot."))
    if engine is Engine.LLAMA_CLI and plan.settings.unified_cache:
        notes.append(tr("llama-cli has no option for one cache that all sequences share."))
    return Command(engine, shell, (Part("", joined([program, *words], shell)),), tuple(notes))


def beside(plan: Plan) -> list[str]:
    """What is loaded beside the model, where it is not as llama.cpp does by itself."""
    s, choice = plan.settings, plan.choice
    words = []
    if s.projector is not None:
        words += ["-mm", s.projector]
        words += [] if choice.projector_on_gpu else ["--no-mmproj-offload"]
    if not s.drafted:
        return words
    ik = Engine(s.engine) is Engine.IK_LLAMA
    if s.draft is not None:
        words += ["-md", s.draft]
    if not ik:
        words += ["--spec-type", "draft-mtp" if s.draft is None else "draft-simple"]
    if s.drafted != DRAFTED or ik:
        words += ["--draft-max" if ik else "--spec-draft-n-max", str(s.drafted)]
    for option, kind in (("-ctkd", s.draft_cache_k), ("-ctvd", s.draft_cache_v)):
        if kind not in (None, "f16"):
            words += [option, str(kind)]
    if choice.draft is not None and s.draft_gpu_layers < layer_count(choice.draft):
        words += ["-ngld", str(s.draft_gpu_layers)] if s.backend != Backend.CPU else []
    return words


def _differing(plan: Plan) -> list[str]:
    """The options that are not what the engine would take by itself. The context is always said: a
    program left alone takes the trained one, or less to fit."""
    s, choice = plan.settings, plan.choice
    rules = RULES[choice.engine]
    words = ["-c", str(s.requested_context)]
    if s.batch != min(s.requested_context, rules.batch):
        words += ["-b", str(s.batch)]
    if s.ubatch != min(s.batch, rules.ubatch):
        words += ["-ub", str(s.ubatch)]
    words += _slots(plan)
    if s.cache_k != "f16":
        words += ["-ctk", s.cache_k]
    if s.cache_v != "f16":
        words += ["-ctv", s.cache_v]
    if choice.flash_attention is not FlashAttention.AUTO:
        words += ["-fa", choice.flash_attention.value]
    words += _layers(plan)
    if s.cpu_moe:
        words += ["-ncmoe", str(s.cpu_moe)]
    if s.swa_full and not rules.full_windows:
        words += ["--swa-full"]
    return [*words, *_device(plan)]


def _slots(plan: Plan) -> list[str]:
    s, rules = plan.settings, RULES[Engine(plan.settings.engine)]
    if (s.slots, s.unified_cache) == (rules.slots, rules.unified):
        return []
    words = ["-np", str(s.slots)]
    left_alone = rules.unified and not rules.split_by_slots
    if s.unified_cache != left_alone and Engine(s.engine) is Engine.LLAMA_SERVER:
        words += ["-kvu" if s.unified_cache else "-no-kvu"]
    return words


def _layers(plan: Plan) -> list[str]:
    """-ngl is left out where the engine takes all layers by itself: they fit with its margin."""
    s = plan.settings
    if s.backend == Backend.CPU:
        return []
    if s.gpu_layers < layer_count(plan.model):
        return ["-ngl", str(s.gpu_layers)]
    if Engine(s.engine) is Engine.IK_LLAMA:
        return ["-ngl", str(s.gpu_layers)]
    return [] if plan.verdict is Verdict.FITS else ["-ngl", "all"]


def _device(plan: Plan) -> list[str]:
    """Which devices, where it is not all that llama.cpp would take by itself."""
    own, chosen = used_gpus(plan.machine, None), used_gpus(plan.machine, plan.choice.backend)
    if own and not chosen:
        return ["-dev", "none"]
    if not own or plan.choice.backend in (None, plan.machine.devices[own[0]].backend):
        return []
    name = DEVICES[Backend(plan.choice.backend)]
    gpus = [n for n in chosen if plan.machine.devices[n].kind is DeviceKind.GPU]
    return ["-dev", ",".join(f"{name}{n}" for n in range(len(gpus)))]
