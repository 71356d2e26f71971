"""Who answers at an address, and with which model: a few short questions, none of which makes it
load or write anything."""

from __future__ import annotations

import re
from collections.abc import Callable
from time import monotonic
from typing import Any

from core.language import tr
from core.measure.dialects.pieces import count_in, object_in, words_in
from core.measure.discovery.values import Found, State
from core.measure.recorder import refusal
from core.measure.run import ServerKind, Target
from core.measure.wire.ask import Answer, NoAnswerError, ask
from core.measure.wire.http import Address
from core.problems import Problem

CONNECT_SECONDS = 0.3
ANSWER_SECONDS = 1.5
WHOLE_SECONDS = 15.0  # for all questions together
_MOST_LOADED = 64  # models that an Ollama is asked about one by one
_FROM = re.compile(r"^FROM[ \t]+(\S.*)$", re.M)
_CACHE_TYPE = re.compile(rb'cache_dtype="([^"]{1,20})"')

Question = Callable[..., Answer]


def probe(address: Address, key: str = "", seconds: float = ANSWER_SECONDS) -> Found:
    """What runs at this address. Never raises.

    The order of the questions is the one that tells servers apart: many answer to another one's
    paths as well, so that a list of models alone says little.
    """

    end = monotonic() + WHOLE_SECONDS

    def question(path: str, body: dict[str, Any] | None = None) -> Answer:
        left = max(0.0, end - monotonic())
        return ask(address, path, body, key, CONNECT_SECONDS, min(seconds, left))

    try:
        return _probe(address.url, question)
    except NoAnswerError as error:
        state = State.REFUSED if error.refused else State.SILENT
        return Found(address.url, state, problem=_no_answer(address.url, error))


def _probe(url: str, question: Question) -> Found:
    first = question("/")
    if first.headers.get("server", "").lower().startswith("llama.cpp"):
        return _llama_server(url, question)
    if b"Ollama is running" in first.body:
        return _ollama(url, question)
    props = question("/props").object()
    if "build_info" in props and "total_slots" in props:
        return _llama_server(url, question)
    studio = _lm_studio(url, question)
    if studio is not None:
        return studio
    return _openai(url, question)


def _llama_server(url: str, question: Question) -> Found:
    kind = ServerKind.LLAMA_SERVER
    health = question("/health")
    if health.status == 503:
        return Found(url, State.LOADING, kind, problem=refusal(503, health.body))
    answer = question("/props")
    if answer.status in (401, 403):
        return Found(url, State.NEEDS_KEY, kind, problem=refusal(answer.status, answer.body))
    props, models = answer.object(), _entries(question("/v1/models"), "data")
    if any("status" in each for each in models):
        return _router(url, models, words_in(props, "build_info"))
    meta = object_in(models[0], "meta") if models else {}
    slots = question("/slots").json()
    first = slots[0] if isinstance(slots, list) and slots and isinstance(slots[0], dict) else {}
    context = count_in(object_in(props, "default_generation_settings"), "n_ctx")
    speculative = first.get("speculative")
    target = Target(
        kind,
        url,
        model=words_in(props, "model_alias") or (words_in(models[0], "id") if models else ""),
        version=words_in(props, "build_info"),
        model_path=words_in(props, "model_path"),
        model_bytes=count_in(meta, "size"),
        parameters=count_in(meta, "n_params"),
        label=words_in(props, "model_ftype") or words_in(meta, "ftype"),
        context=context or count_in(first, "n_ctx") or count_in(meta, "n_ctx"),
        trained_context=count_in(meta, "n_ctx_train"),
        slots=count_in(props, "total_slots"),
        speculative=speculative if isinstance(speculative, bool) else None,
    )
    state = State.SLEEPING if props.get("is_sleeping") is True else State.READY
    return Found(url, state, kind, (target,))


def _router(url: str, models: list[dict[str, Any]], version: str) -> Found:
    """A llama-server that starts others by a model's name."""
    from core.measure.discovery.processes import count_of, options_of, without_secrets

    targets, names = [], []
    for each in models:
        name, status = words_in(each, "id"), object_in(each, "status")
        names.append(name)
        if words_in(status, "value") != "loaded":
            continue
        given = status.get("args")
        arguments = [str(word) for word in given] if isinstance(given, list) else []
        options = options_of(arguments, {})
        context, layers = options.get("context", ""), options.get("gpu_layers", "")
        meta = object_in(each, "meta")
        targets.append(
            Target(
                ServerKind.LLAMA_SERVER,
                url,
                model=name,
                version=version,
                model_path=words_in(each, "path") or options.get("model", ""),
                model_bytes=count_in(meta, "size"),
                parameters=count_in(meta, "n_params"),
                context=count_in(meta, "n_ctx") or count_of(context),
                cache_k=options.get("cache_k", ""),
                cache_v=options.get("cache_v", ""),
                gpu_layers=count_of(layers),
                arguments=without_secrets(arguments),
            )
        )
    state = State.READY if targets else State.EMPTY
    return Found(url, state, ServerKind.LLAMA_SERVER, tuple(targets), tuple(names))


