"""HTTP and event streams come in any pieces and mean the same."""

from __future__ import annotations

import json
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.measure.wire.ask import NoAnswerError, ask
from core.measure.wire.connect import is_this_computer
from core.measure.wire.events import JsonLines, ServerSentEvents, Splitter, StreamEvent
from core.measure.wire.http import Response, WireError, address_of, request_bytes
from tests.support.replay import END, HEAD_STREAM, Pause, always, chunk, replay


def pieces(data: bytes, cuts: Sequence[int]) -> list[bytes]:
    """The data cut at these places, wherever they fall."""
    places = sorted({cut % (len(data) + 1) for cut in cuts})
    return [data[a:b] for a, b in zip([0, *places], [*places, len(data)], strict=True) if a != b]


def events(splitter: Splitter, parts: Sequence[bytes]) -> list[StreamEvent]:
    return [event for part in parts for event in splitter.feed(part)]


CUTS = st.lists(st.integers(0, 10_000), max_size=40)
CHUNKED = HEAD_STREAM + chunk("é".encode()) + chunk(b"data") + b"3;x=1\r\nabc\r\n" + END
SSE = (
    ": hello\r\n\r\n"
    'data: {"a":"ä€😀"}\r\n\r\n'
    "event: error\ndata:no space\n\n"
    "data: one\ndata: two\nid: 5\nretry: 10\n\n"
    ": ping\n\n"
    "event: lost\n\n"
    "data: [DONE]\r\r"
).encode()
SSE_EVENTS = [
    StreamEvent("", '{"a":"ä€😀"}'.encode()),
    StreamEvent("error", b"no space"),
    StreamEvent("", b"one\ntwo"),
    StreamEvent("", b"[DONE]"),
]


@given(CUTS)
def test_a_chunked_answer_is_the_same_in_any_pieces(cuts: list[int]) -> None:
    response = Response()
    body = b"".join(response.feed(part) for part in pieces(CHUNKED, cuts))
    assert body == "édataabc".encode()
    assert (response.status, response.complete) == (200, True)


@given(CUTS)
def test_server_sent_events_are_the_same_in_any_pieces(cuts: list[int]) -> None:
    assert events(ServerSentEvents(), pieces(SSE, cuts)) == SSE_EVENTS


@given(CUTS)
def test_lines_of_json_are_the_same_in_any_pieces(cuts: list[int]) -> None:
    data = '{"a":"ä€"}\n\r\n{"b":2}\r\n'.encode()
    assert [e.data for e in events(JsonLines(), pieces(data, cuts))] == [
        '{"a":"ä€"}'.encode(),
        b'{"b":2}',
    ]


@given(st.binary(max_size=300))
def test_any_bytes_are_an_answer_or_are_said_to_be_none(data: bytes) -> None:
    response = Response()
    try:
        response.feed(data)
    except WireError:
        return
    assert response.status in range(1000)


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"HTTP/1.1 two hundred\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nlong\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nabc\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 70_000,
    ],
)
def test_what_is_no_http_is_said_to_be_none(data: bytes) -> None:
    with pytest.raises(WireError):
        Response().feed(data)


@pytest.mark.parametrize("encoding", ["gzip", "br", "GZIP", "deflate, gzip"])
def test_a_compressed_answer_is_said_to_be_one(encoding: str) -> None:
    """A proxy that compresses whatever goes through it also holds back what it compresses."""
    head = f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\nContent-Length: 2\r\n\r\n"
    with pytest.raises(WireError, match="compressed"):
        Response().feed(head.encode() + b"\x1f\x8b")


@pytest.mark.parametrize("line", ["", "Content-Encoding: identity\r\n", "Content-Encoding:\r\n"])
def test_an_answer_as_it_was_asked_for_is_read(line: str) -> None:
    head = f"HTTP/1.1 200 OK\r\n{line}Content-Length: 2\r\n\r\n"
    assert Response().feed(head.encode() + b"{}") == b"{}"


def test_an_interim_answer_is_passed_over_and_the_real_one_read() -> None:
    response = Response()
    data = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 404 X\r\nContent-Length: 2\r\n\r\nno"
    assert response.feed(data) == b"no"
    assert (response.status, response.complete) == (404, True)


def test_an_answer_without_a_length_ends_with_the_connection() -> None:
    response = Response()
    assert response.feed(b"HTTP/1.0 200 OK\r\n\r\nabc") == b"abc"
    assert not response.complete
    assert response.close()


@pytest.mark.parametrize("cut", [30, len(CHUNKED) - 3])
def test_an_answer_that_breaks_off_is_not_whole(cut: int) -> None:
    response = Response()
    response.feed(CHUNKED[:cut])
    assert not response.close()


@pytest.mark.parametrize(
    ("typed", "url"),
    [
        ("8080", "http://127.0.0.1:8080"),
        (" localhost:1234 ", "http://localhost:1234"),
        ("http://127.0.0.1:11434/", "http://127.0.0.1:11434"),
        ("http://127.0.0.1:8000/v1", "http://127.0.0.1:8000"),
        ("http://box.lan/llm/v1/", "http://box.lan/llm"),
        ("https://box.lan", "https://box.lan"),
        ("[::1]:8080", "http://[::1]:8080"),
    ],
)
def test_an_address_is_understood_as_it_is_typed(typed: str, url: str) -> None:
    assert address_of(typed).url == url


@pytest.mark.parametrize(
    "typed", ["", "ftp://a", "http://", "http://a:0", "http://a:99999", "http://a:b", "a b"]
)
def test_what_is_no_address_is_answered_with_a_sentence(typed: str) -> None:
    with pytest.raises(ValueError, match=r"\.$"):
        address_of(typed)


def test_a_password_in_an_address_is_refused_and_not_repeated() -> None:
    with pytest.raises(ValueError, match="Give the key apart") as refused:
        address_of("http://user:geheim@127.0.0.1:8080")
    assert "geheim" not in str(refused.value)


def test_a_key_goes_into_one_header_whatever_is_in_it() -> None:
    request = request_bytes(address_of("8080"), "/x", {"a": 1}, "sk\r\nEvil: 1")
    head, _, body = request.partition(b"\r\n\r\n")
    assert b"Authorization: Bearer skEvil: 1\r\n" in head
    assert json.loads(body) == {"a": 1}


@pytest.mark.parametrize(
    ("host", "here"),
    [("127.0.0.1", True), ("::1", True), ("LOCALHOST", True), ("192.168.1.5", False), ("a", False)],
)
def test_this_computer_is_known_by_its_loopback_address(host: str, here: bool) -> None:
    assert is_this_computer(host) is here


def test_a_question_is_answered_and_silence_and_refusal_are_told_apart() -> None:
    with replay({"/a": always({"b": 1}), "/slow": lambda _: [Pause(5)]}) as server:
        address = address_of(server.url)
        assert ask(address, "/a").object() == {"b": 1}
        assert ask(address, "/none").status == 404
        with pytest.raises(NoAnswerError, match="in time") as silent:
            ask(address, "/slow", seconds=0.05)
        assert not silent.value.refused
    with pytest.raises(NoAnswerError) as refused:
        ask(address, "/a")
    assert refused.value.refused
