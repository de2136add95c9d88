"""Similar memories: by vector without network, otherwise by shared rare words."""

from __future__ import annotations

from typing import Any

import pytest
from support.libraries import Library
from support.places import EmbeddingConfig
from support.small_store import blob

from zeroclaw_tui.curation.similar import SimilarResult, similar_memories
from zeroclaw_tui.embeddings.local import local_vector

ROWS: tuple[dict[str, Any], ...] = (
    {"key": "ramen", "content": "Likes ramen and rust coloured plates", "embedding": blob(1, 0, 0)},
    {"key": "noodles", "content": "Eats noodles twice a week", "embedding": blob(0.8, 0.6, 0)},
    {"key": "rust", "content": "Prefers Rust for command line tools", "embedding": blob(0, 1, 0)},
    {"key": "plain", "content": "Rust coloured curtains in the kitchen"},
    {"key": "other", "content": "A vector of another model", "embedding": blob(1, 0)},
    {"key": "old", "content": "Likes ramen", "embedding": blob(1, 0.1, 0), "superseded_by": "id-000"},
    {"key": "against", "content": "Points away", "embedding": blob(-1, 0, 0)},
)


async def near(library: Library, key: str, **options: Any) -> SimilarResult:
    entry = await library.memory.get(key)
    assert entry is not None
    return await similar_memories(library, entry=entry, **options)


def keys(result: SimilarResult) -> list[str]:
    return [found.entry.key for found in result.results]


async def test_the_nearest_by_the_memorys_own_vector_need_no_embedder(open_rows):
    """By hand: (1,0,0) with (.8,.6,0) is .8, with (0,1,0) it is 0; vectors of other lengths, superseded and opposite
    ones are ignored."""
    result = await near(await open_rows(ROWS, "G2"), "ramen")
    assert (result.method, result.reason, result.compared, keys(result)) == ("vector", None, 5, ["noodles"])
    assert (result.results[0].rank, result.results[0].score) == (1, pytest.approx(0.8, abs=1e-6))


async def test_without_a_vector_shared_rare_words_decide(open_rows):
    result = await near(await open_rows(ROWS, "G2"), "plain")
    assert (result.method, result.reason) == ("rare words", "This memory has no vector.")
    assert keys(result)[0] == "ramen"
    assert set(result.results[0].shared) == {"coloured", "rust"}
    assert not {"plain", "old"} & set(keys(result))
    document = result.as_json()
    assert list(document) == [
        "backend", "location", "id", "key", "query", "way", "because", "compared", "results",
    ]  # fmt: skip
    assert (document["key"], document["query"], document["results"][0]["rank"]) == ("plain", None, 1)


async def test_many_superseded_memories_of_equal_similarity_hide_no_other(open_rows):
    twin = {"content": "tea", "embedding": blob(1, 0)}
    twins = tuple(twin | {"key": f"t{number}", "superseded_by": "id-000"} for number in range(200))
    far = {"key": "far", "content": "tea", "embedding": blob(0.6, 0.8)}
    assert keys(await near(await open_rows([twin | {"key": "now"}, *twins, far], "G2"), "now", limit=5)) == ["far"]


async def test_a_text_is_compared_by_its_vector_if_an_embedder_is_configured(open_rows):
    texts = (("sushi", "sushi on Tuesdays"), ("rust", "Prefers Rust"), ("tea", "green tea"))
    rows = tuple({"key": key, "content": text, "embedding": local_vector(text, 32)} for key, text in texts)
    result = await similar_memories(
        await open_rows(rows, "G2", EmbeddingConfig("local", "local", 32)), text="sushi for dinner"
    )
    assert (result.method, keys(result)[0]) == ("vector", "sushi")


async def test_the_nearest_memories_of_an_agent_are_found_after_nearer_ones_of_others(open_rows):
    own: list[dict[str, Any]] = [
        {"key": "ramen", "content": "Likes ramen", "embedding": blob(1, 0), "agent": "writer"},
        {"key": "udon", "content": "noodles with tea daily", "embedding": blob(0.6, 0.8), "agent": "writer"},
    ]
    others = [{"key": f"k{at}", "content": "noodles with tea", "embedding": blob(1, 0.01)} for at in range(60)]
    others += [{"key": f"k{at}", "content": f"plain{at}"} for at in range(60, 260)]
    library = await open_rows([*own, *others])
    for result in (
        await near(library, "ramen", limit=1, agents=["writer"]),
        await similar_memories(library, text="noodles with tea", limit=1, agents=["writer"]),
    ):
        assert keys(result) == ["udon"]
