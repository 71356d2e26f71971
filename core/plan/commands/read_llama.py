"""The options of llama.cpp's programs, word by word."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeAlias

from core.gguf.text import excerpt
from core.language import tr
from core.plan.choice import MOST_TOKENS
from core.plan.commands import flags
from core.plan.commands.flags import Flag, Meaning
from core.plan.commands.found import AGAIN, Found, switched

# What llama-bench shall test: tokens, and the words that say so.
_Tests: TypeAlias = dict[Meaning, tuple[int, str]]

# What only ik_llama.cpp has: latent attention, fused experts, repacking at run time.
_IK = frozenset(("-mla", "-amb", "-fmoe", "-rtr", "-ser", "-fmoe", "-ger", "-khad", "-no-fmoe"))
_LISTS = re.compile(r"[,+*]|(?<=\d)-(?=\d)")
# The fields of a choice that an option without its value was meant for.
_FIELDS = {
    Meaning.CONTEXT: "context",
    Meaning.BATCH: "batch",
    Meaning.UBATCH: "ubatch",
    Meaning.SLOTS: "slots",
    Meaning.CACHE_K: "cache_k",
    Meaning.CACHE_V: "cache_v",
    Meaning.GPU_LAYERS: "gpu_layers",
    Meaning.CPU_MOE: "cpu_moe",
    Meaning.DEVICE: "backend",
    Meaning.DRAFTED: "drafted",
    Meaning.DRAFT_CACHE_K: "draft_cache_k",
    Meaning.DRAFT_CACHE_V: "draft_cache_v",
    Meaning.DRAFT_LAYERS: "draft_gpu_layers",
    Meaning.DRAFT_KIND: "draft_head",
}
_VALUE_OF_SWITCH = frozenset(("on", "off", "auto", "1", "0", "-1", "true", "false", "enabled"))


def knows(words: Sequence[str]) -> bool:
    """Whether any word is an option of llama.cpp."""
    return any(flags.of(word.partition("=")[0], flags.LLAMA) for word in words)


def is_ik(words: Sequence[str]) -> bool:
    """Whether any word is an option that only ik_llama.cpp has."""
    return not _IK.isdisjoint(words)


def options(words: Sequence[str], found: Found, *, bench: bool) -> None:
    """Take over what these words say, the last of several alike."""
    known = flags.BENCH if bench else flags.LLAMA
    tests: _Tests = {}
    place = 0
    while place < len(words):
        word = words[place]
        place += 1
        name, joined, value = word.partition("=")
        flag = flags.of(word, known)
        if flag is not None:
            joined = ""
        elif joined and word.startswith("-"):
            flag = flags.of(name, known)
        if flag is None:
            place += _unknown(word, words[place : place + 1], found)
            continue
        given = [value] if joined else list(words[place : place + flag.values])
        if flag.meaning is Meaning.FLASH and not joined:
            given = given if given and given[0].lower() in _VALUE_OF_SWITCH else []
            place += len(given)
            given = given or ["on"]  # a switch, before it had a value
        elif not joined:
            place += len(given)
        text = f"{word}" if joined else " ".join([word, *given])
        if len(given) < flag.values:
            kept = [_FIELDS[flag.meaning]] if flag.meaning in _FIELDS else []
            found.decline(text, tr("its value is missing"), *kept)
        elif flag.meaning is not None:
            _take(flag, text, given[0] if given else "", found, tests)
        elif flag.why:
            found.decline(text, flag.why)
        else:
            found.pass_over(text)
    if bench:
        _test(tests, found)


def variable(name: str, value: str, found: Found) -> bool:
    """A variable of llama.cpp's; what is set already, by an option, stays. False for another."""
    option = flags.ENVIRONMENT.get(name)
    if option is None:
        return False
    flag = flags.LLAMA[option]
    if flag.meaning is Meaning.UNIFIED and switched(value) is False:
        flag = flags.LLAMA["--no-kv-unified"]
    if flag.values or switched(value) is not False:
        _take(flag, f"{name}={value}", value, found, {})
    else:
        found.pass_over(f"{name}={value}")
    return True


