"""How much of a Mac's memory Metal gives to the GPU."""

from __future__ import annotations

from core.language import mark, tr
from core.provenance import Input, Number, Rank, Source, Unit

# Metal's recommendedMaxWorkingSetSize as a share of RAM, from the RAM size (GiB) on. Read from
# llama.cpp logs of macOS 15 and later: 16 GB 12,713 MB, 24 GB 19,070 MB, 32 GB 26,801 MB, 36 GB
# 30,151 MB, 48 GB 40,201 MB, 64 GB 55,663 MB, 96 GB 83,494 MB, 128 GB 115,449 MB, 512 GB
# 498,216 MB; an 8 GB Mac 5,727 MB. Up to macOS 14: two thirds to 32 GB, three quarters above.
_SHARES = ((512, 0.90625), (128, 0.84), (64, 0.81), (32, 0.78), (16, 0.74), (0, 2 / 3))
_NOTE = mark(
    "Newer macOS gives the GPU this share by default, macOS 14 and earlier less (two thirds to "
    "three quarters). The limit can be raised with sysctl iogpu.wired_limit_mb."
)


def working_set(ram: Number[int], wired_limit_mb: int = 0) -> Number[int]:
    """Bytes that the GPU may hold of ``ram`` bytes.

    ``wired_limit_mb`` is the override of sysctl iogpu.wired_limit_mb in MiB, 0 for none.
    """
    if ram.value is None:
        return ram
    inputs = (Input(mark("RAM"), ram.value, Unit.BYTES),)
    if wired_limit_mb > 0:
        source = Source(Rank.REPORTED, "sysctl iogpu.wired_limit_mb")
        limit = min(wired_limit_mb * 2**20, ram.value)
        return Number(limit, Unit.BYTES, source, inputs=inputs)
    share = next(share for size, share in _SHARES if ram.value >= size * 2**30)
    return Number(
        round(ram.value * share),
        Unit.BYTES,
        Source(Rank.ESTIMATED, mark("Metal's default limit, from llama.cpp logs of other Macs")),
        formula=mark("RAM x share"),
        inputs=(*inputs, Input(mark("share"), share, Unit.SHARE)),
        note=_NOTE if not ram.note else f"{tr(ram.note)} {tr(_NOTE)}",
    )
