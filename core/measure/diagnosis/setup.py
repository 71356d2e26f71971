"""Rules about what ran: another model, another context, another cache, other devices."""

from __future__ import annotations

from pathlib import PurePath

from core.language import tr, written
from core.measure import metrics
from core.measure.diagnosis.facts import Facts, Finding
from core.measure.run import SampleKind
from core.plan.choice import CUDA_ATTENDS
from core.units import UnitSystem, format_bytes, format_share

# Sizes of the same weights, as a server and a header count them.
_SAME_SIZE = 0.02
# Unified memory counts as the GPU's as well, and drivers round.
_ALL_ON_GPU = 0.98
_GIB = UnitSystem.GIB
_IDLE = 0.1  # of the time; a GPU that does less does nothing


def wrong_model(f: Facts) -> Finding | None:
    """The server runs another file than the one that was planned."""
    if f.plan is None:
        return None
    path, size = f.target.model_path, f.target.model_bytes
    if size is not None and f.plan.weights:
        if abs(size / f.plan.weights - 1) <= _SAME_SIZE:
            return None
        evidence = tr(
            "The server's weights are {theirs}, the open file's {ours}.",
            theirs=format_bytes(size, _GIB),
            ours=format_bytes(f.plan.weights, _GIB),
        )
    elif path and PurePath(path).name != PurePath(f.plan.path).name:
        evidence = tr(
            "The server runs {theirs}; open is {ours}.",
            theirs=PurePath(path).name,
            ours=PurePath(f.plan.path).name,
        )
    else:
        return None
    return Finding(
        "other-model",
        tr("The server runs another model than the one that is open here."),
        evidence,
        tr(
            "Open the file that the server runs, or start the server with this one; until then the "
            "ceiling is not that of what was measured."
        ),
        amber=True,
    )


def smaller_context(f: Facts) -> Finding | None:
    """The server reserved less context than the plan has for one request."""
    if f.plan is None or f.target.context is None:
        return None
    settings = f.plan.settings
    asked = settings.get("requested_context")
    if not isinstance(asked, int):
        return None
    slots = settings.get("slots", 1)
    if not settings.get("unified_cache") and isinstance(slots, int) and slots > 1:
        asked //= slots
    got = f.target.context
    if got >= asked:
        return None
    return Finding(
        "smaller-context",
        tr("Asked {asked:,} → got {got:,} tokens of context.", asked=asked, got=got),
        tr("The server itself says {got:,} for one request.", got=got),
        tr(
            "It lowered the context to fit, or was started with another one. Plan with {got:,} "
            "tokens to see what that needs.",
            got=got,
        ),
        amber=True,
    )


def other_cache(f: Facts) -> Finding | None:
    """The cache has other types than the plan."""
    if f.plan is None:
        return None
    planned = (f.plan.settings.get("cache_k"), f.plan.settings.get("cache_v"))
    real = (f.target.cache_k or planned[0], f.target.cache_v or planned[1])
    if real == planned:
        return None
    return Finding(
        "other-cache",
        tr(
            "The server's cache is K {real_k}, V {real_v}; the plan has {planned_k}, {planned_v}.",
            real_k=real[0],
            real_v=real[1],
            planned_k=planned[0],
            planned_v=planned[1],
        ),
        tr("Read from the server or from its command line."),
        tr(
            "What was measured is that of the server. Start it with -ctk and -ctv for the plan's "
            "own."
        ),
        amber=True,
    )


def split(f: Facts) -> Finding | None:
    """A part of the model runs on the CPU although the plan has it on the GPU."""
    if f.plan is None or not f.on_gpu or f.plan.unified:
        return None
    planned = f.plan.settings.get("gpu_layers", 0)
    layers = f.target.gpu_layers
    evidence = []
    if layers is not None and 0 <= layers < planned:
        evidence.append(tr("{layers} of {all} layers are on the GPU.", layers=layers, all=planned))
    loaded, on_gpu = f.target.loaded_bytes, f.target.gpu_bytes
    if loaded and on_gpu is not None and on_gpu < _ALL_ON_GPU * loaded:
        evidence.append(
            tr(
                "{part} of {loaded} that the server loaded are on the GPU.",
                part=format_bytes(on_gpu, _GIB),
                loaded=format_bytes(loaded, _GIB),
            )
        )
    if not evidence:
        return None
    busy = f.typical(lambda r: r.server_cpu)
    use = f.gpus[0].typical(lambda g: g.use) if f.gpus else None
    if use is not None and busy is not None and use < 0.6 and busy >= 1:
        evidence.append(
            tr(
                "The GPU was busy {share} of the time while the server kept {cores:.1f} CPU cores "
                "busy.",
                share=format_share(use),
                cores=busy,
            )
        )
    return Finding(
        "split",
        tr("A part of the model runs on the CPU."),
        " ".join(evidence),
        tr(
            "Every token waits for the slow part. Choose a smaller context, a q8_0 cache or a "
            "smaller file until all layers fit, or plan with the layers that it has."
        ),
        amber=True,
    )


