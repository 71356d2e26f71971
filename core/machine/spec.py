"""A machine in one line of text, for the command line and for settings.

``this`` is this computer, an id is that machine of the catalogue or of the user's own, and parts
joined by ``+`` are one computer out of several: ``2x nvidia-geforce-rtx-3090 + ram:64GiB@51.2``.
A part can be figures: ``gpu:24GiB@936`` (a backend may follow: ``gpu:24GiB@936:vulkan``),
``unified:128GiB@256:metal`` or ``ram:64GiB@51.2``; the rate (GB/s) may be left out.
``apple-m4-max-40-core-gpu+ram:64GiB`` is that chip with so much memory.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from core.language import plain, tr
from core.machine import catalogue
from core.machine.assemble import combine, custom, with_ram
from core.machine.machine import Backend, Device, DeviceKind, Machine, with_margin
from core.machine.own import PREFIX
from core.units import parse_bandwidth, parse_bytes

THIS = "this"
MOST_PARTS = 16  # more cards than one board takes are a slip
_COUNT = re.compile(r"([1-9][0-9]?)\s*x\s*(.+)")
_FIGURES = re.compile(r"(gpu|unified|ram):\s*([^@:]+?)\s*(?:@\s*([^:]+?))?\s*(?::\s*([a-z]+))?")


def machine_from(text: str, named: Callable[[str], Machine] | None = None) -> Machine:
    """The machine that the text describes; ``named`` finds a part that is a name (the catalogue
    does by default).

    Raises LookupError where there is no machine of a name, ValueError where a figure is none or
    parts cannot be joined; both with a sentence.
    """
    parts = [part.strip() for part in text.split("+")]
    ram = 0
    if len(parts) > 1:
        last = _FIGURES.fullmatch(parts[-1].lower())
        if last and last[1] == "ram" and last[3] is None:
            ram = parse_bytes(last[2], "GB")
            parts = parts[:-1]
    made: list[Machine] = []
    for part in parts:
        many = _COUNT.fullmatch(part)
        made += [_part(many[2] if many else part, named or _of_catalogue)] * int(
            many[1] if many else 1
        )
    if len(made) > MOST_PARTS:
        raise ValueError(tr("at most {count} devices make one machine", count=MOST_PARTS))
    machine = made[0] if len(made) == 1 else combine(*made)
    return with_ram(machine, ram) if ram else machine


def typed_machine(text: str, named: Callable[[str], Machine] | None = None) -> Machine:
    """As the command line takes it (``machine_from``); where that is none, with numbers of the
    reader's own way of writing. Raises as ``machine_from`` does."""
    try:
        return machine_from(text, named)
    except ValueError:
        if plain(text) == text:
            raise
        return machine_from(plain(text), named)


def spec_of(machine: Machine) -> str:
    """The text that ``machine_from`` takes; "" where figures that decide are not known, or no text
    says such a machine.

    What a name alone tells is kept only where the catalogue knows it, and what shall stay free on
    a machine not at all.
    """
    if machine.id == THIS or machine.id.startswith(PREFIX):
        return machine.id
    machine = with_margin(machine, None)
    known = _from_catalogue(machine)
    if known:
        return known
    gpus: dict[str, int] = {}
    for device in machine.gpus:
        text = _device(device)
        if not text:
            return ""
        gpus[text] = gpus.get(text, 0) + 1
    parts = [f"{count}x {text}" if count > 1 else text for text, count in gpus.items()]
    host = machine.host
    if host is not None and host.memory.value is not None:
        parts.append(_figures("ram", host))
    text = " + ".join(parts)
    try:
        machine_from(text)
    except (LookupError, ValueError):  # a report may hold more devices than one board takes
        return ""
    return text


def _of_catalogue(name: str) -> Machine:
    return catalogue.machine(name.lower())


def _part(text: str, named: Callable[[str], Machine]) -> Machine:
    figures = _FIGURES.fullmatch(text.lower())
    if figures is None:
        return named(text)
    kind, size, rate, word = figures.groups()
    if word is not None and word not in (backend.value for backend in Backend):
        known = ", ".join(Backend)
        raise ValueError(tr("there is no backend {word!r}; one of {known}", word=word, known=known))
    return custom(
        parse_bytes(size, "GB"),
        None if rate is None else parse_bandwidth(rate),
        gpu=kind != "ram",
        backend=Backend(word) if word else Backend.CUDA,
        unified=kind == "unified",
    )


def _from_catalogue(machine: Machine) -> str:
    """The id, and the RAM where that differs; "" where it is no machine of the catalogue."""
    try:
        row = catalogue.machine(machine.id)
    except LookupError:
        return ""
    if machine.devices == row.devices:
        return machine.id
    last = machine.devices[-1].memory
    ram = next((i.value for i in last.inputs if i.name == "RAM"), last.value)
    if isinstance(ram, int) and with_ram(row, ram).devices == machine.devices:
        return f"{machine.id} + ram:{_size(ram)}"
    return ""


def _device(device: Device) -> str:
    """A GPU: the catalogue's where it is one of those, else its figures."""
    try:
        row = catalogue.machine(device.catalogue_id)
    except LookupError:  # of none, or of a newer version's catalogue
        row = None
    if row is not None and row.devices[0] == device and len(row.gpus) == 1:
        return device.catalogue_id
    if device.memory.value is None:
        return ""
    return _figures("unified" if device.unified else "gpu", device)


def _figures(word: str, device: Device) -> str:
    assert device.memory.value is not None
    rate = "" if device.bandwidth.value is None else f"@{_rate(device.bandwidth.value)}"
    backend = f":{device.backend.value}" if device.kind is DeviceKind.GPU else ""
    return f"{word}:{_size(device.memory.value)}{rate}{backend}"


def _rate(value: float) -> str:
    text = f"{value / 1e9:.12g}"
    return f"{value:.0f}B" if "e" in text else text  # "1e-05" is no size


def _size(count: int) -> str:
    whole, rest = divmod(count, 2**30)
    return f"{count}B" if rest else f"{whole}GiB"
