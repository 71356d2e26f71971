"""A program that plays llama.cpp: it prints a log, then waits, ends, or dies as it is told."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

# The line of a script that names its program takes no space and no long path; a shell does.
_SCRIPT = """\
#!/bin/sh
'''exec' {python} "$0" "$@"
' '''
import os, signal, subprocess, sys, time
open({arguments!r}, "a").write(repr(sys.argv[1:]) + "\\n")
sys.stdout.write(open({log!r}, encoding="utf-8").read())
sys.stdout.flush()
{then}
"""
WAITS = "time.sleep(600)"
ENDS = "sys.exit(0)"
ILLEGAL = "signal.signal(signal.SIGILL, signal.SIG_DFL); os.kill(os.getpid(), signal.SIGILL)"
FAMILY = f"""\
child = subprocess.Popen([sys.executable, "-c", "import time; {WAITS}"])
print("child", child.pid, flush=True)
{WAITS}"""
FLOOD = "while True: sys.stdout.write('x' * 65536 + chr(10))"


def stand_in(folder: Path, name: str, log: str, then: str = WAITS) -> Path:
    """Write an executable ``name`` into this folder; its arguments are noted in NAME.arguments."""
    if sys.platform == "win32":
        pytest.skip("a script is no program on Windows")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    text = folder / f"{name}.log"
    text.write_text(log, encoding="utf-8")
    path.write_text(
        _SCRIPT.format(
            python=shlex.quote(sys.executable),
            arguments=str(folder / f"{name}.arguments"),
            log=str(text),
            then=then,
        )
    )
    path.chmod(0o755)
    return path
