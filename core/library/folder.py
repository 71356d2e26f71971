"""The models among the files of one folder, by their names alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from core.gguf.names import is_gguf, is_imatrix, is_projector, label_in, shard_name

# How programs name what they have not finished: browsers, wget and aria2 wrappers, huggingface_hub,
# llama.cpp, LM Studio, GPT4All.
_UNFINISHED = re.compile(
    r"(?P<name>.+\.gguf)\.(?:part|partial|incomplete|downloading|downloadinprogress|crdownload"
    r"|download|tmp|opdownload|!ut)|(?:incomplete|downloading)[-_](?P<other>.+\.gguf)",
    re.IGNORECASE,
)
_CONTROL = ".aria2"  # lies beside a file whose place is already reserved
_APART = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True)
class Group:
    """Files that are one model: the first of them opens it."""

    name: str
    paths: tuple[Path, ...]
    missing: int = 0  # shards
    unfinished: bool = False
    projectors: tuple[Path, ...] = ()


def groups_of(folder: Path, names: Iterable[str]) -> list[Group]:
    """The models among these files of a folder, in the order of their names; pieces of files that
    were cut for transport are no models, and are left out."""
    names = sorted(names)
    controlled = {name.removesuffix(_CONTROL) for name in names if name.endswith(_CONTROL)}
    families: dict[tuple[str, int], dict[int, str]] = {}
    groups: list[Group] = []
    for name in names:
        shard = shard_name(name)
        if shard is not None and 1 <= shard.number <= shard.count:
            families.setdefault((shard.stem, shard.count), {})[shard.number] = name
        elif is_gguf(name) and not _UNFINISHED.fullmatch(name):
            groups.append(Group(name[:-5], (folder / name,), unfinished=name in controlled))
        elif match := _UNFINISHED.fullmatch(name):
            shown = match["name"] or match["other"]
            groups.append(Group(shown, (folder / name,), unfinished=True))
    for (stem, count), found in families.items():
        paths = tuple(folder / found[number] for number in sorted(found))
        waiting = any(path.name in controlled for path in paths)
        groups.append(Group(stem, paths, count - len(found), waiting))
    projectors = [group for group in groups if is_projector(group.paths[0].name)]
    made = [_with_projectors(group, groups, projectors) for group in groups]
    return sorted(made, key=lambda group: group.paths[0].name)


def _with_projectors(group: Group, groups: list[Group], projectors: list[Group]) -> Group:
    if group in projectors or is_imatrix(group.paths[0].name):
        return group
    meant = [p for p in projectors if _belongs(p, group)]
    # One that names no model of this folder is meant for all of them.
    models = [g for g in groups if g not in projectors]
    meant += [p for p in projectors if not any(_belongs(p, model) for model in models)]
    paths = tuple(path for p in meant for path in p.paths)
    return Group(group.name, group.paths, group.missing, group.unfinished, paths)


def _belongs(projector: Group, model: Group) -> bool:
    """Whether a projector's name holds the model's: "mmproj-Small-F16" and "Small-Q4_K_M"."""
    own, other = _core(projector.name), _core(model.name)
    return bool(own) and (own in other or other in own)


def _core(name: str) -> str:
    """What of a name tells models apart: without label, role and punctuation."""
    plain = name.lower().replace(label_in(name).lower() or "\n", "").replace("mmproj", "")
    return _APART.sub("", plain).replace("model", "")
