"""What the computer did while a server was measured: one reading about every second."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GpuReading:
    """One GPU at one moment; None is what its driver does not tell.

    ``use`` is the share of the time in which it computed, ``memory_use`` that in which its own
    memory was read or written; clocks are MHz, power W, temperature °C, memory bytes, the link
    bytes per second. ``spilled`` is RAM that the GPU uses as if it were its own. ``limits`` are the
    reasons for which the driver holds its clocks back: "power", "heat", "hardware".
    """

    name: str
    use: float | None = None
    clock: float | None = None
    most_clock: float | None = None
    memory_clock: float | None = None
    power: float | None = None
    most_power: float | None = None
    temperature: float | None = None
    memory_used: int | None = None
    memory_total: int | None = None
    spilled: int | None = None
    link_received: float | None = None
    link_sent: float | None = None
    limits: tuple[str, ...] | None = None
    memory_use: float | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """One moment, ``at_ns`` after the run's beginning; None is what the system does not tell.

    ``cpu`` is the share of all processors in use, ``server_cpu`` the number of processors that the
    server keeps busy, ``other_cpu`` the share of all that neither it nor the measurement uses.
    ``cpu_pressure`` and ``memory_pressure`` are shares of the last ten seconds in which some task
    waited (Linux PSI). ``major_faults`` and ``read_bytes`` count from the server's start.
    """

    at_ns: int
    cpu: float | None = None
    server_cpu: float | None = None
    other_cpu: float | None = None
    cpu_clock: float | None = None
    cpu_pressure: float | None = None
    memory_pressure: float | None = None
    memory_available: int | None = None
    swap_used: int | None = None
    server_memory: int | None = None
    major_faults: int | None = None
    read_bytes: int | None = None
    battery: float | None = None
    on_battery: bool | None = None
    gpus: tuple[GpuReading, ...] = ()
