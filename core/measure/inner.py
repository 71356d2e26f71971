"""Programs of our own that run beside the window: the command that starts one.

A bundle has no ``python -m``; its one executable starts them by a first argument that no user
types.
"""

from __future__ import annotations

import os
import runpy
import sys
from pathlib import Path

_FIRST = "--inner"
KEEPER = "core.measure.keeper"
WORKER = "core.measure.worker"
_MODULES = (KEEPER, WORKER)


def command(module: str, *words: str) -> tuple[str, ...]:
    """The program and its arguments that run one of these modules with ``words``."""
    if getattr(sys, "frozen", False):
        return (sys.executable, _FIRST, module, *words)
    # Unbuffered: a line is of no use to anybody while it waits in a buffer.
    return (sys.executable, "-u", "-m", module, *words)


def python_path() -> str:
    """PYTHONPATH for it: our own sources are found from whatever folder it is started in."""
    root = str(Path(__file__).resolve().parents[2])
    return os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])])


def is_inner(argv: list[str]) -> bool:
    """Whether these arguments (without the program's name) are for `run`."""
    return argv[:1] == [_FIRST] and argv[1:2] != [] and argv[1] in _MODULES


def run(argv: list[str]) -> int:
    """Run the module that `command` named; returns the exit status."""
    _, module, *words = argv
    sys.argv = [module, *words]
    try:
        runpy.run_module(module, run_name="__main__", alter_sys=True)
    except SystemExit as ended:
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    return 0
