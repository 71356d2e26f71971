"""Machines of the user's own: kept, exported, imported, and opened from a report."""

from __future__ import annotations

import copy
import getpass
import json
import math
import socket
from contextlib import suppress
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.machine import (
    Device,
    Disk,
    Machine,
    as_dict,
    catalogue,
    combine,
    custom,
    detect,
    machine_from,
    own,
    places,
    spec_of,
    with_margin,
)
from core.machine.places import home_of
from core.machine.reading import machine_of
from core.plan import resolve
from core.plan.choice import Choice
from core.provenance import Number, Rank, Source, Unit
from core.report import as_json
from tests.support.dense import dense

GIB = 2**30
CARD = catalogue.machine("nvidia-geforce-rtx-4090")
PC = combine(CARD, custom(64 * GIB, 80e9, gpu=False))
MAC = catalogue.machine("apple-m4-max-40-core-gpu")


@pytest.mark.parametrize("row", catalogue.all()[::25], ids=lambda row: row.id)
def test_every_machine_of_the_catalogue_comes_back_as_it_was(row: catalogue.Row) -> None:
    machine = catalogue.machine(row.id)
    assert machine_of(json.loads(own.report(machine))) == machine


def test_what_shall_stay_free_comes_back_as_well() -> None:
    machine = with_margin(PC, 2 * GIB)
    assert machine != PC
    assert machine_of(json.loads(own.report(machine))) == machine
    with pytest.raises(ValueError, match="stay free"):
        machine_of(changed("devices.0.margin", -1))


def test_this_computer_comes_back_as_it_was() -> None:
    machine = detect()
    assert machine_of(as_dict(machine)) == machine


def test_u24_a_report_says_nothing_of_its_owner() -> None:
    text = own.report(detect()).lower()
    private = [socket.gethostname(), str(home_of()), "serial", "uuid"]
    with suppress(KeyError, OSError):  # a user without a name, as in some containers
        private.append(getpass.getuser())
    for word in private:
        assert word.lower() not in text or len(word) < 3, word


