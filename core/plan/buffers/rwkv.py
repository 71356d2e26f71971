"""RWKV 6 and 7: token shift, time mix and channel mix."""

from __future__ import annotations

from core.plan.buffers.anatomy import LayerAnatomy
from core.plan.buffers.parts import F32, Graph
from core.plan.buffers.recurrent import States
from core.plan.buffers.tape import Tensor, view


class TokenShift:
    """The last token of the step before, in front of the tokens of this one."""

    def __init__(self, graph: Graph, states: States) -> None:
        self.graph = graph
        count = graph.anatomy.integer("token_shift_count", 2)
        self.held = states.gather(count * graph.anatomy.embedding)

    def before(self, x: Tensor) -> Tensor:
        return self.graph.tape.op(
            self.graph.f32(self.graph.anatomy.embedding), view(self.held), view(x)
        )


def wkv_size(graph: Graph, states: States) -> tuple[tuple[float, ...], int]:
    """Rows of output with the new states behind them; elements of one state."""
    width = graph.anatomy.embedding
    head = graph.anatomy.integer("wkv.head_size")
    elements = width * head
    size = F32 * (width * graph.shape.tokens + elements * states.sequences)
    return graph.tape.fixed(size), elements


def _between(
    graph: Graph, shift: TokenShift, normed: Tensor, y: Tensor, x: Tensor, last: bool
) -> tuple[Tensor, Tensor, Tensor]:
    """After the time mix: the sum, its norm, and how that differs from the token before; what the
    next batch needs is stored."""
    tape, width = graph.tape, graph.anatomy.embedding
    middle = tape.op(graph.f32(width), view(y), view(x))
    ffn_norm = graph.norm(middle, True, True, rms=False)
    before = shift.before(ffn_norm)
    size = tape.fixed(F32 * 2 * width * graph.shape.sequences)
    tape.store(tape.op(size, view(normed), view(ffn_norm)))
    middle, ffn_norm, before = view(middle), view(ffn_norm), view(before)
    if last:
        middle, ffn_norm, before = graph.cut(middle, ffn_norm, before)
    return middle, ffn_norm, tape.op(graph.f32(width), before, ffn_norm, in_place=True)


def rwkv6_layer(graph: Graph, states: States, layer: LayerAnatomy, x: Tensor, last: bool) -> Tensor:
    """One layer of RWKV 6."""
    tape = graph.tape
    width = graph.anatomy.embedding
    shift = TokenShift(graph, states)
    normed = graph.norm(view(x), True, True, rms=False)
    before = shift.before(normed)

    delta = tape.op(graph.f32(width), before, normed, in_place=True)
    mixed = tape.op(
        graph.f32(width), tape.weigh(graph.f32(width), view(delta)), view(normed), in_place=True
    )
    low = layer.rows("time_mix_w1")
    lora = graph.unary(graph.mul(low, mixed))
    lora = graph.cont(low, view(lora))
    five = tape.weigh(graph.f32(5 * width), lora)
    if "time_mix_lerp_fused.weight" in layer.shapes:
        five = tape.over_weight(five)
        five = tape.over(five, view(delta))
        five = tape.over(five, view(normed))
        xw = xk = xv = xr = xg = view(five)
    else:

        def lerp() -> Tensor:
            part = tape.weigh(graph.f32(width), view(five))
            return tape.over(tape.over(part, view(delta)), view(normed))

        xw, xk, xv, xr, xg = lerp(), lerp(), lerp(), lerp(), lerp()
    r = graph.matrix(layer, "time_mix_receptance", xr)
    k = graph.matrix(layer, "time_mix_key", xk)
    v = graph.matrix(layer, "time_mix_value", xv)
    g = graph.unary(graph.matrix(layer, "time_mix_gate", xg))
    w = graph.unary(graph.mul(layer.rows("time_mix_decay_w1"), xw))
    w = tape.over_weight(graph.mul(width, w))
    w = graph.unary(graph.unary(graph.unary(w)))
    size, elements = wkv_size(graph, states)
    state = states.gather(elements)
    out = tape.weigh(size, view(k), view(v), view(r), view(w), view(state))
    tape.store(view(out))
    y = tape.op(graph.f32(width), view(out))
    y = tape.weigh(graph.f32(width), view(y))
    y = tape.over_weight(y)
    y = tape.over(y, g)
    y = graph.mul(width, y)
    middle, ffn_norm, delta = _between(graph, shift, normed, y, x, last)

    def lerp2() -> Tensor:
        part = tape.weigh(graph.f32(width), delta)
        return tape.op(graph.f32(width), part, ffn_norm, in_place=True)

    xk, xr = lerp2(), lerp2()
    r = graph.unary(graph.matrix(layer, "channel_mix_receptance", xr))
    k = graph.unary(graph.unary(graph.matrix(layer, "channel_mix_key", xk)))
    out = tape.over(r, graph.matrix(layer, "channel_mix_value", k))
    return graph.add(out, middle)


