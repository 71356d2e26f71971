"""Names as drivers print them, against the catalogue."""

from __future__ import annotations

import csv
import re
from pathlib import Path

import pytest

from core.machine import catalogue
from core.machine.rows import Row, RowKind

MIB = 2**20
GIB = 2**30

# Name, total in MiB (None: not asked), and the one row it means.
CLEAR = [
    ("NVIDIA GeForce RTX 4090", 24564, "nvidia-geforce-rtx-4090"),
    ("GeForce RTX 4090", 24564, "nvidia-geforce-rtx-4090"),
    ("NVIDIA GeForce RTX 4090 D", 24564, "nvidia-geforce-rtx-4090-d"),
    ("NVIDIA GeForce RTX 4090 Laptop GPU", 16376, "nvidia-geforce-rtx-4090-mobile"),
    ("NVIDIA GeForce RTX 5070", 12227, "nvidia-geforce-rtx-5070"),
    ("NVIDIA GeForce RTX 5070 Laptop GPU", 8151, "nvidia-geforce-rtx-5070-mobile"),
    ("NVIDIA GeForce RTX 5070 Ti Laptop GPU", 12227, "nvidia-geforce-rtx-5070-ti-mobile"),
    ("NVIDIA GeForce RTX 5070 Ti", 16303, "nvidia-geforce-rtx-5070-ti"),
    ("NVIDIA GeForce RTX 5090 Laptop GPU", 24463, "nvidia-geforce-rtx-5090-mobile"),
    ("NVIDIA GeForce RTX 4060 Ti", 16380, "nvidia-geforce-rtx-4060-ti-16-gb"),
    ("NVIDIA GeForce RTX 4060 Ti", 8188, "nvidia-geforce-rtx-4060-ti-8-gb"),
    ("NVIDIA GeForce RTX 5060 Ti", 16311, "nvidia-geforce-rtx-5060-ti-16-gb"),
    ("NVIDIA GeForce RTX 3080", 10240, "nvidia-geforce-rtx-3080"),
    ("NVIDIA GeForce RTX 3080", 12288, "nvidia-geforce-rtx-3080-12-gb"),
    ("NVIDIA GeForce RTX 3080 Ti", 12288, "nvidia-geforce-rtx-3080-ti"),
    ("NVIDIA GeForce RTX 3060", 12288, "nvidia-geforce-rtx-3060-12-gb"),
    ("NVIDIA GeForce RTX 3060", 8192, "nvidia-geforce-rtx-3060-8-gb"),
    ("NVIDIA GeForce RTX 3090 Ti", 24564, "nvidia-geforce-rtx-3090-ti"),
    ("NVIDIA GeForce RTX 4070 SUPER", 12282, "nvidia-geforce-rtx-4070-super"),
    ("NVIDIA GeForce RTX 4070 Ti", 12282, "nvidia-geforce-rtx-4070-ti"),
    ("NVIDIA GeForce RTX 4070 Ti SUPER", 16376, "nvidia-geforce-rtx-4070-ti-super"),
    ("NVIDIA GeForce RTX 2080 Ti", 11264, "nvidia-geforce-rtx-2080-ti"),
    ("GeForce RTX 2070 SUPER with Max-Q Design", 8192, "nvidia-geforce-rtx-2070-super-max-q"),
    ("NVIDIA GeForce GTX 1080 Ti", 11264, "nvidia-geforce-gtx-1080-ti"),
    ("NVIDIA GeForce GTX 1070", 8192, "nvidia-geforce-gtx-1070"),
    ("NVIDIA GeForce GTX 1060 6GB", None, "nvidia-geforce-gtx-1060-6-gb"),
    ("NVIDIA GeForce GTX 1060 3GB", None, "nvidia-geforce-gtx-1060-3-gb"),
    ("NVIDIA GeForce GTX 1650 with Max-Q Design", 4096, "nvidia-geforce-gtx-1650-max-q"),
    ("NVIDIA GeForce GTX 1650 SUPER", 4096, "nvidia-geforce-gtx-1650-super"),
    ("NVIDIA RTX A2000 12GB", 12282, "nvidia-rtx-a2000-12-gb"),
    ("NVIDIA RTX A2000", 6138, "nvidia-rtx-a2000"),
    ("NVIDIA RTX A6000", 46068, "nvidia-rtx-a6000"),
    ("NVIDIA RTX A5000", 24564, "nvidia-rtx-a5000"),
    ("Quadro RTX 5000", 16384, "nvidia-quadro-rtx-5000"),
    ("Quadro RTX 6000", 23040, "nvidia-quadro-rtx-6000"),
    ("NVIDIA RTX 6000 Ada Generation", 49140, "nvidia-rtx-6000-ada-generation"),
    ("NVIDIA RTX 5000 Ada Generation", 32760, "nvidia-rtx-5000-ada-generation"),
    ("NVIDIA RTX 4000 SFF Ada Generation", 20475, "nvidia-rtx-4000-sff-ada-generation"),
    ("NVIDIA RTX 4000 Ada Generation", 20475, "nvidia-rtx-4000-ada-generation"),
    (
        "NVIDIA RTX 3500 Ada Generation Laptop GPU",
        12282,
        "nvidia-rtx-3500-mobile-ada-generation",
    ),
    (
        "NVIDIA RTX PRO 6000 Blackwell Workstation Edition",
        97887,
        "nvidia-rtx-pro-6000-blackwell",
    ),
    (
        "NVIDIA RTX PRO 6000 Blackwell Max-Q Workstation Edition",
        97887,
        "nvidia-rtx-pro-6000-blackwell-max-q",
    ),
    (
        "NVIDIA RTX PRO 6000 Blackwell Server Edition",
        97887,
        "nvidia-rtx-pro-6000-blackwell-server",
    ),
    ("NVIDIA RTX PRO 5000 Blackwell", 73728, "nvidia-rtx-pro-5000-72-gb-blackwell"),
    ("NVIDIA RTX PRO 4000 Blackwell SFF Edition", None, "nvidia-rtx-pro-4000-blackwell-sff"),
    ("NVIDIA A100-SXM4-80GB", 81920, "nvidia-a100-sxm4-80-gb"),
    ("NVIDIA A100-SXM4-40GB", 40960, "nvidia-a100-sxm4-40-gb"),
    ("NVIDIA A100 80GB PCIe", 81920, "nvidia-a100-pcie-80-gb"),
    ("NVIDIA A100-PCIE-40GB", 40960, "nvidia-a100-pcie-40-gb"),
    ("NVIDIA H100 80GB HBM3", 81559, "nvidia-h100-sxm5-80-gb"),
    ("NVIDIA H100 PCIe", 81559, "nvidia-h100-pcie-80-gb"),
    ("NVIDIA H100 NVL", 95830, "nvidia-h100-nvl-94-gb"),
    ("NVIDIA H200", 143771, "nvidia-h200-sxm-141-gb"),
    ("NVIDIA H200 NVL", 143771, "nvidia-h200-nvl"),
    ("NVIDIA B200", 183359, "nvidia-b200"),
    ("Tesla V100-SXM2-32GB", 32768, "nvidia-tesla-v100-sxm2-32-gb"),
    ("Tesla V100-PCIE-16GB", 16384, "nvidia-tesla-v100-pcie-16-gb"),
    ("Tesla T4", 15360, "nvidia-tesla-t4"),
    ("Tesla P40", 23040, "nvidia-tesla-p40"),
    ("NVIDIA L40S", 46068, "nvidia-l40s"),
    ("NVIDIA L40", 46068, "nvidia-l40"),
    ("NVIDIA L4", 23034, "nvidia-l4"),
    ("NVIDIA A10", 23028, "nvidia-a10-pcie"),
    ("NVIDIA A10G", 23028, "nvidia-a10g"),
    ("NVIDIA A40", 46068, "nvidia-a40-pcie"),
    ("TITAN X (Pascal)", 12288, "nvidia-titan-x-pascal"),
    ("NVIDIA TITAN RTX", 24576, "nvidia-titan-rtx"),
    ("NVIDIA GB10", None, "nvidia-gb10-dgx-spark"),
    ("NVIDIA Jetson AGX Orin Developer Kit", 62800, "nvidia-jetson-agx-orin-64-gb"),
    ("NVIDIA Jetson Orin Nano Developer Kit", 7600, "nvidia-jetson-orin-nano-8-gb"),
    (
        "NVIDIA Jetson Orin Nano Engineering Reference Developer Kit Super",
        7600,
        "nvidia-jetson-orin-nano-super",
    ),
    ("AMD Radeon RX 7900 XTX", 24560, "amd-radeon-rx-7900-xtx"),
    ("AMD Radeon RX 7900 XTX (RADV NAVI31)", 24560, "amd-radeon-rx-7900-xtx"),
    ("AMD Radeon RX 7900 XT", 20464, "amd-radeon-rx-7900-xt"),
    ("AMD Radeon RX 9070 XT", 16304, "amd-radeon-rx-9070-xt"),
    ("AMD Radeon AI PRO R9700", 32624, "amd-radeon-ai-pro-r9700"),
    ("AMD Instinct MI300X", 196592, "amd-radeon-instinct-mi300x"),
    ("AMD Instinct MI250X", 65520, "amd-radeon-instinct-mi250x"),
    ("Radeon 8060S Graphics (RADV GFX1151)", None, "amd-ryzen-ai-max-395-radeon-8060s-strix-halo"),
    (
        "AMD RYZEN AI MAX+ 395 w/ Radeon 8060S",
        None,
        "amd-ryzen-ai-max-395-radeon-8060s-strix-halo",
    ),
    ("Intel(R) Arc(TM) A770 Graphics", 15473, "intel-arc-a770"),
    ("Intel(R) Arc(TM) B580 Graphics", 12216, "intel-arc-b580"),
    ("Intel(R) Arc(TM) 140V GPU (16GB)", None, "intel-core-ultra-200v-arc-140v-lunar-lake"),
    ("Apple M6", None, "apple-m6"),
]


