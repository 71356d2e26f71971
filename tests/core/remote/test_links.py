"""What people paste, and what it leads to."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.remote import FileLink, RepositoryLink, full_name, is_link, local_name, read_link

HUB = "https://huggingface.co"
REPOSITORY = RepositoryLink("org/Model-GGUF")
FILE = FileLink(f"{HUB}/org/Model-GGUF/resolve/main/sub/Model-Q4_K_M.gguf")


@pytest.mark.parametrize(
    "text",
    [
        "org/Model-GGUF",
        "hf:org/Model-GGUF",
        "hf://org/Model-GGUF",
        "HF:org/Model-GGUF",
        "huggingface.co/org/Model-GGUF",
        "hf.co/org/Model-GGUF",
        f"{HUB}/org/Model-GGUF",
        f"{HUB}/org/Model-GGUF/",
        f"{HUB}/org/Model-GGUF?library=transformers#files",
        f"{HUB}/org/Model-GGUF/tree/main",
        f"{HUB}/org/Model-GGUF/discussions/3",
        f"{HUB}/api/models/org/Model-GGUF",
        "https://www.huggingface.co/org/Model-GGUF",
        f"  <{HUB}/org/Model-GGUF>\n",
        f'"{HUB}/org/Model-GGUF"',
    ],
)
def test_every_form_of_a_repository_is_the_same_repository(text: str) -> None:
    assert read_link(text, {}) == REPOSITORY


@pytest.mark.parametrize(
    "text",
    [
        f"{HUB}/org/Model-GGUF/blob/main/sub/Model-Q4_K_M.gguf",
        f"{HUB}/org/Model-GGUF/resolve/main/sub/Model-Q4_K_M.gguf?download=true",
        f"{HUB}/org/Model-GGUF/raw/main/sub/Model-Q4_K_M.gguf",
        f"{HUB}/org/Model-GGUF/tree/main/sub/Model-Q4_K_M.gguf",
        "hf:org/Model-GGUF/sub/Model-Q4_K_M.gguf",
        "org/Model-GGUF/sub/Model-Q4_K_M.gguf",
        "org/Model-GGUF@main/sub/Model-Q4_K_M.gguf",
    ],
)
def test_every_form_of_a_file_is_the_file_itself(text: str) -> None:
    assert read_link(text, {}) == FILE


def test_revision_folder_and_quantization_are_kept() -> None:
    assert read_link(f"{HUB}/a/b/tree/v1.0/Q4_K_M", {}) == RepositoryLink("a/b", "v1.0", "Q4_K_M")
    assert read_link("hf:a/b@v1.0", {}) == RepositoryLink("a/b", "v1.0")
    assert read_link("a/b:Q4_K_M", {}) == RepositoryLink("a/b", label="Q4_K_M")
    for form in ("refs/pr/7", "refs%2Fpr%2F7"):
        assert read_link(f"{HUB}/a/b/blob/{form}/x.gguf", {}) == FileLink(
            f"{HUB}/a/b/resolve/refs%2Fpr%2F7/x.gguf"
        )


def test_another_hub_is_known_by_its_variable() -> None:
    environ = {"HF_ENDPOINT": "https://mirror.example/hub/"}
    assert read_link("a/b", environ) == RepositoryLink("a/b", hub="https://mirror.example/hub")
    assert read_link("https://mirror.example/hub/a/b/blob/main/x.gguf", environ) == FileLink(
        "https://mirror.example/hub/a/b/resolve/main/x.gguf"
    )
    assert read_link(f"{HUB}/a/b", environ) == RepositoryLink("a/b")


def test_any_other_server_is_asked_for_what_the_address_says() -> None:
    for text, url in (
        ("http://10.0.0.7:8080/m/x.gguf", "http://10.0.0.7:8080/m/x.gguf"),
        ("https://example.org/a b.gguf?k=1&l=2#top", "https://example.org/a%20b.gguf?k=1&l=2"),
        ("https://example.org/a%20b.gguf", "https://example.org/a%20b.gguf"),
        ("https://example.org", "https://example.org/"),
        ("https://bücher.example/x.gguf", "https://xn--bcher-kva.example/x.gguf"),
        ("http://[::1]:80/x.gguf", "http://[::1]:80/x.gguf"),
    ):
        assert read_link(text, {}) == FileLink(url)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("", "Paste"),
        ("model.gguf", "https://"),
        ("ftp://example.org/x.gguf", "ftp"),
        ("file:///etc/passwd", "file"),
        ("https://me:secret@example.org/x.gguf", "password"),
        ("https://example.org:99999999/x.gguf", "port"),
        ("https:///x.gguf", "server"),
        (f"{HUB}/datasets/a/b", "data set"),
        (f"{HUB}/someone", "org/model"),
        (f"{HUB}/a/b/blob/main/../../../x.gguf", "leads out"),
        (f"{HUB}/a/b/resolve/main/%2e%2e/x.gguf", "leads out"),
        ("https://example.org/x\n.gguf", "lines"),
        ("hf:a/b:", "colon"),
        ("https://example.org/" + "x" * 5000, "too long"),
    ],
)
def test_what_is_no_link_is_refused_in_a_sentence(text: str, word: str) -> None:
    with pytest.raises(ValueError, match=word) as caught:
        read_link(text, {})
    assert "secret" not in str(caught.value)


@given(st.text(max_size=200))
def test_any_text_is_a_link_or_is_refused(text: str) -> None:
    try:
        link = read_link(text, {})
    except ValueError as error:
        assert str(error).endswith(".")
        return
    if isinstance(link, FileLink):
        parts = urlsplit(link.url)
        assert parts.scheme in ("http", "https")
        assert parts.hostname
        assert parts.username is None
        assert link.url.isascii()


_NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,20}[A-Za-z0-9]", fullmatch=True)
_FOLDERS = st.lists(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9 _+-]{0,10}", fullmatch=True), max_size=3)


@given(_NAMES, _NAMES, _NAMES, _FOLDERS, _NAMES)
def test_a_file_of_a_repository_is_read_back_from_its_address(
    org: str, name: str, revision: str, folders: list[str], stem: str
) -> None:
    if ".." in revision or revision == "refs":
        return
    link = RepositoryLink(f"{org}/{name}", revision).file("/".join([*folders, f"{stem}.gguf"]))
    assert read_link(link.url, {}) == link
    assert read_link(link.url.replace("/resolve/", "/blob/", 1), {}) == link


@given(_NAMES, _NAMES, _NAMES, _FOLDERS)
def test_a_folder_of_a_repository_is_read_back_from_its_page(
    org: str, name: str, revision: str, folders: list[str]
) -> None:
    if ".." in revision or revision == "refs" or org in ("datasets", "spaces", "docs", "api"):
        return
    link = RepositoryLink(f"{org}/{name}", revision, "/".join(folders))
    assert read_link(link.page, {}) == link


def test_only_what_begins_as_one_is_a_link_on_the_command_line() -> None:
    assert is_link("https://x/y") and is_link("HTTP://x") and is_link("hf:a/b")
    assert not is_link("models/x.gguf") and not is_link("C:\\x.gguf") and not is_link("hf")


@pytest.mark.skipif(os.name == "nt", reason="paths of POSIX")
@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("file:///models/a.gguf", "/models/a.gguf"),
        ("FILE:///models/a%20b%25.gguf", "/models/a b%.gguf"),
        ("file://localhost/models/a.gguf", "/models/a.gguf"),
        ("file:/models/a.gguf", "/models/a.gguf"),  # as Java and KDE write it
        ("file:///models/gr%C3%B6%C3%9Fe.gguf", "/models/größe.gguf"),
        ("file:///models/%ff%0A.gguf", "/models/\udcff\n.gguf"),
        ("file:///models/a%3Fb%23.gguf", "/models/a?b#.gguf"),
        ("file:///models/a.gguf?x=1#y", "/models/a.gguf"),
        ("/models/100%25.gguf", "/models/100%25.gguf"),
        ("file.gguf", "file.gguf"),
        ("file:a.gguf", "file:a.gguf"),
        ("file://server/share/a.gguf", "file://server/share/a.gguf"),
        ("", ""),
    ],
)
def test_the_address_of_a_file_of_this_computer_is_its_name(text: str, name: str) -> None:
    assert local_name(text) == name


@pytest.mark.skipif(os.name == "nt", reason="paths of POSIX")
def test_a_name_is_meant_from_the_folder_of_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "far" / "away").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "away")
    (tmp_path / "far" / "a.gguf").write_bytes(b"the one that is meant")
    monkeypatch.chdir(tmp_path)
    assert Path(full_name("link/../a.gguf")).read_bytes() == b"the one that is meant"
    assert full_name("a b%25.gguf") == str(tmp_path / "a b%25.gguf")
    assert full_name("file:///a%25.gguf") == "/a%.gguf"
    assert full_name("hf:org/model") == "hf:org/model"
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert full_name("a.gguf") == "a.gguf"
    assert full_name("/a.gguf") == "/a.gguf"
