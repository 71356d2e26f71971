"""The rows of resources/machines.csv, read once when somebody asks."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from functools import cache

from core.language import mark
from core.provenance import Rank, Source

CHECKED = "2026-11-30"  # when the rows were last held against their sources
GIB = 2**30
_CATALOGUE = mark("catalogue")
MIB = 2**20
# What the column ``source`` says beside names and numbers of sites; translated where it is shown.
PHRASES = (
    mark("bandwidth = bus x clock"),
    mark("bandwidth = bus bits / 8 x MT/s, for the memory named"),
    mark("bandwidth = channels x 8 B x MT/s"),
    mark("bandwidth from the datasheet"),
    mark("bandwidth as AMD quotes it"),
    mark("exact from bus and transfer rate"),
    mark("memory total as the driver reports it"),
    mark("memory 128 GB as AMD says"),
    mark("watts: the lowest the maker allows"),
    mark("arithmetic"),
    mark("platform maximum not confirmed"),
    mark("bus width inferred"),
    mark("one chain of reports"),
    mark("one stream is limited to one socket"),
    mark("the system sees two GPUs, figures are for one of them"),
    mark("some HGX boards have 180 GB and 7.7 TB/s"),
    mark("bandwidth corrected from 436.2: AMD specifies 484 GB/s (945 MHz x 2 x 2048 bits)"),
    mark("bandwidth corrected from 512: Intel specifies 560 GB/s for the 16 GB card (17.5 Gbps)"),
    mark("512 is the 8 GB one"),
    mark("bandwidth corrected from 288: AMD specifies 10.8 Gbps on 128 bits"),
    mark("bandwidth corrected from 322.3: AMD specifies 18 Gbps on 128 bits"),
    mark("Apple specifications (table of Mac configurations)"),
    mark("Apple rounds it down"),
    mark("AMD specifications: 128 bits"),
    mark("AMD specifications: 256 bits of LPDDR5X-8000"),
    mark("AMD specifications via cpu-spec-dataset"),
    mark("Intel specifications: LPDDR5X-8533 on the package"),
    mark("Qualcomm specifications: LPDDR5X-8448"),
    mark("Qualcomm specifications"),
)


class RowKind(StrEnum):
    DESKTOP_GPU = "dgpu"
    LAPTOP_GPU = "laptop-gpu"
    DATACENTER = "datacenter"
    APU = "apu"  # a GPU on the processor, in the host's RAM
    APPLE = "apple-soc"
    CPU = "cpu-platform"


DISCRETE = (RowKind.DESKTOP_GPU, RowKind.LAPTOP_GPU, RowKind.DATACENTER)


@dataclass(frozen=True, slots=True)
class Row:
    """One machine that can be bought.

    ``memory_gb`` is the maker's word, which means GiB; for processors without memory of their own
    it is the most that can be fitted. ``driver_mib`` is the total that the driver or the system
    reports for it, where a log of one was found. ``bandwidth`` is bytes per second, of one device
    where the system sees several (``devices``). ``cuda`` is the compute capability. Rates are dense
    16-bit and 32-bit TFLOPS. None and "" where it is not known or does not apply.
    """

    id: str
    vendor: str
    name: str
    kind: RowKind
    year: int | None
    memory_gb: int
    driver_mib: int | None
    memory_type: str
    bus_bits: int | None
    bandwidth: float
    rank: Rank
    fp16_tflops: float | None
    fp32_tflops: float | None
    watts: int | None
    pcie: str
    architecture: str
    cuda: str
    gpu_cores: int | None
    devices: int
    source: str

    @property
    def words(self) -> str:
        """The name with its memory, once: "GeForce RTX 3060 12 GB", "GeForce RTX 3090, 24 GB"."""
        size = f"{self.memory_gb} GB"
        return self.name if size in self.name else f"{self.name}, {size}"

    @property
    def provenance(self) -> Source:
        """Who says what the row says."""
        return Source(self.rank, f"{_CATALOGUE}: {self.source}", CHECKED)

    @property
    def nominal_bytes(self) -> int:
        """The memory by its name: 24 GB is 24 GiB on every card whose driver total is known."""
        return self.memory_gb * GIB

    @property
    def fixed_memory(self) -> bool:
        """Whether the memory comes with the part, so that its size tells variants apart."""
        return self.kind in DISCRETE or (self.kind is RowKind.APU and self.vendor == "NVIDIA")


@cache
def all_rows() -> tuple[Row, ...]:
    """Every row, in the order of the file."""
    import csv
    from importlib import resources

    text = resources.files("resources").joinpath("machines.csv").read_text("utf-8")
    lines = csv.reader(text.splitlines())
    next(lines)  # the names of the columns
    return tuple(_row(cells) for cells in lines)


def _row(cells: list[str]) -> Row:
    return Row(
        id=cells[0],
        vendor=cells[1],
        name=cells[2],
        kind=RowKind(cells[3]),
        year=_whole(cells[4]),
        memory_gb=int(cells[5]),
        driver_mib=_whole(cells[6]),
        memory_type=cells[7],
        bus_bits=_whole(cells[8]),
        bandwidth=round(float(cells[9]) * 1e9, 0),
        rank=Rank(cells[10]),
        fp16_tflops=_real(cells[11]),
        fp32_tflops=_real(cells[12]),
        watts=_whole(cells[13]),
        pcie=cells[14],
        architecture=cells[15],
        cuda=cells[16],
        gpu_cores=_whole(cells[17]),
        devices=int(cells[18]),
        source=cells[19],
    )


def _whole(cell: str) -> int | None:
    return int(cell) if cell else None


def _real(cell: str) -> float | None:
    return float(cell) if cell else None