@pytest.mark.parametrize(("name", "mib", "id"), CLEAR)
def test_a_drivers_name_finds_its_row(name: str, mib: int | None, id: str) -> None:
    rows = catalogue.match(name, None if mib is None else mib * MIB)
    assert [r.id for r in rows] == [id]


@pytest.mark.parametrize(
    ("name", "mib", "bandwidths"),
    [  # what the makers sold under one name, GB/s
        ("NVIDIA GeForce GTX 1650", 4096, {128, 192}),
        ("NVIDIA GeForce RTX 3060 Ti", 8192, {448, 608}),
        ("NVIDIA GeForce RTX 4070", 12282, {480, 504}),
        ("NVIDIA GeForce RTX 3070 Laptop GPU", 8192, {384, 448}),
        ("AMD Radeon 890M Graphics", None, {90, 120, 128}),
        ("Apple M4 Max", None, {410, 546}),
    ],
)
def test_a_name_that_means_several_speeds_is_ambiguous(
    name: str, mib: int | None, bandwidths: set[int]
) -> None:
    rows = catalogue.match(name, None if mib is None else mib * MIB)
    assert {round(r.bandwidth / 1e9) for r in rows} == bandwidths
    assert catalogue.common_bandwidth(rows) is None


def test_bandwidth_or_core_count_settles_what_a_name_leaves_open() -> None:
    gddr6 = catalogue.match("NVIDIA GeForce GTX 1650", 4096 * MIB, bandwidth=192.0e9)
    assert [r.id for r in gddr6] == ["nvidia-geforce-gtx-1650-gddr6"]
    full = catalogue.match("Apple M4 Max", gpu_cores=40)
    assert [r.id for r in full] == ["apple-m4-max-40-core-gpu"]


