"""Small vocabularies made from texts, for comparing tokens with those of a real engine.

Their merges are made without cutting the texts first, so that many tokens run over the places where
an engine cuts: a cut at another place shows at once.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise
from random import Random

import gguf

SPECIAL = ("<|start|>", "<|end|>", "<|endoftext|>")
_NORMAL, _UNKNOWN, _CONTROL, _USER, _BYTE = 1, 2, 3, 4, 6


def _texts() -> tuple[str, ...]:
    random = Random(7)
    alphabet = (
        "abcXYZéßñ ŽłДжαΩ中文字日本語かなカナ한글ابتहिन्दीกข้อ0123456789٠٣²½"
        "_-+=<>/\\|!?.,;:'\"`~@#$%^&*()[]{}"
        "\t\n\r\u00a0\u2003\u3000 \u0301\u200d…“”‘’—，。！？😀👩‍👩‍👧🇩🇪€"
    )
    fuzz = ["".join(random.choice(alphabet) for _ in range(120)) for _ in range(24)]
    spaces = [" " * n + "x" for n in (1, 2, 3, 4, 7, 8, 16, 31)]
    return (
        "Hello, world! It's what we'LL do; they'RE not I'M, you'd say \"don't\" 'twas 'S.",
        "def main(argv: list[str]) -> int:\n"
        "    for i in range(10):\n\t\tprint(f'{i:>3}')  # none\n\n",
        "1 12 123 1234 12345 1234567890 3.14159 0xFF 1e-9 2026-11-30T20:37 ١٢٣ ²³ Ⅷ ½",
        "a\r\nb\r\n\r\n\r\n  c \n \n\n\n   d\t\te   \n    \n",
        "Straße ÄÖÜ naïve façade ŽLUŤOUČKÝ Ελληνικά ΑΒΓ Привет МИР ПриВЕТ ij ǅ ǆ ʰ",
        "中文分词，不是很难。日本語のテキスト、カタカナ！한국어 문장입니다."
        " ภาษาไทยไม่มีช่องว่าง हिन्दी में पाठ",
        "عربي نص ١٢٣، وهكذا؟ עברית e\u0301 n\u0303 क्\u200dष 👩‍👩‍👧 😀😀 🇩🇪!? …—“quoted”‘single’",
        "camelCaseWord HTTPServer snake_case_word SCREAMING_CASE"
        " path/to/file.py C:\\dir\\x.txt //a ///",
        "=== <<>> ||| ``` $x + $y ^ ~ <tag attr='v'>text</tag>"
        " &amp; {{a}} [[b]] ((c)) #!/bin/sh!!!",
        "x" * 70 + " " + "ab" * 40 + " " + "é" * 30 + "\n" + "-" * 50 + "\n" + "中" * 40,
        "a ſ'ſ K ﬁ İ ı \ufeffbom \x7f\x85next \u2028line \u00ad soft",
        "before<|start|>user\n hi <|end|>  <|endoftext|>after <|start|><|end|> <|not|> <unk>",
        " leading",
        "trailing ",
        "  ",
        "\n",
        "a",
        "\t",
        "▁under ▁▁score",
        *spaces,
        *fuzz,
    )


TEXTS = _texts()
# What merges are made from: no token may be made that has the text of a special one.
_TRAINING = tuple(text.replace("|>", "> ") for text in TEXTS)


@dataclass(frozen=True, slots=True)
class Made:
    """A vocabulary as it stands in a file."""

    model: str
    pre: str
    tokens: tuple[str, ...]
    types: tuple[int, ...]
    scores: tuple[float, ...] = ()
    merges: tuple[str, ...] = ()

    def add_to(self, writer: gguf.GGUFWriter) -> int:
        """Add it to a file; answers how many tokens it has."""
        writer.add_tokenizer_model(self.model)
        writer.add_tokenizer_pre(self.pre)
        writer.add_token_list([token.encode() for token in self.tokens])
        writer.add_token_types(list(self.types))
        if self.scores:
            writer.add_token_scores(list(self.scores))
        if self.merges:
            writer.add_token_merges(list(self.merges))
        end = self.tokens.index(SPECIAL[2])
        writer.add_bos_token_id(end)
        writer.add_eos_token_id(end)
        writer.add_add_bos_token(False)
        return len(self.tokens)


def byte_letters() -> list[str]:
    """GPT-2's letters for the bytes 0 to 255, as its paper's code defines them."""
    shown = [*range(ord("!"), ord("~") + 1), *range(ord("¡"), ord("¬") + 1)]
    shown += range(ord("®"), ord("ÿ") + 1)
    letters, more = {}, 0
    for byte in range(256):
        letters[byte] = chr(byte) if byte in shown else chr(256 + more)
        more += byte not in shown
    return [letters[byte] for byte in range(256)]


def _pairs(words: list[list[str]], count: int) -> list[tuple[str, str]]:
    """The most frequent pairs, one after the other; of equal ones the first in the alphabet."""
    words = [list(word) for word in words]
    found: list[tuple[str, str]] = []
    seen: set[str] = set()
    while len(found) < count:
        pairs = Counter(pair for word in words for pair in pairwise(word))
        options = [(-n, pair) for pair, n in pairs.items() if "".join(pair) not in seen]
        if not options:
            break
        _, best = min(options)
        seen.add("".join(best))
        found.append(best)
        for word in words:
            place = 0
            while place < len(word) - 1:
                if (word[place], word[place + 1]) == best:
                    word[place : place + 2] = ["".join(best)]
                place += 1
    return found


def with_merges(pre: str, count: int = 600) -> Made:
    """A byte-level vocabulary with merges, in which whole words are tokens as well."""
    letters = byte_letters()
    words = [[letters[b] for b in text.encode()] for text in _TRAINING]
    pairs = _pairs(words, count)
    tokens = [*letters, *("".join(pair) for pair in pairs)]
    # Tokens that no merge makes: only an engine that takes whole words finds them.
    whole = [w for w in ("Hello", "Ġworld", "Ġdon", "path", "Ġquoted", "ĠПÑĢÐ¸") if w not in tokens]
    tokens += whole
    types = [_NORMAL] * len(tokens) + [_CONTROL] * len(SPECIAL)
    merges = tuple(f"{left} {right}" for left, right in pairs)
    return Made("gpt2", pre, (*tokens, *SPECIAL), tuple(types), merges=merges)


def of_lines(count: int = 600) -> Made:
    """A vocabulary of plain text with merges and bytes, as Gemma 4 has one."""
    texts = [text.replace(" ", "▁") for text in _TRAINING]
    words = [[line] for text in texts for line in text.split("\n")]
    pairs = _pairs([list(word[0]) for word in words], count)
    letters = sorted({c for text in texts for c in text} - set("ДЖ中👧\n"))
    # More than one line break is a token that no merge makes.
    tokens = ["<unk>", *(f"<0x{b:02X}>" for b in range(256)), *letters, "\n", "\n\n"]
    types = [_UNKNOWN] + [_BYTE] * 256 + [_NORMAL] * (len(letters) + 2)
    made = [("".join(pair), pair) for pair in pairs if not set("ДЖ中👧") & set("".join(pair))]
    tokens += [text for text, _ in made]
    types += [_NORMAL] * len(made) + [_CONTROL] * len(SPECIAL)
    merges = tuple(f"{left} {right}" for _, (left, right) in made)
    return Made("gemma4", "gemma4", (*tokens, *SPECIAL), tuple(types), merges=merges)


def with_scores(count: int = 600, across: bool = False) -> Made:
    """A SentencePiece vocabulary: scores instead of merges. ``across`` lets tokens run over the
    start of a word."""
    texts = [text.replace(" ", "▁") for text in _TRAINING]
    words = [
        list(word)
        for text in texts
        for word in ([text] if across else text.replace("▁", "\0▁").split("\0"))
    ]
    pairs = _pairs([word for word in words if word], count)
    letters = sorted({c for text in texts for c in text} - set("ДЖ中👧\0"))
    tokens = ["<unk>", *SPECIAL, *(f"<0x{b:02X}>" for b in range(256)), "▁▁▁▁▁", *letters]
    types = [_UNKNOWN] + [_CONTROL] * 3 + [_BYTE] * 256 + [_USER] + [_NORMAL] * len(letters)
    scores = [0.0] * 260 + [0.0] + [-1e4 - n for n in range(len(letters))]
    for number, pair in enumerate(pairs):
        text = "".join(pair)
        if text in tokens or set("ДЖ中👧\0") & set(text):
            continue
        tokens.append(text)
        types.append(_NORMAL)
        scores.append(-float(number // 2))  # two of each score: the leftmost goes first
    return Made("llama", "default", tuple(tokens), tuple(types), tuple(scores))
