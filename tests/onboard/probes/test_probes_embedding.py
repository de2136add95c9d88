"""The test of the embedding endpoint: who is asked, with which key, and what each answer means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from probing import KEY, WRONG_KEY, make_answers, probed
from support.http_endpoints import after, embeddings, serving

from zeroclaw_tui.onboard.probes import Finding, effective_embedding

MODERN = 'schema_version = 3\n[memory]\nbackend = "sqlite.default"\nauto_save = true\n'
OLD = 'api_key = "{0}"\n[memory]\nbackend = "sqlite"\nauto_save = true\n'


def look(folder: Path, base: str, *, key: str | None = KEY, dimensions: int = 3, seconds: float = 8.0) -> Finding:
    settings: dict[str, Any] = {"memory__embedding_api_key": key} if key else {}
    answers = make_answers(
        folder / "config",
        MODERN,
        memory__embedding_provider=f"custom:{base}",
        memory__embedding_dimensions=dimensions,
        **settings,
    )
    return probed("embedding", answers, seconds)


def test_an_endpoint_that_answers(tmp_path: Path) -> None:
    with serving(embeddings(3, KEY)) as endpoint:
        found = look(tmp_path, endpoint.base)
    assert (found.verdict, found.sentence, found.facts) == ("good", "answers with 3 dimensions", ())
    assert [path for path, _, _ in endpoint.requests] == ["/v1/embeddings"]


def test_a_wrong_dimension_comes_with_the_right_one(tmp_path: Path) -> None:
    with serving(embeddings(768)) as endpoint:
        found = look(tmp_path, endpoint.base, dimensions=1536)
    assert (found.verdict, found.exit_code) == ("bad", 2)
    assert dict(found.corrections) == {"memory.embedding_dimensions": 768}
    assert "768" in found.sentence
    assert "1536" in found.sentence


def test_a_wrong_key(tmp_path: Path) -> None:
    with serving(embeddings(3, KEY)) as endpoint:
        found = look(tmp_path, endpoint.base, key=WRONG_KEY)
    assert (found.verdict, found.exit_code) == ("bad", 1)
    assert "refuses the API key (HTTP 401)" in found.sentence
    assert found.wrong == ("memory.embedding_api_key",)


def test_an_endpoint_that_never_answers(tmp_path: Path) -> None:
    with serving(after(60, embeddings(3))) as endpoint:
        found = look(tmp_path, endpoint.base, seconds=0.4)
    assert found.exit_code == 3
    assert "did not answer within 0.4 s" in found.sentence


def test_an_unknown_host_and_a_key_sent_unencrypted(tmp_path: Path) -> None:
    found = look(tmp_path, "http://nobody.invalid")
    assert found.exit_code == 3
    assert "nobody.invalid" in found.sentence
    assert found.wrong == ("memory.embedding_provider",)
    assert found.facts == ("the API key is sent to nobody.invalid over plain HTTP, without encryption",)
    assert look(tmp_path, "https://nobody.invalid").facts == ()
    assert look(tmp_path, "http://nobody.invalid", key=None).facts == ()


def test_our_own_provider_is_not_tested(tmp_path: Path) -> None:
    answers = make_answers(
        tmp_path / "config", '[memory]\nbackend = "sqlite"\nauto_save = true\nembedding_provider = "local"\n'
    )
    assert probed("embedding", answers).verdict == "not tested"


def test_the_key_of_the_config_is_used_where_none_is_given(tmp_path: Path) -> None:
    with serving(embeddings(3, KEY)) as endpoint:
        answers = make_answers(
            tmp_path / "config",
            OLD.format(KEY),
            memory__embedding_provider=f"custom:{endpoint.base}",
            memory__embedding_dimensions=3,
        )
        assert probed("embedding", answers).verdict == "good"


@pytest.mark.parametrize(("provider", "key"), [("openai", KEY), ("custom:http://127.0.0.1:1", WRONG_KEY)])
def test_the_key_of_the_environment_is_that_of_the_answered_provider(tmp_path: Path, provider: str, key: str) -> None:
    answers = make_answers(
        tmp_path / "config", OLD.format(WRONG_KEY), {"OPENAI_API_KEY": KEY}, memory__embedding_provider=provider
    )
    config, _ = effective_embedding(answers)
    assert (config.provider, config.api_key) == (provider, key)


def test_a_hint_goes_by_its_route_and_corrects_nothing_else(tmp_path: Path) -> None:
    with serving(embeddings(5, KEY)) as endpoint:
        route = (
            f'[[embedding_routes]]\nhint = "fast"\nmodel_provider = "custom:{endpoint.base}"\nmodel = "small"\n'
            f'dimensions = 4\napi_key = "{KEY}"\n'
        )
        answers = make_answers(tmp_path / "config", MODERN + route, memory__embedding_model="hint:fast")
        found = probed("embedding", answers)
    assert found.verdict == "bad"
    assert "embedding route" in found.hint
    assert dict(found.corrections) == {}


def test_a_reference_goes_by_its_profile(tmp_path: Path) -> None:
    with serving(embeddings(3, KEY)) as endpoint:
        profile = f'[providers.models.custom.mine]\nuri = "{endpoint.base}"\napi_key = "{KEY}"\n'
        answers = make_answers(
            tmp_path / "config",
            MODERN + profile,
            memory__embedding_provider="custom.mine",
            memory__embedding_dimensions=3,
        )
        assert probed("embedding", answers).verdict == "good"


def test_a_key_that_cannot_be_opened_is_not_tested(tmp_path: Path, hanging_port: int) -> None:
    found = look(tmp_path, f"http://127.0.0.1:{hanging_port}", key="op://vault/item/field")
    assert found.verdict == "not tested"
