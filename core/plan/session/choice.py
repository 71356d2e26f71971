"""What happens in a session: the tokens of each turn, and who else asks the same server."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import inf

from core.language import mark
from core.plan.choice import MOST_TOKENS
from core.provenance import Rank, Source


class Change(StrEnum):
    """What is different in a request's text before its new tail, turn after turn."""

    NOTHING = "nothing"
    START = "the start"  # a clock, a counter, a memory in the first lines
    AFTER_TOOLS = "after the tools"  # documents or notes between the tools and the conversation
    TAIL = "the last message"  # a reminder that moves along at the end
    OWN = "from a token"  # `SessionChoice.change_at`


# What a session can be, by the fields of its choice: the ends of every control, and of what is
# believed of a file that keeps a choice.
LIMITS: dict[str, tuple[float, float]] = {
    "turns": (1, 5000),
    "side_requests": (0, 100),
    "side_tokens": (1, MOST_TOKENS),
    "summary_tokens": (1, MOST_TOKENS),
    "sessions": (1, 256),
    "pause": (0, 86_400),
    "keep_alive": (0, inf),
    "compact_above": (0.1, 1),
    "prompt_cache": (0, 2**50),
    "checkpoints": (0, 4096),
    "checkpoint_step": (1, MOST_TOKENS),
    "disk_rate": (1e6, 1e12),
    "prefill_rate": (0.1, 1e6),
    "decode_rate": (0.1, 1e6),
    "time_limit": (1, 86_400),
}
START_TOKENS = 50  # where a changed start begins to differ: the reported clocks stand so early


@dataclass(frozen=True, slots=True)
class SessionChoice:
    """One session, in tokens and seconds.

    ``system_tokens`` are the system prompt and the tools; every turn brings ``new_tokens`` (files,
    results of tools, what somebody typed) and is answered by ``thinking_tokens`` and
    ``answer_tokens``. ``keeps_thinking`` says whether the reasoning stays in the next request; most
    chat templates drop it. ``change`` says what each turn changes before its tail, ``change_at``
    the first changed token where that is ``Change.OWN``.

    After each turn come ``side_requests`` (titles, tags, sub-agents) with prompts of
    ``side_tokens``, answered by ``side_answer_tokens``. ``sessions`` run at the same time. Between
    turns lie ``pause`` seconds; an idle model is unloaded after ``keep_alive`` seconds (infinity:
    never; None: as the engine does by itself).

    Before a turn that would fill more than ``compact_above`` (a share of the context; None: never)
    the history is replaced by a summary of ``summary_tokens``.

    None takes the engine's default: ``prompt_cache`` (bytes of RAM for prompts of other requests),
    ``checkpoints`` per slot, ``checkpoint_step`` tokens between them. ``context_varies`` is an
    Ollama client that sends another num_ctx each time, ``openai_endpoint`` one that asks /v1 of
    Ollama. ``disk_rate`` (bytes per second), ``prefill_rate`` and ``decode_rate`` (tok/s) stand for
    the machine's and the plan's where somebody knows better. ``time_limit`` is the client's own,
    in seconds.
    """

    system_tokens: int = 20_000
    turns: int = 20
    new_tokens: int = 3_000
    answer_tokens: int = 400
    thinking_tokens: int = 0
    keeps_thinking: bool = False
    change: Change = Change.NOTHING
    change_at: int = 0
    side_requests: int = 0
    side_tokens: int = 1_000
    side_answer_tokens: int = 50
    sessions: int = 1
    pause: float = 0.0
    keep_alive: float | None = None
    compact_above: float | None = None
    summary_tokens: int = 2_000
    prompt_cache: int | None = None
    checkpoints: int | None = None
    checkpoint_step: int = 8192
    context_varies: bool = False
    openai_endpoint: bool = False
    disk_rate: float | None = None
    prefill_rate: float | None = None
    decode_rate: float | None = None
    time_limit: float | None = None

    @property
    def written_tokens(self) -> int:
        """Tokens that the model writes each turn."""
        return self.thinking_tokens + self.answer_tokens

    @property
    def kept_tokens(self) -> int:
        """Of those, the tokens that the next request sends back."""
        return self.answer_tokens + (self.thinking_tokens if self.keeps_thinking else 0)


@dataclass(frozen=True, slots=True)
class Preset:
    """A usual session. ``about`` says what it is, ``basis`` where each of its figures is from, with
    the `SEEN` in braces."""

    name: str
    about: str
    choice: SessionChoice
    basis: tuple[tuple[str, Source], ...]


# Tokens of the sessions that the presets follow.
SEEN = {
    "side": 1_000,
    "least": 100_000,
    "most": 146_000,
    "tools": 20_000,
    "turn": 3_000,
    "prompt": 8_942,
}


_ASSUMED = Source(Rank.ASSUMED, mark("an ordinary case; nobody measured it"))


def _reported(who: str, date: str) -> Source:
    return Source(Rank.REPORTED, who, date)


CHAT = Preset(
    mark("Chat"),
    mark("Questions and answers, with a title or tags asked for after each."),
    SessionChoice(
        system_tokens=500,
        turns=20,
        new_tokens=150,
        answer_tokens=400,
        side_requests=1,
        pause=60.0,
    ),
    (
        (mark("a side request of {side:,} tokens"), _reported("ollama/ollama#18264", "2026-09")),
        (mark("keep-alive of 5 minutes"), _reported(mark("Ollama's default"), "2026-09")),
        (mark("everything else"), _ASSUMED),
    ),
)
AGENT = Preset(
    mark("Coding agent"),
    mark("A long system prompt with tools; files and results of tools come in at every turn."),
    SessionChoice(
        system_tokens=20_000,
        turns=20,
        new_tokens=3_000,
        answer_tokens=400,
        thinking_tokens=400,
        pause=5.0,
        compact_above=0.8,
    ),
    (
        (
            mark("a prompt of {least:,} to {most:,} tokens after some 30 turns"),
            _reported(mark("earendil-works/pi#2013 and anomalyco/opencode#23595"), "2026-09"),
        ),
        (mark("keep-alive of 5 minutes"), _reported(mark("Ollama's default"), "2026-09")),
        (mark("{tools:,} tokens of tools, {turn:,} a turn, and everything else"), _ASSUMED),
    ),
)
RETRIEVAL = Preset(
    mark("Retrieval"),
    mark("Other documents are put before the question each time."),
    SessionChoice(
        system_tokens=500,
        turns=10,
        new_tokens=8_000,
        answer_tokens=500,
        change=Change.AFTER_TOOLS,
        pause=30.0,
        compact_above=0.8,
    ),
    (
        (
            mark("a prompt of {prompt:,} tokens"),
            _reported("ralphgrewe/TradingAgents#169", "2026-09"),
        ),
        (mark("keep-alive of 5 minutes"), _reported(mark("Ollama's default"), "2026-09")),
        (mark("everything else"), _ASSUMED),
    ),
)
PRESETS = (CHAT, AGENT, RETRIEVAL)
