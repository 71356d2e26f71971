"""llama.cpp's own server as a program with the name and the options of llama-server.

The wheel has the server but not the program; this turns the options that plans use into its
parameters and lets everything else be llama.cpp's.
"""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path

import pytest

_NUMBERS = {
    "-c": "n_ctx",
    "-b": "n_batch",
    "-ub": "n_ubatch",
    "-np": "n_parallel",
    "-lv": "verbosity",
}
_TYPES = {"-ctk": "cache_type_k", "-ctv": "cache_type_v"}
_IGNORED = {"-fa", "-ngl", "-ncmoe", "--host"}


def install(folder: Path, *, shrink_to: int | None = None) -> Path:
    """Write an executable ``llama-server``. ``shrink_to`` lowers every context to so many tokens,
    as llama.cpp does where memory is short."""
    pytest.importorskip("xllamacpp")
    if sys.platform == "win32":
        pytest.skip("a script is no program on Windows")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "llama-server"
    shrink = f"SHRINK_TO={shrink_to} " if shrink_to else ""
    root = Path(__file__).parents[2]
    path.write_text(
        "#!/bin/sh\n"
        f"exec env {shrink}PYTHONPATH={shlex.quote(str(root))} OMP_WAIT_POLICY=passive "
        f"OMP_NUM_THREADS=1 {shlex.quote(sys.executable)} -m tests.support.real_llama_server "
        '"$@"\n'
    )
    path.chmod(0o755)
    return path


def main(words: list[str]) -> None:
    import signal
    from importlib import import_module
    from threading import Event
    from typing import Any

    xllamacpp: Any = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    options = iter(words)
    for word in options:
        if word == "-m":
            params.model.path = next(options)
        elif word == "--port":
            params.port = int(next(options))
        elif word in _NUMBERS:
            setattr(params, _NUMBERS[word], int(next(options)))
        elif word in _TYPES:
            name = _TYPES[word]
            kind = type(getattr(params, name))
            setattr(params, name, getattr(kind, f"GGML_TYPE_{next(options).upper()}"))
        elif word in _IGNORED:
            next(options)
        elif word in ("-kvu", "-no-kvu"):
            params.kv_unified = word == "-kvu"
        elif word == "--slots":
            params.endpoint_slots = True
        elif word == "--metrics":
            params.endpoint_metrics = True
        elif word != "--swa-full":
            sys.stderr.write(f"error: invalid argument: {word}\n")
            sys.exit(1)
    if shrink := os.environ.get("SHRINK_TO"):
        params.n_ctx = min(params.n_ctx, int(shrink))
    signal.signal(signal.SIGTERM, lambda *_: os._exit(0))
    server = xllamacpp.Server(params)  # noqa: F841 - it lives as long as this name
    Event().wait()


if __name__ == "__main__":
    main(sys.argv[1:])
