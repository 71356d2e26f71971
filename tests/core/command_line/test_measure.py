"""`weighbridge measure`: one object at the end, whatever happens, and the exit status that fits."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from time import monotonic, sleep
from typing import Any, NamedTuple

import pytest

from core import command_line
from core.command_line import measuring
from core.measure.discovery import Found, State
from core.measure.history import History, history_path
from core.measure.keys import VARIABLE
from core.measure.run import ServerKind, Target
from core.measure.work import default_depths
from tests.support.played_servers import Played, playing
from tests.support.replay import Act, Asked, Pause, Replay, always, answer, replay

ROOT = Path(__file__).resolve().parents[3]
QUICK = ("--runs", "6", "--tokens", "8")


class Answer(NamedTuple):
    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Answer]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.delenv(VARIABLE, raising=False)

    def answer_of(*arguments: str) -> Answer:
        status = command_line.main(
            ("measure", *arguments), lambda files: pytest.fail(f"a window for {files}")
        )
        captured = capsys.readouterr()
        return Answer(status, captured.out, captured.err)

    return answer_of


def as_llama(server: Replay, played: Played) -> None:
    """What discovery asks of a llama-server."""
    props = {
        "build_info": "b1",
        "total_slots": 1,
        "model_alias": played.model,
        "default_generation_settings": {"n_ctx": played.context},
    }
    server.scripts |= {
        "/": always("<html>", 200, "llama.cpp"),
        "/props": always(props),
        "/v1/models": always({"data": [{"id": played.model, "meta": {"n_ctx": 1}}]}),
    }


SUMMARY = {"median", "low", "high", "p5"}
TIMES = {"median", "low", "high", "p95"}


def test_a_run_is_one_object_with_every_field_of_the_interface(run: Run) -> None:
    played = Played(pace=0.02)
    with playing(ServerKind.LLAMA_SERVER, played) as (server, _):
        as_llama(server, played)
        told = run(server.url, "--depths", "0,64,256", *QUICK, "--json")
    assert told.status == 0
    assert told.out.count("\n") == 1
    values = told.json
    assert set(values) == {
        *("schema", "server", "started", "status", "cells", "diagnosis", "problems"),
    }
    assert (values["schema"], values["status"]) == (1, "done")
    assert values["server"] == {
        "kind": "llama-server",
        "url": server.url,
        "model": "m",
        "context": 4096,
    }
    assert values["started"].endswith("Z")
    assert [cell["depth"] for cell in values["cells"]] == [1, 64, 256]
    for cell in values["cells"]:
        assert set(cell) == {
            *("depth", "runs", "tokens", "decode_tok_s", "server_decode_tok_s", "tpot_ms"),
            *("prefill_tok_s", "ttft_ms", "ceiling_tok_s", "share_of_ceiling", "problems"),
        }
        assert (cell["runs"], cell["tokens"]) == (6, 8)
        assert set(cell["decode_tok_s"]) == SUMMARY
        assert cell["decode_tok_s"]["low"] <= cell["decode_tok_s"]["median"]
        assert cell["decode_tok_s"]["p5"] is None  # six runs do not allow it
        assert set(cell["tpot_ms"]) == TIMES
        assert cell["server_decode_tok_s"]["median"] == pytest.approx(50)
        assert cell["ceiling_tok_s"] is None
        assert cell["share_of_ceiling"] is None
    assert values["cells"][2]["prefill_tok_s"]["median"] == pytest.approx(2000)
    assert values["cells"][2]["ttft_ms"]["p95"] is None
    for finding in values["diagnosis"]:
        assert set(finding) == {"code", "message", "evidence"}


def test_without_json_it_is_a_table_and_progress_goes_to_standard_error(run: Run) -> None:
    played = Played()
    with playing(ServerKind.LLAMA_SERVER, played) as (server, _):
        as_llama(server, played)
        told = run(server.url, "--depths", "64", *QUICK)
    assert told.status == 0
    lines = told.out.splitlines()
    assert lines[0] == f"m on llama-server at {server.url}"
    assert lines[1].split()[:2] == ["depth", "tok/s"]
    assert lines[2].split()[0] == "64"
    assert "It takes about" in told.err
    assert "depth 64: " in told.err


def test_numbers_of_requests_at_the_same_time_are_cells_of_their_own(run: Run) -> None:
    played = Played()
    with playing(ServerKind.LLAMA_SERVER, played) as (server, _):
        as_llama(server, played)
        props = {"build_info": "b1", "total_slots": 2, "model_alias": "m"}
        server.scripts["/props"] = always(props | {"default_generation_settings": {"n_ctx": 4096}})
        told = run(server.url, "--depths", "64", "--concurrency", "1,2", *QUICK, "--json")
        words = run(server.url, "--depths", "64", "--concurrency", "1,2", *QUICK)
    one, two = told.json["cells"]
    assert (one["concurrency"], two["concurrency"], two["runs"]) == (1, 2, 12)
    assert two["total_tok_s"]["median"] > 0
    assert "together" in words.out


def test_a_depth_beyond_the_context_is_a_cell_with_its_reason(run: Run) -> None:
    played = Played()
    with playing(ServerKind.LLAMA_SERVER, played) as (server, _):
        as_llama(server, played)
        told = run(server.url, "--depths", "64,9000", *QUICK, "--json")
    assert told.status == 0
    deep = told.json["cells"][1]
    assert (deep["depth"], deep["runs"], deep["decode_tok_s"]) == (9000, 0, None)
    assert deep["problems"][0]["code"] == "beyond_context"


def test_a_run_that_failed_is_status_1_and_still_an_object(run: Run) -> None:
    played = Played()
    wrong = {"error": {"message": "Invalid API Key", "type": "authentication_error", "code": 401}}
    played.faults[3] = lambda asked: [answer(wrong, 401)]
    with playing(ServerKind.LLAMA_SERVER, played) as (server, _):
        as_llama(server, played)
        told = run(server.url, "--depths", "64", *QUICK, "--json")
    assert told.status == 1
    assert told.json["status"] == "failed"
    assert told.json["cells"] == []
    assert [problem["code"] for problem in told.json["problems"]] == ["needs_key"]
    assert "wants a key" in told.err
    assert "Traceback" not in told.err


def test_a_server_that_is_not_there_is_status_1_and_an_object(run: Run) -> None:
    with playing(ServerKind.LLAMA_SERVER, Played()) as (server, _):
        url = server.url
    told = run(url, "--json")
    assert told.status == 1
    assert told.json["status"] == "failed"
    assert told.json["server"]["url"] == url
    assert told.json["problems"][0]["code"] == "not_running"
    assert "Nothing listens at" in told.err


def test_the_key_comes_from_the_environment_and_is_printed_nowhere(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(VARIABLE, "sk-geheim")
    played = Played()
    with playing(ServerKind.LLAMA_SERVER, played) as (server, _):
        as_llama(server, played)
        told = run(server.url, "--depths", "64", *QUICK, "--json")
        keys = {asked.headers.get("authorization") for asked in server.asked}
    assert keys == {"Bearer sk-geheim"}
    assert "geheim" not in told.out + told.err


def test_without_an_address_the_one_server_that_runs_is_measured(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    played = Played()
    with playing(ServerKind.LLAMA_SERVER, played) as (server, target):
        here = Found(server.url, State.READY, target.kind, (target,))
        private = Found("http://127.0.0.1:1", State.READY, target.kind, (target,), driver="x")
        monkeypatch.setattr(measuring, "discover", lambda keys: (here, private))
        told = run("--depths", "64", *QUICK, "--json")
        assert told.json["server"]["url"] == server.url
        monkeypatch.setattr(measuring, "discover", lambda keys: (here, here))
        several = run("--json")
    assert told.status == 0
    assert several.status == 2
    assert "several servers" in several.err
    monkeypatch.setattr(measuring, "discover", lambda keys: ())
    none = run("--json")
    assert (none.status, none.json["server"]) == (1, None)


def test_ollamas_own_server_is_not_measured(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Found("http://127.0.0.1:9", State.READY, ServerKind.LLAMA_SERVER, driver="Ollama")
    monkeypatch.setattr(measuring, "find", lambda url, key: found)
    told = run("http://127.0.0.1:9")
    assert told.status == 1
    assert "Ollama's own address" in told.err


def test_ollama_loads_the_model_that_is_named_before_it_is_measured(run: Run) -> None:
    played = Played(model="gemma3:270m")
    loaded: list[str] = []

    def generate(asked: Asked) -> Iterable[Act]:
        if "prompt" not in asked.body:
            loaded.append(asked.body["model"])
            return [answer({"done": True})]
        return writing(asked)

    def ps(asked: Asked) -> Iterable[Act]:
        entries = [{"model": name, "context_length": 4096} for name in loaded]
        return [answer({"models": entries})]

    with playing(ServerKind.OLLAMA, played) as (server, _):
        writing = server.scripts["/api/generate"]
        server.scripts |= {
            "/": always("Ollama is running"),
            "/api/generate": generate,
            "/api/ps": ps,
            "/api/tags": always({"models": [{"name": "gemma3:270m"}]}),
        }
        empty = run(server.url, "--json")
        assert empty.status == 1
        assert "gemma3:270m" in empty.json["problems"][0]["advice"]
        told = run(server.url, "--name", "gemma3:270m", "--depths", "64", *QUICK, "--json")
    assert loaded == ["gemma3:270m"]
    assert told.status == 0
    assert told.json["server"]["context"] == 4096


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_prints_what_was_finished_and_is_status_130(number: signal.Signals) -> None:
    played = Played(faults={12: lambda asked: [Pause(30)]})
    with playing(ServerKind.LLAMA_SERVER, played) as (server, _):
        as_llama(server, played)
        words = [server.url, "--depths", "64,128", *QUICK, "--json"]
        with subprocess.Popen(
            [sys.executable, "-m", "gui", "measure", *words],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as process:
            end = monotonic() + 120
            while played.count < 13 and monotonic() < end:
                sleep(0.02)
            # As from a terminal: every process of the group hears it.
            os.killpg(process.pid, number)
            out, err = process.communicate(timeout=60)
    values = json.loads(out)
    assert process.returncode == 130
    assert values["status"] == "stopped"
    assert [cell["depth"] for cell in values["cells"]] == [64]
    assert values["cells"][0]["runs"] == 6
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("context", "tokens", "depths"),
    [
        (8192, 64, (0, 1008 // 256 * 256, 1792, 3840, 7936)),
        (262_144, 64, (0, 4096, 8192, 16_384, 32_768)),
        (None, 64, (0, 256, 768, 1792, 3840)),
        (64, 64, (0,)),
    ],
)
def test_depths_that_nobody_names_go_by_the_context(
    context: int | None, tokens: int, depths: tuple[int, ...]
) -> None:
    assert default_depths(context, tokens) == depths


def test_servers_can_be_listed(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    target = Target(ServerKind.OLLAMA, "http://127.0.0.1:11434", "qwen3", context=4096)
    found = Found(target.url, State.READY, target.kind, (target,), ("qwen3",))
    monkeypatch.setattr(measuring, "discover", lambda keys: (found,))
    words, values = run("--list"), run("--list", "--json")
    assert words.out == "http://127.0.0.1:11434  ollama  ready: qwen3\n"
    assert values.json["servers"][0]["models"][0]["context"] == 4096
    monkeypatch.setattr(measuring, "discover", lambda keys: ())
    assert run("--list").status == 1


def kept() -> list[tuple[str, str, int]]:
    """Ids, states and finished cells of the history."""
    history = History(history_path())
    found = [(s.run.id, s.run.status.value, len(s.run.finished_cells)) for s in history.all()]
    history.close()
    return found


@pytest.fixture
def empty_history(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))


def test_a_run_is_kept_in_the_history_that_the_window_shows(run: Run, empty_history: None) -> None:
    played = Played()
    with playing(ServerKind.LLAMA_SERVER, played) as (server, _):
        as_llama(server, played)
        assert run(server.url, "--depths", "64", *QUICK, "--no-history").status == 0
        assert not history_path().exists()
        assert run(server.url, "--depths", "64,128", *QUICK).status == 0
    ((_, status, cells),) = kept()
    assert (status, cells) == ("done", 2)


def test_an_interrupted_run_is_resumed_and_finished_depths_are_not_measured_again(
    run: Run, empty_history: None
) -> None:
    played = Played()
    wrong = {"error": {"message": "Invalid API Key", "type": "authentication_error", "code": 401}}
    with playing(ServerKind.LLAMA_SERVER, played) as (server, _):
        as_llama(server, played)
        played.faults[13] = lambda asked: [answer(wrong, 401)]
        broken = run(server.url, "--depths", "64,128", *QUICK, "--json")
        ((name, status, cells),) = kept()
        assert (broken.status, status, cells) == (1, "failed", 1)
        assert f"weighbridge measure --resume {name[:8]}" in broken.err
        played.faults.clear()
        server.asked.clear()
        whole = run("--resume", name[:8], "--json")
        prompts = {len(body["prompt"]) for body in server.bodies("/completion")}
    assert whole.status == 0
    assert [cell["depth"] for cell in whole.json["cells"]] == [64, 128]
    assert prompts == {128, 256}  # the second depth, and what is asked first of every server
    assert kept() == [(name, "done", 2)]


def test_what_cannot_be_resumed_is_said(run: Run, empty_history: None) -> None:
    nothing = run("--resume", "last")
    assert nothing.status == 2
    assert "no run of the history was stopped or failed" in nothing.err
    both = run("--resume", "last", "--runs", "9")
    assert both.status == 2
    assert "without --runs" in both.err
    assert run("--resume", "last", "--no-history").status == 2


def test_another_server_does_not_go_on_with_a_run(run: Run, empty_history: None) -> None:
    wrong = {"error": {"message": "no", "type": "authentication_error", "code": 401}}
    played = Played()
    played.faults[13] = lambda asked: [answer(wrong, 401)]
    with playing(ServerKind.LLAMA_SERVER, played) as (server, _):
        as_llama(server, played)
        run(server.url, "--depths", "64,128", *QUICK)
    other = Played(model="another")
    with playing(ServerKind.LLAMA_SERVER, other) as (server, _):
        as_llama(server, other)
        told = run(server.url, "--resume", "last", "--json")
    assert told.status == 1
    assert told.json["problems"][0]["code"] == "other_server"
    assert kept()[0][1] == "failed"


def test_a_history_that_cannot_be_written_costs_a_word_and_nothing_else(
    run: Run, empty_history: None
) -> None:
    history_path().parent.parent.mkdir(exist_ok=True)
    history_path().parent.write_text("a file where a folder belongs")
    played = Played()
    with playing(ServerKind.LLAMA_SERVER, played) as (server, _):
        as_llama(server, played)
        told = run(server.url, "--depths", "64", *QUICK, "--json")
    assert told.status == 0
    assert told.json["status"] == "done"
    assert "The history could not be written" in told.err


def test_a_link_that_a_server_calls_its_file_is_not_followed(run: Run) -> None:
    """No server makes this program ask another address."""
    played = Played()
    with playing(ServerKind.LLAMA_SERVER, played) as (server, _), replay({}) as other:
        as_llama(server, played)
        props = {"build_info": "b1", "total_slots": 1, "model_path": f"{other.url}/m.gguf"}
        server.scripts["/props"] = always(props)
        told = run(server.url, "--depths", "0", *QUICK)
        assert other.asked == []
    assert told.status == 0


def test_a_server_with_thousands_of_models_has_ten_of_them_named(run: Run) -> None:
    loaded = [{"id": f"model-{n}", "status": {"value": "loaded"}} for n in range(3000)]
    with playing(ServerKind.LLAMA_SERVER, Played()) as (server, _):
        as_llama(server, Played())
        server.scripts["/v1/models"] = always({"data": loaded})
        told = run(server.url)
    assert told.status == 2
    assert "model-9 and 2,990 more" in told.err
    assert len(told.err) < 500
