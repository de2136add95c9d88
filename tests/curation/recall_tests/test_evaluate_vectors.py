"""The vectors of test queries: asked for together, once for all runs, and the same failure for all that have none."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.http_endpoints import Answer, HttpEndpoint, always, embeddings, serving
from support.opened import opened_at
from support.small_store import blob, make

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall_test_files import TestQuery
from zeroclaw_tui.curation.recall_tests import evaluate, with_batched_queries
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import Trial

QUERIES = [TestQuery(f"word{number}", ("near",), f"q{number}") for number in range(5)]


@pytest.fixture
def endpoint() -> Iterator[HttpEndpoint]:
    with serving(embeddings(2)) as running:
        yield running


@pytest.fixture
def install(tmp_path: Path, endpoint: HttpEndpoint) -> OpenOptions:
    folder = tmp_path / "workspace" / "memory"
    folder.mkdir(parents=True)
    make(folder / "brain.db", "G2", [{"key": "near", "embedding": blob(1.0, 1.0)}, {"key": "word3"}])
    (tmp_path / "config.toml").write_text(
        f'default_temperature = 0.7\n[memory]\nbackend = "sqlite"\nauto_save = true\n'
        f'embedding_provider = "custom:{endpoint.base}"\nembedding_dimensions = 2\n'
    )
    return OpenOptions(config_dir=tmp_path)


def trial(library: Library, query: str, **changes: Any) -> Trial:
    settings = library.settings._replace(**changes)
    return Trial(RecallRequest(query, as_of="2026-03-20T12:00:00Z"), library.profile.profile, settings)


async def test_one_request_has_the_vectors_of_all_queries_for_both_runs(
    install: OpenOptions, endpoint: HttpEndpoint
) -> None:
    async with opened_at(install, "0.7.5") as library:
        sharing = with_batched_queries(library, [asked.query for asked in QUERIES * 2] + [" "])
        first = await evaluate(sharing, QUERIES, lambda asked: trial(library, asked.query))
        second = await evaluate(sharing, QUERIES, lambda asked: trial(library, asked.query, threshold=0.9))
    assert [body["input"] for _, _, body in endpoint.requests] == [[asked.query for asked in QUERIES]]
    assert first.in_all["hit_rate"] == second.in_all["hit_rate"] == 1.0
    assert first.notes == ()


async def test_a_run_by_words_alone_asks_nobody(install: OpenOptions, endpoint: HttpEndpoint) -> None:
    async with opened_at(install, "0.7.5") as library:
        sharing = with_batched_queries(library, [asked.query for asked in QUERIES])
        run = await evaluate(sharing, QUERIES, lambda asked: trial(library, asked.query, search_mode="bm25"))
    assert endpoint.requests == []
    assert run.in_all["hit_rate"] == 0.0


async def test_an_endpoint_that_is_broken_leaves_keyword_hits_and_says_it_once(
    install: OpenOptions, endpoint: HttpEndpoint
) -> None:
    endpoint.answering = always(404, {})
    async with opened_at(install, "0.7.5") as library:
        sharing = with_batched_queries(library, [asked.query for asked in QUERIES])
        run = await evaluate(sharing, QUERIES, lambda asked: trial(library, asked.query))
        asked_once = len(endpoint.requests)
        endpoint.answering = embeddings(2)
        again = await evaluate(sharing, QUERIES, lambda asked: trial(library, asked.query))
    assert len(run.notes) == 1
    assert "Keyword hits only." in run.notes[0]
    assert [figures.recalled for figures in run.queries] == [figures.recalled for figures in again.queries]
    assert run.queries[3].recalled == ("word3",)
    assert len(endpoint.requests) == asked_once


async def test_a_note_on_some_queries_says_on_how_many(install: OpenOptions, endpoint: HttpEndpoint) -> None:
    plain = endpoint.answering

    def picky(path: str, headers: Any, asked: Any) -> Answer:
        return (400, json.dumps({}).encode()) if "word2" in asked["input"] else plain(path, headers, asked)

    endpoint.answering = picky
    async with opened_at(install, "0.7.5") as library:
        sharing = with_batched_queries(library, [asked.query for asked in QUERIES])
        run = await evaluate(sharing, QUERIES, lambda asked: trial(library, asked.query))
        endpoint.answering = plain
        again = await evaluate(sharing, QUERIES, lambda asked: trial(library, asked.query))
    assert [figures.hit for figures in run.queries] == [True, True, False, True, True]
    assert [figures.hit for figures in again.queries] == [figures.hit for figures in run.queries], (
        "what failed stays so"
    )
    assert len(run.notes) == 1
    assert run.notes[0].endswith("(In 1 of 5 tests.)")
