"""Without a program the bridge recalls what the database does, on recordings of the real ZeroClaw.

The databases and recalls were recorded from ZeroClaw 0.1.7 to 0.8.4; their README says how.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from support import golden
from support.lucid_program import write_program
from support.test_embedder import embed

from zeroclaw_tui.backends.lucid import LucidConfig, LucidMemory
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.scoring.evidence import StoreRecall
from zeroclaw_tui.scoring.profiles import ScoringSettings, profile_for
from zeroclaw_tui.testing.tools import recall_of

VERSIONS = ("0.1.7", "0.7.5", "0.8.3", "0.8.4")
DATABASES = {"none": "brain.db", "hash:64": "brain.db", "dense:64": "brain_dense.db"}


async def recalled(memory: SqliteMemory, version: str, run: dict[str, Any]) -> StoreRecall:
    vector_weight, keyword_weight = run.get("weights") or (0.7, 0.3)
    request = golden.request_of(run)
    embedder = run.get("embed") or "none"
    vector = None if embedder == "none" else embed(embedder, run["query"])
    settings = ScoringSettings(vector_weight, keyword_weight, search_mode=run.get("search_mode") or "hybrid")
    return await recall_of(memory, request, profile_for(version), settings, vector)


@pytest.mark.parametrize("program", ["missing", "has nothing"])
@pytest.mark.parametrize("version", [version for version in VERSIONS if golden.has(version, "brain.db")])
async def test_recall_is_that_of_the_database(version, program, tmp_path):
    """Every row, score, mode, scale and note, in every recorded recall; lucid's own note comes on top."""
    command = str(tmp_path / "nowhere") if program == "missing" else str(write_program(tmp_path / "bin").path)
    # Those of the database alone are all compared with the recordings; these few have every kind of query among them,
    # and a program that has nothing is a process for each recall.
    runs = golden.runs(version, "recall_runs")["runs"][:: 29 if program == "has nothing" else 5]
    given = {"binary_path": command, "recall_timeout_ms": 60_000}
    config = LucidConfig(given, {}) if version < "0.8" else LucidConfig({}, given if version >= "0.8.4" else {})
    pairs: dict[str, tuple[SqliteMemory, LucidMemory]] = {}
    compared = 0
    try:
        for run in runs:
            name = DATABASES[run.get("embed") or "none"]
            if name not in pairs:
                path = golden.database(version, name, tmp_path)
                pairs[name] = (SqliteMemory(path), LucidMemory(path, config=config))
                for memory in pairs[name]:
                    await memory.open()
            local, bridge = [await recalled(memory, version, run) for memory in pairs[name]]
            assert replace(bridge, notes=bridge.notes[: len(local.notes)]) == local
            assert len(bridge.notes) == len(local.notes) + 1
            compared += bool(local.entries)
    finally:
        for pair in pairs.values():
            for memory in pair:
                await memory.close()
    assert compared
