"""Looking for models: every one once, headers only, and nothing holds it up."""

from __future__ import annotations

import json
import os
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from core.gguf import open_file
from core.gguf.header import Kind, ModelFile
from core.gguf.source import FileSource
from core.library import Entry, Folder, State, scan, walk
from core.machine import custom
from core.plan.plan import Verdict
from core.problems import Problem
from tests.support.gguf_files import Plain, TensorSpec, u32, write

LLAMA: dict[str, Plain] = {
    "general.architecture": "llama",
    "general.name": "Small",
    "general.file_type": u32(1),
    "llama.block_count": u32(1),
    "llama.context_length": u32(4096),
    "llama.embedding_length": u32(64),
    "llama.attention.head_count": u32(2),
}
TENSORS = [
    TensorSpec("token_embd.weight", "F16", (64, 512)),
    TensorSpec("blk.0.attn_q.weight", "F16", (64, 64)),
]
MACHINE = custom(2**30, 50e9, name="here", gpu=False)


def model(path: Path, keys: dict[str, Plain] | None = None, data: bool = True) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    return write(path, LLAMA | (keys or {}), TENSORS, data=data)


def shards(folder: Path, stem: str, count: int, left_out: int = 0) -> None:
    for number in range(count):
        if number + 1 == left_out:
            continue
        keys: dict[str, Plain] = dict(LLAMA) if number == 0 else {}
        keys |= {"split.no": number, "split.count": count, "split.tensors.count": u32(count)}
        tensor = TensorSpec(f"blk.{number}.attn_q.weight", "F16", (64, 64))
        write(folder / f"{stem}-{number + 1:05}-of-{count:05}.gguf", keys, [tensor])


def found(*folders: Path | Folder, silent: float = 10, **options: object) -> list[Entry]:
    items = everything(*folders, silent=silent, **options)
    assert not [item for item in items if isinstance(item, Problem)]
    return [item for item in items if isinstance(item, Entry)]


def everything(*folders: Path | Folder, silent: float = 10, **options: object) -> list[object]:
    named = [f if isinstance(f, Folder) else Folder(f) for f in folders]
    items: list[object] = list(scan(named, silent=silent, **options))  # type: ignore[arg-type]
    return sorted(items, key=lambda item: str(getattr(item, "path", "")))


def test_exactly_the_models_of_a_folder_are_models_and_helpers_are_helpers(tmp_path: Path) -> None:
    """Field report P05: the folder of the report lists two models; what serves them is told apart,
    and the small file opens the small model."""
    shards(tmp_path, "Big", 3)
    small = model(tmp_path / "Small.f16.gguf")
    clip: dict[str, Plain] = {"general.architecture": "clip", "general.type": "mmproj"}
    write(tmp_path / "mmproj-Small.gguf", clip, TENSORS)
    write(tmp_path / "imatrix.gguf", {"general.type": "imatrix", "imatrix.chunk_count": u32(3)})
    entries = found(tmp_path)
    assert [(e.path.name, e.files) for e in entries if not e.helper] == [
        ("Big-00001-of-00003.gguf", 3),
        ("Small.f16.gguf", 1),
    ]
    assert [e.facts.kind for e in entries if e.helper and e.facts] == [
        Kind.IMATRIX,
        Kind.PROJECTOR,
    ]
    (opened,) = (e for e in entries if e.path == small)
    assert [path.name for path in opened.projectors] == ["mmproj-Small.gguf"]


def test_an_entry_says_what_the_header_says(tmp_path: Path) -> None:
    model(tmp_path / "sub" / "a.gguf")
    (entry,) = found(Folder(tmp_path, "LM Studio"), machine=MACHINE)
    assert entry.name == "Small" and entry.where == "LM Studio: sub"
    assert entry.state is State.WHOLE and entry.bytes == entry.path.stat().st_size
    facts = entry.facts
    assert facts is not None
    assert (facts.label, facts.context, facts.parameters) == ("F16", 4096, 64 * 512 + 64 * 64)
    assert facts.bits == 16
    assert entry.fit is not None and entry.fit.verdict is Verdict.FITS
    assert entry.fit.ceiling is not None and "free" in entry.fit.why


def test_only_headers_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = model(tmp_path / "a.gguf")
    with path.open("r+b") as file:
        file.truncate(50 << 20)  # a hole; nothing of it is read
    read: list[int] = []
    original = FileSource.read

    def counted(self: FileSource, offset: int, length: int) -> bytes:
        read.append(length)
        return original(self, offset, length)

    monkeypatch.setattr(FileSource, "read", counted)
    found(tmp_path)
    assert sum(read) < 1 << 20


