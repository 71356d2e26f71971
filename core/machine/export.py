"""A machine as plain values, for JSON: nothing in it names the computer or its user.

Everything comes from the fields of the values themselves; serial numbers, host names, user names
and paths below a home folder are never read into them in the first place.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from core.machine.bandwidth import BandwidthMeasurement
from core.machine.link import Link
from core.machine.machine import Device, Disk, Machine
from core.problems import as_values
from core.provenance import Number

Plain: TypeAlias = dict[str, Any]
SCHEMA = 1


def as_dict(machine: Machine) -> Plain:
    """``machine`` for json.dumps. Bytes are integers, bandwidths bytes per second as floats,
    unknown figures null; every figure carries its unit, rank, origin and date."""
    return {
        "schema": SCHEMA,
        "id": machine.id,
        "name": machine.name,
        "devices": [_device(device) for device in machine.devices],
        "disk": None if machine.disk is None else _disk(machine.disk),
        "problems": [as_values(problem) for problem in machine.problems],
    }


def measurement_as_dict(measurement: BandwidthMeasurement) -> Plain:
    """A bandwidth measurement for json.dumps; rates in bytes per second, shares 0..1."""
    return {
        "bandwidth": _figure(measurement.bandwidth),
        "runs": list(measurement.runs),
        "spread": measurement.spread,
        "threads": measurement.threads,
        "bytes_per_thread": measurement.bytes_per_thread,
        "busy_before": measurement.busy_before,
        "busy_during": measurement.busy_during,
        "load_before": measurement.load_before,
        "load_after": measurement.load_after,
        "reliable": measurement.reliable,
        "reasons": list(measurement.reasons),
        "stopped": measurement.stopped,
    }


def _device(device: Device) -> Plain:
    return {
        "name": device.name,
        "kind": device.kind.value,
        "backend": device.backend.value,
        "unified": device.unified,
        "catalogue_id": device.catalogue_id or None,
        "memory": _figure(device.memory),
        "used": _figure(device.used),
        "bandwidth": _figure(device.bandwidth),
        "cores": None if device.cores is None else _figure(device.cores),
        "flops": _figure(device.flops),
        "flops32": _figure(device.flops32),
        "memory_type": device.memory_type or None,
        "architecture": device.architecture or None,
        "part": None if device.part is None else device.part.value,
        "link": _link(device.link),
        "margin": device.margin,
    }


def _disk(disk: Disk) -> Plain:
    return {
        "kind": disk.kind.value,
        "name": disk.name or None,
        "read": _figure(disk.read),
        "link": _link(disk.link),
    }


def _link(link: Link | None) -> Plain | None:
    if link is None:
        return None
    return {"most": _figure(link.most), "now": None if link.now is None else _figure(link.now)}


def _figure(number: Number[int] | Number[float]) -> Plain:
    return {
        "value": number.value,
        "unit": number.unit.value,
        "rank": number.source.rank.value,
        "origin": number.source.origin,
        "date": number.source.date or None,
        "formula": number.formula or None,
        "inputs": {i.name: {"value": i.value, "unit": i.unit.value} for i in number.inputs},
        "note": number.note or None,
    }