def _unknown(word: str, following: Sequence[str], found: Found) -> int:
    """List a word that no option is; how many more words belong to it."""
    if not word.startswith("-"):
        found.decline(word, tr("no option stands before it"))
        return 0
    value = following[0] if following and not _is_option(following[0]) else None
    why = tr("llama.cpp has no such option")
    if word in _IK:
        why = tr("ik_llama.cpp has it; a plan does not")
    found.decline(word if value is None else f"{word} {value}", why)
    return 0 if value is None else 1


def _is_option(word: str) -> bool:
    return word.startswith("-") and not re.fullmatch(r"-\d+(\.\d+)?", word)


def _take(flag: Flag, text: str, value: str, found: Found, tests: _Tests) -> None:
    match flag.meaning:
        case Meaning.MODEL:
            found.model(text, value)
        case Meaning.CONTEXT:
            found.context(text, value)
        case Meaning.BATCH:
            found.batch("batch", text, _first(text, value, found))
        case Meaning.UBATCH:
            found.batch("ubatch", text, _first(text, value, found))
        case Meaning.SLOTS:
            found.slots(text, value)
        case Meaning.UNIFIED:
            found.put(text, unified_cache=True)
        case Meaning.APART:
            found.put(text, unified_cache=False)
        case Meaning.SWA_FULL:
            found.put(text, swa_full=True)
        case Meaning.FLASH:
            found.flash(text, _first(text, value, found))
        case Meaning.CACHE_K:
            found.cache_type("cache_k", text, _first(text, value, found))
        case Meaning.CACHE_V:
            found.cache_type("cache_v", text, _first(text, value, found))
        case Meaning.GPU_LAYERS:
            found.layers(text, _first(text, value, found))
        case Meaning.CPU_MOE:
            found.experts(text, _first(text, value, found))
        case Meaning.ALL_CPU_MOE:
            found.put(text, cpu_moe=found.plan.model.shape.layers)
        case Meaning.DEVICE:
            found.devices(text, value)
        case Meaning.SPLIT_MODE:
            if value.lower() == "layer":
                found.pass_over(text)
            else:
                found.decline(
                    text, tr("GPUs share whole layers in a plan, as they do by themselves")
                )
        case Meaning.PROJECTOR:
            found.companion("projector", text, value)
        case Meaning.PROJECTOR_ON_GPU:
            found.put(text, projector_on_gpu=True)
        case Meaning.PROJECTOR_IN_RAM:
            found.put(text, projector_on_gpu=False)
        case Meaning.DRAFT:
            found.companion("draft", text, value)
        case Meaning.DRAFTED:
            found.drafted(text, value)
        case Meaning.DRAFT_CACHE_K:
            found.cache_type("draft_cache_k", text, value)
        case Meaning.DRAFT_CACHE_V:
            found.cache_type("draft_cache_v", text, value)
        case Meaning.DRAFT_LAYERS:
            found.draft_layers(text, value)
        case Meaning.DRAFT_KIND:
            found.draft_kind(text, value)
        case Meaning.PROMPT | Meaning.GENERATED | Meaning.DEPTH:
            sizes = [int(n) for n in re.findall(r"\d{1,9}", value)]
            if sizes:
                before, tests[flag.meaning] = tests.get(flag.meaning), (max(sizes), text)
                if before is not None and before[1] != text:
                    found.decline(before[1], AGAIN)
            else:
                found.decline(text, tr("no number of tokens"))


def _first(text: str, value: str, found: Found) -> str:
    """llama-bench takes several values: the plan takes the first."""
    parts = [part for part in _LISTS.split(value) if part]
    if len(parts) < 2:
        return value
    first = excerpt(parts[0], 20)
    found.decline(text, tr("of several values the plan takes the first, {first}", first=first))
    return parts[0]


def _test(tests: _Tests, found: Found) -> None:
    """llama-bench reserves what its longest test needs: the tokens before, and those of a test."""
    sizes = {meaning: size for meaning, (size, _) in tests.items()}
    depth = sizes.get(Meaning.DEPTH, 0)
    most = max(sizes.get(Meaning.PROMPT, 512), sizes.get(Meaning.GENERATED, 128), 1)
    texts = [text for _, text in tests.values()]
    whole = depth + most
    if whole <= MOST_TOKENS:
        found.put(*texts, context=whole, depth=depth)
    for text in texts if whole > MOST_TOKENS else ():
        found.number(text, str(whole), 0, MOST_TOKENS, "context")
    found.changes["slots"] = None