def test_models_of_ollama_have_their_tags(tmp_path: Path) -> None:
    """Field report P36: blobs without an extension are found by the manifests and named by them."""
    store = tmp_path / "models"
    for tag, letter in (("library/gemma3/4b", "a"), ("me/own/latest", "b")):
        digest = letter * 64
        model(store / "blobs" / f"sha256-{digest}", {"general.name": letter})
        manifest = store / "manifests" / "registry.ollama.ai" / tag
        manifest.parent.mkdir(parents=True)
        layers = [
            {"mediaType": "application/vnd.ollama.image.model", "digest": f"sha256:{digest}"},
            {"mediaType": "application/vnd.ollama.image.license", "digest": f"sha256:{'c' * 64}"},
        ]
        manifest.write_text(json.dumps({"layers": layers}))
    (store / "manifests" / "odd").write_text("{")
    (store / "blobs" / f"sha256-{'d' * 64}-partial").write_bytes(bytes(100))
    (store / "blobs" / f"sha256-{'d' * 64}-partial-0").write_bytes(b"{}")
    entries = found(Folder(store, "Ollama"))
    assert [(e.name, e.state, e.where) for e in entries] == [
        ("gemma3:4b", State.WHOLE, "Ollama"),
        ("me/own:latest", State.WHOLE, "Ollama"),
        ("A model of Ollama", State.INCOMPLETE, "Ollama: blobs"),
    ]
    # The same where somebody adds the folder above.
    assert len(found(tmp_path)) == 3


@pytest.mark.skipif(sys.platform == "win32", reason="needs links")
def test_a_file_of_the_hugging_face_cache_is_listed_once_with_its_repository(
    tmp_path: Path,
) -> None:
    cache = tmp_path / "hub" / "models--org--M-GGUF"
    blob = model(cache / "blobs" / ("e" * 64))
    for revision in ("1111", "2222"):
        link = cache / "snapshots" / revision / "M-F16.gguf"
        link.parent.mkdir(parents=True)
        link.symlink_to(blob)
    (cache / "snapshots" / "2222" / "gone.gguf").symlink_to(cache / "blobs" / "none")
    (cache / "blobs" / ("f" * 64 + ".incomplete")).write_bytes(b"GGUF" + bytes(96))
    (cache / "blobs" / ("0" * 64 + ".incomplete")).write_bytes(b"{}")
    entries = found(Folder(tmp_path / "hub", "Hugging Face"))
    assert sorted((e.name, e.state.value, e.where) for e in entries) == [
        ("M-GGUF", "incomplete", "Hugging Face: org/M-GGUF"),
        ("Small", "whole", "Hugging Face: org/M-GGUF"),
    ]


def test_what_is_not_whole_is_shown_as_such(tmp_path: Path) -> None:
    cut = model(tmp_path / "cut.gguf")
    with cut.open("r+b") as file:
        file.truncate(cut.stat().st_size - 100)
    model(tmp_path / "later.gguf.part")
    shards(tmp_path, "Big", 3, left_out=2)
    (tmp_path / "page.gguf").write_bytes(b"<!DOCTYPE html><title>Sign in</title>")
    states = {e.path.name: (e.state, e.remark) for e in found(tmp_path)}
    assert {name: state for name, (state, _) in states.items()} == {
        "Big-00001-of-00003.gguf": State.INCOMPLETE,
        "cut.gguf": State.INCOMPLETE,
        "later.gguf.part": State.INCOMPLETE,
        "page.gguf": State.UNREADABLE,
    }
    assert "1 of 3 shards" in states["Big-00001-of-00003.gguf"][1]
    assert "cut off" in states["cut.gguf"][1]
    assert "web page" in states["page.gguf"][1]


@pytest.mark.skipif(sys.platform == "win32", reason="needs links")
def test_loops_of_links_are_walked_once(tmp_path: Path) -> None:
    model(tmp_path / "a" / "m.gguf")
    (tmp_path / "a" / "up").symlink_to(tmp_path)
    (tmp_path / "a" / "self").symlink_to(tmp_path / "a" / "self")
    (tmp_path / "again").symlink_to(tmp_path / "a")
    assert len(found(tmp_path)) == 1
    # And a folder that is searched twice, from above and by itself.
    assert len(found(tmp_path, tmp_path / "a", tmp_path)) == 1


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="root reads everything")
def test_a_folder_that_may_not_be_read_is_named_and_the_others_are_searched(tmp_path: Path) -> None:
    model(tmp_path / "a" / "m.gguf")
    shut = tmp_path / "shut"
    shut.mkdir()
    shut.chmod(0)
    items = everything(tmp_path)
    shut.chmod(0o700)
    assert sorted(type(item).__name__ for item in items) == ["Entry", "Problem"]


