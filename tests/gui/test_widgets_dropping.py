"""What a drop names."""

from __future__ import annotations

import os

import pytest
from PySide6.QtCore import QMimeData, QUrl

from gui.widgets.dropping import dropped_files, dropped_link


def data(*addresses: str) -> QMimeData:
    made = QMimeData()
    made.setUrls([QUrl(address) for address in addresses])
    return made


@pytest.mark.skipif(os.name == "nt", reason="names of POSIX")
@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("file:///m/a%20b%23c%3Fd.gguf", "/m/a b#c?d.gguf"),
        ("file://localhost/m/a.gguf", "/m/a.gguf"),
        ("file:///m/%FF.gguf", "/m/\udcff.gguf"),
        ("file://server/share/a%20b.gguf", "//server/share/a b.gguf"),
    ],
)
def test_a_file_has_the_name_that_the_system_gives_it(address: str, name: str) -> None:
    """A share of a network is named by its server, as Windows does (RFC 8089, appendix E.3.1)."""
    assert dropped_files(data(address)) == [name]


def test_an_address_of_a_server_is_a_link_and_no_file() -> None:
    dropped = data("ftp://example.org/a.gguf", "https://example.org/a%20b.gguf?download=true")
    assert dropped_files(dropped) == []
    assert dropped_link(dropped) == "https://example.org/a%20b.gguf?download=true"
    assert dropped_link(data("file:///m/a.gguf")) == ""
