"""Who answers at an address, in which state, with which model: by recorded and written answers."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from time import monotonic, process_time
from typing import Any

import pytest

from core.measure import discovery
from core.measure.discovery import Found, State, discover, find
from core.measure.discovery.processes import (
    Listener,
    listeners,
    options_of,
    with_process,
    without_secrets,
)
from core.measure.run import ServerKind, Target
from core.measure.wire.http import Address
from tests.support.replay import Act, Asked, Pause, Replay, Script, always, answer, replay
from tests.support.wire import recordings


@pytest.fixture(autouse=True)
def no_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The programs of whoever runs the tests are nobody's business."""
    monkeypatch.setattr(discovery, "listeners", lambda: ())


def recorded(name: str) -> Script:
    recording = recordings()[name]
    return always(recording.json(), recording.status, "llama.cpp" if recording.llama_cpp else "")


def llama(build: str, models: str) -> dict[str, Script]:
    return {
        "/": always("<html>", 200, "llama.cpp"),
        "/health": always({"status": "ok"}),
        "/props": recorded(f"{build}/props"),
        "/slots": recorded(f"{build}/slots"),
        "/v1/models": recorded(f"{build}/{models}"),
    }


def found(scripts: dict[str, Script], key: str = "") -> tuple[Found, Replay]:
    with replay(scripts) as server:
        return find(server.url, key), server


@pytest.mark.parametrize(("build", "models"), [("b10434", "models"), ("b11549", "v1_models")])
def test_llama_server_tells_its_model_its_context_and_its_slots(build: str, models: str) -> None:
    server, _ = found(llama(build, models))
    assert (server.state, server.kind) == (State.READY, ServerKind.LLAMA_SERVER)
    (target,) = server.targets
    assert target.model == target.model_path == "gemma3-270m.gguf"
    assert (target.context, target.trained_context, target.slots) == (4096, 32_768, 1)
    assert (target.model_bytes, target.parameters) == (246_587_904, 268_098_176)
    assert target.label == "Q4_K - Medium"
    assert target.speculative is False
    assert (target.cache_k, target.gpu_layers) == ("", None)  # it does not tell


def test_the_context_is_the_one_that_was_loaded_whatever_was_asked_for() -> None:
    """Report M46: asked for 200,000 tokens, loaded 152,576."""
    props = recordings()["b11549/props"].json()
    props["default_generation_settings"]["n_ctx"] = 152_576
    server, _ = found(llama("b11549", "v1_models") | {"/props": always(props)})
    (target,) = server.targets
    assert target.context == 152_576


def test_a_server_that_loads_is_not_ready_yet() -> None:
    server, _ = found(
        llama("b10434", "models") | {"/health": recorded("b10434/err_503_loading_health")}
    )
    assert (server.state, server.targets) == (State.LOADING, ())
    assert server.problem is not None


def test_a_server_that_wants_a_key_says_so_and_gets_it() -> None:
    def props(asked: Asked) -> Iterable[Act]:
        if asked.headers.get("authorization") == "Bearer sk-1":
            return recorded("b10434/props")(asked)
        return recorded("b10434/err_401_no_key")(asked)

    scripts = llama("b10434", "models") | {"/props": props}
    server, _ = found(scripts)
    assert (server.state, server.kind) == (State.NEEDS_KEY, ServerKind.LLAMA_SERVER)
    server, _ = found(scripts, "sk-1")
    assert server.state is State.READY
    assert "sk-1" not in repr(server)


def test_a_server_that_sleeps_is_told_apart() -> None:
    props = recordings()["b11549/props"].json() | {"is_sleeping": True}
    server, _ = found(llama("b11549", "v1_models") | {"/props": always(props)})
    assert server.state is State.SLEEPING
    assert server.targets


def test_a_router_tells_the_models_that_it_runs_and_those_that_it_could() -> None:
    models: Any = {
        "data": [
            {
                "id": "a",
                "path": "/models/a.gguf",
                "status": {
                    "value": "loaded",
                    "args": ["llama-server", "-c", "8192", "-ctk", "q8_0", "--api-key", "geheim"],
                },
            },
            {"id": "b", "status": {"value": "unloaded"}},
        ]
    }
    server, _ = found(llama("b11549", "v1_models") | {"/v1/models": always(models)})
    (target,) = server.targets
    assert (target.model, target.model_path) == ("a", "/models/a.gguf")
    assert (target.context, target.cache_k) == (8192, "q8_0")
    assert server.available == ("a", "b")
    assert "geheim" not in repr(server)


