"""The server that other tests measure is llama.cpp's own, and it ends with the test."""

from __future__ import annotations

import json
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.support.kills import gone
from tests.support.llama_server import llama_server
from tests.support.tiny_gguf import write_tiny_llama

pytestmark = pytest.mark.live


def ask(url: str, body: dict[str, Any] | None = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return json.load(answer)


def test_it_answers_with_as_many_tokens_as_asked_for_and_ends(tmp_path: Path) -> None:
    model = write_tiny_llama(tmp_path / "tiny.gguf")
    with llama_server(model, n_ctx=4096, n_parallel=1) as server:
        assert ask(f"{server.url}/health") == {"status": "ok"}
        body = {
            "messages": [{"role": "user", "content": "hello"}],
            "max_tokens": 8,
            "ignore_eos": True,
        }
        answer = ask(f"{server.url}/v1/chat/completions", body)
        assert answer["usage"]["completion_tokens"] == 8
    assert gone(server.pid)


def test_it_ends_even_where_the_test_is_killed(tmp_path: Path) -> None:
    model = write_tiny_llama(tmp_path / "tiny.gguf")
    code = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from tests.support.llama_server import llama_server\n"
        "with llama_server(Path(sys.argv[1]), n_ctx=1024) as server:\n"
        "    print(server.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    root = Path(__file__).parents[2]
    with subprocess.Popen(
        [sys.executable, "-c", code, str(model)], stdout=subprocess.PIPE, text=True, cwd=root
    ) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert psutil.pid_exists(pid)
        parent.kill()
    assert gone(pid)


def test_a_model_that_does_not_load_fails_the_test_with_its_status(tmp_path: Path) -> None:
    path = tmp_path / "no.gguf"
    path.write_bytes(b"no model")
    with pytest.raises(pytest.fail.Exception, match="ended with status"), llama_server(path):
        pass
