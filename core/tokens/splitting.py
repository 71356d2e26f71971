"""How engines cut a text before any merge: patterns by the name of the pre-tokenizer.

The patterns are those of the models' own tokenizer files in the form in which llama.cpp runs them
(b11434, ``src/llama-vocab.cpp``); where the two differ the engine's form stands here. A name is in
this table only where its tokens were compared with those of the engine on the recorded texts
(``tests/data/tokens``); any other is an estimate.
"""

from __future__ import annotations

from dataclasses import dataclass

_CONTRACTIONS = "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
_GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)"
_ENDS = r"\s*[\r\n]+|\s+(?!\S)|\s+"


def _llama3(letters: str, digits: str, signs: str) -> str:
    """The family of cl100k: a contraction, a word, digits, signs with what ends the line, space."""
    return rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?{letters}|{digits}| ?{signs}[\r\n]*|{_ENDS}"


_SIGNS = r"[^\s\p{L}\p{N}]+"
_UPPER = r"((?=[\p{L}])([^a-z]))"
_LOWER = r"((?=[\p{L}])([^A-Z]))"
_HEAD = r"[^\r\n\p{L}\p{N}]?"
_TEKKEN = rf"{_HEAD}{_UPPER}*{_LOWER}+|{_HEAD}{_UPPER}+{_LOWER}*|\p{{N}}| ?{_SIGNS}[\r\n/]*|{_ENDS}"
_O200K = (
    rf"{_HEAD}{_UPPER}*{_LOWER}+{_CONTRACTIONS}?|{_HEAD}{_UPPER}+{_LOWER}*{_CONTRACTIONS}?"
    rf"|\p{{N}}{{1,3}}| ?{_SIGNS}[\r\n/]*|{_ENDS}"
)
_DEEPSEEK = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    rf"| ?[\p{{P}}\p{{S}}]+[\r\n]*|{_ENDS}"
)


@dataclass(frozen=True, slots=True)
class Split:
    """Patterns, one after the other: each cuts what the ones before left into matches and gaps.

    ``whole_words`` takes a word that is a token without any merge. ``raw`` vocabularies are plain
    text in which "▁" stands for a space; in all others every byte has a letter of its own.
    """

    patterns: tuple[str, ...]
    whole_words: bool = False
    raw: bool = False


_LLAMA3 = Split((_llama3(r"\p{L}+", r"\p{N}{1,3}", _SIGNS),), whole_words=True)
_CHATGLM = Split(_LLAMA3.patterns)
_QWEN2 = Split((_llama3(r"\p{L}+", r"\p{N}", _SIGNS),))
_QWEN35 = Split((_llama3(r"[\p{L}\p{M}]+", r"\p{N}", r"[^\s\p{L}\p{M}\p{N}]+"),))
_PLAIN = Split((_GPT2,))
_DIGITS = Split((r"\p{N}", _GPT2))
_DEEPSEEK3 = Split((r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+", _DEEPSEEK))
_GPT4O = Split((_O200K,))
_LINES = Split((r"[^\n]+|[\n]+",), raw=True)
_DEFAULT = Split((r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]"))

SPLITS: dict[str, Split] = {
    **dict.fromkeys(
        (
            "llama3",
            "llama-v3",
            "llama-bpe",
            "falcon3",
            "falcon-h1",
            "pixtral",
            "midm-2.0",
            "lfm2",
            "glm4",
        ),
        _LLAMA3,
    ),
    **dict.fromkeys(("chatglm-bpe", "smaug-bpe", "dbrx"), _CHATGLM),
    **dict.fromkeys(
        ("qwen2", "deepseek-r1-qwen", "megrez", "stablelm2", "hunyuan", "solar-open", "grok-2"),
        _QWEN2,
    ),
    "qwen35": _QWEN35,
    **dict.fromkeys(
        (
            "gpt-2",
            "phi-2",
            "gigachat",
            "mellum",
            "a.x-4.0",
            "exaone4",
            "mpt",
            "olmo",
            "jais",
            "trillion",
        ),
        _PLAIN,
    ),
    **dict.fromkeys(
        ("starcoder", "refact", "command-r", "smollm", "codeshell", "exaone", "minerva-7b"),
        _DIGITS,
    ),
    **dict.fromkeys(("deepseek-v3", "hunyuan-dense", "joyai-llm"), _DEEPSEEK3),
    "falcon": Split((r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, "[0-9][0-9][0-9]")),
    "tekken": Split((_TEKKEN,), whole_words=True),
    **dict.fromkeys(("gpt-4o", "llama4", "kanana2", "minimax-m2"), _GPT4O),
    **dict.fromkeys(
        ("bailingmoe", "bailingmoe2", "llada-moe"),
        Split(
            (
                r"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}"
                rf"| ?{_SIGNS}[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
            )
        ),
    ),
    "seed-coder": Split(
        (
            rf"{_CONTRACTIONS}|[^\r\n\p{{L}}\p{{N}}]?\p{{L}}+|\p{{N}}{{1}}"
            rf"| ?[^\s\p{{L}}\p{{N}}\r\n]+|{_ENDS}",
        )
    ),
    "gemma4": _LINES,
    "default": _DEFAULT,
}


def split_for(model: str, pre: str) -> tuple[Split, bool]:
    """The split of a vocabulary with merges, and whether it is known to be the engine's."""
    if model == "gemma4":
        return _LINES, True
    name = pre or "default"
    return (SPLITS[name], True) if name in SPLITS else (_DEFAULT, False)