def test_bins_of_one_speed_have_that_speed_whichever_it_is() -> None:
    row = catalogue.common_bandwidth(catalogue.match("Apple M2 Max"))
    assert row is not None
    assert row.bandwidth == 409.6e9


@pytest.mark.parametrize(
    ("name", "mib"),
    [
        ("NVIDIA GeForce RTX 4090", 49140),  # a modified card
        ("NVIDIA GeForce RTX 3080 Laptop GPU", 16384),  # not in the catalogue
        ("NVIDIA RTX PRO 5000 Blackwell Generation Laptop GPU", 24463),
        ("NVIDIA GeForce GTX TITAN X", 12288),  # Maxwell, not the Pascal one
        ("NVIDIA GeForce RTX 4090 SUPER", 24564),
        ("NVIDIA GeForce RTX 9999", None),
        ("NVIDIA A800-SXM4-80GB", 81920),
        ("NVIDIA GH200 480GB", 97871),
        ("Radeon RX 580 Series", 4096),
        ("AMD Radeon RX 580 2048SP", 8192),
        ("AMD Radeon(TM) Graphics", None),
        ("AMD Radeon Graphics (RADV RENOIR)", None),
        ("Intel(R) UHD Graphics 770", None),
        ("Orin (nvgpu)", None),
        ("Apple M9", None),
        ("NVIDIA", None),
        ("", None),
        ("llvmpipe (LLVM 15.0.7, 256 bits)", None),
        ("Microsoft Basic Render Driver", None),
    ],
)
def test_what_the_catalogue_does_not_hold_is_not_matched(name: str, mib: int | None) -> None:
    assert catalogue.match(name, None if mib is None else mib * MIB) == ()


