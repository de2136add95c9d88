"""The OpenAI protocol against a real server on the loopback that is busy, broken, slow or wrong."""

from __future__ import annotations

import asyncio
import json
import socket
import threading
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from support.http_endpoints import (
    Answer,
    Answering,
    HttpEndpoint,
    always,
    breaking_off,
    embeddings,
    held,
    in_turn,
    refusing,
    serving,
)
from support.slept_clock import Clock

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.embeddings.base import (
    ApiKeyError,
    EndpointBusyError,
    InputRejectedError,
    WrongDimensionError,
    endpoint_url,
)
from zeroclaw_tui.embeddings.endpoint import INTERACTIVE, OpenAIEmbedder, RetryPolicy, embed_each
from zeroclaw_tui.memory.errors import EmbeddingFailed

KEY = "sk-test-0123456789abcdef"
DIMENSIONS = 3
GOOD = embeddings(DIMENSIONS)
HALF = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n" + b'{"data": [{"embe'


@pytest.fixture
def clock() -> Clock:
    return Clock()


@asynccontextmanager
async def opened(
    base: str, clock: Clock, *, key: str | None = KEY, retries: RetryPolicy = INTERACTIVE, **limits: float
) -> AsyncIterator[OpenAIEmbedder]:
    config = EmbeddingConfig(f"custom:{base}", "small", DIMENSIONS, key)
    embedder = OpenAIEmbedder(config, retries._replace(sleep=clock.sleep), **limits)
    yield embedder
    await embedder.close()


async def failure(base: str, clock: Clock, *, key: str | None = KEY, **limits: Any) -> EmbeddingFailed:
    async with opened(base, clock, key=key, **limits) as embedder:
        with pytest.raises(EmbeddingFailed) as failed:
            await embedder.query("who likes Rust?")
    assert KEY not in str(failed.value)
    assert "\n" not in str(failed.value)
    assert failed.value.hint
    assert failed.value.message.startswith("The embedding endpoint ")
    return failed.value


def inputs(endpoint: HttpEndpoint) -> list[list[str]]:
    return [body["input"] for _, _, body in endpoint.requests]


async def test_a_text_is_sent_as_zeroclaw_sends_it_and_its_vector_comes_back(clock: Clock) -> None:
    with serving(always(200, {"data": [{"embedding": [0.5, -1, 2.0]}]})) as endpoint:
        async with opened(endpoint.base, clock) as embedder:
            vector = await embedder.embed("who likes Rust?")
    assert vector.dtype == np.float32
    assert vector.tolist() == [0.5, -1.0, 2.0]
    ((path, headers, body),) = endpoint.requests
    assert path == "/v1/embeddings"
    assert headers["authorization"] == f"Bearer {KEY}"
    assert headers["content-type"] == "application/json"
    assert json.dumps(body) == '{"model": "small", "input": ["who likes Rust?"]}'


@pytest.mark.parametrize("key", [None, "", "  "])
async def test_without_a_key_no_authorization_is_sent(key: str | None, clock: Clock) -> None:
    with serving(GOOD) as endpoint:
        async with opened(endpoint.base, clock, key=key) as embedder:
            await embedder.embed("x")
    assert "authorization" not in endpoint.requests[0][1]


async def test_many_texts_share_requests_and_come_back_in_their_order(clock: Clock) -> None:
    def backwards(path: str, headers: Mapping[str, str], asked: Any) -> Answer:
        items = [{"index": at, "embedding": [int(text), 0, 0]} for at, text in enumerate(asked["input"])]
        return 200, json.dumps({"data": items[::-1]}).encode()

    with serving(backwards) as endpoint:
        async with opened(endpoint.base, clock) as embedder:
            vectors = await embedder.embed_many([str(number) for number in range(130)])
    assert [vector[0] for vector in vectors] == list(range(130))
    assert [len(texts) for texts in inputs(endpoint)] == [64, 64, 2]


async def test_fewer_vectors_than_texts_are_no_answer(clock: Clock) -> None:
    with serving(always(200, {"data": [{"embedding": [1, 2, 3]}]})) as endpoint:
        async with opened(endpoint.base, clock) as embedder:
            with pytest.raises(InputRejectedError, match="a vector for each text"):
                await embedder.embed_many(["one", "two"])


