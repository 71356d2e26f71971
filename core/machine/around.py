"""The computer that a card is put into where nobody said which: RAM, and how fast it is read."""

from __future__ import annotations

from dataclasses import dataclass, replace

from core import units
from core.language import mark, tr
from core.machine.assemble import custom, ram_words
from core.machine.machine import Device, Machine
from core.machine.spec import THIS
from core.provenance import Rank, Source

_DDR4 = Source(Rank.ASSUMED, mark("a usual computer: two channels of DDR4-3200"))


@dataclass(frozen=True, slots=True)
class Ram:
    """What a card's computer has: ``host`` is a host whose memory and bandwidth are known."""

    host: Device

    @property
    def size(self) -> int:
        """Bytes."""
        return self.host.memory.value or 0

    @property
    def rate(self) -> float:
        """Bytes per second."""
        return self.host.bandwidth.value or 0.0

    @property
    def text(self) -> str:
        """As ``ram_from`` reads it: "64GiB@51.2"."""
        whole, rest = divmod(self.size, 2**30)
        return f"{f'{self.size}B' if rest else f'{whole}GiB'}@{self.rate / 1e9:.12g}"

    def words(self, system: units.UnitSystem = units.UnitSystem.GIB) -> str:
        """ "64.0 GiB RAM at 51.2 GB/s"."""
        size, rate = units.format_bytes(self.size, system), units.format_bandwidth(self.rate)
        return tr("{size} RAM at {rate}", size=size, rate=rate)

    @property
    def tail(self) -> str:
        """What the name of a card ends with that was put beside it: " + 64.0 GiB RAM"."""
        return f" + {ram_words(self.size)}"


def typed_ram(size: int, rate: float) -> Ram:
    """So much RAM, bytes and bytes per second, by the user's word. Raises ValueError with a
    sentence where one of them is not positive."""
    return Ram(custom(size, rate, gpu=False).devices[0])


def ram_from(text: str) -> Ram:
    """The RAM in "64GiB@51.2" (GB/s). Raises ValueError with a sentence."""
    size, at, rate = text.removeprefix("ram:").partition("@")
    if not at:
        raise ValueError(
            tr("{text!r} names no size and rate; write it like 64GiB@51.2", text=text[:40])
        )
    return typed_ram(units.parse_bytes(size, "GB"), units.parse_bandwidth(rate))


def _assumed() -> Ram:
    host = typed_ram(64 * 2**30, 51.2e9).host
    memory, rate = host.memory, host.bandwidth
    return Ram(
        replace(host, memory=replace(memory, source=_DDR4), bandwidth=replace(rate, source=_DDR4))
    )


ASSUMED_RAM = _assumed()


def ram_of(machine: Machine | None) -> Ram:
    """That of this computer where its size and its rate are both known, else what is usual.

    What others hold of it now is not taken over: the computer meant is one that runs nothing else.
    """
    host = machine.host if machine else None
    if host is None or not host.memory.value or not host.bandwidth.value:
        return ASSUMED_RAM
    usual = ASSUMED_RAM.host
    return Ram(replace(usual, memory=host.memory, bandwidth=host.bandwidth))


def in_computer(machine: Machine, ram: Ram | None) -> Machine:
    """The machine with this RAM where it is cards of which nobody said what they sit in; any other
    machine as it is."""
    host = machine.host
    if ram is None or machine.id == THIS or not machine.gpus or host is None:
        return machine
    if host.memory.known or host.bandwidth.known:
        return machine
    devices = (*machine.gpus, ram.host)
    return replace(machine, id="custom", name=machine.name + ram.tail, devices=devices)
