"""PCI Express links, from the rate of a lane to the narrowest piece of the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.machine import catalogue
from core.machine.detect import pci
from core.machine.link import generation_of, pcie, written
from core.provenance import Rank, Source
from tests.support.sysfs import Bridge, pci_path

SOURCE = Source(Rank.REPORTED, "test")


@pytest.mark.parametrize(
    ("generation", "lanes", "gigabytes_per_second"),
    [  # PCI-SIG's figures, as everybody quotes them
        (1, 16, 4.0),
        (2, 16, 8.0),
        (3, 16, 15.75),
        (3, 4, 3.94),
        (4, 8, 15.75),
        (4, 16, 31.5),
        (5, 4, 15.75),
        (5, 16, 63.0),
        (6, 16, 121.0),
    ],
)
def test_a_link_carries_what_its_standard_says(
    generation: int, lanes: int, gigabytes_per_second: float
) -> None:
    number = pcie(generation, lanes, SOURCE)
    assert number is not None
    assert number.value == pytest.approx(gigabytes_per_second * 1e9, rel=0.001)


@pytest.mark.parametrize(("generation", "lanes"), [(0, 16), (7, 16), (4, 0), (4, 255)])
def test_a_link_that_cannot_be_is_none(generation: int, lanes: int) -> None:
    assert pcie(generation, lanes, SOURCE) is None


def test_the_makers_words_are_understood_and_others_are_not() -> None:
    link = written("PCIe 4.0 x8", SOURCE)
    assert link is not None
    assert link.most.value == pytest.approx(15.75e9, rel=0.001)
    assert link.now is None
    assert written("", SOURCE) is None
    assert written("MXM-B (3.0)", SOURCE) is None
    assert generation_of(16.0) == 4
    assert generation_of(12.0) is None


def test_a_card_of_the_catalogue_has_its_link_and_a_chip_without_one_has_none() -> None:
    (card, _) = catalogue.machine("nvidia-geforce-rtx-4060-ti-16-gb").devices
    assert card.link is not None
    assert card.link.most.value == pytest.approx(15.75e9, rel=0.001)
    (mac,) = catalogue.machine("apple-m4-max-40-core-gpu").devices
    assert mac.link is None


def test_an_amd_card_in_a_narrow_slot_has_the_slots_link(tmp_path: Path) -> None:
    """Recorded on RX 6800 XT class cards: the card says 16 GT/s x16 of its inner switch, the real
    link is that of the port above it, here a chipset slot of four lanes of generation 3."""
    card = pci_path(
        tmp_path,
        Bridge("0000:00:1b.4", "8.0 GT/s PCIe", "4", "8.0 GT/s PCIe", "4"),
        Bridge("0000:01:00.0", "16.0 GT/s PCIe", "16", "8.0 GT/s PCIe", "4"),
        Bridge("0000:02:00.0", "16.0 GT/s PCIe", "16", "16.0 GT/s PCIe", "16"),
        Bridge("0000:03:00.0", "16.0 GT/s PCIe", "16", "16.0 GT/s PCIe", "16"),
    )
    link = pci.link(card)
    assert link is not None
    assert link.most.value == pytest.approx(3.94e9, rel=0.001)
    assert link.now is not None
    assert link.now.value == link.most.value


def test_a_resting_link_is_slow_now_and_fast_at_most(tmp_path: Path) -> None:
    card = pci_path(
        tmp_path,
        Bridge("0000:00:01.0", "32.0 GT/s PCIe", "16", "2.5 GT/s PCIe", "16"),
        Bridge("0000:01:00.0", "16.0 GT/s PCIe", "16", "2.5 GT/s PCIe", "16"),
    )
    link = pci.link(card)
    assert link is not None
    assert link.most.value == pytest.approx(31.5e9, rel=0.001)
    assert link.now is not None
    assert link.now.value == pytest.approx(4e9, rel=0.001)
    assert "power" in link.now.note


def test_a_device_on_the_processor_itself_has_no_link(tmp_path: Path) -> None:
    igpu = pci_path(tmp_path, Bridge("0000:00:02.0"))
    assert pci.link(igpu) is None
    odd = pci_path(tmp_path, Bridge("0000:00:03.0", "Unknown", "255", "Unknown", "0"))
    assert pci.link(odd) is None
    assert pci.link(tmp_path / "nothing") is None
