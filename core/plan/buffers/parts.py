"""The pieces that every graph of llama.cpp is put together from (llama-graph.cpp of b11434)."""

from __future__ import annotations

from dataclasses import dataclass

from core.model.cache_size import row_bytes
from core.plan.buffers.anatomy import Anatomy, LayerAnatomy
from core.plan.buffers.tape import Size, Tape, Tensor, view
from core.plan.choice import CUDA_ATTENDS, UNPACKED

F32 = 4
F16 = 2
I32 = 4
I64 = 8

_MOST_EXPERTS = 512  # LLAMA_MAX_EXPERTS (llama-hparams.h)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a plan decides about a graph: rows of a batch, sequences, types.

    ``tokens`` are rounded up to a multiple of ``sequences``. ``streams`` is 1 for a unified cache.
    ``few_cells`` says that an indexer's cache has fewer rows than it picks.
    """

    tokens: int
    outputs: int
    sequences: int
    streams: int
    flash: bool
    type_k: str
    type_v: str
    cuda: bool
    few_cells: bool = False


@dataclass
class CacheInputs:
    """Inputs of one cache, and the rotations of its rows."""

    number: int
    k_rows: Tensor
    v_rows: Tensor | None
    mask: Tensor
    k_rotation: Tensor | None
    v_rotation: Tensor | None


class Graph:
    """A tape with the words of llama.cpp's graphs."""

    def __init__(self, anatomy: Anatomy, shape: Shape) -> None:
        self.anatomy = anatomy
        self.shape = shape
        self.tape = Tape(anatomy.caches)
        self.rows = shape.tokens  # rows that the current layer works on
        self.caches: dict[int, CacheInputs] = {}
        self.positions: Tensor | None = None
        self.outputs: Tensor | None = None  # which rows give logits
        self.is_cut = False
        self.rms = anatomy.number("attention.layer_norm_rms_epsilon") > 0

    # Sizes

    def f32(self, width: int, rows: int | None = None) -> Size:
        return self.tape.fixed(F32 * width * (self.rows if rows is None else rows))

    def mul(self, width: int, *reads: Tensor) -> Tensor:
        """A product with a weight that has so many rows."""
        return self.tape.weigh(self.f32(width), *reads)

    def matrix(self, layer: LayerAnatomy, name: str, x: Tensor, rows: int | None = None) -> Tensor:
        """`mul` with the named weight, its scale and its bias."""
        width = layer.rows(name)
        out = self.tape.weigh(self.f32(width, rows), x)
        for suffix in ("scale", "bias"):
            if f"{name}.{suffix}" in layer.shapes:
                out = self.tape.over_weight(out)
        return out

    def norm(
        self, x: Tensor, weight: bool = True, bias: bool = False, rms: bool | None = None
    ) -> Tensor:
        """RMS norms may lie over what they read, others may not."""
        root = x if x >= 0 else ~x
        size = self.tape.sizes[root]
        out = self.tape.op(size, x, in_place=self.rms if rms is None else rms)
        if weight:
            out = self.tape.over_weight(out)
        if bias:
            out = self.tape.over_weight(out)
        return out

    def named_norm(
        self, layer: LayerAnatomy, name: str, x: Tensor, rms: bool | None = None
    ) -> Tensor:
        return self.norm(x, layer.has(name), f"{name}.bias" in layer.shapes, rms)

    def norm_of(self, width: int, x: Tensor, weight: bool = True) -> Tensor:
        """The norm of a slice of so many columns."""
        out = self.tape.op(self.f32(width), x)
        return self.tape.over_weight(out) if weight else out

    def rope(self, width: int, x: Tensor) -> Tensor:
        return self.tape.op(self.f32(width), x, self.place_of_tokens(), in_place=True)

    def add(self, a: Tensor, b: Tensor) -> Tensor:
        return self.tape.over(a, b)

    def unary(self, x: Tensor) -> Tensor:
        return self.tape.over(x)

    def cont(self, width: int, x: Tensor) -> Tensor:
        return self.tape.op(self.f32(width), x)

    def place_of_tokens(self) -> Tensor:
        """The positions that rotations read."""
        assert self.positions is not None
        return self.positions

    def rotation_side(self, kind: str, *heads: int) -> int:
        """The largest power of two, at least 64, that divides every head: rows of a quantized
        cache are multiplied with a matrix of so many rows; 0 where they are not."""
        if kind in UNPACKED or not all(heads) or any(head % 64 for head in heads):
            return 0
        side = 64
        while all(head % (2 * side) == 0 for head in heads):
            side *= 2
        return side

    def cut(self, *rows: Tensor, copies: int = 1) -> list[Tensor]:
        """Keep only the rows that give logits."""
        assert self.outputs is not None
        self.is_cut = True
        self.rows = self.shape.outputs
        width = self.f32(self.anatomy.embedding * copies)
        return [self.tape.op(width, row, self.outputs) for row in rows]

    # Attention

    def picked_rows(self, cache: int) -> Size:
        """Numbers of the rows that an indexer picks for every token."""
        wanted = self.anatomy.integer("attention.indexer.top_k")
        if self.shape.few_cells:
            return self.tape.per_cell(cache, I32 * self.shape.tokens)
        return self.tape.fixed(I32 * wanted * self.shape.tokens)

    def mask_size(self, cache: int, flash: bool | None = None) -> Size:
        flash = self.shape.flash if flash is None else flash
        return self.tape.per_cell(cache, (F16 if flash else F32) * self.shape.tokens)

    def rotate(self, x: Tensor, width: int, rotation: Tensor | None) -> Tensor:
        """Rows of a quantized cache are rotated; a slice of a wider tensor is copied first."""
        if rotation is None:
            return x
        size = self.f32(width)
        if self.tape.sizes[x if x >= 0 else ~x] != size:
            x = self.tape.op(size, x)
        return view(self.tape.op(size, rotation, x))

    def attend(
        self,
        cache: CacheInputs,
        q: Tensor,
        k: Tensor | None,
        v: Tensor | None,
        layer: LayerAnatomy,
        *,
        head_k: int,
        head_v: int,
        kv_heads: int,
        latent: int = 0,
        k_before_v: bool = False,
        mask: Tensor | None = None,
        bias: Tensor | None = None,
    ) -> Tensor:
        """Rows into the cache, then attention over it; gives heads x head_v columns.

        ``latent`` is the width of a head after the latent V was multiplied out; V is then a view
        of K.
        """
        tape, shape = self.tape, self.shape
        heads = layer.heads
        q = self.rotate(q, heads * head_k, cache.k_rotation)
        if k is not None:
            k = self.rotate(k, kv_heads * head_k, cache.k_rotation)
        if v is not None:
            v = self.rotate(v, kv_heads * head_v, cache.v_rotation)
        tape.run(q)
        for row in (k, v) if k_before_v else (v, k):
            if row is not None:
                tape.run(row)
        if k is not None:
            tape.store(k, cache.k_rows)
        if v is not None and cache.v_rows is not None and not latent:
            tape.store(view(v), cache.v_rows)
        mask = cache.mask if mask is None else mask
        number = cache.number
        out_width = heads * head_v
        if shape.flash and bias is None:
            reads = [view(q)]
            sides = ((shape.type_k, head_k), (shape.type_v, head_v))
            for type_name, width in sides:
                if type_name == "f32":
                    cells = tape.per_cell(number, F16 * width * kv_heads * shape.streams)
                    reads.append(view(tape.op(cells)))
            scratch = None
            if shape.cuda:
                bytes_per_cell = 0
                if shape.type_k not in ("f16", "f32"):
                    bytes_per_cell += F16 * head_k * kv_heads * shape.streams
                if shape.type_v not in ("f16", "f32") and not latent:
                    bytes_per_cell += F16 * head_v * kv_heads * shape.streams
                if bytes_per_cell:
                    scratch = tape.per_cell(number, bytes_per_cell)
            if shape.cuda and not CUDA_ATTENDS.issuperset((shape.type_k, shape.type_v)):
                # CUDA has no kernel for this type: the host attends, over copies of K and V.
                for type_name, width in sides[:1] if latent else sides:
                    cells = tape.per_cell(
                        number, row_bytes(type_name, width * kv_heads) * shape.streams
                    )
                    reads.append(view(tape.external(cells)))
                out = tape.on_host(self.f32(out_width), *reads, view(mask))
            else:
                out = tape.op(self.f32(out_width), *reads, view(mask), scratch=scratch)
            if latent:
                out = self.mul(heads * latent, view(out))
                out = self.cont(heads * latent, view(out))
            out = view(out)
        else:
            kq = tape.op(tape.per_cell(number, F32 * heads * self.rows), view(q))
            if bias is not None:
                kq = tape.over(kq, bias)
            kq = tape.over(kq, view(mask))
            reads = [kq]
            if latent or shape.flash:  # V lies in the cache as it was written
                unpacked = F16 if shape.type_v in ("f16", "bf16") else F32
                width = head_v if latent else head_v * kv_heads
                cells = tape.per_cell(number, unpacked * width * shape.streams)
                reads = [tape.op(cells), kq]
            out = tape.op(self.f32(out_width), *reads)
            if latent:
                out = self.mul(heads * latent, out)
            out = self.cont(heads * (latent or head_v), view(out))
        tape.run(out)
        if cache.v_rotation is not None and not latent:
            out = self.rotate(out, out_width, cache.v_rotation)
        return out

    def attend_batch(
        self, mask: Tensor, q: Tensor, k: Tensor, v: Tensor, layer: LayerAnatomy
    ) -> Tensor:
        """Attention of a batch over itself, without a cache."""
        tape, tokens = self.tape, self.shape.tokens
        for row in (q, k, v):
            tape.run(row)
        heads = layer.heads
        out_width = heads * layer.head_v
        if self.shape.flash:
            half = tape.fixed(F16 * layer.kv_heads * layer.head_k * tokens)
            k = tape.op(half, view(k))
            half = tape.fixed(F16 * layer.kv_heads * layer.head_v * tokens)
            v = tape.op(half, view(v))
            out = tape.op(self.f32(out_width), view(q), k, v, view(mask))
        else:
            kq = tape.op(tape.fixed(F32 * heads * tokens * tokens), view(k), view(q))
            kq = tape.over(kq, view(mask))
            v = self.cont(layer.kv_heads * layer.head_v, view(v))
            out = tape.op(self.f32(out_width), v, kq)
            out = self.cont(out_width, view(out))
        tape.run(out)
        return view(out)

    # Feed forward

    def feed_forward(
        self,
        layer: LayerAnatomy,
        x: Tensor,
        suffix: str = "",
        *,
        squared: bool = False,
    ) -> Tensor:
        """Gated, plain, or with gate and up in one weight of twice the width."""
        up_name, gate_name, down_name = (f"ffn_{n}{suffix}" for n in ("up", "gate", "down"))
        width = layer.shapes[f"{down_name}.weight"][0]
        if layer.has(gate_name):
            up = self.matrix(layer, up_name, x)
            gate = self.matrix(layer, gate_name, x)
            hidden = self.tape.op(self.f32(width), gate, up)
        else:
            up = self.matrix(layer, up_name, x)
            if layer.rows(up_name) == 2 * width:
                hidden = self.tape.op(self.f32(width), up)
            else:
                hidden = self.unary(up)
                if squared:
                    hidden = self.unary(hidden)
        if f"ffn_act{suffix}.scales" in layer.shapes:
            hidden = self.tape.over_weight(hidden)
        return self.matrix(layer, down_name, hidden)

    def experts(
        self,
        layer: LayerAnatomy,
        x: Tensor,
        used: int,
        *,
        suffix: str = "_exps",
        probabilities: Tensor | None = None,
        chosen: Tensor | None = None,
        normalized: bool = False,
        scaled: bool = False,
        weights_softmax: bool = False,
        weigh_first: bool = False,
        groups: int = 0,
        groups_used: int = 0,
        squared: bool = False,
    ) -> Tensor:
        """A mixture of experts: router, choice, the chosen experts and their weighted sum.

        ``probabilities`` and ``chosen`` experts may come from elsewhere.
        """
        tape = self.tape
        down = layer.shapes[f"ffn_down{suffix}.weight"]
        width, out_width, count = down[0], down[1], down[2]
        if not 0 < used <= min(count, _MOST_EXPERTS):
            raise LookupError(f"{used} of {count} experts")
        logits = probabilities
        if logits is None:
            logits = self.mul(layer.rows("ffn_gate_inp"), x)
        if "ffn_gate_inp.bias" in layer.shapes:
            logits = tape.over_weight(logits)
        probs = logits if weights_softmax else self.unary(logits)
        chosen_by = probs
        if "exp_probs_b.bias" in layer.shapes:
            chosen_by = tape.over_weight(probs)
        if weigh_first:
            chosen_by = logits
        if groups > 1:
            per_group = count // groups
            order = tape.op(self.tape.fixed(I32 * count * self.rows), view(chosen_by))
            scores = tape.op(self.f32(2 * groups), view(chosen_by), view(order))
            scores = tape.op(self.f32(groups), view(scores))
            best = tape.op(tape.fixed(I32 * groups * self.rows), view(scores))
            picked = tape.op(self.f32(per_group * groups_used), view(chosen_by), view(best))
            filled = tape.op(self.f32(count), view(chosen_by))
            chosen_by = tape.write(filled, picked, view(best))
        if chosen is None:
            count = layer.rows("ffn_gate_inp")
            chosen = view(tape.op(tape.fixed(I32 * count * self.rows), chosen_by))
        weights = tape.op(self.f32(used), view(probs), chosen)
        if weights_softmax:
            weights = tape.op(self.f32(used), view(weights))
        if normalized:
            total = self.unary(tape.op(self.f32(1), view(weights)))
            weights = tape.op(self.f32(used), view(weights), total)
            if scaled:
                weights = tape.op(self.f32(used), view(weights))
        elif scaled:
            weights = self.unary(weights)
        tape.run(weights)
        x = view(x)
        if weigh_first:
            x = tape.over(tape.op(self.f32(used * out_width), x), view(weights))
        hidden = self.f32(used * width)

        def product(name: str, size: Size, reads: tuple[Tensor, ...]) -> Tensor:
            out = tape.weigh(size, *reads)
            if f"{name}{suffix}.bias" in layer.shapes:
                out = tape.over_weight(out, chosen)
            return out

        if layer.has(f"ffn_gate_up{suffix}"):
            both = product("ffn_gate_up", self.f32(2 * used * width), (x, chosen))
            mixed = tape.op(hidden, view(both))
        else:
            up = product("ffn_up", hidden, (x, chosen))
            if layer.has(f"ffn_gate{suffix}"):
                gate = product("ffn_gate", hidden, (x, chosen))
                mixed = tape.op(hidden, gate, up)
            else:
                mixed = self.unary(up)
                if squared:
                    mixed = self.unary(mixed)
        out = product("ffn_down", self.f32(used * out_width), (mixed, chosen))
        if not weigh_first:
            out = tape.over(out, view(weights))
        tape.run(out)
        if used == 1:
            return self.cont(out_width, view(out))
        total = tape.run(tape.op(self.f32(out_width), view(out), view(out)))
        for _ in range(used - 2):
            total = tape.run(tape.over(total, view(out)))
        return total
