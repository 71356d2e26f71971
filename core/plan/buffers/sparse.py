"""Attention over the best blocks of the cache (MiniMax M3): an indexer masks all others."""

from __future__ import annotations

from core.plan.buffers.anatomy import LayerAnatomy
from core.plan.buffers.parts import F16, F32, I32, CacheInputs, Graph, Shape
from core.plan.buffers.tape import Size, Tensor, view

RESERVED = 256  # positions; an empty cache's, padded, is what the graph is reserved for


class BlockSparse:
    """What all sparse layers of a batch share: block bias, hidden positions, the mask in f32."""

    def __init__(self, graph: Graph, cache: CacheInputs) -> None:
        tape, shape = graph.tape, graph.shape
        self.tape = tape
        self.blocks = RESERVED // graph.anatomy.integer("attention.indexer.block_size", 128)
        number = cache.number
        self.bias = tape.input(tape.fixed(F32 * self.blocks * shape.tokens))
        self.hidden = tape.input(tape.fixed(F32 * RESERVED * shape.tokens))
        self.slots = tape.input(tape.fixed(I32 * RESERVED * shape.streams))
        self.cell_blocks = tape.input(tape.per_cell(number, I32 * shape.streams))
        self.mask = tape.op(tape.per_cell(number, F32 * shape.tokens), cache.mask)
        self.index_rows = tape.input(tape.fixed(8 * shape.tokens))

    def per_stream(self, shape: Shape, whole: Tensor) -> Size:
        """One stream's part of an input."""
        return tuple(size / shape.streams for size in self.tape.sizes[whole])

    def copies(self) -> Size:
        """What the copies of these inputs take on a device for one layer."""
        wholes = [
            self.tape.sizes[n] for n in (self.bias, self.hidden, self.slots, self.cell_blocks)
        ]
        return tuple(map(sum, zip(*wholes, strict=True)))

    def attend(
        self,
        graph: Graph,
        layer: LayerAnatomy,
        cache: CacheInputs,
        x: Tensor,
        q: Tensor,
        k: Tensor,
        v: Tensor,
    ) -> Tensor:
        """The rows into both caches, then attention stream by stream."""
        tape, shape, anatomy = graph.tape, graph.shape, graph.anatomy
        heads = anatomy.integer("attention.indexer.head_count")
        size = anatomy.integer("attention.indexer.key_length")
        best = anatomy.integer("attention.indexer.top_k")
        number = cache.number
        q_width, kv_width = layer.heads * layer.head_k, layer.kv_heads * layer.head_k
        iq = graph.norm_of(heads * size, view(graph.mul(heads * size, x)))
        iq = graph.rope(heads * size, iq)
        ik = graph.norm_of(size, view(graph.mul(size, x)))
        ik = graph.rope(size, ik)
        tape.store(ik, self.index_rows)
        q = graph.rotate(q, q_width, cache.k_rotation)
        k = graph.rotate(k, kv_width, cache.k_rotation)
        v = graph.rotate(v, layer.kv_heads * layer.head_v, cache.v_rotation)
        for row in (q, k, v):
            tape.run(row)
        tape.store(k, cache.k_rows)
        assert cache.v_rows is not None
        tape.store(v, cache.v_rows)

        tokens = shape.tokens // shape.streams
        # Every layer reads parts of the inputs: each part is copied to its device for itself.
        bias, hidden, slots, cell_blocks = (
            [tape.part(whole, self.per_stream(shape, whole)) for _ in range(shape.streams)]
            for whole in (self.bias, self.hidden, self.slots, self.cell_blocks)
        )
        best = min(best, self.blocks)
        every = F32 * heads * tokens
        outs = []
        for stream in range(shape.streams):
            keys = tape.op(tape.fixed(F32 * size * RESERVED), slots[stream])
            scores = tape.op(tape.fixed(every * RESERVED), keys, view(iq))
            scores = tape.over(scores, hidden[stream])
            pooled = tape.op(tape.fixed(every * self.blocks), scores)
            pooled = tape.over(pooled, bias[stream])
            chosen = tape.op(tape.fixed(I32 * best * heads * tokens), pooled)
            low = tape.op(tape.fixed(F32 * self.blocks * tokens), bias[stream])
            low = tape.op(tape.fixed(F16 * self.blocks * tokens), low)
            low = tape.op(tape.fixed(F16 * heads * self.blocks * tokens), low)
            zero = graph.unary(tape.op(tape.fixed(F32 * best * heads * tokens), chosen))
            marked = tape.write(low, view(zero), view(chosen))
            half = tape.fixed(F16 * heads * self.blocks * tokens)
            marked = tape.op(half, view(marked))
            marked = tape.op(half, view(marked))
            wide = tape.op(tape.per_cell(number, every), marked, cell_blocks[stream])
            wide = tape.op(tape.per_cell(number, every), view(wide))
            wide = tape.over(wide, view(self.mask))
            mask = tape.op(tape.per_cell(number, F16 * heads * tokens), view(wide))
            scratch = None
            if shape.cuda:
                extra = sum(
                    F16 * width
                    for kind, width in ((shape.type_k, kv_width), (shape.type_v, kv_width))
                    if kind != "f16"
                )
                scratch = tape.per_cell(number, extra) if extra else None
            size_out = tape.fixed(F32 * q_width * tokens)
            out = tape.op(size_out, view(q), mask, scratch=scratch)
            outs.append(tape.op(size_out, view(out)))
        total = view(outs[0])
        for done, out in enumerate(outs[1:], 2):
            total = tape.op(tape.fixed(F32 * q_width * tokens * done), total, view(out))
        return graph.matrix(layer, "attn_output", total)