OLLAMA: dict[str, Script] = {
    "/": always("Ollama is running"),
    "/api/version": always({"version": "0.32.9"}),
    "/api/ps": always(
        {
            "models": [
                {
                    "name": "qwen3:14b",
                    "model": "qwen3:14b",
                    "size": 10_300_000_000,
                    "size_vram": 7_100_000_000,
                    "context_length": 4096,
                    "details": {"quantization_level": "Q4_K_M", "parameter_size": "14.8B"},
                }
            ]
        }
    ),
    "/api/show": always(
        {
            "modelfile": "# Modelfile\nFROM /root/.ollama/models/blobs/sha256-abc\nPARAMETER x 1",
            "model_info": {
                "general.parameter_count": 14_768_307_200,
                "qwen3.context_length": 40960,
            },
        }
    ),
    "/api/tags": always({"models": [{"name": "qwen3:14b"}, {"name": "gemma3:270m"}]}),
}


def test_ollama_tells_what_is_loaded_where_it_lies_and_how_much_of_it_is_on_the_gpu() -> None:
    """Report A05: the effective context is the one of /api/ps. Report B07: 7.1 of 10.3 GB."""
    server, played = found(OLLAMA)
    assert (server.state, server.kind) == (State.READY, ServerKind.OLLAMA)
    (target,) = server.targets
    assert target.model == "qwen3:14b"
    assert target.model_path == "/root/.ollama/models/blobs/sha256-abc"
    assert (target.context, target.trained_context) == (4096, 40_960)
    assert (target.loaded_bytes, target.gpu_bytes) == (10_300_000_000, 7_100_000_000)
    assert target.version == "0.32.9"
    assert server.available == ("qwen3:14b", "gemma3:270m")
    # Nothing that would load a model was asked.
    assert {asked.path for asked in played.asked} <= set(OLLAMA)


def test_an_ollama_with_thousands_of_models_is_asked_about_some() -> None:
    many = [{"name": f"m{number}"} for number in range(3000)]
    server, played = found(OLLAMA | {"/api/ps": always({"models": many})})
    assert server.state is State.READY
    assert len(played.bodies("/api/show")) < 100


def test_a_server_that_answers_each_question_late_is_silent_in_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(import_module("core.measure.discovery.probe"), "WHOLE_SECONDS", 0.5)

    def late(asked: Asked) -> Iterable[Act]:
        return [Pause(0.2), answer({"models": [{"name": f"m{n}"} for n in range(1000)]})]

    scripts = dict.fromkeys(("/api/ps", "/api/show", "/api/tags", "/api/version"), late)
    begun = monotonic()
    server, _ = found({"/": always("Ollama is running")} | scripts)
    assert monotonic() - begun < 30
    assert server.state is State.SILENT


@pytest.mark.parametrize("trained", [True, -1, 2**70, "x", None])
def test_a_length_that_is_none_is_not_known(trained: Any) -> None:
    shown = always({"model_info": {"a.context_length": trained}})
    server, _ = found(OLLAMA | {"/api/show": shown})
    (target,) = server.targets
    assert target.trained_context is None


def test_a_long_line_of_a_modelfile_is_read_at_once() -> None:
    shown = always({"modelfile": "FROM x" + " " * 200_000 + "y"})
    begun = process_time()
    server, _ = found(OLLAMA | {"/api/show": shown})
    assert process_time() - begun < 3
    assert server.targets[0].model_path.startswith("x ")


def test_options_of_a_router_that_are_no_counts_are_not_known() -> None:
    args = ["--ctx-size", "9" * 5000, "-ngl", "8" * 5000]
    models = {"data": [{"id": "m", "status": {"value": "loaded", "args": args}}]}
    server, _ = found(llama("b11549", "v1_models") | {"/v1/models": always(models)})
    (target,) = server.targets
    assert (target.context, target.gpu_layers) == (None, None)


def test_ollama_without_a_model_is_empty_and_names_what_it_could_load() -> None:
    server, _ = found(OLLAMA | {"/api/ps": always({"models": []})})
    assert (server.state, server.targets) == (State.EMPTY, ())
    assert "gemma3:270m" in server.available


