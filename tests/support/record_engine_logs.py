"""Records what llama.cpp says while it loads, for the tests that read logs.

    python -m tests.support.record_engine_logs

The models are headers of ``heads.py`` with holes for weights; the sizes are those of a real load.
"""

from __future__ import annotations

import gzip
import json
import tempfile
from pathlib import Path

from tests.support.engine_logs import ARCHIVE
from tests.support.heads import heads
from tests.support.llama_server import engine_log

_Q8 = {"cache_type_k": "GGML_TYPE_Q8_0", "cache_type_v": "GGML_TYPE_Q8_0"}
_LOGS: dict[str, tuple[str, dict[str, object]]] = {
    "gemma3, 4 shared slots": (
        "gemma3-dense",
        {"n_ctx": 8192, "n_parallel": 4, "kv_unified": True},
    ),
    "qwen35, 2 slots apart, q8_0": ("qwen35-dense", {"n_ctx": 4096, "n_parallel": 2, **_Q8}),
    "llama, few words": (
        "llama-dense",
        {"n_ctx": 4096, "n_parallel": 1, "verbosity": 4},
    ),
}


def main() -> None:
    logs = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, (head, options) in _LOGS.items():
            model = heads()[head].write(Path(folder, f"{head}.gguf"))
            logs[name] = engine_log(model, **options).replace(folder, "/models")
    data = json.dumps(logs, ensure_ascii=True).encode()
    ARCHIVE.write_bytes(gzip.compress(data, 9, mtime=0))


if __name__ == "__main__":
    main()
