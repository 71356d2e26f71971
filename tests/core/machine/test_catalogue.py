"""The catalogue: what it holds, how it is searched, what machines it makes."""

from __future__ import annotations

import re

import pytest

from core.machine import Backend, DeviceKind, catalogue
from core.machine.rows import DISCRETE, Row, RowKind
from core.provenance import Rank

GIB = 2**30

# Data rate per pin in Gbit/s of every speed grade that the makers sell, from their catalogues.
PIN_RATES = {
    "GDDR5": (5, 9),
    "GDDR5X": (9, 12),
    "GDDR6": (10, 20.2),
    "GDDR6X": (19, 24),
    "GDDR7": (18, 32),
    "HBM2": (1.4, 2.5),
    "HBM2e": (1.2, 3.6),
    "HBM3": (5.1, 6.4),
    "HBM3e": (5.8, 9.8),
    "LPDDR4X": (3.7, 4.3),
    "LPDDR5": (4.2, 6.4),
    "LPDDR5X": (7.5, 9.6),
}


def test_every_row_is_there_with_an_id_and_a_source_of_its_own() -> None:
    rows = catalogue.all()
    assert len(rows) == 535
    assert len({r.id for r in rows}) == 535
    assert all(re.fullmatch(r"[a-z0-9-]+", r.id) for r in rows)
    assert all(r.source and r.bandwidth > 0 and r.memory_gb > 0 for r in rows)


def test_bus_and_memory_type_explain_every_bandwidth() -> None:
    known = [r for r in catalogue.all() if r.bus_bits and r.memory_type]
    assert len(known) > 530
    assert [r.id for r in known if not _explained(r)] == []


def _explained(row: Row) -> bool:
    per_pin = row.bandwidth * 8 / (row.bus_bits or 1) / 1e9
    kind, _, rate = row.memory_type.partition("-")
    if rate:
        return abs(per_pin * 1000 / float(rate) - 1) < 0.003
    low, high = PIN_RATES[kind]
    return low <= per_pin <= high


@pytest.mark.parametrize(
    ("id", "gigabytes_per_second"),
    [  # the makers' figures
        ("nvidia-geforce-rtx-3090", 936),
        ("nvidia-geforce-rtx-4090", 1008),
        ("nvidia-geforce-rtx-5090", 1792),
        ("nvidia-h100-sxm5-80-gb", 3350),
        ("nvidia-geforce-rtx-5060-ti-16-gb", 448),
        ("nvidia-gb10-dgx-spark", 273),
        ("amd-radeon-rx-7900-xtx", 960),
        ("amd-radeon-rx-7400", 172.8),
        ("amd-radeon-rx-9060", 288),
        ("amd-radeon-instinct-mi25", 484),
        ("amd-radeon-instinct-mi300x", 5300),
        ("intel-arc-a770", 560),
        ("intel-arc-b580", 456),
        ("cpu-desktop-dual-channel-ddr5-5600", 89.6),
        ("cpu-epyc-9374f-9654-ddr5-4800-12ch", 460.8),
        ("amd-ryzen-ai-max-395-radeon-8060s-strix-halo", 256),
    ],
)
def test_well_known_machines_have_the_published_bandwidth(
    id: str, gigabytes_per_second: float
) -> None:
    assert catalogue.row(id).bandwidth / 1e9 == pytest.approx(gigabytes_per_second, rel=0.002)


def test_a_gigabyte_in_a_cards_name_is_a_gibibyte() -> None:
    known = [r for r in catalogue.all() if r.driver_mib and r.kind in DISCRETE]
    assert len(known) > 45
    for row in known:
        share = row.driver_mib * 2**20 / row.nominal_bytes if row.driver_mib else 0
        # never more than its name says; error correction takes a sixteenth
        assert 0.93 <= share <= 1, row.id


