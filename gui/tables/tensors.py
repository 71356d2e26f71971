"""The tensor table of a model, and what each tensor would be in another quantization."""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from weakref import proxy

from PySide6.QtCore import QObject

from core import units
from core.gguf import display
from core.gguf.header import Tensor
from core.gguf.types import layout_of, name_of, note_of
from core.language import mark, tr, trn, written
from core.model.model import Model, Role, Weights
from core.provenance import Input, Number, Rank, Source, Unit, explain
from core.units import UnitSystem
from gui.tables.sheet import Column, Sheet, longest
from gui.tables.values import short


class TensorColumn(IntEnum):
    """Numbers first, so that none of them ends up under the scroll bar."""

    BYTES = 0
    TYPE = 1
    NAME = 2
    BYTES_THEN = 3
    TYPE_THEN = 4
    BITS = 5
    SHAPE = 6
    LAYER = 7
    ROLE = 8
    OFFSET = 9
    SHARD = 10


# The longest that `units.format_bytes` writes.
_WIDEST_SIZE = "1,023 MiB"
_WHAT_IF = (TensorColumn.BYTES_THEN, TensorColumn.TYPE_THEN)


class TensorTable(Sheet):
    """Every tensor of a model, one a row, in file order until it is sorted."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._model: Model | None = None
        self._then: Weights | None = None
        self._units = UnitSystem.GIB
        self._tensors: tuple[Tensor, ...] = ()
        self._widest: dict[str, tuple[str, ...]] = {}

    @property
    def what_if(self) -> Weights | None:
        """The quantization that is tried out, if any."""
        return self._then

    def hidden_columns(self) -> frozenset[int]:
        """Columns that have nothing to say now."""
        hidden: set[int] = set() if self._then else set(_WHAT_IF)
        if self._model is None or len(self._model.file.headers) < 2:
            hidden.add(TensorColumn.SHARD)
        return frozenset(hidden)

    def set_model(self, model: Model | None) -> None:
        """Show another model, as it is."""
        self._model = model
        self._then = None
        self._tensors = model.file.tensors if model else ()
        self._widest = _widest_texts(self._tensors, model)
        me: TensorTable = proxy(self)
        self.set_source(self._made_columns(), len(self._tensors), lambda: me._haystack_rows())

    def set_what_if(self, weights: Weights | None) -> None:
        """Show beside each tensor what it would be in another quantization; None for nothing."""
        if weights is not self._then:
            self._then = weights
            self.update_columns(self._made_columns(), _WHAT_IF)

    def set_units(self, system: UnitSystem) -> None:
        """GiB or GB."""
        self._units = system
        self.repaint_cells()

    def tensor(self, source_row: int) -> Tensor:
        """The tensor of a source row."""
        return self._tensors[source_row]

    def total_bytes(self, source_rows: Sequence[int]) -> int:
        """What these tensors occupy, padding not counted."""
        tensors = self._tensors
        return sum(tensors[row].bytes for row in source_rows)

    def bytes_of(self, source_row: int) -> Number[int]:
        """What a tensor occupies, and how that is known."""
        return stored_bytes(self._tensors[source_row])

    # The columns, as functions of a source row.

    def _made_columns(self) -> list[Column]:
        tensors = self._tensors
        model = self._model
        layers = model.tensor_layers if model else ()
        roles = model.tensor_roles if model else ()
        then = self._then or (model.weights if model else None)
        then_bytes = then.tensor_bytes if then else ()
        then_types = then.tensor_types if then else ()
        label = then.label if then else ""
        widest = self._widest
        words = {role: tr(role.value) for role in set(roles)}
        me: TensorTable = proxy(self)

        def size(count: int) -> str:
            return units.format_bytes(count, me._units)

        def names() -> list[str]:
            # blk.2 before blk.10: the first letters, then the layer, then the whole name.
            padded = {layer: f"{layer:06d}" for layer in set(layers) if layer is not None}
            return [
                name if layer is None else f"{name[:3]}{padded[layer]}{name}"
                for name, layer in zip([t.name for t in tensors], layers, strict=True)
            ]

        return [
            Column(
                "bytes",
                tr("Bytes"),
                lambda row: size(tensors[row].bytes),
                lambda row: tensors[row].bytes,
                lambda: [t.bytes for t in tensors],
                number=True,
                help=tr("What the tensor occupies in the file, without padding"),
                tip=lambda row: explain(me.bytes_of(row), me._units),
                widest=_WIDEST_SIZE,
            ),
            Column(
                "type",
                tr("Type"),
                lambda row: tensors[row].type_name,
                lambda row: tensors[row].type_name,
                lambda: [t.type_name for t in tensors],
                help=tr("The format that the weights are stored in"),
                tip=lambda row: type_help(tensors[row]),
                widest=widest["type"],
            ),
            Column(
                "name",
                tr("Name"),
                lambda row: short(tensors[row].name),
                lambda row: tensors[row].name,
                names,
                stretch=1,
            ),
            Column(
                "what_if_bytes",
                tr("→ Bytes"),
                lambda row: size(then_bytes[row]),
                lambda row: then_bytes[row],
                lambda: then_bytes,
                number=True,
                help=tr(
                    "What it would occupy if the file were quantized to {recipe}", recipe=label
                ),
                tip=lambda row: units.format_exact_bytes(then_bytes[row]),
                widest=_WIDEST_SIZE,
                wanted=True,
            ),
            Column(
                "what_if_type",
                tr("→ Type"),
                lambda row: then_types[row],
                lambda row: then_types[row],
                lambda: then_types,
                help=tr(
                    "The type it would have if the file were quantized to {recipe}", recipe=label
                ),
                widest=longest(then_types),
                wanted=True,
            ),
            Column(
                "bits_per_weight",
                tr("Bits"),
                lambda row: _bits_text(tensors[row]),
                lambda row: _rounded(tensors[row]),
                lambda: [_bits(t) for t in tensors],
                number=True,
                help=tr("Bits per weight: 8 × bytes / parameters"),
                tip=lambda row: explain(_bits_number(tensors[row]), me._units),
                widest="32.00",
            ),
            Column(
                "shape",
                tr("Shape"),
                lambda row: shape_text(tensors[row].shape),
                lambda row: list(tensors[row].shape),
                lambda: [t.parameters for t in tensors],
                help=tr("Length of a row first, as in the file; sorted by the number of weights"),
                tip=lambda row: trn(
                    "{count:,} weight", "{count:,} weights", tensors[row].parameters
                ),
                widest=widest["shape"],
            ),
            Column(
                "layer",
                tr("Layer"),
                lambda row: "" if layers[row] is None else str(layers[row]),
                lambda row: layers[row],
                lambda: [-1 if layer is None else layer for layer in layers],
                number=True,
                help=tr("The layer it belongs to, counted from 0"),
                widest=widest["layer"],
            ),
            Column(
                "role",
                tr("Role"),
                lambda row: words[roles[row]],
                lambda row: roles[row].value,
                lambda: [words[role] for role in roles],
                help=tr("What it is for; decides how much of it one token reads"),
                widest=widest["role"],
            ),
            Column(
                "offset",
                tr("Offset"),
                lambda row: written(tensors[row].offset),
                lambda row: tensors[row].offset,
                lambda: [(t.shard << 64) + t.offset for t in tensors],
                number=True,
                help=tr("First byte, counted from the start of the data section"),
                tip=lambda row: me._place(row),
                widest=widest["offset"],
            ),
            Column(
                "shard",
                tr("Shard"),
                lambda row: str(tensors[row].shard + 1),
                lambda row: tensors[row].shard + 1,
                lambda: [t.shard for t in tensors],
                number=True,
                help=tr("The file that it lies in, counted from 1"),
                tip=lambda row: me._place(row),
                widest="100",
            ),
        ]

    def _place(self, row: int) -> str:
        tensor = self._tensors[row]
        if self._model is None or tensor.shard >= len(self._model.file.headers):
            return written(tensor.offset)
        header = self._model.file.headers[tensor.shard]
        name = display(header.path.name)
        if header.data_offset is None:
            return tr("{offset:,} in the data section of {name}", offset=tensor.offset, name=name)
        return tr("byte {byte:,} of {name}", byte=header.data_offset + tensor.offset, name=name)

    def _haystack_rows(self) -> list[str]:
        roles: Sequence[Role] = self._model.tensor_roles if self._model else ()
        words = {role: tr(role.value) for role in set(roles)}
        return [
            f"{t.name}\n{t.type_name}\n{words[role]}".casefold()
            for t, role in zip(self._tensors, roles, strict=False)
        ]


def _widest_texts(tensors: Sequence[Tensor], model: Model | None) -> dict[str, tuple[str, ...]]:
    """The longest texts of each column whose width depends on the model."""
    shapes = {tensor.shape for tensor in tensors}
    layers = [layer for layer in model.tensor_layers if layer is not None] if model else []
    roles = set(model.tensor_roles) if model else set()
    return {
        "type": longest(tensor.type_name for tensor in tensors),
        "shape": longest(map(shape_text, shapes)),
        "layer": (str(max(layers, default=0)),),
        "role": longest(tr(role.value) for role in roles),
        "offset": (written(max((tensor.offset for tensor in tensors), default=0)),),
    }


def shape_text(shape: tuple[int, ...]) -> str:
    """Dimensions in GGUF order: "4096 × 128256"."""
    return " × ".join(map(str, shape)) or tr("scalar")


def stored_bytes(tensor: Tensor) -> Number[int]:
    """What a tensor occupies, with the rule that says so."""
    known = layout_of(tensor.type_id, tensor.type_name)
    if known is None or known.tensor_bytes(tensor.shape) != tensor.bytes or not tensor.shape:
        return Number(
            tensor.bytes,
            Unit.BYTES,
            Source(Rank.DERIVED, mark("tensor table of the file")),
            mark("distance to the next tensor, or to the end of the file"),
            note=type_help(tensor),
        )
    row_length = tensor.shape[0]
    inputs = [
        Input(mark("rows"), tensor.parameters // row_length if row_length else 0),
        Input(mark("row length"), row_length),
        Input(mark("block size"), known.block_size),
        Input(mark("block bytes"), known.block_bytes, Unit.BYTES),
    ]
    formula = mark("rows × row length / block size × block bytes")
    if known.row_extra_bytes:
        formula = mark("rows × (row length / block size × block bytes + bytes per row)")
        inputs.append(Input(mark("bytes per row"), known.row_extra_bytes, Unit.BYTES))
    return Number(
        tensor.bytes,
        Unit.BYTES,
        Source(Rank.DERIVED, tr("tensor table of the file, type {type}", type=tensor.type_name)),
        formula,
        tuple(inputs),
    )


def type_help(tensor: Tensor) -> str:
    """What is known of a tensor's type."""
    known = layout_of(tensor.type_id, tensor.type_name)
    if known is None:
        words = tr(
            "{name}: how type number {number} is laid out is not known to this program. Its size "
            "is the distance to the next tensor.",
            name=tensor.type_name,
            number=tensor.type_id,
        )
        note = note_of(tensor.type_id) if tensor.type_name == name_of(tensor.type_id) else ""
    else:
        rule = mark("{name}, number {number}: {count} weights in {size} B.")
        if known.row_extra_bytes:
            rule = mark(
                "{name}, number {number}: {count} weights in {size} B, and {extra} B a row."
            )
        words = tr(
            rule,
            name=known.name,
            number=known.id,
            count=known.block_size,
            size=known.block_bytes,
            extra=known.row_extra_bytes,
        )
        note = known.note
    note = tr(note)
    return f"{words} {note[:1].upper()}{note[1:]}".rstrip()


def _bits(tensor: Tensor) -> float:
    return 8 * tensor.bytes / tensor.parameters if tensor.parameters else 0.0


def _rounded(tensor: Tensor) -> float | None:
    return round(_bits(tensor), 6) if tensor.parameters else None


def _bits_text(tensor: Tensor) -> str:
    return written(_bits(tensor), ".2f") if tensor.parameters else ""


def _bits_number(tensor: Tensor) -> Number[float]:
    return Number(
        _bits(tensor) if tensor.parameters else None,
        Unit.BITS_PER_WEIGHT,
        Source(Rank.DERIVED, mark("tensor table of the file")),
        mark("8 × bytes / weights"),
        (
            Input(mark("bytes"), tensor.bytes, Unit.BYTES),
            Input(mark("weights"), tensor.parameters),
        ),
        "" if tensor.parameters else mark("The tensor has no weights."),
    )
