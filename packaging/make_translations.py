"""``make translations``: find the texts in the source, merge them into every catalogue, compile it.

What a translator has written stays; texts that are gone go, new ones are empty until somebody
translates them in ``resources/translations/<code>.po``. A test fails while one is empty.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).parent.parent
TRANSLATIONS = ROOT / "resources" / "translations"
KEYWORDS = {"tr": None, "mark": None, "trn": (1, 2), "trc": ((1, "c"), 2)}
# Without the dates that a catalogue usually has: it changes when a text does.
HEADER = r"""msgid ""
msgstr ""
"Language: {code}\n"
"Plural-Forms: nplurals=2; plural=(n != 1);\n"
"MIME-Version: 1.0\n"
"Content-Type: text/plain; charset=utf-8\n"
"Content-Transfer-Encoding: 8bit\n"

"""


def template() -> Catalog:
    """Every text of the source, with the files it stands in."""
    catalogue = Catalog(project="Weighbridge", charset="utf-8", fuzzy=False)
    for place in sources():
        found = extract_from_file("python", ROOT / place, KEYWORDS, ("For translators:",))
        for _, texts, comments, context in found:
            catalogue.add(texts, None, [(place.as_posix(), None)], (), comments, context=context)
    return catalogue


def sources() -> Iterator[Path]:
    """The modules that speak to a reader, relative to the project."""
    for room in ("core", "gui"):
        for path in sorted((ROOT / room).rglob("*.py")):
            yield path.relative_to(ROOT)


def read(path: Path) -> Catalog:
    """A catalogue of ours."""
    with path.open("rb") as file:
        return read_po(file, locale=path.stem, charset="utf-8", abort_invalid=True)


def main() -> None:
    texts = template()
    for path in sorted(TRANSLATIONS.glob("*.po")):
        catalogue = read(path)
        catalogue.update(texts, no_fuzzy_matching=True)
        catalogue.obsolete.clear()
        with path.open("wb") as file:
            file.write(HEADER.format(code=path.stem).encode())
            write_po(file, catalogue, width=100, sort_by_file=True, omit_header=True)
        with path.with_suffix(".mo").open("wb") as file:
            write_mo(file, read(path))
        missing = sum(1 for message in catalogue if message.id and not message.string)
        print(f"{path.relative_to(ROOT)}: {len(catalogue)} texts, {missing} of them not translated")


if __name__ == "__main__":
    main()
