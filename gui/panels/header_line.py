"""The line over everything: which model this is, in one breath."""

from __future__ import annotations

from urllib.parse import urlsplit

from PySide6.QtWidgets import QWidget

from core.gguf import display, excerpt
from core.gguf.header import Kind
from core.language import mark, tr, trn
from core.model.model import CacheGroup, Model, StateGroup
from core.provenance import Input, Number, Rank, Source, Unit, format_value
from gui.document import Document
from gui.panels.overview import facts
from gui.widgets.elided_text import ElidedText
from gui.widgets.fact_label import FactLabel
from gui.widgets.text import Style, Text
from gui.widgets.wrap import Wrap

# Of a longer name nobody reads the rest here.
_NAME_LETTERS = 300


class HeaderLine(Wrap):
    """Name, label and bits, parameters, layers and size of the open model."""

    def __init__(self, document: Document, parent: QWidget | None = None) -> None:
        super().__init__(parent=parent)
        self._document = document
        self._name = ElidedText(style=Style.HEADLINE)
        self._label = Text(style=Style.STRONG)
        self._bits = FactLabel(tr("Bits per weight"))
        self._parameters = FactLabel(tr("Parameters"))
        self._active = FactLabel(tr("Parameters that one token uses"))
        self._layers = FactLabel(tr("Layers"))
        self._size = FactLabel(tr("Size of the whole file"))
        self._parts = Text(style=Style.MUTED)
        self.set_cells(
            [
                self._name,
                self._label,
                self._bits,
                self._parameters,
                self._active,
                self._layers,
                self._size,
                self._parts,
            ]
        )
        document.model_changed.connect(self._show)
        document.units_changed.connect(self._show)
        self._show()

    def _show(self) -> None:
        model = self._document.model
        if model is None:
            return
        self._name.set_text(title(model))
        self._label.set_text(excerpt(model.label))
        self._label.setVisible(bool(model.label))
        weights, units = model.weights, self._document.units
        has_weights = weights.parameters > 0
        bound = "≥ " if facts.is_lower_bound(model) else ""
        self._bits.set_number(facts.bits_per_weight(weights), units)
        self._bits.setVisible(has_weights)
        for fact, number, words in (
            (self._parameters, facts.parameter_count(weights), mark("{count} parameters")),
            (self._active, facts.active_parameter_count(model), mark("{count} active")),
            (self._size, facts.size_of_whole_file(model) or facts.size_on_disk(model), "{count}"),
        ):
            count = f"{bound}{format_value(number.value, number.unit, units)}"
            fact.set_number(number, units, tr(words, count=count))
        self._parameters.setVisible(has_weights)
        self._active.setVisible(has_weights and model.shape.experts > 0)
        self._layers.set_number(_layers(model), units, layers_in_words(model))
        self._layers.setVisible(model.shape.layers > 0)
        self._parts.set_text(_parts(model))
        self._parts.setVisible(bool(self._parts.text()))


def title(model: Model) -> str:
    """What to call a model: its own name, or that of its file."""
    return excerpt(model.name, _NAME_LETTERS) or display(model.file.header.path.name)


def window_title(model: Model) -> str:
    """The model and the file that is open: two files of one model are told apart."""
    file = display(model.file.header.path.name)
    name = title(model)
    return name if name == file else f"{name} — {file}"


def layers_in_words(model: Model) -> str:
    """ "40 layers, 10 with KV"; "32 layers" where every layer keeps a cache, or nobody knows."""
    layers = model.shape.layers
    words = trn("{count} layer", "{count} layers", layers)
    cached = {layer for group in model.cache.groups for layer in group.layers}
    if not model.cache.known or len(cached) >= layers:
        return words
    if not cached:
        return tr("{layers}, none with KV", layers=words)
    return tr("{layers}, {count} with KV", layers=words, count=len(cached))


def _layers(model: Model) -> Number[int]:
    groups: list[CacheGroup | StateGroup] = [*model.cache.groups, *model.cache.states]
    return Number(
        model.shape.layers,
        Unit.COUNT,
        Source(Rank.REPORTED, mark("file header")),
        inputs=tuple(
            Input(tr("layers with {name}", name=tr(group.name)), len(group.layers))
            for group in groups
        ),
        note=model.cache.rule,
    )


def _parts(model: Model) -> str:
    """What else the files are. How many shards there are is what the file says: one name of
    ``missing`` may stand for many."""
    file = model.file
    words = []
    if not file.local:
        host = urlsplit(file.addresses[0]).hostname
        words.append(tr("on {host}, not downloaded", host=host))
    if file.kind is not Kind.MODEL:
        words.append(tr(file.kind.value))
    found, stated = len(file.headers), file.header.metadata.get("split.count")
    if not file.missing:
        words += [trn("{count} shard", "{count} shards", found)] if found > 1 else []
    elif isinstance(stated, int) and stated > found:
        words.append(tr("{found} of {stated:,} shards", found=found, stated=stated))
    else:
        words.append(trn("{count} shard, others missing", "{count} shards, others missing", found))
    return ", ".join(words)
