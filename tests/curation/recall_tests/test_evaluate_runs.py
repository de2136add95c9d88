"""Evaluating on real databases of ZeroClaw against what it recalled itself, and on small ones made for it."""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from support import golden
from support.opened import opened_at
from support.replaying import RecordedEmbedder
from support.small_store import add, make

from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.recall_test_files import TestQuery, append_queries, read_queries
from zeroclaw_tui.curation.recall_tests import Evaluation, evaluate, keys_nobody_has
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import Trial

AS_OF = "2026-03-20T12:00:00+00:00"


def asking(library: Library, limit: int = 5, **changes: Any) -> Callable[[TestQuery], Trial]:
    """The trial of each query at layer store, with other settings where some are given."""
    settings = library.settings._replace(**changes)

    def trial_for(asked: TestQuery) -> Trial:
        request = RecallRequest(asked.query, limit, asked.session_id, layer="store", as_of=AS_OF)
        return Trial(request, library.profile.profile, settings)

    return trial_for


def by_hand(ranked: Sequence[str], expected: Sequence[str], k: int) -> tuple[bool, float, float]:
    """Hit, reciprocal rank and nDCG of one query, place by place."""
    found = {ranked.index(key) + 1 for key in expected if key in ranked[:k]}
    ideal = np.cumsum(1 / np.log2(np.arange(1, k + 1) + 1))[min(k, len(expected)) - 1]
    return bool(found), 1 / min(found) if found else 0.0, sum(1 / math.log2(place + 1) for place in found) / ideal


@pytest.mark.parametrize(
    ("version", "embedder"),
    [("0.7.5", "none"), ("0.8.4", "none"), ("0.8.4", "dense:64")],
)
async def test_figures_are_those_of_what_zeroclaw_itself_recalled(tmp_path: Path, version: str, embedder: str) -> None:
    database = golden.database(version, "brain.db" if embedder == "none" else "brain_dense.db", tmp_path)
    with closing(sqlite3.connect(database)) as connection:
        keys = dict(connection.execute("SELECT id, key FROM memories").fetchall())
    runs = [run for run in golden.runs(version, "recall_runs")["runs"] if _is_plain(run, embedder)]
    assert len(runs) > 40
    recorded = [[keys[found[0]] for found in run["results"]] for run in runs]
    wanted = [_wanted(place, ranked, sorted(keys.values())) for place, ranked in enumerate(recorded)]
    file = tmp_path / "golden.toml"
    tests = [_test(run, expected) for run, expected in zip(runs, wanted, strict=True)]
    append_queries(file, *tests)
    async with opened_at(database, version) as library:
        library.embedder = None if embedder == "none" else RecordedEmbedder(embedder)
        run = await evaluate(library, read_queries(file), asking(library))
    _assert_figures(run, recorded, wanted)


def _assert_figures(run: Evaluation, recorded: Sequence[list[str]], wanted: Sequence[list[str]]) -> None:
    assert [list(figures.recalled) for figures in run.queries] == recorded
    by_definition = [by_hand(ranked, expected, 5) for ranked, expected in zip(recorded, wanted, strict=True)]
    figures = [(each.hit, each.reciprocal_rank) for each in run.queries]
    assert figures == [each[:2] for each in by_definition]
    assert [each.ndcg for each in run.queries] == pytest.approx([each[2] for each in by_definition])
    means = np.array(by_definition, dtype=np.float64).mean(axis=0)
    in_all = run.in_all
    assert (in_all["hit_rate"], in_all["mrr"], in_all["ndcg"]) == pytest.approx(tuple(means))
    assert 0.1 < in_all["hit_rate"] < 1
    assert 0 < in_all["ndcg"] < 1


def _is_plain(run: dict[str, Any], embedder: str) -> bool:
    is_hybrid = (run.get("search_mode") or "hybrid") == "hybrid"
    return run["limit"] == 5 and run["embed"] == embedder and not run.get("weights") and is_hybrid


def _wanted(place: int, ranked: list[str], keys: list[str]) -> list[str]:
    """Of what was recalled one or two, of another place each time, and one of all keys, mostly a miss."""
    chosen = {keys[(place * 37) % len(keys)]}
    if ranked and place % 4:
        chosen |= {ranked[place % len(ranked)], ranked[(place * 3) % len(ranked)]}
    return sorted(chosen)


def _test(run: dict[str, Any], expected: list[str]) -> TestQuery:
    return TestQuery(run["query"], tuple(expected), run["query"], run["session"])


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Ten memories of ZeroClaw 0.5.7-0.7.5: enough that a word has some weight."""
    rows = [
        {"key": "lang", "content": "User prefers Rust", "category": "core"},
        {"key": "food", "content": "Likes ramen", "category": "core"},
        {"key": "chat", "content": "rust on the bicycle", "session_id": "tg_1"},
        *({"content": f"filler number {number}"} for number in range(7)),
    ]
    return make(tmp_path / "brain.db", "G2", rows)


async def test_what_reaches_the_prompt_and_the_session_of_a_query(store: Path) -> None:
    queries = [
        TestQuery("rust", ("lang",), "all"),
        TestQuery("rust", ("lang",), "one session", "tg_1"),
        TestQuery("ramen", ("food",), "food"),
    ]
    async with opened_at(store, "0.7.5") as library:
        run = await evaluate(library, queries, asking(library, threshold=1.6))
    everywhere, in_session, food = run.queries
    assert set(everywhere.recalled) == {"lang", "chat"}
    assert everywhere.hit
    assert not everywhere.in_prompt
    assert in_session.recalled == ("chat",)
    assert not in_session.hit
    assert (food.injected, food.in_prompt) == (("food",), True)
    assert run.in_all["prompt_rate"] == pytest.approx(1 / 3)
    assert (run.k, run.profile, run.threshold, run.search_mode) == (5, "0.7.5", 1.6, "hybrid")


async def test_expected_keys_nobody_has_are_named_once_in_their_order(store: Path) -> None:
    add(store, [{"key": "old", "superseded_by": "id-000"}], start=10)
    queries = [TestQuery("a", ("zebra", "food", "ape"), "a"), TestQuery("b", ("ape", "old", "FOOD", ""), "b")]
    async with opened_at(store, "0.7.5") as library:
        assert await keys_nobody_has(library, queries) == ("zebra", "ape", "FOOD", "")


async def test_markdown_text_that_holds_the_key_is_not_that_memory(tmp_path: Path) -> None:
    (tmp_path / "MEMORY.md").write_text("# Memory\n\n- **lang**: Prefers Rust, never zebra\n- zebra stripes\n", "utf-8")
    async with opened_at(tmp_path, "0.8.4") as library:
        known = {entry.key for entry in await library.memory.list()}
        queries = [TestQuery("rust", (*sorted(known), "zebra"), "rust")]
        assert await keys_nobody_has(library, queries) == ("zebra",)
        run = await evaluate(library, [TestQuery("rust", tuple(known), "rust")], asking(library))
    assert known
    assert run.queries[0].hit


async def test_progress_is_told_after_every_query(store: Path) -> None:
    told: list[int] = []

    def note() -> Callable[[int], Awaitable[None]]:
        async def on_progress(done: int) -> None:
            told.append(done)

        return on_progress

    async with opened_at(store, "0.7.5") as library:
        await evaluate(library, [TestQuery("rust", ("lang",), "q")] * 3, asking(library), note())
    assert told == [1, 2, 3]