def other_device(f: Facts) -> Finding | None:
    """The plan's GPU did nothing: it ran on the CPU or on another GPU."""
    if f.plan is None or not f.on_gpu or f.plan.unified or not f.gpus:
        return None
    if not f.shares or max(f.shares) >= 0.5:
        return None
    uses = [(gpu.name, gpu.typical(lambda g: g.use)) for gpu in f.gpus]
    if any(use is None for _, use in uses):
        return None
    busy = [name for name, use in uses if use is not None and use >= _IDLE]
    planned = [name for name, _ in uses if _is_of(name, f.plan.planned_gpus)]
    # A GPU that nobody planned with may well be idle: the one beside the processor mostly is.
    idle = planned or [name for name, _ in uses]
    if any(name in busy for name in idle):
        return None
    cores = f.typical(lambda r: r.server_cpu)
    share = format_share(max(f.shares))
    gpus = ", ".join(idle)
    if busy:
        message = tr("It ran on another GPU.")
        evidence = tr("{idle} was idle, {busy} was not.", idle=gpus, busy=", ".join(busy))
    elif cores is not None and cores >= 0.8:
        message = tr("It ran on the CPU; the GPU was idle.")
        evidence = tr(
            "{gpus}: busy less than 10 % of the time; CPU cores: {cores:.1f}.",
            gpus=gpus,
            cores=cores,
        )
    else:
        message = tr("The GPU that the plan counts on was idle.")
        evidence = tr("{gpus}: busy less than 10 % of the time.", gpus=gpus)
    reached = tr("It reaches {share} of that GPU's ceiling.", share=share)
    return Finding(
        "other-device",
        message,
        f"{evidence} {reached}",
        tr(
            "llama-server lists its devices with --list-devices and takes one with --device; "
            "Ollama tells with `ollama ps`; LM Studio under Hardware. A build without GPU support "
            "has none."
        ),
        amber=True,
    )


def _is_of(name: str, planned: tuple[str, ...]) -> bool:
    """Whether a driver's name is that of a planned GPU: a catalogue leaves the maker out."""
    mine = name.casefold()
    return any(mine in other or other in mine for other in map(str.casefold, planned))


def no_kernel(f: Facts) -> Finding | None:
    """Cache types for which default builds have no attention on the GPU."""
    if f.plan is None or f.plan.settings.get("backend") not in ("cuda", "rocm"):
        return None
    k = f.target.cache_k or f.plan.settings.get("cache_k")
    v = f.target.cache_v or f.plan.settings.get("cache_v")
    quantized = {k, v} - {"f16", "bf16", "f32"}
    mixed = bool(quantized) and k != v
    rare = bool(quantized - {"q4_0", "q8_0"})
    if not (mixed or rare):
        return None
    unknown = {str(t) for t in quantized} - CUDA_ATTENDS
    backend = f.plan.settings["backend"]
    evidence = (
        tr(
            "K {k}, V {v}: attention for this pair never has a kernel on {backend}.",
            k=k,
            v=v,
            backend=backend,
        )
        if unknown
        else tr(
            "K {k}, V {v}: attention for this pair has not by default a kernel on {backend}.",
            k=k,
            v=v,
            backend=backend,
        )
    )
    falls = _falls_faster(f)
    if falls is not None:
        evidence += f" {falls}"
    elif len(f.shares) > 1:
        return None  # its speed falls as the curve does: the kernel was there
    return Finding(
        "no-kernel",
        tr("Attention over this cache may run on the CPU."),
        evidence,
        tr(
            "Take the same type for K and V, q8_0 or q4_0, or a build with kernels for all types "
            "(GGML_CUDA_FA_ALL_QUANTS)."
        ),
        amber=True,
    )


