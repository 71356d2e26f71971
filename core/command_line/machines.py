"""The machine of a request, and the sub-commands that show machines."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

from core.command_line.requests import BadRequestError, Request
from core.gguf import display
from core.machine import (
    Backend,
    Device,
    DeviceKind,
    Link,
    Machine,
    as_dict,
    catalogue,
    custom,
    detect,
    facts,
    machine_from,
    measure_bandwidth,
    measurement_as_dict,
    own,
    with_ram,
)
from core.machine.machine import nothing_used, unknown_bandwidth, unknown_bytes
from core.machine.spec import THIS
from core.plan import used_gpus
from core.provenance import Number, Rank, Source, Unit, explain, format_value
from core.report import SCHEMA, Values, problem_line
from core.units import format_bandwidth

_GIVEN = Source(Rank.REPORTED, "the command line")
_NOT_GIVEN = "Name a machine, or give its figures."


def machine_of(request: Request) -> Machine:
    """The machine that a request names, with the figures that it gives in place of its own.

    Raises BadRequestError where the catalogue does not have it.
    """
    figures = request.bandwidth is not None or request.memory is not None
    if request.machine is None:
        if figures:
            return _from_figures(request)
        machine = this_computer()
        wants_gpu = request.choice.backend not in (None, Backend.CPU)
        return _with_unknown_gpu(machine, request) if wants_gpu and not machine.gpus else machine
    machine = named(request.machine)
    return _with_figures(machine, request) if figures else machine


def named(text: str) -> Machine:
    """This computer, a machine of the catalogue, one of the user's own, that of a report, or one
    put together of such ("2x nvidia-geforce-rtx-3090 + ram:64GiB@51.2")."""
    if text.lower().endswith(".json") and _exists(text):
        return _from_report(text)  # a "+" in a file's name puts nothing together
    try:
        return machine_from(text, _named)
    except ValueError as error:
        raise BadRequestError(f"{display(text)}: {error}") from None


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except (OSError, ValueError):  # no name that a file can have, or a folder that is closed
        return False


def _named(id: str) -> Machine:
    if id.lower() == THIS:
        return this_computer()
    if id.lower().endswith(".json"):
        return _from_report(id)
    try:
        if id.lower().startswith(own.PREFIX):
            return own.find(id.lower())
        return _from_catalogue(id.lower())
    except LookupError as error:
        raise BadRequestError(str(error.args[0])) from None


@cache
def _from_report(path: str) -> Machine:
    try:
        found = own.opened(Path(path))
    except ValueError as error:
        raise BadRequestError(f"{display(path)}: {error}") from None
    if len(found) != 1:
        raise BadRequestError(f"{display(path)} holds {len(found)} machines; name a file with one")
    return found[0]


@cache
def this_computer() -> Machine:
    """What this computer has, looked up once, with what was measured on it."""
    from core.measure.history import history_path
    from core.measure.history.own_runs import with_own_runs

    return with_own_runs(facts.applied(detect(), facts.load()), history_path())


@cache
def _from_catalogue(id: str) -> Machine:
    return catalogue.machine(id)


def _from_figures(request: Request) -> Machine:
    """One memory and one bandwidth: of a GPU where something is offloaded to one, else of RAM."""
    choice = request.choice
    offloads = choice.gpu_layers not in ("all", 0) or choice.cpu_moe > 0
    gpu = choice.backend not in (None, Backend.CPU) or (choice.backend is None and offloads)
    backend = Backend(choice.backend) if gpu and choice.backend else Backend.CUDA
    if request.memory is not None:
        return custom(request.memory, request.bandwidth, gpu=gpu, backend=backend)
    assert request.bandwidth is not None
    machine = custom(1, request.bandwidth, gpu=gpu, backend=backend)
    device = replace(machine.devices[0], memory=unknown_bytes("the command line", _NOT_GIVEN))
    name = f"{device.name}, {format_bandwidth(request.bandwidth)}"
    return replace(machine, name=name, devices=(device, *machine.devices[1:]))


def _with_unknown_gpu(machine: Machine, request: Request) -> Machine:
    """This computer as if it had a GPU of the backend asked for, of which nothing is known."""
    backend = Backend(request.choice.backend or Backend.CUDA)
    note = f"This computer has no GPU for {backend.value}. {_NOT_GIVEN}"
    gpu = Device(
        name=f"a GPU for {backend.value}",
        kind=DeviceKind.GPU,
        backend=backend,
        memory=unknown_bytes("the command line", note),
        used=nothing_used(),
        bandwidth=unknown_bandwidth("the command line", note),
    )
    return Machine(
        "custom", f"{machine.name} with {gpu.name}", (gpu, *machine.devices), machine.problems
    )


def _with_figures(machine: Machine, request: Request) -> Machine:
    """Given figures replace those of the devices that decide: the GPUs in use, else the RAM."""
    chosen = used_gpus(machine, request.choice.backend) or (len(machine.devices) - 1,)
    if request.memory is not None:
        memory = Number(request.memory, Unit.BYTES, _GIVEN)
        if machine.host is None or machine.host in [machine.devices[n] for n in chosen]:
            machine = with_ram(machine, request.memory)
        else:
            machine = _replaced(machine, chosen, memory=memory)
    if request.bandwidth is not None:
        rate = Number(request.bandwidth, Unit.BYTES_PER_SECOND, _GIVEN)
        machine = _replaced(machine, chosen, bandwidth=rate)
        # What was measured was expected of the machine's own bandwidth.
        machine = replace(machine, runs=())
    return machine


def _replaced(machine: Machine, chosen: tuple[int, ...], **figures: object) -> Machine:
    devices = tuple(
        replace(device, **figures) if number in chosen else device  # type: ignore[arg-type]
        for number, device in enumerate(machine.devices)
    )
    return replace(machine, devices=devices)


def show_machine(measure: bool) -> tuple[str, Values]:
    """This computer in words and as plain values; ``measure`` times its memory first, and keeps
    what it found for later plans, in the window too."""
    machine = detect(wake=measure)
    values: Values = {}
    words = []
    measurement = measure_bandwidth() if measure else None
    rates = facts.load()  # with what a window has measured meanwhile
    if measurement is not None:
        kept, rates = rates, facts.remembered(rates, machine, facts.RAM, measurement.bandwidth)
        if rates != kept:
            words = _kept(rates)
        elif measurement.bandwidth.known and measurement.bandwidth.note:
            words = [facts.KEPT]
        values["measurement"] = measurement_as_dict(measurement)
        words += ["memory read by the processor:", *_indented(explain(measurement.bandwidth))]
        words += [f"  in doubt: {reason}" for reason in measurement.reasons]
    machine = facts.applied(machine, rates)
    lines = [display(machine.name)]
    for device in machine.devices:
        lines.append(f"{display(device.name)} ({device.kind.value}, {device.backend.value})")
        lines += [_line(label, number) for label, number in _figures_of(device)]
        lines += [f"  {_what_is_known(device)}"] if _what_is_known(device) else []
    if machine.disk is not None:
        name = f" {display(machine.disk.name)}" if machine.disk.name else ""
        lines.append(f"Disk:{name} ({machine.disk.kind.value})")
        lines += [_line("reads", machine.disk.read), *_link_lines(machine.disk.link)]
    lines += words
    lines += [problem_line(problem) for problem in machine.problems]
    return "\n".join(lines) + "\n", as_dict(machine) | values


def _figures_of(device: Device) -> list[tuple[str, Number[int] | Number[float]]]:
    """What is said of a device, line by line; what does not apply is left out."""
    found: list[tuple[str, Number[int] | Number[float]]] = [("memory", device.memory)]
    if device.used.value is not None:
        found.append(("in use now", device.used))
    found.append(("bandwidth", device.bandwidth))
    if device.flops.value is not None:
        found.append(("computes", device.flops))
    if device.link is not None:
        found.append(("link", device.link.most))
        if device.link.now is not None:
            found.append(("link now", device.link.now))
    if device.cores is not None:
        found.append(("cores", device.cores))
    return found


def _link_lines(link: Link | None) -> list[str]:
    return [] if link is None else [_line("link", link.most)]


def _line(label: str, number: Number[int] | Number[float]) -> str:
    value = format_value(number.value, number.unit)
    date = f", {number.source.date}" if number.source.date else ""
    source = f"{number.source.rank.value}: {display(number.source.origin)}{date}"
    note = f" {display(number.note)}" if number.note else ""
    return f"  {label:10} {value:>12}  {source}{note and '.'}{note}"


def _what_is_known(device: Device) -> str:
    """Kind of memory, architecture and catalogue id in one line."""
    words = [device.memory_type, device.architecture, device.catalogue_id]
    return display(", ".join(word for word in words if word))


def _kept(rates: tuple[facts.MeasuredRate, ...]) -> list[str]:
    """Keep what was measured; a sentence where that fails."""
    try:
        facts.save(rates)
    except OSError as error:
        return [f"What was measured could not be kept: {error.strerror or error}."]
    return []


def _indented(text: str) -> list[str]:
    return [f"  {line}" for line in text.splitlines()]


def show_catalogue(words: str) -> tuple[str, Values]:
    """The machines that these words find, as a table and as plain values."""
    rows = catalogue.search(words)
    width = max((len(row.id) for row in rows), default=0)
    lines = [
        f"{row.id:{width}}  {row.memory_gb:>5} GB  {format_bandwidth(row.bandwidth):>10}  "
        f"{row.name}\n"
        for row in rows
    ]
    values: Values = {
        "schema": SCHEMA,
        "machines": [
            {
                "id": row.id,
                "name": row.name,
                "vendor": row.vendor,
                "kind": row.kind.value,
                "year": row.year,
                "memory_bytes": row.nominal_bytes,
                "bandwidth_bytes_per_second": row.bandwidth,
                "devices": row.devices,
                "rank": row.provenance.rank.value,
                "source": row.source,
                "date": row.provenance.date,
            }
            for row in rows
        ],
    }
    return "".join(lines), values