def test_no_laptop_gpu_is_taken_for_a_card() -> None:
    """The name a driver prints for it finds laptop GPUs only, itself or a twin among them."""
    rows = [r for r in catalogue.all() if r.kind is RowKind.LAPTOP_GPU and r.vendor == "NVIDIA"]
    wrong = []
    for row in rows:
        if "Embedded" in row.name:
            continue  # its driver name has no "Laptop"
        plain = row.name.replace(" Mobile", "").replace(" Max-Q", "").replace(" Refresh", "")
        found = catalogue.match(f"NVIDIA {plain} Laptop GPU", row.nominal_bytes)
        if {r.kind for r in found} != {RowKind.LAPTOP_GPU} or not _holds_twin(found, row):
            wrong.append((row.id, [r.id for r in found]))
    assert len(rows) > 90
    assert wrong == []


def test_every_card_is_found_by_the_part_of_its_name_that_drivers_print() -> None:
    cards = [r for r in catalogue.all() if r.kind in (RowKind.DESKTOP_GPU, RowKind.DATACENTER)]
    wrong = []
    for row in cards:
        # Chips and who sold it are not printed.
        printed = re.sub(r"\b(?:(?:AD|GA|GP|TU)\d{3}|OEM|3840SP|DGXS)\b", "", row.name)
        found = catalogue.match(f"{row.vendor} {printed}", row.nominal_bytes)
        if not _holds_twin(found, row):
            wrong.append((row.id, [r.id for r in found]))
    assert len(cards) > 230
    assert wrong == []


def _holds_twin(rows: tuple[Row, ...], row: Row) -> bool:
    return any(
        r.memory_gb == row.memory_gb and abs(r.bandwidth / row.bandwidth - 1) < 0.01 for r in rows
    )


NAMES = Path(__file__).parents[2] / "data" / "driver_names.tsv"


def printed_names() -> list[tuple[str, int | None, tuple[str, ...]]]:
    """Name, total in MiB and the rows that it means, from a list of names as drivers print them.

    Names and sources are public: NVIDIA's list of the GPUs that its kernel modules drive, libdrm's
    and Mesa's lists of names, and logs. The rows were settled by name, one by one: none where the
    catalogue does not hold the part, several where a maker sold several speeds under one name.
    """
    with NAMES.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    return [
        (
            row["name"],
            int(row["mib"]) if row["mib"] else None,
            tuple(row["rows"].split()) if row["rows"] != "-" else (),
        )
        for row in rows
    ]


def test_the_names_that_drivers_print_find_their_rows_and_none_wrongly() -> None:
    wrong = []
    named = printed_names()
    for name, mib, ids in named:
        found = tuple(r.id for r in catalogue.match(name, None if mib is None else mib * MIB))
        if set(found) != set(ids):
            wrong.append((name, found, ids))
    assert wrong == []
    assert len(named) >= 129
    assert len({name for name, _, ids in named if ids}) >= 118


def test_a_name_that_finds_one_row_shares_its_number_with_it() -> None:
    """A guard that needs no list: the figures in a name are those of the row."""
    for name, _, ids in printed_names():
        if len(ids) == 1 and " / " not in name:
            number = re.search(r"\d{3,4}", name)
            if number:
                assert number[0] in ids[0], (name, ids)


@pytest.mark.parametrize(
    ("name", "id"),
    [  # NVIDIA's list: 1E91 and 1EC2, 1E93
        ("NVIDIA GeForce RTX 2070 Super", "nvidia-geforce-rtx-2070-super-mobile"),
        ("NVIDIA GeForce RTX 2070 SUPER", "nvidia-geforce-rtx-2070-super"),
        ("NVIDIA GeForce RTX 2080 Super", "nvidia-geforce-rtx-2080-super-mobile"),
    ],
)
def test_the_spelling_of_super_tells_a_laptop_from_a_card(name: str, id: str) -> None:
    assert [row.id for row in catalogue.match(name)] == [id]


def test_u01_no_professional_laptop_gpu_is_taken_for_a_card_of_the_same_number() -> None:
    (card,) = catalogue.match("NVIDIA RTX 2000 Ada Generation")
    assert card.id == "nvidia-rtx-2000-ada-generation"
