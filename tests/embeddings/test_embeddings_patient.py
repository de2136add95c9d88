"""An endpoint asked with patience: a real server that is busy, broken, slow or hostile, and how often it is asked."""

from __future__ import annotations

import asyncio
import json
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
from zeroclaw_tui.embeddings.base import Busy, KeyRefused, TextRefused, WrongDimension
from zeroclaw_tui.embeddings.endpoint import MOST_BYTES_KEPT, OpenAIEmbedder, RetryingEmbedder
from zeroclaw_tui.memory.errors import EmbeddingFailed

KEY = "sk-test-0123456789abcdef"
DIMENSIONS = 3
RIGHT = embeddings(DIMENSIONS)
HALF = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n" + b'{"data": [{"embe'
BUSY = "is rate limited (HTTP 429)"


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@asynccontextmanager
async def opened(endpoint: HttpEndpoint, clock: Clock, **limits: Any) -> AsyncIterator[RetryingEmbedder]:
    config = EmbeddingConfig(f"custom:{endpoint.base}", "small", DIMENSIONS, KEY)
    embedder = RetryingEmbedder(config, plain=OpenAIEmbedder(config, **limits), pace=clock.pace)
    yield embedder
    await embedder.close()


async def failure_of(endpoint: HttpEndpoint, clock: Clock, **limits: Any) -> EmbeddingFailed:
    async with opened(endpoint, clock, **limits) as embedder:
        with pytest.raises(EmbeddingFailed) as failed:
            await embedder.query("who likes Rust?")
    told = str(failed.value)
    assert KEY not in told
    assert "\n" not in told
    assert failed.value.message.startswith("The embedding endpoint ")
    return failed.value


@pytest.mark.parametrize(
    ("answering", "waited"),
    [
        (in_turn(refusing(429), RIGHT), 0.625),
        (in_turn(refusing(500), RIGHT), 0.625),
        (in_turn(refusing(503), refusing(502), RIGHT), 0.625 + 1.25),
        (in_turn(refusing(429, Retry_After="3"), RIGHT), 3 * 1.25),
        (in_turn(breaking_off(), RIGHT), 0.625),
        (in_turn(breaking_off(HALF), RIGHT), 0.625),
    ],
    ids=["429", "500", "twice", "Retry-After", "closed before answering", "closed midway"],
)
async def test_what_may_pass_is_tried_again_after_a_while(answering: Answering, waited: float, clock: Clock) -> None:
    with serving(answering) as endpoint:
        async with opened(endpoint, clock) as embedder:
            assert (await embedder.query("x")).tolist() == [0.5] * DIMENSIONS
        asked = len(endpoint.requests)
    assert asked == (3 if waited == 0.625 + 1.25 else 2)
    assert clock.time == pytest.approx(waited)


@pytest.mark.parametrize(
    ("answering", "part"),
    [
        (refusing(429), "(HTTP 429), asked 3 times."),
        (refusing(500), "(HTTP 500), asked 3 times."),
        (refusing(503, Retry_After="2"), "(HTTP 503), asked 3 times."),
        (breaking_off(), "broke off instead of answering, asked 3 times."),
        (breaking_off(HALF), "broke off instead of answering, asked 3 times."),
    ],
    ids=["429", "500", "Retry-After", "closed before answering", "closed midway"],
)
async def test_what_does_not_pass_is_given_up_after_three_tries(answering: Answering, part: str, clock: Clock) -> None:
    with serving(answering) as endpoint:
        failed = await failure_of(endpoint, clock)
        assert len(endpoint.requests) == 3
    assert part in failed.message
    assert "agent gets no memories" in failed.hint


@pytest.mark.parametrize(
    ("seconds", "wait"),
    [("6", "6 s"), ("60", "60 s"), ("86400", "86400 s"), ("9" * 400, "more than a day")],
    ids=["seconds", "a minute", "a day", "for ever"],
)
async def test_a_wait_too_long_for_a_person_is_told_and_not_waited_for(seconds: str, wait: str, clock: Clock) -> None:
    with serving(refusing(429, Retry_After=seconds)) as endpoint:
        failed = await failure_of(endpoint, clock)
        assert len(endpoint.requests) == 1
    assert BUSY in failed.message
    assert f"It asks to wait {wait}." in failed.hint
    assert clock.time == 0


