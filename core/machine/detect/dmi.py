"""Memory modules from the firmware's table, and the RAM bandwidth that follows from them.

Linux without root: udev keeps the table in /run/udev/data/+dmi:id (systemd's dmi_memory_id). It is
absent in containers and empty in most virtual machines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from core.language import mark, tr, trn
from core.machine.detect.limits import whole
from core.machine.machine import unknown_bandwidth
from core.problems import Problem, Severity
from core.provenance import Input, Number, Rank, Source, Unit

ORIGIN = mark("firmware's memory table")
_LINE = re.compile(r"^E:\s*MEMORY_DEVICE_(\d+)_([A-Z_]+)=(.*)$", re.MULTILINE)
_CONTROLLER = re.compile(r"controller\s*(\d+)")
_SOCKET = re.compile(r"\b(?:p|cpu|proc|node)[\s_-]*(\d+)")
_CHANNEL = re.compile(r"(?:channel|chan|ch)[\s_-]*([a-p]|\d+)(?![a-z])")
# DIMM_A1, DIMMA1, DDR4-A1, "DIMM A"; a bare "A1" is not a channel: Dell's servers name sockets so.
_LETTER = re.compile(r"(?:dimm|ddr\d|slot)[\s_.-]*([a-p])(?=\d|\b)")
# Widths in bits that memory interfaces have; a sum outside them means a table that lies.
_BUS_BITS = (16, 32, 64, 96, 128, 160, 192, 256, 384, 512, 1024)


@dataclass(frozen=True, slots=True)
class Module:
    """One populated slot, or one soldered chip. ``speed`` is MT/s as configured, None where
    the firmware does not say; ``width`` data bits; ``channel`` empty where names do not tell."""

    size: int
    type: str
    speed: int | None
    width: int | None
    channel: str


def modules(database: str) -> tuple[Module, ...]:
    """The populated slots in the text of udev's record of the firmware table."""
    slots: dict[int, dict[str, str]] = {}
    for number, key, value in _LINE.findall(database):
        slots.setdefault(int(number), {})[key] = value.strip()
    found = []
    for _, slot in sorted(slots.items()):
        size = whole(slot.get("SIZE"))
        if not size or slot.get("PRESENT") == "0":
            continue
        found.append(
            Module(
                size=size,
                type=slot.get("TYPE", ""),
                speed=module_speed(
                    whole(slot.get("CONFIGURED_SPEED_MTS")), whole(slot.get("SPEED_MTS"))
                ),
                width=whole(slot.get("DATA_WIDTH")),
                channel=channel(slot.get("LOCATOR", ""), slot.get("BANK_LOCATOR", "")),
            )
        )
    return tuple(found)


def channel(locator: str, bank: str) -> str:
    """What tells one memory channel from another in a slot's two names; empty if nothing does."""
    for text in (bank.lower(), locator.lower()):
        named = _CHANNEL.search(text)
        if named:
            controller, socket = _CONTROLLER.search(text), _SOCKET.search(text)
            return ".".join(m[1] if m else "" for m in (socket, controller, named))
    letter = _LETTER.search(locator.lower())
    if letter:
        socket = _SOCKET.search(locator.lower())
        return f"{socket[1] if socket else ''}..{letter[1]}"
    return ""


def bandwidth(found: tuple[Module, ...]) -> tuple[Number[float], tuple[Problem, ...]]:
    """Bytes per second of the RAM these modules make, and a warning for a single module.

    Channels are not in the table; they are inferred from the slots' names, so the figure is an
    estimate. Unknown where names or speeds are missing.
    """
    if not found:
        why = mark("The system shows no memory modules. Measuring it tells what really arrives.")
        return unknown_bandwidth(ORIGIN, why), ()
    speeds = [m.speed for m in found if m.speed is not None]
    if len(speeds) < len(found):
        why = mark("It does not tell the memory's speed. Measuring it tells what really arrives.")
        return unknown_bandwidth(ORIGIN, why), ()
    bits, how = _bus_bits(found)
    if bits is None:
        return unknown_bandwidth(ORIGIN, how), ()
    speed = min(speeds)
    number = Number(
        bits / 8 * speed * 1e6,
        Unit.BYTES_PER_SECOND,
        Source(Rank.ESTIMATED, ORIGIN),
        formula=mark("bus bits / 8 x MT/s"),
        inputs=(
            Input(mark("bus bits"), bits),
            Input("MT/s", speed),
            Input(mark("modules"), len(found)),
            Input(mark("memory"), found[0].type),
        ),
        note=how,
    )
    single = len(found) == 1 and bits == 64
    return number, ((_single(found[0]),) if single else ())


def _bus_bits(found: tuple[Module, ...]) -> tuple[int | None, str]:
    if found[0].type.upper().startswith("LP"):
        # Soldered memory is listed chip by chip, 16 or 32 bits each.
        total = sum(m.width or 0 for m in found)
        if total in _BUS_BITS and not any(m.width is None for m in found):
            return total, mark(
                "The bus is the sum of the soldered chips' widths. Measuring it tells what really "
                "arrives."
            )
        return None, mark(
            "The widths of the soldered memory chips do not add up to a bus. Measuring it tells "
            "what really arrives."
        )
    if len(found) == 1:
        return 64, mark(
            "One module fills one channel of 64 bits. Measuring it tells what really arrives."
        )
    names = {m.channel for m in found}
    if "" in names:
        return None, mark(
            "The names of the memory slots do not tell their channels. Measuring it tells what "
            "really arrives."
        )
    how = trn(
        "{count} channel of 64 bits, by the names of the slots. Measuring it tells what really "
        "arrives.",
        "{count} channels of 64 bits, by the names of the slots. Measuring it tells what really "
        "arrives.",
        len(names),
    )
    return 64 * len(names), how


def module_speed(configured: int | None, rated: int | None) -> int | None:
    """MT/s as configured. Some firmware writes the clock, half of it, there: then the rated one."""
    if configured and rated and abs(configured * 2 / rated - 1) < 0.03:
        return rated
    speed = configured or rated
    return speed if speed and 200 <= speed <= 20_000 else None


def _single(module: Module) -> Problem:
    return Problem(
        "single_memory_module",
        tr(
            "Only one memory module is fitted ({type}): the processor reads its RAM at half the "
            "speed of two.",
            type=module.type,
        ),
        Severity.WARNING,
        tr("A second module of the same kind in the other channel doubles it."),
    )
