"""The fit on published runs, held against runs that it has not seen."""

from __future__ import annotations

import json
import math
from importlib import resources

import pytest

from bench.fitting import decode, prefill
from bench.fitting.bands import errors
from bench.fitting.solve import Case, seconds, solve
from core.plan.speed.calibration import calibration, group
from core.plan.speed.check import fit_of, predicted
from core.plan.speed.published import published_runs


def test_machines_that_are_left_out_are_predicted_within_nine_per_cent() -> None:
    rows = decode.rows()
    ratios = decode.held_out(rows, lambda row: row.machine, 4, 1)
    some = [n for n, r in enumerate(rows) if decode.is_main(r) and r.source != decode.PROCESSORS]
    found = errors([rows[n] for n in some], [ratios[n] for n in some])
    assert found.median < 0.09
    assert found.median_by_machine < 0.09
    assert found.within_20 > 0.76  # 81 % with ten folds; four leave less to learn from


def test_what_ships_is_what_the_script_would_fit() -> None:
    shipped = json.loads(
        resources.files("resources").joinpath("calibration.json").read_text("utf-8")
    )
    fitted = decode.fit(decode.rows())
    found = shipped["decode"]["coefficients"]
    for name, value in fitted.items():
        assert found[name] == pytest.approx(value, abs=2e-3), name
    prompts = prefill.fit(prefill.rows(decode.rows()))
    for name, value in prompts.items():
        assert shipped["prefill"]["coefficients"][name] == pytest.approx(value, abs=2e-3), name


def test_the_check_and_the_script_predict_alike() -> None:
    coefficients = calibration().decode
    for row in decode.rows():
        if row.source == decode.PROCESSORS or not decode.is_main(row):
            continue
        speed = predicted(row.run)
        assert speed is not None
        script = row.run.decode / decode.ratio(row, coefficients)
        # The program clips what would be faster than the bandwidth.
        assert speed <= script * 1.0001
        assert speed == pytest.approx(script, rel=0.05)


def test_most_published_runs_lie_in_the_band_of_their_group() -> None:
    runs = [row for row in decode.rows() if decode.is_main(row)]
    inside = 0
    for row in runs:
        speed = predicted(row.run)
        assert speed is not None
        of = group(row.hardware)
        inside += of.low <= row.run.decode / speed <= of.high
    assert inside / len(runs) > 0.84


def test_quantized_caches_flags_and_old_builds_are_told_apart() -> None:
    runs = published_runs()
    assert fit_of(runs).n == sum(not run.flag for run in runs) == 777
    assert any(run.packed for run in runs)
    assert all(run.flash for run in runs if not run.old)


def test_a_coefficient_without_data_stays_at_its_mean_and_one_with_data_moves() -> None:
    # Two groups of one law, time = amount x 2; only the first has rows.
    def prior(name: str) -> tuple[float, float]:
        return 0.0, 1.0

    cases = [Case(((float(n), ("all", "first")),), 2.0 * n) for n in range(1, 50)]
    found = solve(cases, prior)
    assert math.exp(found["all"] + found["first"]) == pytest.approx(2, rel=0.01)
    other = seconds(((3.0, ("all", "second")),), found, prior)
    assert 3.0 < other < 6.0  # half of what the first group taught goes for everybody