@pytest.mark.parametrize(
    ("answering", "kind", "part"),
    [
        (refusing(401), KeyRefused, "refuses the API key"),
        (refusing(400), TextRefused, "did not answer with a vector"),
        (refusing(404), EmbeddingFailed, "has no embeddings at this URL"),
        (always(200, b"<html>"), EmbeddingFailed, "did not answer with JSON"),
        (always(200, {"data": []}), EmbeddingFailed, "holds no vector"),
        (always(200, {"data": [{"embedding": ["1", "2", "3"]}]}), EmbeddingFailed, "holds no vector"),
        (always(200, {"data": [{"embedding": "AACAPwAAAEAAAEBA"}]}), EmbeddingFailed, "base64 perhaps"),
        (always(200, b'{"data": [{"embedding": [NaN, 1, 2]}]}'), EmbeddingFailed, "not finite"),
        (embeddings(4), WrongDimension, "a vector of 4 numbers"),
    ],
)
async def test_what_will_not_pass_is_not_asked_twice(
    answering: Answering, kind: type[EmbeddingFailed], part: str, clock: Clock
) -> None:
    with serving(answering) as endpoint:
        failed = await failure_of(endpoint, clock)
        assert len(endpoint.requests) == 1
    assert type(failed) is kind
    assert part in failed.message


async def test_a_vector_of_zeros_is_the_vector_of_a_query(clock: Clock) -> None:
    """ZeroClaw asks whether there is one, not what it is."""
    with serving(always(200, {"data": [{"embedding": [0, 0, 0]}]})) as endpoint:
        async with opened(endpoint, clock) as embedder:
            assert (await embedder.query("unknown words")).tolist() == [0.0, 0.0, 0.0]
            made = await embedder.queries(["other words"])
            assert made["other words"].tolist() == [0.0, 0.0, 0.0]


async def test_an_endpoint_that_hangs_is_given_up_within_the_time_limit(clock: Clock) -> None:
    with serving(held(threading.Event(), RIGHT)) as endpoint:
        failed = await failure_of(endpoint, clock, total_seconds=0.2)
        assert len(endpoint.requests) == 1
    assert "did not answer within 0.2 s" in failed.message


async def test_all_tries_together_stay_within_the_time_limit_of_one(clock: Clock) -> None:
    """Two tries that take ten seconds each leave no time for a third."""

    def slow(path: str, headers: Mapping[str, str], asked: Any) -> Answer:
        clock.time += 10
        return 500, b"{}"

    with serving(slow) as endpoint:
        failed = await failure_of(endpoint, clock)
        assert len(endpoint.requests) == 2
    assert "asked 2 times" in failed.message


async def test_a_huge_answer_is_not_read_to_its_end(clock: Clock) -> None:
    with serving(always(200, {"data": [{"embedding": [0.25] * 400_000}]})) as endpoint:
        failed = await failure_of(endpoint, clock, most_bytes=1024 * 1024)
    assert "sent more than 1 MB and was not read on" in failed.message


async def test_a_redirect_is_not_followed_and_takes_the_key_nowhere(clock: Clock) -> None:
    with serving(RIGHT) as elsewhere:
        with serving(refusing(307, Location=f"{elsewhere.base}/v1/embeddings")) as endpoint:
            failed = await failure_of(endpoint, clock)
            assert endpoint.requests[0][1]["authorization"] == f"Bearer {KEY}"
        assert elsewhere.requests == []
    assert "(HTTP 307)" in failed.message


async def test_waiting_for_another_try_can_be_cancelled() -> None:
    is_waiting = asyncio.Event()

    class Held(Clock):
        async def sleep(self, seconds: float) -> None:
            is_waiting.set()
            await asyncio.Event().wait()

    with serving(refusing(500)) as endpoint:
        async with opened(endpoint, Held()) as embedder:
            asking = asyncio.ensure_future(embedder.query("x"))
            await is_waiting.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            assert len(endpoint.requests) == 1


async def test_a_query_is_asked_for_once_and_kept_apart_from_others(clock: Clock) -> None:
    with serving(RIGHT) as endpoint:
        async with opened(endpoint, clock) as embedder:
            for text in ("one", "two", "one", "two", "one"):
                assert embedder.waits_for(text) is (len(endpoint.requests) < 2)
                await embedder.query(text)
        assert [asked["input"] for _, _, asked in endpoint.requests] == [["one"], ["two"]]


