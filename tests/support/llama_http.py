"""llama.cpp's own server out of the xllamacpp wheel, as a program for tests.

    python llama_http.py MODEL [NAME=VALUE ...]

NAME is a field of xllamacpp's ``CommonParams`` ("n_ctx", "cache_type_k") or of what it holds
("speculative.draft.mparams.path"); the values of an enumeration go by their own names. The log goes
to standard error; one line ``READY URL`` to standard output once the model is loaded. It runs until
its standard input is closed.
"""

from __future__ import annotations

import os
import sys
from functools import reduce
from importlib import import_module
from typing import Any

xllamacpp: Any = import_module("xllamacpp")  # its names come from a compiled module


def parameters(model: str, options: list[str]) -> Any:
    """What the server is started with: one thread, a free port, and the options."""
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.port = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = 1
    params.endpoint_metrics = params.endpoint_slots = True
    for option in options:
        path, _, text = option.partition("=")
        *within, name = path.split(".")
        fields = reduce(getattr, within, params)
        kind = type(getattr(fields, name))
        if kind is bool:
            value: Any = text == "true"
        elif kind in (int, str):
            value = kind(text)
        else:
            value = getattr(kind, text)
        setattr(fields, name, value)
    return params


def main() -> None:
    server = xllamacpp.Server(parameters(sys.argv[1], sys.argv[2:]))
    print("READY", server.listening_address, flush=True)
    sys.stdin.read()
    # Its destructor waits for open connections.
    os._exit(0)


if __name__ == "__main__":
    main()
