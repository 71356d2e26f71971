"""How a GPU or a disk is joined to the rest of the computer: PCI Express."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace

from core.language import mark
from core.provenance import Input, Number, Source, Unit

# Bytes per second of one lane in one direction, by generation: the transfer rate less what the
# line code costs (8 of 10 bits, then 128 of 130; generation 6 sends 242 of 256 bytes).
# PCI-SIG's base specifications; 4.0 x16 is 31.5 GB/s and 5.0 x16 63 GB/s.
_LANE = {
    1: 2.5e9 / 8 * 8 / 10,
    2: 5e9 / 8 * 8 / 10,
    3: 8e9 / 8 * 128 / 130,
    4: 16e9 / 8 * 128 / 130,
    5: 32e9 / 8 * 128 / 130,
    6: 64e9 / 8 * 242 / 256,
}
_GIGATRANSFERS = {2.5: 1, 5.0: 2, 8.0: 3, 16.0: 4, 32.0: 5, 64.0: 6}
_RESTS = mark("A link that rests is slowed down to save power.")
_WRITTEN = re.compile(r"PCIe (\d)\.0 x(\d+)")


@dataclass(frozen=True, slots=True)
class Link:
    """A PCI Express link, in bytes per second and direction.

    ``now`` is what it runs at this moment: a link that rests is slowed down to save power, so a
    plan takes ``most``, which slot and card agree on at full speed. ``now`` is None for a machine
    that is not this one.
    """

    most: Number[float]
    now: Number[float] | None = None


def pcie(generation: int, lanes: int, source: Source) -> Number[float] | None:
    """The bandwidth of a link, bytes per second in one direction; None for one that cannot be."""
    lane = _LANE.get(generation)
    if lane is None or not 1 <= lanes <= 32:
        return None
    return Number(
        lane * lanes,
        Unit.BYTES_PER_SECOND,
        source,
        formula=mark("bytes per second of one lane x lanes"),
        inputs=(Input(mark("PCIe generation"), generation), Input(mark("lanes"), lanes)),
    )


def joined(most: Number[float], now: Number[float] | None) -> Link:
    """A link, with the reason where it is slower now than it could be."""
    if now is not None and now.value is not None and most.value is not None:
        slower = now.value < most.value
        now = replace(now, note=_RESTS if slower else "")
    return Link(most, now)


def written(text: str, source: Source) -> Link | None:
    """The link in a maker's words ("PCIe 4.0 x16"); None where they name none."""
    found = _WRITTEN.fullmatch(text)
    most = pcie(int(found[1]), int(found[2]), source) if found else None
    return Link(most) if most is not None else None


def generation_of(gigatransfers: float) -> int | None:
    """The generation that runs at so many GT/s per lane; None for any other rate."""
    return _GIGATRANSFERS.get(gigatransfers)
