"""What reading a pasted text has found so far, and how a value is taken or declined."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import Any

from core.gguf.text import excerpt
from core.language import mark, tr
from core.machine.machine import Backend
from core.model import RECIPES
from core.plan.choice import CACHE_TYPES, MOST_SLOTS, MOST_TOKENS, Engine, FlashAttention
from core.plan.commands.write import requantized
from core.plan.plan import Plan
from core.plan.settings import layer_count, used_gpus

AGAIN = mark("it is given again, and the last one counts")
THREADS = mark("the plan takes the bandwidth of all cores")
_MOST = 200  # pieces that are listed; nobody reads more
_WORD = 80  # characters of a pasted word that a sentence shows
_NUMBER = re.compile(r"[+-]?\d{1,12}")
_ON = frozenset(("on", "1", "true", "enabled", "yes"))
_OFF = frozenset(("off", "0", "false", "disabled", "no"))
_DEVICES = {
    "cuda": Backend.CUDA,
    "rocm": Backend.ROCM,
    "vulkan": Backend.VULKAN,
    "sycl": Backend.SYCL,
    "mtl": Backend.METAL,
    "metal": Backend.METAL,
}


@dataclass(frozen=True, slots=True)
class Unread:
    """A piece of the text that was not taken over, and why."""

    text: str
    why: str

    @property
    def sentence(self) -> str:
        """ "-ot exps=CPU: a plan lays out whole layers and experts, not single tensors"."""
        return f"{self.text}: {self.why}"


@dataclass(frozen=True, slots=True)
class Taken:
    """A piece of the text that was taken over, and the fields of a `Choice` that it sets."""

    text: str
    fields: tuple[str, ...]


@dataclass(slots=True)
class Found:
    """Collects fields of a `Choice`. ``whole`` is set where the text is a command: what it does not
    say is then the engine's default. ``kept`` are fields that it names and that were not
    understood: they stay as they are.

    Every piece of the text ends in one list: ``taken``, ``no_matter``, ``unread``, or the notes.
    """

    plan: Plan
    engine: Engine | None = None
    whole: bool = False
    changes: dict[str, Any] = field(default_factory=dict)
    no_matter: list[str] = field(default_factory=list)
    taken: list[Taken] = field(default_factory=list)
    unread: list[Unread] = field(default_factory=list)
    kept: set[str] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    recipes: dict[str, str | None] | None = None  # by the name of the file that has one

    def put(self, *texts: str, **values: Any) -> None:
        """Take over what these pieces say; earlier ones that say otherwise do not count."""
        shown = [excerpt(text, _WORD) for text in texts]
        others = {n for n in values.keys() & self.changes if values[n] != self.changes[n]}
        self.changes |= values
        self.unread = [u for u in self.unread if u.text not in shown or u.why != tr(AGAIN)]
        listed = {each.text for each in self.unread}
        fields = {text: dict.fromkeys(values) for text in shown if text not in listed}
        before, self.taken = self.taken, []
        for each in before:
            left = [name for name in each.fields if name not in others]
            if each.text in fields:
                fields[each.text] |= dict.fromkeys(left)
            elif left:
                self.taken.append(Taken(each.text, tuple(left)))
            else:
                self.decline(each.text, AGAIN)
        self.taken += [Taken(text, tuple(names)) for text, names in fields.items()]

    def decline(self, text: str, why: str, *kept: str) -> None:
        """List a piece that was not taken over; ``why`` may be marked only. The fields that it was
        meant for are ``kept`` as they are."""
        self.kept.update(kept)
        unread = Unread(excerpt(text, _WORD), tr(why))
        if len(self.unread) < _MOST and unread not in self.unread:
            self.unread.append(unread)

    def pass_over(self, text: str) -> None:
        """List a piece that changes neither memory nor speed."""
        shown = excerpt(text, _WORD)
        if len(self.no_matter) < _MOST and shown not in self.no_matter:
            self.no_matter.append(shown)

    def note(self, sentence: str) -> None:
        """Say something about the text, once."""
        if len(self.notes) < _MOST and sentence not in self.notes:
            self.notes.append(sentence)

    def model(self, text: str, value: str) -> None:
        """The open file, or a quantization of it by the name that is proposed for one; another
        file is not opened."""
        if self.recipes is None:
            path = self.plan.model.file.header.path
            made = {recipe: requantized(path, recipe) for recipe in RECIPES}
            self.recipes = {str(path): None, path.name: None}
            self.recipes |= {name: r for r, p in made.items() for name in (str(p), p.name)}
        for name in (value, file_name(value)):
            if name in self.recipes:
                self.put(text, requantize=self.recipes[name])
                return
        name = excerpt(file_name(value) or value, 60)
        self.note(tr("It names {name}; the open file stays.", name=name))

    def number(self, text: str, value: str, low: int, high: int, *kept: str) -> int | None:
        """A whole number in a range; what is none is declined, and the fields stay."""
        if not _NUMBER.fullmatch(value.strip()):
            why = tr("“{value}” is no whole number", value=excerpt(value, 30))
            self.decline(text, why, *kept)
            return None
        number = int(value)
        if not low <= number <= high:
            why = tr("only {low:,} to {high:,} is planned", low=low, high=high)
            self.decline(text, why, *kept)
            return None
        return number

    def context(self, text: str, value: str) -> None:
        """Tokens; 0 is what the model was trained for."""
        number = self.number(text, value, 0, MOST_TOKENS, "context")
        if number is not None:
            self.put(text, context=number or self.plan.model.shape.context_length)
            self.changes["depth"] = None

    def batch(self, name: str, text: str, value: str) -> None:
        """``batch`` or ``ubatch``."""
        number = self.number(text, value, 1, MOST_TOKENS, name)
        if number is not None:
            self.put(text, **{name: number})

    def slots(self, text: str, value: str) -> None:
        """Requests at a time; -1 leaves the number to the engine."""
        if value.strip() == "-1":
            self.put(text, slots=None)
            return
        number = self.number(text, value, 1, MOST_SLOTS, "slots")
        if number is not None:
            self.put(text, slots=number)

    def cache_type(self, name: str, text: str, value: str) -> None:
        """``cache_k`` or ``cache_v``."""
        kind = value.strip().lower()
        if kind in CACHE_TYPES:
            self.put(text, **{name: kind})
        else:
            known = ", ".join(CACHE_TYPES)
            self.decline(text, tr("no cache type of llama.cpp; it has {known}", known=known), name)

    def flash(self, text: str, value: str) -> None:
        """on, off or auto, in all the words that engines have for them."""
        word = value.strip().lower()
        if word in ("auto", "-1"):
            self.put(text, flash_attention=FlashAttention.AUTO)
        elif (switch := switched(word)) is None:
            self.decline(text, tr("it is on, off or auto"), "flash_attention")
        else:
            self.put(text, flash_attention=FlashAttention.ON if switch else FlashAttention.OFF)

    def layers(self, text: str, value: str) -> None:
        """Layers on the GPU; all of them where it is that many or left to the engine."""
        word = value.strip().lower()
        if word in ("all", "auto", "max"):
            self.put(text, gpu_layers="all")
            return
        number = self.number(text, value, -2, 10**9, "gpu_layers")
        if number is not None:
            every = number < 0 or number >= layer_count(self.plan.model)
            self.put(text, gpu_layers="all" if every else number)

    def experts(self, text: str, value: str) -> None:
        """Layers whose experts stay in RAM."""
        number = self.number(text, value, 0, 10**9, "cpu_moe")
        if number is not None:
            self.put(text, cpu_moe=min(number, self.plan.model.shape.layers))

    def companion(self, name: str, text: str, value: str) -> None:
        """A file beside the model: ``draft`` or ``projector``. Nothing is opened here."""
        current = getattr(self.plan.choice, name)
        if current is not None and same_file(value, current.file.header.path):
            self.put(text, **{name: current})
        else:
            self.decline(text, tr("it is planned once the file is added beside the model"))

    def drafted(self, text: str, value: str) -> None:
        """Tokens that are proposed at once."""
        number = self.number(text, value, 1, 1024, "drafted")
        if number is not None:
            self.put(text, drafted=number)

    def draft_layers(self, text: str, value: str) -> None:
        """Layers of the draft model on the GPU."""
        if value.strip().lower() in ("all", "auto"):
            self.put(text, draft_gpu_layers="all")
            return
        number = self.number(text, value, -2, 10**9, "draft_gpu_layers")
        if number is not None:
            self.put(text, draft_gpu_layers="all" if number < 0 else number)

    def draft_kind(self, text: str, value: str) -> None:
        """Ways of drafting: by a model, by the file's own blocks, or from the text itself."""
        kinds = value.strip().lower().split(",")
        others = [kind for kind in kinds if kind not in ("none", "draft-simple", "draft-mtp")]
        if others:
            names = excerpt(", ".join(others), 40)
            self.decline(text, tr("{names} takes no memory that is planned", names=names))
        self.put(text, draft_head="draft-mtp" in kinds)

    def devices(self, text: str, value: str) -> None:
        """The devices that llama.cpp may use, as it names them."""
        names = [name.strip().lower() for name in re.split(r"[,/]", value) if name.strip()]
        if names in (["none"], ["cpu"]):
            self.backend(text, Backend.CPU)
            return
        if names in (["auto"], ["all"]):
            self.put(text, backend=None)
            return
        kinds = {_DEVICES.get(re.sub(r"\d+$", "", name)) for name in names}
        if len(kinds) != 1 or None in kinds:
            why = tr("no devices of one kind that llama.cpp names, such as CUDA0")
            self.decline(text, why, "backend")
            return
        (kind,) = kinds
        assert kind is not None
        have = used_gpus(self.plan.machine, kind)
        if len(names) != len(have) and have:
            why = tr("every GPU of the machine is planned, which are {count}", count=len(have))
            self.decline(text, why)
        self.backend(text, kind)

    def backend(self, text: str, kind: Backend) -> None:
        """None where it is what the machine has anyway."""
        own = used_gpus(self.plan.machine, None)
        usual = self.plan.machine.devices[own[0]].backend if own else Backend.CPU
        self.put(text, backend=None if kind is usual else kind.value)


