"""Attention over a latent row (MLA), with and without an indexer that picks rows."""

from __future__ import annotations

from core.plan.buffers.anatomy import LayerAnatomy
from core.plan.buffers.parts import F32, CacheInputs, Graph
from core.plan.buffers.tape import Tensor, view


def latent_attention(graph: Graph, layer: LayerAnatomy, x: Tensor, *, roped: bool = True) -> Tensor:
    """K is one latent row with its rotated part; V a view of it, multiplied out afterwards.

    Without the split K and V weights (``attn_k_b``) the latent row is multiplied out first and the
    cache holds ordinary heads.
    """
    tape, heads = graph.tape, layer.heads
    assert layer.cache is not None
    rope = graph.anatomy.integer("rope.dimension_count")
    rank = graph.anatomy.integer("attention.kv_lora_rank")
    low = None
    if layer.has("attn_q_a"):
        low = graph.norm(graph.mul(layer.rows("attn_q_a"), x))
        q_of, q_name = low, "attn_q_b"
    else:
        q_of, q_name = x, "attn_q"
    top_k = None
    if layer.index_cache is not None and layer.has("indexer.attn_q_b"):
        assert low is not None
        top_k = _pick_rows(graph, layer, x, low)
    q_width = layer.rows(q_name)
    q = graph.mul(q_width, q_of)
    packed = graph.mul(layer.rows("attn_kv_a_mqa"), x)
    k_rope = view(packed)
    if roped:
        k_rope = graph.rope(rope, k_rope)
    row = graph.norm_of(rank, view(packed))

    if not layer.has("attn_k_b"):
        return _multiplied_out(graph, layer, q, q_width, k_rope, row, rope, roped)

    absorbed = tape.weigh(graph.f32(heads * rank), view(q))
    q_rope = graph.rope(heads * rope, view(q)) if roped else view(q)
    q_all = tape.op(graph.f32(heads * (rank + rope)), view(absorbed), q_rope)
    k_all = tape.op(graph.f32(rank + rope), view(row), k_rope)
    v_head = layer.shapes["attn_v_b.weight"][1]
    cache = graph.caches[layer.cache]
    mask = None
    if top_k is not None:
        # The rows go into the cache before the mask of the picked ones is made.
        tape.run(q_all)
        tape.run(row)
        tape.run(k_all)
        tape.store(k_all, cache.k_rows)
        mask = _picked_mask(graph, cache, top_k)
    out = graph.attend(
        cache,
        q_all,
        None if top_k is not None else k_all,
        None if top_k is not None else row,
        layer,
        head_k=rank + rope,
        head_v=rank,
        kv_heads=1,
        latent=v_head,
        mask=mask,
    )
    if layer.has("attn_gate"):  # one value per head
        gate = graph.unary(view(graph.mul(heads, x)))
        out = view(tape.over(view(out), gate))
        out = graph.cont(heads * v_head, out)
    return graph.matrix(layer, "attn_output", out)


def _multiplied_out(
    graph: Graph,
    layer: LayerAnatomy,
    q: Tensor,
    q_width: int,
    k_rope: Tensor,
    row: Tensor,
    rope: int,
    roped: bool,
) -> Tensor:
    tape, heads = graph.tape, layer.heads
    assert layer.cache is not None
    both = graph.mul(layer.rows("attn_kv_b"), row)
    v_width = heads * layer.head_v
    v = graph.cont(v_width, view(both))
    if roped:
        q = graph.rope(q_width, view(q))
    repeated = tape.op(graph.f32(heads * rope), k_rope)
    k = tape.op(graph.f32(q_width), view(both), repeated)
    out = graph.attend(
        graph.caches[layer.cache],
        view(q),
        view(k),
        view(v),
        layer,
        head_k=q_width // heads,
        head_v=layer.head_v,
        kv_heads=layer.kv_heads,
    )
    return graph.matrix(layer, "attn_output", out)


def _pick_rows(graph: Graph, layer: LayerAnatomy, x: Tensor, low: Tensor) -> Tensor:
    """The indexer: scores of every cached row, and the numbers of the best ones."""
    tape, anatomy = graph.tape, graph.anatomy
    assert layer.index_cache is not None
    cache = graph.caches[layer.index_cache]
    heads = anatomy.integer("attention.indexer.head_count")
    size = anatomy.integer("attention.indexer.key_length")
    q = graph.rope(heads * size, view(graph.mul(heads * size, low)))
    k = graph.norm(graph.mul(size, x), True, True, rms=False)
    k = graph.rope(size, view(k))
    if cache.k_rotation is not None:
        q = tape.op(graph.f32(heads * size), cache.k_rotation, q)
        k = tape.op(graph.f32(size), cache.k_rotation, k)
    tape.store(k, cache.k_rows)
    weights = graph.mul(heads, x)
    weights = tape.op(graph.f32(heads), view(weights))
    scores = tape.op(
        tape.per_cell(cache.number, F32 * graph.shape.tokens), view(q), weights, view(cache.mask)
    )
    best = tape.op(graph.picked_rows(cache.number), scores)
    return tape.op(graph.picked_rows(cache.number), best)


def _picked_mask(graph: Graph, cache: CacheInputs, top_k: Tensor) -> Tensor:
    """The mask with everything hidden but the picked rows."""
    tape = graph.tape
    hidden = tape.over(cache.mask)
    zeros = tape.over(tape.leaf(tape.sizes[top_k]))
    shown = tape.write(hidden, zeros, view(top_k))
    return tape.over(shown, cache.mask)
