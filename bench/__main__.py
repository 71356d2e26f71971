"""``make bench``: every benchmark, one after the other. Figures are printed, never asserted."""

from __future__ import annotations

from importlib import import_module

BENCHMARKS = (
    "reading",
    "resolve",
    "compare",
    "calibration",
    "tables",
    "library",
    "slider",
    "growth",
    "switching",
    "detect",
    "startup",
    "arrival",
)


def main() -> None:
    for name in BENCHMARKS:
        print(f"\n== {name} ==", flush=True)
        import_module(f"bench.{name}").main()


if __name__ == "__main__":
    main()
