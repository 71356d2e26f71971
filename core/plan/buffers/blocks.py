"""One layer of a model: attention, recurrence or both, then its feed forward and its norms."""

from __future__ import annotations

from core.plan.buffers.anatomy import Anatomy, LayerAnatomy
from core.plan.buffers.compressed import CompressedAttention
from core.plan.buffers.decoder import Decoder
from core.plan.buffers.hyper import Hyper
from core.plan.buffers.latent import latent_attention
from core.plan.buffers.parts import I32, Graph, Shape
from core.plan.buffers.recurrent import (
    Lightning,
    States,
    gated_delta_net,
    kimi_delta,
    mamba,
    mamba2,
    plamo_mamba,
    short_convolution,
)
from core.plan.buffers.rwkv import rwkv6_layer, rwkv7_layer
from core.plan.buffers.sparse import BlockSparse
from core.plan.buffers.tape import Tensor, view

# What the tensors do not say, by architecture (llama.cpp b11434, src/models).


def names(text: str) -> frozenset[str]:
    """A set of architectures from a line of them."""
    return frozenset(text.split())


# Positions enter otherwise than by a rotation of Q and K.
_NO_ROPE = names("gpt2 starcoder bloom mpt refact jais jamba nemotron_h nemotron_h_moe kimi-linear")
# Every so many layers has none, and only layers with a window have one.
_ROPE_STEP = {"smollm3": 4, "llama4": 4, "afmoe": 4}
_ROPE_IN_WINDOW = names("cohere2 cohere2moe exaone-moe maple muse-glimmer dots3note")
# Squared ReLU without a gate: one step more.
_SQUARED = names("nemotron nemotron_h nemotron_h_moe arcee jais2")
# The weights of the chosen experts are divided by their sum whatever the file says.
_NORMALIZED = names(
    "llama qwen3moe qwen3vlmoe qwen3next qwen35moe dbrx minimax-m2 minimax-01 grok mimo2 "
    "granitemoe granitehybrid granite lfm2moe smallthinker phimoe kimi-linear mellum"
)
# The sum of attention, feed forward and residual, where all three start from one norm.
_RESIDUAL_FIRST = names("cohere2 cohere2moe command-r")
_ATTENTION_FIRST = names("phi2")
# The residual is named first in the sum after attention, or after the feed forward.
_LEADS_FIRST = names("jamba lfm2 lfm2moe openelm")
_LEADS_SECOND = names("jamba lfm2 lfm2moe phi3 phimoe")
# The norm runs before the state is gathered.
_NORM_FIRST = names("qwen3next qwen35 qwen35moe kimi-linear")


