"""The OpenAI protocol with a real server on the loopback that is busy, broken, slow or wrong."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import numpy as np
import pytest
from support.http_endpoints import (
    Answer,
    Answering,
    HttpEndpoint,
    after,
    always,
    breaking_off,
    embeddings,
    in_turn,
    refusing,
    serving,
)
from support.memories import EmbeddingFailed
from support.places import EmbeddingConfig
from support.slept_clock import Clock

from zeroclaw_tui.embeddings.base import (
    ApiKeyError,
    EndpointBusyError,
    InputRejectedError,
    WrongDimensionError,
    endpoint_url,
)
from zeroclaw_tui.embeddings.endpoint import INTERACTIVE, OpenAIEmbedder, RetryPolicy, embed_each

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


async def test_a_text_is_sent_as_by_zeroclaw_and_its_vector_returned(clock: Clock) -> None:
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


async def test_many_texts_are_sent_in_batches_and_vectors_returned_in_order(clock: Clock) -> None:
    def backwards(path: str, headers: Mapping[str, str], asked: Any) -> Answer:
        items = [{"index": at, "embedding": [int(text), 0, 0]} for at, text in enumerate(asked["input"])]
        return 200, json.dumps({"data": items[::-1]}).encode()

    with serving(backwards) as endpoint:
        async with opened(endpoint.base, clock) as embedder:
            vectors = await embedder.embed_many([str(number) for number in range(130)])
    assert [vector[0] for vector in vectors] == list(range(130))
    assert [len(texts) for texts in inputs(endpoint)] == [64, 64, 2]


async def test_fewer_vectors_than_texts_are_an_error(clock: Clock) -> None:
    with serving(always(200, {"data": [{"embedding": [1, 2, 3]}]})) as endpoint:
        async with opened(endpoint.base, clock) as embedder:
            with pytest.raises(InputRejectedError, match="a vector for each text"):
                await embedder.embed_many(["one", "two"])


async def test_texts_rejected_as_a_batch_are_sent_one_by_one(clock: Clock) -> None:
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
        ("custom:http://[::1]:8080", "http://[::1]:8080/v1/embeddings", False),
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
        (in_turn(refusing(503), refusing(500), GOOD), [0.5, 1.0]),
        (in_turn(refusing(429, Retry_After="3"), GOOD), [3.0]),
        (in_turn(breaking_off(HALF), GOOD), [0.5]),
    ],
    ids=["429", "twice", "Retry-After", "closed midway"],
)
async def test_a_request_to_a_busy_endpoint_is_retried_after_a_wait(
    answering: Answering, slept: list[float], clock: Clock
) -> None:
    with serving(answering) as endpoint:
        async with opened(endpoint.base, clock) as embedder:
            assert (await embedder.query("x")).tolist() == [0.5] * DIMENSIONS
    assert len(endpoint.requests) == 1 + len(slept)
    assert clock.seconds == sum(slept)


async def test_a_busy_endpoint_fails_after_three_tries(clock: Clock) -> None:
    with serving(refusing(503, Retry_After="2")) as endpoint:
        failed = await failure(endpoint.base, clock)
    assert len(endpoint.requests) == 3
    assert isinstance(failed, EndpointBusyError)
    assert "has an internal error (HTTP 503), asked 3 times." in failed.message
    assert "agent gets no memories" in failed.hint


async def test_a_too_long_retry_time_is_reported_without_waiting(clock: Clock) -> None:
    with serving(refusing(429, Retry_After="60")) as endpoint:
        failed = await failure(endpoint.base, clock)
    assert len(endpoint.requests) == 1
    assert "It asks to wait 60 s." in failed.hint
    assert clock.seconds == 0


@pytest.mark.parametrize(
    ("status", "kind", "sentence"),
    [
        (401, ApiKeyError, "refuses the API key (HTTP 401)"),
        (404, EmbeddingFailed, "has no embeddings at this URL, or not this model (HTTP 404)"),
        (302, EmbeddingFailed, "did not answer with a vector (HTTP 302)"),
        (400, InputRejectedError, "did not answer with a vector (HTTP 400)"),
    ],
)
async def test_each_refusal_has_its_sentence_and_is_not_retried(
    status: int, kind: type[EmbeddingFailed], sentence: str, clock: Clock
) -> None:
    with serving(always(status, f"echo {KEY}".encode())) as endpoint:
        failed = await failure(endpoint.base, clock)
    assert len(endpoint.requests) == 1
    assert type(failed) is kind
    assert failed.message == f"The embedding endpoint {endpoint.base}/v1/embeddings {sentence}."


async def test_a_redirect_is_not_followed_so_that_the_key_is_not_sent_elsewhere(clock: Clock) -> None:
    with serving(GOOD) as elsewhere, serving(refusing(307, Location=f"{elsewhere.base}/v1/embeddings")) as endpoint:
        failed = await failure(endpoint.base, clock)
    assert elsewhere.requests == []
    assert "(HTTP 307)" in failed.message


NO_VECTOR = "without a vector"


@pytest.mark.parametrize(
    ("answer", "part"),
    [
        (b"", "did not answer with JSON"),
        (b"[" * 100_000, "did not answer with JSON"),
        (b'{"data": []}', NO_VECTOR),
        (b'{"data": [{"embedding": [1, "2", 3]}]}', NO_VECTOR),
        (b'{"data": [{"embedding": [1, 1e39, 3]}]}', "not finite"),
        (b'{"data": [{"embedding": [1, 2]}]}', "a vector of 2 numbers, but memory.embedding_dimensions is 3"),
    ],
    ids=lambda value: repr(value)[:50],
)
async def test_an_invalid_answer_is_reported(answer: bytes, part: str, clock: Clock) -> None:
    with serving(always(200, answer)) as endpoint:
        failed = await failure(endpoint.base, clock)
    assert part in failed.message
    assert not isinstance(failed, WrongDimensionError) or failed.found == 2


async def test_an_endpoint_that_hangs_fails_within_the_time_limit(clock: Clock) -> None:
    with serving(after(60.0, GOOD)) as endpoint:
        failed = await failure(endpoint.base, clock, seconds=0.2)
    assert len(endpoint.requests) == 1
    assert "did not answer within 0.2 s" in failed.message


async def test_user_password_and_keys_in_the_url_are_not_shown(clock: Clock) -> None:
    """Some gateways have the key in the path, where it does not look like one."""
    failed = await failure("http://mio:hunter2@127.0.0.1:9/plainword/embeddings?key=hunter2", clock, key="plainword")
    for secret in ("mio", "hunter2", "plainword"):
        assert secret not in str(failed)
    assert "http://127.0.0.1:9/" in failed.message


async def test_a_key_that_is_invalid_in_a_header_is_refused(clock: Clock) -> None:
    with serving(GOOD) as endpoint:
        failed = await failure(endpoint.base, clock, key="a\nb")
    assert "HTTP headers do not allow" in failed.message
    assert endpoint.requests == []


async def test_the_vector_of_a_query_is_cached(clock: Clock) -> None:
    with serving(GOOD) as endpoint:
        async with opened(endpoint.base, clock) as embedder:
            for text in ("one", "two", "one", "two"):
                await embedder.query(text)
            assert embedder.is_cached("one")
            assert not embedder.is_cached("three")
    assert inputs(endpoint) == [["one"], ["two"]]
