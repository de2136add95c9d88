"""Which provider creates vectors, and which key is sent."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.places import Install, MemoryConfig, load_config

from zeroclaw_tui.config.secrets import encrypt

KEY = bytes(range(32))
OPENAI = '[memory]\nbackend = "sqlite"\nauto_save = true\nembedding_provider = "openai"\n'
HINT = (
    '[memory]\nbackend = "sqlite"\nauto_save = true\nembedding_provider = "openai"\nembedding_model = "hint:fast"\n'
    "embedding_dimensions = 256\n"
)


def load(folder: Path, text: str, **environ: str) -> MemoryConfig:
    (folder / "config.toml").write_text(text)
    (folder / ".secret_key").write_text(KEY.hex() + "\n")
    root = folder / "workspace"
    return load_config(Install(folder, root, root / "memory/brain.db", "workspace", "test", folder / "own"), environ)


def sealed(text: str) -> str:
    return encrypt(text, KEY, bytes(range(12)))


def test_global_key_is_the_last_resort_of_the_first_schema(tmp_path: Path) -> None:
    config = load(tmp_path, f'api_key = "{sealed("chat")}"\n' + OPENAI)
    assert config.embedding.api_key == "chat"
    assert config.sources["embedding.api_key"] == "config.toml, api_key"


def test_variables_of_the_old_generation_are_read(tmp_path: Path) -> None:
    text = 'api_key = "chat"\n' + OPENAI
    assert load(tmp_path, text, API_KEY="generic").embedding.api_key == "generic"
    assert load(tmp_path, text, API_KEY="generic", ZEROCLAW_API_KEY="z").embedding.api_key == "z"
    config = load(tmp_path, text, API_KEY="generic", OPENAI_API_KEY=" own ")
    assert config.embedding.api_key == "own"
    assert config.sources["embedding.api_key"] == "environment OPENAI_API_KEY"


def test_the_second_schema_uses_the_key_of_the_fallback_provider(tmp_path: Path) -> None:
    text = (
        'schema_version = 2\n[providers]\nfallback = "anthropic"\n[providers.models.anthropic]\napi_key = "chat"\n'
        + OPENAI
    )
    assert load(tmp_path, text).embedding.api_key == "chat"


@pytest.mark.parametrize(
    ("start", "route"),
    [
        ("", "[[embedding_routes]]\nprovider"),
        ("schema_version = 2\n", "[[providers.embedding_routes]]\nprovider"),
        ("schema_version = 3\n", "[[embedding_routes]]\nmodel_provider"),
    ],
)
def test_a_route_is_found_where_its_schema_has_it(tmp_path: Path, start: str, route: str) -> None:
    text = f'{start}{HINT}{route} = "custom:http://localhost:9/v1"\nhint = "fast"\nmodel = "m"\napi_key = "r"\n'
    config = load(tmp_path, text)
    assert config.embedding.provider == "custom:http://localhost:9/v1"
    assert (config.embedding.model, config.embedding.dimensions, config.embedding.api_key) == ("m", 256, "r")
    assert "fast" in config.sources["memory.embedding_provider"]
    assert config.warnings == ()


@pytest.mark.parametrize(
    "route",
    [
        '[[embedding_routes]]\nhint = "slow"\nprovider = "openrouter"\nmodel = "m"\n',
        '[[embedding_routes]]\nhint = "fast"\nprovider = "openrouter"\nmodel = "m"\ndimensions = 0\n',
        '[[embedding_routes]]\nhint = 1\nprovider = "openrouter"\nmodel = "m"\n',
        "",
    ],
)
def test_an_unusable_route_falls_back_to_the_literal_model(tmp_path: Path, route: str) -> None:
    config = load(tmp_path, HINT + route)
    assert (config.embedding.provider, config.embedding.model) == ("openai", "hint:fast")
    assert any("the [memory] values are used" in sentence for sentence in config.warnings)


THIRD = """schema_version = 3
[memory]
embedding_provider = "{provider}"
{more}
[agents.a]
model_provider = "anthropic.home"
[providers.models.anthropic.home]
api_key = "chat"
[providers.models.openai.work]
api_key = "profile"
[providers.models.ollama.here]
uri = "http://localhost:11434/v1"
[providers.models.cohere.x]
api_key = "profile"
"""


@pytest.mark.parametrize(
    ("provider", "expected", "key"),
    [
        ("openai", "openai", "chat"),
        ("openai.work", "openai", "profile"),
        ("ollama.here", "custom:http://localhost:11434/v1", "chat"),
        ("custom:http://a.b/v1", "custom:http://a.b/v1", "chat"),
    ],
)
def test_a_provider_reference_of_the_third_schema_is_resolved(
    tmp_path: Path, provider: str, expected: str, key: str
) -> None:
    config = load(tmp_path, THIRD.format(provider=provider, more=""))
    assert (config.embedding.provider, config.embedding.api_key) == (expected, key)
    assert config.warnings == ()


@pytest.mark.parametrize(("provider", "part"), [("openai.gone", "is not under"), ("cohere.x", "has no uri")])
def test_a_dangling_provider_reference_disables_vectors(tmp_path: Path, provider: str, part: str) -> None:
    config = load(tmp_path, THIRD.format(provider=provider, more=""))
    assert not config.embedding.is_on
    assert any(part in sentence for sentence in config.warnings)


def test_key_of_memory_wins_over_the_profile_and_is_decrypted(tmp_path: Path) -> None:
    config = load(tmp_path, THIRD.format(provider="openai.work", more=f'embedding_api_key = "{sealed("mine")}"'))
    assert config.embedding.api_key == "mine"
    assert "mine" not in repr(config)


def test_a_route_key_of_the_old_generation_is_used_literally(tmp_path: Path) -> None:
    text = f'{HINT}[[embedding_routes]]\nhint = "fast"\nprovider = "openai"\nmodel = "m"\napi_key = "{sealed("x")}"\n'
    assert load(tmp_path, text).embedding.api_key == sealed("x")


@pytest.mark.parametrize(
    ("value", "part"),
    [("op://vault/item/field", "1Password"), ("enc2:zz", "not hex"), ("enc2:00", "is damaged")],
)
def test_key_that_cannot_be_decrypted_is_reported(tmp_path: Path, value: str, part: str) -> None:
    config = load(tmp_path, f'api_key = "{value}"\n' + OPENAI)
    assert config.embedding.api_key is None
    assert any(part in sentence for sentence in config.warnings)