def rwkv7_layer(
    graph: Graph,
    states: States,
    layer: LayerAnatomy,
    x: Tensor,
    first_value: list[Tensor],
    last: bool,
) -> Tensor:
    """One layer of RWKV 7; ``first_value`` keeps the V of the first layer for all others."""
    tape = graph.tape
    width = graph.anatomy.embedding
    shift = TokenShift(graph, states)
    normed = graph.norm(view(x), True, True, rms=False)
    before = shift.before(normed)
    gated = layer.has("time_mix_g1", "time_mix_g2")
    count = 6 if gated else 5
    delta = tape.op(graph.f32(width), before, normed, in_place=True)
    many = tape.op(graph.f32(count * width), delta)
    many = tape.over(tape.over_weight(many), normed)
    part = view(many)
    r = graph.matrix(layer, "time_mix_receptance", part)
    w = graph.unary(graph.mul(layer.rows("time_mix_w1"), part))
    w = tape.over_weight(graph.mul(width, w))
    w = graph.unary(graph.unary(graph.unary(w)))
    k = graph.matrix(layer, "time_mix_key", part)
    v = graph.matrix(layer, "time_mix_value", part)
    if not first_value:
        first_value.append(v)
    else:
        difference = tape.op(graph.f32(width), first_value[0], v, in_place=True)
        mix = graph.mul(width, graph.mul(layer.rows("time_mix_v1"), part))
        mix = graph.unary(tape.over_weight(mix))
        v = tape.op(graph.f32(width), v, tape.over(difference, mix), in_place=True)
    g = None
    if gated:
        g = graph.mul(width, graph.unary(graph.mul(layer.rows("time_mix_g1"), part)))
    a = graph.mul(width, graph.mul(layer.rows("time_mix_a1"), part))
    a = graph.unary(tape.over_weight(a))
    kk = tape.op(graph.f32(width), view(tape.weigh(graph.f32(width), k)))
    ka = tape.weigh(graph.f32(width), k)
    k = tape.over(k, tape.over(tape.op(graph.f32(width), a, ka), ka))
    size, elements = wkv_size(graph, states)
    state = states.gather(elements)
    negative = tape.op(graph.f32(width), kk)
    scaled = tape.op(graph.f32(width), kk, view(a), in_place=True)
    out = tape.op(size, view(r), view(w), view(k), view(v), negative, scaled, view(state))
    tape.store(view(out))
    if layer.has("time_mix_ln"):
        y = tape.op(graph.f32(width), view(out))
        y = tape.weigh(graph.f32(width), view(y))
        y = tape.over_weight(y)
    else:
        y = view(out)
    rk = tape.weigh(graph.f32(width), tape.op(graph.f32(width), view(k), view(r)), in_place=True)
    rk = tape.op(graph.f32(width // graph.anatomy.integer("wkv.head_size")), rk)
    vr = tape.op(graph.f32(width), view(v), rk)
    y = tape.op(graph.f32(width), y, view(vr), in_place=True)
    if g is not None:
        y = tape.over(y, g)
    y = graph.mul(width, y)
    middle, ffn_norm, delta = _between(graph, shift, normed, y, x, last)
    xk = tape.op(
        graph.f32(width),
        tape.weigh(graph.f32(width), delta, in_place=True),
        ffn_norm,
        in_place=True,
    )
    k = graph.unary(graph.unary(graph.matrix(layer, "channel_mix_key", xk)))
    return graph.add(graph.matrix(layer, "channel_mix_value", k), middle)
