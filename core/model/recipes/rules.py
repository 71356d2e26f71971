"""Which type every tensor gets in each of llama-quantize's recipes.

Facts of llama.cpp's ``src/llama-quant.cpp`` (build 11434), as tables: for what a tensor counts as
and a recipe, the cases in order; the first that holds gives the type, and where none holds the
tensor gets the recipe's base type.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias

from core.gguf.types import BY_NAME
from core.language import tr
from core.model.recipes.subject import VALUE_LIKE, Group, Row, Subject

# The base type of every recipe, in the order of llama.cpp's own list.
BASE: Mapping[str, str] = {
    "F32": "F32",
    "F16": "F16",
    "Q4_0": "Q4_0",
    "Q4_1": "Q4_1",
    "Q8_0": "Q8_0",
    "Q5_0": "Q5_0",
    "Q5_1": "Q5_1",
    "Q2_K": "Q2_K",
    "Q3_K_S": "Q3_K",
    "Q3_K_M": "Q3_K",
    "Q3_K_L": "Q3_K",
    "Q4_K_S": "Q4_K",
    "Q4_K_M": "Q4_K",
    "Q5_K_S": "Q5_K",
    "Q5_K_M": "Q5_K",
    "Q6_K": "Q6_K",
    "IQ2_XXS": "IQ2_XXS",
    "IQ2_XS": "IQ2_XS",
    "Q2_K_S": "Q2_K",
    "IQ3_XS": "IQ3_S",
    "IQ3_XXS": "IQ3_XXS",
    "IQ1_S": "IQ1_S",
    "IQ4_NL": "IQ4_NL",
    "IQ3_S": "IQ3_S",
    "IQ3_M": "IQ3_S",
    "IQ2_S": "IQ2_XS",
    "IQ2_M": "IQ2_S",
    "IQ4_XS": "IQ4_XS",
    "IQ1_M": "IQ1_M",
    "BF16": "BF16",
    "TQ1_0": "TQ1_0",
    "TQ2_0": "TQ2_0",
    "MXFP4_MOE": "MXFP4",
    "Q1_0": "Q1_0",
    "Q2_0": "Q2_0",
}
_UNQUANTIZED = frozenset({"F32", "F16", "BF16"})
_FEED_FORWARD = frozenset({Group.UP, Group.GATE, Group.DOWN})
# The recipes of about two bits and less have rules of their own.
_LOW = frozenset({"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ2_M"})


class RefusedError(Exception):
    """llama-quantize itself stops on this model and recipe; the message says why."""


class At(NamedTuple):
    """Where a tensor stands: the ``nth`` (from 0) of ``total`` of its kind."""

    nth: int
    total: int
    subject: Subject
    imatrix: bool


When: TypeAlias = Callable[[At], bool]
Cases: TypeAlias = tuple[tuple[When, str], ...]
Table: TypeAlias = Mapping[str, Cases]


def _always(_: At) -> bool:
    return True


def _first_two(at: At) -> bool:
    return at.nth < 2


def _first_four(at: At) -> bool:
    return at.nth < 4


def _first_eighth(at: At) -> bool:
    return at.nth < at.total // 8


def _first_sixteenth(at: At) -> bool:
    return at.nth < at.total // 16


def _middle(at: At) -> bool:
    return at.total // 8 <= at.nth < 7 * at.total // 8


def _more_bits(at: At) -> bool:
    """The outer eighths, and every third layer between them."""
    return not _middle(at) or (at.nth - at.total // 8) % 3 == 2


def _grouped(at: At) -> bool:
    """At least four query heads share a value head, so the value matrix is small."""
    if at.subject.grouping is None:
        raise RefusedError(
            tr("llama-quantize asks for attention heads, of which the header has none")
        )
    return at.subject.grouping >= 4


def _grouped_or_experts(at: At) -> bool:
    return _grouped(at) or at.subject.experts >= 4


def _imatrix(at: At) -> bool:
    return at.imatrix


def _imatrix_first_eighth(at: At) -> bool:
    return at.imatrix and _first_eighth(at)


def _plain_first_eighth(at: At) -> bool:
    return not at.imatrix and _first_eighth(at)


def _all(type_name: str, *recipes: str) -> Table:
    return dict.fromkeys(recipes, ((_always, type_name),))


# Value matrices, fused query-key-value and the second half of a latent projection.
_VALUE: Table = {
    "Q2_K": ((_grouped, "Q4_K"), (_always, "Q3_K")),
    "Q2_K_S": ((_grouped, "Q4_K"),),
    "Q3_K_M": ((_first_two, "Q5_K"), (_always, "Q4_K")),
    "Q3_K_L": ((_always, "Q5_K"),),
    "Q4_K_S": ((_first_four, "Q5_K"),),
    "Q4_K_M": ((_more_bits, "Q6_K"),),
    "Q5_K_M": ((_more_bits, "Q6_K"),),
    "IQ3_XXS": ((_grouped, "Q4_K"), (_imatrix, "IQ3_XXS"), (_always, "IQ3_S")),
    "IQ3_XS": ((_grouped, "Q4_K"),),
    "IQ3_S": ((_grouped, "Q4_K"),),
    "IQ3_M": ((_always, "Q4_K"),),
    "IQ4_NL": ((_grouped, "Q5_K"),),
    "IQ4_XS": ((_grouped, "Q5_K"),),
    **dict.fromkeys(
        ("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS"),
        ((_grouped_or_experts, "Q4_K"), (_always, "Q2_K")),
    ),
    **dict.fromkeys(("IQ2_S", "IQ2_M"), ((_grouped_or_experts, "Q4_K"), (_always, "IQ3_S"))),
}

_KEY: Table = {**_all("IQ3_XXS", "IQ3_XS"), **_all("IQ2_S", "IQ3_XXS")}
_KEY_OF_EIGHT_EXPERTS: Table = {
    **_all("Q8_0", *(recipe for recipe in BASE if recipe not in _LOW)),
    **_all("Q4_K", *_LOW),
}

_ATTENTION_OUTPUT: Table = {
    **_all("Q3_K", "Q2_K"),
    **_all("Q4_K", "Q3_K_M", "IQ3_M"),
    **_all("Q5_K", "Q3_K_L"),
    **_all("IQ3_S", "IQ3_XXS", "IQ2_S", "IQ2_M"),
    **_all("IQ2_XXS", "IQ1_S", "IQ1_M"),
}
_ATTENTION_OUTPUT_OF_EIGHT_EXPERTS: Table = _all(
    "Q5_K",
    *("Q2_K", "Q3_K_S", "Q3_K_M", "Q4_K_S", "Q4_K_M"),
    *("IQ3_XXS", "IQ3_XS", "IQ3_S", "IQ3_M", "IQ4_NL", "IQ4_XS"),
    *_LOW,
)

_UP_AND_GATE: Table = {"IQ3_XS": ((_middle, "IQ3_XXS"),)}

_DOWN: Table = {
    "Q4_0": ((_imatrix_first_eighth, "Q4_1"),),
    "Q5_0": ((_imatrix_first_eighth, "Q5_1"),),
    "Q2_K": ((_always, "Q3_K"),),
    "Q2_K_S": ((_first_eighth, "Q4_K"),),
    "Q3_K_M": ((_first_sixteenth, "Q5_K"), (_always, "Q4_K")),
    "Q3_K_L": ((_always, "Q5_K"),),
    "Q4_K_S": ((_first_eighth, "Q5_K"),),
    "Q4_K_M": ((_more_bits, "Q6_K"),),
    "Q5_K_M": ((_more_bits, "Q6_K"),),
    "IQ3_XXS": ((_imatrix, "IQ3_XXS"), (_first_eighth, "Q4_K"), (_always, "Q3_K")),
    "IQ3_M": ((_first_eighth, "Q4_K"),),
    "IQ4_NL": ((_plain_first_eighth, "Q5_K"),),
    "IQ4_XS": ((_plain_first_eighth, "Q5_K"),),
    **dict.fromkeys(("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS"), ((_first_eighth, "Q2_K"),)),
    **dict.fromkeys(("IQ2_S", "IQ2_M"), ((_first_eighth, "IQ3_S"),)),
}
_DOWN_OF_EIGHT_EXPERTS: Table = {"IQ3_M": ((_more_bits, "Q4_K"),)}
_DOWN_OF_FALCON: Table = {
    "Q3_K_M": ((_first_sixteenth, "Q5_K"), (_more_bits, "Q4_K")),
    "Q3_K_L": ((_always, "Q4_K"),),
    "Q4_K_S": (),
    "Q4_K_M": ((_first_sixteenth, "Q6_K"), (_more_bits, "Q5_K")),
}

# Embeddings that are not the output matrix as well.
_EMBEDDING = {
    **dict.fromkeys(("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS"), "Q2_K"),
    **dict.fromkeys(("IQ2_S", "IQ2_M", "IQ3_XXS"), "IQ3_S"),
    **dict.fromkeys(("TQ1_0", "TQ2_0", "Q2_0"), "Q4_K"),
}

# What a type becomes where a row is no multiple of its block. Where it is no multiple of this block
# either, and for types of 32 to a block: F16. Others have no way out.
_FALLBACK = {
    **dict.fromkeys(("IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S"), "IQ4_NL"),
    **dict.fromkeys(("IQ3_XXS", "IQ3_S", "IQ4_XS"), "IQ4_NL"),
    **dict.fromkeys(("Q2_0", "Q2_K", "Q3_K", "TQ1_0", "TQ2_0"), "Q4_0"),
    "Q4_K": "Q5_0",
    "Q5_K": "Q5_1",
    "Q6_K": "Q8_0",
}

_MOST_BLOCKS = 512  # LLAMA_MAX_LAYERS (llama-hparams.h)

# These cannot be made without knowing which weights matter.
_IMATRIX_TYPES = frozenset({"IQ1_S", "IQ1_M", "IQ2_XXS", "IQ2_XS", "IQ2_S", "IQ3_XXS"})


@dataclass(frozen=True, slots=True)
class Selection:
    """A recipe applied to a model: a type for every tensor, in the file's order.

    ``fallbacks`` counts tensors whose rows did not fit the type that the recipe wanted.
    ``imatrix_types`` counts, by type, tensors which llama-quantize makes with an importance matrix
    only; it is empty where none is needed or one was given.
    """

    types: tuple[str, ...]
    fallbacks: int
    imatrix_types: Mapping[str, int]


def choose_types(subject: Subject, recipe: str, imatrix: bool = False) -> Selection:
    """Apply a recipe. ``imatrix`` says whether an importance matrix is given.

    Raises KeyError for a name that is not in ``BASE``, RefusedError where llama-quantize stops.
    """
    base = BASE[recipe]
    if not subject.blocks and subject.architecture != "clip":
        raise RefusedError(
            tr(
                "the header lacks {architecture}.block_count, without which llama-quantize "
                "does not open a model",
                architecture=subject.architecture or "(architecture)",
            )
        )
    if subject.blocks > _MOST_BLOCKS:
        raise RefusedError(
            tr(
                "the header says {count:,} layers, and llama-quantize opens no model with more "
                "than {most}",
                count=subject.blocks,
                most=_MOST_BLOCKS,
            )
        )
    if subject.not_convertible is not None:
        raise RefusedError(
            tr(
                "{tensor} holds integers or 64-bit floats, which llama-quantize cannot convert",
                tensor=subject.not_convertible,
            )
        )
    types = list(subject.kept)
    fallbacks = 0
    needing: Counter[str] = Counter()
    chooser = None if base in _UNQUANTIZED else _Chooser(subject, recipe, imatrix)
    # Tensors whose place does not matter are alike where this is.
    settled: dict[tuple[Group, int, bool], tuple[str, bool]] = {}
    for row in subject.rows:
        alike = (row.group, row.length, row.stacked)
        answer = settled.get(alike)
        if answer is None:
            wanted = chooser.wanted(row) if chooser else base
            chosen = _fitting(wanted, row) if chooser else base
            answer = chosen, chosen != wanted
            if chooser is None or row.group not in chooser.placed:
                settled[alike] = answer
        chosen, fell_back = answer
        types[row.index] = chosen
        fallbacks += fell_back
        if chosen in _IMATRIX_TYPES or (chosen == "Q2_K" and recipe == "Q2_K_S"):
            needing[chosen] += row.group not in (Group.OUTPUT, Group.EMBEDDING)
    # Every tensor is either kept or in rows.
    return Selection(
        types=tuple(name for name in types if name is not None),
        fallbacks=fallbacks,
        imatrix_types={} if imatrix else +needing,
    )


class _Chooser:
    """Names the type that a recipe wants for one tensor after the other, in order.

    Tensors of a kind are counted as they come, except that the feed-forward tensors of a mixture
    of experts are placed by the layer in their name. ``placed`` has the groups where that matters.
    """

    def __init__(self, subject: Subject, recipe: str, imatrix: bool) -> None:
        self._subject, self._recipe, self._imatrix = subject, recipe, imatrix
        self._base = BASE[recipe]
        self._head = _head_type(subject, recipe)
        self._low = recipe in _LOW
        self._by_layer = subject.experts > 1 and not self._low
        self._seen: Counter[Group] = Counter()
        # MXFP4_MOE goes by the number of dimensions alone.
        tables = {} if recipe == "MXFP4_MOE" else _tables(subject)
        self._cases = {group: table.get(recipe, ()) for group, table in tables.items()}
        self.placed = {
            group
            for group, cases in self._cases.items()
            if cases or (self._by_layer and group in _FEED_FORWARD)
        }

    def wanted(self, row: Row) -> str:
        """The type for the next tensor, before its rows are looked at."""
        subject, group = self._subject, row.group
        if group is Group.OUTPUT or (group is Group.EMBEDDING and subject.tied):
            return "Q8_0" if row.length % BY_NAME[self._base].block_size else self._head
        if group is Group.GUARDED:
            return "Q8_0"
        if self._recipe == "MXFP4_MOE":
            return "MXFP4" if row.stacked and _holds_experts(subject, group) else "Q8_0"
        if group is Group.EMBEDDING:
            return _EMBEDDING.get(self._recipe, self._base)
        wanted = self._base
        if group in self.placed:
            at = self._place(row)
            wanted = next((name for when, name in self._cases[group] if when(at)), wanted)
        if group in VALUE_LIKE and not self._low:
            if subject.large and wanted in ("Q3_K", "Q4_K"):
                wanted = "Q5_K"
            if subject.experts == 8:
                wanted = "Q8_0"
        return wanted

    def _place(self, row: Row) -> At:
        subject = self._subject
        alike = Group.VALUE if row.group in VALUE_LIKE else row.group
        nth = self._seen[alike]
        self._seen[alike] += 1
        if self._by_layer and alike in _FEED_FORWARD:
            nth = _named_layer(row, subject)
        total = subject.values if alike is Group.VALUE else subject.blocks
        return At(nth, total, subject, self._imatrix)


def _tables(subject: Subject) -> Mapping[Group, Table]:
    """The tables that hold for this model: eight experts and Falcon have rows of their own."""
    key, attention_output, down = _KEY, _ATTENTION_OUTPUT, _DOWN
    if subject.experts == 8:
        key, attention_output = _KEY_OF_EIGHT_EXPERTS, _ATTENTION_OUTPUT_OF_EIGHT_EXPERTS
        down = {**down, **_DOWN_OF_EIGHT_EXPERTS}
    if subject.architecture == "falcon":
        attention_output = {
            **{recipe: cases for recipe, cases in attention_output.items() if recipe in _LOW},
            **_all("Q4_K", "Q3_K_L"),
        }
        down = {**down, **_DOWN_OF_FALCON}
    return {
        **dict.fromkeys(VALUE_LIKE, _VALUE),
        Group.KEY: key,
        Group.QUERY: _KEY,
        Group.ATTENTION_OUTPUT: attention_output,
        Group.UP: _UP_AND_GATE,
        Group.GATE: _UP_AND_GATE,
        Group.DOWN: down,
    }


def _head_type(subject: Subject, recipe: str) -> str:
    """The output matrix, or the embedding where it is the output matrix as well."""
    if recipe == "MXFP4_MOE" or subject.architecture == "falcon" or BASE[recipe] == "Q8_0":
        return "Q8_0"
    return "Q5_K" if recipe in _LOW or recipe == "IQ3_XXS" else "Q6_K"


def _holds_experts(subject: Subject, group: Group) -> bool:
    """Stacked tensors are experts, except in the one family with stacked latent projections."""
    return group in _FEED_FORWARD or subject.architecture != "bailingmoe3"


def _named_layer(row: Row, subject: Subject) -> int:
    if row.layer < 0:
        raise RefusedError(
            tr("llama-quantize finds no layer in the name {tensor}", tensor=row.name)
        )
    if row.layer >= subject.blocks:
        raise RefusedError(
            tr(
                "{tensor} is in layer {layer}, but the header says {count} layers",
                tensor=row.name,
                layer=row.layer,
                count=subject.blocks,
            )
        )
    return row.layer


def _fitting(wanted: str, row: Row) -> str:
    """The wanted type, or what llama-quantize takes where rows are no multiple of its block."""
    block = BY_NAME[wanted].block_size
    if row.length % block == 0:
        return wanted
    other = _FALLBACK.get(wanted, wanted)
    if other == wanted and block > 32:
        raise RefusedError(
            tr(
                "rows of {tensor} hold {length} values, which is no multiple of {block}, the "
                "block of {type}, and llama-quantize has no type to take instead",
                tensor=row.name,
                length=row.length,
                block=block,
                type=wanted,
            )
        )
    return "F16" if row.length % BY_NAME[other].block_size else other
