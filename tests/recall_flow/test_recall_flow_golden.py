"""The agent's recall on a real database of ZeroClaw 0.8.4, against what its own store returned.

Runs when ZEROCLAW_FIXTURES names the folder with the full recordings; the small copy beside the flow's tests serves
otherwise.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import math
import os
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.profile_choice import ProfileChoice
from zeroclaw_tui.curation.recall import recall_memories
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import profile_for
from zeroclaw_tui.scoring.scanner import scan
from zeroclaw_tui.scoring.settings import ScoringSettings

FIXTURES = os.environ.get("ZEROCLAW_FIXTURES")
DATABASES = {"none": "brain.db", "hash:64": "brain.db", "dense:64": "brain_dense.db"}
_MASK = 2**64 - 1
_ASCII_LOWER = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


class RecordedEmbedder:
    """The embedder the recordings were made with."""

    is_remote = False
    dimensions = 64

    def __init__(self, name: str) -> None:
        self.name = name

    async def embed(self, text: str) -> np.ndarray:
        sums = [0] * self.dimensions
        for token in re.findall(r"[a-z0-9]+|[^\x00-\x7f]", text.translate(_ASCII_LOWER)):
            digest = hashlib.sha256(token.encode()).digest()
            head = int.from_bytes(digest[:8], "big")
            if self.name.startswith("hash"):
                sums[head % self.dimensions] += 1 if digest[8] % 2 == 0 else -1
                continue
            for place in range(self.dimensions):
                head = (head + 0x9E3779B97F4A7C15) & _MASK
                sums[place] += (_mixed(head) >> 56) - 96
        length = math.sqrt(sum(value * value for value in sums)) or 1.0
        return (np.array(sums, dtype=np.float64) / length).astype(np.float32)

    async def close(self) -> None:
        """Nothing to do."""


def _mixed(state: int) -> int:
    state = ((state ^ (state >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    state = ((state ^ (state >> 27)) * 0x94D049BB133111EB) & _MASK
    return state ^ (state >> 31)


def recorded_at_20(folder: Path, embedder: str) -> list[dict[str, Any]]:
    with gzip.open(folder / "recall_runs.json.gz", "rt", encoding="utf-8") as file:
        runs = json.load(file)["runs"]
    return [run for run in runs if run["limit"] == 20 and run["embed"] == embedder]


if FIXTURES:

    @pytest.mark.parametrize("embedder", DATABASES)
    async def test_the_agent_at_limit_5_gets_the_unflagged_head_of_the_store_at_limit_20(
        tmp_path: Path, embedder: str
    ) -> None:
        folder = Path(FIXTURES or "") / "0.8.4"
        copy = tmp_path / "brain.db"
        shutil.copyfile(folder / DATABASES[embedder], copy)
        _sanitise_sessions(copy)
        memory = SqliteMemory(copy)
        await memory.open()
        try:
            await _assert_head_of_window(memory, embedder, recorded_at_20(folder, embedder))
        finally:
            await memory.close()


def _sanitise_sessions(database: Path) -> None:
    """What ZeroClaw 0.8.4 did to the file when it opened it for the recordings."""
    with sqlite3.connect(database) as connection:
        sessions = connection.execute(
            "SELECT DISTINCT session_id FROM memories WHERE session_id IS NOT NULL"
        ).fetchall()
        for (session,) in sessions:
            sanitised = re.sub(r"[^\w-]", "_", session)
            connection.execute("UPDATE memories SET session_id = ? WHERE session_id = ?", (sanitised, session))
    connection.close()


async def _assert_head_of_window(memory: SqliteMemory, embedder: str, runs: list[dict[str, Any]]) -> None:
    flagged = {entry.id for entry in await memory.list() if scan(entry.content, "on")}
    vectors = None if embedder == "none" else RecordedEmbedder(embedder)
    choice = ProfileChoice(profile_for("0.8.4"), "option")
    assert len(runs) > 200
    for run in runs:
        vector_weight, keyword_weight = run.get("weights") or (0.7, 0.3)
        settings = ScoringSettings(vector_weight, keyword_weight, search_mode=run.get("search_mode") or "hybrid")
        request = RecallRequest(run["query"], 5, run["session"])
        result = await recall_memories(memory, vectors, choice, settings, request, None)
        expected = [found for found in run["results"] if found[0] not in flagged][:5]
        assert [scored.entry.id for scored in result.results] == [found[0] for found in expected], run["query"]
        scores = [found[1] for found in expected]
        assert [scored.score for scored in result.results] == pytest.approx(scores, abs=1e-6)
        assert not result.withheld
