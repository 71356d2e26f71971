"""The RAM of this process: what the system has, less what a container's limit takes away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from core import units
from core.language import mark, tr
from core.machine.detect.limits import is_folder, text_of, whole
from core.problems import Problem, Severity
from core.provenance import Input, Number, Rank, Source, Unit


@dataclass(frozen=True, slots=True)
class Level:
    """One control group with a limit. All in bytes; ``cache`` is file cache the kernel gives
    back when memory is needed."""

    limit: int
    current: int
    cache: int

    @property
    def available(self) -> int:
        """What is left below the limit once the file cache is given back."""
        return max(0, self.limit - max(0, self.current - self.cache))


@dataclass(frozen=True, slots=True)
class Ram:
    """``total`` and ``used`` in bytes; total - used can still be had."""

    total: Number[int]
    used: Number[int]
    problems: tuple[Problem, ...] = ()

    @property
    def available(self) -> int | None:
        """What can still be had, bytes; None where it is not known."""
        if self.total.value is None or self.used.value is None:
            return None
        return self.total.value - self.used.value


def read_ram(total: int, available: int, levels: tuple[Level, ...] = ()) -> Ram:
    """RAM from the system's own figures (psutil) and the limits of control groups, all bytes.

    Counting file cache as used would be wrong: a model that was read once fills it.
    """
    system = Source(Rank.REPORTED, mark("operating system"))
    tight = min((level.limit for level in levels), default=total)
    if tight >= total:
        used = Number(
            total - available,
            Unit.BYTES,
            system,
            formula=mark("total - available"),
            inputs=(
                Input(mark("total"), total, Unit.BYTES),
                Input(mark("available"), available, Unit.BYTES),
            ),
        )
        return Ram(Number(total, Unit.BYTES, system), used)
    group = Source(Rank.REPORTED, mark("control group limit of this process"))
    left = min(available, *(level.available for level in levels))
    level = min(levels, key=lambda each: each.available)
    inputs = (
        Input(mark("limit"), tight, Unit.BYTES),
        Input(mark("in use"), level.current, Unit.BYTES),
        Input(mark("file cache"), level.cache, Unit.BYTES),
        Input(mark("available on the host"), available, Unit.BYTES),
    )
    note = tr(
        "The host has {size}; this process may use the limit.", size=units.format_bytes(total)
    )
    return Ram(
        Number(tight, Unit.BYTES, group, note=note),
        Number(
            max(0, tight - left),
            Unit.BYTES,
            group,
            formula=mark("limit - min(limit - (in use - file cache), available on the host)"),
            inputs=inputs,
        ),
        (
            Problem(
                "memory_limited",
                tr(
                    "This program may use {size} of the computer's {total}: a container or a "
                    "service limits it.",
                    size=units.format_bytes(tight),
                    total=units.format_bytes(total),
                ),
                Severity.NOTE,
                tr("Run it outside the container to plan for the whole computer."),
            ),
        ),
    )


def control_groups(mount: Path, membership: str) -> tuple[Level, ...]:
    """The memory limits above this process.

    ``mount`` is /sys/fs/cgroup, ``membership`` the text of /proc/self/cgroup. Both versions of
    the interface are read; a group without a limit ("max", or close to 2^63) is left out.
    """
    for line in membership.splitlines():
        _, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if "memory" in controllers.split(",") and is_folder(mount / "memory"):
            return tuple(_levels_v1(mount / "memory", path))
    for line in membership.splitlines():
        if line.startswith("0::"):
            return tuple(_levels_v2(mount, line[3:]))
    return ()


def _levels_v2(mount: Path, path: str) -> Iterator[Level]:
    for folder in _up(mount, path):
        limit = whole(text_of(folder / "memory.max"))
        current = whole(text_of(folder / "memory.current"))
        if limit is not None and current is not None:
            stat = _table(text_of(folder / "memory.stat"))
            cache = stat.get("active_file", 0) + stat.get("inactive_file", 0)
            yield Level(limit, current, cache)


def _levels_v1(mount: Path, path: str) -> Iterator[Level]:
    for folder in _up(mount, path):
        limit = whole(text_of(folder / "memory.limit_in_bytes"))
        current = whole(text_of(folder / "memory.usage_in_bytes"))
        if limit is not None and current is not None and limit < 2**60:
            stat = _table(text_of(folder / "memory.stat"))
            cache = stat.get("total_active_file", 0) + stat.get("total_inactive_file", 0)
            yield Level(limit, current, cache)


def _up(mount: Path, path: str) -> Iterator[Path]:
    """The group's folder and those above it. In a container the path is the host's and the
    mount already is the group, so a path that does not exist means the mount alone."""
    folder = mount / path.strip("/")
    if ".." in folder.parts or not is_folder(folder):
        folder = mount
    yield folder
    while folder != mount:
        folder = folder.parent
        yield folder


def _table(text: str) -> dict[str, int]:
    pairs = (line.partition(" ") for line in text.splitlines())
    return {key: value for key, _, text in pairs if (value := whole(text)) is not None}
