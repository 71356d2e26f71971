"""NVML as its documentation describes it, answering with figures of real cards.

Names, totals and clocks are from published nvidia-smi and nvbench output; the interface (functions,
constants, errors) is pynvml's own, which ``test_nvidia`` checks.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any, TypeVar

import pynvml

MIB = 2**20
T = TypeVar("T")


@dataclass
class Gpu:
    """One GPU. Sizes in MiB, clock in MHz; None answers "Not Supported"."""

    name: str | None
    total: int | None = None
    reserved: int = 0
    used: int = 0
    clock: int | None = None
    bits: int | None = None
    address: str = "0000:01:00.0"
    mig: bool = False
    slices: Sequence[Gpu] = field(default_factory=tuple)
    virtualization: int = pynvml.NVML_GPU_VIRTUALIZATION_MODE_NONE
    lost: bool = False
    link: tuple[int, int, int, int] | None = None  # generation and lanes at most, and now


RTX_3090 = Gpu("NVIDIA GeForce RTX 3090", 24576, 450, 1200, 9751, 384)
RTX_4090 = Gpu("NVIDIA GeForce RTX 4090", 24564, 484, 58, 10501, 384)
RTX_5090 = Gpu("NVIDIA GeForce RTX 5090", 32607, 507, 870, 14001, 512)
RTX_3060 = Gpu("NVIDIA GeForce RTX 3060", 12288, 250, 400, 7501, 192, "0000:02:00.0")
RTX_5070_LAPTOP = Gpu("NVIDIA GeForce RTX 5070 Laptop GPU", 8151, 230, 393, 12001, 128)
H100 = Gpu("NVIDIA H100 80GB HBM3", 81559, 550, 0, 2619, 5120)
H200 = Gpu("NVIDIA H200", 143771, 600, 1, 3201, 6144)
T4 = Gpu("Tesla T4", 15360, 390, 0, 5001, 256)
GB10 = Gpu("NVIDIA GB10", address="000F:01:00.0")
ORIN = Gpu("Orin (nvgpu)")


class FakeNvml:
    """The part of pynvml that the program uses."""

    NVMLError = pynvml.NVMLError
    NVML_CLOCK_MEM = pynvml.NVML_CLOCK_MEM
    NVML_ERROR_LIBRARY_NOT_FOUND = pynvml.NVML_ERROR_LIBRARY_NOT_FOUND
    NVML_GPU_VIRTUALIZATION_MODE_VGPU = pynvml.NVML_GPU_VIRTUALIZATION_MODE_VGPU
    nvmlMemory_v2 = pynvml.nvmlMemory_v2  # noqa: N815

    def __init__(
        self,
        *gpus: Gpu,
        init_error: int | None = None,
        second_version: bool = True,
        stuck: threading.Event | None = None,
    ) -> None:
        self.gpus = gpus
        self.init_error = init_error
        self.second_version = second_version
        self.stuck = stuck
        self.calls: list[str] = []
        self.open = 0

    def nvmlInit(self) -> None:
        self.calls.append("nvmlInit")
        if self.stuck is not None:
            self.stuck.wait()
        if self.init_error is not None:
            raise _error(self.init_error)
        self.open += 1

    def nvmlShutdown(self) -> None:
        self.calls.append("nvmlShutdown")
        self.open -= 1

    def nvmlDeviceGetCount(self) -> int:
        return len(self.gpus)

    def nvmlDeviceGetHandleByIndex(self, index: int, /) -> Any:
        return self._alive(self.gpus[index])

    def nvmlDeviceGetHandleByPciBusId(self, address: str, /) -> Any:
        self.calls.append(address)
        found = [g for g in self.gpus if g.address == address]
        if not found:
            raise _error(pynvml.NVML_ERROR_NOT_FOUND)
        return self._alive(found[0])

    def nvmlDeviceGetName(self, handle: Gpu, /) -> str:
        return _supported(handle.name)

    def nvmlDeviceGetMemoryInfo(self, handle: Gpu, version: int | None = None, /) -> Any:
        total = _supported(handle.total) * MIB
        if version is None:
            return SimpleNamespace(total=total, used=(handle.used + handle.reserved) * MIB)
        if not self.second_version:
            raise _error(pynvml.NVML_ERROR_FUNCTION_NOT_FOUND)
        return SimpleNamespace(total=total, reserved=handle.reserved * MIB, used=handle.used * MIB)

    def nvmlDeviceGetMemoryBusWidth(self, handle: Gpu, /) -> int:
        return _supported(handle.bits)

    def nvmlDeviceGetMaxClockInfo(self, handle: Gpu, clock: int, /) -> int:
        assert clock == pynvml.NVML_CLOCK_MEM
        return _supported(handle.clock)

    def nvmlDeviceGetMaxPcieLinkGeneration(self, handle: Gpu, /) -> int:
        return _supported(handle.link)[0]

    def nvmlDeviceGetMaxPcieLinkWidth(self, handle: Gpu, /) -> int:
        return _supported(handle.link)[1]

    def nvmlDeviceGetCurrPcieLinkGeneration(self, handle: Gpu, /) -> int:
        return _supported(handle.link)[2]

    def nvmlDeviceGetCurrPcieLinkWidth(self, handle: Gpu, /) -> int:
        return _supported(handle.link)[3]

    def nvmlDeviceGetVirtualizationMode(self, handle: Gpu, /) -> int:
        return handle.virtualization

    def nvmlDeviceGetMigMode(self, handle: Gpu, /) -> Sequence[int]:
        return [int(handle.mig), int(handle.mig)]

    def nvmlDeviceGetMaxMigDeviceCount(self, handle: Gpu, /) -> int:
        return 7

    def nvmlDeviceGetMigDeviceHandleByIndex(self, handle: Gpu, index: int, /) -> Any:
        if index >= len(handle.slices):
            raise _error(pynvml.NVML_ERROR_NOT_FOUND)
        return handle.slices[index]

    def _alive(self, gpu: Gpu) -> Gpu:
        if gpu.lost:
            raise _error(pynvml.NVML_ERROR_GPU_IS_LOST)
        return gpu


def _error(code: int) -> Exception:
    """pynvml's own exception of this code."""
    made: Exception = pynvml.NVMLError(code)  # type: ignore[no-untyped-call]
    return made


def _supported(value: T | None) -> T:
    if value is None:
        raise _error(pynvml.NVML_ERROR_NOT_SUPPORTED)
    return value
