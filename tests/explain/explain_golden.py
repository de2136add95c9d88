"""The recorded recalls as requests, and the rows to be asked about."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from explain_world import NOW, library_of
from support import golden

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.query import NEWEST_STORED, MemoryFilter, Superseded
from zeroclaw_tui.memory.recall import RecallRequest, RecallResult
from zeroclaw_tui.scoring.profiles import ScoringSettings
from zeroclaw_tui.testing.tools import entries_at, handles_of

RUNS = (
    ("0.1.7", "recall_runs", "runs"),
    ("0.7.5", "recall_runs", "runs"),
    ("0.7.5", "full_runs", "runs"),
    ("0.7.5", "full_runs", "namespaced"),
    ("0.7.5", "full_runs", "window"),
    ("0.8.3", "full_runs", "runs"),
    ("0.8.3", "full_runs", "namespaced"),
    ("0.8.3", "full_runs", "window"),
    ("0.8.4", "recall_runs", "runs"),
    ("0.8.4", "full_runs", "runs"),
    ("0.8.4", "full_runs", "window"),
)
ROWS = 20
DENSE = "dense:64"


@dataclass(frozen=True)
class Asked:
    """A recorded recall: what was asked, with which numbers and which embedder."""

    request: RecallRequest
    settings: ScoringSettings
    embedder: str | None


def asked(run: dict[str, Any], place: int) -> Asked:
    """The recall of a run as an agent's message; rule and layer go round, so that all of them come by."""
    vector_weight, keyword_weight = run.get("weights") or (0.7, 0.3)
    settings = ScoringSettings(vector_weight, keyword_weight, search_mode=run.get("search_mode") or "hybrid")
    request = RecallRequest(
        run["query"],
        run.get("limit", 10),
        run.get("session"),
        agents=tuple(run.get("agents") or ()) or None,
        namespace=run.get("namespace"),
        since=run.get("since"),
        until=run.get("until"),
        layer="store" if place % 3 == 2 else "agent",
        rule="channel" if place % 2 else "cli",
        as_of=NOW,
    )
    embedder = run.get("embed") or "none"
    return Asked(request, settings, None if embedder == "none" else embedder)


def each_run(version: str, name: str, part: str, *, whole: bool) -> list[dict[str, Any]]:
    """All runs, or one of each query, by chance of any embedder, session, agents, weights and limit."""
    runs: list[dict[str, Any]] = golden.runs(version, name).get(part, [])
    if whole:
        return runs
    random.Random(f"{version} {name} {part}").shuffle(runs)
    return list({run["query"]: run for run in runs}.values())


def database(version: str, name: str, embedder: str | None, folder: Path) -> Path:
    """The database a run was recorded on."""
    plain = "brain_dense.db" if embedder == DENSE else "brain.db"
    path = folder / f"{version}-{'brain_full_superseded.db' if name == 'full_runs' else plain}"
    if path.exists():
        return path
    return golden.database(version, path.name.removeprefix(f"{version}-"), folder)


def opened(path: Path, folder: Path, version: str, embedder: str | None) -> Any:
    """A library on it."""
    return library_of(SqliteMemory(path), folder, version, embedder=embedder)


async def all_rows(library: Library) -> dict[Handle, MemoryEntry]:
    """Every row with its whole content."""
    wanted = MemoryFilter(superseded=Superseded.SHOW)
    handles = await handles_of(library.memory, wanted, NEWEST_STORED)
    return {entry.handle: entry for entry in (await entries_at(library.memory, list(handles)))}


def sampled(rows: dict[Handle, MemoryEntry], result: RecallResult, chance: random.Random) -> Iterator[MemoryEntry]:
    """Rows to ask about: those recalled or withheld, and others by chance, ROWS in all."""
    first = [scored.entry.handle for scored in (*result.results, *result.withheld)][: ROWS - 5]
    others = [handle for handle in rows if handle not in first]
    for handle in (*first, *chance.sample(others, min(len(others), ROWS - len(first)))):
        yield rows[handle]


def with_settings(library: Library, settings: ScoringSettings) -> None:
    """The library as if config.toml had these numbers."""
    library.settings = settings
