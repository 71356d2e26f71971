"""How long a built program takes until its window is drawn, against the same from source."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parent.parent
PAIRS = 5
BAR = 1.3
_SECONDS = 60
# A page with its bars and words has hundreds of colours, an empty screen or window a few.
_LOOK = """
import sys, time
from PySide6.QtGui import QGuiApplication
app = QGuiApplication([])
screen = app.primaryScreen()
def colours():
    image = screen.grabWindow(0).toImage()
    return len(set(memoryview(image.constBits()).cast("I")[::61]))
while colours() > 20:
    time.sleep(0.05)
print("ready", flush=True)
while colours() <= 100:
    time.sleep(0.005)
print(time.monotonic(), flush=True)
"""


def seconds(command: Sequence[str], environment: Mapping[str, str], home: Path) -> float:
    """From the start of the process to a drawn window on the screen that ``environment`` names.
    ``home`` takes settings and byte code. Raises TimeoutError where no window comes."""
    own = {
        **environment,
        "XDG_CONFIG_HOME": str(home),
        "XDG_STATE_HOME": str(home),
        # Byte code is kept, as it is for everybody who starts a program twice.
        "PYTHONDONTWRITEBYTECODE": "",
        "PYTHONPYCACHEPREFIX": str(home / "bytecode"),
    }
    with subprocess.Popen(
        [sys.executable, "-c", _LOOK],
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        text=True,
    ) as looker:
        assert looker.stdout is not None
        looker.stdout.readline()
        begun = time.monotonic()
        window = subprocess.Popen(command, env=own, cwd=ROOT)
        try:
            looker.wait(_SECONDS)
            return float(looker.stdout.readline()) - begun
        except subprocess.TimeoutExpired:
            looker.kill()
            raise TimeoutError(f"no window of {command[0]}") from None
        finally:
            window.terminate()
            window.wait(20)


def tell(program: Path, file: Path, environment: Mapping[str, str], home: Path) -> None:
    """Print the medians of both, run in turns, and of their ratio."""
    ways = {
        "bundle": [str(program), str(file)],
        "source": [sys.executable, "-m", "gui", str(file)],
    }
    took: dict[str, list[float]] = {way: [] for way in ways}
    for _ in range(PAIRS + 1):
        for way, command in ways.items():
            took[way].append(seconds(command, environment, home))
    warm = {way: found[1:] for way, found in took.items()}  # the first reads from the disk
    ratio = median(b / s for b, s in zip(warm["bundle"], warm["source"], strict=True))
    figures = ", ".join(f"{way} {median(found):.2f} s" for way, found in warm.items())
    print(
        f"start to a drawn window: {figures}; ratio, median of {PAIRS} pairs: {ratio:.2f} "
        f"(bar: {BAR})"
    )
