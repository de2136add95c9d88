"""The Qdrant test of the wizard, against an endpoint that speaks its protocol and many that do not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from probing import KEY, WRONG_KEY, make_answers, probed
from support.qdrant_server import serving

from zeroclaw_tui.onboard.probes import Finding

MODERN = 'schema_version = 3\n[memory]\nbackend = "qdrant.default"\nauto_save = true\n'
COLLECTION = "zeroclaw_memories"
NO_PROVIDER = "ZeroClaw cannot store anything in Qdrant without an embedding provider"


def look(folder: Path, url: str, *, key: str | None = KEY, seconds: float = 8.0, **settings: Any) -> Finding:
    named = {"memory__embedding_provider": "openai", "memory__embedding_dimensions": 4, **settings}
    if key:
        named["storage__qdrant__api_key"] = key
    return probed("qdrant", make_answers(folder / "config", MODERN, storage__qdrant__url=url, **named), seconds)


def test_a_collection_that_fits(tmp_path: Path) -> None:
    with serving(KEY) as endpoint:
        points = endpoint.add(COLLECTION, 4)
        points.upsert([{"id": number, "payload": {}, "vector": [1.0, 0, 0, 0]} for number in range(3)])
        found = look(tmp_path, f"{endpoint.base}/")
    assert found.verdict == "good"
    assert found.sentence.startswith("answers in ")
    assert found.facts == (f"the collection {COLLECTION} holds 3 memories", "its vectors have 4 numbers")
    assert [path for _, path, _ in endpoint.requests] == [f"/collections/{COLLECTION}"]


def test_a_collection_that_is_not_there_yet(tmp_path: Path) -> None:
    with serving(KEY) as endpoint:
        found = look(tmp_path, endpoint.base)
    assert found.verdict == "good"
    assert found.facts == (f"has no collection {COLLECTION} yet: ZeroClaw makes it",)


def test_without_embeddings_nothing_can_be_stored(tmp_path: Path) -> None:
    with serving(KEY) as endpoint:
        found = look(tmp_path, endpoint.base, memory__embedding_provider="none")
    assert found.verdict == "good"
    assert NO_PROVIDER in found.facts


def test_vectors_of_another_length_come_with_the_right_one(tmp_path: Path) -> None:
    with serving(KEY) as endpoint:
        endpoint.add(COLLECTION, 768)
        found = look(tmp_path, endpoint.base)
    assert (found.verdict, found.exit_code) == ("bad", 2)
    assert dict(found.corrections) == {"memory.embedding_dimensions": 768}


def test_a_collection_of_another_program(tmp_path: Path) -> None:
    with serving(KEY) as endpoint:
        endpoint.collections[COLLECTION] = {"text": {"size": 4}, "image": {"size": 4}}
        found = look(tmp_path, endpoint.base)
    assert (found.verdict, found.exit_code) == ("bad", 1)
    assert "is not ZeroClaw's" in found.sentence
    assert found.wrong == ("storage.qdrant.collection",)


@pytest.mark.parametrize(("key", "message"), [(WRONG_KEY, "refuses the API key"), (None, "wants an API key")])
def test_a_wrong_or_missing_key(tmp_path: Path, key: str | None, message: str) -> None:
    with serving(KEY) as endpoint:
        found = look(tmp_path, endpoint.base, key=key)
    assert (found.verdict, found.exit_code) == ("bad", 1)
    assert f"{message} (HTTP 401)" in found.sentence
    assert found.wrong == ("storage.qdrant.api_key",)


def test_an_unknown_host_and_a_key_in_the_open(tmp_path: Path) -> None:
    found = look(tmp_path, "http://nobody.invalid:6333")
    assert (found.verdict, found.exit_code) == ("bad", 3)
    assert "nobody.invalid" in found.sentence
    assert found.wrong == ("storage.qdrant.url",)
    assert found.facts == ("the API key is sent to nobody.invalid over plain HTTP, without encryption",)


@pytest.mark.parametrize("url", ["localhost:6333", "ftp://h", "http://", "http://h:port"])
def test_a_url_that_is_none(tmp_path: Path, url: str) -> None:
    found = look(tmp_path, url)
    assert (found.verdict, found.exit_code) == ("bad", 2)


def test_an_old_zeroclaw_sends_its_key_as_it_is(tmp_path: Path) -> None:
    """Up to 0.7.5 a key that looks encrypted is not: it is sent literally."""
    config = '[memory]\nbackend = "qdrant"\nauto_save = true\n[memory.qdrant]\napi_key = "enc2:00ff"\n'
    with serving("enc2:00ff") as endpoint:
        answers = make_answers(tmp_path / "config", config, storage__qdrant__url=endpoint.base)
        assert probed("qdrant", answers).verdict == "good"