async def test_the_query_asked_for_longest_ago_goes_first_when_too_many_are_kept(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("zeroclaw_tui.embeddings.endpoint.MOST_BYTES_KEPT", 2 * DIMENSIONS * 4)
    assert MOST_BYTES_KEPT >= 1000 * 3072 * 4 / 2
    with serving(RIGHT) as endpoint:
        async with opened(endpoint, clock) as embedder:
            for text in ("one", "two", "one", "three", "one", "two"):
                await embedder.query(text)
        assert [asked["input"][0] for _, _, asked in endpoint.requests] == ["one", "two", "three", "two"]


async def test_an_endpoint_that_failed_rests_for_ten_seconds(clock: Clock) -> None:
    with serving(in_turn(refusing(401), RIGHT)) as endpoint:
        async with opened(endpoint, clock) as embedder:
            for text in ("r", "ru", "rus"):
                with pytest.raises(KeyRefused, match="refuses the API key"):
                    await embedder.query(text)
                assert not embedder.waits_for("rust")
            assert len(endpoint.requests) == 1
            assert embedder.resting == 10
            clock.time += 10
            assert embedder.waits_for("rust")
            await embedder.query("rust")
            assert embedder.resting == 0
        assert len(endpoint.requests) == 2


async def test_it_rests_longer_where_it_asks_for_that_but_a_minute_at_most(clock: Clock) -> None:
    for asked, rests in (("30", 30), ("6", 10), ("900", 60)):
        with serving(refusing(429, Retry_After=asked)) as endpoint:
            async with opened(endpoint, clock) as embedder:
                with pytest.raises(Busy):
                    await embedder.query("x")
                assert embedder.resting == rests


async def test_whoever_asks_for_it_tries_again_at_once(clock: Clock) -> None:
    with serving(in_turn(refusing(404), RIGHT)) as endpoint:
        async with opened(endpoint, clock) as embedder:
            with pytest.raises(EmbeddingFailed):
                await embedder.query("x")
            embedder.ask_again_at_once()
            assert len(await embedder.query("x")) == DIMENSIONS


async def test_a_text_that_is_refused_sends_no_endpoint_to_rest(clock: Clock) -> None:
    with serving(in_turn(refusing(413), RIGHT)) as endpoint:
        async with opened(endpoint, clock) as embedder:
            with pytest.raises(TextRefused):
                await embedder.query("long")
            assert embedder.resting == 0
            await embedder.query("short")


async def test_what_is_written_is_asked_for_while_queries_rest(clock: Clock) -> None:
    with serving(in_turn(refusing(404), RIGHT)) as endpoint:
        async with opened(endpoint, clock) as embedder:
            with pytest.raises(EmbeddingFailed):
                await embedder.query("x")
            assert len(await embedder.embed("a memory")) == DIMENSIONS


async def test_many_queries_share_requests_and_are_kept(clock: Clock) -> None:
    texts = [f"query {at}" for at in range(130)]
    with serving(RIGHT) as endpoint:
        async with opened(endpoint, clock) as embedder:
            await embedder.query("query 7")
            found = await embedder.queries([*texts, "query 1"])
            assert list(found) == ["query 7", *(text for text in texts if text != "query 7")]
            assert all(isinstance(vector, np.ndarray) for vector in found.values())
            assert not any(embedder.waits_for(text) for text in texts)
        assert [len(asked["input"]) for _, _, asked in endpoint.requests] == [1, 64, 64, 1]


async def test_of_many_queries_each_has_its_own_failure(clock: Clock) -> None:
    """One is refused by itself; from where the endpoint breaks on, it is not asked any more."""

    def answer(path: str, headers: Mapping[str, str], asked: Any) -> Answer:
        if "broken" in asked["input"]:
            return 404, b"{}"
        return (400, b"{}") if "bad" in asked["input"] else RIGHT(path, headers, asked)

    texts = ["good", "bad", *(f"filler {at}" for at in range(62)), "broken", *(f"late {at}" for at in range(100))]
    with serving(answer) as endpoint:
        async with opened(endpoint, clock) as embedder:
            found = await embedder.queries(texts)
        assert len(endpoint.requests) == 1 + 64 + 1
    assert isinstance(found["good"], np.ndarray)
    assert isinstance(found["bad"], TextRefused)
    assert isinstance(found["filler 61"], np.ndarray)
    assert "HTTP 404" in str(found["broken"])
    assert found["late 99"] is found["broken"]


async def test_big_answers_do_not_keep_the_event_loop_from_turning(clock: Clock) -> None:
    """Read in another thread, they leave the loop to others meanwhile."""
    threads: set[int] = set()
    numbers = [0.123456789] * 20_000
    with serving(always(200, {"data": [{"embedding": numbers}]})) as endpoint:
        config = EmbeddingConfig(f"custom:{endpoint.base}", "small", len(numbers))
        plain = OpenAIEmbedder(config)
        reader = plain._reader.one

        def watched(answer: bytes) -> np.ndarray:
            threads.add(threading.get_ident())
            return reader(answer)

        plain._reader.one = watched  # type: ignore[method-assign]
        assert len(await plain.embed("x")) == len(numbers)
        await plain.close()
    assert threads
    assert threading.get_ident() not in threads


async def test_the_service_gets_what_zeroclaw_sends(clock: Clock) -> None:
    with serving(RIGHT) as endpoint:
        async with opened(endpoint, clock) as embedder:
            await embedder.query("who likes Rust?")
        ((path, headers, asked),) = endpoint.requests
    assert path == "/v1/embeddings"
    assert json.dumps(asked) == '{"model": "small", "input": ["who likes Rust?"]}'
    assert headers["authorization"] == f"Bearer {KEY}"
