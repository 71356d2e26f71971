"""Packs recorded traffic of llama.cpp's server into tests/data/wire.json.gz.

    python -m tests.support.pack_wire FOLDER

FOLDER has one folder for each build (a name with its number), and in it NAME.headers.txt with the
head, NAME.sse or NAME.json with the body, and for streams NAME.timeline.json with the milliseconds
and sizes of the chunks. Packed is, for each "build/NAME": the status, whether the head names
llama.cpp, and the chunks with their microseconds since the request. Settings and prompts that are
echoed are cut out: nothing reads them and they are most of the bytes.
"""

from __future__ import annotations

import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

NAMES = {
    "skulk_b10434": (
        "props",
        "slots",
        "models",
        "err_401_no_key",
        "err_501_metrics_disabled",
        "err_503_loading_health",
        "err_context_overflow",
        "gen_truncated_at_ctx",
        "chat_stream_early_eos",
        "chat_stream_reasoning",
        "chat_stream_speculative_ngram",
        "chat_stream_usage",
        "completion_stream_progress",
        "completion_stream_speculative_ngram",
        "completion_stream_timings",
        "v1_completions_stream",
    ),
    "xllamacpp_b11549": (
        "props",
        "slots",
        "v1_models",
        "bad_model_name",
        "chat_stream_usage",
        "completion_stream_progress",
        "completion_stream_timings",
        "err_context_overflow",
    ),
    "xllamacpp_tiny_random": (
        "chat_stream_64tok_utf8_holdback",
        "completion_stream_tokens_timings",
    ),
}
_TARGET = Path(__file__).parents[1] / "data" / "wire.json.gz"
_ECHOED = (
    re.compile(rb'"generation_settings":\{.*?"lora":\[\]\},'),
    re.compile(rb'"prompt":"(?:[^"\\]|\\.)*",'),
    re.compile(rb'"chat_template":"(?:[^"\\]|\\.)*",'),
    re.compile(rb'"content":"(?:[^"\\]|\\.){200,}",'),
)


def pack(folder: Path) -> dict[str, Any]:
    """Every recording of `NAMES`."""
    return {
        f"{build.rpartition('_')[2] if build[-1].isdecimal() else 'tiny'}/{name}": _recording(
            folder / build, name
        )
        for build, names in NAMES.items()
        for name in names
    }


def _recording(folder: Path, name: str) -> dict[str, Any]:
    head = (folder / f"{name}.headers.txt").read_text()
    stream = folder / f"{name}.sse"
    recorded: dict[str, Any] = {"status": int(head.split()[1]), "llama.cpp": "llama.cpp" in head}
    if not stream.exists():
        recorded["chunks"] = [[0, _short((folder / f"{name}.json").read_bytes())]]
        return recorded
    data = stream.read_bytes()
    times = json.loads((folder / f"{name}.timeline.json").read_text())["http_chunk_ms_nbytes"]
    chunks, at = [], 0
    for ms, size in times:
        chunks.append([round(ms * 1000), _short(data[at : at + size])])
        at += size
    assert at == len(data), name
    recorded["chunks"] = chunks
    return recorded


def _short(data: bytes) -> str:
    for pattern in _ECHOED:
        data = pattern.sub(b"", data)
    return data.decode()


if __name__ == "__main__":
    packed = json.dumps(pack(Path(sys.argv[1])), ensure_ascii=False, separators=(",", ":"))
    _TARGET.write_bytes(gzip.compress(packed.encode(), 9, mtime=0))
