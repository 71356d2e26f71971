"""What the computer did: read from files and libraries as they are documented, never guessed."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import psutil
import pynvml
import pytest

from core.measure.readings import GpuReading, Reading
from core.measure.telemetry import Sampler
from core.measure.telemetry.amd import AmdGpus
from core.measure.telemetry.nvidia import NvidiaGpus, limits
from core.measure.telemetry.system import System
from tests.support.sysfs import write

GIB = 2**30


class Nvml:
    """An RTX 3090 that is held back by its power limit; what is None is not supported."""

    NVMLError = pynvml.NVMLError

    def __init__(self, supported: bool = True, driver: bool = True) -> None:
        self.supported = supported
        self.driver = driver
        self.open = 0

    def _error(self, code: int) -> Exception:
        made: Exception = pynvml.NVMLError(code)  # type: ignore[no-untyped-call]
        return made

    def _told(self, value: Any) -> Any:
        if not self.supported:
            raise self._error(pynvml.NVML_ERROR_NOT_SUPPORTED)
        return value

    def nvmlInit(self) -> None:
        if not self.driver:
            raise self._error(pynvml.NVML_ERROR_LIBRARY_NOT_FOUND)
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:
        return 1

    def nvmlDeviceGetHandleByIndex(self, index: int) -> int:
        return index

    def nvmlDeviceGetName(self, gpu: int) -> Any:
        return self._told("NVIDIA GeForce RTX 3090")

    def nvmlDeviceGetUtilizationRates(self, gpu: int) -> Any:
        return self._told(SimpleNamespace(gpu=97, memory=80))

    def nvmlDeviceGetMemoryInfo(self, gpu: int) -> Any:
        return self._told(SimpleNamespace(used=20 * GIB, total=24 * GIB))

    def nvmlDeviceGetClockInfo(self, gpu: int, kind: int) -> Any:
        return self._told({pynvml.NVML_CLOCK_SM: 1695, pynvml.NVML_CLOCK_MEM: 9501}[kind])

    def nvmlDeviceGetMaxClockInfo(self, gpu: int, kind: int) -> Any:
        return self._told({pynvml.NVML_CLOCK_SM: 2100, pynvml.NVML_CLOCK_MEM: 9751}[kind])

    def nvmlDeviceGetPowerUsage(self, gpu: int) -> Any:
        return self._told(349_000)

    def nvmlDeviceGetEnforcedPowerLimit(self, gpu: int) -> Any:
        return self._told(350_000)

    def nvmlDeviceGetTemperature(self, gpu: int, sensor: int) -> Any:
        assert sensor == pynvml.NVML_TEMPERATURE_GPU
        return self._told(71)

    def nvmlDeviceGetPcieThroughput(self, gpu: int, counter: int) -> Any:
        sent, received = pynvml.NVML_PCIE_UTIL_TX_BYTES, pynvml.NVML_PCIE_UTIL_RX_BYTES
        return self._told({sent: 1000, received: 12_000}[counter])  # KB/s

    def nvmlDeviceGetCurrentClocksEventReasons(self, gpu: int) -> Any:
        return self._told(pynvml.nvmlClocksThrottleReasonSwPowerCap)


def test_an_nvidia_gpu_tells_its_clocks_its_power_and_what_holds_it_back() -> None:
    gpus = NvidiaGpus(Nvml())
    assert gpus.read() == (
        GpuReading(
            "NVIDIA GeForce RTX 3090",
            use=0.97,
            clock=1695,
            most_clock=2100,
            memory_clock=9501,
            power=349,
            most_power=350,
            temperature=71,
            memory_used=20 * GIB,
            memory_total=24 * GIB,
            link_received=12e6,
            link_sent=1e6,
            limits=("power",),
            memory_use=0.8,
        ),
    )
    gpus.close()


def test_the_library_is_closed_once() -> None:
    nvml = Nvml()
    gpus = NvidiaGpus(nvml)
    gpus.close()
    gpus.close()
    assert nvml.open == 0


def test_what_a_driver_does_not_support_is_unknown() -> None:
    assert NvidiaGpus(Nvml(supported=False)).read() == (GpuReading("NVIDIA GPU"),)
    assert NvidiaGpus(Nvml(driver=False)).read() == ()


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("SwPowerCap", ("power",)),
        ("HwSlowdown", ("hardware",)),
        ("SwThermalSlowdown", ("heat",)),
        ("HwThermalSlowdown", ("heat",)),
        ("HwPowerBrakeSlowdown", ("power",)),
        ("GpuIdle", ()),
        ("ApplicationsClocksSetting", ()),
    ],
)
def test_the_bits_are_the_librarys_own(name: str, words: tuple[str, ...]) -> None:
    assert limits(getattr(pynvml, f"nvmlClocksThrottleReason{name}")) == words


def test_several_reasons_are_each_told_once() -> None:
    assert limits(0x4 | 0x20 | 0x40 | 0x80) == ("power", "heat")
    assert limits(None) is None


def test_an_amd_gpu_is_read_from_its_drivers_files(tmp_path: Path) -> None:
    card = "sys/class/drm/card1/device"
    write(
        tmp_path,
        {
            f"{card}/vendor": "0x1002",
            f"{card}/product_name": "Radeon RX 7900 XTX",
            f"{card}/gpu_busy_percent": "99",
            f"{card}/mem_info_vram_used": str(23 * GIB),
            f"{card}/mem_info_vram_total": str(24 * GIB),
            f"{card}/mem_info_gtt_used": str(3 * GIB),
            f"{card}/pp_dpm_sclk": "0: 500Mhz\n1: 2304Mhz *\n2: 2526Mhz",
            f"{card}/hwmon/hwmon3/power1_average": "330000000",
            f"{card}/hwmon/hwmon3/power1_cap": "339000000",
            f"{card}/hwmon/hwmon3/freq1_input": "2304000000",
            f"{card}/hwmon/hwmon3/freq2_input": "1249000000",
            f"{card}/hwmon/hwmon3/temp1_input": "66000",
            "sys/class/drm/card0/device/vendor": "0x8086",
        },
    )
    (gpu,) = AmdGpus(tmp_path).read()
    assert gpu.name == "Radeon RX 7900 XTX"
    assert (gpu.use, gpu.clock, gpu.most_clock, gpu.memory_clock) == (0.99, 2304, 2526, 1249)
    assert (gpu.power, gpu.temperature) == (330, 66)
    assert gpu.most_power == pytest.approx(339)
    assert (gpu.memory_used, gpu.memory_total, gpu.spilled) == (23 * GIB, 24 * GIB, 3 * GIB)
    assert gpu.limits is None


def test_files_that_are_missing_or_odd_are_unknown(tmp_path: Path) -> None:
    card = "sys/class/drm/card0/device"
    write(tmp_path, {f"{card}/vendor": "0x1002", f"{card}/gpu_busy_percent": "busy"})
    assert AmdGpus(tmp_path).read() == (GpuReading("AMD GPU"),)
    assert AmdGpus(tmp_path / "nothing").read() == ()


class Computer:
    """psutil on a computer of four cores whose server keeps two busy."""

    Error = psutil.Error

    def __init__(self) -> None:
        self.seconds = 100.0
        self.own = 5.0

    def cpu_percent(self, interval: None) -> float:
        return 75.0

    def cpu_count(self) -> int:
        return 4

    def virtual_memory(self) -> Any:
        return SimpleNamespace(available=9 * GIB)

    def swap_memory(self) -> Any:
        return SimpleNamespace(used=GIB)

    def cpu_freq(self) -> Any:
        return SimpleNamespace(current=3600.0)

    def sensors_battery(self) -> Any:
        return SimpleNamespace(percent=80, power_plugged=False)

    def Process(self, pid: int | None = None) -> Any:
        if pid == 404:
            raise psutil.NoSuchProcess(pid)

        def cpu_times() -> Any:
            return SimpleNamespace(user=self.own if pid is None else self.seconds, system=0.0)

        return SimpleNamespace(
            pid=pid,
            cpu_times=cpu_times,
            memory_info=lambda: SimpleNamespace(rss=GIB),
            io_counters=lambda: SimpleNamespace(read_bytes=4096),
            children=lambda recursive: [],
        )


def test_the_load_of_others_is_what_neither_the_server_nor_the_measurement_uses(
    tmp_path: Path,
) -> None:
    write(
        tmp_path,
        {
            "proc/pressure/cpu": "some avg10=12.50 avg60=3.00 avg300=1.00 total=5",
            "proc/pressure/memory": "some avg10=0.00 avg60=0.00 avg300=0.00 total=0",
            # pid (comm) state ppid pgrp session tty tpgid flags minflt cminflt majflt ...
            "proc/7/stat": "7 (llama (x) y) S 1 7 7 0 -1 4194560 900 0 33 0 500 20",
        },
    )
    computer, now = Computer(), [0.0]
    system = System(7, root=tmp_path, psutil=computer, clock=lambda: now[0])
    system.read(0)
    now[0] = 2.0
    computer.seconds += 4.0  # two of four cores
    computer.own += 0.4  # a twentieth of all
    reading = system.read(2_000_000_000)
    assert reading.cpu == 0.75
    assert reading.server_cpu == pytest.approx(2.0)
    assert reading.other_cpu == pytest.approx(0.75 - 0.5 - 0.05)
    assert (reading.cpu_pressure, reading.memory_pressure) == (0.125, 0.0)
    assert (reading.major_faults, reading.read_bytes) == (33, 4096)
    assert (reading.battery, reading.on_battery) == (0.8, True)
    assert (reading.memory_available, reading.swap_used) == (9 * GIB, GIB)
    assert (reading.cpu_clock, reading.server_memory) == (3600.0, GIB)


def test_a_child_that_starts_later_is_counted_from_the_next_look_on(tmp_path: Path) -> None:
    computer, now, looks = Computer(), [0.0], [0]
    process = computer.Process

    def counted(pid: int | None = None) -> Any:
        looks[0] += pid == 7
        return process(pid)

    computer.Process = counted  # type: ignore[method-assign]
    system = System(7, root=tmp_path, psutil=computer, clock=lambda: now[0])
    for second in range(25):
        now[0] = float(second)
        system.read(0)
    assert looks == [3]


@pytest.mark.parametrize("pid", [None, 404])
def test_a_server_that_cannot_be_looked_at_is_unknown(pid: int | None, tmp_path: Path) -> None:
    reading = System(pid, root=tmp_path, psutil=Computer()).read(0)
    assert (reading.server_cpu, reading.major_faults, reading.server_memory) == (None,) * 3
    assert reading.cpu_pressure is None


def test_this_computer_can_be_read() -> None:
    reading = System(None).read(5)
    assert reading.at_ns == 5
    assert reading.memory_available is None or reading.memory_available > 0


def test_a_source_that_breaks_ends_and_the_others_go_on() -> None:
    class Broken:
        def read(self) -> tuple[GpuReading, ...]:
            raise OSError("gone")

    class Fine:
        def read(self) -> tuple[GpuReading, ...]:
            return (GpuReading("fine"),)

    class Still:
        def read(self, at_ns: int) -> Reading:
            return Reading(at_ns)

    said: list[Reading] = []
    enough = Event()

    def say(reading: Reading) -> None:
        said.append(reading)
        if len(said) == 2:
            enough.set()

    sampler = Sampler(
        say, Still(), [Broken(), Fine()], zero_ns=100, seconds=0.001, clock=lambda: 142
    )
    sampler.start()
    assert enough.wait(30)
    assert sampler.stop()
    assert said[1] == Reading(42, gpus=(GpuReading("fine"),))