def test_a_card_of_the_catalogue_stands_in_a_computer_of_unknown_ram() -> None:
    machine = catalogue.machine("nvidia-geforce-rtx-4090")
    gpu, host = machine.devices
    assert machine.id == gpu.catalogue_id == "nvidia-geforce-rtx-4090"
    assert (gpu.kind, gpu.backend, gpu.unified) == (DeviceKind.GPU, Backend.CUDA, False)
    assert gpu.memory.value == 24564 * 2**20  # nvidia-smi: 24564MiB
    assert gpu.bandwidth.value == 1008e9
    assert gpu.bandwidth.source.rank is Rank.DATASHEET
    assert gpu.used.value == 0
    assert (host.kind, host.memory.value, host.bandwidth.value) == (DeviceKind.HOST, None, None)
    assert host.memory.note


def test_a_mac_is_one_device_with_metals_share_of_its_memory() -> None:
    (device,) = catalogue.machine("apple-m4-max-40-core-gpu").devices
    assert device.unified
    assert device.backend is Backend.METAL
    assert device.memory.value is not None
    assert device.memory.value / 1e6 == pytest.approx(115448.73, rel=1e-4)  # of 128 GB
    assert device.memory.source.rank is Rank.ESTIMATED


def test_a_processor_is_a_host_alone() -> None:
    (device,) = catalogue.machine("cpu-desktop-dual-channel-ddr4-3200").devices
    assert device.kind is DeviceKind.HOST
    assert device.backend is Backend.CPU
    assert device.bandwidth.value == 51.2e9
    assert device.memory.source.rank is Rank.ASSUMED


def test_a_board_that_the_system_sees_as_two_gpus_is_two_devices() -> None:
    first, second, host = catalogue.machine("amd-radeon-instinct-mi250x").devices
    assert first == second
    assert first.memory.value == 64 * GIB
    assert first.bandwidth.value == 1638.4e9  # AMD: 3.2 TB/s for both
    assert host.kind is DeviceKind.HOST


def test_every_row_makes_a_machine_with_a_host_or_one_memory_for_all() -> None:
    for row in catalogue.all():
        machine = catalogue.machine(row.id)
        assert machine.devices[-1].kind is DeviceKind.HOST or machine.devices[-1].unified
        assert machine.devices[0].memory.value
        assert machine.devices[0].bandwidth.value
        assert not (machine.host and machine.devices[0].unified)


def test_an_unknown_id_names_what_it_may_have_meant() -> None:
    with pytest.raises(LookupError, match="nvidia-geforce-rtx-4090"):
        catalogue.machine("nvidia-rtx-4090")


@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("4090", "nvidia-geforce-rtx-4090"),
        ("rtx 4090 d", "nvidia-geforce-rtx-4090-d"),
        ("RTX 3060 12", "nvidia-geforce-rtx-3060-12-gb"),
        ("a100 80 pcie", "nvidia-a100-pcie-80-gb"),
        ("7900 xtx", "amd-radeon-rx-7900-xtx"),
        ("arc b580", "intel-arc-b580"),
        ("dgx spark", "nvidia-gb10-dgx-spark"),
        ("ddr5-5600 dual", "cpu-desktop-dual-channel-ddr5-5600"),
    ],
)
def test_the_best_match_of_a_search_comes_first(words: str, first: str) -> None:
    assert catalogue.search(words)[0].id == first


def test_a_search_needs_every_word_and_knows_kinds_and_makers() -> None:
    laptops = catalogue.search("laptop 4090")
    assert {r.kind for r in laptops} == {RowKind.LAPTOP_GPU}
    assert {r.vendor for r in catalogue.search("amd datacenter")} == {"AMD"}
    assert {r.memory_gb for r in catalogue.search("nvidia 24gb")} == {24}
    assert catalogue.search("4090 radeon") == ()
    assert catalogue.search("  ") == catalogue.all()


def test_a_name_of_several_parts_computes_at_least_as_fast_as_the_slowest() -> None:
    (card, _) = catalogue.machine("amd-radeon-rx-6900-xt").devices
    rows = catalogue.match("AMD Radeon RX 6800 / Radeon RX 6800 XT / Radeon RX 6900 XT")
    assert len(rows) == 3
    found = catalogue.described(card, rows)
    assert found.catalogue_id == ""
    assert found.flops.value == min((row.fp16_tflops or 0) * 1e12 for row in rows)
    assert found.flops.source.rank is Rank.ESTIMATED
    assert "RX 6800 XT" in found.flops.note
    assert found.memory_type == "GDDR6"
