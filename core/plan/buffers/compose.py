"""Put a model's graph together: its inputs, the layers given, and what ends it."""

from __future__ import annotations

from core.gguf.header import Array
from core.plan.buffers.altup import Altup, add_per_layer, per_layer_inputs
from core.plan.buffers.anatomy import Anatomy, LayerAnatomy
from core.plan.buffers.blocks import Blocks, names
from core.plan.buffers.compressed import CompressedAttention
from core.plan.buffers.decoder import Decoder
from core.plan.buffers.hyper import Hyper
from core.plan.buffers.parts import F16, F32, I32, I64, CacheInputs, Shape
from core.plan.buffers.recurrent import States
from core.plan.buffers.sparse import BlockSparse
from core.plan.buffers.tape import HOST, Size, Tape, Tensor, view

# What the tensors do not say, by architecture (llama.cpp b11434, src/models).

# A batch is raw embeddings or tokens, never a mixture of both.
_UNMIXED = names("cogvlm deepseek4 graniteswitch eagle3 dflash gemma4-assistant")
# Four positions per token where the rotation has sections.
_MULTI_ROPE = names(
    "qwen2vl paddleocr qwen3vl qwen3vlmoe qwen35 qwen35moe clef qwen4exp qwen3tts glm4 glm4moe "
    "hunyuan_vl bailingmoe3 dflash"
)
_SCALED_TOKENS = names("gemma3 gemma3n gemma4 gemma-embedding")
# Every row goes through the last layer; the output norm's are chosen from.
_LATE_CUT = names(
    "bailingmoe3 gemma4 hy_v3 nemotron_h nemotron_h_moe gpt-oss qwen35 qwen35moe qwen3next step35"
)
# Graphs that end with embeddings instead of logits.
_ENCODERS = names(
    "bert nomic-bert nomic-bert-moe modern-bert neo-bert eurobert jina-bert-v2 jina-bert-v3 "
    "gemma-embedding llama-embed t5encoder"
)


class UnmodelledError(Exception):
    """The file describes no graph that is known here."""


