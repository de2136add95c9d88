"""The way to an endpoint: through the proxy that the environment names, or past it."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing

import pytest
from support.http_endpoints import HttpEndpoint, embeddings, serving

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.embeddings.endpoint import OpenAIEmbedder, is_remote_url
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


@pytest.mark.parametrize("variable", ["HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"])
async def test_an_http_endpoint_is_asked_through_the_proxy(
    variable: str, proxy: HttpEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, proxy.base)
    await asked("http://embeddings.invalid")
    assert [path for path, _, _ in proxy.requests] == ["http://embeddings.invalid/v1/embeddings"]


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


async def test_an_endpoint_of_this_machine_goes_through_the_proxy_too(
    proxy: HttpEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy.base)
    with serving(embeddings(3)) as endpoint:
        await asked(endpoint.base)
        assert endpoint.requests == []
    assert len(proxy.requests) == 1


@pytest.mark.parametrize("exempt", ["127.0.0.1", "example.com,127.0.0.1", "*"])
async def test_no_proxy_names_what_is_asked_past_it(
    exempt: str, proxy: HttpEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy.base)
    monkeypatch.setenv("NO_PROXY", exempt)
    with serving(embeddings(3)) as endpoint:
        await asked(endpoint.base)
        assert len(endpoint.requests) == 1
    assert proxy.requests == []


async def test_a_proxy_that_cannot_be_used_is_a_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://h:1")
    with pytest.raises(EmbeddingFailed, match="cannot be asked through the proxy"):
        await asked("http://embeddings.invalid")


async def test_a_proxy_that_is_down_is_a_sentence_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as free:
        port = free.getsockname()[1]
    monkeypatch.setenv("HTTP_PROXY", f"http://mio:hunter2@127.0.0.1:{port}")
    with pytest.raises(EmbeddingFailed, match="cannot be reached") as failed:
        await asked("http://embeddings.invalid")
    assert "hunter2" not in str(failed.value)


@pytest.mark.parametrize(
    ("url", "variables", "leaves"),
    [
        ("http://127.0.0.1:9/v1", {}, False),
        ("http://h.example/v1", {}, True),
        ("http://localhost/v1", {"HTTP_PROXY": "http://proxy.example:3128"}, True),
        ("http://localhost/v1", {"ALL_PROXY": "proxy.example:3128"}, True),
        ("http://localhost/v1", {"HTTP_PROXY": "http://proxy.example:3128", "NO_PROXY": "localhost"}, False),
        ("http://localhost/v1", {"HTTPS_PROXY": "http://proxy.example:3128"}, False),
        ("http://localhost/v1", {"HTTP_PROXY": "http://127.0.0.1:3128"}, False),
        ("http://h.example/v1", {"HTTP_PROXY": "http://127.0.0.1:3128"}, True),
    ],
)
def test_a_text_is_remote_url_where_endpoint_or_proxy_is_another(
    url: str, variables: dict[str, str], leaves: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert is_remote_url(url) is leaves
