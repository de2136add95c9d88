"""A recall decided from evidence is the recall the store gives, for every recorded query and every set of rules."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from support import golden
from support.replaying import RecordedEmbedder, gathered, library_of, parts_of, recalled, trial

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.evidence import GatheredEvidence
from zeroclaw_tui.scoring.profiles import LANDMARKS
from zeroclaw_tui.scoring.settings import ScoringSettings

EMBEDDERS = {"none": "brain.db", "hash:64": "brain.db", "dense:64": "brain_dense.db"}
LIMITS = (1, 2, 3, 5, 8, 13, 20, 50)


def _settings(run: dict[str, Any]) -> ScoringSettings:
    vector_weight, keyword_weight = run.get("weights") or (0.7, 0.3)
    return ScoringSettings(vector_weight, keyword_weight, search_mode=run.get("search_mode") or "hybrid")


async def _assert_all_same(memory: SqliteMemory, embedder: str, runs: list[dict[str, Any]]) -> None:
    library = library_of(memory, None if embedder == "none" else RecordedEmbedder(embedder))
    known: dict[object, GatheredEvidence] = {}
    turns = cycle([(limit, layer, rule) for limit in LIMITS for layer in ("agent", "store") for rule in ("cli", "channel")])
    for run, (limit, layer, rule) in zip(runs, turns, strict=False):
        for version in LANDMARKS:
            tried = trial(
                run["query"],
                version,
                _settings(run),
                limit=run.get("limit", limit),
                session_id=run.get("session"),
                agents=tuple(run.get("agents") or ()) or None,
                namespace=run.get("namespace"),
                since=run.get("since"),
                until=run.get("until"),
                layer=layer,
                rule=rule,
            )
            for each in (tried, replace(tried, request=replace(tried.request, limit=limit))):
                evidence = await gathered(library, each, known)
                assert parts_of(await evidence.replayed(each)) == parts_of(await recalled(library, each)), each


@pytest.mark.parametrize(
    ("version", "embedder"),
    [("0.1.7", "none"), ("0.1.7", "hash:64"), ("0.7.5", "none"), ("0.7.5", "hash:64")]
    + [("0.8.4", embedder) for embedder in EMBEDDERS],
)
async def test_recorded_queries_replay_as_they_recall(version: str, embedder: str, tmp_path: Path) -> None:
    memory = SqliteMemory(golden.database(version, EMBEDDERS[embedder], tmp_path))
    await memory.open()
    try:
        runs = [run for run in golden.runs(version, "recall_runs")["runs"] if run["embed"] == embedder]
        assert runs
        await _assert_all_same(memory, embedder, runs)
    finally:
        await memory.close()
