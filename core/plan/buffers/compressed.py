"""Attention over a window and over compressed rows (DeepSeek V4): one row for 4 or 128 tokens."""

from __future__ import annotations

from core.model.cache_size import row_bytes
from core.plan.buffers.anatomy import LayerAnatomy
from core.plan.buffers.parts import F16, F32, I32, I64, CacheInputs, Graph
from core.plan.buffers.tape import Size, Tensor, view


class Compressor:
    """What the layers of one compression share: where rows come from and where they go.

    ``blocks`` are the rows that a batch can complete; ``held`` the tokens kept for the next one.
    ``overlapping`` rows see the tokens of the block before as well.
    """

    def __init__(
        self, graph: Graph, cache: int, ratio: int, overlapping: bool, mask: Size, rotate: int
    ) -> None:
        tape, shape = graph.tape, graph.shape
        self.graph = graph
        self.cache = cache
        self.ratio = ratio
        self.overlapping = overlapping
        self.blocks = shape.tokens // ratio + shape.sequences
        self.held = (2 if overlapping else 1) * ratio * shape.sequences
        self.read = (2 if overlapping else 1) * ratio * self.blocks
        kept = min(shape.tokens, self.held)
        self.kept = kept
        self.reads = tape.input(tape.fixed(I32 * self.read))
        self.positions = tape.input(tape.fixed(I32 * shape.tokens))
        self.row_positions = tape.input(tape.fixed(I32 * self.blocks))
        self.writes = tape.input(tape.fixed(I64 * self.blocks))
        self.keep_from = tape.input(tape.fixed(I32 * kept))
        self.keep_to = tape.input(tape.fixed(I32 * kept))
        self.mask = tape.input(mask)
        self.rotation = tape.input(tape.fixed(F32 * rotate * rotate)) if rotate else None

    def run(self, layer: LayerAnatomy, name: str, x: Tensor) -> None:
        """Rows that this batch completes into the cache, its last tokens into the state."""
        graph, tape = self.graph, self.graph.tape
        width = layer.rows(f"{name}_kv")
        state = graph.mul(width, x)
        score = graph.mul(width, x)
        score = tape.over(score, tape.weigh(graph.f32(width), self.positions))
        values, scores = self._gathered(width, state), self._gathered(width, score)
        mixed = tape.over(values, graph.unary(scores))
        head = layer.shapes[f"{name}_norm.weight"][0]
        row = tape.op(
            graph.f32(head, self.blocks), view(tape.op(graph.f32(head, self.blocks), mixed))
        )
        row = tape.over(tape.over_weight(graph.unary(row)), self.row_positions)
        if self.rotation is not None:
            row = tape.op(graph.f32(head, self.blocks), self.rotation, view(row))
        tape.store(row, self.writes)
        rows = graph.f32(width, self.kept)
        kept = [tape.op(rows, each, self.keep_from) for each in (state, score)]
        for each in kept:
            tape.store(each, self.keep_to)

    def _gathered(self, width: int, new: Tensor) -> Tensor:
        """The tokens of every block, one column a token."""
        graph, tape = self.graph, self.graph.tape
        count = self.held + graph.shape.tokens
        both = tape.op(graph.f32(width, count), new)
        if not self.overlapping:
            rows = tape.op(graph.f32(width, self.read), both, self.reads)
            return tape.op(graph.f32(width, self.read), view(rows))
        nothing = tape.op(graph.f32(width, 1), view(both))
        both = tape.op(graph.f32(width, count + 1), both, view(nothing))
        rows = tape.op(graph.f32(width, self.read), both, self.reads)
        half = graph.f32(width // 2, self.read // 2)
        before, now = tape.op(half, view(rows)), tape.op(half, view(rows))
        joined = tape.op(graph.f32(width // 2, self.read), view(before), view(now))
        return tape.op(graph.f32(width // 2, self.read), view(joined))


class CompressedAttention:
    """All layers' inputs: the window's cache, and a compressor for each kind of row."""

    def __init__(self, graph: Graph, window: CacheInputs) -> None:
        self.graph = graph
        self.window = window
        self.compressors: dict[int, Compressor] = {}
        self.indexers: dict[int, Compressor] = {}
        size = graph.anatomy.integer("attention.indexer.key_length")
        for layer in graph.anatomy.layers:
            number = layer.index_cache
            if number is None or number in self.compressors:
                continue
            width, ratio = layer.shapes["attn_compressor_ape.weight"]
            overlapping = width > layer.head_k
            mask, rotate = (
                graph.mask_size(number),
                graph.rotation_side(graph.shape.type_k, layer.head_k),
            )
            self.compressors[number] = Compressor(graph, number, ratio, overlapping, mask, rotate)
            if layer.has("indexer_compressor_kv"):
                mask = graph.mask_size(number, True)
                self.indexers[number] = Compressor(graph, number, ratio, True, mask, size)

    def zeros(self, number: int) -> Size:
        """Zeros that are set where rows were picked, in the type of the mask."""
        kind = F16 if self.graph.shape.flash else F32
        return tuple(size * kind / I32 for size in self.graph.picked_rows(number))

    def attend(self, layer: LayerAnatomy, x: Tensor) -> Tensor:
        graph, tape = self.graph, self.graph.tape
        heads, head = layer.heads, layer.head_k
        width = heads * head
        low = graph.norm(graph.mul(layer.rows("attn_q_a"), x))
        q = graph.rope(width, tape.op(graph.f32(width), view(graph.mul(width, low))))
        kv = graph.rope(head, view(graph.norm(graph.mul(head, x))))
        number = layer.index_cache
        if number is not None:
            self.compressors[number].run(layer, "attn_compressor", x)
            if number in self.indexers:
                self.indexers[number].run(layer, "indexer_compressor", x)
        q = graph.rotate(q, width, self.window.k_rotation)
        kv = graph.rotate(kv, head, self.window.k_rotation)
        tape.run(q)
        tape.run(kv)
        tape.store(kv, self.window.k_rows)
        out = self._over_rows(layer, x, low, q)
        if self.window.k_rotation is not None:
            out = graph.rotate(out, width, self.window.k_rotation)
        out = tape.op(graph.f32(width), view(out), graph.place_of_tokens())
        inner = layer.shapes["attn_output_b.weight"][0]
        out = graph.cont(inner, view(graph.mul(inner, view(out))))
        return graph.matrix(layer, "attn_output_b", out)

    def _over_rows(self, layer: LayerAnatomy, x: Tensor, low: Tensor, q: Tensor) -> Tensor:
        """Attention over the window, and over the compressed rows behind it."""
        graph, tape, shape = self.graph, self.graph.tape, self.graph.shape
        heads, head = layer.heads, layer.head_k
        numbers = [self.window.number]
        k: list[Tensor] = []
        mask = self.window.mask
        if layer.index_cache is not None:
            numbers.append(layer.index_cache)
            k = [tape.op(self._cells(numbers, row_bytes(shape.type_k, head) * shape.streams))]
            behind = self._mask(layer, x, low)
            kind = F16 if shape.flash else F32
            mask = tape.op(self._cells(numbers, kind * shape.tokens), mask, behind)
        out_size = graph.f32(heads * head)
        if shape.flash:
            if shape.type_k == "f32":
                half = self._cells(numbers, F16 * head * shape.streams)
                k = [tape.op(half, *map(view, k)), tape.op(half, *map(view, k))]
            scratch = None
            if shape.cuda and shape.type_k not in ("f16", "f32"):
                scratch = self._cells(numbers, F16 * head * shape.streams)
            return tape.op(out_size, view(q), *map(view, k), view(mask), scratch=scratch)
        kq = tape.op(self._cells(numbers, F32 * heads * shape.tokens), *map(view, k), view(q))
        kq = tape.over(kq, view(mask))
        unpacked = F16 if shape.type_k in ("f16", "bf16") else F32
        v = tape.op(self._cells(numbers, unpacked * head * shape.streams), *map(view, k))
        return graph.cont(heads * head, view(tape.op(out_size, v, kq)))

    def _cells(self, numbers: list[int], size: float) -> Size:
        """So many bytes for every cell of these caches."""
        each = [self.graph.tape.per_cell(number, size) for number in numbers]
        return tuple(map(sum, zip(*each, strict=True)))

    def _mask(self, layer: LayerAnatomy, x: Tensor, low: Tensor) -> Tensor:
        """Which compressed rows are seen: all, or those that an indexer picks."""
        graph, tape = self.graph, self.graph.tape
        assert layer.index_cache is not None
        number = layer.index_cache
        mask = self.compressors[number].mask
        indexer = self.indexers.get(number)
        if indexer is None:
            return mask
        width = layer.rows("indexer.attn_q_b")
        q = graph.rope(width, view(graph.mul(width, low)))
        assert indexer.rotation is not None
        q = tape.op(graph.f32(width), indexer.rotation, view(q))
        weights = graph.unary(graph.mul(layer.rows("indexer.proj"), x))
        scores = tape.op(
            tape.per_cell(number, F32 * graph.shape.tokens), view(q), view(weights), indexer.mask
        )
        picked = graph.picked_rows(number)
        top = tape.op(picked, tape.op(picked, scores))
        hidden = tape.over(mask)
        shown = tape.write(hidden, tape.over(tape.leaf(self.zeros(number))), view(top))
        return tape.over(shown, mask)
