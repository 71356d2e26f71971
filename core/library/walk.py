"""Looking for models: folders are walked, headers read, and each model told as it is found.

Every folder has a thread of its own, so that a network drive that does not answer holds up nothing
but itself; it is named and left behind.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from queue import Empty, Queue
from threading import Event, Lock, Thread
from time import monotonic

from core.gguf import Cancelled, display, open_file
from core.gguf.ollama import stored_models
from core.gguf.source import CancelledCheck
from core.language import mark, tr
from core.library.entry import Entry, State
from core.library.facts import facts_of, fit_of
from core.library.folder import Group, groups_of
from core.library.places import Folder
from core.machine.machine import Machine
from core.model import model_from
from core.problems import Problem, Severity

SILENT_SECONDS = 10.0
_DEPTH = 24
_MOST_FOLDERS = 200_000
_TURN_SECONDS = 0.1
_MAGIC = b"GGUF"
# Nothing of the user's lies there, and looking may wake or hang what does.
_SYSTEM = frozenset(("/proc", "/sys", "/dev", "/run", "/snap", "/boot"))
_NOISE = frozenset((".git", "node_modules", "__pycache__", "$RECYCLE.BIN", ".Trash", ".snapshots"))


def scan(
    folders: Sequence[Folder],
    machine: Machine | None = None,
    cancelled: CancelledCheck | None = None,
    known: Mapping[Path, Entry] | None = None,
    silent: float = SILENT_SECONDS,
    give_way: Callable[[], None] | None = None,
) -> Iterator[Entry | Problem]:
    """Every model in these folders, each once, in the order they are found; nothing but headers
    is read, and no loop of links is followed.

    With ``machine`` each is judged on it. What is in ``known`` by its path, with the same sizes and
    times, is not read again. A folder that cannot be read, or says nothing for ``silent`` seconds,
    is a Problem. Ends early where ``cancelled`` says yes. ``give_way`` is called between any two
    steps and may wait: the search is a guest in a program that has a window to draw.
    """
    stop = Event()
    shared = _Shared(Queue(), stop, machine, known or {}, give_way or _go_on)
    walks = [_Walk(folder, shared) for folder in folders]
    for walk in walks:
        Thread(target=walk.run, name="library", daemon=True).start()
    try:
        yield from _collect(walks, shared, cancelled, silent)
    finally:
        stop.set()


def _go_on() -> None:
    """Nobody is in the way."""


def _collect(
    walks: list[_Walk], shared: _Shared, cancelled: CancelledCheck | None, silent: float
) -> Iterator[Entry | Problem]:
    waiting = list(walks)
    while waiting or not shared.found.empty():
        if cancelled is not None and cancelled():
            return
        try:
            item = shared.found.get(timeout=_TURN_SECONDS)
            if isinstance(item, _Walk):
                waiting = [walk for walk in waiting if walk is not item]
            else:
                yield item
            continue
        except Empty:
            pass
        for walk in [w for w in waiting if monotonic() - w.heard > silent]:
            waiting.remove(walk)
            walk.dismissed.set()
            where = display(walk.at)
            yield Problem(
                "silent-folder",
                tr(
                    "{folder} has not answered for {seconds:.0f} seconds and was left out.",
                    folder=where,
                    seconds=silent,
                ),
                Severity.WARNING,
                tr("Check whether its network drive or disk is connected."),
            )


@dataclass
class _Shared:
    """What the walks of one scan have in common."""

    found: Queue[Entry | Problem | _Walk]
    stop: Event
    machine: Machine | None
    known: Mapping[Path, Entry]
    give_way: Callable[[], None]
    seen: set[tuple[int, int]] = field(default_factory=set)
    lock: Lock = field(default_factory=Lock)

    def first(self, status: os.stat_result) -> bool:
        """Whether a file or folder is met for the first time, under whatever name."""
        key = (status.st_dev, status.st_ino)
        with self.lock:
            if key in self.seen:
                return False
            self.seen.add(key)
            return True


class _Walk:
    """One folder and all below it."""

    def __init__(self, folder: Folder, shared: _Shared) -> None:
        self.folder = folder
        self.at = str(folder.path)  # where it is just now
        self.heard = monotonic()
        self.dismissed = Event()
        self._shared = shared

    def run(self) -> None:
        try:
            self._walk()
        except Cancelled:
            pass
        finally:
            self._shared.found.put(self)

    def _over(self) -> bool:
        self._shared.give_way()
        self.heard = monotonic()
        return self._shared.stop.is_set() or self.dismissed.is_set()

    def _tell(self, item: Entry | Problem) -> None:
        if not self._over():
            self._shared.found.put(item)

    def _walk(self) -> None:
        waiting = [(self.folder.path, 0)]
        count = 0
        while waiting and not self._over():
            path, depth = waiting.pop()
            self.at = str(path)
            try:
                if not self._shared.first(path.stat()):
                    continue
                with os.scandir(path) as entries:
                    files, inner = _sorted_out(path, entries)
            except (OSError, ValueError) as error:
                self._refused(path, depth, error)
                continue
            count += 1
            if {"manifests", "blobs"} <= {child.name for child in inner}:
                self._ollama(path)
                continue
            for group in groups_of(path, files):
                self._add(group)
            for name in files:
                if name.endswith(".incomplete") and path.name == "blobs":
                    self._unnamed(path / name)
            if depth < _DEPTH and count + len(waiting) < _MOST_FOLDERS:
                waiting += [(child, depth + 1) for child in reversed(inner)]

    def _refused(self, path: Path, depth: int, error: OSError | ValueError) -> None:
        """A folder that cannot be read. One that a program never made is no news."""
        gone = isinstance(error, FileNotFoundError | NotADirectoryError)
        if gone and (depth or self.folder.title):
            return
        reason = getattr(error, "strerror", None) or str(error)
        self._tell(
            Problem(
                "unreadable-folder",
                tr(
                    "{folder} could not be searched: {reason}.",
                    folder=display(str(path)),
                    reason=display(reason),
                ),
                Severity.WARNING,
                tr("Take it off the list, or connect its disk.") if gone else "",
            )
        )

    # One model.

    def _add(self, group: Group, name: str = "") -> None:
        """Read a model and tell of it, unless it was met before under another name."""
        path = group.paths[0]
        self.at = str(path)
        try:
            statuses = [each.stat() for each in group.paths]
        except OSError:  # a link to nowhere, or gone in the meantime
            return
        if self._over() or not self._shared.first(statuses[0]):
            return
        stamp = tuple((status.st_size, status.st_mtime_ns) for status in statuses)
        entry = Entry(
            path=path,
            name=display(name or group.name),
            bytes=sum(size for size, _ in stamp),
            files=len(stamp),
            where=self._where(path, bool(name)),
            stamp=stamp,
            projectors=group.projectors,
        )
        before = self._shared.known.get(path)
        if before is not None and _same(before, entry):
            self._tell(replace(before, where=entry.where, projectors=group.projectors))
        elif group.unfinished and path.suffix.lower() != ".gguf":
            self._tell(replace(entry, state=State.INCOMPLETE, remark=tr(_DOWNLOADING)))
        else:
            self._tell(self._read(entry, group, bool(name)))

    def _read(self, entry: Entry, group: Group, named: bool) -> Entry:
        file = open_file(entry.path, self._over)
        self._shared.give_way()
        model = model_from(file)
        if not (file.header.entries or file.tensors):
            fault = file.problems[0].message if file.problems else tr("It holds no model.")
            return replace(entry, state=State.UNREADABLE, remark=fault)
        facts = facts_of(model)
        self._shared.give_way()
        fit = fit_of(model, self._shared.machine) if self._shared.machine is not None else None
        entry = replace(entry, facts=facts, fit=fit)
        if not named and model.name:
            entry = replace(entry, name=facts.name)
        if group.unfinished:
            return replace(entry, state=State.INCOMPLETE, remark=tr(_DOWNLOADING))
        if not file.complete:
            cut = (p.message for p in file.problems if p.missing_bytes or p.code == "missing-shard")
            return replace(entry, state=State.INCOMPLETE, remark=next(cut, ""))
        return entry

    def _unnamed(self, path: Path) -> None:
        """A download into Hugging Face's cache has its name only when it is over."""
        try:
            with path.open("rb") as file:
                if file.read(len(_MAGIC)) != _MAGIC:
                    return
            status = path.stat()
        except OSError:
            return
        name = _hub_name(path)
        self._tell(
            Entry(
                path=path,
                name=display(name.rpartition("/")[2] or path.name),
                bytes=status.st_size,
                files=1,
                where=self._where(path, False),
                stamp=((status.st_size, status.st_mtime_ns),),
                state=State.INCOMPLETE,
                remark=tr(_DOWNLOADING),
            )
        )

    def _ollama(self, root: Path) -> None:
        for name, path, projectors in stored_models(root):
            if self._over():
                return
            self._add(Group(name, (path,), projectors=projectors), name)
        try:
            names = [entry.name for entry in os.scandir(root / "blobs")]
        except OSError:
            return
        for name in sorted(names):
            if name.startswith("sha256-") and name.endswith("-partial"):
                self._add(Group(tr("A model of Ollama"), (root / "blobs" / name,), unfinished=True))

    def _where(self, path: Path, of_ollama: bool) -> str:
        """Whose folder it is, and which part of it."""
        root = self.folder.path
        if of_ollama:
            return self.folder.title or display(str(root))
        inside = _hub_name(path) or path.parent.relative_to(root).as_posix()
        base = self.folder.title or display(str(root))
        return base if inside == "." else f"{base}: {display(inside)}"


_DOWNLOADING = mark("Its download is not finished.")


def _same(before: Entry, now: Entry) -> bool:
    return (before.stamp, before.files) == (now.stamp, now.files) and before.facts is not None


def _sorted_out(path: Path, entries: Iterator[os.DirEntry[str]]) -> tuple[list[str], list[Path]]:
    """Names of files, and folders; links are followed."""
    files: list[str] = []
    inner: list[Path] = []
    for entry in entries:
        try:
            if entry.is_dir():
                if entry.name not in _NOISE and entry.path not in _SYSTEM:
                    inner.append(path / entry.name)
            elif entry.is_file():
                files.append(entry.name)
        except OSError:
            continue
    inner.sort()
    return files, inner


def _hub_name(path: Path) -> str:
    """ "org/name" of a file in Hugging Face's cache; "" elsewhere."""
    for part in reversed(path.parts[:-1]):
        if part.startswith("models--"):
            return part.removeprefix("models--").replace("--", "/")
    return ""
