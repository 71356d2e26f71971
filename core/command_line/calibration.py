"""``weighbridge calibration check ROWS.csv``."""

from __future__ import annotations

from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

from core.plan.speed.check import Fit, fit_of, fits_by_backend
from core.plan.speed.published import LeftOut, PublishedRun, read_runs

_LARGEST = 64 * 2**20  # bytes; a table of runs is smaller


class RowsError(Exception):
    """The file is no table of runs; the sentence says why."""


def rows_of(path: str) -> tuple[list[PublishedRun], list[LeftOut]]:
    """The runs of a file, and what was left out.

    Raises RowsError with a sentence where the file cannot be read or lacks a column.
    """
    try:
        with Path(path).open("rb") as file:
            data = file.read(_LARGEST + 1)
        if len(data) > _LARGEST:
            raise RowsError(f"{path}: this is too large for a table of runs")
        return read_runs(StringIO(data.decode("utf-8-sig"), newline=""))
    except OSError as error:
        raise RowsError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise RowsError(f"{path}: this is no text in UTF-8") from None
    except ValueError as error:
        raise RowsError(f"{path}: {error}") from None


def line_of(fit: Fit) -> str:
    """The one line that is printed."""
    shares = {
        "median_error": fit.median_error,
        "p90_error": fit.p90_error,
        "within_20": fit.within_20,
    }
    words = [f"{name}={'null' if v is None else format(v, '.4f')}" for name, v in shares.items()]
    return " ".join([f"n={fit.n}", *words])


def values_of(runs: list[PublishedRun]) -> dict[str, Any]:
    """The same as plain values, and per backend."""
    backends = {name: asdict(fit) for name, fit in fits_by_backend(runs).items()}
    return {**asdict(fit_of(runs)), "backends": backends}
