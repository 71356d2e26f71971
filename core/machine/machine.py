"""A computer, as far as a plan cares: devices with memory and bandwidth."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from core.problems import Problem
from core.provenance import Number


class DeviceKind(StrEnum):
    GPU = "gpu"
    HOST = "host"


class Backend(StrEnum):
    CPU = "cpu"
    CUDA = "cuda"
    METAL = "metal"
    VULKAN = "vulkan"
    ROCM = "rocm"
    SYCL = "sycl"


@dataclass(frozen=True, slots=True)
class Device:
    """One memory and the processor beside it.

    ``memory`` is in bytes: what the processor can use at all. ``used`` is what others hold of it
    now (0, assumed, for a machine that is not this one). ``bandwidth`` is the peak read rate in
    bytes per second. ``unified`` marks a GPU whose memory is the host's RAM.
    """

    name: str
    kind: DeviceKind
    backend: Backend
    memory: Number[int]
    used: Number[int]
    bandwidth: Number[float]
    unified: bool = False


@dataclass(frozen=True, slots=True)
class Machine:
    """A computer. ``devices`` lists GPUs first and the host last; there is always a host,
    except on a unified machine, whose one device is both.

    ``id`` is "this", "custom" or a catalogue id. ``problems`` tell what detection could not see.
    """

    id: str
    name: str
    devices: tuple[Device, ...]
    problems: tuple[Problem, ...] = ()

    @property
    def gpus(self) -> tuple[Device, ...]:
        """The devices that are GPUs."""
        return tuple(d for d in self.devices if d.kind is DeviceKind.GPU)
