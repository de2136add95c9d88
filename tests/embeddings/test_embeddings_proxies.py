"""Connections to an endpoint, through the proxy of the environment or directly, and their announcement."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import pytest
from support.http_endpoints import HttpEndpoint, embeddings, free_port, serving
from support.memories import EmbeddingFailed
from support.places import EmbeddingConfig

from zeroclaw_tui.embeddings.base import request_sentence
from zeroclaw_tui.embeddings.endpoint import OpenAIEmbedder

KEY = "sk-test-0123456789abcdef"


@pytest.fixture
def proxy() -> Iterator[HttpEndpoint]:
    """A proxy that answers requests itself instead of forwarding them."""
    with serving(lambda path, headers, asked: embeddings(3)("/v1/embeddings", headers, asked)) as endpoint:
        yield endpoint


async def asked(base: str) -> None:
    embedder = OpenAIEmbedder(EmbeddingConfig(f"custom:{base}", "small", 3, KEY))
    try:
        await embedder.embed("x")
    finally:
        await embedder.close()


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "ALL_PROXY"])
async def test_https_uses_a_tunnel_so_that_the_proxy_never_sees_the_key(
    variable: str, proxy: HttpEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, proxy.base)
    with pytest.raises(EmbeddingFailed, match="cannot be reached"):
        await asked("https://embeddings.invalid")
    ((path, headers, _),) = proxy.requests
    assert path == "embeddings.invalid:443"
    assert KEY not in str(headers)


async def test_an_endpoint_on_this_machine_is_contacted_without_the_proxy(
    proxy: HttpEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy.base)
    with serving(embeddings(3)) as endpoint:
        await asked(endpoint.base)
        assert len(endpoint.requests) == 1
    assert proxy.requests == []


async def test_a_stopped_proxy_is_reported_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", f"http://mio:hunter2@127.0.0.1:{free_port()}")
    with pytest.raises(EmbeddingFailed, match="cannot be reached") as failed:
        await asked("http://embeddings.invalid")
    assert "hunter2" not in str(failed.value)


DIMENSIONS = 3
NO_MACHINE = EmbeddingConfig("custom:http://embeddings.invalid", "small", DIMENSIONS)


@asynccontextmanager
async def announced(embedder: OpenAIEmbedder) -> AsyncIterator[list[str]]:
    requests: list[str] = []
    embedder.on_first_request(requests.append)
    yield requests
    await embedder.close()


async def test_the_first_request_to_another_machine_is_announced_once(
    proxy: HttpEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy.base)
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
        f"Asking h␛[31m.example (m ␇{'x' * 56}…) for the vectors of 2 texts: about 20 tokens; "
        "the texts leave this machine."
    )