def test_lm_studio_by_its_newer_list() -> None:
    """Report M46: the context of the instance, not the largest one."""
    models: Any = {
        "models": [
            {
                "key": "qwen3-4b",
                "max_context_length": 262_144,
                "size_bytes": 2_500_000_000,
                "quantization": {"name": "Q4_K_M"},
                "loaded_instances": [{"id": "qwen3-4b:2", "config": {"context_length": 152_576}}],
            },
            {"key": "other", "loaded_instances": []},
        ]
    }
    server, _ = found({"/api/v1/models": always(models)})
    assert (server.state, server.kind) == (State.READY, ServerKind.LM_STUDIO)
    (target,) = server.targets
    assert (target.model, target.context) == ("qwen3-4b:2", 152_576)
    assert (target.label, target.trained_context) == ("Q4_K_M", 262_144)
    assert server.available == ("qwen3-4b", "other")


def test_lm_studio_by_its_older_list() -> None:
    models: Any = {
        "data": [
            {"id": "a", "state": "loaded", "loaded_context_length": 4096, "quantization": "Q8_0"},
            {"id": "b", "state": "not-loaded"},
        ]
    }
    server, _ = found({"/api/v0/models": always(models)})
    assert server.kind is ServerKind.LM_STUDIO
    assert [(t.model, t.context, t.label) for t in server.targets] == [("a", 4096, "Q8_0")]


def test_vllm_tells_its_length_and_its_cache() -> None:
    models: Any = {
        "object": "list",
        "data": [
            {
                "id": "Qwen/Qwen3-4B",
                "owned_by": "vllm",
                "root": "Qwen/Qwen3-4B",
                "max_model_len": 32_768,
            }
        ],
    }
    metrics = 'vllm:cache_config_info{block_size="16",cache_dtype="fp8",engine="0"} 1.0\n'
    server, _ = found(
        {
            "/v1/models": always(models),
            "/version": always({"version": "0.22.1"}),
            "/metrics": always(metrics),
        }
    )
    assert (server.state, server.kind) == (State.READY, ServerKind.VLLM)
    (target,) = server.targets
    assert (target.model, target.context, target.version) == ("Qwen/Qwen3-4B", 32_768, "0.22.1")
    assert (target.cache_k, target.cache_v) == ("fp8", "fp8")


def test_anything_else_that_lists_models_is_of_the_openai_kind() -> None:
    server, _ = found({"/v1/models": always({"object": "list", "data": [{"id": "x"}]})})
    assert (server.state, server.kind) == (State.READY, ServerKind.OPENAI)
    server, _ = found({"/v1/models": always({"error": {"message": "no"}}, 401)})
    assert (server.state, server.kind) == (State.NEEDS_KEY, ServerKind.OPENAI)


@pytest.mark.parametrize(
    "scripts",
    [
        {"/": always("It works!")},
        {"/v1/models": always("<html>not what you think</html>")},
        {"/v1/models": always(["a"])},
        {"/": lambda asked: [b"220 mail ready\r\n"]},
        {"/": lambda asked: [Pause(5)]},
    ],
    ids=["web server", "page", "list", "mail server", "silent"],
)
def test_another_program_is_no_model_server(scripts: dict[str, Script]) -> None:
    server, _ = found(scripts)
    assert server.state in (State.OTHER, State.SILENT)
    assert server.kind is None
    assert server.problem is not None


@pytest.mark.parametrize(
    "values", [None, 5, [], {}, {"models": 3}, {"data": [3, None, {"id": 4}]}, {"data": {"a": 1}}]
)
@pytest.mark.parametrize("first", ["llama.cpp", "Ollama is running", ""])
def test_answers_of_any_shape_never_raise(first: str, values: Any) -> None:
    def odd(asked: Asked) -> Iterable[Act]:
        return [answer(values)]

    paths = ("/health", "/props", "/slots", "/v1/models", "/api/ps", "/api/tags", "/api/version")
    scripts: dict[str, Script] = dict.fromkeys(paths, odd)
    server = "llama.cpp" if first == "llama.cpp" else ""
    scripts |= {"/api/v1/models": odd, "/api/v0/models": odd, "/": always(first, 200, server)}
    assert found(scripts)[0].url


def test_nothing_at_an_address_is_told_apart_from_silence() -> None:
    with replay({}) as server:
        url = server.url
    nothing = find(url)
    assert nothing.state is State.REFUSED
    assert nothing.problem is not None
    assert nothing.problem.message == f"Nothing listens at {url}."


def look(*servers: Found) -> Any:
    """A probe that finds these servers, and notes whom it asks."""
    asked: list[str] = []

    def probe(address: Address, key: str) -> Found:
        asked.append(address.host)
        by_url = {each.url: each for each in servers}
        return by_url.get(address.url, Found(address.url, State.REFUSED))

    probe.asked = asked  # type: ignore[attr-defined]
    return probe


