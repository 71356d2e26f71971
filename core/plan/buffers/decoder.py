"""The decoder of an encoder-decoder model (T5): attention with a bias by distance, then over what
the encoder gave."""

from __future__ import annotations

from core.plan.buffers.anatomy import LayerAnatomy
from core.plan.buffers.parts import F16, F32, I32, CacheInputs, Graph
from core.plan.buffers.tape import Tensor, view


class Decoder:
    """Inputs that all layers share: distances, the encoder's rows, and who sees them."""

    def __init__(self, graph: Graph, cache: CacheInputs) -> None:
        tape, shape = graph.tape, graph.shape
        self.graph = graph
        self.cache = cache
        # Before an encoder has run, as many rows as the model was trained for.
        self.length = graph.anatomy.integer("context_length")
        self.distances = tape.input(tape.per_cell(cache.number, I32 * shape.tokens))
        self.encoded = tape.input(tape.fixed(F32 * graph.anatomy.embedding * self.length))
        size = (F16 if shape.flash else F32) * self.length * shape.tokens
        self.mask = tape.input(tape.fixed(size))

    def layer(self, layer: LayerAnatomy, x: Tensor, last: bool) -> Tensor:
        graph = self.graph
        out = graph.matrix(layer, "attn_o", self.over_itself(layer, graph.norm(x)))
        middle = graph.add(out, x)
        out = graph.matrix(layer, "cross_attn_o", self.over_encoded(layer, graph.norm(middle)))
        if last:
            out, middle = graph.cut(out, middle)
        middle = graph.add(out, middle)
        return graph.add(graph.feed_forward(layer, graph.norm(middle)), middle)

    def over_itself(self, layer: LayerAnatomy, x: Tensor) -> Tensor:
        graph, tape, shape = self.graph, self.graph.tape, self.graph.shape
        q, k, v = (view(graph.matrix(layer, f"attn_{name}", x)) for name in "qkv")
        scores = tape.per_cell(self.cache.number, F32 * layer.heads * shape.tokens)
        # Every layer reads a view of its own: on another device each is a copy.
        distances = tape.part(self.distances, tape.sizes[self.distances])
        bias = tape.op(scores, view(tape.weigh(scores, distances)))
        return graph.attend(
            self.cache,
            q,
            k,
            v,
            layer,
            head_k=layer.head_k,
            head_v=layer.head_v,
            kv_heads=layer.kv_heads,
            bias=bias,
        )

    def over_encoded(self, layer: LayerAnatomy, x: Tensor) -> Tensor:
        graph, tape = self.graph, self.graph.tape
        heads = layer.heads
        q = graph.matrix(layer, "cross_attn_q", x)
        k = graph.matrix(layer, "cross_attn_k", self.encoded, self.length)
        v = graph.matrix(layer, "cross_attn_v", self.encoded, self.length)
        for row in (q, k, v):
            tape.run(row)
        out = graph.f32(heads * layer.head_v)
        if graph.shape.flash:
            k = tape.op(tape.fixed(F16 * layer.kv_heads * layer.head_k * self.length), view(k))
            v = tape.op(tape.fixed(F16 * layer.kv_heads * layer.head_v * self.length), view(v))
            return view(tape.op(out, view(q), k, v, view(self.mask)))
        kq = tape.op(graph.f32(heads * self.length), view(k), view(q))
        kq = tape.over(kq, view(self.mask))
        v = tape.op(tape.fixed(F32 * layer.kv_heads * layer.head_v * self.length), view(v))
        return graph.cont(heads * layer.head_v, view(tape.op(out, v, kq)))
