"""The way to an endpoint: through the proxy that the environment names, or past it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest
from support.http_endpoints import HttpEndpoint, embeddings, serving

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.embeddings.endpoint import OpenAIEmbedder
from zeroclaw_tui.memory.errors import EmbeddingFailed

KEY = "sk-test-0123456789abcdef"


@pytest.fixture
def proxy() -> Iterator[HttpEndpoint]:
    """Answers itself what it should pass on."""
    with serving(lambda path, headers, asked: embeddings(3)("/v1/embeddings", headers, asked)) as endpoint:
        yield endpoint


async def asked(base: str) -> None:
    embedder = OpenAIEmbedder(EmbeddingConfig(f"custom:{base}", "small", 3, KEY))
    try:
        await embedder.embed("x")
    finally:
        await embedder.close()


@pytest.mark.parametrize("variable", ["HTTPS_PROXY", "ALL_PROXY"])
async def test_an_https_endpoint_is_reached_by_a_tunnel_and_the_proxy_never_sees_the_key(
    variable: str, proxy: HttpEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, proxy.base)
    with pytest.raises(EmbeddingFailed, match="cannot be reached"):
        await asked("https://embeddings.invalid")
    ((path, headers, _),) = proxy.requests
    assert path == "embeddings.invalid:443"
    assert KEY not in str(headers)


async def test_an_endpoint_of_this_machine_is_asked_past_the_proxy(
    proxy: HttpEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy.base)
    with serving(embeddings(3)) as endpoint:
        await asked(endpoint.base)
        assert len(endpoint.requests) == 1
    assert proxy.requests == []


async def test_a_proxy_that_is_down_is_a_sentence_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("HTTP_PROXY", f"http://mio:hunter2@127.0.0.1:{port}")
    with pytest.raises(EmbeddingFailed, match="cannot be reached") as failed:
        await asked("http://embeddings.invalid")
    assert "hunter2" not in str(failed.value)
