"""The server's model against the open file."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import gguf
import pytest

from core.gguf import open_file
from core.machine import custom
from core.measure.discovery import match_file
from core.measure.planned import choice_for, plan_for
from core.measure.run import ServerKind, Target
from core.measure.vocabulary import words_of
from core.model import model_from
from core.model.model import Model
from resources import specimens
from tests.support.tiny_gguf import write_tiny_llama

LLAMA = next(path for path in specimens() if "Llama-3.1-8B" in path.stem)
TARGET = Target(ServerKind.LLAMA_SERVER, "http://127.0.0.1:8080", model="llama")


@pytest.fixture(scope="module")
def model() -> Model:
    return model_from(open_file(LLAMA))


def test_the_same_file_is_known_by_its_path_however_it_is_written(
    model: Model, tmp_path: Path
) -> None:
    link = tmp_path / "link.gguf"
    link.symlink_to(LLAMA)
    for path in (LLAMA, link):
        assert match_file(replace(TARGET, model_path=str(path)), model).same is True


def test_a_copy_is_known_by_what_it_holds(model: Model) -> None:
    """llama-server counts the bytes of all tensors, and their elements."""
    same = replace(TARGET, model_bytes=model.weights.bytes, parameters=8_030_261_312)
    assert match_file(same, model).same is True


@pytest.mark.parametrize("path", ["/a\0b", "/" + "a" * 100_000, "\ud800", "/dev/full", "//"])
def test_a_path_that_leads_nowhere_decides_nothing(model: Model, path: str) -> None:
    assert match_file(replace(TARGET, model_path=path), model).same is None


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"parameters": 8_030_261_313}, "parameters"),
        ({"model_bytes": 5}, "5 B"),
        ({"label": "Q8_0"}, "Q8_0"),
    ],
)
def test_another_model_is_said_with_what_differs(
    model: Model, changes: dict[str, object], said: str
) -> None:
    match = match_file(replace(TARGET, **changes), model)  # type: ignore[arg-type]
    assert match.same is False
    assert said in match.sentence


@pytest.mark.parametrize("label", ["Q4_K - Medium", "Q4_K_M", "q4_k_m"])
def test_labels_are_the_same_however_a_server_writes_them(model: Model, label: str) -> None:
    known = replace(TARGET, label=label, parameters=8_030_261_312)
    assert match_file(known, model).same is True


def test_a_name_alone_decides_nothing(model: Model) -> None:
    match = match_file(TARGET, model)
    assert match.same is None
    assert "does not tell" in match.sentence


def test_a_path_of_another_computer_decides_nothing(model: Model) -> None:
    assert match_file(replace(TARGET, model_path="/not/here.gguf"), model).same is None


def test_the_plan_of_a_server_has_its_own_context_cache_and_offload(model: Model) -> None:
    target = replace(TARGET, context=8192, cache_k="q8_0", cache_v="fp8", gpu_layers=12)
    choice = choice_for(target, model, depth=1000)
    assert (choice.context, choice.depth, choice.gpu_layers) == (8192, 1000, 12)
    assert (choice.cache_k, choice.cache_v) == ("q8_0", "f16")  # not one of the engine's types
    assert choice_for(replace(target, gpu_layers=99), model).gpu_layers == "all"
    assert choice_for(replace(TARGET, gpu_bytes=0, loaded_bytes=5), model).gpu_layers == 0
    machine = custom(64 * 2**30, 51.2e9, gpu=False)
    plan = plan_for(replace(target, gpu_layers=0), model, machine, 1000)
    assert plan.settings.depth == 1000
    assert plan.speed.ceiling.value is not None


def test_words_come_from_the_files_own_vocabulary(tmp_path: Path) -> None:
    """Entries like "▁word" are one token with a space before; the tiny model has none so long."""
    words = [f"word{a}{b}" for a in "abcdefghij" for b in "klmnopqrst"]
    writer = gguf.GGUFWriter(str(tmp_path / "words.gguf"), "llama")
    writer.add_token_list([*(f"Ġ{word}".encode() for word in words), b"<s>", "Ġx".encode()])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    assert words_of(open_file(tmp_path / "words.gguf").header) == tuple(words)
    assert words_of(open_file(write_tiny_llama(tmp_path / "tiny.gguf")).header) == ()


def test_a_vocabulary_that_went_away_gives_no_words(tmp_path: Path) -> None:
    path = write_tiny_llama(tmp_path / "tiny.gguf")
    header = open_file(path).header
    path.unlink()
    assert words_of(header) == ()
