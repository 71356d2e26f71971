"""RAM bandwidth from the firmware's memory table, as udev keeps it."""

from __future__ import annotations

import pytest

from core.machine.detect import dmi
from core.provenance import Rank

GIB = 2**30


def table(*slots: dict[str, object]) -> str:
    """A udev record with these memory devices, and lines of other kinds around them."""
    lines = ["I:1234567", "E:MEMORY_ARRAY_NUM_DEVICES=4", "E:ID_VENDOR=ACME", "G:systemd"]
    for number, slot in enumerate(slots):
        lines += [f"E:MEMORY_DEVICE_{number}_{key}={value}" for key, value in slot.items()]
    return "\n".join(lines) + "\n"


def module(
    locator: str, bank: str = "", speed: object = 3200, type: str = "DDR4", **more: object
) -> dict[str, object]:
    slot: dict[str, object] = {
        "SIZE": 16 * GIB,
        "LOCATOR": locator,
        "BANK_LOCATOR": bank,
        "TYPE": type,
        "CONFIGURED_SPEED_MTS": speed,
        "DATA_WIDTH": 64,
    }
    return slot | more


EMPTY: dict[str, object] = {"PRESENT": 0, "LOCATOR": "DIMM 0", "BANK_LOCATOR": "P0 CHANNEL A"}

LENOVO_DESKTOP = table(  # four slots, two filled, running below their rating
    module("ChannelA-DIMM0", "BANK 0", 2400, SPEED_MTS=2667),
    {"PRESENT": 0, "LOCATOR": "ChannelA-DIMM1", "BANK_LOCATOR": "BANK 1"},
    module("ChannelB-DIMM0", "BANK 2", 2400, SPEED_MTS=2667),
)
AM5_DESKTOP = table(
    EMPTY,
    module("DIMM 1", "P0 CHANNEL A", 6000, "DDR5", SPEED_MTS=5600),
    {"PRESENT": 0, "LOCATOR": "DIMM 0", "BANK_LOCATOR": "P0 CHANNEL B"},
    module("DIMM 1", "P0 CHANNEL B", 6000, "DDR5", SPEED_MTS=5600),
)
INTEL_LAPTOP = table(  # both controllers call their channel A
    module("Controller0-ChannelA-DIMM0", "BANK 0", 5600, "DDR5"),
    module("Controller1-ChannelA-DIMM0", "BANK 0", 5600, "DDR5"),
)
FULL_BOARD = table(*(module(f"DIMM_{name}", "BANK 0", 3600) for name in ("A1", "A2", "B1", "B2")))
SERVER = table(
    *(
        module(f"DIMM{letter}1", f"P0_Node0_Channel{number}_Dimm0", 2667)
        for number, letter in enumerate("ABCDEFGH")
    )
)
SOLDERED = table(
    *(
        module(f"Controller{c}-Channel{d}", "BANK 0", 7467, "LPDDR5", DATA_WIDTH=16, SIZE=4 * GIB)
        for c in (0, 1)
        for d in "ABCD"
    )
)
STRIX_HALO = table(
    *(
        module("DIMM 0", f"P0 CHANNEL {letter}", 8000, "LPDDR5", DATA_WIDTH=32)
        for letter in "ABCDEFGH"
    )
)


@pytest.mark.parametrize(
    ("machine", "gigabytes_per_second"),
    [
        (LENOVO_DESKTOP, 38.4),  # 2 channels x 8 B x 2400 MT/s: as configured, not as rated
        (AM5_DESKTOP, 96.0),  # 2 x 8 x 6000
        (INTEL_LAPTOP, 89.6),  # 2 x 8 x 5600
        (FULL_BOARD, 57.6),  # four modules, but two channels: 2 x 8 x 3600
        (SERVER, 170.7),  # 8 x 8 x 2667
        (SOLDERED, 119.5),  # 128 bits / 8 x 7467
        (STRIX_HALO, 256.0),  # 256 bits / 8 x 8000
    ],
)
def test_bandwidth_is_channels_times_eight_bytes_times_the_configured_rate(
    machine: str, gigabytes_per_second: float
) -> None:
    number, problems = dmi.bandwidth(dmi.modules(machine))
    assert number.value is not None
    assert number.value / 1e9 == pytest.approx(gigabytes_per_second, abs=0.05)
    assert number.source.rank is Rank.ESTIMATED
    assert number.formula
    assert problems == ()


def test_a_single_module_halves_the_speed_and_warns() -> None:
    found = dmi.modules(table(EMPTY, module("DIMM 1", "P0 CHANNEL A", 3200)))
    number, problems = dmi.bandwidth(found)
    assert number.value == 25.6e9
    (problem,) = problems
    assert problem.code == "single_memory_module"


@pytest.mark.parametrize(
    ("machine", "why"),
    [
        ("", "no memory modules"),
        (table({"SIZE": 16 * GIB, "LOCATOR": "DIMM 0", "TYPE": "RAM"}), "speed"),  # QEMU
        (table(module("DIMM 0"), module("DIMM 1")), "channels"),
        (table(*(module(f"A{n}") for n in range(1, 9))), "channels"),  # a server: A is a socket
        (table(module("DIMM_A1", speed="Unknown"), module("DIMM_B1")), "speed"),
        (table(*(module("x", type="LPDDR4", DATA_WIDTH=24) for _ in range(3))), "widths"),
    ],
)
def test_what_the_firmware_leaves_open_stays_unknown(machine: str, why: str) -> None:
    number, problems = dmi.bandwidth(dmi.modules(machine))
    assert number.value is None
    assert why in number.note
    assert problems == ()


def test_firmware_that_writes_the_clock_instead_of_the_rate_is_understood() -> None:
    machine = table(
        module("DIMM_A1", speed=1600, SPEED_MTS=3200), module("DIMM_B1", speed=1600, SPEED_MTS=3200)
    )
    assert dmi.bandwidth(dmi.modules(machine))[0].value == 51.2e9


def test_modules_of_different_speed_run_at_the_slower_one() -> None:
    machine = table(module("DIMM_A1", speed=3200), module("DIMM_B1", speed=2666))
    assert dmi.bandwidth(dmi.modules(machine))[0].value == pytest.approx(2 * 8 * 2666e6)


def test_part_and_serial_numbers_are_not_kept() -> None:
    machine = table(module("DIMM_A1", SERIAL_NUMBER="416433E9", PART_NUMBER="M378A1K43CB2-CTD"))
    assert "416433E9" not in repr(dmi.modules(machine))
