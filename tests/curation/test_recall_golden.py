"""A recall decided from evidence is the recall the store gives, for every recorded query and every set of rules."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from support import golden
from support.replaying import KnownEvidence, RecordedEmbedder, library_of, parts_of, recalled, trial

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.scoring.profiles import LANDMARKS, ScoringSettings
from zeroclaw_tui.testing.tools import entries_of

EMBEDDERS = {"none": "brain.db", "hash:64": "brain.db", "dense:64": "brain_dense.db"}
RECORDED = [("0.1.7", "none"), ("0.1.7", "hash:64"), ("0.7.5", "none"), ("0.7.5", "hash:64")] + [
    ("0.8.4", embedder) for embedder in EMBEDDERS
]
WAYS_OF_ASKING = [
    {"limit": limit, "layer": layer, "rule": rule}
    for limit in (1, 2, 3, 5, 8, 13, 20, 50)
    for layer in ("agent", "store")
    for rule in ("cli", "channel")
]
EVERY = MemoryFilter(superseded=Superseded.SHOW)
EVERY_SO_MANY, EVERY_OTHER = 97, 2
"""Rows whose way is looked at: one in so many, 20 of each store and some more."""


def _settings(run: dict[str, Any]) -> ScoringSettings:
    vector_weight, keyword_weight = run.get("weights") or (0.7, 0.3)
    return ScoringSettings(vector_weight, keyword_weight, search_mode=run.get("search_mode") or "hybrid")


async def _assert_all_same(
    memory: SqliteMemory, embedder: str, runs: Iterable[dict[str, Any]], versions: Sequence[str] = LANDMARKS
) -> None:
    known = KnownEvidence(library_of(memory, None if embedder == "none" else RecordedEmbedder(embedder)))
    asking = cycle(WAYS_OF_ASKING)
    for run in runs:
        parts = {name: run.get(name) for name in ("namespace", "since", "until")}
        parts |= {"session_id": run.get("session"), "agents": tuple(run.get("agents") or ()) or None}
        for version, way in zip(versions, asking, strict=False):
            tried = trial(run["query"], version, _settings(run), **(parts | way))
            evidence = await known.serving(tried)
            assert parts_of(await evidence.replay(tried)) == parts_of(await recalled(known.library, tried)), tried


@pytest.mark.parametrize(("version", "embedder"), RECORDED)
async def test_recorded_queries_replay_as_they_recall(version: str, embedder: str, tmp_path: Path) -> None:
    memory = SqliteMemory(golden.database(version, EMBEDDERS[embedder], tmp_path))
    await memory.open()
    try:
        runs = [run for run in golden.runs(version, "recall_runs")["runs"] if run["embed"] == embedder]
        assert runs
        await _assert_all_same(memory, embedder, runs[::EVERY_OTHER])
    finally:
        await memory.close()


@pytest.mark.parametrize("version", ["0.7.5", "0.8.3", "0.8.4"])
async def test_agents_namespaces_windows_and_superseded_rows_replay_as_they_recall(
    version: str, tmp_path: Path
) -> None:
    recorded = golden.runs(version, "full_runs")
    memory = SqliteMemory(golden.database(version, "brain_full_superseded.db", tmp_path))
    await memory.open()
    try:
        for embedder in ("none", "hash:64"):
            runs = [
                run
                for part in ("runs", "namespaced", "window")
                for run in recorded.get(part, [])
                if (run.get("embed") or "none") == embedder
            ]
            await _assert_all_same(memory, embedder, runs[::EVERY_OTHER])
    finally:
        await memory.close()


@pytest.mark.parametrize("embedder", ["none", "hash:64"])
async def test_the_way_of_any_row_agrees_with_what_was_recalled(embedder: str, tmp_path: Path) -> None:
    """For each recorded query some 20 rows, and the recalled ones: stopped nowhere exactly where it is injected."""
    memory = SqliteMemory(golden.database("0.8.4", EMBEDDERS[embedder], tmp_path))
    await memory.open()
    try:
        known = KnownEvidence(library_of(memory, None if embedder == "none" else RecordedEmbedder(embedder)))
        some = (await entries_of(memory, EVERY))[::EVERY_SO_MANY]
        recorded = golden.runs("0.8.4", "recall_runs")["runs"]
        asked = {run["query"]: run for run in recorded if run["embed"] == embedder}
        for (query, run), version in zip(asked.items(), cycle(LANDMARKS), strict=False):
            tried = trial(query, version, _settings(run), session_id=run["session"])
            evidence, result = await known.serving(tried), await recalled(known.library, tried)
            injected = {scored.entry.id for scored in result.results if scored.injected}
            for entry in (*some, *(scored.entry for scored in result.results)):
                way = await evidence.placement(tried, entry)
                assert (way.stopped_at is None) == (entry.id in injected), (tried, way)
    finally:
        await memory.close()
