"""Sizes of recipes against files that people download: all of one model share one header."""

from __future__ import annotations

from collections.abc import Sequence

from core.gguf import open_file
from core.gguf.header import Tensor
from core.gguf.types import BY_NAME
from core.model.recipes.rules import choose_types
from core.model.recipes.subject import Subject, subject_from
from resources import specimens
from tests.support.quantized import recorded

# bytes of bartowski/Mistral-7B-Instruct-v0.3-GGUF (May 2024, all with one importance matrix)
MISTRAL_7B = {
    "IQ1_M": 1_757_663_456,
    "IQ1_S": 1_615_319_264,
    "IQ2_M": 2_504_249_568,
    "IQ2_S": 2_314_457_312,
    "IQ2_XS": 2_201_473_248,
    "IQ2_XXS": 1_994_903_776,
    "IQ3_M": 3_288_846_560,
    "IQ3_S": 3_186_348_256,
    "IQ3_XS": 3_022_770_400,
    "IQ3_XXS": 2_830_880_992,
    "IQ4_NL": 4_130_066_656,
    "IQ4_XS": 3_911_962_848,
    "Q2_K": 2_722_877_664,
    "Q3_K_L": 3_825_979_616,
    "Q3_K_M": 3_522_941_152,
    "Q3_K_S": 3_168_522_464,
    "Q4_K_M": 4_372_812_000,
    "Q4_K_S": 4_144_746_720,
    "Q5_K_M": 5_136_175_328,
    "Q5_K_S": 5_002_481_888,
    "Q6_K": 5_947_248_864,
    "Q8_0": 7_702_565_088,
}

# bytes of ibm-granite/granite-3.3-8b-instruct-GGUF (no importance matrix; shapes of 3.1 8B)
GRANITE_8B = {
    "Q2_K": 3_103_605_504,
    "Q3_K_L": 4_349_444_864,
    "Q3_K_M": 3_996_599_040,
    "Q3_K_S": 3_592_504_064,
    "Q4_0": 4_650_910_464,
    "Q4_1": 5_148_984_064,
    "Q4_K_M": 4_942_873_344,
    "Q4_K_S": 4_685_775_616,
    "Q5_0": 5_647_057_664,
    "Q5_1": 6_145_131_264,
    "Q5_K_M": 5_797_462_784,
    "Q5_K_S": 5_647_057_664,
    "Q6_K": 6_705_464_064,
}


def _tensor_bytes(
    subject: Subject, tensors: Sequence[Tensor], recipe: str, *, imatrix: bool
) -> int:
    types = choose_types(subject, recipe, imatrix).types
    return sum(
        BY_NAME[name].tensor_bytes(tensor.shape)
        for name, tensor in zip(types, tensors, strict=True)
    )


def test_twenty_two_published_files_of_mistral_7b_are_our_tensors_and_one_header() -> None:
    path = next(path for path in specimens() if path.stem.startswith("Mistral-7B"))
    file = open_file(path)
    subject = subject_from(file.header.metadata, file.tensors)
    headers = {
        published - _tensor_bytes(subject, file.tensors, recipe, imatrix=True)
        for recipe, published in MISTRAL_7B.items()
    }
    # 32,768 tokens with scores and types, and the keys: all in one and the same size.
    assert headers == {757_984}


def test_thirteen_published_files_of_granite_8b_are_our_tensors_and_one_header() -> None:
    model = recorded("quantized_models", "granite-3.1-8b")
    subject = subject_from(model.metadata, model.tensors)
    headers = {
        published - _tensor_bytes(subject, model.tensors, recipe, imatrix=False)
        for recipe, published in GRANITE_8B.items()
    }
    assert headers == {1_760_160}
