"""From config.toml to the request: model, address and key as each generation of ZeroClaw sends them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.http_endpoints import HttpEndpoint, embeddings, serving

from zeroclaw_tui.config.load import load_config
from zeroclaw_tui.config.locations import Install
from zeroclaw_tui.config.secrets import seal
from zeroclaw_tui.embeddings.factory import create_embedder

SECRET_KEY = bytes(range(32))
HINT = '[memory]\nembedding_provider = "none"\nembedding_model = "hint:fast"\nembedding_dimensions = 3\n'
PLAIN = '[memory]\nembedding_provider = "custom:{base}"\nembedding_model = "small"\nembedding_dimensions = 3\n'
ROUTE = 'hint = "fast"\nmodel = "routed"\ndimensions = 4\n'


def sealed(text: str) -> str:
    return seal(text, SECRET_KEY, bytes(range(12)))


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[HttpEndpoint]:
    """An embeddings service that answers at any path with vectors of four numbers for the model "routed", else three.

    The one environment of the process has no proxy.
    """
    for name in ("http_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)

    def answer(path: str, headers: Any, asked: Any) -> Any:
        return embeddings(4 if asked["model"] == "routed" else 3)("/v1/embeddings", headers, asked)

    with serving(answer) as endpoint:
        yield endpoint


async def request_of(folder: Path, service: HttpEndpoint, text: str, **environ: str) -> tuple[str, str, str | None]:
    """Path, model and key of the request for a query's vector."""
    (folder / "config.toml").write_text(text.replace("{base}", service.base))
    (folder / ".secret_key").write_text(SECRET_KEY.hex() + "\n")
    install = Install(folder, folder, folder / "brain.db", "workspace", "test", folder / "own")
    embedder, because = create_embedder(load_config(install, environ).embedding)
    assert embedder is not None, because
    await embedder.embed("x")
    await embedder.close()
    ((path, headers, asked),) = service.requests
    return path, asked["model"], headers.get("authorization")


@pytest.mark.parametrize(
    ("start", "route"),
    [
        ("", "[[embedding_routes]]\nprovider"),
        ("schema_version = 2\n", "[[providers.embedding_routes]]\nprovider"),
        ("schema_version = 3\n", "[[embedding_routes]]\nmodel_provider"),
    ],
    ids=["schema 1", "schema 2", "schema 3"],
)
async def test_a_hint_is_sent_to_its_route(tmp_path: Path, service: HttpEndpoint, start: str, route: str) -> None:
    text = f'{start}{HINT}{route} = "custom:{{base}}/api"\n{ROUTE}api_key = "of-the-route"\n'
    assert await request_of(tmp_path, service, text) == ("/api/embeddings", "routed", "Bearer of-the-route")


async def test_an_alias_of_a_provider_brings_its_address_and_key(tmp_path: Path, service: HttpEndpoint) -> None:
    memory = PLAIN.replace("custom:{base}", "ollama.here")
    profile = '[providers.models.ollama.here]\nuri = "{base}/x/embeddings"\napi_key = "of-the-profile"\n'
    sent = await request_of(tmp_path, service, f"schema_version = 3\n{memory}{profile}")
    assert sent == ("/x/embeddings", "small", "Bearer of-the-profile")


@pytest.mark.parametrize(
    ("text", "environ", "key"),
    [
        (f'api_key = "{sealed("of-chat")}"\n{PLAIN}', {}, "of-chat"),
        (f'api_key = "of-chat"\n{PLAIN}', {"ZEROCLAW_API_KEY": "of-environment"}, "of-environment"),
        (f'schema_version = 3\n{PLAIN}embedding_api_key = "{sealed("of-memory")}"\n', {}, "of-memory"),
        (f"schema_version = 3\n{PLAIN}", {"ZEROCLAW_memory__embedding_api_key": "generic"}, "generic"),
        (f"schema_version = 3\n{PLAIN}", {"API_KEY": "not read any more"}, None),
    ],
    ids=["sealed, schema 1", "environment, schema 1", "sealed, schema 3", "environment, schema 3", "old variable"],
)
async def test_the_key_comes_from_config_or_environment(
    tmp_path: Path, service: HttpEndpoint, text: str, environ: dict[str, str], key: str | None
) -> None:
    _, _, sent = await request_of(tmp_path, service, text, **environ)
    assert sent == (None if key is None else f"Bearer {key}")
