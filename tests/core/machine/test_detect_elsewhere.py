"""Macs and Windows computers from end to end, their commands answered by recordings."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil  # noqa: F401 - before the system changes its name
import pytest

from core.machine import Backend, DiskKind, detect
from core.machine.detect import dxgi, nvidia
from core.machine.detect.dxgi import Adapter
from core.machine.detect.gpu import Reading
from core.machine.detect.limits import TookTooLongError
from core.machine.detect.memory import read_ram

DETECT = sys.modules["core.machine.detect"]
MIB, GIB = 2**20, 2**30
CPUINFO = "model name\t: AMD Ryzen 7 9800X3D 8-Core Processor\n"


def answer(monkeypatch: pytest.MonkeyPatch, system: str, answers: dict[str, str]) -> list[str]:
    """Let this be another system, whose commands answer so; the programs that were asked."""
    asked: list[str] = []

    def output_of(command: Sequence[str], seconds: float = 5.0) -> str | None:
        assert 0 < seconds <= 10
        asked.append(command[0])
        return answers.get(command[0])

    monkeypatch.setattr(sys, "platform", system)
    monkeypatch.setattr(DETECT, "output_of", output_of)
    monkeypatch.setattr(DETECT, "ram", lambda root: read_ram(64 * GIB, 50 * GIB))
    monkeypatch.setattr(nvidia, "ask", lambda *_: Reading(()))
    return asked


def computer(root: Path) -> Path:
    (root / "proc").mkdir()
    (root / "proc/cpuinfo").write_text(CPUINFO)
    return root


WINDOWS = json.dumps(
    {
        "memory": [
            {
                "Capacity": 32 * GIB,
                "Speed": 6000,
                "ConfiguredClockSpeed": 6000,
                "SMBIOSMemoryType": 34,
                "DataWidth": 64,
                "DeviceLocator": "DIMM 1",
                "BankLabel": f"P0 CHANNEL {letter}",
            }
            for letter in "AB"
        ],
        "video": [
            {
                "Name": "AMD Radeon RX 9070 XT",
                "AdapterRAM": 4_293_918_720,
                "PNPDeviceID": "PCI\\VEN_1002&DEV_7550",
            }
        ],
        "registry": [{"name": "AMD Radeon RX 9070 XT", "bytes": 17_163_091_968}],
        "disks": [
            {
                "DeviceId": "0",
                "FriendlyName": "Samsung SSD 990 PRO 2TB",
                "MediaType": "SSD",
                "BusType": "NVMe",
            }
        ],
        "system": 0,
    }
)


def test_a_windows_computer_is_one_question_and_dxgi(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    adapters = (
        Adapter("AMD Radeon RX 9070 XT", "1002", "7550", 16_304 * MIB, 32 * GIB, 15_800 * MIB),
        Adapter("AMD Radeon(TM) Graphics", "1002", "13c0", 512 * MIB, 32 * GIB),
        Adapter("Microsoft Basic Render Driver", "1414", "008c", 0, 32 * GIB, None, True),
    )
    monkeypatch.setattr(dxgi, "adapters", lambda: adapters)
    asked = answer(monkeypatch, "win32", {"powershell.exe": "\ufeff" + WINDOWS})
    machine = detect(root=computer(tmp_path))
    assert asked == ["powershell.exe"]
    gpu, host = machine.devices
    assert machine.name == "This computer: AMD Radeon RX 9070 XT"
    assert gpu.memory.value == 16_304 * MIB
    assert host.name == "AMD Ryzen 7 9800X3D 8-Core Processor"
    assert host.bandwidth.value == 96e9
    assert machine.disk is not None
    assert (machine.disk.kind, machine.disk.name) == (DiskKind.NVME, "Samsung SSD 990 PRO 2TB")
    assert [p.code for p in machine.problems] == ["integrated_gpu"]


@pytest.mark.parametrize("error", [OSError("no dxgi"), AttributeError("x"), TookTooLongError()])
def test_a_windows_computer_that_answers_nothing_is_still_a_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail() -> tuple[Adapter, ...]:
        raise error

    monkeypatch.setattr(dxgi, "adapters", fail)
    answer(monkeypatch, "win32", {})
    machine = detect(root=computer(tmp_path))
    (host,) = machine.devices
    assert host.memory.value
    assert host.bandwidth.value is None
    assert machine.disk is None


def mac(chip: str, cores: int | None) -> dict[str, str]:
    entry = {"_name": chip, "sppci_model": chip, "sppci_device_type": "spdisplays_gpu"}
    if cores is not None:
        entry["sppci_cores"] = str(cores)
    return {
        "sysctl": f"machdep.cpu.brand_string: {chip}\nhw.physicalcpu: 12\n"
        "sysctl: unknown oid 'iogpu.wired_limit_mb'\n",
        "system_profiler": json.dumps({"SPDisplaysDataType": [entry]}),
    }


def test_a_mac_is_two_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = answer(monkeypatch, "darwin", mac("Apple M4 Pro", 16))
    machine = detect(root=computer(tmp_path))
    assert asked == ["sysctl", "system_profiler"]
    (device,) = machine.devices
    assert machine.name == "This computer: Apple M4 Pro"
    assert device.backend is Backend.METAL
    assert device.bandwidth.value == 273e9
    assert device.catalogue_id == "apple-m4-pro-16-core-gpu"
    assert machine.problems == ()


def test_a_mac_inside_a_mac_is_said_to_be_virtual(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, "darwin", mac("Apple M1 (Virtual)", None))
    machine = detect(root=computer(tmp_path))
    assert [p.code for p in machine.problems] == ["virtual_machine"]


def test_a_mac_with_a_processor_of_intels_is_a_host(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(monkeypatch, "darwin", mac("Intel(R) Core(TM) i9-9980HK CPU @ 2.40GHz", None))
    machine = detect(root=computer(tmp_path))
    assert machine.gpus == ()
    assert machine.host is not None
