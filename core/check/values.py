"""The rows of a check: what they say, and how two sizes are held against each other."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from core.check.engine_log import MIB, ZERO, Size
from core.check.options import device_name, is_host
from core.language import mark, tr
from core.plan.plan import Plan
from core.plan.settings import used_gpus

REPACKED = mark("repacked weights")
CACHE_AND_STATE = mark("cache and state")
SECOND = mark("second context")
EVERYWHERE = mark("all devices")

LEFT_OUT = mark(
    "Before it loads, the engine leaves out weights that it will repack for this processor: this "
    "is the least that it can be."
)
_UNKNOWN = mark("The plan does not know this size.")
_SILENT = mark("The log does not say.")
_WHOLE_MIB = mark("Of this the engine prints whole MiB before it loads.")


class Agreement(StrEnum):
    EQUAL = mark("equal")  # within the log's rounding
    DIFFERS = mark("differs")
    WITHIN = mark("within")  # the log gives only a bound, and the estimate keeps it
    NOT_COMPARED = mark("not compared")


@dataclass(frozen=True, slots=True)
class Row:
    """One part on one device. ``reason`` says what an agreement rests on, or why there is none."""

    part: str
    device: str
    estimate: int | None
    engine: Size | None
    agreement: Agreement
    reason: str = ""

    @property
    def difference(self) -> int | None:
        """Estimate minus engine in bytes: 0 within the rounding, None where not compared."""
        if self.agreement is Agreement.EQUAL:
            return 0
        if self.agreement is not Agreement.DIFFERS or self.estimate is None or self.engine is None:
            return None
        return self.estimate - self.engine.middle

    @property
    def share(self) -> float | None:
        """The difference as a share of the engine's figure; None where that is 0 or unknown."""
        if self.difference is None or self.engine is None or not self.engine.middle:
            return None
        return self.difference / self.engine.middle


def part_words(part: str) -> str:
    """What a part is called, of the plan's own or of a log."""
    return tr(str(part))


def placed(plan: Plan, gpus: list[str]) -> dict[str, int]:
    """The devices of the log as the plan numbers them; one whose place is not clear is left out."""
    host = len(plan.memory.devices) - 1
    own = used_gpus(plan.machine, plan.choice.backend)
    found = {"Host": host}
    if host == 0:
        found |= dict.fromkeys(gpus, 0)
    elif len(gpus) == len(own):
        found |= dict(zip(gpus, own, strict=True))
    return found


def device_names(plan: Plan) -> list[str]:
    """What to call the devices: two of one name are numbered."""
    names = [device.device.name for device in plan.memory.devices]
    return [
        name if names.count(name) == 1 else f"{name} {names[: number + 1].count(name)}"
        for number, name in enumerate(names)
    ]


def owner(name: str) -> str:
    """The device of a buffer of this name; "Host" for all that lies in RAM."""
    return "Host" if is_host(name) else device_name(name)


def total(sizes: Iterable[Size]) -> Size | None:
    """The sum, or None of nothing."""
    found, any_there = ZERO, False
    for size in sizes:
        found, any_there = found + size, True
    return found if any_there else None


def agreed(estimate: int | None, engine: Size | None) -> tuple[Agreement, str]:
    """Whether a size is what the engine says, and a word about that."""
    if engine is None:
        return Agreement.NOT_COMPARED, _SILENT
    if estimate is None:
        return Agreement.NOT_COMPARED, _UNKNOWN
    if not engine.low <= estimate <= engine.high:
        return Agreement.DIFFERS, ""
    return Agreement.EQUAL, _WHOLE_MIB if engine.high - engine.low == MIB - 1 else ""
