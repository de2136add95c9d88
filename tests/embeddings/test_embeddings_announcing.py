"""What a person is told before a text leaves this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest
from support.http_endpoints import embeddings, serving

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.embeddings.base import RemoteCall
from zeroclaw_tui.embeddings.endpoint import RetryingEmbedder

DIMENSIONS = 3


class Elsewhere:
    """An embedder on another machine that is not there."""

    name = "openai"
    dimensions = DIMENSIONS
    is_remote = True

    async def embed(self, text: str) -> np.ndarray:
        return np.ones(DIMENSIONS, np.float32)

    async def close(self) -> None:
        """Nothing to let go of."""


@contextmanager
def told_of(embedder: RetryingEmbedder) -> Iterator[list[RemoteCall]]:
    calls: list[RemoteCall] = []
    embedder.tell_before_first_call(calls.append)
    yield calls


async def test_the_first_call_to_another_machine_is_told_before_it_once() -> None:
    embedder = RetryingEmbedder(EmbeddingConfig("openai", "text-embedding-3-small", DIMENSIONS), plain=Elsewhere())
    with told_of(embedder) as calls:
        await embedder.query("Which editor does she like now?")
        await embedder.query("another")
        await embedder.embed("and another")
    assert [call.words for call in calls] == [
        "Asking api.openai.com (text-embedding-3-small) for the query's vector: about 8 tokens; "
        "the text leaves this machine."
    ]


async def test_a_vector_that_is_kept_is_no_call() -> None:
    embedder = RetryingEmbedder(EmbeddingConfig("openai", dimensions=DIMENSIONS), plain=Elsewhere())
    await embedder.query("x")
    with told_of(embedder) as calls:
        await embedder.query("x")
        await embedder.queries(["x"])
        assert calls == []
        await embedder.queries(["x", "y", "z"])
    assert [(call.texts, call.characters) for call in calls] == [(2, 2)]


async def test_nobody_is_told_of_an_endpoint_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serving(embeddings(DIMENSIONS)) as endpoint:
        embedder = RetryingEmbedder(EmbeddingConfig(f"custom:{endpoint.base}", "small", DIMENSIONS))
        with told_of(embedder) as calls:
            await embedder.query("x")
        await embedder.close()
    assert calls == []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            RemoteCall("openrouter.ai", "openai/text-embedding-3-large", 3, 4_000_000),
            "Asking openrouter.ai (openai/text-embedding-3-large) for the vectors of 3 queries: "
            "about 1,000,000 tokens; the texts leave this machine.",
        ),
        (
            RemoteCall("h.example", "nomic", 1, 3, is_query=False),
            "Asking h.example (nomic) for the vector of a text: about 1 token; the text leaves this machine.",
        ),
        (
            RemoteCall("h\x1b[31m.example", "m\n\x07" + "x" * 200, 2, 80, is_query=False),
            f"Asking h␛[31m.example (m ␇{'x' * 77}) for the vectors of 2 texts: about 20 tokens; "
            "the texts leave this machine.",
        ),
    ],
)
def test_what_a_call_comes_to_in_words(call: RemoteCall, words: str) -> None:
    assert call.words == words
