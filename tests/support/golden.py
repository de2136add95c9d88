"""Databases and recalls recorded from the real ZeroClaw: the small copy in the repository, or the whole set."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from support.questions import RecallRequest
from support.rules import RerankSettings, ScoringSettings, StoreRecall, Trial, profile_for
from support.stores import Memory
from support.test_embedder import embed
from zeroclaw_tui.scoring.decide import store_recall

FOLDER = Path(os.environ.get("ZEROCLAW_FIXTURES") or Path(__file__).parents[1] / "data" / "zeroclaw")
DATABASES = {"none": "brain.db", "hash:64": "brain.db", "dense:64": "brain_dense.db"}
"""The database of each embedder's runs."""
HAS_FULL_SET = "ZEROCLAW_FIXTURES" in os.environ
# In 0.1.7 a tie cut before the session filter makes the remaining rows a matter of chance.
CHANCE_RUNS = 2


def runs(version: str, name: str) -> dict[str, Any]:
    """Return the recorded runs of one file such as "recall_runs"."""
    with gzip.open(FOLDER / version / f"{name}.json.gz", "rt", encoding="utf-8") as file:
        recorded: dict[str, Any] = json.load(file)
    return recorded


def equal_up_to_ties(found: list[tuple[str, Any]], recorded: list[tuple[str, Any]], limit: int) -> bool:
    """Whether scores are equal, and ids within each group of ties except the one cut by the limit."""
    if [score for _, score in found] != [score for _, score in recorded]:
        return False
    cut = recorded[-1][1] if len(recorded) == limit else None
    whole = [[pair for pair in pairs if pair[1] != cut] for pairs in (found, recorded)]
    return set(whole[0]) == set(whole[1])


def request_of(run: dict[str, Any], **more: Any) -> RecallRequest:
    """Return the request of a recorded recall; `more` adds fields missing from the record."""
    return RecallRequest(
        run["query"],
        run.get("limit", 10),
        run.get("session"),
        agents=tuple(run.get("agents") or ()) or None,
        namespace=run.get("namespace"),
        since=run.get("since"),
        until=run.get("until"),
        **more,
    )


def has(version: str, name: str) -> bool:
    """Whether the folder in use has this file, packed or not."""
    return any((FOLDER / version / f"{name}{ending}").exists() for ending in ("", ".gz"))


def database(version: str, name: str, folder: Path) -> Path:
    """Copy a recorded database into `folder`, as the ZeroClaw that ran the recalls had it."""
    path = folder / f"{version}-{name}"
    source = FOLDER / version / name
    if source.exists():
        shutil.copyfile(source, path)
    else:
        path.write_bytes(gzip.decompress(source.with_name(f"{name}.gz").read_bytes()))
    if version >= "0.8":
        _sanitise_sessions(path)
    return path


async def recalled(memory: Memory, version: str, run: dict[str, Any]) -> StoreRecall:
    """Repeat a recorded recall."""
    embedder = run.get("embed") or "none"
    vector = None if embedder == "none" else embed(embedder, run["query"])
    trial = Trial(request_of(run), profile_for(version), settings_of(run))
    return store_recall(await memory.search(trial, vector), trial)


def settings_of(run: dict[str, Any]) -> ScoringSettings:
    """Return the settings of a recorded recall."""
    vector_weight, keyword_weight = run.get("weights") or (0.7, 0.3)
    return ScoringSettings(vector_weight, keyword_weight, search_mode=run.get("search_mode") or "hybrid")


def rerank_settings(recorded: dict[str, Any], run: dict[str, Any]) -> ScoringSettings:
    """Return the settings of a recorded run with a rerank stage."""
    memory = recorded["defaults"] | run["memory"]
    rerank = RerankSettings(
        memory["rerank_enabled"],
        "mmr" if memory["rerank_strategy"].strip().lower() == "mmr" else "none",
        memory["rerank_threshold"],
        memory["mmr_lambda"],
        memory["importance_weight"],
        memory["recency_weight"],
        memory["candidate_multiplier"],
    )
    return ScoringSettings(threshold=memory["min_relevance_score"], rerank=rerank)


def variant_database(recorded: dict[str, Any], version: str, name: str, variant: str, folder: Path) -> Path:
    """Copy a recorded database with the changes that these runs had."""
    path = database(version, f"{name}.db", folder)
    with closing(sqlite3.connect(path)) as connection, connection:
        for statement in recorded["variants"][variant]:
            connection.execute(statement)
    return path


def _sanitise_sessions(path: Path) -> None:
    """Change the session ids as ZeroClaw >= 0.8.0 does each time it opens a database."""
    with closing(sqlite3.connect(path)) as connection, connection:
        stored = connection.execute("SELECT DISTINCT session_id FROM memories WHERE session_id IS NOT NULL").fetchall()
        for (session,) in stored:
            clean = "".join(letter if letter.isalnum() or letter in "_-" else "_" for letter in session)
            if clean != session:
                connection.execute("UPDATE memories SET session_id = ? WHERE session_id = ?", (clean, session))
