"""The options of llama.cpp's programs: which decide a plan, which cannot, and which do not matter.

From llama.cpp b11434: common/arg.cpp (llama-server, llama-cli, llama-completion) and
tools/llama-bench. Names are as written there, the short form first.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum, auto

from core.language import mark


class Meaning(StrEnum):
    """What an option that is taken over sets."""

    MODEL = auto()
    CONTEXT = auto()
    BATCH = auto()
    UBATCH = auto()
    SLOTS = auto()
    UNIFIED = auto()
    APART = auto()
    SWA_FULL = auto()
    FLASH = auto()
    CACHE_K = auto()
    CACHE_V = auto()
    GPU_LAYERS = auto()
    CPU_MOE = auto()
    ALL_CPU_MOE = auto()
    DEVICE = auto()
    SPLIT_MODE = auto()
    PROJECTOR = auto()
    PROJECTOR_ON_GPU = auto()
    PROJECTOR_IN_RAM = auto()
    DRAFT = auto()
    DRAFTED = auto()
    DRAFT_CACHE_K = auto()
    DRAFT_CACHE_V = auto()
    DRAFT_LAYERS = auto()
    DRAFT_KIND = auto()
    PROMPT = auto()  # llama-bench: tokens read
    GENERATED = auto()  # llama-bench: tokens written
    DEPTH = auto()  # llama-bench: tokens in the cache before


@dataclass(frozen=True, slots=True)
class Flag:
    """``values`` is how many words follow it. ``meaning`` says what it sets; else ``why`` says why
    a plan cannot have it, and where that is empty too it does not matter for memory or speed."""

    name: str
    values: int
    meaning: Meaning | None = None
    why: str = ""


_TAKEN = (
    (Meaning.MODEL, 1, "-m --model"),
    (Meaning.CONTEXT, 1, "-c --ctx-size"),
    (Meaning.BATCH, 1, "-b --batch-size"),
    (Meaning.UBATCH, 1, "-ub --ubatch-size"),
    (Meaning.SLOTS, 1, "-np --parallel"),
    (Meaning.UNIFIED, 0, "-kvu --kv-unified"),
    (Meaning.APART, 0, "-no-kvu --no-kv-unified"),
    (Meaning.SWA_FULL, 0, "--swa-full"),
    (Meaning.FLASH, 1, "-fa --flash-attn"),
    (Meaning.CACHE_K, 1, "-ctk --cache-type-k"),
    (Meaning.CACHE_V, 1, "-ctv --cache-type-v"),
    (Meaning.GPU_LAYERS, 1, "-ngl --gpu-layers --n-gpu-layers"),
    (Meaning.CPU_MOE, 1, "-ncmoe --n-cpu-moe"),
    (Meaning.ALL_CPU_MOE, 0, "-cmoe --cpu-moe"),
    (Meaning.DEVICE, 1, "-dev --device"),
    (Meaning.SPLIT_MODE, 1, "-sm --split-mode"),
    (Meaning.PROJECTOR, 1, "-mm --mmproj"),
    (Meaning.PROJECTOR_ON_GPU, 0, "--mmproj-offload"),
    (Meaning.PROJECTOR_IN_RAM, 0, "--no-mmproj-offload"),
    (Meaning.DRAFT, 1, "-md --model-draft --spec-draft-model"),
    (Meaning.DRAFTED, 1, "--spec-draft-n-max --draft --draft-n --draft-max"),  # older names too
    (Meaning.DRAFT_CACHE_K, 1, "-ctkd --cache-type-k-draft --spec-draft-type-k"),
    (Meaning.DRAFT_CACHE_V, 1, "-ctvd --cache-type-v-draft --spec-draft-type-v"),
    (Meaning.DRAFT_LAYERS, 1, "-ngld --gpu-layers-draft --n-gpu-layers-draft --spec-draft-ngl"),
    (Meaning.DRAFT_KIND, 1, "--spec-type"),
)
_BENCH_TAKEN = (
    (Meaning.PROMPT, 1, "-p --n-prompt"),
    (Meaning.GENERATED, 1, "-n --n-gen"),
    (Meaning.DEPTH, 1, "-d --n-depth"),
)

_DRAFT = mark("how a draft is made decides its speed, which is estimated by its acceptance")
_TENSORS = mark("a plan lays out whole layers and experts, not single tensors")
_GROWS = mark("what fills with use is shown beside the budget, by the engine's own limit")
_FIT = mark("what --fit changes is not known before it runs; the plan has the options as written")
_THREADS = mark("the plan takes the bandwidth of all cores")
_ADAPTER = mark("an adapter's or vector's memory is not in the plan")
_OTHER_FILE = mark("it names another model; the open file stays")
_EMBEDDING = mark("a plan is for writing text, not for embeddings")
_REMOVED = mark("llama.cpp has removed it")
_LOADING = mark("it decides how the file is loaded and how much of it may be left on disk")
_DECLINED = (
    (_OTHER_FILE, 1, "-hfd -hfrd --hf-repo-draft --spec-draft-hf"),
    (_THREADS, 1, "-td --threads-draft --spec-draft-threads -tbd --threads-batch-draft"),
    (_THREADS, 1, "--spec-draft-threads-batch -Cd --cpu-mask-draft --spec-draft-cpu-mask"),
    (_THREADS, 1, "-Crd --cpu-range-draft --spec-draft-cpu-range --cpu-strict-draft"),
    (_THREADS, 1, "--spec-draft-cpu-strict --prio-draft --spec-draft-prio --poll-draft"),
    (_TENSORS, 1, "--spec-draft-poll -otd --override-tensor-draft --spec-draft-override-tensor"),
    (_TENSORS, 1, "-ncmoed --n-cpu-moe-draft --spec-draft-ncmoe --spec-draft-n-cpu-moe"),
    (_DRAFT, 1, "--spec-draft-n-min --draft-min --draft-n-min --draft-p-split"),
    (_DRAFT, 1, "--spec-draft-p-split --draft-p-min --spec-draft-p-min --spec-draft-sampling"),
    (_DRAFT, 1, "-devd --device-draft --spec-draft-device --spec-synth-len"),
    (_DRAFT, 1, "--spec-synth-rates --spec-ngram-mod-n-min --spec-ngram-mod-n-max"),
    (_DRAFT, 1, "--spec-ngram-mod-n-match --spec-ngram-simple-size-n --spec-ngram-simple-size-m"),
    (_DRAFT, 1, "--spec-ngram-simple-min-hits --spec-ngram-map-k-size-n"),
    (_DRAFT, 1, "--spec-ngram-map-k-size-m --spec-ngram-map-k-min-hits"),
    (_DRAFT, 1, "--spec-ngram-map-k4v-size-n --spec-ngram-map-k4v-size-m"),
    (_DRAFT, 1, "--spec-ngram-map-k4v-min-hits -lcs --lookup-cache-static -lcd"),
    (_DRAFT, 1, "--lookup-cache-dynamic"),
    (_DRAFT, 0, "-cmoed --cpu-moe-draft --spec-draft-cpu-moe --spec-draft-backend-sampling"),
    (_DRAFT, 0, "--no-spec-draft-backend-sampling --spec-default --mtp --dflash --eagle3"),
    (_REMOVED, 1, "--spec-ngram-size-n --spec-ngram-size-m --spec-ngram-min-hits"),
    (_TENSORS, 1, "-ot --override-tensor"),
    (mark("feed-forward weights of a dense model in RAM are not planned"), 1, "-ncffn --n-cpu-ffn"),
    (mark("a cache in RAM beside layers on the GPU is not planned"), 0, "-nkvo --no-kv-offload"),
    (
        mark("layers are shared by free memory, as llama.cpp does by itself"),
        1,
        "-ts --tensor-split",
    ),
    (mark("every GPU is planned"), 1, "-mg --main-gpu"),
    (mark("computers joined by a network are not planned"), 1, "--rpc"),
    (_GROWS, 1, "-cram --cache-ram -ctxcp --ctx-checkpoints --swa-checkpoints"),
    (mark("a limit per slot in a shared pool is not planned"), 1, "--kv-unified-per-slot"),
    (mark("a cache of experts on the GPU is not planned"), 1, "--moe-cache-mib --moe-cache"),
    (_FIT, 1, "-fit --fit -fitt --fit-target -fitc --fit-ctx -fitp --fit-print"),
    (_THREADS, 1, "-t --threads -tb --threads-batch -C --cpu-mask -Cr --cpu-range -Cb"),
    (_THREADS, 1, "--cpu-mask-batch -Crb --cpu-range-batch --numa"),
    (
        mark("weights for the processor are planned as llama.cpp lays them out"),
        0,
        "-nr --no-repack",
    ),
    (mark("weights for the processor are planned as llama.cpp lays them out"), 0, "--no-host"),
    (mark("weights in RAM are planned as the processor's work"), 0, "--no-op-offload"),
    (_LOADING, 1, "-lm --load-mode -lzm --lazy-mode"),
    (_ADAPTER, 1, "--lora --lora-scaled --control-vector --control-vector-scaled"),
    (_ADAPTER, 2, "--control-vector-layer-range"),
    (_OTHER_FILE, 1, "-mmu --mmproj-url"),
    (mark("a projector is planned on the first GPU or in RAM"), 1, "-mmdev --mmproj-device"),
    (mark("a projector counts where it is added beside the model"), 0, "--mmproj-auto"),
    (_OTHER_FILE, 1, "-mu --model-url -dr --docker-repo -hf -hfr --hf-repo -hff --hf-file"),
    (_OTHER_FILE, 1, "--models-dir --models-preset"),
    (_OTHER_FILE, 0, "--fim-qwen-1.5b-default --fim-qwen-3b-default --fim-qwen-7b-default"),
    (_OTHER_FILE, 0, "--fim-qwen-7b-spec --fim-qwen-14b-spec --fim-qwen-30b-default"),
    (_OTHER_FILE, 0, "--gpt-oss-20b-default --gpt-oss-120b-default --embd-gemma-default"),
    (_OTHER_FILE, 0, "--vision-gemma-4b-default --vision-gemma-12b-default"),
    (_EMBEDDING, 0, "--embedding --embeddings --rerank --reranking"),
    (_EMBEDDING, 1, "--pooling --attention"),
    (
        mark("keys of the file that a command changes are planned as the file has them"),
        1,
        "--override-kv",
    ),
    (mark("group attention is not planned"), 1, "-gan --grp-attn-n -gaw --grp-attn-w"),
)

_NO_MATTER = {
    0: """-h --help --usage --version -cl --cache-list --completion-bash --verbose-prompt
    --display-prompt --no-display-prompt --cache-idle-slots --no-cache-idle-slots --context-shift
    --no-context-shift --perf --no-perf --show-timings --no-show-timings -e --escape --no-escape
    --prompt-cache-all --prompt-cache-ro -sp --special -cnv --conversation -no-cnv
    --no-conversation -st --single-turn -i --interactive -if --interactive-first -mli
    --multiline-input --in-prefix-bos --warmup --no-warmup --spm-infill --ignore-eos -bs
    --backend-sampling -kvo --kv-offload --repack -cb --cont-batching -nocb --no-cont-batching
    --no-mmproj --no-mmproj-auto --list-devices --check-tensors --op-offload --parse-special
    --reuse-port --cors-credentials --no-cors-credentials --ui-mcp-proxy --webui-mcp-proxy
    --no-ui-mcp-proxy --no-webui-mcp-proxy -ag --agent -no-ag --no-agent --ui --webui --no-ui
    --no-webui --cache-prompt --no-cache-prompt --metrics --props --slots --no-slots
    --models-autoload --no-models-autoload --jinja --no-jinja --reasoning-preserve
    --no-reasoning-preserve --skip-chat-parsing --no-skip-chat-parsing --prefill-assistant
    --no-prefill-assistant --lora-init-without-apply --simple-io --log-disable --log-jsonl
    --no-log-jsonl -v --verbose --log-verbose --offline --log-prefix --no-log-prefix
    --log-timestamps --no-log-timestamps --progress""",
    1: """--server-base -co --color --cpu-strict --prio --poll --cpu-strict-batch --prio-batch
    --poll-batch -n --predict --n-predict --keep -cms --checkpoint-min-step -p --prompt -sys
    --system-prompt -f --file -sysf --system-prompt-file --in-file -bf --binary-file -ptc
    --print-token-count --prompt-cache -r --reverse-prompt --in-prefix --in-suffix --samplers -s
    --seed --sampler-seq --sampling-seq --temp --temperature --top-k --top-p --min-p --top-nsigma
    --top-n-sigma --xtc-probability --xtc-threshold --typical --typical-p --repeat-last-n
    --repeat-penalty --presence-penalty --frequency-penalty --dry-multiplier --dry-base
    --dry-allowed-length --dry-penalty-last-n --dry-sequence-breaker --adaptive-target
    --adaptive-decay --dynatemp-range --dynatemp-exp --mirostat --mirostat-lr --mirostat-ent -l
    --logit-bias --grammar --grammar-file -j --json-schema -jf --json-schema-file --rope-scaling
    --rope-scale --rope-freq-base --rope-freq-scale --yarn-orig-ctx --yarn-ext-factor
    --yarn-attn-factor --yarn-beta-slow --yarn-beta-fast -dt --defrag-thold -ns --sequences --image
    --audio --video --image-min-tokens --image-max-tokens --mtmd-batch-max-tokens --video-fps
    --video-timestamp-interval --video-ffmpeg-dir -a --alias --tags -hft --hf-token --host --port
    --path --cors-origins --cors-methods --cors-headers --api-prefix --ui-config --webui-config
    --ui-config-file --webui-config-file --tools --tools-runtime --mcp-servers-config
    --mcp-servers-json --api-key --api-key-file --ssl-key-file --ssl-cert-file
    --chat-template-kwargs -to --timeout --sse-ping-interval --threads-http --cache-reuse
    --slot-save-path --media-path --models-max --reasoning-format -rea --reasoning
    --reasoning-effort --reasoning-budget --reasoning-budget-message --chat-template
    --chat-template-file -sps --slot-prompt-similarity --sleep-idle-seconds --log-file
    --log-prompts-dir --log-colors -lv --verbosity --log-verbosity --embd-normalize""",
}
_BENCH_NO_MATTER = {
    0: "--no-warmup --progress -v --verbose --list-devices --offline -h --help",
    1: """-r --repetitions --prio --delay -o --output -oe --output-err --n-gen-warmup --cpu-strict
    --poll --embeddings -embd""",
}
# In llama-bench these switches have a word behind them, and -p and -n mean something else.
_BENCH_DECLINED = (
    (mark("only one test is planned: what -p, -n and -d say"), 1, "-pg"),
    (mark("a cache in RAM beside layers on the GPU is not planned"), 1, "-nkvo --no-kv-offload"),
    (mark("weights in RAM are planned as the processor's work"), 1, "-nopo --no-op-offload"),
    (
        mark("weights for the processor are planned as llama.cpp lays them out"),
        1,
        "--no-host --repack",
    ),
    (_LOADING, 1, "-mmp --mmap -dio --direct-io"),
)

# Environment variables of arg.cpp whose option decides a plan.
ENVIRONMENT = {
    "LLAMA_ARG_MODEL": "--model",
    "LLAMA_ARG_CTX_SIZE": "--ctx-size",
    "LLAMA_ARG_BATCH": "--batch-size",
    "LLAMA_ARG_UBATCH": "--ubatch-size",
    "LLAMA_ARG_N_PARALLEL": "--parallel",
    "LLAMA_ARG_KV_UNIFIED": "--kv-unified",
    "LLAMA_ARG_SWA_FULL": "--swa-full",
    "LLAMA_ARG_FLASH_ATTN": "--flash-attn",
    "LLAMA_ARG_CACHE_TYPE_K": "--cache-type-k",
    "LLAMA_ARG_CACHE_TYPE_V": "--cache-type-v",
    "LLAMA_ARG_N_GPU_LAYERS": "--gpu-layers",
    "LLAMA_ARG_N_CPU_MOE": "--n-cpu-moe",
    "LLAMA_ARG_CPU_MOE": "--cpu-moe",
    "LLAMA_ARG_DEVICE": "--device",
    "LLAMA_ARG_SPLIT_MODE": "--split-mode",
}


def _named() -> dict[str, Flag]:
    found: dict[str, Flag] = {}
    for meaning, values, names in _TAKEN:
        found |= {name: Flag(name, values, meaning) for name in names.split()}
    for why, values, names in _DECLINED:
        found |= {name: Flag(name, values, None, why) for name in names.split()}
    for values, names in _NO_MATTER.items():
        found |= {name: Flag(name, values) for name in names.split()}
    return found


def _bench() -> dict[str, Flag]:
    found = dict(LLAMA)
    for meaning, values, names in _BENCH_TAKEN:
        found |= {name: Flag(name, values, meaning) for name in names.split()}
    for why, values, names in _BENCH_DECLINED:
        found |= {name: Flag(name, values, None, why) for name in names.split()}
    for values, names in _BENCH_NO_MATTER.items():
        found |= {name: Flag(name, values) for name in names.split()}
    return found


LLAMA = _named()
BENCH = _bench()


def of(word: str, known: dict[str, Flag]) -> Flag | None:
    """The option that a word names, underscores for hyphens as llama.cpp allows."""
    if word.startswith("--"):
        word = word.replace("_", "-")
    return known.get(word)
