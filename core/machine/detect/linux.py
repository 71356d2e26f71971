"""The GPUs of a Linux system: every one on the PCI bus is read by its maker's reader or named."""

from __future__ import annotations

from pathlib import Path

from core.language import mark, tr
from core.machine.catalogue import common_bandwidth, described, match
from core.machine.detect import amd, intel, nvidia, pci, processor, vulkan
from core.machine.detect.gpu import Reading
from core.machine.detect.limits import TookTooLongError, call_within, is_folder, output_of
from core.machine.detect.memory import Ram
from core.machine.machine import Backend, Device, DeviceKind, unknown_bandwidth, unknown_bytes
from core.problems import Problem, Severity
from core.provenance import Number, Rank, Source, Unit

SECONDS = 2.0  # for one GPU; its driver answers in a millisecond unless it hangs


def gpus(root: Path, board: nvidia.Board, wake: bool, ram: Ram) -> Reading:
    """All of them: NVIDIA's in their driver's order, the others as they come on the bus.

    ``root`` is where the system's folders lie. A sleeping GPU is described from its name, unless
    ``wake`` is set; nothing here switches one on otherwise.
    """
    cards = pci.graphics(root / "sys/bus/pci/devices")
    readings = [_nvidia(root, cards, board, wake)]
    unread = [] if readings[0].devices else [c for c in cards if c.vendor == pci.NVIDIA]
    for card in cards:
        if card.vendor in (pci.AMD, pci.INTEL):
            reading = _within_time(card, root, ram)
            readings.append(reading)
            if reading.problems and not reading.devices:
                unread.append(card)
    devices = [device for reading in readings for device in reading.devices]
    devices += _by_vulkan(unread, wake or not any(card.asleep for card in cards))
    return Reading(tuple(devices), tuple(p for reading in readings for p in reading.problems))


def _within_time(card: pci.Graphics, root: Path, ram: Ram) -> Reading:
    """A card of AMD's or Intel's, read unless its driver hangs."""

    def read() -> Reading:
        if card.vendor == pci.AMD:
            return amd.read(card, root, ram)
        return intel.read(card, root, ram)

    try:
        reading = call_within(SECONDS, f"gpu {card.address}", read)
        if reading.devices and not is_folder(root / "dev/dri"):
            return Reading(reading.devices, (*reading.problems, _out_of_reach(reading.devices[0])))
        return reading
    except TookTooLongError:
        return Reading(
            (),
            (
                Problem(
                    "gpu_driver_hangs",
                    tr(
                        "The driver of the GPU {vendor}:{device} has not answered within "
                        "{seconds:.0f} seconds.",
                        vendor=card.vendor,
                        device=card.device,
                        seconds=SECONDS,
                    ),
                    Severity.WARNING,
                    tr("Restart the computer if it stays so."),
                ),
            ),
        )


def _out_of_reach(device: Device) -> Problem:
    return Problem(
        "gpu_out_of_reach",
        tr(
            "{gpu} is there, but programs cannot reach it from here: /dev/dri is missing, as in a "
            "container that was started without it.",
            gpu=device.name,
        ),
        Severity.WARNING,
        tr("Start the container with --device /dev/dri, or plan for the processor alone."),
    )


def _by_vulkan(unread: list[pci.Graphics], may_wake: bool) -> tuple[Device, ...]:
    """What Vulkan tells of cards that have a driver, of which nothing else tells."""
    driven = [card for card in unread if card.driver not in ("", "vfio-pci")]
    if not driven or not may_wake:
        return ()
    return vulkan.devices(driven, output_of(vulkan.COMMAND, vulkan.SECONDS) or "")


def _nvidia(
    root: Path, cards: tuple[pci.Graphics, ...], board: nvidia.Board, wake: bool
) -> Reading:
    theirs = [card for card in cards if card.vendor == pci.NVIDIA]
    asleep = [card for card in theirs if card.asleep and not wake]
    awake = [card.address for card in theirs if card not in asleep] if asleep else None
    reading = Reading(()) if awake == [] else nvidia.ask(awake, board)
    if not reading.devices and not theirs:
        by_name = nvidia.from_board(board) if board.model else None
        if by_name is not None:
            reading = Reading((by_name,))
        elif not processor.in_wsl():
            reading = Reading(())  # the bus shows none, so that silence is no problem
    sleeping = [_sleeping(root, card) for card in asleep]
    problems = [*reading.problems, *(p for _, p in sleeping)]
    if theirs and not asleep and not reading.devices and not reading.problems:
        problems.append(_without_driver(theirs[0]))
    return Reading((*reading.devices, *(device for device, _ in sleeping)), tuple(problems))


def _sleeping(root: Path, card: pci.Graphics) -> tuple[Device, Problem]:
    """A GPU that is switched off, as far as its name tells."""
    model = pci.nvidia_model(root / "proc/driver/nvidia/gpus", card.address)
    rows = match(model) if model else ()
    why = mark("The GPU is switched off to save power and was not asked.")
    memory, bandwidth = unknown_bytes("NVML", why), unknown_bandwidth("NVML", why)
    row = common_bandwidth(rows)
    if row is not None:
        bandwidth = Number(row.bandwidth, Unit.BYTES_PER_SECOND, row.provenance, note=why)
        if len({r.memory_gb for r in rows}) == 1:
            memory = Number(row.nominal_bytes, Unit.BYTES, row.provenance, note=why)
    device = Device(
        name=model or "NVIDIA GPU",
        kind=DeviceKind.GPU,
        backend=Backend.CUDA,
        memory=memory,
        used=Number(0, Unit.BYTES, Source(Rank.ASSUMED, mark("a GPU that is switched off"))),
        bandwidth=bandwidth,
    )
    note = Problem(
        "gpu_asleep",
        tr(
            "{gpu} is switched off to save power; what is shown comes from its name.",
            gpu=device.name,
        ),
        Severity.NOTE,
        tr("Refresh to wake it and read its memory."),
    )
    return described(device, rows), note


def _without_driver(card: pci.Graphics) -> Problem:
    if card.driver == "vfio-pci":
        return Problem(
            "gpu_lent_out",
            tr("An NVIDIA GPU is set aside for a virtual machine; nothing can run on it here."),
            Severity.NOTE,
        )
    return Problem(
        "nvidia_without_driver",
        tr(
            "An NVIDIA GPU is present ({vendor}:{device}), but its driver does not answer.",
            vendor=card.vendor,
            device=card.device,
        ),
        Severity.WARNING,
        tr("Install NVIDIA's driver, or choose the card from the catalogue."),
    )
