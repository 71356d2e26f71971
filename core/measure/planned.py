"""The plan of what a server really runs: its own context, cache types and offload."""

from __future__ import annotations

from core.machine.machine import Machine
from core.measure.run import ServerKind, Target
from core.model.model import Model
from core.plan import layer_count, resolve
from core.plan.choice import CACHE_TYPES, Choice, Engine, GpuLayers
from core.plan.plan import Plan

_ENGINES = {
    ServerKind.LLAMA_SERVER: Engine.LLAMA_SERVER,
    ServerKind.OLLAMA: Engine.OLLAMA,
    ServerKind.LM_STUDIO: Engine.LM_STUDIO,
    ServerKind.VLLM: Engine.VLLM,
    ServerKind.OPENAI: Engine.LLAMA_SERVER,
}


def choice_for(target: Target, model: Model, depth: int | None = None) -> Choice:
    """The choice that a server was started with, as far as it tells; else the engine's defaults.

    One request at a time: ``context`` is that of one slot. ``depth`` is for the speed figures.
    """
    layers: GpuLayers = "all"
    if target.gpu_layers is not None and target.gpu_layers < layer_count(model):
        layers = target.gpu_layers
    elif target.gpu_layers is None and target.gpu_bytes == 0:
        layers = 0
    types = [name if name in CACHE_TYPES else "f16" for name in (target.cache_k, target.cache_v)]
    return Choice(
        context=target.context,
        depth=depth,
        cache_k=types[0],
        cache_v=types[1],
        slots=1,
        engine=_ENGINES[target.kind],
        gpu_layers=layers,
    )


def plan_for(target: Target, model: Model, machine: Machine, depth: int | None = None) -> Plan:
    """The plan of a server's model on this machine, with the speed figures at this depth."""
    return resolve(model, machine, choice_for(target, model, depth))