async def test_texts_that_are_rejected_together_are_sent_one_by_one(clock: Clock) -> None:
    def answer(path: str, headers: Mapping[str, str], asked: Any) -> Answer:
        return (400, b"{}") if "bad" in asked["input"] else GOOD(path, headers, asked)

    with serving(answer) as endpoint:
        async with opened(endpoint.base, clock) as embedder:
            good, bad, last = await embed_each(embedder, ["good", "bad", "last"])
    assert isinstance(good, np.ndarray)
    assert isinstance(bad, InputRejectedError)
    assert isinstance(last, np.ndarray)
    assert inputs(endpoint) == [["good", "bad", "last"], ["good"], ["bad"], ["last"]]


@pytest.mark.parametrize(
    ("provider", "url", "is_remote"),
    [
        ("openai", "https://api.openai.com/v1/embeddings", True),
        ("openrouter", "https://openrouter.ai/api/v1/embeddings", True),
        ("custom:http://localhost:11434", "http://localhost:11434/v1/embeddings", False),
        ("custom:http://127.1.2.3/v1", "http://127.1.2.3/v1/embeddings", False),
        ("custom:http://[::1]:8080", "http://[::1]:8080/v1/embeddings", False),
        ("custom:http://10.0.0.2:1/", "http://10.0.0.2:1/v1/embeddings", True),
        ("custom:https://localhost.evil.io/v1//", "https://localhost.evil.io/v1/embeddings", True),
        ("custom:http://h/x/embeddings/", "http://h/x/embeddings", True),
    ],
)
def test_each_provider_has_its_url(provider: str, url: str, is_remote: bool) -> None:
    assert endpoint_url(provider) == url
    assert OpenAIEmbedder(EmbeddingConfig(provider)).is_remote is is_remote


@pytest.mark.parametrize(
    ("answering", "slept"),
    [
        (in_turn(refusing(429), GOOD), [0.5]),
        (in_turn(refusing(500), GOOD), [0.5]),
        (in_turn(refusing(503), refusing(502), GOOD), [0.5, 1.0]),
        (in_turn(refusing(429, Retry_After="3"), GOOD), [3.0]),
        (in_turn(breaking_off(), GOOD), [0.5]),
        (in_turn(breaking_off(HALF), GOOD), [0.5]),
    ],
    ids=["429", "500", "twice", "Retry-After", "closed before answering", "closed midway"],
)
async def test_a_busy_endpoint_is_asked_again_after_a_while(
    answering: Answering, slept: list[float], clock: Clock
) -> None:
    with serving(answering) as endpoint:
        async with opened(endpoint.base, clock) as embedder:
            assert (await embedder.query("x")).tolist() == [0.5] * DIMENSIONS
    assert len(endpoint.requests) == 1 + len(slept)
    assert clock.time == sum(slept)


@pytest.mark.parametrize(
    ("answering", "part"),
    [
        (refusing(429), "is rate limited (HTTP 429), asked 3 times."),
        (refusing(503, Retry_After="2"), "has an internal error (HTTP 503), asked 3 times."),
        (breaking_off(), "broke off instead of answering, asked 3 times."),
        (breaking_off(HALF), "broke off instead of answering, asked 3 times."),
    ],
    ids=["429", "Retry-After", "closed before answering", "closed midway"],
)
async def test_an_endpoint_that_stays_busy_fails_after_three_tries(
    answering: Answering, part: str, clock: Clock
) -> None:
    with serving(answering) as endpoint:
        failed = await failure(endpoint.base, clock)
    assert len(endpoint.requests) == 3
    assert isinstance(failed, EndpointBusyError)
    assert part in failed.message
    assert "agent gets no memories" in failed.hint


async def test_a_wait_too_long_for_a_person_is_named_and_not_waited_for(clock: Clock) -> None:
    with serving(refusing(429, Retry_After="60")) as endpoint:
        failed = await failure(endpoint.base, clock)
    assert len(endpoint.requests) == 1
    assert "It asks to wait 60 s." in failed.hint
    assert clock.time == 0


