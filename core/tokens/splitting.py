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
_DEEPSEEK_WORDS = (
    r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
    r"| ?[\p{P}\p{S}]+"
)
_DEEPSEEK = rf"{_DEEPSEEK_WORDS}[\r\n]*|{_ENDS}"
_SPARK = rf"{_DEEPSEEK_WORDS}|[\r\n]|\s+(?!\S)|\s+"


def _o200k(upper: str, lower: str) -> str:
    """The family of o200k: a word begins anew where a capital follows a small letter."""
    return (
        rf"{_HEAD}{upper}*{lower}+{_CONTRACTIONS}?|{_HEAD}{upper}+{lower}*{_CONTRACTIONS}?"
        rf"|\p{{N}}{{1,3}}| ?{_SIGNS}[\r\n/]*|{_ENDS}"
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


_LLAMA3 = _llama3(r"\p{L}+", r"\p{N}{1,3}", _SIGNS)
_QWEN2 = _llama3(r"\p{L}+", r"\p{N}", _SIGNS)
_MARKED_UPPER = r"((?=[\p{L}\p{M}])([^a-z]))"
_MARKED_LOWER = r"((?=[\p{L}\p{M}])([^A-Z]))"
_CJK = "[一-龥぀-ゟ゠-ヿ]+"
_WORDS = " ?[^(\\s|.,!?…。，、।۔،)]+"
_LINES = Split((r"[^\n]+|[\n]+",), raw=True)
_DEFAULT = Split((r"[\p{P}\$\+<=>\^~\|]+", _GPT2, r"\p{N}+", "[0-9][0-9][0-9]"))
# Runs of spaces go in powers of two.
_SPACES = "|".join(rf"\s{{{2**n}}}(?!\S)" for n in range(9, 1, -1)) + r"|\s{1,2}(?!\S)|\s{1}"

# Names of pre-tokenizers that cut alike, and how.
_SPLITS: tuple[tuple[str, Split], ...] = (
    (
        "llama3 llama-v3 llama-bpe falcon3 falcon-h1 pixtral midm-2.0 lfm2 glm4 jina-v5-nano",
        Split((_LLAMA3,), whole_words=True),
    ),
    ("chatglm-bpe smaug-bpe dbrx", Split((_LLAMA3,))),
    (
        "qwen2 deepseek-r1-qwen megrez stablelm2 hunyuan solar-open grok-2 kormo f2llmv2",
        Split((_QWEN2,)),
    ),
    ("qwen35", Split((_llama3(r"[\p{L}\p{M}]+", r"\p{N}", r"[^\s\p{L}\p{M}\p{N}]+"),))),
    ("laguna", Split((*_LINES.patterns, _QWEN2))),
    (
        "gpt-2 phi-2 gigachat mellum a.x-4.0 exaone4 mpt olmo jais trillion granite-docling",
        Split((_GPT2,)),
    ),
    (
        "starcoder refact command-r smollm codeshell exaone minerva-7b mellum2",
        Split((r"\p{N}", _GPT2)),
    ),
    ("deepseek-v3 hunyuan-dense joyai-llm", Split((r"\p{N}{1,3}", _CJK, _DEEPSEEK))),
    ("spark2_5", Split((r"\p{N}{1,3}", _CJK, _SPARK, r"\p{N}"))),
    ("falcon", Split((r"[\p{P}\$\+<=>\^~\|`]+", _GPT2, "[0-9][0-9][0-9]"))),
    ("tekken", Split((_TEKKEN,), whole_words=True)),
    ("gpt-4o llama4 kanana2 minimax-m2 talkie", Split((_o200k(_UPPER, _LOWER),))),
    (
        "granite-embed-multi-97m",
        Split((_o200k(_MARKED_UPPER, _MARKED_LOWER),), whole_words=True),
    ),
    (
        "bailingmoe bailingmoe2 llada-moe",
        Split(
            (
                rf"'(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|{_HEAD}\p{{L}}+|\p{{N}}"
                rf"| ?{_SIGNS}[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
            )
        ),
    ),
    (
        "seed-coder",
        Split(
            (
                rf"{_CONTRACTIONS}|{_HEAD}\p{{L}}+|\p{{N}}{{1}}"
                rf"| ?[^\s\p{{L}}\p{{N}}\r\n]+|{_ENDS}",
            )
        ),
    ),
    (
        "exaone-moe",
        Split(
            (
                rf"{_CONTRACTIONS}|{_HEAD}(?:\p{{L}}\p{{M}}*(?: \p{{L}}\p{{M}}*)*)+|\p{{N}}"
                rf"| ?{_SIGNS}[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+",
            )
        ),
    ),
    (
        "minicpm5",
        Split(
            (r"\p{N}{1,3}", _llama3(r"\p{L}+", r"\p{N}+", _SIGNS)),
            whole_words=True,
        ),
    ),
    (
        "jais-2",
        Split(
            (
                rf"{_CONTRACTIONS}|{_HEAD}\p{{L}}+|\p{{N}}{{1,3}}| ?{_SIGNS}[\r\n]*"
                rf"|\s*[\r\n]+|{_SPACES}",
            )
        ),
    ),
    ("bloom poro-chat gpt3-finnish", Split((_WORDS,))),
    ("viking", Split((_WORDS, r"\p{N}"))),
    ("gemma4", _LINES),
    ("default", _DEFAULT),
)
SPLITS = {name: split for names, split in _SPLITS for name in names.split()}


def split_for(model: str, pre: str) -> tuple[Split, bool]:
    """The split of a vocabulary with merges, and whether it is known to be the engine's."""
    if model == "gemma4":
        return _LINES, True
    name = pre or "default"
    return (SPLITS[name], True) if name in SPLITS else (_DEFAULT, False)