class Blocks(Graph):
    """A graph with the words of whole layers."""

    def __init__(self, anatomy: Anatomy, shape: Shape) -> None:
        super().__init__(anatomy, shape)
        self.arch = anatomy.architecture
        self.states: States | None = None
        self.lightning: Lightning | None = None
        self.first_value: list[Tensor] = []
        self.block_sparse: BlockSparse | None = None
        self.compressed: CompressedAttention | None = None
        self.hyper: Hyper | None = None
        self.decoder: Decoder | None = None
        self.masks: list[Tensor] = []  # of a batch without a cache
        self.windowed = False
        self.tokens: Tensor | None = None

    # Attention layers

    def qkv(self, layer: LayerAnatomy, x: Tensor) -> tuple[Tensor, Tensor | None, Tensor | None]:
        if layer.has("attn_qkv"):
            both = self.matrix(layer, "attn_qkv", x)
            if self.anatomy.number("attention.clamp_kqv"):
                both = self.unary(both)
            return view(both), view(both), view(both)
        q = self.matrix(layer, "attn_q", x)
        k = self.matrix(layer, "attn_k", x) if layer.has("attn_k") else None
        v = self.matrix(layer, "attn_v", x) if layer.has("attn_v") else k
        if layer.cache is not None and not layer.own_cache:
            k = v = None
        return view(q), None if k is None else view(k), None if v is None else view(v)

    def attention(self, layer: LayerAnatomy, x: Tensor) -> Tensor:
        """Standard attention: fused or separate Q, K and V, norms of heads, rotation, gate."""
        q_width = layer.heads * layer.head_k
        k_width = layer.kv_heads * layer.head_k
        v_width = layer.kv_heads * layer.head_v
        q, k, v = self.qkv(layer, x)
        gate = None
        gated_q = layer.has("attn_q") and layer.rows("attn_q") == 2 * q_width
        if gated_q:
            gate = q
        elif layer.has("attn_gate"):
            gate = self.matrix(layer, "attn_gate", x)
        if layer.has("attn_q_norm"):
            q = self.norm_of(q_width, q)
            if "attn_q_norm.bias" in layer.shapes:
                q = self.tape.over_weight(q)
        if k is not None and layer.has("attn_k_norm"):
            k = self.norm_of(k_width, k)
        if v is not None and self.arch in ("gemma4", "gemma3n"):
            v = self.norm_of(v_width, v, False)
        if self.roped(layer):
            q = self.rope(q_width, q)
            if k is not None:
                k = self.rope(k_width, k)
        if layer.cache is None:
            assert k is not None and v is not None
            out = self.attend_batch(self.batch_mask(layer), q, k, v, layer)
            return self.projected(layer, out, gate, gated_q)
        cache = self.caches[layer.cache]
        if layer.has("indexer.q_proj") and self.block_sparse is not None:
            assert k is not None and v is not None
            return self.block_sparse.attend(self, layer, cache, x, q, k, v)
        out = self.attend(
            cache,
            q,
            k,
            v,
            layer,
            head_k=layer.head_k,
            head_v=layer.head_v,
            kv_heads=layer.kv_heads,
            k_before_v=self.windowed,
        )
        return self.projected(layer, out, gate, gated_q)

    def projected(
        self, layer: LayerAnatomy, out: Tensor, gate: Tensor | None, gated_q: bool
    ) -> Tensor:
        """The gate over what attention gave, and the output projection."""
        width = layer.heads * layer.head_v
        if gate is not None:
            if gated_q:
                gate = self.cont(layer.heads * layer.head_k, gate)
            gate = self.unary(gate)
            out = view(self.tape.op(self.f32(width), out, gate, in_place=True))
        if layer.has("attn_sub_norm"):
            out = self.norm_of(width, out)
        if layer.has("attn_output"):
            out = self.matrix(layer, "attn_output", out)
        return out

    def batch_mask(self, layer: LayerAnatomy) -> Tensor:
        """Who sees whom in a batch without a cache; one more mask where layers have a window."""
        return self.masks[min(layer.index, len(self.masks) - 1)]

    def roped(self, layer: LayerAnatomy) -> bool:
        """Whether positions enter this layer as a rotation of Q and K."""
        step = _ROPE_STEP.get(self.arch)
        if step is not None:
            return (layer.index + 1) % step != 0
        if self.arch in _ROPE_IN_WINDOW:
            return layer.windowed or layer.index < self.anatomy.integer("leading_dense_block_count")
        return self.arch not in _NO_ROPE and "position_embd.weight" not in self.anatomy.globals

    def recurrent(self, layer: LayerAnatomy, x: Tensor) -> Tensor:
        """Whatever keeps a state, by its tensors."""
        assert self.states is not None
        if layer.has("ssm_f_a"):
            return kimi_delta(self, self.states, layer, x)
        if layer.has("shortconv.in_proj"):
            return short_convolution(self, self.states, layer, x)
        if layer.has("ssm_ba") or layer.has("ssm_alpha"):
            return gated_delta_net(self, self.states, layer, x)
        if layer.has("ssm_x"):
            step = plamo_mamba if self.arch == "plamo2" else mamba
            return step(self, self.states, layer, x)
        if layer.has("ssm_in"):
            return mamba2(self, self.states, layer, x)
        if self.lightning is None:
            self.lightning = Lightning(self)
        return self.lightning.run(self, self.states, layer, x)

    def mix(self, layer: LayerAnatomy, x: Tensor, residual: Tensor) -> Tensor:
        """What a layer does across tokens."""
        if layer.cache is None and layer.recurrent:
            return self.recurrent(layer, x)
        if layer.has("attn_kv_a_mqa"):
            return latent_attention(self, layer, x, roped=self.arch not in _NO_ROPE)
        out = self.attention(layer, x)
        if layer.has("ssm_in"):  # both at once
            again = self.named_norm(layer, "attn_norm", residual)
            out = self.add(out, self.recurrent(layer, again))
        return out

    # Whole layers

    def mixture(self, layer: LayerAnatomy, x: Tensor) -> Tensor:
        used = self.anatomy.integer("expert_used_count", 1)
        scale = self.anatomy.number("expert_weights_scale")
        routed = x
        if layer.has("ffn_latent_down"):
            routed = self.mul(layer.rows("ffn_latent_down"), x)
        probabilities = None
        if self.arch in ("nemotron_h", "nemotron_h_moe"):
            probabilities = self.mul(layer.rows("ffn_gate_inp"), x)
        chosen = None
        if layer.has("ffn_gate_tid2eid"):  # a look-up by token
            assert self.tokens is not None
            chosen = self.tape.weigh(self.tape.fixed(I32 * used * self.rows), self.tokens)
        out = self.experts(
            layer,
            routed,
            used,
            probabilities=probabilities,
            chosen=chosen,
            normalized=bool(self.anatomy.number("expert_weights_norm")) or self.arch in _NORMALIZED,
            scaled=scale not in (0.0, 1.0),
            weights_softmax=self.anatomy.integer("expert_gating_func") == 3
            or self.arch == "gpt-oss",
            weigh_first=self.arch == "llama4",
            groups=self.anatomy.integer("expert_group_count"),
            groups_used=self.anatomy.integer("expert_group_used_count"),
            squared=self.arch in _SQUARED,
        )
        if layer.has("ffn_latent_up"):
            out = self.mul(layer.rows("ffn_latent_up"), out)
        if layer.has("ffn_down_shexp"):
            shared = self.feed_forward(layer, x, "_shexp", squared=self.arch in _SQUARED)
            if layer.has("ffn_gate_inp_shexp"):
                gate = self.unary(self.tape.weigh(self.f32(1), x))
                shared = self.tape.over(shared, gate)
            out = self.add(out, shared)
        return out

    def mlp(self, layer: LayerAnatomy, x: Tensor) -> Tensor:
        if self.arch == "refact" and not layer.has("ffn_down"):
            return self.unary(x)  # its graph knows no experts
        if layer.has("ffn_gate_inp", "ffn_down_exps"):
            return self.mixture(layer, x)
        return self.feed_forward(layer, x, squared=self.arch in _SQUARED)

    def both_feed_forwards(self, layer: LayerAnatomy, normed: Tensor, middle: Tensor) -> Tensor:
        """Gemma 4: a dense one and experts side by side, routed by what the layer came in with."""
        dense = self.named_norm(layer, "post_ffw_norm_1", self.feed_forward(layer, normed))
        x = self.named_norm(layer, "pre_ffw_norm_2", middle)
        routed = self.tape.over_weight(self.unary(self.norm(middle, False)))
        logits = self.mul(layer.rows("ffn_gate_inp"), routed)
        used = self.anatomy.integer("expert_used_count", 1)
        experts = self.experts(layer, x, used, probabilities=logits, normalized=True)
        return self.add(dense, self.named_norm(layer, "post_ffw_norm_2", experts))

    def layer(self, layer: LayerAnatomy, x: Tensor, last: bool) -> Tensor:
        """One block: mix across tokens, feed forward, and how norms and residuals stand."""
        if layer.has("time_mix_w1"):
            assert self.states is not None
            if layer.has("time_mix_a1"):
                return rwkv7_layer(self, self.states, layer, x, self.first_value, last)
            return rwkv6_layer(self, self.states, layer, x, last)
        if layer.has("hc_attn_fn"):
            return self.hyper_layer(layer, x)
        if self.decoder is not None:
            return self.decoder.layer(layer, x, last)
        residual = x
        normed = x
        if self.arch == "minimax-01":
            return self.scaled_layer(layer, x, last)
        if layer.has("attn_output_norm", "layer_output_norm") and not layer.has("attn_norm"):
            return self.norm_after(layer, x, last)
        if layer.has("attn_norm") or self.arch == "olmo":
            normed = self.named_norm(layer, "attn_norm", x)
        if self.arch in _NORM_FIRST:
            self.tape.run(normed)
        feeds = layer.has("ffn_down") or layer.has("ffn_down_exps")
        if not feeds and not layer.shapes:
            return x
        if feeds and not layer.has("attn_output") and not layer.recurrent_tensors:
            return self.add(self.mlp(layer, normed), residual)
        shared_norm = normed
        if layer.has("attn_norm_2") and not layer.has("ffn_norm"):
            normed = self.named_norm(layer, "attn_norm_2", x)
        out = self.mix(layer, normed, residual)
        if not feeds:
            if last:
                out, residual = self.cut(out, residual)
            return self.add(out, residual)
        post = "post_attention_norm"
        if layer.has("attn_output_norm"):
            post = "attn_output_norm"
        has_post = layer.has(post)
        before_ffn = has_post and not layer.has("ffn_norm") and not layer.has("post_ffw_norm")
        if not layer.has("ffn_norm") and not has_post and self.arch != "olmo":
            return self.parallel(layer, out, residual, shared_norm, last)
        if last:
            out, residual = self.cut(out, residual)
        if has_post and not before_ffn:
            out = self.named_norm(layer, post, out)
        if self.anatomy.number("use_parallel_residual") and self.arch == "gptneox":
            normed = self.named_norm(layer, "ffn_norm", residual)
            return self.add(self.add(self.mlp(layer, normed), residual), out)
        middle = self.add(*_in_order(out, residual, self.arch in _LEADS_FIRST))
        normed = middle
        if before_ffn:
            normed = self.named_norm(layer, post, middle)
        elif layer.has("ffn_norm") or self.arch == "olmo":
            normed = self.named_norm(layer, "ffn_norm", middle)
        if layer.has("pre_ffw_norm_2"):
            out = self.both_feed_forwards(layer, normed, middle)
        else:
            out = self.mlp(layer, normed)
        for name in ("post_ffw_norm", "layer_out_norm", "layer_output_norm"):
            if layer.has(name):
                out = self.named_norm(layer, name, out)
        return self.add(*_in_order(out, middle, self.arch in _LEADS_SECOND))

    def hyper_layer(self, layer: LayerAnatomy, x: Tensor) -> Tensor:
        """A stream of several copies, mixed around attention and feed forward."""
        assert self.hyper is not None and self.compressed is not None
        entered, after, between = self.hyper.enter(layer, "attn", x)
        normed = self.named_norm(layer, "attn_norm", entered)
        x = self.hyper.leave(self.compressed.attend(layer, normed), x, after, between)
        entered, after, between = self.hyper.enter(layer, "ffn", x)
        for needed in (x, after, between):
            self.tape.run(needed)
        out = self.mlp(layer, self.named_norm(layer, "ffn_norm", entered))
        return self.hyper.leave(out, x, after, between)

    def norm_after(self, layer: LayerAnatomy, x: Tensor, last: bool) -> Tensor:
        """BERT: the norms follow the sums."""
        out = self.attention(layer, x)
        if last:
            out, x = self.cut(out, x)
        middle = self.named_norm(layer, "attn_output_norm", self.add(out, x))
        out = self.add(self.mlp(layer, middle), middle)
        return self.named_norm(layer, "layer_output_norm", out)

    def scaled_layer(self, layer: LayerAnatomy, x: Tensor, last: bool) -> Tensor:
        """MiniMax 01: the residual is what the norm gave, scaled."""
        normed = self.named_norm(layer, "attn_norm", x)
        if layer.has("attn_norm_2"):
            out = self.recurrent(layer, normed)
        else:
            out = self.attention(layer, normed)
        residual = normed
        if last:
            out, residual = self.cut(out, residual)
        middle = self.add(out, self.unary(residual))
        normed = self.named_norm(layer, "ffn_norm", middle)
        return self.add(self.mixture(layer, normed), self.unary(normed))

    def parallel(
        self, layer: LayerAnatomy, out: Tensor, residual: Tensor, normed: Tensor, last: bool
    ) -> Tensor:
        """Attention and feed forward side by side, from one norm."""
        if last:
            out, residual, normed = self.cut(out, residual, normed)
        mlp = self.mlp(layer, normed)
        if self.arch in _RESIDUAL_FIRST:
            return self.add(self.add(mlp, residual), out)
        if self.arch in _ATTENTION_FIRST:
            return self.add(self.add(out, mlp), residual)
        return self.add(self.add(mlp, out), residual)


def _in_order(out: Tensor, residual: Tensor, leads: bool) -> tuple[Tensor, Tensor]:
    return (residual, out) if leads else (out, residual)
