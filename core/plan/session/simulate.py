"""Turn by turn: what is sent, what is read again, what is written, and how long each takes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import inf

from core.model.model import CacheFacts
from core.plan.choice import Engine
from core.plan.engines import RULES
from core.plan.growth import checkpoint_bytes
from core.plan.plan import Settings
from core.plan.session.choice import START_TOKENS, Change, SessionChoice
from core.plan.session.rates import Rates
from core.plan.session.recall import Slot, memory_of, session_bytes
from core.plan.session.values import NO_TIME, Event, Reading, Seconds, Turn, added

# Seconds after which an idle model is unloaded where nobody says otherwise: OLLAMA_KEEP_ALIVE, and
# the idle time of models that LM Studio loads when they are asked for.
IDLE_UNLOAD = {Engine.OLLAMA: 300.0, Engine.LM_STUDIO: 3600.0}
# Engines that cut a prompt that is too long instead of refusing it (ollama/ollama, "truncating
# input prompt").
TRUNCATES = frozenset((Engine.OLLAMA,))
# Engines whose slots are no places that one request takes from another: pages, or a single user.
_NO_PLACES = frozenset((Engine.VLLM, Engine.LLAMA_CLI))


@dataclass(frozen=True, slots=True)
class Course:
    """How a session runs. ``full_turn`` and ``pool_turn`` end it; None where they do not come."""

    turns: tuple[Turn, ...]
    full_turn: int | None = None
    pool_turn: int | None = None


@dataclass(frozen=True, slots=True)
class Room:
    """The memory around a session: ``limit`` tokens for one request, ``spill`` tokens that the
    device really holds (None: all), ``ram`` bytes free beside the plan (None: not known)."""

    limit: int
    spill: int | None = None
    ram: int | None = None


def simulate(
    facts: CacheFacts, settings: Settings, choice: SessionChoice, rates: Rates, room: Room
) -> Course:
    """The course of a session, as far as the context goes."""
    return _Simulation(facts, settings, choice, rates, room).run()


def pool_exhausted_by(pool: int, sessions: Sequence[int]) -> tuple[int, int] | None:
    """Which session, in order, finds a shared pool full, and how many tokens it has by then.

    60,000 and 60,000 leave the third of three 11,072 of 131,072. None where all fit.
    """
    left = pool
    for number, tokens in enumerate(sessions):
        if tokens > left:
            return number, left
        left -= tokens
    return None


class _Simulation:
    def __init__(
        self,
        facts: CacheFacts,
        settings: Settings,
        choice: SessionChoice,
        rates: Rates,
        room: Room,
    ) -> None:
        self._facts = facts
        self._settings = settings
        self._choice = choice
        self._rates = rates
        self._room = room
        self._engine = Engine(settings.engine)
        self._slot = Slot(memory_of(facts, settings, choice))
        self._checkpoint = checkpoint_bytes(facts, settings)
        self._load = rates.load()
        idle = choice.keep_alive
        if idle is None:
            idle = IDLE_UNLOAD.get(self._engine, inf)
        self._unloads = choice.pause > idle
        self._varies = choice.context_varies and self._engine is Engine.OLLAMA

    def run(self) -> Course:
        """All turns, or those before the context is full."""
        choice, limit = self._choice, self._room.limit
        turns: list[Turn] = []
        history = choice.system_tokens
        for number in range(1, choice.turns + 1):
            events: list[Event] = []
            lost = self._lost(number, events)
            load = self._loading(number, events)
            common = self._common(number, history)
            compacting: Seconds = NO_TIME
            recompacting: Seconds = NO_TIME
            compacted = self._due(number, history)
            if compacted:
                events.append(Event.COMPACTION)
                compacting, recompacting = self._compact(history, 0 if lost else common)
                lost = None
                history = choice.system_tokens + choice.summary_tokens
                common = min(self._unchanged(self._slot.prompt), choice.system_tokens)
            prompt = history + choice.new_tokens
            truncated = prompt > limit and self._engine in TRUNCATES
            if truncated:
                events.append(Event.TRUNCATION)
                prompt = limit
            elif prompt > limit:
                return Course(tuple(turns), full_turn=number)
            written = choice.written_tokens
            if not truncated and prompt + written > limit:
                written = limit - prompt
                events.append(Event.FULL)
            fill = min(prompt + written, limit)
            if self._settings.unified_cache and choice.sessions * fill > self._settings.context:
                return Course(tuple(turns), pool_turn=number)
            reused, why = self._reuse(number, prompt, common, lost, truncated, compacted)
            self._watch(fill, events)
            turn = self._turn(number, prompt, reused, written, fill, why)
            turns.append(
                replace(
                    turn,
                    load=load,
                    compacting=compacting,
                    recompacting=recompacting,
                    events=tuple(events),
                )
            )
            self._slot.take(reused, prompt, fill - prompt)
            if Event.FULL in events:
                return Course(tuple(turns), full_turn=number)
            history += choice.new_tokens + choice.kept_tokens
        return Course(tuple(turns))

    def _lost(self, number: int, events: list[Event]) -> Reading | None:
        """Why nothing of the last turn is there any more; None where it is."""
        if number == 1:
            return Reading.FIRST
        if self._unloads or self._varies:
            self._slot.forget()
            return Reading.RELOADED
        if self._evicted():
            events.append(Event.EVICTION)
            self._slot.forget()
            return Reading.EVICTED
        return None

    def _loading(self, number: int, events: list[Event]) -> Seconds:
        if number > 1 and not (self._unloads or self._varies):
            return NO_TIME
        if number > 1:
            events.append(Event.RELOAD)
        return self._load

    def _evicted(self) -> bool:
        """Whether others have taken this conversation's place since the last turn, and it was not
        kept in RAM."""
        choice, settings = self._choice, self._settings
        side = choice.side_requests > 0
        if self._engine in _NO_PLACES:
            return False
        held = self._slot.held
        displaced = max(0, choice.sessions + side - settings.slots)
        if not displaced and side and settings.unified_cache:
            # An idle slot is cleared where a shared pool has no room for the side request.
            needed = choice.sessions * held + choice.side_tokens + choice.side_answer_tokens
            displaced = int(needed > settings.context)
        if not displaced:
            return False
        kept = self._kept_in_ram()
        return displaced * session_bytes(self._facts, settings, held) > kept

    def _kept_in_ram(self) -> int:
        if self._choice.prompt_cache is not None:
            return self._choice.prompt_cache
        return RULES[self._engine].prompt_cache

    def _common(self, number: int, history: int) -> int:
        """How many first tokens of the next request are those of the last sequence."""
        choice, slot = self._choice, self._slot
        if number == 1:
            return 0
        same = slot.prompt
        if choice.kept_tokens == choice.written_tokens:
            same = slot.held
        return max(0, min(same, history, self._unchanged(slot.prompt)))

    def _unchanged(self, last_prompt: int) -> int:
        """Before which token nothing changes from turn to turn."""
        choice = self._choice
        match choice.change:
            case Change.START:
                return START_TOKENS
            case Change.AFTER_TOOLS:
                return choice.system_tokens
            case Change.TAIL:
                return max(0, last_prompt - choice.new_tokens)
            case Change.OWN:
                return choice.change_at
            case Change.NOTHING:
                return max(last_prompt, self._slot.held)

    def _due(self, number: int, history: int) -> bool:
        """Whether the history is replaced by a summary before this turn."""
        choice = self._choice
        if choice.compact_above is None or number == 1:
            return False
        after = choice.system_tokens + choice.summary_tokens
        full = history + choice.new_tokens > choice.compact_above * self._room.limit
        return full and history > after

    def _compact(self, history: int, common: int) -> tuple[Seconds, Seconds]:
        """Seconds of making a summary, with what is in the cache and without."""
        history = min(history, self._room.limit)
        start = self._slot.usable(min(common, history))
        summary = min(self._choice.summary_tokens, self._room.limit - history)
        writing = self._rates.decode(history, summary)
        self._slot.take(start, history, summary)
        reading = self._rates.prefill(start, history - start)
        rereading = self._rates.prefill(0, history)
        return added((reading, writing)), added((rereading, writing))

    def _reuse(
        self,
        number: int,
        prompt: int,
        common: int,
        lost: Reading | None,
        truncated: bool,
        compacted: bool,
    ) -> tuple[int, Reading]:
        """Tokens that are not read again, and why the others are."""
        if truncated:
            return 0, Reading.TRUNCATED
        if lost is not None:
            return 0, lost
        # The last token is always read: the answer begins with what it says.
        common = min(common, max(prompt - 1, 0))
        reused = self._slot.usable(common)
        if compacted:
            return reused, Reading.COMPACTED
        if reused < common:
            return reused, Reading.CHECKPOINT if reused else Reading.NO_CHECKPOINT
        if self._choice.change is not Change.NOTHING:
            return reused, Reading.CHANGED
        return reused, Reading.TAIL

    def _watch(self, fill: int, events: list[Event]) -> None:
        """Memory that runs out as the conversation grows."""
        room, choice = self._room, self._choice
        if room.spill is not None and choice.sessions * fill > room.spill:
            events.append(Event.SPILL)
        if room.ram is None:
            return
        saved = 0
        if choice.sessions + (choice.side_requests > 0) > self._settings.slots:
            entry = session_bytes(self._facts, self._settings, fill)
            saved = entry if entry <= self._kept_in_ram() else 0
        copies = self._slot.checkpoints * self._checkpoint
        if choice.sessions * copies + saved > room.ram:
            events.append(Event.RAM)

    def _turn(
        self, number: int, prompt: int, reused: int, written: int, fill: int, why: Reading
    ) -> Turn:
        choice, rates = self._choice, self._rates
        # A cut prompt leaves the cache full: what is written then pushes older tokens out.
        depth = min(prompt, fill - min(written, fill))
        writing = rates.decode(depth, written)
        thought = min(choice.thinking_tokens, written)
        side: Seconds = NO_TIME
        if choice.side_requests:
            asked = min(choice.side_tokens, self._room.limit)
            answered = min(choice.side_answer_tokens, self._room.limit - asked)
            one = added((rates.prefill(0, asked), rates.decode(asked, answered)))
            side = added([one] * choice.side_requests)
        return Turn(
            number=number,
            prompt=prompt,
            reused=reused,
            read=prompt - reused,
            written=written,
            fill=fill,
            why=why,
            load=NO_TIME,
            compacting=NO_TIME,
            recompacting=NO_TIME,
            reading=rates.prefill(reused, prompt - reused),
            rereading=rates.prefill(0, prompt),
            writing=writing,
            thinking=rates.decode(depth, thought),
            side=side,
            tok_s=written / writing.mid if writing is not None and writing.mid else None,
        )