def speculation(f: Facts) -> Finding | None:
    """Tokens per second are not passes of the model per second."""
    drafts = [d for c in f.run.cells for s in c.measured if (d := metrics.drafted(s)) is not None]
    if not drafts:
        return None
    proposed, taken = sum(d[0] for d in drafts), sum(d[1] for d in drafts)
    first = f.points[0] if f.points else None
    evidence = [
        tr(
            "{taken:,} of {proposed:,} drafted tokens were taken ({share}).",
            taken=taken,
            proposed=proposed,
            share=format_share(taken / proposed),
        )
    ]
    if first is not None:
        evidence.append(
            tr(
                "{rate:.1f} tok/s are {passes:.1f} passes of the model a second.",
                rate=first.tok_s.median,
                passes=first.steps.median,
            )
        )
    return Finding(
        "speculation",
        tr("It writes several tokens in one pass: passes per second are held against the ceiling."),
        " ".join(evidence),
        tr("Tokens per second may lie above the ceiling."),
    )


def above_ceiling(f: Facts) -> Finding | None:
    """Faster than can be, without a draft: then something that was assumed is wrong."""
    if not f.shares or max(f.shares) <= 1.02 or speculation(f) is not None:
        return None
    if wrong_model(f) is not None or other_cache(f) is not None:
        return None
    small = bool(f.plan and f.plan.weights and f.plan.weights < 64 * 2**20)
    message = tr("It is faster than the ceiling: {share} of it.", share=format_share(max(f.shares)))
    if small:
        return Finding(
            "above-ceiling",
            message,
            tr(
                "A model as small as this stays in the processor's cache, which is faster than "
                "the memory."
            ),
        )
    return Finding(
        "above-ceiling",
        message,
        tr(
            "The bandwidth of this machine is higher than the plan has it, the experts that it "
            "reads are fewer, or the server speculates without saying so."
        ),
        tr("Measure this computer's memory bandwidth, and look for a draft model."),
    )


def flattered_prefill(f: Facts) -> Finding | None:
    """Prefill that was read from the cache says nothing."""
    flattered = [
        cell.depth
        for cell in f.run.cells
        if any(
            s.kind is SampleKind.COLD and (s.cached_tokens or 0) > 1 and s.sound
            for s in cell.samples
        )
    ]
    if not flattered:
        return None
    depths = ", ".join(map(written, flattered))
    return Finding(
        "flattered-prefill",
        tr("The server had a part of the prompt already: prefill counts only what it really read."),
        tr("Cached tokens in requests that were to be new, at depth {depths}.", depths=depths),
        tr("Times to the first token are shorter than for a prompt that is new."),
        amber=True,
    )


def read_again(f: Facts) -> Finding | None:
    """Every answer first reads the whole prompt again: windows or a recurrent state without a
    checkpoint."""
    again = [cell.depth for cell in f.run.cells if cell.depth > 64 and metrics.reads_again(cell)]
    if not again:
        return None
    depths = ", ".join(map(written, again))
    return Finding(
        "read-again",
        tr("The server reads the whole prompt again for every answer."),
        tr(
            "Few tokens were kept, or the first token took as long as with a new prompt, at depth "
            "{depths}.",
            depths=depths,
        ),
        tr(
            "Models with windows or a recurrent state need a checkpoint to go on from: "
            "--ctx-checkpoints, or --swa-full. A conversation waits for it at every turn."
        ),
        amber=True,
    )


def _falls_faster(f: Facts) -> str | None:
    """That the share of the ceiling falls with depth, in words."""
    if len(f.shares) < 2 or f.shares[-1] > 0.7 * f.shares[0]:
        return None
    shallow, deep = f.points[0], f.points[-1]
    return tr(
        "Its share of the ceiling falls from {first} at depth {shallow:,.0f} to {last} at "
        "{deep:,.0f}.",
        first=format_share(f.shares[0]),
        shallow=shallow.depth,
        last=format_share(f.shares[-1]),
        deep=deep.depth,
    )
