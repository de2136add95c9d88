"""Recall returns what the real ZeroClaw returned: the same ids, in the same order, with the same scores."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

import pytest
from changed_stores import opened
from support import golden
from support.rules import StoreRecall
from support.stores import SqliteMemory

VERSIONS = ("0.1.7", "0.7.5", "0.8.3", "0.8.4")
MIGRATED = (
    ("0.7.5", "migrated_runs", "migrated_from_v017.db"),
    ("0.8.3", "migrated_runs", "migrated_from_v017.db"),
    ("0.8.3", "migrated_v075_runs", "migrated_from_v075.db"),
    ("0.8.4", "migrated_runs", "migrated_from_v017.db"),
)


def _pairs(found: StoreRecall) -> list[tuple[str, float | None]]:
    return [(scored.entry.id, scored.score) for scored in found.entries]


@pytest.mark.parametrize("version", [version for version in VERSIONS if golden.has(version, "brain.db")])
async def test_recall_equals_the_recorded_runs(version, tmp_path):
    recorded = golden.runs(version, "recall_runs")["runs"]
    by_chance: list[dict[str, Any]] = []
    async with AsyncExitStack() as stack:
        memories: dict[str, SqliteMemory] = {}
        for run in recorded:
            name = golden.DATABASES[run["embed"]]
            if name not in memories:
                memories[name] = await stack.enter_async_context(opened(golden.database(version, name, tmp_path)))
            found = await golden.recalled(memories[name], version, run)
            expected = [(entry_id, score) for entry_id, score in run["results"]]
            if version != "0.1.7":
                assert _pairs(found) == expected, run
            elif not golden.equal_up_to_ties(_pairs(found), expected, run["limit"]):
                by_chance.append(run)
            assert any("refuses this query" in note for note in found.notes) == run["keyword_error"], run
            if found.mode == "like" and found.entries:
                assert run["like_fallback"], run
    assert len(by_chance) <= golden.CHANCE_RUNS
    assert all(run["session"] and run["distinct_orders"] > 1 for run in by_chance)


@pytest.mark.parametrize("part", ["runs", "namespaced", "window"])
@pytest.mark.parametrize("version", VERSIONS[1:])
async def test_agents_namespaces_windows_and_superseded_rows_equal_the_recorded_runs(version, part, tmp_path):
    recorded = golden.runs(version, "full_runs").get(part, [])
    async with opened(golden.database(version, "brain_full_superseded.db", tmp_path)) as memory:
        for run in recorded:
            found = await golden.recalled(memory, version, run)
            assert _pairs(found) == [(result["id"], result["score"]) for result in run["results"]], run


async def test_the_parts_of_a_score_equal_the_recorded_stages(tmp_path):
    async with opened(golden.database("0.7.5", "brain.db", tmp_path)) as memory:
        for run in golden.runs("0.7.5", "recall_runs")["runs"]:
            if run["embed"] == "dense:64" or "keyword" not in run:
                continue
            keyword, vector = dict(run["keyword"]), dict(run["vector"])
            best = max(keyword.values(), default=0.0)
            for scored in (await golden.recalled(memory, "0.7.5", run)).entries:
                if scored.keyword_rank:
                    assert scored.keyword_raw == keyword[scored.entry.id]
                    assert scored.keyword_score == pytest.approx(scored.keyword_raw / best)
                if scored.vector_rank:
                    assert scored.vector_score == vector[scored.entry.id]
                assert scored.keyword_rank or scored.vector_rank or scored.stage in ("like", "recent")


if golden.HAS_FULL_SET:

    @pytest.mark.parametrize(("version", "name", "database"), MIGRATED)
    async def test_migrated_databases_equal_the_recorded_runs(version, name, database, tmp_path):
        async with opened(golden.database(version, database, tmp_path)) as memory:
            for run in golden.runs(version, name)["runs"]:
                found = await golden.recalled(memory, version, run)
                assert _pairs(found) == [(result["id"], result["score"]) for result in run["results"]], run
