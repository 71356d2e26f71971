"""What a file is that is no GGUF: told from its first bytes, in words that help."""

from __future__ import annotations

import json
import re

from core.gguf.pieces import pieces_of
from core.gguf.source import Place, Source
from core.gguf.text import display, excerpt
from core.language import mark, tr
from core.problems import Problem
from core.units import format_bytes, format_exact_bytes

_HEAD = 1 << 16
_WORDS = 1 << 12  # enough to find a sentence in; the patterns below are not linear
_LFS = re.compile(rb"version https://git-lfs[^\n]*\n(?:[^\n]*\n)*?size (\d{1,18})\s")
_TAG = re.compile(r"<(script|style)\b.*?</\1\s*>|<[^>]*>", re.DOTALL | re.IGNORECASE)
# The ancestors of GGUF wrote their magic as a little-endian number.
_ANCESTORS = {
    b"tjgg": "GGJT",
    b"lmgg": "GGML",
    b"fmgg": "GGMF",
    b"algg": mark("GGLA, a LoRA adapter"),
    b"ggjt": "GGJT",
    b"ggml": "GGML",
    b"ggmf": "GGMF",
    b"ggla": mark("GGLA, a LoRA adapter"),
}
_CONTAINERS = (
    (b"PK\x03\x04", "zip", mark("a ZIP archive (PyTorch checkpoints are too)")),
    (b"\x1f\x8b", "gzip", mark("compressed with gzip")),
    (b"\x28\xb5\x2f\xfd", "zstd", mark("compressed with zstd")),
    (b"\xfd7zXZ\x00", "xz", mark("compressed with xz")),
    (b"BZh", "bzip2", mark("compressed with bzip2")),
    (b"7z\xbc\xaf\x27\x1c", "7z", mark("a 7-Zip archive")),
    (b"Rar!", "rar", mark("a RAR archive")),
    (b"\x80\x02", "pickle", mark("a Python pickle (an old PyTorch checkpoint)")),
    (b"\x89HDF", "hdf5", mark("an HDF5 file")),
    (b"MZ", "program", mark("a Windows program")),
    (b"\x7fELF", "program", mark("a Linux program")),
    (b"%PDF", "pdf", mark("a PDF document")),
)
_GET_THE_FILE = mark(
    "Download the file itself: a page's address has /blob/ where the file's has /resolve/. "
    "Check whether the site wants a log-in, or a proxy stands between."
)


def recognize(source: Source, place: Place) -> Problem:
    """Why a file that does not begin with a GGUF header is none. Lets OSError through."""
    head = source.read(0, _HEAD)
    name, where, size = display(place.path.name), display(place.address), source.size
    lengths = tr("it has {size}", size=format_exact_bytes(size))

    def problem(code: str, message: str, advice: str = "", missing: int | None = None) -> Problem:
        return Problem(code, message, advice=advice, where=where, offset=0, missing_bytes=missing)

    if not size:
        return problem(
            "empty", tr("{name} is empty: 0 bytes.", name=name), tr("Download it again.")
        )
    if head[:4] == b"GGUF" or b"GGUF".startswith(head):
        return problem(
            "truncated",
            tr("{name} is too short for a GGUF header: {lengths}.", name=name, lengths=lengths),
            tr("Download it again."),
            24 - size,
        )
    if size < 4:
        return problem(
            "too-short",
            tr("{name} is too short to be a model: {lengths}.", name=name, lengths=lengths),
            tr("Download it again."),
        )
    if pointer := _LFS.match(head[:_WORDS]):
        real = int(pointer[1])
        return problem(
            "lfs-pointer",
            tr(
                "{name} is a Git LFS pointer, not the model. The real file has {exact} ({size}).",
                name=name,
                exact=format_exact_bytes(real),
                size=format_bytes(real),
            ),
            tr("Run: git lfs pull. Or download the file itself."),
        )
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    start = text[:16].lower()
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<body", b"<?xml", b"<!--")):
        words = excerpt(_TAG.sub(" ", text[:_WORDS].decode("utf-8", "replace")))
        return problem(
            "web-page",
            tr(
                "{name} is a web page, not a model; {lengths}. It begins: “{words}”",
                name=name,
                lengths=lengths,
                words=words,
            ),
            tr(_GET_THE_FILE),
        )
    if head[:4] in _ANCESTORS:
        return problem(
            "old-format",
            tr(
                "{name} is a {format} file, from before GGUF (August 2023).",
                name=name,
                format=tr(_ANCESTORS[head[:4]]),
            ),
            tr(
                "Convert the original model again with a current llama.cpp, or look for a GGUF "
                "of it."
            ),
        )
    if head[8:9] == b"{" and 0 < int.from_bytes(head[:8], "little") <= size - 8:
        return problem(
            "safetensors",
            tr(
                "{name} is a safetensors file, which holds weights in another container.", name=name
            ),
            tr(
                "Convert it with llama.cpp's convert_hf_to_gguf.py, or look for a GGUF of the "
                "model."
            ),
        )
    for magic, code, what in _CONTAINERS:
        if head.startswith(magic):
            return problem(
                code,
                tr("{name} is no GGUF file but {what}.", name=name, what=tr(what)),
                tr("Unpack or convert it first."),
            )
    if pieces := pieces_of(place):
        return problem(
            "piece",
            tr(
                "{name} has no GGUF header; by its name it is a later piece of {whole}, of "
                "which {count} are here.",
                name=name,
                whole=display(pieces.stem),
                count=len(pieces.found),
            ),
            tr("Join the pieces in order, beginning with the first, then open the result."),
        )
    if not any(head) and not any(source.read(max(size - _HEAD, 0), _HEAD)):
        return problem(
            "zeros",
            tr(
                "{name} begins and ends with nothing but zeros; {lengths}. Its place was "
                "reserved and the contents never came.",
                name=name,
                lengths=lengths,
            ),
            tr("Finish the download, or get the file again."),
        )
    if _is_text(head):
        code, what = ("json", tr("JSON text")) if _is_json(text) else ("text", tr("text"))
        return problem(
            code,
            tr(
                "{name} is {what}, not a model; {lengths}. It says: “{words}”",
                name=name,
                what=what,
                lengths=lengths,
                words=excerpt(text[:_WORDS].decode("utf-8", "replace")),
            ),
            tr(_GET_THE_FILE),
        )
    return problem(
        "not-gguf",
        tr(
            "{name} is no GGUF file: it begins with the bytes {bytes} and not with “GGUF”; "
            "{lengths}.",
            name=name,
            bytes=head[:4].hex(" "),
            lengths=lengths,
        ),
        tr("If it should be a model, it is damaged or of another format."),
    )


def _is_json(text: bytes) -> bool:
    """An object, whole or cut; a list only if it is whole, since other texts begin so too."""
    if text.startswith(b"{"):
        return True
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _is_text(head: bytes) -> bool:
    try:
        text = head.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start < len(head) - 3:
            return False
        text = head[: error.start].decode("utf-8")
    return all(character.isprintable() or character.isspace() for character in text)
