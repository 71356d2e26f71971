"""Gemma 3n: several copies of the stream, predicted and corrected around every layer; and the
inputs per layer that the small Gemma 4 models share with it."""

from __future__ import annotations

from collections.abc import Callable

from core.plan.buffers.anatomy import LayerAnatomy
from core.plan.buffers.parts import I32, Graph
from core.plan.buffers.tape import HOST, Tensor, view

COPIES = 4  # gemma3n.cpp, n_altup
SPARSE_LAYERS = 10  # gemma3n.cpp, n_layer_sparsity


def per_layer_inputs(graph: Graph, x: Tensor) -> Tensor:
    """A look-up per layer and token, with the stream projected onto it."""
    tape = graph.tape
    width = graph.anatomy.globals["per_layer_token_embd.weight"][0]
    device = tape.device
    tape.device = HOST
    ids = tape.input(tape.fixed(I32 * graph.shape.tokens))
    rows = tape.weigh(graph.f32(width), ids)
    looked_up = tape.run(graph.unary(view(rows)))
    tape.device = device
    projected = graph.unary(graph.mul(width, x))
    projected = tape.over_weight(tape.op(graph.f32(width), view(projected)))
    both = graph.unary(graph.add(projected, looked_up))
    return graph.cont(width, view(both))


def add_per_layer(graph: Graph, layer: LayerAnatomy, x: Tensor, inputs: Tensor) -> Tensor:
    """What a layer's own input adds to the stream."""
    width = layer.rows("inp_gate")
    gate = graph.unary(graph.mul(width, x))
    mixed = graph.tape.op(graph.f32(width), gate, view(inputs), in_place=True)
    return graph.norm(graph.mul(graph.anatomy.embedding, mixed))


class Altup:
    """The stream as ``COPIES`` copies of ``embedding`` columns."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.width = graph.anatomy.embedding
        self.inputs: Tensor | None = None

    def magnitude(self, x: Tensor, copies: int) -> Tensor:
        tape, graph = self.graph.tape, self.graph
        squared = tape.op(graph.f32(self.width * copies), x, in_place=True)
        return graph.unary(tape.op(graph.f32(copies), squared))

    def spread(self, x: Tensor) -> Tensor:
        """One copy becomes several."""
        tape, graph = self.graph.tape, self.graph
        others = COPIES - 1
        self.inputs = per_layer_inputs(graph, x)
        target = self.magnitude(x, 1)
        repeated = tape.op(graph.f32(self.width * others), x)
        added = graph.mul(self.width * others, repeated)
        new = self.magnitude(added, others)
        added = tape.over(tape.over(added, target), new)
        return tape.op(graph.f32(self.width * COPIES), x, added)

    def modalities(self, x: Tensor) -> Tensor:
        graph = self.graph
        routed = graph.unary(graph.norm(x))
        return graph.unary(graph.mul(COPIES, routed))

    def predict(self, x: Tensor) -> Tensor:
        tape, graph = self.graph.tape, self.graph
        all_copies = graph.f32(self.width * COPIES)
        active = tape.part(x, graph.f32(self.width))
        coefficients = graph.mul(COPIES * COPIES, self.modalities(active))
        permuted = tape.op(all_copies, view(x))
        predicted = tape.op(all_copies, permuted, view(coefficients))
        return tape.op(all_copies, tape.op(all_copies, view(predicted)), x, in_place=True)

    def correct(self, predictions: Tensor, active: Tensor) -> Tensor:
        tape, graph = self.graph.tape, self.graph
        all_copies = graph.f32(self.width * COPIES)
        innovation = tape.op(graph.f32(self.width), active, view(predictions), in_place=True)
        innovation = tape.op(all_copies, innovation)
        coefficients = graph.unary(graph.mul(COPIES, self.modalities(active)))
        coefficients = graph.cont(COPIES, view(coefficients))
        return tape.over(tape.over(innovation, coefficients), predictions)

    def layer(
        self,
        layer: LayerAnatomy,
        x: Tensor,
        attention: Callable[[LayerAnatomy, Tensor], Tensor],
    ) -> Tensor:
        tape, graph = self.graph.tape, self.graph
        one = graph.f32(self.width)
        predictions = self.predict(x)
        active = tape.part(predictions, one)
        normed = tape.over_weight(tape.op(one, active))
        laurel = graph.mul(self.width, graph.mul(layer.rows("laurel_l"), normed))
        laurel = graph.add(graph.norm(laurel), normed)
        out = graph.norm(attention(layer, normed))
        out = tape.op(one, out, active, in_place=True)
        middle = graph.unary(graph.add(out, laurel))
        normed = graph.norm(middle)
        up = graph.matrix(layer, "ffn_up", normed)
        gate = graph.matrix(layer, "ffn_gate", normed)
        width = layer.rows("ffn_up")
        if layer.index < SPARSE_LAYERS:
            mean = tape.op(graph.f32(1), gate)
            spread = graph.unary(tape.op(graph.f32(width), gate, mean))
            spread = graph.unary(graph.unary(tape.op(graph.f32(1), spread)))
            cutoff = graph.add(mean, graph.unary(spread))
            gate = graph.unary(tape.op(graph.f32(width), gate, cutoff, in_place=True))
        hidden = graph.add(up, graph.unary(gate))
        out = graph.norm(graph.matrix(layer, "ffn_down", hidden))
        corrected = self.correct(predictions, graph.add(out, middle))
        first = tape.weigh(one, tape.part(corrected, one))
        assert self.inputs is not None
        first = add_per_layer(graph, layer, first, self.inputs)
        rest = tape.op(graph.f32(self.width * (COPIES - 1)), view(corrected), first)
        return tape.op(graph.f32(self.width * COPIES), view(corrected), rest)

    def merge(self, x: Tensor) -> Tensor:
        """Several copies become one again."""
        tape, graph = self.graph.tape, self.graph
        others = COPIES - 1
        target = self.magnitude(view(x), 1)
        rest = graph.mul(self.width * others, view(x))
        new = self.magnitude(rest, others)
        rest = tape.over(tape.over(rest, target), new)
        out = tape.op(graph.f32(self.width), view(x), view(rest))
        for _ in range(others - 1):
            out = tape.over(out, view(rest))
        return graph.unary(out)
