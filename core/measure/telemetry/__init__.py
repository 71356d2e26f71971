"""What the computer does while a server is measured: one module for each source."""

from core.measure.telemetry.sampler import Sampler

__all__ = ["Sampler"]
