"""How long it takes to look at this computer, in a process that has just started and again.

    python -m bench.detect [TIMES]

The bar is a second. The window does not wait for it: it looks in a thread, after it was painted.
"""

from __future__ import annotations

import subprocess
import sys
import time
from statistics import median

BAR = 1.0
TIMES = 7
_FIRST = (
    "import time; start = time.perf_counter(); "
    "from core.machine import detect; detect(); print(time.perf_counter() - start)"
)


def main(times: int = TIMES) -> None:
    first = []
    for _ in range(times):
        done = subprocess.run(
            [sys.executable, "-c", _FIRST], capture_output=True, text=True, check=True
        )
        first.append(float(done.stdout))
    from core.machine import detect

    again = []
    for _ in range(times):
        start = time.perf_counter()
        machine = detect()
        again.append(time.perf_counter() - start)
    print(f"{machine.name}: {len(machine.devices)} devices, {len(machine.problems)} problems")
    print(f"first, imports included: median {median(first):.3f} s, most {max(first):.3f} s")
    print(f"again: median {median(again):.3f} s, most {max(again):.3f} s; bar {BAR:.0f} s")


if __name__ == "__main__":
    main(*(int(argument) for argument in sys.argv[1:2]))
