"""The catalogues: every text of the source is in them, translated, and takes the same facts."""

from __future__ import annotations

import ast
import re
import runpy
from collections.abc import Iterator
from gettext import GNUTranslations
from pathlib import Path
from string import Formatter

import pytest
from babel.messages.catalog import Catalog, Message

from core.language import NAMES, SOURCE
from core.machine.rows import PHRASES

ROOT = Path(__file__).resolve().parent.parent
TOOL = runpy.run_path(str(ROOT / "packaging" / "make_translations.py"))
TRANSLATED = sorted(NAMES.keys() - {SOURCE})
SPEAKERS = {"tr", "trn", "trc", "mark", "written"}


def catalogue(code: str) -> Catalog:
    read: Catalog = TOOL["read"](TOOL["TRANSLATIONS"] / f"{code}.po")
    return read


def texts(of: Catalog) -> dict[object, Message]:
    return {(m.context, m.id): m for m in of if m.id}


def forms(words: str | tuple[str, ...] | list[str] | None) -> list[str]:
    return [words] if isinstance(words, str) else list(words or ("",))


def facts(text: str) -> set[tuple[str, str, str]]:
    parsed = Formatter().parse(text)
    return {(name, form or "", turn or "") for _, name, form, turn in parsed if name is not None}


@pytest.fixture(scope="module")
def source() -> Catalog:
    found: Catalog = TOOL["template"]()
    return found


@pytest.mark.parametrize("code", TRANSLATED)
def test_every_text_of_the_source_is_translated_and_no_other(code: str, source: Catalog) -> None:
    found = texts(catalogue(code))
    assert found.keys() == texts(source).keys(), "run `make translations`"
    assert [m.id for m in found.values() if not all(forms(m.string))] == []


def test_a_new_language_keeps_its_own_rule_of_plurals(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = "nplurals=3; plural=(n==1 ? 0 : n%10>=2 && n%10<=4 && (n%100<12 || n%100>14) ? 1 : 2);"
    new = tmp_path / "pl.po"
    new.write_text(f'msgid ""\nmsgstr ""\n"Language: pl\\n"\n"Plural-Forms: {rule}\\n"\n', "utf-8")
    monkeypatch.setitem(TOOL["main"].__globals__, "TRANSLATIONS", tmp_path)
    TOOL["main"]()
    assert f'"Plural-Forms: {rule}\\n"' in new.read_text("utf-8")
    with new.with_suffix(".mo").open("rb") as file:
        assert GNUTranslations(file).info()["plural-forms"] == rule


@pytest.mark.parametrize("code", TRANSLATED)
def test_a_translation_takes_the_same_facts_in_the_same_form(code: str) -> None:
    for message in texts(catalogue(code)).values():
        singular, *plural = forms(message.id)
        for number, translated in enumerate(forms(message.string)):
            if plural:
                # One of something may be written without its number.
                assert facts(translated) <= facts(plural[0]) | facts(singular), message.id
                assert number == 0 or facts(translated) == facts(plural[0]), message.id
            elif "{" in singular:
                assert facts(translated) == facts(singular), message.id


@pytest.mark.parametrize("code", TRANSLATED)
def test_a_translation_begins_and_ends_as_the_text_does(code: str) -> None:
    # Pieces are put together, "…" tells that something goes on, & is the key of a menu.
    for message in texts(catalogue(code)).values():
        for text, translated in zip(forms(message.id), forms(message.string), strict=True):
            for end in (" ", "\n", "…"):
                assert text.endswith(end) == translated.endswith(end), text
                assert text.startswith(end) == translated.startswith(end), text
            assert ("&" in text) == ("&" in translated), text


@pytest.mark.parametrize("code", TRANSLATED)
def test_what_is_read_is_what_is_written(code: str) -> None:
    path = TOOL["TRANSLATIONS"] / f"{code}.po"
    assert path.with_suffix(".mo").read_bytes() == TOOL["compiled"](path), "run `make translations`"


def calls(tree: ast.AST, *, at_once: bool) -> Iterator[tuple[ast.Call, bool]]:
    """Calls in a tree, and whether they are made while the module is loaded."""
    for child in ast.iter_child_nodes(tree):
        if isinstance(child, ast.Call):
            yield child, at_once
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            body = child.body if isinstance(child.body, list) else [child.body]
            for part in body:
                if isinstance(part, ast.Call):
                    yield part, False
                yield from calls(part, at_once=False)
            yield from calls(child.args, at_once=at_once)
            for mark in getattr(child, "decorator_list", ()):
                yield from calls(mark, at_once=at_once)
        else:
            yield from calls(child, at_once=at_once)


def test_texts_are_whole_and_none_is_translated_before_the_language_is_known() -> None:
    wrong = []
    for place in TOOL["sources"]():
        for call, at_once in calls(ast.parse((ROOT / place).read_text("utf-8")), at_once=True):
            name = call.func.id if isinstance(call.func, ast.Name) else ""
            if name not in SPEAKERS:
                continue
            texts = call.args[: TOOL["SPEAKERS"].get(name, 0)]
            if any(isinstance(text, ast.JoinedStr | ast.BinOp) for text in texts):
                wrong.append(f"{place}:{call.lineno}: a text in pieces cannot be found")
            if at_once and name != "mark":
                wrong.append(f"{place}:{call.lineno}: only `mark` while a module is loaded")
            if name in ("trn", "trc") and not all(isinstance(text, ast.Constant) for text in texts):
                wrong.append(f"{place}:{call.lineno}: `{name}` takes texts as they are")
    assert wrong == []


# Figures that are names, or examples of what is typed or read by a program.
NAMES_OF_THEIR_OWN = (
    "64GiB@51.2",
    "127.0.0.1",
    "GLM 5.2",
    "gpu_memory_utilization (0.9 unless set)",
    "The weighbridge reads 21,718,480,960 bytes.",  # a text to try a tokenizer on
    *PHRASES,  # citations of makers
)


def test_figures_stand_in_braces_so_that_they_are_written_as_the_reader_chose(
    source: Catalog,
) -> None:
    fixed = []
    for message in source:
        for form in forms(message.id):
            plain = re.sub(r"\{[^}]*\}", "", form)
            for name in NAMES_OF_THEIR_OWN:
                plain = plain.replace(name, "")
            if re.search(r"\d[.,]\d", plain):
                fixed.append(form)
    assert fixed == []