async def test_waiting_for_another_try_can_be_cancelled() -> None:
    is_waiting = asyncio.Event()

    class Forever(Clock):
        async def sleep(self, seconds: float) -> None:
            is_waiting.set()
            await asyncio.Event().wait()

    with serving(refusing(500)) as endpoint:
        async with opened(endpoint.base, Forever()) as embedder:
            asking = asyncio.ensure_future(embedder.query("x"))
            await is_waiting.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
    assert len(endpoint.requests) == 1


@pytest.mark.parametrize(
    ("status", "kind", "sentence"),
    [
        (401, ApiKeyError, "refuses the API key (HTTP 401)"),
        (403, ApiKeyError, "refuses the API key (HTTP 403)"),
        (404, EmbeddingFailed, "has no embeddings at this URL, or not this model (HTTP 404)"),
        (302, EmbeddingFailed, "did not answer with a vector (HTTP 302)"),
        (400, InputRejectedError, "did not answer with a vector (HTTP 400)"),
        (413, InputRejectedError, "did not answer with a vector (HTTP 413)"),
        (422, InputRejectedError, "did not answer with a vector (HTTP 422)"),
    ],
)
async def test_each_refusal_has_its_sentence_and_is_final(
    status: int, kind: type[EmbeddingFailed], sentence: str, clock: Clock
) -> None:
    with serving(always(status, f"echo {KEY}".encode())) as endpoint:
        failed = await failure(endpoint.base, clock)
    assert len(endpoint.requests) == 1
    assert type(failed) is kind
    assert failed.message == f"The embedding endpoint {endpoint.base}/v1/embeddings {sentence}."


async def test_a_redirect_is_not_followed_so_that_the_key_goes_nowhere_else(clock: Clock) -> None:
    with serving(GOOD) as elsewhere, serving(refusing(307, Location=f"{elsewhere.base}/v1/embeddings")) as endpoint:
        failed = await failure(endpoint.base, clock)
    assert elsewhere.requests == []
    assert "(HTTP 307)" in failed.message


@pytest.mark.parametrize("answer", [b"", b"<html>", b"\xff\xfe", b'{"data": [', b"[" * 100_000])
async def test_an_answer_that_is_not_json(answer: bytes, clock: Clock) -> None:
    with serving(always(200, answer)) as endpoint:
        assert "did not answer with JSON" in (await failure(endpoint.base, clock)).message


@pytest.mark.parametrize(
    "document",
    [
        {},
        [],
        7,
        None,
        {"data": {}},
        {"data": []},
        {"data": [7]},
        {"data": [{}]},
        {"data": [{"embedding": "AACAPwAAAEAAAEBA"}]},
        {"data": [{"embedding": [1, "2", 3]}]},
        {"data": [{"embedding": [True, False, True]}]},
        {"data": [{"embedding": [[1, 2, 3]]}]},
        {"error": {"message": KEY}},
    ],
    ids=repr,
)
async def test_json_without_a_vector(document: Any, clock: Clock) -> None:
    with serving(always(200, document)) as endpoint:
        assert "holds no vector" in (await failure(endpoint.base, clock)).message


@pytest.mark.parametrize("length", [0, 2, 4, 1536])
async def test_another_dimension_names_both_numbers(length: int, clock: Clock) -> None:
    with serving(embeddings(length)) as endpoint:
        failed = await failure(endpoint.base, clock)
    assert isinstance(failed, WrongDimensionError)
    assert failed.found == length
    assert f"a vector of {length} numbers" in failed.message
    assert "memory.embedding_dimensions is 3" in failed.message


@pytest.mark.parametrize("number", ["NaN", "-Infinity", "1e39", "1e400", "1" + "0" * 400])
async def test_numbers_that_are_not_finite(number: str, clock: Clock) -> None:
    with serving(always(200, f'{{"data": [{{"embedding": [1, {number}, 3]}}]}}'.encode())) as endpoint:
        assert "not finite" in (await failure(endpoint.base, clock)).message


async def test_a_vector_of_zeros_is_the_vector_of_a_query(clock: Clock) -> None:
    """ZeroClaw asks whether there is a vector, not what is in it."""
    with serving(always(200, {"data": [{"embedding": [0, 0, 0]}]})) as endpoint:
        async with opened(endpoint.base, clock) as embedder:
            assert (await embedder.query("unknown words")).tolist() == [0.0, 0.0, 0.0]


