"""What the computer does while a server is measured: NVML, the files of AMD's driver, psutil."""

from core.measure.telemetry.gpus import memory_used
from core.measure.telemetry.sampler import Sampler

__all__ = ["Sampler", "memory_used"]