class ModelGraph(Blocks):
    """The graph of one batch through the layers given."""

    def __init__(self, anatomy: Anatomy, shape: Shape) -> None:
        super().__init__(anatomy, shape)
        self.ballast: Tensor | None = None
        self.altup: Altup | None = None
        self.per_layer: Tensor | None = None

    def embed(self) -> Tensor:
        tape, tokens = self.tape, self.shape.tokens
        width = self.anatomy.embedding
        deep = self.anatomy.integer("n_deepstack_layers")
        wide = width * (1 + deep)
        tape.device = HOST
        ids = self.tokens = tape.input(tape.fixed(I32 * tokens))
        raw = tape.input(tape.fixed(F32 * wide * tokens))

        def rows(ids: Tensor) -> Tensor:
            out = tape.weigh(tape.fixed(F32 * width * tokens), ids)
            return tape.op(tape.fixed(F32 * wide * tokens), out) if deep else out

        x = rows(ids)
        tape.run(x)
        tape.run(raw)
        if self.arch not in _UNMIXED:
            mixed_ids = tape.input(tape.fixed(I32 * tokens))
            slots = tape.input(tape.fixed(I64 * tokens))
            mixed = tape.input(tape.fixed(F32 * wide * tokens))
            # Rows are set in a copy that nobody reads: its block is never freed.
            copy = tape.op(tape.fixed(F32 * wide * tokens), mixed)
            tape.keep(copy)
            tape.run(tape.write(copy, rows(mixed_ids), slots))
        if deep:
            x = view(x)
        if self.anatomy.number("embedding_scale"):
            x = tape.op(tape.fixed(F32 * width * tokens), x, in_place=True)
        if self.arch in _SCALED_TOKENS:
            scale = tape.input(tape.fixed(F32 * tokens))
            x = tape.op(tape.fixed(F32 * width * tokens), x, scale, in_place=True)
        tape.run(x)
        return x

    def join(self) -> Tensor:
        """What a draft block reads: tokens and the model's last rows, each normed, side by side."""
        tape, tokens, width = self.tape, self.shape.tokens, self.anatomy.embedding
        tape.device = HOST
        ids = self.tokens = tape.input(tape.fixed(I32 * tokens))
        rows = tape.input(tape.fixed(F32 * width * tokens))
        x = tape.weigh(tape.fixed(F32 * width * tokens), ids)
        tape.run(x)
        both = tape.op(self.f32(2 * width), self.norm(x), self.norm(rows))
        x = tape.weigh(self.f32(width), both)
        tape.run(x)
        return x

    def attach_cache(self, number: int, layers: list[LayerAnatomy], *, k_only: bool) -> CacheInputs:
        tape, shape = self.tape, self.shape
        k_rows = tape.input(tape.fixed(I64 * shape.tokens))
        v_rows = None
        if not k_only:
            widest = 1
            if not shape.flash:
                widest = max(layer.kv_heads * layer.head_v for layer in self.anatomy.layers)
            v_rows = tape.input(tape.fixed(I64 * shape.tokens * widest))
        mask = tape.input(self.mask_size(number))
        k_rotation = v_rotation = None
        if not k_only:
            k_rotation = self.rotation(shape.type_k, {layer.head_k for layer in layers}, True)
            v_rotation = self.rotation(shape.type_v, {layer.head_v for layer in layers}, False)
        return CacheInputs(number, k_rows, v_rows, mask, k_rotation, v_rotation)

    def attach_index_cache(self, number: int) -> CacheInputs:
        """An indexer's: K only, its mask always in f16, its rows rotated whatever their type."""
        tape, shape = self.tape, self.shape
        k_rows = tape.input(tape.fixed(I64 * shape.tokens))
        mask = tape.input(self.mask_size(number, True))
        size = self.anatomy.integer("attention.indexer.key_length")
        rotation = self.rotation("q8_0", {size}, True)
        return CacheInputs(number, k_rows, None, mask, rotation, None)

    def rotation(self, kind: str, heads: set[int], largest: bool) -> Tensor | None:
        """The square matrix that quantized rows are multiplied with: 64, or the largest power of
        two that divides every head."""
        side = self.rotation_side(kind, *heads)
        if not side:
            return None
        if not largest:
            side = 64
        return self.tape.input(self.tape.fixed(F32 * side * side))

    # The whole graph

    def whole(self, layers: list[tuple[LayerAnatomy, int]], output_device: int) -> Tape:
        """The graph over these layers, each on its device."""
        tape, shape, anatomy = self.tape, self.shape, self.anatomy
        x = self.join() if anatomy.draft_head else self.embed()
        self.positions = tape.input(tape.fixed(I32 * shape.tokens * self.position_count()))
        if "position_embd.weight" in anatomy.globals:
            x = self.add(x, tape.weigh(self.f32(anatomy.embedding), self.positions))
        if "token_types.weight" in anatomy.globals:
            x = self.tape.over(x)
        if "token_embd_norm.weight" in anatomy.globals and not self.arch.startswith("lfm2"):
            tape.device = layers[0][1]
            x = self.norm(x, True, "token_embd_norm.bias" in anatomy.globals)
        self.attach_all(layers)
        if "per_layer_token_embd.weight" in anatomy.globals:
            tape.device = layers[0][1]
            if "altup_proj.weight" in anatomy.globals:
                self.altup = Altup(self)
                x = self.altup.spread(x)
            else:
                self.per_layer = per_layer_inputs(self, x)
        # Blocks are picked where every sequence has a stream of its own.
        own_streams = shape.flash and shape.streams == shape.sequences
        if own_streams and any(layer.has("indexer.q_proj") for layer in anatomy.layers):
            self.block_sparse = BlockSparse(self, self.caches[0])
            picked = [device for layer, device in layers if layer.has("indexer.q_proj")]
            count = sum(layer.has("indexer.q_proj") for layer in anatomy.layers)
            self.hold_copies(picked, count, self.block_sparse.copies())
        self.outputs = tape.input(tape.fixed(I32 * shape.outputs))
        if any(layer.has("hc_attn_fn") for layer in anatomy.layers):
            self.hyper = Hyper(self)
            tape.device = layers[0][1]
            x = self.hyper.spread(x)
        late = self.arch in _LATE_CUT or anatomy.draft_head
        for position, (layer, device) in enumerate(layers):
            tape.device = device
            self.rows = shape.tokens
            if self.altup is not None:
                x = self.altup.layer(layer, x, self.attention)
                continue
            last = position == len(layers) - 1 and not late
            x = self.layer(layer, x, last)
            if self.per_layer is not None:
                x = self.add(x, add_per_layer(self, layer, x, self.per_layer))
        if self.altup is not None:
            (x,) = self.cut(self.altup.merge(x))
        if self.hyper is not None:
            tape.device = output_device
            x = self.hyper.merge(x)
        if self.ballast is not None:
            tape.store(self.ballast)
        tape.device = output_device
        ends = ["output_norm"]
        if self.arch.startswith("lfm2"):
            ends.append("token_embd_norm")
        if self.decoder is not None:
            ends.append("dec.output_norm")
        weight = any(f"{name}.weight" in anatomy.globals for name in ends)
        if weight or not is_encoder(anatomy):
            x = self.norm(x, weight, "output_norm.bias" in anatomy.globals)
        if is_encoder(anatomy):
            tape.run(x)
            tape.keep(x)
            return tape
        if not self.is_cut:
            (x,) = self.cut(x)
        logits = tape.weigh(self.f32(anatomy.vocabulary), x)
        tape.run(logits)
        tape.keep(logits)
        return tape

    def attach_all(self, walked: list[tuple[LayerAnatomy, int]]) -> None:
        """Inputs of every cache and of the states.

        Layers that are not walked still have the tensors that are placed before the graph runs.
        """
        attention = [layer for layer in self.anatomy.layers if layer.cache is not None]
        if any(layer.has("attn_compressor_kv") for layer in attention):
            self.attach_compressed(attention, walked)
            return
        numbers = sorted({n for layer in attention if (n := layer.cache) is not None})
        self.windowed = len(numbers) > 1
        for number in numbers:
            own = [layer for layer in attention if layer.cache == number]
            latent = any(layer.has("attn_k_b") for layer in own)
            self.caches[number] = self.attach_cache(number, own, k_only=latent)
        if any(layer.has("cross_attn_q") for layer in attention):
            self.decoder = Decoder(self, self.caches[numbers[0]])
            copies = self.tape.sizes[self.decoder.distances]
            self.hold_copies([n for _, n in walked], len(attention), copies)
        picking = [layer for layer in attention if layer.has("indexer.attn_q_b")]
        for number in {n for layer in picking if (n := layer.index_cache) is not None}:
            self.caches[number] = self.attach_index_cache(number)
            picked = [device for layer, device in walked if layer in picking]
            omitted = len(picking) - len(picked)
            rows = [size * omitted for size in self.picked_rows(number)]
            self.tape.device = picked[-1]
            self.ballast = self.tape.run(self.tape.leaf(tuple(rows)))
        if any(layer.cache is None and not layer.recurrent for layer in self.anatomy.layers):
            tokens = self.shape.tokens
            size = self.tape.fixed((F16 if self.shape.flash else F32) * tokens * tokens)
            masks = 2 if self.anatomy.integer("attention.sliding_window") else 1
            self.masks = [self.tape.input(size) for _ in range(masks)]
        if any(layer.recurrent for layer in self.anatomy.layers):
            self.states = States(self)

    def attach_compressed(
        self, attention: list[LayerAnatomy], walked: list[tuple[LayerAnatomy, int]]
    ) -> None:
        """A window for all layers, and rows for several tokens each."""
        number = attention[0].cache
        assert number is not None
        window = self.attach_cache(number, attention, k_only=True)
        window.k_rotation = self.rotation(self.shape.type_k, {attention[0].head_k}, True)
        self.tape.run(window.mask)
        self.compressed = CompressedAttention(self, window)
        picking = [layer for layer in attention if layer.has("indexer.attn_q_b")]
        picked = [device for layer, device in walked if layer in picking]
        omitted = len(picking) - len(picked)
        if picked and omitted:
            index_cache = picking[0].index_cache
            assert index_cache is not None
            zeros = [size * omitted for size in self.compressed.zeros(index_cache)]
            self.tape.device = picked[-1]
            self.ballast = self.tape.run(self.tape.leaf(tuple(zeros)))

    def hold_copies(self, walked: list[int], count: int, size: Size) -> None:
        """Room for the copies of inputs that layers which are not walked read on a GPU: of
        ``count`` layers those on these devices are walked."""
        omitted = count - len(walked)
        if walked and walked[-1] != HOST and omitted:
            self.tape.device = walked[-1]
            self.ballast = self.tape.run(self.tape.leaf(tuple(omitted * each for each in size)))

    def position_count(self) -> int:
        sections = self.anatomy.metadata.get(f"{self.arch}.rope.dimension_sections")
        sectioned = isinstance(sections, Array) and any(sections.items or ())
        return 4 if sectioned and self.arch in _MULTI_ROPE else 1


def is_encoder(anatomy: Anatomy) -> bool:
    """Whether the graph ends with embeddings instead of logits."""
    causal = anatomy.metadata.get(f"{anatomy.architecture}.attention.causal", True)
    pooled = not causal and 0 < anatomy.integer("pooling_type") < 5
    return pooled or anatomy.architecture in _ENCODERS


def gives_embeddings(anatomy: Anatomy) -> bool:
    """Whether the output buffer holds embeddings beside the logits."""
    return anatomy.architecture == "t5" or is_encoder(anatomy)


def graph(
    anatomy: Anatomy, shape: Shape, layers: list[tuple[LayerAnatomy, int]], output_device: int
) -> Tape:
    """The tape of one batch. Raises UnmodelledError where tensors and keys make no graph."""
    if not layers or not anatomy.embedding or not (anatomy.vocabulary or is_encoder(anatomy)):
        raise UnmodelledError(anatomy.architecture)
    try:
        return ModelGraph(anatomy, shape).whole(layers, output_device)
    except (LookupError, ArithmeticError, AssertionError, TypeError, ValueError) as error:
        # A tensor that the layer's kind needs is not there, or has not the dimensions.
        raise UnmodelledError(anatomy.architecture) from error