def test_only_a_folder_that_the_user_named_is_missed(tmp_path: Path) -> None:
    assert everything(Folder(tmp_path / "none", "Jan")) == []
    (problem,) = everything(tmp_path / "none")
    assert isinstance(problem, Problem) and problem.code == "unreadable-folder"
    assert str(tmp_path / "none") in problem.message


@pytest.fixture
def dead(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder that never answers, as that of a network drive whose server is gone."""
    path = tmp_path / "dead"
    path.mkdir()
    release = threading.Event()
    original: Callable[..., object] = os.scandir

    def hanging(where: object) -> object:
        if str(where) == str(path):
            release.wait(30)
        return original(where)

    monkeypatch.setattr(os, "scandir", hanging)
    yield path
    release.set()


def test_a_network_drive_that_does_not_answer_holds_up_nothing_else(
    tmp_path: Path, dead: Path
) -> None:
    """Field report U23: one folder is offline, the others are listed."""
    model(tmp_path / "here" / "m.gguf")
    items = everything(dead, tmp_path / "here", silent=0.5)
    (entry,) = (item for item in items if isinstance(item, Entry))
    (problem,) = (item for item in items if isinstance(item, Problem))
    assert entry.path.name == "m.gguf"
    assert problem.code == "silent-folder" and str(dead) in problem.message


def test_a_scan_ends_as_soon_as_nobody_wants_it(tmp_path: Path, dead: Path) -> None:
    for number in range(50):
        model(tmp_path / "here" / f"{number}.gguf")
    stop = threading.Event()
    items = scan([Folder(dead), Folder(tmp_path / "here")], None, stop.is_set)
    for _ in range(3):
        assert isinstance(next(items), Entry)
    stop.set()
    assert list(items) == []


def test_what_is_known_is_not_read_again_unless_it_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = model(tmp_path / "a.gguf"), model(tmp_path / "b.gguf")
    known = {entry.path: entry for entry in found(tmp_path, machine=MACHINE)}
    model(second, {"general.name": "Another name"})
    read: list[Path] = []

    def counted(path: Path, cancelled: Callable[[], bool]) -> ModelFile:
        read.append(path)
        return open_file(path, cancelled)

    monkeypatch.setattr(walk, "open_file", counted)
    entries = {entry.path: entry for entry in found(tmp_path, machine=MACHINE, known=known)}
    assert read == [second]
    assert entries[first] == known[first]
    assert entries[second].name == "Another name"


@pytest.mark.parametrize(
    "name",
    ["Загрузки", "用户　x", "Žofín", "😀", "a & b ' % ^", "trailing ", "x" * 60 + "/" + "y" * 200],
)
def test_folders_of_any_name_are_searched(tmp_path: Path, name: str) -> None:
    """Field report P37: letters of other scripts, emoji, spaces, quotes, long paths."""
    folder = tmp_path / name
    path = model(folder / "модель 模型.gguf")
    (entry,) = found(tmp_path)
    assert entry.path == path and entry.facts is not None


def test_a_scan_locks_nothing(tmp_path: Path) -> None:
    """Field report P38: files that were listed can be renamed and deleted, those of a folder that
    cannot be written are read, and one that grows is shown as it is now."""
    path = model(tmp_path / "a.gguf")
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    (entry,) = found(tmp_path)
    tmp_path.chmod(0o700)
    assert entry.facts is not None
    path.rename(tmp_path / "b.gguf")
    (tmp_path / "b.gguf").unlink()
    assert found(tmp_path) == []
    growing = model(tmp_path / "c.gguf")
    whole = growing.stat().st_size
    growing.chmod(0o600)
    with growing.open("r+b") as file:
        file.truncate(whole - 1000)
    (entry,) = found(tmp_path)
    assert entry.state is State.INCOMPLETE
    known = {entry.path: entry}
    with growing.open("r+b") as file:
        file.truncate(whole)
    (entry,) = found(tmp_path, known=known)
    assert entry.state is State.WHOLE


def test_a_search_reads_nothing_while_it_gives_way(tmp_path: Path) -> None:
    for number in range(4):
        model(tmp_path / f"{number}.gguf")
    free, asked = threading.Event(), threading.Event()

    def give_way() -> None:
        asked.set()
        assert free.wait(30)

    items = scan([Folder(tmp_path)], MACHINE, lambda: not free.is_set(), give_way=give_way)
    assert list(items) == []  # it was asked to stop before anything could come
    assert asked.is_set()
    free.set()
    assert len(list(scan([Folder(tmp_path)], MACHINE, give_way=give_way))) == 4
