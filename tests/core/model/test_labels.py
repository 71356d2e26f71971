"""The label of a file beside what is really inside."""

from __future__ import annotations

from typing import Any

import pytest
from gguf.constants import LlamaFileType

from core.gguf.types import BY_NAME
from core.model import model_from
from core.model.labels import LABELS, label_of, main_type
from core.model.model import Model
from core.problems import Severity
from tests.support import memory
from tests.support.memory import file_of


def test_every_file_type_of_the_gguf_package_has_its_name() -> None:
    for kind in LlamaFileType:
        if kind is LlamaFileType.GUESSED:
            continue
        name = kind.name.removeprefix("MOSTLY_").removeprefix("ALL_")
        assert LABELS[kind.value] == name


@pytest.mark.parametrize(
    ("number", "label"),
    [(15, "Q4_K_M"), (38, "MXFP4_MOE"), (140, "IQ4_K"), (350, "IQ5_KS_R4"), (1024 + 7, "Q8_0")],
)
def test_the_label_is_what_general_file_type_says(number: int, label: str) -> None:
    assert label_of({"general.file_type": number}) == label


@pytest.mark.parametrize("value", [None, 999, -1, True, "15", 15.0, 2**63])
def test_no_label_where_the_file_does_not_say(value: Any) -> None:
    metadata = {} if value is None else {"general.file_type": value}
    assert label_of(metadata) == ""


@pytest.mark.parametrize(
    ("label", "kind"),
    [
        *(("Q4_K_M", "Q4_K"), ("Q3_K_L", "Q3_K"), ("Q2_K", "Q2_K"), ("Q6_K", "Q6_K")),
        *(("IQ3_M", "IQ3_S"), ("IQ2_M", "IQ2_S"), ("IQ3_XS", "IQ3_S"), ("IQ4_XS", "IQ4_XS")),
        *(("IQ1_S", "IQ1_S"), ("MXFP4_MOE", "MXFP4"), ("Q8_0", "Q8_0"), ("IQ4_KS", "IQ4_KS")),
        *(("Q4_K_R4", "Q4_K_R4"), ("IQ2_M_R4", "IQ2_S_R4"), ("IQ3_KL", "IQ3_K")),
    ],
)
def test_a_recipe_is_named_after_one_tensor_type(label: str, kind: str) -> None:
    assert main_type(label) == kind
    assert kind in BY_NAME


def test_every_recipe_is_named_after_a_type_that_exists() -> None:
    gone = {"Q4_2", "Q4_3"}
    assert {main_type(label) for label in LABELS.values()} - gone <= BY_NAME.keys()


def mixed(file_type: int, *specs: tuple[str, int, str]) -> Model:
    tensors = [(name, (256, rows), kind) for name, rows, kind in specs]
    return model_from(
        file_of({"general.architecture": "llama", "general.file_type": file_type}, tensors)
    )


def test_a_q8_0_without_one_q8_0_tensor_is_said_with_its_mix() -> None:
    """P41."""
    # A "Q8_K_XL" that held BF16, F32 and Q4_0 alone: 71, 28 and 1 per cent of its bytes.
    found = mixed(
        7, ("a.weight", 10_000, "Q4_0"), ("b.weight", 1110, "BF16"), ("c.weight", 20, "F32")
    )
    assert found.label == "Q8_0"
    assert found.mix == "71 % Q4_0, 28 % BF16, 1.0 % F32"
    (problem,) = [p for p in found.problems if p.code == "label-differs"]
    assert problem.severity is Severity.NOTE
    assert "calls itself Q8_0, but no tensor is Q8_0: Q4_0 71 %, BF16 28 %" in problem.message
    assert "5.7 bits on average" in problem.message


def test_a_label_that_is_borne_out_is_no_problem() -> None:
    found = mixed(15, ("a.weight", 100, "Q4_K"), ("b.weight", 50, "Q6_K"))
    assert found.label == "Q4_K_M"
    assert not [p for p in found.problems if p.code == "label-differs"]


def test_no_label_in_the_truth_is_called_a_lie() -> None:
    for label in memory.labels():
        found = model_from(memory.model(label).file)
        assert found.label
        assert not [p for p in found.problems if p.code == "label-differs"]


def test_the_mix_names_the_head_where_it_stands_out() -> None:
    found = model_from(memory.model("gemma3-270m").file)
    assert (
        found.mix
        == "73 % Q8_0, 18 % Q5_0, 5.4 % Q4_K; the head is 72 % of the weights that a token reads"
    )
    big = model_from(memory.model("command-a-111b").file)
    assert "head" not in big.mix