def test_machines_are_kept_under_names_and_ids_of_their_own(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "machines.json"
    assert own.load(path) == own.Stored()
    machines = own.added((), PC, "Living room")
    machines = own.added(machines, MAC, "Living room")
    machines = own.added(machines, CARD)
    assert [m.id for m in machines] == [
        "own-living-room",
        "own-living-room-2",
        "own-geforce-rtx-4090",
    ]
    assert [m.name for m in machines] == ["Living room", "Living room (2)", "GeForce RTX 4090"]
    own.save(machines, path)
    assert own.load(path) == own.Stored(machines)
    assert own.find("own-living-room", path).devices == PC.devices
    with pytest.raises(LookupError, match="own-living-room-2"):
        own.find("own-attic", path)


def test_no_own_id_is_one_of_the_catalogue() -> None:
    assert not [row.id for row in catalogue.all() if row.id.startswith(own.PREFIX)]
    (machine,) = own.added((), CARD, "★ ?!")
    assert machine.id == "own-machine"


def test_renaming_keeps_the_id_and_refuses_a_name_that_is_taken() -> None:
    machines = own.added(own.added((), PC, "One"), MAC, "Two")
    first, second = own.renamed(machines, "own-one", "  Three ")
    assert (first.id, first.name, second.name) == ("own-one", "Three", "Two")
    for name in ("Two", " "):
        with pytest.raises(ValueError, match=r"name|already"):
            own.renamed(machines, "own-one", name)
    assert own.removed(machines, "own-one") == machines[1:]


def test_an_exported_list_is_imported_once(tmp_path: Path) -> None:
    machines = own.added(own.added((), PC, "One"), MAC, "Two")
    path = tmp_path / "list.json"
    own.export(path, machines)
    found = own.opened(path)
    assert own.imported((), found) == machines
    assert own.imported(machines, found) == machines


def test_a_report_of_this_computer_opens_as_another_machine(tmp_path: Path) -> None:
    """What was measured there is a report here: this computer did not time it."""
    measured = Number(61e9, Unit.BYTES_PER_SECOND, Source(Rank.MEASURED, "timed", "2026-11-01"))
    host = replace(custom(32 * GIB, 50e9, gpu=False).devices[0], bandwidth=measured)
    path = tmp_path / "report.json"
    path.write_text(own.report(Machine("this", "This computer: Ryzen", (host,))), "utf-8")
    (machine,) = own.opened(path)
    assert (machine.id, machine.name) == ("custom", "Ryzen")
    bandwidth = machine.devices[0].bandwidth
    assert bandwidth.value == 61e9
    assert bandwidth.source == Source(Rank.REPORTED, "timed", "2026-11-01")
    assert "Measured on that computer" in bandwidth.note


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b"{}",
        b"[]",
        b'"text"',
        b'{"version": 1, "kind": "weighbridge machines", "machines": {}}',
        b'{"schema": 2, "devices": [{}]}',
        b'{"schema": 1, "devices": []}',
        b'{"schema": 1, "devices": [7]}',
        b"GGUF\x03\x00\x00\x00",
    ],
)
def test_a_file_that_is_no_list_of_machines_is_kept_and_told(
    tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "machines.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"\w{2,} \w{2,}"):
        own.opened(path)
    stored = own.load(path)
    assert stored.machines == ()
    assert stored.problem is not None
    assert (tmp_path / "machines.json.kept").read_bytes() == content


def test_a_file_that_is_missing_or_a_folder_is_said_to_be_so(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no file"):
        own.opened(tmp_path / "none.json")
    with pytest.raises(ValueError, match="could not be read"):
        own.opened(tmp_path)


def test_a_file_that_cannot_be_read_stays_and_is_never_written_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As while a network is away, or a file that belongs to another user."""
    path = tmp_path / "machines.json"
    own.save(own.added((), PC, "One"), path)

    def away(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patched:
        patched.setattr(places, "open_file", away)
        stored = own.load(path)
        assert stored.machines == ()
        assert stored.problem is not None and "Permission denied" in stored.problem.message
        assert "kept as" not in stored.problem.advice
    assert [m.name for m in own.load(path).machines] == ["One"]
    with monkeypatch.context() as patched:
        patched.setattr(places, "open_file", away)
        own.save(own.added(own.load(path).machines, PC, "Two"), path)
    assert [m.name for m in own.load(path).machines] == ["Two"]
    assert [m.name for m in own.load(tmp_path / "machines.json.kept").machines] == ["One"]


def test_a_file_of_a_newer_version_waits_for_it(tmp_path: Path) -> None:
    path = tmp_path / "machines.json"
    own.save(own.added((), PC, "One"), path)
    newer = json.dumps({**json.loads(path.read_text()), "version": 2})
    path.write_text(newer)
    stored = own.load(path)
    assert stored.machines == ()
    assert stored.problem is not None and "newer version" in stored.problem.message
    assert "left as it is" in stored.problem.advice
    assert path.read_text() == newer
    own.save(own.added((), PC, "Two"), path)  # it is not lost where this version keeps some
    assert [m.name for m in own.load(path).machines] == ["Two"]
    assert (tmp_path / "machines.json.kept").read_text() == newer


def test_one_bad_machine_costs_only_itself(tmp_path: Path) -> None:
    path = tmp_path / "machines.json"
    own.save(own.added((), PC, "One"), path)
    values = json.loads(path.read_text())
    values["machines"].append({"schema": 1, "devices": []})
    path.write_text(json.dumps(values))
    stored = own.load(path)
    assert [m.name for m in stored.machines] == ["One"]
    assert stored.problem is not None
    assert (tmp_path / "machines.json.kept").exists()


def changed(way: str, value: object) -> Any:
    """The report of a PC with another value at "devices.0.memory.value"."""
    told: Any = copy.deepcopy(as_dict(PC))
    *above, last = way.split(".")
    place = told
    for key in above:
        place = place[int(key)] if key.isdecimal() else place[key]
    place[int(last) if last.isdecimal() else last] = value
    return told


@pytest.mark.parametrize(
    ("way", "value"),
    [
        ("devices.0.memory.value", -1),
        ("devices.0.memory.value", 10**30),
        ("devices.0.memory.value", "24 GB"),
        ("devices.0.memory.value", True),
        ("devices.0.memory.value", 1.5),
        ("devices.0.memory.unit", "B/s"),
        ("devices.0.memory.rank", "certain"),
        ("devices.0.bandwidth.value", 0),
        ("devices.0.bandwidth.value", math.inf),
        ("devices.0.bandwidth.value", math.nan),
        ("devices.0.kind", "quantum"),
        ("devices.0.backend", None),
        ("devices.0.name", 7),
        ("devices.0.kind", "host"),
        ("devices.1.kind", "gpu"),
        ("devices", [as_dict(CARD)["devices"][0]] * 65),
        ("devices.0.link", "wide"),
        ("disk", {"kind": "tape"}),
    ],
)
def test_a_figure_that_no_computer_has_is_refused_with_a_sentence(way: str, value: object) -> None:
    with pytest.raises(ValueError, match=r"\w{2,} \w{2,}"):
        machine_of(changed(way, value))


def test_text_of_a_strangers_report_cannot_play_tricks_on_the_screen() -> None:
    machine = machine_of(changed("devices.0.name", "RTX\u202e 4090\n\x1b[31m" + "x" * 10_000))
    assert machine.devices[0].name.startswith("RTX\\u202e 4090")
    assert len(machine.devices[0].name) < 400
    assert machine.devices[0].name.isprintable()


def test_what_a_report_leaves_out_is_unknown_and_never_nothing() -> None:
    bare = {"devices": [{"kind": "gpu", "backend": "cuda"}, {"kind": "host", "backend": "cpu"}]}
    gpu, host = machine_of(bare).devices
    for number in (gpu.memory, gpu.used, gpu.bandwidth, host.memory, gpu.flops):
        assert number.value is None
        assert number.note


def test_what_a_newer_version_adds_is_passed_over() -> None:
    told = changed("devices.0.colour", "red")
    told["weather"] = {"rain": [1, 2]}
    assert machine_of(told) == PC


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=12,
)
WAYS = [
    "devices",
    "devices.0",
    "devices.0.memory",
    "devices.0.memory.value",
    "devices.0.memory.inputs",
    "devices.0.bandwidth.note",
    "devices.0.bandwidth.value",
    "devices.1.bandwidth.value",
    "devices.0.flops",
    "devices.0.flops.value",
    "devices.1.cores",
    "devices.0.catalogue_id",
    "devices.0.architecture",
    "id",
    "devices.1.unified",
    "devices.0.link",
    "devices.0.part",
    "problems",
    "disk",
    "schema",
    "name",
]


@given(st.sampled_from(WAYS), json_values)
@settings(max_examples=300, deadline=None)
def test_no_value_anywhere_makes_reading_break(way: str, value: object) -> None:
    try:
        machine = machine_of(changed(way, value))
    except ValueError as error:
        assert str(error)
        return
    assert json.loads(own.report(machine))  # what was read can be written again
    if line := spec_of(machine):
        assert line.startswith(own.PREFIX) or line == "this" or machine_from(line)
    plan = resolve(dense(2.5e9, 0.6e9, 4096), machine, Choice())
    json.dumps(as_json(plan), allow_nan=False)


@pytest.mark.parametrize("value", [5e-324, 1e-300, 1e-9, 0.5, 1, 1e17])
def test_a_rate_of_less_than_one_in_a_second_is_none(value: float) -> None:
    for way in ("devices.0.bandwidth.value", "devices.1.bandwidth.value", "devices.0.flops.value"):
        told = changed(way, value)
        if value < 1:
            with pytest.raises(ValueError, match="which cannot be"):
                machine_of(told)
        else:
            for backend in (None, "cpu"):
                plan = resolve(dense(2.5e9, 0.6e9, 4096), machine_of(told), Choice(backend=backend))
                json.dumps(as_json(plan), allow_nan=False)


def test_a_card_of_a_newer_catalogue_is_told_by_its_figures(tmp_path: Path) -> None:
    told = changed("devices.0.catalogue_id", "nvidia-geforce-rtx-9090")
    path = tmp_path / "newer.json"
    path.write_text(json.dumps(told))
    (machine,) = own.opened(path)
    line = spec_of(machine)
    assert line == "gpu:25757220864B@1008:cuda + ram:64GiB@80"
    again = machine_from(line)
    for device, same in zip(machine.devices, again.devices, strict=True):
        assert device.memory.value == same.memory.value
        assert device.bandwidth.value == same.bandwidth.value


def test_more_cards_than_one_board_takes_have_no_line() -> None:
    card, ram = as_dict(PC)["devices"]
    assert spec_of(machine_of(changed("devices", [*[card] * 15, ram]))).startswith("15x ")
    assert spec_of(machine_of(changed("devices", [*[card] * 16, ram]))) == ""


def test_the_id_of_a_machine_that_somebody_else_keeps_is_none_of_ones_own(tmp_path: Path) -> None:
    """It would stand for another machine of the same name here."""
    (theirs,) = own.added((), PC, "Machine")
    path = tmp_path / "theirs.json"
    path.write_text(own.report(theirs))
    (opened,) = own.opened(path)
    assert opened.id == "custom"
    assert spec_of(opened) == spec_of(PC)


@pytest.mark.parametrize(
    ("system", "environ", "expected"),
    [
        ("linux", {"HOME": "/home/a"}, "/home/a/.config/weighbridge"),
        ("linux", {"HOME": "/home/a", "XDG_CONFIG_HOME": "/x"}, "/x/weighbridge"),
        ("linux", {"HOME": "/home/a", "XDG_CONFIG_HOME": "x"}, "/home/a/.config/weighbridge"),
        ("darwin", {"HOME": "/Users/a"}, "/Users/a/Library/Preferences/weighbridge"),
        ("win32", {"LOCALAPPDATA": "/c/Local"}, "/c/Local/weighbridge"),
        ("win32", {"USERPROFILE": "/c/a"}, "/c/a/AppData/Local/weighbridge"),
    ],
)
def test_the_folder_is_that_of_the_windows_settings(
    system: str, environ: dict[str, str], expected: str
) -> None:
    assert places.folder(environ, system).as_posix() == expected


def test_no_field_of_a_machine_is_forgotten_in_its_report() -> None:
    told = as_dict(PC)
    # A machine's own runs are the user's, and stay here.
    assert {f.name for f in fields(Machine)} - {"runs"} <= set(told)
    assert {f.name for f in fields(Device)} == set(told["devices"][0])
    assert {f.name for f in fields(Disk)} == set(as_dict(detect())["disk"])
