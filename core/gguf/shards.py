"""A model from any of its files: one file, or the family of shards that it belongs to."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain
from pathlib import Path

from core.gguf.cursor import Progress
from core.gguf.header import Header, ModelFile, Tensor
from core.gguf.kinds import describe, kind_of
from core.gguf.names import ShardName, shard_name
from core.gguf.ollama import blob_note
from core.gguf.reader import read_header
from core.gguf.source import Cancelled, CancelledCheck, Place
from core.gguf.text import display
from core.language import tr
from core.problems import Problem, Severity

MAX_SHARDS = 10_000
_MOST_REMARKS = 8  # about single shards


def open_file(
    path: Path | str | Place,
    cancelled: CancelledCheck | None = None,
    progress: Progress | None = None,
) -> ModelFile:
    """The model that ``path`` is, or is a shard of.

    Every fault, the file being absent included, is a Problem of the result. ``cancelled`` is asked
    now and then; ``progress`` is told how many bytes of the header that is being read are behind.
    Raises Cancelled and nothing else.
    """
    opened = read_header(path, cancelled, progress)
    count = _integer(opened, "split.count") or 1
    name = shard_name(opened.path.name)
    if count <= 1:
        return _family([opened], (), _name_notes(opened, name, count))
    own = name.number if name and name.count == count else 0
    if name is None or not 1 <= own <= count <= MAX_SHARDS:
        return _family([opened], _unnamed(opened, count), [_unnameable(opened, count)])
    headers: list[Header] = []
    missing: list[str] = []
    problems: list[Problem] = []
    for number in range(1, count + 1):
        file_name = name.other(number)
        if cancelled is not None and cancelled():
            raise Cancelled
        if number == own:
            header = opened
        else:
            header = read_header(opened.place.beside(file_name), cancelled, progress)
        if header.version is None:
            missing.append(display(file_name))
            # One sentence for a file that is not there, its own problem for one that is broken.
            problems += (p for p in header.problems if p.code != "not-found")
        else:
            headers.append(header)
    # A server that is out of reach is so for every shard.
    problems = [*dict.fromkeys(problems), *_missing(missing, count, opened)]
    problems += _disagreements(headers, count, name.stem)
    return _family(headers, tuple(missing), problems)


def _family(headers: list[Header], missing: tuple[str, ...], problems: list[Problem]) -> ModelFile:
    first = headers[0]
    kind = kind_of(first)
    if len(headers) == 1:
        tensors = first.tensors
    else:
        tensors = tuple(
            tensor._replace(shard=number)
            for number, header in enumerate(headers)
            for tensor in header.tensors
        )
        problems += _repeated(tensors)
    notes = describe(kind, first) + blob_note(first)
    where = display(first.place.address)
    return ModelFile(
        header=first,
        headers=tuple(headers),
        kind=kind,
        tensors=tensors,
        missing=missing,
        problems=(
            *chain.from_iterable(header.problems for header in headers),
            *(replace(p, where=p.where or where) for p in (*problems, *notes)),
        ),
    )


def _missing(names: list[str], count: int, opened: Header) -> list[Problem]:
    if not names:
        return []
    shown = ", ".join(names[:3])
    if len(names) > 3:
        shown = tr("{names} and {count:,} more", names=shown, count=len(names) - 3)
    return [
        Problem(
            "missing-shard",
            tr(
                "{missing:,} of {count:,} shards could not be read: {names}. Every total is a "
                "lower bound.",
                missing=len(names),
                count=count,
                names=shown,
            ),
            Severity.WARNING,
            advice=tr("Put all shards of the model into one folder."),
            where=display(str(opened.path.parent) if opened.place.local else opened.place.address),
        )
    ]


def _unnamed(opened: Header, count: int) -> tuple[str, ...]:
    if count > MAX_SHARDS:
        return (tr("{count:,} other shards", count=count - 1),)
    own = _integer(opened, "split.no")
    return tuple(
        tr("shard {number} of {count}", number=n + 1, count=count)
        for n in range(count)
        if n != (own or 0)
    )


def _unnameable(opened: Header, count: int) -> Problem:
    return Problem(
        "missing-shard",
        tr(
            "{name} is one of {count:,} shards, but its name does not say which, so the others "
            "cannot be found. Every total is a lower bound.",
            name=display(opened.path.name),
            count=count,
        ),
        Severity.WARNING,
        advice=tr("Name the shards as they were named: NAME-00001-of-00003.gguf and so on."),
    )


def _name_notes(header: Header, name: ShardName | None, count: int) -> list[Problem]:
    """A name that promises shards which the file knows nothing of."""
    if name is None or header.version is None:
        return []
    if count == 1 and name.number == name.count == 1:
        return []
    return [
        Problem(
            "shard-name",
            tr(
                "{name} is named like shard {number:,} of {count:,}, but the file says nothing "
                "of shards; it is read as a whole.",
                name=display(header.path.name),
                number=name.number,
                count=name.count,
            ),
            Severity.NOTE,
        )
    ]


def _disagreements(headers: list[Header], count: int, stem: str) -> list[Problem]:
    """Shards that belong to another set, and a set that lacks tensors."""
    problems: list[Problem] = []
    others = 0
    for header in headers:
        name = shard_name(header.path.name)
        number = name.number - 1 if name else None
        inside = (_integer(header, "split.no"), _integer(header, "split.count"))
        if inside != (number, count) and len(problems) == _MOST_REMARKS:
            others += 1
        elif inside != (number, count):
            problems.append(
                Problem(
                    "shard-mismatch",
                    tr(
                        "{name} says that it is shard {number} of {count}: its name and its "
                        "contents disagree.",
                        name=display(header.path.name),
                        number="?" if inside[0] is None else inside[0] + 1,
                        count=inside[1] or "?",
                    ),
                    Severity.WARNING,
                    advice=tr("A shard of another model may have been copied over this one."),
                    where=display(header.place.address),
                )
            )
    if others:
        words = tr(
            "{count:,} more shards of {name} disagree with their names as well.",
            count=others,
            name=display(stem),
        )
        problems.append(Problem("shard-mismatch", words, Severity.WARNING))
    stated = _integer(headers[0], "split.tensors.count")
    found = sum(len(header.tensors) for header in headers)
    if stated is not None and len(headers) == count and found != stated:
        problems.append(
            Problem(
                "shard-tensors",
                tr(
                    "The shards of {name} hold {found:,} tensors together, where the first one "
                    "counts {stated:,}.",
                    name=display(stem),
                    found=found,
                    stated=stated,
                ),
                Severity.WARNING,
            )
        )
    return problems


def _repeated(tensors: tuple[Tensor, ...]) -> list[Problem]:
    """The same tensor in two shards; twice in one is a problem of that one's header."""
    places: dict[str, int] = {}
    for tensor in tensors:
        if places.setdefault(tensor.name, tensor.shard) != tensor.shard:
            return [
                Problem(
                    "duplicate-tensor",
                    tr(
                        "{name} stands in more than one shard, and every row is counted. "
                        "llama.cpp refuses these files.",
                        name=display(tensor.name),
                    ),
                    Severity.WARNING,
                )
            ]
    return []


def _integer(header: Header, key: str) -> int | None:
    value = header.metadata.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
