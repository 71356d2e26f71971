"""NVIDIA GPUs while they work, through NVML.

Names of questions and bits are NVML's; the reasons of old and new drivers have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from core.measure.readings import GpuReading

# nvml.h, nvmlClocksEventReason...
_REASONS = (
    (0x4, "power"),  # SwPowerCap
    (0x8, "hardware"),  # HwSlowdown
    (0x20, "heat"),  # SwThermalSlowdown
    (0x40, "heat"),  # HwThermalSlowdown
    (0x80, "power"),  # HwPowerBrakeSlowdown
)
_GRAPHICS, _SM, _MEMORY = 0, 1, 2  # nvmlClockType_t
_SENT, _RECEIVED = 0, 1  # nvmlPcieUtilCounter_t
_GPU_SENSOR = 0  # nvmlTemperatureSensors_t


class NvidiaGpus:
    """All GPUs of the driver; no GPU where there is no driver. Never raises what NVML raises."""

    def __init__(self, nvml: Any) -> None:
        self._nvml = nvml
        self._handles: list[Any] = []
        self._open = self._ask(nvml.nvmlInit, default=False) is None
        if self._open:
            count = self._ask(nvml.nvmlDeviceGetCount) or 0
            handles = [self._ask(nvml.nvmlDeviceGetHandleByIndex, n) for n in range(count)]
            self._handles = [handle for handle in handles if handle is not None]

    def read(self) -> tuple[GpuReading, ...]:
        """One reading of each GPU."""
        return tuple(self._gpu(handle) for handle in self._handles)

    def close(self) -> None:
        if self._open:
            self._ask(self._nvml.nvmlShutdown)
            self._open = False

    def _gpu(self, gpu: Any) -> GpuReading:
        nvml, ask = self._nvml, self._ask
        use = ask(nvml.nvmlDeviceGetUtilizationRates, gpu)
        memory = ask(nvml.nvmlDeviceGetMemoryInfo, gpu)
        return GpuReading(
            name=ask(nvml.nvmlDeviceGetName, gpu) or "NVIDIA GPU",
            use=None if use is None else use.gpu / 100,
            clock=_scaled(ask(nvml.nvmlDeviceGetClockInfo, gpu, _SM)),
            most_clock=_scaled(ask(nvml.nvmlDeviceGetMaxClockInfo, gpu, _SM)),
            memory_clock=_scaled(ask(nvml.nvmlDeviceGetClockInfo, gpu, _MEMORY)),
            power=_scaled(ask(nvml.nvmlDeviceGetPowerUsage, gpu), 1e-3),
            most_power=_scaled(ask(nvml.nvmlDeviceGetEnforcedPowerLimit, gpu), 1e-3),
            temperature=_scaled(ask(nvml.nvmlDeviceGetTemperature, gpu, _GPU_SENSOR)),
            memory_used=None if memory is None else int(memory.used),
            memory_total=None if memory is None else int(memory.total),
            link_received=_scaled(ask(nvml.nvmlDeviceGetPcieThroughput, gpu, _RECEIVED), 1e3),
            link_sent=_scaled(ask(nvml.nvmlDeviceGetPcieThroughput, gpu, _SENT), 1e3),
            limits=limits(self._reasons(gpu)),
            memory_use=None if use is None else use.memory / 100,
        )

    def _reasons(self, gpu: Any) -> int | None:
        for name in (
            "nvmlDeviceGetCurrentClocksEventReasons",
            "nvmlDeviceGetCurrentClocksThrottleReasons",
        ):
            question = getattr(self._nvml, name, None)
            bits = None if question is None else self._ask(question, gpu)
            if bits is not None:
                return int(bits)
        return None

    def _ask(self, question: Callable[..., Any], *arguments: Any, default: Any = None) -> Any:
        try:
            return question(*arguments)
        except (self._nvml.NVMLError, UnicodeDecodeError, AttributeError):
            return default


def limits(bits: int | None) -> tuple[str, ...] | None:
    """Why the clocks are held back, each reason once; None where the driver does not tell."""
    if bits is None:
        return None
    return tuple(dict.fromkeys(word for bit, word in _REASONS if bits & bit))


def _scaled(value: Any, factor: float = 1.0) -> float | None:
    return None if value is None else float(value) * factor


def open_gpus() -> NvidiaGpus | None:
    """The driver's GPUs; None without the library's binding or where it is broken."""
    try:
        import pynvml

        return NvidiaGpus(pynvml)
    except Exception:  # a broken driver must not stop a measurement
        return None
