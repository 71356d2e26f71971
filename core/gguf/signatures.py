"""What a file is that is no GGUF: told from its first bytes, in words that help."""

from __future__ import annotations

import json
import re

from core.gguf.pieces import pieces_of
from core.gguf.source import Place, Source
from core.gguf.text import display, excerpt
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
    b"algg": "GGLA, a LoRA adapter",
    b"ggjt": "GGJT",
    b"ggml": "GGML",
    b"ggmf": "GGMF",
    b"ggla": "GGLA, a LoRA adapter",
}
_CONTAINERS = (
    (b"PK\x03\x04", "zip", "a ZIP archive (PyTorch checkpoints are too)"),
    (b"\x1f\x8b", "gzip", "compressed with gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd", "compressed with zstd"),
    (b"\xfd7zXZ\x00", "xz", "compressed with xz"),
    (b"BZh", "bzip2", "compressed with bzip2"),
    (b"7z\xbc\xaf\x27\x1c", "7z", "a 7-Zip archive"),
    (b"Rar!", "rar", "a RAR archive"),
    (b"\x80\x02", "pickle", "a Python pickle (an old PyTorch checkpoint)"),
    (b"\x89HDF", "hdf5", "an HDF5 file"),
    (b"MZ", "program", "a Windows program"),
    (b"\x7fELF", "program", "a Linux program"),
    (b"%PDF", "pdf", "a PDF document"),
)
_GET_THE_FILE = (
    "Download the file itself: a page's address has /blob/ where the file's has /resolve/. Check "
    "whether the site wants a log-in, or a proxy stands between."
)


def recognize(source: Source, place: Place) -> Problem:
    """Why a file that does not begin with a GGUF header is none. Lets OSError through."""
    head = source.read(0, _HEAD)
    name, where, size = display(place.path.name), display(place.address), source.size
    lengths = f"it has {format_exact_bytes(size)}"

    def problem(code: str, message: str, advice: str = "", missing: int | None = None) -> Problem:
        return Problem(code, message, advice=advice, where=where, offset=0, missing_bytes=missing)

    if not size:
        return problem("empty", f"{name} is empty: 0 bytes.", "Download it again.")
    if head[:4] == b"GGUF" or b"GGUF".startswith(head):
        return problem(
            "truncated",
            f"{name} is too short for a GGUF header: {lengths}.",
            "Download it again.",
            24 - size,
        )
    if size < 4:
        return problem(
            "too-short", f"{name} is too short to be a model: {lengths}.", "Download it again."
        )
    if pointer := _LFS.match(head[:_WORDS]):
        real = int(pointer[1])
        return problem(
            "lfs-pointer",
            f"{name} is a Git LFS pointer, not the model. The real file has "
            f"{format_exact_bytes(real)} ({format_bytes(real)}).",
            "Run: git lfs pull. Or download the file itself.",
        )
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    start = text[:16].lower()
    if start.startswith((b"<!doctype", b"<html", b"<head", b"<body", b"<?xml", b"<!--")):
        words = excerpt(_TAG.sub(" ", text[:_WORDS].decode("utf-8", "replace")))
        return problem(
            "web-page",
            f"{name} is a web page, not a model; {lengths}. It begins: “{words}”",
            _GET_THE_FILE,
        )
    if head[:4] in _ANCESTORS:
        return problem(
            "old-format",
            f"{name} is a {_ANCESTORS[head[:4]]} file, from before GGUF (August 2023).",
            "Convert the original model again with a current llama.cpp, or look for a GGUF of it.",
        )
    if head[8:9] == b"{" and 0 < int.from_bytes(head[:8], "little") <= size - 8:
        return problem(
            "safetensors",
            f"{name} is a safetensors file, which holds weights in another container.",
            "Convert it with llama.cpp's convert_hf_to_gguf.py, or look for a GGUF of the model.",
        )
    for magic, code, what in _CONTAINERS:
        if head.startswith(magic):
            return problem(
                code, f"{name} is no GGUF file but {what}.", "Unpack or convert it first."
            )
    if pieces := pieces_of(place):
        return problem(
            "piece",
            f"{name} has no GGUF header; by its name it is a later piece of "
            f"{display(pieces.stem)}, of which {len(pieces.found)} are here.",
            "Join the pieces in order, beginning with the first, then open the result.",
        )
    if not any(head) and not any(source.read(max(size - _HEAD, 0), _HEAD)):
        return problem(
            "zeros",
            f"{name} begins and ends with nothing but zeros; {lengths}. Its place was reserved and "
            "the contents never came.",
            "Finish the download, or get the file again.",
        )
    if _is_text(head):
        code, what = ("json", "JSON text") if _is_json(text) else ("text", "text")
        return problem(
            code,
            f"{name} is {what}, not a model; {lengths}. It says: “"
            f"{excerpt(text[:_WORDS].decode('utf-8', 'replace'))}”",
            _GET_THE_FILE,
        )
    return problem(
        "not-gguf",
        f"{name} is no GGUF file: it begins with the bytes {head[:4].hex(' ')} and not with "
        f"“GGUF”; {lengths}.",
        "If it should be a model, it is damaged or of another format.",
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
