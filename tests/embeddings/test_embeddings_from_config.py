"""The request that follows from config.toml, or the reason why recall uses keywords only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.http_endpoints import embeddings, serving
from support.places import EmbeddingConfig, Install, load_config

from zeroclaw_tui.config.secrets import encrypt
from zeroclaw_tui.embeddings.base import why_no_embedder
from zeroclaw_tui.embeddings.endpoint import create_embedder

SECRET_KEY = bytes(range(32))
MEMORY = '[memory]\nembedding_provider = "custom:{base}"\nembedding_model = "small"\nembedding_dimensions = 3\n'
ROUTED = (
    '[memory]\nembedding_model = "hint:fast"\n[[embedding_routes]]\nhint = "fast"\nmodel = "routed"\ndimensions = 3\n'
)
THIRD = "schema_version = 3\n"


@pytest.mark.parametrize(
    ("text", "environ", "path", "model", "key"),
    [
        (f'{ROUTED}provider = "custom:{{base}}/api"\napi_key = "k"\n', {}, "/api/embeddings", "routed", "k"),
        (
            f'{THIRD}{MEMORY.replace("custom:{base}", "ollama.here")}'
            '[providers.models.ollama.here]\nuri = "{base}/x/embeddings"\napi_key = "k"\n',
            {}, "/x/embeddings", "small", "k",
        ),
        (
            f'{THIRD}{MEMORY}embedding_api_key = "{encrypt("sealed", SECRET_KEY, bytes(range(12)))}"\n',
            {}, "/v1/embeddings", "small", "sealed",
        ),
        (THIRD + MEMORY, {"ZEROCLAW_memory__embedding_api_key": "k"}, "/v1/embeddings", "small", "k"),
        (THIRD + MEMORY, {"API_KEY": "not read any more"}, "/v1/embeddings", "small", None),
    ],
    ids=["a route", "an alias of a provider", "a sealed key", "a key of the environment", "an old variable"],
)  # fmt: skip
async def test_url_model_and_key_come_from_config_and_environment(
    tmp_path: Path, text: str, environ: dict[str, str], path: str, model: str, key: str | None
) -> None:
    def answer(_: str, headers: Any, asked: Any) -> Any:
        return embeddings(3)("/v1/embeddings", headers, asked)

    with serving(answer) as endpoint:
        (tmp_path / "config.toml").write_text(text.replace("{base}", endpoint.base))
        (tmp_path / ".secret_key").write_text(SECRET_KEY.hex() + "\n")
        install = Install(tmp_path, tmp_path, tmp_path / "brain.db", "workspace", "test", tmp_path / "own")
        embedder = create_embedder(load_config(install, environ).embedding)
        assert embedder is not None
        await embedder.embed("x")
        await embedder.close()
    ((asked_path, headers, asked),) = endpoint.requests
    assert (asked_path, asked["model"]) == (path, model)
    assert headers.get("authorization") == (None if key is None else f"Bearer {key}")


@pytest.mark.parametrize(
    ("config", "part"),
    [
        (EmbeddingConfig(), "no embeddings configured"),
        (EmbeddingConfig("cohere"), 'does not know the embedding provider "cohere" and uses none'),
        (EmbeddingConfig("openai", dimensions=0), "memory.embedding_dimensions is 0"),
        (EmbeddingConfig("custom:ftp://h"), "no http address"),
        (EmbeddingConfig("custom:http://[::1"), "no http address"),
    ],
)
def test_a_missing_embedder_is_explained_with_the_setting_that_helps(config: EmbeddingConfig, part: str) -> None:
    because = why_no_embedder(config)
    assert create_embedder(config) is None
    assert because is not None
    assert part in because
    assert "memory.embedding_" in because


def test_a_hostile_provider_name_is_cleaned_for_the_terminal() -> None:
    because = why_no_embedder(EmbeddingConfig("\x1b]0;x\x07\n" + "y" * 500))
    assert because is not None
    assert because.isprintable()
    assert len(because) < 300
