"""What is announced before a text leaves this machine."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from support.http_endpoints import embeddings, serving

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.embeddings.base import request_sentence
from zeroclaw_tui.embeddings.endpoint import OpenAIEmbedder

DIMENSIONS = 3
NO_MACHINE = EmbeddingConfig("custom:http://embeddings.invalid", "small", DIMENSIONS)


@pytest.fixture
def proxy(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Answers for a machine that does not exist."""
    with serving(lambda path, headers, asked: embeddings(DIMENSIONS)("/v1/embeddings", headers, asked)) as endpoint:
        monkeypatch.setenv("HTTP_PROXY", endpoint.base)
        yield


@asynccontextmanager
async def announced(embedder: OpenAIEmbedder) -> AsyncIterator[list[str]]:
    requests: list[str] = []
    embedder.on_first_request(requests.append)
    yield requests
    await embedder.close()


@pytest.mark.usefixtures("proxy")
async def test_the_first_request_to_another_machine_is_announced_once() -> None:
    async with announced(embedder := OpenAIEmbedder(NO_MACHINE)) as requests:
        await embedder.query("Which editor does she like now?")
        await embedder.query("another")
        await embedder.embed("and another")
    assert requests == [
        "Asking embeddings.invalid (small) for the query's vector: about 8 tokens; the text leaves this machine."
    ]


async def test_an_endpoint_on_this_machine_is_not_announced() -> None:
    with serving(embeddings(DIMENSIONS)) as endpoint:
        embedder = OpenAIEmbedder(EmbeddingConfig(f"custom:{endpoint.base}", "small", DIMENSIONS))
        async with announced(embedder) as requests:
            await embedder.query("x")
    assert requests == []


def test_a_request_is_described_in_one_sentence() -> None:
    sentence = request_sentence("h\x1b[31m.example", "m\n\x07" + "x" * 200, 2, 80)
    assert sentence == (
        f"Asking h␛[31m.example (m ␇{'x' * 77}) for the vectors of 2 texts: about 20 tokens; "
        "the texts leave this machine."
    )