def same_file(value: str, path: Path) -> bool:
    """Whether a pasted path means this file: by its name, in the words of either system."""
    return value == str(path) or file_name(value) == path.name


def file_name(value: str) -> str:
    """The last part of a path of either system."""
    return PurePosixPath(PureWindowsPath(value).as_posix()).name


def switched(word: str) -> bool | None:
    """True for on, False for off, in the words of llama.cpp; None for neither."""
    return True if word.lower() in _ON else False if word.lower() in _OFF else None


def pairs(words: Sequence[str], switches: frozenset[str]) -> list[tuple[str, str | None, str]]:
    """Options with what follows them, "--name=value" apart; words of no option by themselves."""
    made: list[tuple[str, str | None, str]] = []
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        name, equals, value = word.partition("=")
        if not word.startswith("-"):
            made.append((word, None, word))
        elif equals:
            made.append((name, value, word))
        elif word in switches or place == len(words) or words[place].startswith("--"):
            made.append((word, None, word))
        else:
            made.append((word, words[place], f"{word} {words[place]}"))
            place += 1
    return made


def bare(value: str) -> str:
    """A value without the quotes around it."""
    value = value.strip()
    for quote in ('"""', '"', "'"):
        if value.startswith(quote) and value.endswith(quote) and len(value) >= 2 * len(quote):
            return value[len(quote) : -len(quote)]
    return value.rstrip("\"'")
