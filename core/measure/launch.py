"""Starting llama-server with a plan: what it is told, what its log says while it loads, and how it
ended.

Nothing here starts a process; `core.measure.keeper` keeps the one that is started.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.check.dry_run import SERVER, arguments
from core.check.engine_ends import ending
from core.check.engine_log import Size, read
from core.language import mark, tr
from core.measure.keeper import NOT_STARTED, NOT_STARTED_WORDS
from core.plan.commands.llama import beside
from core.plan.plan import PartKind, Plan
from core.plan.settings import layer_count
from core.problems import Problem, Severity

LOG_LIMIT = 4_000_000  # characters that are looked at; a load with -lv 4 prints some 20,000
WHOLE_LIMIT = 64_000_000  # characters that are kept for whoever saves them
# What only the dry run wants: the first look at the model, and a line for every token.
_DRY = ("-fit", "on", "-v")
# Buffer sizes are printed from here on; one more and every token would have a line.
_VERBOSITY = ("-lv", "4")


def server_command(plan: Plan, program: str, port: int) -> tuple[str, ...]:
    """The command that runs this plan on a port of the loopback interface."""
    words = arguments(plan, SERVER, port)
    assert words[-len(_DRY) :] == _DRY
    return (program, *words[: -len(_DRY)], *beside(plan), "--slots", "--metrics", *_VERBOSITY)


class Phase(StrEnum):
    """What a server that loads is doing, in the words of the screen."""

    STARTING = mark("starting")
    HEADER = mark("reading the header")
    WEIGHTS = mark("loading the weights")
    CONTEXT = mark("reserving the cache")
    WARM_UP = mark("warming up")
    READY = mark("ready")


# The first of these lines that a log has, from its end, tells the phase.
_SIGNS = (
    ("llama_model_loader: ", Phase.HEADER),
    ("loading model tensors", Phase.WEIGHTS),
    ("constructing llama_context", Phase.CONTEXT),
    ("warming up the model", Phase.WARM_UP),
)


class LoadLog:
    """The log of a server that loads, fed piece by piece as it comes. ``text`` is its beginning, in
    which the load is described; a server that answers goes on for days."""

    def __init__(self) -> None:
        self.phase = Phase.STARTING
        self.text = ""
        self._pieces: list[str] = []
        self._room = WHOLE_LIMIT
        self._rest = ""

    def feed(self, piece: str) -> None:
        """Take what came next; a line may come in several pieces."""
        room = LOG_LIMIT - len(self.text)
        self.text += piece[: max(room, 0)]
        self._pieces.append(piece[: self._room])
        self._room = max(0, self._room - len(piece))
        *lines, self._rest = (self._rest + piece).split("\n")
        self._rest = self._rest[-4096:]
        for line in lines:
            for sign, phase in _SIGNS:
                if sign in line and list(Phase).index(phase) > list(Phase).index(self.phase):
                    self.phase = phase

    @property
    def whole(self) -> str:
        """All that came, up to `WHOLE_LIMIT`."""
        return "".join(self._pieces)


def ended(program: str, code: int, log: str) -> Problem | None:
    """Why a server ended that nobody stopped; None where it ended well and said no error."""
    if code == NOT_STARTED and (at := log.find(NOT_STARTED_WORDS)) >= 0:
        words = log[at + len(NOT_STARTED_WORDS) :].partition("\n")[0].strip()
        return Problem(
            "engine-start",
            tr("The program could not be started: {why}.", why=words),
            advice=tr("Choose another folder of llama.cpp, or make the file executable."),
            where=program,
        )
    return ending(program, code, log)


@dataclass(frozen=True, slots=True)
class Placement:
    """What a log says that lies where. Layers count the output, as -ngl does."""

    layers_on_gpu: int | None
    cache_in_ram: Size | None
    context: int | None


def placement(log: str) -> Placement | None:
    """Where the server of this log put the model; None where the log does not tell."""
    load = read(log).main()
    if load is None:
        return None
    context = load.contexts[0] if load.contexts else None
    sizes = [
        buffer.size
        for buffer in (context.buffers if context else ())
        if buffer.kind is PartKind.CACHE and buffer.name.startswith("CPU")
    ]
    cache = sum(sizes[1:], sizes[0]) if sizes else None
    return Placement(load.gpu_layers, cache, context.context if context else None)


def differences(plan: Plan, log: str) -> tuple[Problem, ...]:
    """Where the server that was started with this plan does something else, as its log says.

    An engine may lower the context to fit, leave layers in RAM, or keep the cache there, and say
    so in one line among hundreds only.
    """
    found = placement(log)
    if found is None:
        return ()
    problems = []
    s = plan.settings
    if found.context is not None and found.context < s.context:
        problems.append(smaller_context(s.requested_context, found.context))
    layers = found.layers_on_gpu
    if layers is not None and layers < s.gpu_layers:
        problems.append(
            Problem(
                "fewer-layers",
                tr(
                    "{layers} of {all} layers are on the GPU; the rest runs on the CPU.",
                    layers=layers,
                    all=s.gpu_layers,
                ),
                Severity.WARNING,
                tr(
                    "Choose a smaller context or file, or measure it as it is: the plan with "
                    "{layers} GPU layers says what to expect.",
                    layers=layers,
                ),
            )
        )
    elif found.cache_in_ram and found.cache_in_ram.low and _wholly_on_gpu(plan):
        size = found.cache_in_ram.middle / 2**20
        problems.append(
            Problem(
                "cache-in-ram",
                tr(
                    "{size:,.0f} MiB of the KV cache lie in RAM; the plan has all of it on the "
                    "GPU.",
                    size=size,
                ),
                Severity.WARNING,
                tr("Attention over it runs on the CPU. Look for --no-kv-offload."),
            )
        )
    return tuple(problems)


def smaller_context(asked: int, got: int) -> Problem:
    """A server that was started with the plan reserved less than it was asked for, and went on."""
    return Problem(
        "smaller-context",
        tr("Asked {asked:,} → got {got:,} tokens of context.", asked=asked, got=got),
        Severity.WARNING,
        tr(
            "The server lowered it to what fits, without an error. Depths beyond it are not "
            "measured; the plan with {got:,} tokens says what it needs.",
            got=got,
        ),
    )


def another_context(planned: int, found: int) -> Problem:
    """A server that somebody else started has less context than the plan."""
    return Problem(
        "smaller-context",
        tr(
            "The plan has {planned:,} tokens of context, the server {found:,}.",
            planned=planned,
            found=found,
        ),
        Severity.WARNING,
        tr(
            "It was started with fewer, or lowered them to what fits. Deeper is not measured; the "
            "plan with {found:,} tokens says what they need.",
            found=found,
        ),
    )


def _wholly_on_gpu(plan: Plan) -> bool:
    return plan.settings.gpu_layers >= layer_count(plan.model)
