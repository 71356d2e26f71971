"""``python -m bench.fitting`` fits the speed model and writes resources/calibration.json."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any

import resources
from bench.fitting import decode, prefill
from bench.fitting.bands import INSIDE, bands, corrected, errors, quantile

FILE = Path(resources.__file__).with_name("calibration.json")


def main() -> None:
    rows = decode.rows()
    # No published run tells what its processor's memory was timed at; what is told is that
    # decoding reaches 0.65 to 0.95 of such a figure.
    measured_cpu = {"read cpu measured": decode.prior("read cpu measured")[0]}
    coefficients = {**decode.fit(rows), **measured_cpu}
    machine, source = decode.by_machine(rows), decode.by_source(rows)
    groups, inside = bands(rows, machine, source)
    prompts = prefill.rows(rows)
    main_rows = [n for n, row in enumerate(rows) if decode.is_main(row)]
    measured = [n for n in main_rows if rows[n].source != decode.PROCESSORS]
    made = {
        "fitted": date.today().isoformat(),
        "decode": {
            "coefficients": coefficients,
            "groups": groups,
            "machines": _machines(rows, coefficients),
            "inside": round(inside, 3),
            "errors_by_machine": _errors(rows, machine, measured),
            "errors_by_source": _errors(rows, source, measured),
        },
        "own": {
            "same": _band(corrected(rows, machine, same=True)),
            "other": _band(corrected(rows, machine, same=False)),
        },
        "prefill": {
            "coefficients": prefill.fit(prompts),
            **_prompts(prompts),
        },
    }
    FILE.write_text(json.dumps(made, indent=1, sort_keys=True) + "\n", "utf-8")
    print(f"{FILE.name}: {len(rows)} rows, {inside:.0%} of unseen sources inside the bands")


def _machines(rows: Sequence[decode.Row], coefficients: Mapping[str, float]) -> dict[str, Any]:
    """How far the runs of a machine lie from the fit: half-way, and less where they are few.

    By catalogue id and backend, as a factor on speed.
    """
    found: dict[str, list[tuple[str, float]]] = {}
    for row in rows:
        if decode.is_main(row) and row.run.machine_id:
            key = f"{row.run.machine_id} {row.run.backend.value}"
            model = f"{row.run.model} {row.run.quantization}"
            found.setdefault(key, []).append((model, math.log(decode.ratio(row, coefficients))))
    made = {}
    for key, some in sorted(found.items()):
        models = len({model for model, _ in some})
        offset = 0.5 * median(value for _, value in some) * models / (models + 2)
        made[key] = {"runs": len(some), "factor": round(math.exp(offset), 4)}
    return made


def _errors(
    rows: Sequence[decode.Row], ratios: Sequence[float], some: Sequence[int]
) -> dict[str, float]:
    found = errors([rows[n] for n in some], [ratios[n] for n in some])
    return {
        "rows": found.rows,
        "machines": found.machines,
        "median": round(found.median, 4),
        "p90": round(found.p90, 4),
        "within_20": round(found.within_20, 4),
        "median_by_machine": round(found.median_by_machine, 4),
    }


def _band(ratios: Sequence[float]) -> dict[str, float]:
    cut = (1 - INSIDE) / 2
    return {
        "rows": len(ratios),
        "low": round(min(quantile(ratios, cut), 0.97), 3),
        "high": round(max(quantile(ratios, 1 - cut), 1.03), 3),
    }


def _prompts(prompts: Sequence[decode.Row]) -> dict[str, Any]:
    ratios = prefill.by_machine(prompts)
    made: dict[str, Any] = {}
    for name, experts in (("dense", False), ("experts", True)):
        some = [n for n, row in enumerate(prompts) if row.run.experts is experts]
        kept = [ratios[n] for n in some]
        made[name] = {**_errors(prompts, ratios, some), **_band(kept)}
    return made


if __name__ == "__main__":
    main()
