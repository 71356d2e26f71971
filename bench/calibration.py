"""The error of the speed model on runs that the fit has not seen: ``python -m bench.calibration``.

Whole machines are left out, then whole sources; the fit that ships has seen them all.
"""

from __future__ import annotations

from bench.fitting import decode, prefill
from bench.fitting.bands import bands, corrected, errors
from core.machine.machine import Backend
from core.plan.speed.calibration import calibration


def main() -> None:
    rows = decode.rows()
    by_machine, by_source = decode.by_machine(rows), decode.by_source(rows)
    for title, ratios in (("machines left out", by_machine), ("sources left out", by_source)):
        print(f"decode, {title}")
        for name in ("all", *Backend):
            some = [
                n
                for n, row in enumerate(rows)
                if decode.is_main(row)
                and row.source != decode.PROCESSORS
                and name in ("all", row.run.backend)
            ]
            if some:
                print(f"  {name:7}", errors([rows[n] for n in some], [ratios[n] for n in some]))
        some = [n for n, row in enumerate(rows) if row.source != decode.PROCESSORS]
        print("  with other engines")
        print(f"  {'all':7}", errors([rows[n] for n in some], [ratios[n] for n in some]))
    _, inside = bands(rows, by_machine, by_source)
    print(f"bands: {inside:.0%} of the runs of unseen sources are inside")
    for title, same in (("another depth of the same model", True), ("other models", False)):
        ratios = corrected(rows, by_machine, same=same)
        each = sorted(abs(1 / ratio - 1) for ratio in ratios)
        print(f"corrected by {title}: {len(each)} rows, median {each[len(each) // 2]:.1%}")
    prompts = prefill.rows(rows)
    ratios = prefill.by_machine(prompts)
    print("prefill, machines left out")
    for name, experts in (("dense", False), ("experts", True)):
        some = [n for n, row in enumerate(prompts) if row.run.experts is experts]
        print(f"  {name:7}", errors([prompts[n] for n in some], [ratios[n] for n in some]))
    print(f"shipped with: {calibration().source.date}")


if __name__ == "__main__":
    main()
