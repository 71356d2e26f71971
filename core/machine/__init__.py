"""Computers: this one, one that can be bought, or one typed by hand.

Import from here; ``catalogue`` is a module: catalogue.search(words), catalogue.machine(id),
and so are ``own``, the machines that the user keeps, and ``facts``, what was measured here.
"""

from core.machine import catalogue, facts, own, places
from core.machine.around import ASSUMED_RAM, Ram, in_computer, ram_from, ram_of, typed_ram
from core.machine.assemble import combine, custom, with_host_bandwidth, with_ram
from core.machine.bandwidth import BandwidthMeasurement, measure_bandwidth
from core.machine.detect import detect, disk_of
from core.machine.disk_speed import measure_disk
from core.machine.export import as_dict, measurement_as_dict
from core.machine.link import Link
from core.machine.machine import (
    Backend,
    Device,
    DeviceKind,
    Disk,
    DiskKind,
    Machine,
    OwnRun,
    with_margin,
)
from core.machine.spec import machine_from, spec_of, typed_machine

__all__ = [
    "ASSUMED_RAM",
    "Backend",
    "BandwidthMeasurement",
    "Device",
    "DeviceKind",
    "Disk",
    "DiskKind",
    "Link",
    "Machine",
    "OwnRun",
    "Ram",
    "as_dict",
    "catalogue",
    "combine",
    "custom",
    "detect",
    "disk_of",
    "facts",
    "in_computer",
    "machine_from",
    "measure_bandwidth",
    "measure_disk",
    "measurement_as_dict",
    "own",
    "places",
    "ram_from",
    "ram_of",
    "spec_of",
    "typed_machine",
    "typed_ram",
    "with_host_bandwidth",
    "with_margin",
    "with_ram",
]