def _ollama(url: str, question: Question) -> Found:
    kind = ServerKind.OLLAMA
    version = words_in(question("/api/version").object(), "version")
    listed = question("/api/ps")
    if listed.status in (401, 403):
        return Found(url, State.NEEDS_KEY, kind, problem=refusal(listed.status, listed.body))
    targets = []
    for each in _entries(listed, "models")[:_MOST_LOADED]:
        name = words_in(each, "model") or words_in(each, "name")
        details = object_in(each, "details")
        shown = question("/api/show", {"model": name}).object()
        info = object_in(shown, "model_info")
        trained = next((name for name in info if name.endswith(".context_length")), "")
        path = _FROM.search(words_in(shown, "modelfile"))
        # What is loaded is more than the weights: the cache and the buffers as well.
        loaded, on_gpu = count_in(each, "size"), count_in(each, "size_vram")
        targets.append(
            Target(
                kind,
                url,
                model=name,
                version=version,
                model_path=path[1].strip().strip('"') if path else "",
                parameters=count_in(info, "general.parameter_count"),
                label=words_in(details, "quantization_level"),
                context=count_in(each, "context_length") or None,
                trained_context=count_in(info, trained),
                loaded_bytes=loaded,
                gpu_bytes=on_gpu,
            )
        )
    names = [words_in(each, "name") for each in _entries(question("/api/tags"), "models")]
    state = State.READY if targets else State.EMPTY
    return Found(url, state, kind, tuple(targets), tuple(filter(None, names)))


def _lm_studio(url: str, question: Question) -> Found | None:
    """LM Studio, by its newer list of models or its older one; None for anything else."""
    kind = ServerKind.LM_STUDIO
    newer = question("/api/v1/models")
    entries = [each for each in _entries(newer, "models") if "loaded_instances" in each]
    if entries:
        targets = []
        for each in entries:
            instances = each["loaded_instances"]
            for instance in instances if isinstance(instances, list) else []:
                if not isinstance(instance, dict):
                    continue
                config = object_in(instance, "config")
                targets.append(
                    Target(
                        kind,
                        url,
                        model=words_in(instance, "id") or words_in(each, "key"),
                        model_bytes=None,
                        label=words_in(object_in(each, "quantization"), "name"),
                        context=count_in(config, "context_length"),
                        trained_context=count_in(each, "max_context_length"),
                        slots=count_in(config, "parallel"),
                    )
                )
        names = tuple(filter(None, (words_in(each, "key") for each in entries)))
        return Found(url, State.READY if targets else State.EMPTY, kind, tuple(targets), names)
    older = [
        each for each in _entries(question("/api/v0/models"), "data") if words_in(each, "state")
    ]
    if not older:
        return None
    targets = [
        Target(
            kind,
            url,
            model=words_in(each, "id"),
            label=words_in(each, "quantization"),
            context=count_in(each, "loaded_context_length"),
            trained_context=count_in(each, "max_context_length"),
        )
        for each in older
        if each["state"] == "loaded"
    ]
    names = tuple(words_in(each, "id") for each in older)
    return Found(url, State.READY if targets else State.EMPTY, kind, tuple(targets), names)


def _openai(url: str, question: Question) -> Found:
    """vLLM, or anything else that lists its models; else another program."""
    listed = question("/v1/models")
    if listed.status in (401, 403):
        kind = ServerKind.VLLM if _version(question) else ServerKind.OPENAI
        return Found(url, State.NEEDS_KEY, kind, problem=refusal(listed.status, listed.body))
    if listed.status == 503:
        return Found(
            url, State.LOADING, ServerKind.OPENAI, problem=refusal(listed.status, listed.body)
        )
    models = _entries(listed, "data")
    if listed.status != 200 or "data" not in listed.object():
        return Found(url, State.OTHER, problem=_other(url))
    vllm = any(words_in(each, "owned_by") == "vllm" for each in models)
    kind = ServerKind.VLLM if vllm else ServerKind.OPENAI
    cache = ""
    if vllm:
        match = _CACHE_TYPE.search(question("/metrics").body)
        cache = match[1].decode() if match else ""
    targets = tuple(
        Target(
            kind,
            url,
            model=words_in(each, "id"),
            version=_version(question) if vllm else "",
            model_path=words_in(each, "root") if vllm else "",
            context=count_in(each, "max_model_len"),
            cache_k="" if cache == "auto" else cache,
            cache_v="" if cache == "auto" else cache,
        )
        for each in models
    )
    return Found(url, State.READY if targets else State.EMPTY, kind, targets)


def _version(question: Question) -> str:
    return words_in(question("/version").object(), "version")


def _entries(answer: Answer, name: str) -> list[dict[str, Any]]:
    """The objects in a list of an answer; none where it has no such list."""
    values = answer.object().get(name) if answer.status == 200 else None
    return [each for each in values if isinstance(each, dict)] if isinstance(values, list) else []


def _no_answer(url: str, error: NoAnswerError) -> Problem:
    if error.refused:
        return Problem(
            "not_running",
            tr("Nothing listens at {url}.", url=url),
            advice=tr("Start the server, or check the port."),
        )
    return Problem(
        "no_answer",
        tr("{url} gave no answer: {why}.", url=url, why=error),
        advice=tr("Is it a model's server?"),
    )


def _other(url: str) -> Problem:
    return Problem(
        "no_model_server",
        tr("What answers at {url} is no model server that this program knows.", url=url),
        advice=tr("It must list its models at /v1/models."),
    )
