"""Headers behind links: from honest servers with few requests, from odd ones with a sentence."""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from core.gguf import Cancelled, PageError, read_page
from core.gguf.header import Array, Kind, ModelFile
from core.gguf.tensor_data import read_elements
from core.problems import Problem
from core.remote import RepositoryLink, network
from core.remote.client import USER_AGENT, Limits
from core.remote.network import Network, proxy_for
from core.remote.opening import list_link, open_link
from core.remote.repository import Repository
from tests.support.gguf_files import STRING, Plain, TensorSpec, array, header_bytes, u32
from tests.support.link_server import LinkServer, Request

TENSORS = [TensorSpec("token_embd.weight", "F16", (64, 512))]
KEYS: dict[str, Plain] = {
    "general.architecture": "llama",
    "general.name": "Small",
    "llama.block_count": u32(1),
}
SMALL = header_bytes(KEYS, TENSORS) + bytes(64 * 512 * 2)
MIB = 1 << 20
QUICK = Limits(seconds=10, pause=2)


@pytest.fixture
def server() -> Iterator[LinkServer]:
    with LinkServer() as made:
        yield made


def opened(url: str, limits: Limits = QUICK, **options: Any) -> ModelFile:
    options.setdefault("environ", {})
    return open_link(url, limits=limits, **options)


def problem_of(url: str, limits: Limits = QUICK, **options: Any) -> Problem:
    file = opened(url, limits, **options)
    assert file.header.version is None
    (problem,) = file.problems
    assert problem.where.startswith(url.partition("?")[0])
    assert problem.message.endswith((".", "”")) and "\n" not in problem.message
    assert problem.advice
    return problem


