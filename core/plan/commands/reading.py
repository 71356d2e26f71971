"""A pasted command, or other settings of an engine, as changes of the choice.

Nothing raises here, whatever is pasted: what cannot be taken over is listed with the reason.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from core.language import tr
from core.model import RECIPES
from core.plan.choice import Choice, Engine
from core.plan.commands import read_llama, read_lm_studio, read_ollama, read_vllm
from core.plan.commands.found import Found, Taken, Unread, file_name
from core.plan.commands.shells import Line, Shell, guess, split
from core.plan.commands.write import QUANTIZE
from core.plan.engine_words import own_context
from core.plan.engines import RULES
from core.plan.plan import Plan

LONGEST = 32_000  # characters; a command has some hundreds, a template some thousands

_SERVERS = ("llama-server", "server", "llama-server-cuda", "llamafile")
_TOOLS = ("llama-cli", "llama-completion", "main", "llama-run", "llama-mtmd-cli")
_BENCH = ("llama-bench",)
_IMAGE = re.compile(r"ggml-org/llama\.cpp:(\S*)")


@dataclass(frozen=True, slots=True)
class Reading:
    """What a text says.

    ``changes`` are fields of the `Choice`; where the text is a whole command (``whole``) they
    hold every field that a command decides, the engine's defaults included, but for those that it
    names and that were not understood. ``taken`` are the options that set them, ``no_matter`` those
    that change neither memory nor speed. ``unread`` was not taken over, each with why.
    """

    engine: Engine | None
    changes: dict[str, Any]
    whole: bool
    taken: tuple[Taken, ...]
    no_matter: tuple[str, ...]
    unread: tuple[Unread, ...]
    notes: tuple[str, ...]

    def applied(self, choice: Choice) -> Choice:
        """The choice with the changes."""
        return replace(choice, **self.changes)


def read_settings(text: str, plan: Plan, shell: Shell | None = None) -> Reading:
    """What ``text`` would change of the plan's choice.

    ``shell`` is the one that the text was written for, where it is known; else it is guessed from
    its quotes and line ends. Settings without a program change what they name and nothing else.
    """
    found = Found(plan)
    if len(text) > LONGEST:
        size = len(text)
        found.note(tr("This text has {size:,} characters: no command is that long.", size=size))
        return _reading(found)
    text = text.replace("\r\n", "\n").lstrip("\ufeff")
    for line in split(_settings(text, found), shell or guess(text)):
        _command(line, found)
    if not found.changes and found.engine is None and not found.notes:
        found.note(
            tr("No settings of an engine in this text.")
            if text.strip()
            else tr("Nothing was pasted.")
        )
    return _reading(found)


def _reading(found: Found) -> Reading:
    changes = dict(found.changes)
    if found.engine is not None:
        changes["engine"] = found.engine
    if found.whole:
        changes = _defaults(found) | changes
    return Reading(
        found.engine,
        changes,
        found.whole,
        tuple(found.taken),
        tuple(found.no_matter),
        tuple(found.unread),
        tuple(found.notes),
    )


def _defaults(found: Found) -> dict[str, Any]:
    """Every field that a command decides, as it is where the command does not say."""
    engine = found.engine or found.plan.choice.engine
    kept = ("requantize", "depth", "engine")
    blank = Choice(engine=engine)
    made = {f.name: getattr(blank, f.name) for f in fields(Choice) if f.name not in kept}
    backend = found.changes.get("backend")
    for name in found.kept:
        made.pop(name, None)
    if "context" not in found.changes | dict.fromkeys(found.kept):
        own = own_context(engine, found.plan.model, found.plan.machine, backend)
        made["context"] = own
        made["depth"] = None
        if own is not None:
            found.note(
                tr(
                    "The text names no context: {engine} then takes {tokens:,} tokens.",
                    engine=RULES[engine].name,
                    tokens=own,
                )
            )
    return made


def _settings(text: str, found: Found) -> str:
    """Take over what is no command: JSON, and settings line by line. What is left is commands."""
    stripped = text.strip()
    if stripped[:1] == "{":
        try:
            made = json.loads(stripped)
        except (ValueError, RecursionError):
            found.note(tr("This looks like JSON, but is not: a bracket or a quote is missing."))
            return ""
        _keys(made, found)
        return ""
    ollama = read_ollama.Lines(found)
    return "\n".join(
        line
        for line in text.split("\n")
        if not ollama.take(line) and not read_lm_studio.setting(line, found)
    )


def _keys(made: dict[str, Any], found: Found) -> None:
    """A request to Ollama or its options, or a load configuration of LM Studio."""
    inner = made.get("options")
    for key, value in (made | inner if isinstance(inner, dict) else made).items():
        if key.startswith("num_") and key != "num_predict":
            found.engine = Engine.OLLAMA
            read_ollama.parameter(key, str(value), found)
        elif not read_lm_studio.key(key, value, found) and key != "options":
            found.pass_over(f"{key}: {value}")


def _ollama(words: Sequence[str], found: Found) -> None:
    """Its commands have no options that decide memory."""
    found.engine = Engine.OLLAMA
    found.whole = True
    found.pass_over(" ".join(["ollama", *words]))


_OTHERS = {"ollama": _ollama, "lms": read_lm_studio.command}


def _command(line: Line, found: Found) -> None:
    words = line.words
    start = _assignments(words, found)
    words = words[start:]
    for place, word in enumerate(words):
        name = _program(word)
        if name in _SERVERS or name in _TOOLS or name in _BENCH:
            _llama(name, words[place + 1 :], found)
            return
        if (image := _IMAGE.search(word)) is not None:
            _container(words[:place], found)
            name = "llama-cli" if "light" in image.group(1) else "llama-server"
            _llama(name, words[place + 1 :], found)
            return
        if name in (QUANTIZE, "quantize"):
            _quantize(words[place + 1 :], found)
            return
        if name in _OTHERS:
            _OTHERS[name](words[place + 1 :], found)
            return
        if name == "vllm" or word.startswith("vllm."):
            read_vllm.command(words[place + 1 :], found)
            return
        if place == 0 and word.startswith("-"):
            if read_vllm.knows(words) and not read_llama.knows(words):
                read_vllm.command(words, found)
                found.whole = False
            else:
                read_llama.options(words, found, bench=False)
            return
    if words:
        found.decline(" ".join(words), tr("no engine and no option that is known here"))


def _llama(name: str, words: Sequence[str], found: Found) -> None:
    found.whole = True
    if name in _SERVERS:
        same = found.plan.choice.engine is Engine.IK_LLAMA or read_llama.is_ik(words)
        found.engine = Engine.IK_LLAMA if same else Engine.LLAMA_SERVER
    else:
        found.engine = Engine.LLAMA_CLI
    read_llama.options(words, found, bench=name in _BENCH)


def _quantize(words: Sequence[str], found: Found) -> None:
    """llama-quantize in.gguf [out.gguf] RECIPE [threads]."""
    recipes = [word.upper() for word in words if word.upper() in RECIPES]
    if recipes:
        found.put(" ".join([QUANTIZE, *words]), requantize=recipes[-1])
    else:
        found.decline(" ".join([QUANTIZE, *words]), tr("it names no recipe that is known here"))


def _assignments(words: Sequence[str], found: Found) -> int:
    """Variables before a command; how many words they are."""
    place = 0
    while place < len(words):
        word = words[place]
        if word.lower() in ("export", "set", "setx", "env", "sudo", "exec", "nohup", "&", "-e"):
            place += 1
            continue
        if word.lower().startswith("$env:"):
            name, _, value = word[5:].partition("=")
            ahead = [*words[place + 1 : place + 3], "", ""]
            if not value and ahead[0] == "=":
                value, place = ahead[1], place + 2
            elif not value and ahead[0].startswith("="):
                value, place = ahead[0][1:], place + 1
            elif word.endswith("=") and not value:
                value, place = ahead[0], place + 1
            read_ollama.variable(name, value, found)
            place += 1
            continue
        match = re.fullmatch(r"([A-Za-z_]\w*)=(.*)", word, re.DOTALL)
        if match is None:
            break
        read_ollama.variable(match[1], match[2], found)
        place += 1
    return place


def _container(words: Sequence[str], found: Found) -> None:
    """docker and its options, among them variables: -e NAME=value."""
    others: list[str] = []
    for word in words:
        match = re.fullmatch(r"(?:--env=|-e)?((?:LLAMA_ARG|OLLAMA)_\w+)=(.*)", word, re.DOTALL)
        if match is None:
            others.append(word)
            continue
        if others[-1:] in (["-e"], ["--env"]):
            others.pop()
        read_ollama.variable(match[1], match[2], found)
    found.pass_over(" ".join(others))


def _program(word: str) -> str:
    """The name of a program, of a path of either kind."""
    last = file_name(word).lower()
    return last.removesuffix(".exe").removesuffix(".bat").removesuffix(".cmd")