async def test_an_endpoint_that_hangs_fails_within_the_time_limit(clock: Clock) -> None:
    with serving(held(threading.Event(), GOOD)) as endpoint:
        failed = await failure(endpoint.base, clock, total_seconds=0.2)
    assert len(endpoint.requests) == 1
    assert "did not answer within 0.2 s" in failed.message


async def test_an_endpoint_that_is_down(clock: Clock) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    assert "cannot be reached" in (await failure(f"http://127.0.0.1:{port}", clock)).message


@pytest.mark.parametrize("host", ["ex\u2024ample.com", "a\0b", "a b"])
async def test_a_host_name_that_cannot_exist_cannot_be_reached(host: str, clock: Clock) -> None:
    assert "cannot be reached" in (await failure(f"http://{host}:9", clock)).message


async def test_user_password_and_keys_in_the_url_are_not_shown(clock: Clock) -> None:
    with serving(refusing(404)) as endpoint:
        host = endpoint.base.removeprefix("http://")
        failed = await failure(f"http://mio:hunter2@{host}/{KEY}/embeddings?key=hunter2", clock)
    assert "hunter2" not in str(failed)
    assert "mio" not in str(failed)
    assert host in str(failed)


async def test_a_key_that_is_part_of_the_path_is_hidden(clock: Clock) -> None:
    """Some gateways want it there, where it does not look like a key."""
    failed = await failure("http://127.0.0.1:9/gateway/plainword/v1", clock, key="plainword")
    assert "plainword" not in str(failed)
    assert "http://127.0.0.1:9/gateway/" in failed.message


@pytest.mark.parametrize("key", ["schlüssel", "a\nb", "\udcff"])
async def test_a_key_that_no_header_can_carry(key: str, clock: Clock) -> None:
    with serving(GOOD) as endpoint:
        failed = await failure(endpoint.base, clock, key=key)
    assert "no HTTP header takes" in failed.message
    assert key not in str(failed)
    assert endpoint.requests == []


async def test_the_vector_of_a_query_is_cached(clock: Clock) -> None:
    with serving(GOOD) as endpoint:
        async with opened(endpoint.base, clock) as embedder:
            for text in ("one", "two", "one", "two"):
                await embedder.query(text)
            assert embedder.is_cached("one")
            assert not embedder.is_cached("three")
    assert inputs(endpoint) == [["one"], ["two"]]


async def test_the_oldest_of_a_thousand_queries_leaves_the_cache(clock: Clock) -> None:
    with serving(GOOD) as endpoint:
        async with opened(endpoint.base, clock) as embedder:
            await embedder.prefetch([f"query {number}" for number in range(1001)])
            assert not embedder.is_cached("query 0")
            assert embedder.is_cached("query 1")


async def test_prefetching_asks_once_for_each_query_that_is_missing(clock: Clock) -> None:
    texts = [f"query {number}" for number in range(130)]
    with serving(GOOD) as endpoint:
        async with opened(endpoint.base, clock) as embedder:
            await embedder.query("query 7")
            assert await embedder.prefetch([*texts, "query 1"]) == {}
            assert all(embedder.is_cached(text) for text in texts)
    assert [len(sent) for sent in inputs(endpoint)] == [1, 64, 64, 1]


async def test_prefetching_stops_at_a_broken_endpoint_but_not_at_a_rejected_query(clock: Clock) -> None:
    def answer(path: str, headers: Mapping[str, str], asked: Any) -> Answer:
        if "broken" in asked["input"]:
            return 404, b"{}"
        return (400, b"{}") if "bad" in asked["input"] else GOOD(path, headers, asked)

    texts = ["good", "bad", *(f"filler {number}" for number in range(62)), "broken", "late"]
    with serving(answer) as endpoint:
        async with opened(endpoint.base, clock) as embedder:
            errors = await embedder.prefetch(texts)
            assert embedder.is_cached("good")
            assert embedder.is_cached("filler 61")
    assert len(endpoint.requests) == 1 + 64 + 1
    assert isinstance(errors["bad"], InputRejectedError)
    assert "HTTP 404" in str(errors["broken"])
    assert errors["late"] is errors["broken"]
