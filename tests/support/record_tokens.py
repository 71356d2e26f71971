"""Record what a real llama.cpp makes of the texts of ``vocabularies``: run as a program.

    python -m tests.support.record_tokens

One small model is written and loaded for every pre-tokenizer that ``core.tokens`` knows. The file
``tests/data/tokens/engine.json.gz`` then holds the vocabularies and the ids of every text by the
name of the vocabulary; what is equal is stored once.
"""

from __future__ import annotations

import gzip
import json
import urllib.request
from dataclasses import asdict, replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from core.tokens.splitting import SPLITS
from tests.support.llama_server import llama_server
from tests.support.tiny_gguf import write_tiny_llama
from tests.support.vocabularies import TEXTS, Made, of_lines, with_merges, with_scores

RECORD = Path(__file__).parents[1] / "data" / "tokens" / "engine.json.gz"


def vocabularies() -> dict[str, Made]:
    """Every vocabulary that is compared, by name."""
    return {name: made for name, (made, _) in recorded().items()}


@cache
def recorded() -> dict[str, tuple[Made, list[list[int]]]]:
    """Every vocabulary with the engine's ids for every text, by name."""
    stored = json.loads(gzip.decompress(RECORD.read_bytes()))
    made = {name: _made(values) for name, values in stored["vocabularies"].items()}
    return {
        name: (_named(made, name), stored["answers"][place])
        for name, place in stored["names"].items()
    }


def _made(values: dict[str, Any]) -> Made:
    fields: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    return Made(**fields)


def _named(made: dict[str, Made], name: str) -> Made:
    return made[name] if name in made else replace(made[""], pre=name)


def engine_tokens(made: Made, folder: Path) -> list[list[int]]:
    """The ids that llama.cpp's server gives for every text."""
    path = write_tiny_llama(folder / "tiny.gguf", tokenizer=made.add_to)
    with llama_server(path, n_ctx=512, n_parallel=1, warmup=False) as server:
        return [ask(server.url, text) for text in TEXTS]


def ask(url: str, text: str) -> list[int]:
    """The ids that a running server gives for a text."""
    body = json.dumps({"content": text}).encode()
    request = urllib.request.Request(f"{url}/tokenize", body, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        found: list[int] = json.load(answer)["tokens"]
        return found


def main() -> None:
    """Ask the engine and write the record."""
    answers: list[list[list[int]]] = []
    places: dict[str, int] = {}
    made = {"": with_merges(""), "gemma4": of_lines(), "llama": with_scores()}
    made["llama, words joined"] = with_scores(across=True)
    with TemporaryDirectory() as folder:
        for name in dict.fromkeys((*SPLITS, *made)):
            if not name:
                continue
            ids = engine_tokens(_named(made, name), Path(folder))
            if ids not in answers:
                answers.append(ids)
            places[name] = answers.index(ids)
    RECORD.parent.mkdir(exist_ok=True)
    text = json.dumps(
        {
            "vocabularies": {name: asdict(each) for name, each in made.items()},
            "names": places,
            "answers": answers,
        },
        separators=(",", ":"),
    )
    RECORD.write_bytes(gzip.compress(text.encode(), mtime=0))


if __name__ == "__main__":
    main()
