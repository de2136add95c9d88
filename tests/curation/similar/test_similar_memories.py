"""What is near a memory: by its own vector without any network, else by the rare words both have."""

from __future__ import annotations

from typing import Any

import pytest
from support.small_store import blob

from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.similar import SimilarResult, similar_memories
from zeroclaw_tui.embeddings.local import LocalEmbedder, local_vector
from zeroclaw_tui.memory.errors import EmbeddingFailed


async def near(library: Library, key: str, **more: Any) -> SimilarResult:
    entry = await library.memory.get(key)
    assert entry is not None
    return await similar_memories(library, entry=entry, **more)


def keys(result: SimilarResult) -> list[str]:
    return [found.entry.key for found in result.results]


async def test_the_nearest_by_the_rows_own_vector_need_no_embedder(opens: Any) -> None:
    """By hand: (1,0,0) with (.8,.6,0) is .8, with (0,1,0) it is 0; other lengths, superseded and opposite ones do not
    count."""
    result = await near(await opens(), "ramen")
    assert (result.way, result.because) == ("vector", None)
    assert keys(result) == ["noodles"]
    assert result.results[0].score == pytest.approx(0.8, abs=1e-6)
    assert result.looked_at == 5
    assert [found.rank for found in result.results] == [1]


async def test_without_a_vector_rare_words_tell_and_it_is_said(opens: Any) -> None:
    result = await near(await opens(), "plain")
    assert result.way == "rare words"
    assert result.because == "This memory has no vector."
    assert keys(result)[0] == "ramen"
    assert set(result.results[0].shared) == {"coloured", "rust"}
    assert "plain" not in keys(result)
    assert "old" not in keys(result)
    document = result.as_json()
    assert {"backend", "location", "id", "key", "query", "way", "because", "compared", "results"} == set(document)
    assert (document["key"], document["results"][0]["rank"], bool(document["results"][0]["shared"])) == (
        "plain",
        1,
        True,
    )


async def test_a_limit_is_kept_and_results_stand_nearest_first(opens: Any) -> None:
    rows = tuple({"key": f"k{number}", "content": "tea", "embedding": blob(1, number / 10, 0)} for number in range(30))
    library = await opens(rows)
    result = await near(library, "k0", limit=7)
    assert keys(result) == [f"k{number}" for number in range(1, 8)]
    assert [found.score for found in result.results] == sorted((found.score for found in result.results), reverse=True)


async def test_a_text_is_compared_by_its_vector_where_an_embedder_is(opens: Any) -> None:
    config = EmbeddingConfig("local", "local", 32)
    rows = tuple(
        {"key": key, "content": text, "embedding": local_vector(text, 32)}
        for key, text in (("sushi", "sushi on Tuesdays"), ("rust", "Prefers Rust"), ("tea", "green tea"))
    )
    result = await similar_memories(await opens(rows, config), text="sushi for dinner")
    assert result.way == "vector"
    assert keys(result)[0] == "sushi"


async def test_a_text_without_an_embedder_is_compared_by_words(opens: Any) -> None:
    result = await similar_memories(await opens(), text="noodles in the kitchen")
    assert result.way == "rare words"
    assert "no embeddings configured" in (result.because or "")
    assert keys(result) == ["plain", "noodles"]


async def test_an_endpoint_that_fails_leaves_the_words(opens: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    async def broken(self: LocalEmbedder, text: str) -> Any:
        raise EmbeddingFailed("The endpoint is down.", hint="Start it.")

    monkeypatch.setattr(LocalEmbedder, "embed", broken)
    library = await opens(embedding=EmbeddingConfig("local", "local", 3))
    result = await similar_memories(library, text="noodles")
    assert result.way == "rare words"
    assert result.because is not None
    assert result.because.startswith("The endpoint is down.")
    assert keys(result) == ["noodles"]


async def test_an_empty_content_is_compared_by_its_key(opens: Any) -> None:
    rows = ({"key": "marmalade_jar", "content": ""}, {"key": "b", "content": "an old marmalade jar"})
    assert keys(await near(await opens(rows), "marmalade_jar")) == ["b"]


async def test_a_crowd_of_superseded_twins_hides_nobody(opens: Any) -> None:
    twins = tuple(
        {"key": f"t{number}", "content": "tea", "embedding": blob(1, 0), "superseded_by": "id-000"}
        for number in range(200)
    )
    rows = (
        {"key": "now", "content": "tea", "embedding": blob(1, 0)},
        *twins,
        {"key": "far", "content": "tea", "embedding": blob(0.6, 0.8)},
    )
    assert keys(await near(await opens(rows), "now", limit=5)) == ["far"]