def test_only_this_computer_is_asked() -> None:
    probe = look()
    assert discover(processes=lambda: (), look=probe) == ()
    assert set(probe.asked) == {"127.0.0.1"}
    assert len(probe.asked) == len(discovery.KNOWN_PORTS)


def test_a_program_on_a_port_of_its_own_is_found_and_tells_what_its_server_does_not() -> None:
    """Report B07: how much was offloaded stands on the command line only."""
    url = "http://127.0.0.1:9999"
    target = Target(ServerKind.LLAMA_SERVER, url, context=4096)
    words = ["llama-server", "-m", "/m/a.gguf", "-ngl", "15", "-ctk", "q8_0", "--cache-type-v=q4_0"]
    process = Listener(9999, 77, 1, "llama-server", tuple(words), options_of(words, {}))
    server = Found(url, State.READY, ServerKind.LLAMA_SERVER, (target,))
    (seen,) = discover(processes=lambda: (process,), look=look(server))
    (told,) = seen.targets
    assert (told.gpu_layers, told.cache_k, told.cache_v) == (15, "q8_0", "q4_0")
    assert (told.pid, told.model_path, told.context) == (77, "/m/a.gguf", 4096)


def test_ollamas_own_server_is_read_and_never_driven() -> None:
    blob = "/root/.ollama/models/blobs/sha256-abc"
    words = ["/usr/lib/ollama/llama-server", "--model", blob, "--cache-type-k", "q8_0"]
    runner = Listener(40123, 201, 200, "llama-server", tuple(words), options_of(words, {}))
    ollama = Listener(11434, 200, 1, "ollama", ("ollama", "serve"))
    public = Found(
        "http://127.0.0.1:11434",
        State.READY,
        ServerKind.OLLAMA,
        (Target(ServerKind.OLLAMA, "http://127.0.0.1:11434", "qwen3", model_path=blob),),
    )
    private = Found(
        "http://127.0.0.1:40123",
        State.READY,
        ServerKind.LLAMA_SERVER,
        (Target(ServerKind.LLAMA_SERVER, "http://127.0.0.1:40123", context=4096),),
    )
    first, second = discover(processes=lambda: (ollama, runner), look=look(public, private))
    assert first.url == public.url
    assert first.driver == ""
    assert (first.targets[0].cache_k, first.targets[0].pid) == ("q8_0", 201)
    assert second.driver == public.url


def test_secrets_of_a_command_line_are_left_out() -> None:
    words = ["llama-server", "--api-key", "sk-1", "--api-key=sk-2", "-hft", "hf_x", "-m", "a.gguf"]
    assert without_secrets(words) == (
        *("llama-server", "--api-key", "***", "--api-key=***", "-hft", "***", "-m", "a.gguf"),
    )
    shown = without_secrets(["python", "OPENAI_API_KEY=sk-3", "Bearer abc", "sk-4"])
    assert not any("sk-" in word or "abc" in word for word in shown)


def test_options_of_the_environment_count_where_the_command_line_is_silent() -> None:
    environment = {"LLAMA_ARG_N_GPU_LAYERS": "20", "LLAMA_ARG_CTX_SIZE": "1", "SECRET": "x"}
    found = options_of(["llama-server", "-c", "8192"], environment)
    assert found == {"gpu_layers": "20", "context": "8192"}


def test_what_the_server_says_goes_before_its_command_line() -> None:
    target = Target(ServerKind.LLAMA_SERVER, "u", model_path="/real.gguf", cache_k="f16")
    words = ["llama-server", "-m", "/other.gguf", "-ctk", "q8_0", "-ngl", "auto", "-md", "d.gguf"]
    told = with_process(target, Listener(1, 2, options=options_of(words, {})))
    assert (told.model_path, told.cache_k, told.gpu_layers) == ("/real.gguf", "f16", None)
    assert told.speculative is True


def test_programs_that_may_not_be_looked_at_are_left_out() -> None:
    import psutil

    class Hidden:
        def name(self) -> str:
            raise psutil.AccessDenied(1)

    class Fake:
        Error = psutil.Error
        CONN_LISTEN = psutil.CONN_LISTEN

        @staticmethod
        def process_iter() -> list[Hidden]:
            return [Hidden()]

    assert listeners(Fake) == ()