def vocabulary(tokens: int, data: int = 0) -> bytes:
    """A file with so many tokens, each of twelve letters, and ``data`` bytes of weights."""
    words = [f"token{n:07}" for n in range(tokens)]
    keys = {**KEYS, "tokenizer.ggml.tokens": array(STRING, words)}
    tensors = [TensorSpec("token_embd.weight", "F16", (64, data // 128))] if data else []
    return header_bytes(keys, tensors) + bytes(data)


def test_a_link_opens_like_a_file_and_stays_where_it_is(server: LinkServer) -> None:
    server.files["/models/Small-F16.gguf"] = SMALL
    file = opened(f"{server.url}/models/Small-F16.gguf")
    assert file.problems == ()
    assert (file.kind, file.file_bytes, len(file.tensors)) == (Kind.MODEL, len(SMALL), 1)
    assert file.addresses == (f"{server.url}/models/Small-F16.gguf",)
    assert [str(path) for path in file.paths] == ["Small-F16.gguf"]
    assert not file.local
    assert len(server.seen) == 1


def test_a_request_says_who_asks_and_carries_no_cookie(server: LinkServer) -> None:
    server.answers["/a.gguf"] = lambda request: request.redirect("/b.gguf")
    server.files["/b.gguf"] = SMALL
    assert opened(f"{server.url}/a.gguf").problems == ()
    for seen in server.seen:
        assert seen.headers["user-agent"] == USER_AGENT
        assert seen.headers["accept-encoding"] == "identity"
        assert not {"cookie", "referer", "authorization"} & set(seen.headers)


def test_a_vocabulary_of_250_000_tokens_costs_few_requests_and_few_weights(
    server: LinkServer,
) -> None:
    data = vocabulary(250_000, 64 * MIB)
    server.files["/big.gguf"] = data
    file = opened(f"{server.url}/big.gguf")
    assert file.problems == ()
    header = file.header.data_offset
    assert header is not None and header > 5_000_000
    assert len(server.seen) <= 3
    assert server.sent <= header + 4 * MIB


def test_what_was_read_of_a_header_is_not_asked_for_again(server: LinkServer) -> None:
    server.files["/big.gguf"] = vocabulary(100_000, 16 * MIB)
    file = opened(f"{server.url}/big.gguf")
    asked = len(server.seen)
    tokens = file.header.metadata["tokenizer.ggml.tokens"]
    assert isinstance(tokens, Array)
    assert read_page(file.header, tokens, 99_998, 100_000) == ("token0099998", "token0099999")
    with pytest.raises(PageError, match="not on this computer"):
        read_elements(file, file.tensors[0], 131_071, 0, 32)
    assert len(server.seen) == asked


def test_a_server_without_ranges_is_left_as_soon_as_the_header_is_there(
    server: LinkServer,
) -> None:
    stated = 20 << 30

    def whole(request: Request) -> None:
        head = header_bytes(KEYS, [TensorSpec("token_embd.weight", "F16", (64, 1 << 27))])
        request.reply(200, head, {"Content-Length": str(stated)})
        for _ in range(200):  # 200 MiB, if anybody takes them
            request.put(bytes(MIB))
            if request.close_connection:
                return

    server.answers["/whole.gguf"] = whole
    file = opened(f"{server.url}/whole.gguf")
    assert file.header.data_offset is not None
    assert file.file_bytes == stated
    for _ in range(100):
        if server.seen[0].sent < 64 * MIB:
            break
        time.sleep(0.02)
    assert server.seen[0].sent < 64 * MIB


def test_shards_are_found_beside_the_one_that_was_named(server: LinkServer) -> None:
    for number in range(3):
        keys: dict[str, Plain] = {"split.no": number, "split.count": 3}
        keys["split.tensors.count"] = u32(3)
        tensor = TensorSpec(f"blk.{number}.attn_q.weight", "F16", (64, 64))
        data = header_bytes({**(KEYS if number == 0 else {}), **keys}, [tensor])
        name = f"/m/Big-{number + 1:05}-of-00003.gguf"
        server.files[name] = data + bytes(64 * 64 * 2)
    file = opened(f"{server.url}/m/Big-00002-of-00003.gguf?key=1")
    assert file.problems == ()
    assert (len(file.headers), len(file.tensors)) == (3, 3)
    assert file.file_bytes == sum(map(len, server.files.values()))
    del server.files["/m/Big-00003-of-00003.gguf"]
    file = opened(f"{server.url}/m/Big-00001-of-00003.gguf")
    assert file.missing == ("Big-00003-of-00003.gguf",)
    assert [p.code for p in file.problems] == ["missing-shard"]


# Servers that are wrong.


def test_a_page_instead_of_a_file_is_named(server: LinkServer) -> None:
    page = b"<!DOCTYPE html><title>Sign in</title>"
    server.answers["/page"] = lambda request: request.reply(200, page)
    problem = problem_of(f"{server.url}/page")
    assert problem.code == "web-page" and "Sign in" in problem.message

    def endless(request: Request) -> None:
        request.reply(200, page, {"Content-Length": "", "Connection": "close"})
        request.close_connection = True

    server.answers["/endless"] = endless
    assert problem_of(f"{server.url}/endless").code == "web-page"


def test_a_file_without_a_length_is_refused(server: LinkServer) -> None:
    def endless(request: Request) -> None:
        request.reply(200, SMALL, {"Content-Length": "", "Connection": "close"})
        request.close_connection = True

    server.answers["/x.gguf"] = endless
    assert problem_of(f"{server.url}/x.gguf").code == "no-length"


def test_a_compressed_answer_is_refused(server: LinkServer) -> None:
    packed = gzip.compress(SMALL)
    server.answers["/x.gguf"] = lambda r: r.reply(200, packed, {"Content-Encoding": "gzip"})
    problem = problem_of(f"{server.url}/x.gguf")
    assert problem.code == "encoded" and "gzip" in problem.message


@pytest.mark.parametrize(
    ("content_range", "code"),
    [
        ("bytes 5-104/1000", "odd-server"),
        ("bytes 0-99/50", "odd-server"),
        ("bytes 99-0/1000", "odd-server"),
        ("bytes 0-99/*", "odd-server"),
        ("bytes 0-9999999/99999999", "odd-server"),
        ("items 0-99/1000", "odd-server"),
        ("", "odd-server"),
        ("bytes 0-199/1000", "odd-server"),
        ("bytes 0-" + "9" * 40 + "/1000", "odd-server"),
    ],
)
def test_a_part_other_than_the_one_asked_for_is_not_believed(
    server: LinkServer, content_range: str, code: str
) -> None:
    server.answers["/x.gguf"] = lambda r: r.reply(
        206, SMALL[:100], {"Content-Range": content_range}
    )
    assert problem_of(f"{server.url}/x.gguf").code == code


def lying(server: LinkServer, second: Any) -> str:
    """An honest first part of a long header, then ``second``."""
    data = vocabulary(250_000)
    server.files["/honest"] = data

    def answer(request: Request) -> None:
        wanted = request.seen.range
        if wanted is not None and wanted[0] == 0:
            request.part_of(data, ETag='"1"')
        else:
            second(request, data)

    server.answers["/x.gguf"] = answer
    return f"{server.url}/x.gguf"


def codes_after(server: LinkServer, second: Any) -> list[str]:
    file = opened(lying(server, second))
    assert file.header.version == 3  # what was read before stays
    return [p.code for p in file.problems]


def test_a_server_that_changes_its_mind_between_two_parts_is_found_out(
    server: LinkServer,
) -> None:
    assert codes_after(server, lambda r, d: r.part_of(d, ETag='"2"')) == ["changed"]
    assert codes_after(server, lambda r, d: r.part_of(d + b"x", ETag='"1"')) == ["changed"]
    assert codes_after(server, lambda r, d: r.reply(200, d)) == ["odd-server"]
    assert codes_after(server, lambda r, d: r.reply(416)) == ["odd-server"]
    assert codes_after(server, lambda r, d: r.reply(403)) == ["forbidden"]


def test_a_server_that_ignores_where_a_part_begins_is_found_out(server: LinkServer) -> None:
    def from_the_start(request: Request, data: bytes) -> None:
        part = data[: 3 * MIB]
        content = f"bytes 0-{len(part) - 1}/{len(data)}"
        request.reply(206, part, {"Content-Range": content, "ETag": '"1"'})

    assert codes_after(server, from_the_start) == ["odd-server"]


def test_a_part_that_breaks_off_is_told_with_its_byte(server: LinkServer) -> None:
    def short(request: Request, data: bytes) -> None:
        first, last = request.seen.range or (0, 0)
        content = {"Content-Range": f"bytes {first}-{min(last, len(data) - 1)}/{len(data)}"}
        request.reply(206, data[first : first + 1000], {**content, "ETag": '"1"'})

    assert codes_after(server, short) == ["odd-server"]  # two lengths at once

    def cut(request: Request, data: bytes) -> None:
        first, last = request.seen.range or (0, 0)
        last = min(last, len(data) - 1)
        length = {"Content-Length": str(last - first + 1), "ETag": '"1"'}
        content = {"Content-Range": f"bytes {first}-{last}/{len(data)}", **length}
        request.reply(206, data[first : first + 1000], content)
        request.close_connection = True

    (code,) = codes_after(server, cut)
    assert code in ("broke-off", "not-http", "network")


def test_smaller_parts_than_asked_for_are_put_together(server: LinkServer) -> None:
    data = vocabulary(60_000)

    def sparing(request: Request) -> None:
        first, last = request.seen.range or (0, 0)
        last = min(last, first + 199_999, len(data) - 1)
        content = {"Content-Range": f"bytes {first}-{last}/{len(data)}"}
        request.reply(206, data[first : last + 1], content)

    server.answers["/x.gguf"] = sparing
    file = opened(f"{server.url}/x.gguf")
    assert file.header.data_offset == len(data)


def test_an_empty_file_is_empty(server: LinkServer) -> None:
    server.files["/x.gguf"] = b""
    assert problem_of(f"{server.url}/x.gguf").code == "empty"


def hold(request: Request, release: threading.Event) -> None:
    """No answer until the test is over."""
    release.wait(30)
    request.close_connection = True


def test_a_server_that_stalls_is_left(server: LinkServer) -> None:
    release = threading.Event()
    server.answers["/before"] = lambda request: hold(request, release)

    def inside(request: Request) -> None:
        content = {"Content-Range": f"bytes 0-{len(SMALL) - 1}/{len(SMALL)}"}
        request.reply(206, SMALL[:50], {**content, "Content-Length": str(len(SMALL))})
        release.wait(30)

    server.answers["/inside"] = inside
    limits = Limits(seconds=10, pause=0.3)
    assert problem_of(f"{server.url}/before", limits).code == "stalled"
    assert problem_of(f"{server.url}/inside", limits).code == "stalled"
    release.set()


def test_a_server_that_drips_is_left_when_the_time_is_up(server: LinkServer) -> None:
    release = threading.Event()

    def drip(request: Request) -> None:
        request.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for _ in range(100):
            try:
                request.wfile.write(b"X: ")
                request.wfile.flush()
            except OSError:
                break
            if release.wait(0.1):
                break
        request.close_connection = True

    server.answers["/x.gguf"] = drip
    assert problem_of(f"{server.url}/x.gguf", Limits(seconds=1, pause=5)).code == "limit"
    release.set()


def test_a_read_that_waits_is_given_up_at_once(server: LinkServer) -> None:
    release = threading.Event()
    server.answers["/x.gguf"] = lambda request: hold(request, release)
    asked = threading.Event()
    threading.Timer(0.3, asked.set).start()
    begun = time.monotonic()
    with pytest.raises(Cancelled):
        opened(f"{server.url}/x.gguf", Limits(pause=15), cancelled=asked.is_set)
    assert time.monotonic() - begun < 10
    release.set()


def test_no_more_is_read_than_the_limits_allow(server: LinkServer) -> None:
    server.files["/x.gguf"] = vocabulary(250_000)
    file = opened(f"{server.url}/x.gguf", replace(QUICK, bytes=2 * MIB))
    assert [p.code for p in file.problems] == ["limit"]
    file = opened(f"{server.url}/x.gguf", replace(QUICK, requests=1))
    assert [p.code for p in file.problems] == ["limit"]
    assert server.sent < 8 * MIB


@pytest.mark.parametrize(
    ("status", "headers", "code", "words"),
    [
        (401, {}, "needs-login", "log-in"),
        (403, {}, "forbidden", "403"),
        (404, {}, "not-found", "404"),
        (410, {}, "not-found", "410"),
        (429, {"Retry-After": "30"}, "too-many", "429"),
        (500, {}, "server-error", "500"),
        (503, {}, "server-error", "503"),
        (204, {}, "odd-status", "204"),
        (418, {}, "odd-status", "418"),
    ],
)
def test_every_status_is_a_sentence(
    server: LinkServer, status: int, headers: dict[str, str], code: str, words: str
) -> None:
    server.answers["/x.gguf"] = lambda request: request.reply(status, b"", headers)
    problem = problem_of(f"{server.url}/x.gguf")
    assert problem.code == code and words in problem.message
    if status == 429:
        assert "30 seconds" in problem.advice


@pytest.mark.parametrize(
    ("status", "error", "code"),
    [
        (401, "RepoNotFound", "not-found-or-private"),
        (401, "GatedRepo", "gated"),
        (403, "GatedRepo", "gated"),
        (404, "RevisionNotFound", "not-found"),
        (404, "EntryNotFound", "not-found"),
    ],
)
def test_what_a_hub_refuses_is_told_with_what_to_do(
    server: LinkServer, status: int, error: str, code: str
) -> None:
    server.answers["/a/b/resolve/main/x.gguf"] = lambda request: request.reply(
        status, b"", {"X-Error-Code": error}
    )
    environ = {"HF_ENDPOINT": server.url}
    problem = problem_of(f"{server.url}/a/b/resolve/main/x.gguf", environ=environ)
    assert problem.code == code
    assert ("HF_TOKEN" in problem.advice) == (status != 404)


def test_a_host_that_is_not_there_is_told() -> None:
    with LinkServer() as gone:
        url = f"{gone.url}/x.gguf"
    assert problem_of(url).code == "refused"


class Lost(Network):
    """A computer without a network."""

    def addresses(self, host: str, port: int) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")


def test_a_name_that_leads_nowhere_is_told() -> None:
    problem = problem_of("http://models.example/x.gguf", network=Lost())
    assert problem.code == "no-such-host" and "models.example" in problem.message


@pytest.mark.parametrize("count", [1, 2, 8, 500])
def test_silent_numbers_of_one_name_share_the_time_of_one(
    count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A firewall that swallows everything: eight numbers would take eight times as long."""
    clock = [0.0]

    def swallowed(address: tuple[str, int], timeout: float) -> socket.socket:
        clock[0] += timeout
        raise TimeoutError

    monkeypatch.setattr("core.remote.network.monotonic", lambda: clock[0])
    monkeypatch.setattr("socket.create_connection", swallowed)
    numbers = [f"198.51.100.{n % 256}" for n in range(count)]
    with pytest.raises(TimeoutError):
        Network().connect("http", "models.example", 80, numbers, 20.0)
    assert clock[0] == pytest.approx(20.0)


def test_a_number_that_answers_late_has_all_the_time_for_its_answer(server: LinkServer) -> None:
    host, port = server.url.split("//")[1].split(":")
    made = Network().connect("http", host, int(port), [host] * 9, 20.0)
    assert made.gettimeout() == 20.0
    made.close()


def test_what_is_no_http_is_told(server: LinkServer) -> None:
    def ssh(request: Request) -> None:
        request.wfile.write(b"SSH-2.0-OpenSSH_9.6\r\n")
        request.close_connection = True

    server.answers["/x.gguf"] = ssh
    assert problem_of(f"{server.url}/x.gguf").code == "not-http"
    assert problem_of(f"https://127.0.0.1:{server.port}/x.gguf").code == "tls"


# Redirects.


class Abroad(Network):
    """A world in which 127.0.0.2 is a public computer, named public.example."""

    def addresses(self, host: str, port: int) -> list[str]:
        return ["127.0.0.2"] if host == "public.example" else super().addresses(host, port)

    def is_private(self, address: str) -> bool:
        return address != "127.0.0.2" and super().is_private(address)


@pytest.fixture
def public() -> Iterator[LinkServer]:
    with LinkServer(host="127.0.0.2") as made:
        yield made


def test_redirects_are_followed_and_the_place_is_remembered(server: LinkServer) -> None:
    data = vocabulary(250_000)
    server.answers["/a"] = lambda request: request.redirect("/b?signed=1", 307)
    server.answers["/b"] = lambda request: request.part_of(data)
    file = opened(f"{server.url}/a")
    assert file.header.data_offset == len(data)
    assert file.addresses == (f"{server.url}/a",)
    assert [seen.path for seen in server.seen].count("/a") == 1


def test_a_signed_address_that_runs_out_is_asked_for_again(server: LinkServer) -> None:
    data = vocabulary(250_000)
    used: list[str] = []

    def signed(request: Request) -> None:
        if request.path in used:
            request.reply(403)
        else:
            used.append(request.path)
            request.part_of(data)

    numbers = iter(range(100))
    server.answers["/a"] = lambda request: request.redirect(f"/b?signed={next(numbers)}")
    server.answers["/b"] = signed
    file = opened(f"{server.url}/a")
    assert [p.code for p in file.problems] == ["vocabulary"]
    assert file.header.data_offset == len(data)


@pytest.mark.parametrize(
    ("location", "code"),
    [
        ("ftp://example.org/x.gguf", "redirect-scheme"),
        ("https://example.org/x.gguf", "redirect-scheme"),
        ("file:///etc/passwd", "redirect-scheme"),
        ("", "bad-redirect"),
        ("http://me:word@127.0.0.1/x", "bad-redirect"),
        ("/x.gguf", "redirect-loop"),
    ],
)
def test_redirects_that_lead_astray_are_not_followed(
    server: LinkServer, location: str, code: str
) -> None:
    server.answers["/x.gguf"] = lambda request: request.redirect(location)
    file = opened(f"{server.url}/x.gguf")
    assert [p.code for p in file.problems] == [code]
    assert len(server.seen) == 1


def test_an_endless_chain_of_redirects_is_left(server: LinkServer) -> None:
    numbers = iter(range(1000))
    step = lambda request: request.redirect(f"/n{next(numbers)}")  # noqa: E731
    server.answers["/x.gguf"] = step
    server.answers.update({f"/n{n}": step for n in range(100)})
    assert problem_of(f"{server.url}/x.gguf").code == "redirects"
    assert len(server.seen) == Limits().redirects + 1


def test_a_public_server_cannot_send_one_into_a_private_network(
    server: LinkServer, public: LinkServer
) -> None:
    server.files["/secret"] = SMALL
    for host in (f"127.0.0.1:{server.port}", f"localhost:{server.port}", "10.0.0.1", "[::1]"):
        location = f"http://{host}/secret"
        public.answers["/x.gguf"] = partial(Request.redirect, location=location)
        url = f"http://public.example:{public.port}/x.gguf"
        assert problem_of(url, network=Abroad()).code == "redirect-private"
    assert server.seen == []


def test_a_private_address_that_somebody_typed_may_send_one_on(
    server: LinkServer, public: LinkServer
) -> None:
    public.files["/x.gguf"] = server.files["/y.gguf"] = SMALL
    server.answers["/to-public"] = lambda r: r.redirect(f"http://127.0.0.2:{public.port}/x.gguf")
    server.answers["/to-private"] = lambda r: r.redirect(f"http://localhost:{server.port}/y.gguf")
    for path in ("/to-public", "/to-private"):
        assert opened(f"{server.url}{path}", network=Abroad()).problems == ()


@pytest.mark.parametrize(
    "address",
    [
        *("127.0.0.1", "10.1.2.3", "192.168.0.1", "172.16.0.1", "169.254.169.254", "100.64.0.1"),
        *("0.0.0.0", "224.0.0.1", "::1", "::", "fe80::1%eth0", "fc00::1", "::ffff:127.0.0.1"),
        *("64:ff9b::7f00:1", "2002:7f00:1::"),
    ],
)
def test_addresses_of_nobody_else_are_private(address: str) -> None:
    assert Network().is_private(address)


@pytest.mark.parametrize("address", ["1.1.1.1", "2606:4700:4700::1111", "64:ff9b::101:101"])
def test_addresses_of_the_world_are_not(address: str) -> None:
    assert not Network().is_private(address)


# Hubs: tokens and lists.

TOKEN = "hf_thisIsATestToken"


def test_a_token_goes_to_its_hub_and_never_along_a_redirect(
    server: LinkServer, public: LinkServer
) -> None:
    environ = {"HF_ENDPOINT": server.url, "HF_TOKEN": f" {TOKEN}\n"}
    away = f"http://127.0.0.2:{public.port}/blob"
    server.answers["/a/b/resolve/main/x.gguf"] = lambda request: request.redirect(away)
    public.answers["/blob"] = lambda r: r.redirect(f"{server.url}/back")
    server.answers["/back"] = lambda request: request.part_of(SMALL)
    url = f"{server.url}/a/b/resolve/main/x.gguf"
    assert opened(url, environ=environ).problems == ()
    first, back = server.seen
    assert first.headers["authorization"] == f"Bearer {TOKEN}"
    assert "authorization" not in public.seen[0].headers
    assert "authorization" not in back.headers


def test_a_token_is_not_for_other_servers_or_open_networks(
    server: LinkServer, public: LinkServer
) -> None:
    server.files["/x.gguf"] = public.files["/a/b/resolve/main/x.gguf"] = SMALL
    assert opened(f"{server.url}/x.gguf", environ={"HF_TOKEN": TOKEN}).problems == ()
    hub = f"http://public.example:{public.port}"
    environ = {"HF_TOKEN": TOKEN, "HF_ENDPOINT": hub}
    url = f"{hub}/a/b/resolve/main/x.gguf"
    assert opened(url, environ=environ, network=Abroad()).problems == ()
    for seen in (*server.seen, *public.seen):
        assert "authorization" not in seen.headers


TREE = [
    {"type": "directory", "path": "BF16", "size": 0},
    {"type": "file", "path": "README.md", "size": 100},
    {"type": "file", "path": "M-Q8_0.gguf", "size": 130, "lfs": {"size": 8_000_000}},
    {"type": "file", "path": "M-Q4_K_M.gguf", "size": 130, "lfs": {"size": 4_000_000}},
    {"type": "file", "path": "BF16/M-BF16-00001-of-00002.gguf", "lfs": {"size": 9_000_000}},
    {"type": "file", "path": "BF16/M-BF16-00002-of-00002.gguf", "lfs": {"size": 7_000_000}},
    {"type": "file", "path": "M-UD-Q2_K_XL-00001-of-00003.gguf", "lfs": {"size": 1_000_000}},
    {"type": "file", "path": "mmproj-F16.gguf", "lfs": {"size": 800_000}},
    {"type": "file", "path": "imatrix_unsloth.gguf", "lfs": {"size": 5_000}},
    {"type": "file", "path": "odd.gguf", "size": True},
    {"type": "file", "path": 7},
    "nothing",
]
LINK = RepositoryLink("org/M-GGUF")


def hub(server: LinkServer, tree: object = TREE) -> dict[str, str]:
    body = json.dumps(tree).encode()
    server.answers["/api/models/org/M-GGUF/tree/main"] = lambda request: request.reply(200, body)
    return {"HF_ENDPOINT": server.url}


def listed(server: LinkServer, **options: Any) -> Repository:
    found = list_link(replace(LINK, hub=server.url, **options), environ={}, limits=QUICK)
    assert isinstance(found, Repository)
    return found


def test_a_repository_is_listed_by_size_with_shards_as_one(server: LinkServer) -> None:
    hub(server)
    found = listed(server)
    rows = [(o.name, o.folder, o.bytes, o.files, o.missing, o.label) for o in found.offers]
    assert rows == [
        ("M-UD-Q2_K_XL", "", 1_000_000, 1, 2, "UD-Q2_K_XL"),
        ("M-Q4_K_M.gguf", "", 4_000_000, 1, 0, "Q4_K_M"),
        ("M-Q8_0.gguf", "", 8_000_000, 1, 0, "Q8_0"),
        ("M-BF16", "BF16", 16_000_000, 2, 0, "BF16"),
        ("odd.gguf", "", None, 1, 0, ""),
    ]
    assert [o.name for o in found.projectors] == ["mmproj-F16.gguf"]
    assert server.sent < 10_000


def test_the_pages_of_a_long_list_are_put_together(server: LinkServer) -> None:
    hub(server)
    path = "/api/models/org/M-GGUF/tree/main"

    def paged(request: Request) -> None:
        first = "cursor" not in request.path
        entries = TREE[2:3] if first else TREE[3:4]
        following = {"Link": f'<{server.url}{path}?cursor=2>; rel="next"'} if first else {}
        request.reply(200, json.dumps(entries).encode(), following)

    server.answers[path] = paged
    assert [o.label for o in listed(server).offers] == ["Q4_K_M", "Q8_0"]


def test_a_list_goes_on_at_no_other_host(server: LinkServer, public: LinkServer) -> None:
    hub(server)
    away = f'<http://127.0.0.2:{public.port}/more>; rel="next"'
    body = json.dumps(TREE[2:3]).encode()
    server.answers["/api/models/org/M-GGUF/tree/main"] = lambda r: r.reply(
        200, body, {"Link": away}
    )
    assert len(listed(server).offers) == 1
    assert public.seen == []


@pytest.mark.parametrize("tree", [{"error": "x"}, 7, None])
def test_a_list_that_is_none_is_a_problem(server: LinkServer, tree: object) -> None:
    hub(server, tree)
    found = list_link(replace(LINK, hub=server.url), environ={}, limits=QUICK)
    assert isinstance(found, Problem) and found.code == "odd-server"


def test_the_one_file_that_is_meant_is_opened(server: LinkServer) -> None:
    environ = hub(server)
    server.files["/org/M-GGUF/resolve/main/M-Q4_K_M.gguf"] = SMALL
    file = opened("hf:org/M-GGUF:q4_k_m", environ=environ)
    assert file.problems == ()
    (problem,) = opened("hf:org/M-GGUF", environ=environ).problems
    assert problem.code == "choose-file"
    assert "M-Q4_K_M.gguf (3.81 MiB)" in problem.message
    assert "hf:org/M-GGUF:" in problem.advice
    (problem,) = opened("hf:org/M-GGUF:Q9_9", environ=environ).problems
    assert problem.code == "choose-file" and "has no Q9_9" in problem.message
    hub(server, TREE[:2])
    (problem,) = opened("hf:org/M-GGUF", environ=environ).problems
    assert problem.code == "no-gguf"


def test_a_bad_link_is_a_problem_like_any_other() -> None:
    (problem,) = opened("https://me:secret@example.org/x.gguf").problems
    assert problem.code == "bad-link"
    assert "secret" not in f"{problem}"


# Proxies.


def test_a_proxy_of_the_environment_is_asked_for_what_lies_outside(server: LinkServer) -> None:
    url = "http://models.example/x.gguf"
    server.files[url] = SMALL
    proxy = server.url.replace("//", "//me:word@")
    for name in ("http_proxy", "all_proxy", "ALL_PROXY"):
        assert opened(url, environ={name: proxy}).problems == ()
    assert {seen.path for seen in server.seen} == {url}
    assert {seen.headers["proxy-authorization"] for seen in server.seen} == {"Basic bWU6d29yZA=="}
    assert {seen.headers["host"] for seen in server.seen} == {"models.example"}


def test_what_is_near_is_asked_without_the_proxy(server: LinkServer) -> None:
    server.files["/x.gguf"] = SMALL
    gone = {"http_proxy": "http://127.0.0.1:1"}
    assert opened(f"{server.url}/x.gguf", environ=gone).problems == ()


@pytest.mark.parametrize(
    ("environ", "host", "used"),
    [
        ({"https_proxy": "http://p:8"}, "a.example", True),
        ({"HTTPS_PROXY": "p:8"}, "a.example", True),
        ({"http_proxy": "http://p:8"}, "a.example", False),
        ({"https_proxy": "socks5://p:8"}, "a.example", False),
        ({"https_proxy": "http://p:99999999"}, "a.example", False),
        ({"https_proxy": "http://p:8", "no_proxy": "b.example, .example"}, "a.example", False),
        ({"https_proxy": "http://p:8", "NO_PROXY": "*"}, "a.example", False),
        ({"https_proxy": "http://p:8", "no_proxy": "ample"}, "a.example", True),
        ({"https_proxy": "http://p:8"}, "localhost", False),
    ],
)
def test_which_proxy_counts(environ: dict[str, str], host: str, used: bool) -> None:
    found = proxy_for(environ, "https", host)
    assert (found is not None) is used
    assert found is None or (found.host, found.port) == ("p", 8)


def test_a_proxy_is_asked_for_a_tunnel_and_sees_nothing_of_an_encrypted_request(
    server: LinkServer,
) -> None:
    environ = {"https_proxy": server.url, "HF_TOKEN": TOKEN}
    problem = problem_of("https://huggingface.co/a/b/resolve/main/x.gguf", environ=environ)
    assert problem.code in ("tls", "network", "not-http")
    (seen,) = server.seen
    assert seen.path == "huggingface.co:443" and "authorization" not in seen.headers


def test_a_proxy_leads_into_no_private_network_either(server: LinkServer) -> None:
    url = "http://models.example/x.gguf"
    server.answers[url] = lambda request: request.redirect("http://10.0.0.1/secret")
    environ = {"http_proxy": server.url}
    assert problem_of(url, environ=environ).code == "redirect-private"


# Who is trusted.


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has a store of its own")
def test_a_python_from_elsewhere_trusts_what_this_system_trusts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    nowhere = SimpleNamespace(cafile=None, capath=None)
    monkeypatch.setattr(ssl, "get_default_verify_paths", lambda: nowhere)
    monkeypatch.setattr(network, "_CERTIFICATES", (tmp_path / "none", tmp_path / "here"))
    (tmp_path / "here").write_text("these are no certificates")
    with pytest.raises(ssl.SSLError):  # it was read
        _ = Network()._context
    (tmp_path / "here").unlink()
    context = Network()._context
    assert context.verify_mode is ssl.CERT_REQUIRED and context.check_hostname
