"""``make translations``: find the texts in the source, merge them into every catalogue, compile it.

What a translator has written stays; texts that are gone go, new ones are empty until somebody
translates them in ``resources/translations/<code>.po``. A test fails while one is empty.
"""

from __future__ import annotations

import ast
import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).parent.parent
TRANSLATIONS = ROOT / "resources" / "translations"
SPEAKERS = {"tr": 1, "mark": 1, "trn": 2, "trc": 2}  # functions of core.language, by their texts
# Without the dates that a catalogue usually has: it changes when a text does.
HEADER = r"""msgid ""
msgstr ""
"Language: {code}\n"
"Plural-Forms: {plurals}\n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=utf-8\n"
"Content-Transfer-Encoding: 8bit\n"

"""


def template() -> Catalog:
    """Every text of the source, with the files it stands in."""
    catalogue = Catalog(project="Weighbridge", charset="utf-8", fuzzy=False)
    for place in sources():
        # Babel's own reader does not look into the braces of an f-string, where a call may stand.
        for call in ast.walk(ast.parse((ROOT / place).read_text("utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
                name = call.func.id
                texts = [a.value for a in call.args[: SPEAKERS.get(name, 0)] if _is_text(a)]
                if texts and len(texts) == SPEAKERS[name]:
                    context = texts.pop(0) if name == "trc" else None
                    text = tuple(texts) if name == "trn" else texts[0]
                    catalogue.add(text, None, [(place.as_posix(), None)], context=context)
    return catalogue


def _is_text(argument: ast.expr) -> bool:
    return isinstance(argument, ast.Constant) and isinstance(argument.value, str)


def sources() -> Iterator[Path]:
    """The modules that speak to a reader, relative to the project."""
    for room in ("core", "gui"):
        for path in sorted((ROOT / room).rglob("*.py")):
            yield path.relative_to(ROOT)


def read(path: Path) -> Catalog:
    """A catalogue of ours."""
    with path.open("rb") as file:
        return read_po(file, locale=path.stem, charset="utf-8", abort_invalid=True)


def compiled(path: Path) -> bytes:
    """The catalogue as the program reads it; the same for the same texts."""
    catalogue, made = read(path), io.BytesIO()
    # Babel writes the time of day into what has none.
    catalogue.creation_date = catalogue.revision_date = datetime(2000, 1, 1, tzinfo=UTC)
    write_mo(made, catalogue)
    return made.getvalue()


def _whole(words: str | tuple[str, ...]) -> bool:
    """Whether it is translated, in every number where it has some."""
    return all(words) if isinstance(words, tuple) else bool(words)


def main() -> None:
    texts = template()
    for path in sorted(TRANSLATIONS.glob("*.po")):
        catalogue = read(path)
        catalogue.update(texts, no_fuzzy_matching=True)
        catalogue.obsolete.clear()
        with path.open("wb") as file:
            head = HEADER.format(code=path.stem, plurals=catalogue.plural_forms)
            file.write(head.encode())
            write_po(file, catalogue, width=100, sort_by_file=True, omit_header=True)
        path.with_suffix(".mo").write_bytes(compiled(path))
        missing = sum(1 for message in catalogue if message.id and not _whole(message.string))
        print(f"{path.name}: {len(catalogue)} texts, {missing} of them not translated")


if __name__ == "__main__":
    main()
