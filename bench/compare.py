"""One model over the whole catalogue, a grid and a table: ``python -m bench.compare``.

Milliseconds of processor time, so that what else runs here counts little. "first" is the first time
for a model, when what is kept from one plan to the next has to be made.
"""

from __future__ import annotations

from collections.abc import Callable
from time import process_time

from core.compare import Candidate, compare_machines, compare_models, grid, sweep
from core.gguf import open_file
from core.machine import ASSUMED_RAM, catalogue, machine_from
from core.model import model_from
from core.model.model import Model
from core.plan.choice import Choice
from resources import specimens

BAR_MS = 300.0  # of the sweep
TIMES = 5
CHOSEN = ("nvidia-geforce-rtx-3090", "nvidia-geforce-rtx-4090", "ram:64GiB@51.2")


def main() -> None:
    for path in specimens():
        print(path.stem)
        one_model(model_from(open_file(path)))
    models = [Candidate(model_from(open_file(path))) for path in specimens()]
    print(f"all {len(models)} specimens")
    machine = machine_from(CHOSEN[0])
    report("table of models", lambda n: compare_models(models, machine, _choice(n)))


def one_model(model: Model) -> None:
    """All that the page shows of one model."""
    rows = len(catalogue.all())
    chosen = [(spec, machine_from(spec)) for spec in CHOSEN]
    report(f"catalogue, {rows} rows, bar {BAR_MS:g}", lambda n: sweep(model, _choice(n)))
    report(
        f"experts in RAM, bar {BAR_MS:g}",
        lambda n: sweep(model, Choice(depth=1024 * n, cpu_moe=40), ram=ASSUMED_RAM),
    )
    report(f"table, {len(chosen)} machines", lambda n: compare_machines(model, chosen, _choice(n)))
    report("grid", lambda n: grid(model, chosen[0][1], _choice(n)))


def _choice(n: int) -> Choice:
    return Choice(depth=1024 * n)


def report(words: str, work: Callable[[int], object]) -> None:
    """The first time, and the worst of those that follow."""
    times = []
    for n in range(TIMES):
        start = process_time()
        work(n)
        times.append(1000 * (process_time() - start))
    print(f"  {words:34} first {times[0]:6.0f} ms   then at most {max(times[1:]):6.0f} ms")


if __name__ == "__main__":
    main()
