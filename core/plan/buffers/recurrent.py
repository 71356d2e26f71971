"""Layers with a recurrent state: Mamba, gated delta net, KDA, short convolution, lightning."""

from __future__ import annotations

from core.plan.buffers.anatomy import LayerAnatomy
from core.plan.buffers.parts import F32, Graph
from core.plan.buffers.tape import Tensor, view


class States:
    """Rows of recurrent state: gathered before a layer, stored after it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        tape = graph.tape
        self.sequences = graph.shape.sequences
        size = tape.fixed(F32 * self.sequences)
        self.copy = tape.input(size)
        self.main = tape.part(self.copy, size)
        self.rest = tape.part(self.copy, tape.fixed(F32 * (self.sequences - 1)))

    def gather(self, elements: int) -> Tensor:
        """The states of all sequences, read through the copy list."""
        tape = self.graph.tape
        if not elements:
            return self.copy
        rows = tape.op(tape.fixed(F32 * elements * self.sequences), self.copy)
        tape.run(rows)
        tape.store(view(rows))
        return rows

    def gather_rest(self, elements: int) -> None:
        """All but the first state, where the operation itself reads the states."""
        tape = self.graph.tape
        if self.sequences == 1:
            tape.store(self.rest)
        else:
            rows = tape.op(tape.fixed(F32 * elements * (self.sequences - 1)), self.rest)
            tape.store(view(rows))


def _convolved(
    graph: Graph, states: States, source: Tensor, channels: int, kernel: int, held: Tensor
) -> Tensor:
    """The convolution over the state and the tokens after it."""
    joined = _joined(graph, states, source, channels, kernel, held)
    return graph.tape.weigh(graph.f32(channels), joined)


def mamba(graph: Graph, states: States, layer: LayerAnatomy, x: Tensor) -> Tensor:
    """Mamba 1: one head of one value per channel."""
    tape, anatomy = graph.tape, graph.anatomy
    inner = anatomy.integer("ssm.inner_size")
    state = anatomy.integer("ssm.state_size")
    rank = anatomy.integer("ssm.time_step_rank")
    kernel = anatomy.integer("ssm.conv_kernel")
    held = states.gather((kernel - 1) * inner)
    xz = graph.mul(2 * inner, view(x))
    u = graph.unary(tape.over_weight(_convolved(graph, states, xz, inner, kernel, held)))
    db = graph.mul(rank + 2 * state, u)
    if layer.has("ssm_dt_norm") or anatomy.number("ssm.dt_b_c_rms"):
        named = layer.has("ssm_dt_norm")
        dt = graph.norm_of(rank, view(db), named)
        b = graph.norm_of(state, view(db), named)
        c = graph.norm_of(state, view(db), named)
    else:
        dt = graph.cont(rank, view(db))
        b = c = view(db)
    dt = tape.over_weight(graph.mul(inner, dt))
    size = _with_state(graph, inner, state * inner, states)
    y = tape.weigh(size, view(u), dt, b, c, states.main)
    tape.run(y)
    states.gather_rest(state * inner)
    tape.store(view(y))
    skipped = tape.over_weight(u)
    y = tape.op(graph.f32(inner), view(y), skipped, in_place=True)
    gated = tape.op(graph.f32(inner), graph.cont(inner, view(xz)), y)
    return view(graph.matrix(layer, "ssm_out", gated))


def mamba2(graph: Graph, states: States, layer: LayerAnatomy, x: Tensor) -> Tensor:
    """Mamba 2: heads, groups, one convolution over x, B and C."""
    tape, anatomy = graph.tape, graph.anatomy
    inner = anatomy.integer("ssm.inner_size")
    state = anatomy.integer("ssm.state_size")
    heads = anatomy.integer("ssm.time_step_rank")
    groups = anatomy.integer("ssm.group_count")
    kernel = anatomy.integer("ssm.conv_kernel")
    channels = inner + 2 * groups * state
    held = states.gather((kernel - 1) * channels)
    packed = graph.mul(layer.rows("ssm_in"), x)
    joined = _convolved(graph, states, packed, channels, kernel, held)
    xbc = graph.unary(tape.over_weight(joined))
    dt = tape.over_weight(graph.cont(heads, view(packed)))
    y = tape.weigh(
        _with_state(graph, inner, state * inner, states),
        view(xbc),
        dt,
        view(xbc),
        states.main,
    )
    tape.run(y)
    states.gather_rest(state * inner)
    tape.store(view(y))
    skipped = tape.weigh(graph.f32(inner), view(xbc))
    y = tape.op(graph.f32(inner), view(y), skipped, in_place=True)
    y = tape.op(graph.f32(inner), graph.cont(inner, view(packed)), y)
    if layer.has("ssm_norm"):
        y = view(graph.norm_of(inner, view(y)))
    return graph.matrix(layer, "ssm_out", view(y))


def plamo_mamba(graph: Graph, states: States, layer: LayerAnatomy, x: Tensor) -> Tensor:
    """PLaMo 2's Mamba: heads, no groups in the convolution, norms of dt, B and C."""
    tape, anatomy = graph.tape, graph.anatomy
    inner = anatomy.integer("ssm.inner_size")
    state = anatomy.integer("ssm.state_size")
    kernel = anatomy.integer("ssm.conv_kernel")
    groups = anatomy.integer("ssm.group_count")
    dt_width = max(64, anatomy.embedding // 16)
    held = states.gather((kernel - 1) * (inner + 2 * groups * state))
    packed = graph.cont(2 * inner, view(graph.mul(2 * inner, view(x))))
    u = graph.cont(inner, view(packed))
    u = graph.unary(_convolved(graph, states, u, inner, kernel, held))
    bcdt = graph.mul(layer.rows("ssm_x"), u)
    dt = tape.over_weight(graph.mul(inner, graph.norm_of(dt_width, view(bcdt))))
    b = graph.norm_of(state, view(bcdt))
    c = graph.norm_of(state, view(bcdt))
    size = _with_state(graph, inner, state * inner, states)
    y = tape.op(size, view(u), dt, view(b), view(c), states.main)
    tape.run(y)
    states.gather_rest(state * inner)
    tape.store(view(y))
    skipped = tape.weigh(graph.f32(inner), view(u))
    y = tape.op(graph.f32(inner), view(y), skipped, in_place=True)
    gated = tape.op(graph.f32(inner), graph.cont(inner, view(packed)), y)
    return view(graph.matrix(layer, "ssm_out", view(gated)))


def gated_delta_net(graph: Graph, states: States, layer: LayerAnatomy, x: Tensor) -> Tensor:
    """Qwen's linear attention: convolved Q, K and V, a matrix state per value head."""
    tape, anatomy = graph.tape, graph.anatomy
    inner = anatomy.integer("ssm.inner_size")
    key = anatomy.integer("ssm.state_size")
    k_heads = anatomy.integer("ssm.group_count")
    v_heads = anatomy.integer("ssm.time_step_rank")
    kernel = anatomy.integer("ssm.conv_kernel")
    value = inner // v_heads
    channels = inner + 2 * k_heads * key
    held = states.gather((kernel - 1) * channels)
    if layer.has("attn_qkv"):
        mixed = graph.matrix(layer, "attn_qkv", x)
        z = graph.matrix(layer, "attn_gate", x)
    else:
        packed = graph.mul(layer.rows("ssm_in"), x)
        q = graph.cont(k_heads * key, view(packed))
        k = graph.cont(k_heads * key, view(packed))
        v = graph.cont(inner, view(packed))
        mixed = tape.op(graph.f32(2 * k_heads * key), q, k)
        mixed = tape.op(graph.f32(channels), mixed, v)
        z = graph.cont(inner, view(packed))
    source = _joined(graph, states, mixed, channels, kernel, held)
    state = states.gather(value * value * v_heads)
    convolved = graph.unary(tape.weigh(graph.f32(channels), source))
    q = graph.unary(tape.op(graph.f32(k_heads * key), view(convolved)))
    k = graph.unary(tape.op(graph.f32(k_heads * key), view(convolved)))
    if layer.has("ssm_ba"):  # qwen3next: one weight for both, heads repeated
        both = graph.mul(layer.rows("ssm_ba"), x)
        beta = graph.unary(graph.cont(v_heads, view(both)))
        gate = graph.cont(v_heads, view(both))
        gate = tape.over_weight(graph.unary(tape.over_weight(gate)))
        if k_heads != v_heads:
            q = tape.op(graph.f32(v_heads * key), view(q))
            k = tape.op(graph.f32(v_heads * key), view(k))
    else:
        beta = graph.unary(view(graph.mul(v_heads, x)))
        gate = tape.weigh(graph.f32(v_heads), view(graph.mul(v_heads, x)))
        gate = tape.over_weight(graph.unary(gate))
    out = tape.op(
        _with_state(graph, inner, value * value * v_heads, states),
        q,
        k,
        view(convolved),
        view(gate),
        beta,
        view(state),
    )
    tape.store(view(out))
    normed = graph.norm_of(inner, view(out))
    gated = tape.over(normed, graph.unary(view(z)))
    return view(graph.matrix(layer, "ssm_out", view(gated)))


def _joined(
    graph: Graph, states: States, source: Tensor, channels: int, kernel: int, held: Tensor
) -> Tensor:
    """The state before the tokens; its last columns are stored for the next batch."""
    tape = graph.tape
    rows = (kernel - 1) * states.sequences + graph.shape.tokens
    joined = tape.op(tape.fixed(F32 * channels * rows), view(held), view(source))
    tape.store(view(joined))
    return joined


def kimi_delta(graph: Graph, states: States, layer: LayerAnatomy, x: Tensor) -> Tensor:
    """Kimi delta attention: separate convolutions of Q, K and V, a gate per channel."""
    tape, anatomy = graph.tape, graph.anatomy
    heads = layer.heads
    size = anatomy.integer("kda.head_dim")
    kernel = anatomy.integer("ssm.conv_kernel")
    inner = heads * size
    held = states.gather(3 * (kernel - 1) * inner)
    parts = []
    for name in ("attn_q", "attn_k", "attn_v"):
        part = graph.matrix(layer, name, x)
        parts.append(graph.unary(_convolved(graph, states, part, inner, kernel, held)))
    state = states.gather(size * size * heads)
    q = graph.unary(tape.op(graph.f32(inner), view(parts[0])))
    k = graph.unary(tape.op(graph.f32(inner), view(parts[1])))
    gate = graph.mul(layer.rows("ssm_f_a"), x)
    if layer.has("ssm_f_b"):
        gate = graph.mul(inner, gate)
    gate = graph.unary(tape.over_weight(gate))
    gate = tape.weigh(graph.f32(inner), view(gate))
    beta = graph.unary(view(graph.mul(heads, x)))
    out = tape.op(
        _with_state(graph, inner, size * size * heads, states),
        q,
        k,
        view(parts[2]),
        view(gate),
        beta,
        view(state),
    )
    tape.store(view(out))
    y = graph.cont(inner, view(out))
    gate = graph.mul(layer.rows("ssm_g_a"), x)
    if layer.has("ssm_g_b"):
        gate = graph.mul(inner, gate)
    normed = graph.norm_of(inner, view(y))
    gated = tape.over(normed, graph.unary(view(gate)))
    return graph.matrix(layer, "attn_output", graph.cont(inner, gated))


def short_convolution(graph: Graph, states: States, layer: LayerAnatomy, x: Tensor) -> Tensor:
    """LFM2's gated short convolution."""
    tape, anatomy = graph.tape, graph.anatomy
    width = anatomy.embedding
    kernel = anatomy.integer("shortconv.l_cache")
    held = states.gather((kernel - 1) * width)
    packed = graph.mul(3 * width, view(x))
    bx = tape.op(graph.f32(width), view(packed), view(packed))
    out = _convolved(graph, states, bx, width, kernel, held)
    y = tape.op(graph.f32(width), view(packed), out, in_place=True)
    return view(graph.mul(width, y))


class Lightning:
    """MiniMax's linear attention; its decays are inputs shared by all layers."""

    def __init__(self, graph: Graph) -> None:
        tape, shape = graph.tape, graph.shape
        heads = graph.anatomy.layers[0].heads
        self.slopes = tape.input(tape.fixed(F32 * heads))
        self.q_decay = tape.input(tape.fixed(F32 * heads * shape.tokens))
        self.k_decay = tape.input(tape.fixed(F32 * heads * shape.tokens))
        per_sequence = shape.tokens // shape.sequences
        self.diagonal = tape.input(
            tape.fixed(F32 * per_sequence * per_sequence * heads * shape.sequences)
        )

    def run(self, graph: Graph, states: States, layer: LayerAnatomy, x: Tensor) -> Tensor:
        tape = graph.tape
        heads, size = layer.heads, layer.head_k
        width = heads * size
        sequences = states.sequences
        held_size = tape.fixed(F32 * size * size * heads * sequences)
        qkv = graph.unary(graph.mul(3 * width, view(x)))
        old = states.gather(size * size * heads)
        q_decay = graph.unary(tape.over(self.q_decay))
        q_scaled = tape.op(graph.f32(width), view(qkv), q_decay)
        before = tape.op(graph.f32(width), view(old), view(q_scaled))
        scores = tape.op(tape.sizes[self.diagonal], view(qkv), view(qkv))
        decay = graph.unary(tape.over(self.diagonal))
        scores = tape.over(scores, decay)
        v = graph.cont(width, view(qkv))
        within = tape.op(graph.f32(width), v, scores)
        out = graph.add(before, within)
        tape.run(out)
        slope = graph.unary(tape.over(tape.over(self.slopes)))
        old_scaled = tape.op(held_size, view(old), view(slope))
        k_decay = graph.unary(tape.over(self.k_decay))
        k = graph.cont(width, view(tape.op(graph.f32(width), view(qkv), k_decay)))
        new = graph.add(old_scaled, tape.op(held_size, k, v))
        tape.store(new)
        out = graph.cont(width, view(out))
        normed = graph.norm_of(width, view(out))
        gate = graph.unary(graph.mul(width, view(x)))
        gated = graph.add(gate, normed)
        return view(graph.matrix(layer, "attn_output", gated))


def _with_state(graph: Graph, width: int, elements: int, states: States) -> tuple[float, ...]:
    """Rows of output and, behind them, the new states."""
    return graph.tape.fixed(F32 * (width * graph.shape.tokens + elements * states.sequences))
