"""The OpenAI-shaped endpoint, against a real server on the loopback that behaves in every bad way."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import numpy as np
import pytest

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.embeddings.base import Busy, TextRefused, endpoint
from zeroclaw_tui.embeddings.endpoint import OpenAIEmbedder
from zeroclaw_tui.memory.errors import EmbeddingFailed

KEY = "sk-test-0123456789abcdef"
DIMENSIONS = 3


class Endpoint(ThreadingHTTPServer):
    """Answers every request with `status` and `answer`, or never when `is_mute`, and keeps what was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status = 200
        self.answer: bytes = vector_answer([0.5, -1.0, 2.0])
        self.is_mute = False
        self.may_end = threading.Event()
        self.requests: list[tuple[str, dict[str, str], Any]] = []

    @property
    def base(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.requests.append((self.path, dict(self.headers), json.loads(body)))
        if self.server.is_mute:
            self.server.may_end.wait()
            return
        self.send_response(self.server.status)
        self.send_header("Content-Length", str(len(self.server.answer)))
        self.end_headers()
        self.wfile.write(self.server.answer)

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing on stderr."""


def vector_answer(numbers: Any) -> bytes:
    return json.dumps({"data": [{"embedding": numbers}]}).encode()


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def server() -> Iterator[Endpoint]:
    endpoint_server = Endpoint()
    thread = threading.Thread(target=endpoint_server.serve_forever, args=(0.01,))
    thread.start()
    yield endpoint_server
    endpoint_server.may_end.set()
    endpoint_server.shutdown()
    thread.join()
    endpoint_server.server_close()


@asynccontextmanager
async def embedder(provider: str, key: str | None = KEY, **limits: float) -> AsyncIterator[OpenAIEmbedder]:
    opened = OpenAIEmbedder(EmbeddingConfig(provider, "small", DIMENSIONS, key), **limits)
    yield opened
    await opened.close()


async def failure(provider: str, key: str | None = KEY, **limits: float) -> EmbeddingFailed:
    async with embedder(provider, key, **limits) as opened:
        with pytest.raises(EmbeddingFailed) as failed:
            await opened.embed("who likes Rust?")
    told = str(failed.value)
    assert KEY not in told
    assert failed.value.hint
    assert failed.value.message.startswith("The embedding endpoint ")
    assert "\n" not in told
    return failed.value


async def test_many_texts_are_one_request_and_come_back_in_their_order(server: Endpoint) -> None:
    parts = [{"index": 1, "embedding": [2, 0, 0]}, {"index": 0, "embedding": [1, 0, 0]}]
    server.answer = json.dumps({"data": parts}).encode()
    async with embedder(f"custom:{server.base}") as opened:
        first, second = await opened.embed_many(["one", "two"])
    assert (first.tolist(), second.tolist()) == ([1, 0, 0], [2, 0, 0])
    ((_, _, body),) = server.requests
    assert body["input"] == ["one", "two"]


async def test_fewer_vectors_than_texts_are_no_answer(server: Endpoint) -> None:
    async with embedder(f"custom:{server.base}") as opened:
        with pytest.raises(TextRefused, match="a vector for each text"):
            await opened.embed_many(["one", "two"])


@pytest.mark.parametrize(("status", "kind"), [(429, Busy), (503, Busy), (400, TextRefused), (413, TextRefused)])
async def test_what_may_pass_is_told_from_what_the_text_is_to_blame_for(
    server: Endpoint, status: int, kind: type[EmbeddingFailed]
) -> None:
    server.status = status
    assert type(await failure(f"custom:{server.base}")) is kind


async def test_a_text_becomes_the_float32_vector_the_endpoint_sends(server: Endpoint) -> None:
    async with embedder(f"custom:{server.base}") as opened:
        vector = await opened.embed("who likes Rust?")
    assert vector.dtype == np.float32
    assert vector.tolist() == [0.5, -1.0, 2.0]
    ((path, headers, body),) = server.requests
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert headers["Content-Type"] == "application/json"
    assert body == {"model": "small", "input": ["who likes Rust?"]}


@pytest.mark.parametrize("key", [None, "", "  "])
async def test_without_a_key_no_authorization_is_sent(server: Endpoint, key: str | None) -> None:
    async with embedder(f"custom:{server.base}", key) as opened:
        await opened.embed("x")
    assert "Authorization" not in server.requests[0][1]


async def test_one_connection_serves_many_texts_and_closing_twice_is_harmless(server: Endpoint) -> None:
    async with embedder(f"custom:{server.base}/api") as opened:
        for _ in range(3):
            await opened.embed("x")
        await opened.close()
        await opened.embed("opens again")
    assert [path for path, _, _ in server.requests] == ["/api/embeddings"] * 4


async def test_a_text_that_is_no_unicode_still_gets_a_vector(server: Endpoint) -> None:
    async with embedder(f"custom:{server.base}") as opened:
        assert len(await opened.embed("bad \udcff byte \x00 \x1b[31m")) == DIMENSIONS


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://api.openai.com", "https://api.openai.com/v1/embeddings"),
        ("http://h:1/", "http://h:1/v1/embeddings"),
        ("http://h/v1", "http://h/v1/embeddings"),
        ("http://h/v1//", "http://h/v1/embeddings"),
        ("http://h/x/embeddings", "http://h/x/embeddings"),
        ("http://h/x/embeddings/", "http://h/x/embeddings"),
        ("http://[::1]:8080", "http://[::1]:8080/v1/embeddings"),
    ],
)
def test_the_address_follows_from_the_base(base: str, url: str) -> None:
    assert endpoint(base) == url


@pytest.mark.parametrize(
    ("provider", "name", "url", "is_remote"),
    [
        ("openai", "openai", "https://api.openai.com/v1/embeddings", True),
        ("openrouter", "openrouter", "https://openrouter.ai/api/v1/embeddings", True),
        ("custom:http://localhost:11434", "custom", "http://localhost:11434/v1/embeddings", False),
        ("custom:http://127.1.2.3/v1", "custom", "http://127.1.2.3/v1/embeddings", False),
        ("custom:http://[::1]", "custom", "http://[::1]/v1/embeddings", False),
        ("custom:http://10.0.0.2", "custom", "http://10.0.0.2/v1/embeddings", True),
        ("custom:https://localhost.evil.io", "custom", "https://localhost.evil.io/v1/embeddings", True),
    ],
)
def test_each_provider_has_its_address_and_says_whether_texts_leave_the_machine(
    provider: str, name: str, url: str, is_remote: bool
) -> None:
    made = OpenAIEmbedder(EmbeddingConfig(provider))
    assert (made.name, made.url, made.is_remote, made.dimensions) == (name, url, is_remote, 1536)


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (401, "refuses the API key (HTTP 401)"),
        (403, "refuses the API key (HTTP 403)"),
        (404, "has no embeddings at this URL, or not this model (HTTP 404)"),
        (429, "is rate limited (HTTP 429)"),
        (500, "has an internal error (HTTP 500)"),
        (503, "has an internal error (HTTP 503)"),
        (302, "did not answer with a vector (HTTP 302)"),
        (400, "did not answer with a vector (HTTP 400)"),
    ],
)
async def test_each_refusal_has_its_sentence(server: Endpoint, status: int, sentence: str) -> None:
    server.status, server.answer = status, f"echo {KEY}".encode()
    failed = await failure(f"custom:{server.base}")
    assert failed.message == f"The embedding endpoint {server.base}/v1/embeddings {sentence}."


async def test_a_missing_key_is_told_apart_from_a_wrong_one(server: Endpoint) -> None:
    server.status = 401
    failed = await failure(f"custom:{server.base}", key=None)
    assert "wants an API key" in failed.message
    assert "embedding_api_key" in failed.hint


@pytest.mark.parametrize("answer", [b"", b"<html>", b"\xff\xfe", b'{"data": [', b"[" * 100_000, b"9" * 9999])
async def test_an_answer_that_is_no_json(server: Endpoint, answer: bytes) -> None:
    server.answer = answer
    assert "did not answer with JSON" in (await failure(f"custom:{server.base}")).message


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        7,
        None,
        {"data": []},
        {"data": {}},
        {"data": [7]},
        {"data": [{}]},
        {"data": [{"embedding": "abc"}]},
        {"data": [{"embedding": [1, "2", 3]}]},
        {"data": [{"embedding": [1, None, 3]}]},
        {"data": [{"embedding": [True, False, True]}]},
        {"data": [{"embedding": [[1, 2, 3]]}]},
        {"error": {"message": KEY}},
    ],
    ids=repr,
)
async def test_json_without_a_vector(server: Endpoint, document: Any) -> None:
    server.answer = json.dumps(document).encode()
    assert "holds no vector" in (await failure(f"custom:{server.base}")).message


@pytest.mark.parametrize("length", [0, 2, 4, 1536])
async def test_another_dimension_names_both_numbers(server: Endpoint, length: int) -> None:
    server.answer = vector_answer([0.1] * length)
    failed = await failure(f"custom:{server.base}")
    assert f"a vector of {length} numbers" in failed.message
    assert "memory.embedding_dimensions is 3" in failed.message


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity", "1e39", "1e400", "1" + "0" * 400])
async def test_numbers_that_are_not_finite(server: Endpoint, number: str) -> None:
    server.answer = f'{{"data": [{{"embedding": [1, {number}, 3]}}]}}'.encode()
    assert "not finite" in (await failure(f"custom:{server.base}")).message


async def test_a_slow_endpoint_is_given_up(server: Endpoint) -> None:
    server.is_mute = True
    failed = await failure(f"custom:{server.base}", total_seconds=0.2)
    assert "did not answer within 0.2 s" in failed.message
    assert "agent gets no memories" in failed.hint


async def test_an_endpoint_that_is_down() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert "cannot be reached" in (await failure(f"custom:http://127.0.0.1:{port}")).message


async def test_an_endpoint_that_hangs_up() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def hang_up() -> None:
            connection, _ = listener.accept()
            connection.recv(65536)
            connection.close()

        thread = threading.Thread(target=hang_up)
        thread.start()
        failed = await failure(f"custom:http://127.0.0.1:{listener.getsockname()[1]}")
        thread.join()
    assert "broke off" in failed.message


async def test_keys_in_the_address_are_not_shown(server: Endpoint) -> None:
    server.status = 500
    host = server.base.removeprefix("http://")
    failed = await failure(f"custom:http://mio:hunter2@{host}/{KEY}/embeddings?key=hunter2")
    assert "hunter2" not in str(failed)
    assert "mio" not in str(failed)
    assert host in str(failed)


@pytest.mark.parametrize("key", ["schlüssel", "a\nb", "a\x00b", "\udcff"])
async def test_a_key_no_header_can_carry_is_a_sentence(server: Endpoint, key: str) -> None:
    failed = await failure(f"custom:{server.base}", key=key)
    assert "no HTTP header takes" in failed.message
    assert key not in str(failed)
    assert server.requests == []


async def test_a_proxy_that_cannot_be_used_is_a_sentence(monkeypatch: pytest.MonkeyPatch, server: Endpoint) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://h:1")
    assert "proxy" in (await failure(f"custom:{server.base}")).message


async def test_a_proxy_of_the_environment_is_used(monkeypatch: pytest.MonkeyPatch, server: Endpoint) -> None:
    monkeypatch.setenv("HTTP_PROXY", server.base)
    async with embedder("custom:http://embeddings.invalid/v1") as opened:
        await opened.embed("x")
    assert server.requests[0][0] == "http://embeddings.invalid/v1/embeddings"


async def test_a_key_that_is_part_of_the_address_is_hidden_in_messages() -> None:
    """Some gateways want it in the path; it looks like no key there."""
    async with embedder("custom:http://127.0.0.1:9/gateway/plainword/v1", "plainword") as opened:
        with pytest.raises(EmbeddingFailed) as failed:
            await opened.embed("who likes Rust?")
    assert "plainword" not in str(failed.value)
    assert "http://127.0.0.1:9/gateway/" in failed.value.message


@pytest.mark.parametrize("host", ["ex\u2024ample.com", "a\0b", "a b"])
async def test_a_name_that_no_machine_can_have_is_told_like_one_that_is_not_there(host: str) -> None:
    failed = await failure(f"custom:http://{host}:9")
    assert "cannot be reached" in failed.message
