"""Rows as Markdown, CSV or JSON. For the clipboard and for files."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any


class TextFormat(StrEnum):
    """What a table can be copied as."""

    MARKDOWN = "Markdown"
    CSV = "CSV"
    JSON = "JSON"


def markdown(titles: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool]) -> str:
    """A Markdown table; ``right`` says which columns hold numbers."""
    lines = [_markdown_row(titles), _markdown_row(["---:" if r else "---" for r in right])]
    lines += [_markdown_row(row) for row in rows]
    return "\n".join(lines) + "\n"


def aligned(rows: Sequence[Sequence[str]], right: Sequence[bool]) -> list[str]:
    """Lines of plain text with columns as wide as their widest cell; the titles are a row too."""
    widths = [max(map(len, cells), default=0) for cells in zip(*rows, strict=True)]
    return [
        "  ".join(
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]


def comma_separated(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """CSV as of RFC 4180 but with line feeds; None is an empty field, a list is "4096x128"."""
    target = io.StringIO()
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow(names)
    writer.writerows(
        ["x".join(map(str, cell)) if isinstance(cell, list) else cell for cell in row]
        for row in rows
    )
    return _encodable(target.getvalue())


def json_text(value: object) -> str:
    """JSON that any reader takes: a byte that was no UTF-8 stands as its escape (``\\udc80``)."""
    return _encodable(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1) + "\n")


def json_objects(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A JSON array with one object a line."""
    lines = (
        json.dumps(dict(zip(names, row, strict=True)), ensure_ascii=False, allow_nan=False)
        for row in rows
    )
    return _encodable("[\n" + ",\n".join(lines) + "\n]\n")


def _encodable(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(markdown_cell(cell) for cell in cells) + " |"


def markdown_cell(text: str) -> str:
    """Text that stays inside its cell, and is no markup of the table."""
    return text.replace("\\", "\\\\").replace("|", "\\|").replace("\n", "<br>")
