"""The probes of Qdrant and of the embedding endpoint: requests, keys and the meaning of each answer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from probing import KEY, WRONG_KEY, make_answers, probed
from support.http_endpoints import after, embeddings, serving
from support.qdrant_server import serving as serving_qdrant

from zeroclaw_tui.onboard.probes import Finding, effective_embedding

QDRANT = 'schema_version = 3\n[memory]\nbackend = "qdrant.default"\nauto_save = true\n'
MODERN = 'schema_version = 3\n[memory]\nbackend = "sqlite.default"\nauto_save = true\n'
OLD = 'api_key = "{0}"\n[memory]\nbackend = "sqlite"\nauto_save = true\n'
COLLECTION = "zeroclaw_memories"
NO_COLLECTION = f"has no collection {COLLECTION} yet: ZeroClaw makes it"
NO_PROVIDER = "ZeroClaw cannot store anything in Qdrant without an embedding provider"
IN_THE_OPEN = "the API key is sent to nobody.invalid over plain HTTP, without encryption"
GOOD = {"verdict": "good"}


def bad(code: int, *wrong: str, **more: Any) -> dict[str, Any]:
    return {"verdict": "bad", "exit_code": code, "wrong": wrong, **more}


def check(found: Finding, expected: dict[str, Any], words: str) -> None:
    assert {name: getattr(found, name) for name in expected} == expected
    assert words in " ".join((found.sentence, *found.facts))


def ask_qdrant(folder: Path, url: str, *, key: str | None = KEY, **settings: Any) -> Finding:
    named = {"memory__embedding_provider": "openai", "memory__embedding_dimensions": 4, **settings}
    if key:
        named["storage__qdrant__api_key"] = key
    return probed("qdrant", make_answers(folder / "config", QDRANT, storage__qdrant__url=url, **named))


def ask_embedding(
    folder: Path, base: str, *, key: str | None = KEY, dimensions: int = 3, seconds: float = 8.0
) -> Finding:
    provider = {"memory__embedding_provider": f"custom:{base}", "memory__embedding_dimensions": dimensions}
    named = provider | ({"memory__embedding_api_key": key} if key else {})
    return probed("embedding", make_answers(folder / "config", MODERN, **named), seconds)


def test_a_suitable_qdrant_collection_is_requested_once(tmp_path: Path) -> None:
    with serving_qdrant(KEY) as endpoint:
        points = endpoint.add(COLLECTION, 4)
        points.upsert([{"id": number, "payload": {}, "vector": [1.0, 0, 0, 0]} for number in range(3)])
        found = ask_qdrant(tmp_path, f"{endpoint.base}/")
    facts = (f"the collection {COLLECTION} holds 3 memories", "its vectors have 4 numbers")
    check(found, {**GOOD, "facts": facts}, "answers in ")
    assert [path for _, path, _ in endpoint.requests] == [f"/collections/{COLLECTION}"]


@pytest.mark.parametrize(
    ("vectors", "asked", "expected", "words"),
    [
        (None, {}, {**GOOD, "facts": (NO_COLLECTION,)}, ""),
        (None, {"memory__embedding_provider": "none"}, GOOD, NO_PROVIDER),
        (768, {}, {"verdict": "bad", "exit_code": 2, "corrections": {"memory.embedding_dimensions": 768}}, ""),
        ({"text": {"size": 4}}, {}, bad(1, "storage.qdrant.collection"), "is not ZeroClaw's"),
        (4, {"key": WRONG_KEY}, bad(1, "storage.qdrant.api_key"), "refuses the API key (HTTP 401)"),
        (4, {"key": None}, bad(1, "storage.qdrant.api_key"), "wants an API key (HTTP 401)"),
    ],
)
def test_an_answer_of_qdrant_is_good_or_names_what_is_wrong(
    tmp_path: Path, vectors: Any, asked: dict[str, Any], expected: dict[str, Any], words: str
) -> None:
    with serving_qdrant(KEY) as endpoint:
        if isinstance(vectors, int):
            endpoint.add(COLLECTION, vectors)
        elif vectors:
            endpoint.collections[COLLECTION] = vectors
        check(ask_qdrant(tmp_path, endpoint.base, **asked), expected, words)


@pytest.mark.parametrize("url", ["localhost:6333", "ftp://h", "http://", "http://h:port"])
def test_an_invalid_qdrant_url_is_bad(tmp_path: Path, url: str) -> None:
    check(ask_qdrant(tmp_path, url), {"verdict": "bad", "exit_code": 2}, "")


def test_an_old_zeroclaw_sends_its_qdrant_key_unchanged(tmp_path: Path) -> None:
    """Up to 0.7.5 a key that looks encrypted is sent literally."""
    config = '[memory]\nbackend = "qdrant"\nauto_save = true\n[memory.qdrant]\napi_key = "enc2:00ff"\n'
    with serving_qdrant("enc2:00ff") as endpoint:
        answers = make_answers(tmp_path / "config", config, storage__qdrant__url=endpoint.base)
        assert probed("qdrant", answers).verdict == "good"


def test_an_unknown_host_and_a_key_sent_unencrypted_are_bad(tmp_path: Path) -> None:
    qdrant = ask_qdrant(tmp_path, "http://nobody.invalid:6333")
    check(qdrant, bad(3, "storage.qdrant.url", facts=(IN_THE_OPEN,)), "nobody.invalid")
    embedding = ask_embedding(tmp_path, "http://nobody.invalid")
    check(embedding, bad(3, "memory.embedding_provider", facts=(IN_THE_OPEN,)), "nobody.invalid")
    assert ask_embedding(tmp_path, "https://nobody.invalid").facts == ()
    assert ask_embedding(tmp_path, "http://nobody.invalid", key=None).facts == ()


CORRECTED = {"verdict": "bad", "exit_code": 2, "corrections": {"memory.embedding_dimensions": 768}}


@pytest.mark.parametrize(
    ("answering", "asked", "expected", "words"),
    [
        (embeddings(3, KEY), {}, {**GOOD, "facts": ()}, "answers with 3 dimensions"),
        (embeddings(768), {"dimensions": 1536}, CORRECTED, "768"),
        (embeddings(768), {"dimensions": 1536}, CORRECTED, "1536"),
        (embeddings(3, KEY), {"key": WRONG_KEY}, bad(1, "memory.embedding_api_key"), "refuses the API key (HTTP 401)"),
        (after(60, embeddings(3)), {"seconds": 0.4}, {"exit_code": 3}, "did not answer within 0.4 s"),
        (embeddings(3), {"key": "op://vault/item/field"}, {"verdict": "not tested"}, ""),
    ],
)
def test_an_answer_of_the_embedding_endpoint_is_good_or_names_what_is_wrong(
    tmp_path: Path, answering: Any, asked: dict[str, Any], expected: dict[str, Any], words: str
) -> None:
    with serving(answering) as endpoint:
        check(ask_embedding(tmp_path, endpoint.base, **asked), expected, words)
    assert {path for path, _, _ in endpoint.requests} <= {"/v1/embeddings"}


def test_the_built_in_provider_is_not_tested(tmp_path: Path) -> None:
    local = '[memory]\nbackend = "sqlite"\nauto_save = true\nembedding_provider = "local"\n'
    assert probed("embedding", make_answers(tmp_path / "config", local)).verdict == "not tested"


@pytest.mark.parametrize("profile", [False, True])
def test_the_key_comes_from_the_config_or_the_named_profile(tmp_path: Path, profile: bool) -> None:
    with serving(embeddings(3, KEY)) as endpoint:
        named = f'{MODERN}[providers.models.custom.mine]\nuri = "{endpoint.base}"\napi_key = "{KEY}"\n'
        answers = make_answers(
            tmp_path / "config",
            named if profile else OLD.format(KEY),
            memory__embedding_provider="custom.mine" if profile else f"custom:{endpoint.base}",
            memory__embedding_dimensions=3,
        )
        assert probed("embedding", answers).verdict == "good"


@pytest.mark.parametrize(("provider", "key"), [("openai", KEY), ("custom:http://127.0.0.1:1", WRONG_KEY)])
def test_the_key_of_the_environment_belongs_to_the_answered_provider(tmp_path: Path, provider: str, key: str) -> None:
    environ = {"OPENAI_API_KEY": KEY}
    answers = make_answers(tmp_path / "config", OLD.format(WRONG_KEY), environ, memory__embedding_provider=provider)
    config, _ = effective_embedding(answers)
    assert (config.provider, config.api_key) == (provider, key)


def test_a_model_hint_uses_its_route_and_offers_no_correction(tmp_path: Path) -> None:
    with serving(embeddings(5, KEY)) as endpoint:
        route = (
            f'[[embedding_routes]]\nhint = "fast"\nmodel_provider = "custom:{endpoint.base}"\nmodel = "small"\n'
            f'dimensions = 4\napi_key = "{KEY}"\n'
        )
        found = probed(
            "embedding", make_answers(tmp_path / "config", MODERN + route, memory__embedding_model="hint:fast")
        )
    check(found, {"verdict": "bad", "corrections": {}}, "")
    assert "embedding route" in found.hint
