"""Hyper-connections: several copies of the stream, mixed before and after every step of a layer."""

from __future__ import annotations

from core.plan.buffers.anatomy import LayerAnatomy
from core.plan.buffers.parts import Graph
from core.plan.buffers.tape import Tensor, view


class Hyper:
    """The stream as ``count`` copies of ``embedding`` columns (llama.cpp b11434, deepseek4.cpp)."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.count = graph.anatomy.integer("hyper_connection.count")
        self.width = graph.anatomy.embedding

    def spread(self, x: Tensor) -> Tensor:
        """One copy becomes several."""
        return self.graph.tape.op(self.graph.f32(self.width * self.count), view(x))

    def enter(self, layer: LayerAnatomy, step: str, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """What the step works on, and the two mixtures that `leave` needs."""
        graph, tape = self.graph, self.graph.tape
        mixes = self._mixes(x, layer.rows(f"hc_{step}_fn"))
        before = self._weights(view(mixes))
        after = self._weights(view(mixes))
        between = tape.weigh(graph.f32(self.count * self.count), mixes)
        return tape.op(graph.f32(self.width), x, before), after, between

    def leave(self, out: Tensor, x: Tensor, after: Tensor, between: Tensor) -> Tensor:
        """What the step gave and the stream before it, mixed into the copies."""
        size = self.graph.f32(self.width * self.count)
        return self.graph.tape.op(size, out, x, after, between)

    def merge(self, x: Tensor) -> Tensor:
        """The rows that give logits, their copies made one."""
        graph, tape = self.graph, self.graph.tape
        (rows,) = graph.cut(view(x), copies=self.count)
        weights = graph.unary(tape.over_weight(tape.over_weight(self._mixes(rows, self.count))))
        weights = graph.unary(weights)
        one = graph.f32(self.width)
        out = tape.op(one, view(rows), view(weights))
        for _ in range(self.count - 1):
            out = graph.add(out, tape.op(one, view(rows), view(weights)))
        return out

    def _mixes(self, x: Tensor, count: int) -> Tensor:
        normed = self.graph.tape.op(self.graph.f32(self.width * self.count), view(x))
        return self.graph.mul(count, normed)

    def _weights(self, mixes: Tensor) -> Tensor:
        """A slice of the mixes, scaled, shifted and squashed."""
        graph, tape = self.graph, self.graph.tape
        weights = tape.over_weight(tape.weigh(graph.f32(self.count), mixes))
        return graph.unary(graph.unary(weights))
