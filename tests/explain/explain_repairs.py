"""One repair for each stage that can stop a memory: what a person would change so that it passes there."""

from __future__ import annotations

import math
import re
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from support.small_store import blob
from support.test_embedder import embed

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.scoring.explain import Explanation
from zeroclaw_tui.scoring.keywords import words
from zeroclaw_tui.scoring.profiles import Trial, profile_for

BIG_LIMIT = 100_000
Changes = dict[str, Any]
_MARKERS = ("[IMAGE:", "<tool_result", "[cron:", "[heartbeat task", "[DISTILLED_", "distilled_index_sig:")


@dataclass(frozen=True)
class Repair:
    """Another trial, other values for the row, and whether it is left alone in its store."""

    trial: Trial
    values: Changes
    alone: bool = False


def repair(explanation: Explanation, trial: Trial, embedder: str | None) -> Repair:
    """What mends the stage that stops it."""
    stage = explanation.stopped_at
    assert stage is not None
    return _REPAIRS[stage](explanation, trial, embedder)


def write(path: Path, repaired: Repair, entry: MemoryEntry) -> None:
    """Change the row as an agent or the inspector would, triggers included."""
    with closing(sqlite3.connect(path)) as connection, connection:
        for name, value in repaired.values.items():
            connection.execute(f"UPDATE memories SET {name} = ? WHERE rowid = ?", (value, entry.handle))
        if repaired.alone:
            connection.execute("DELETE FROM memories WHERE rowid <> ?", (entry.handle,))


def promised(pattern: str, explanation: Explanation) -> float | None:
    """The number that what helps names."""
    found = re.search(pattern + r" ([\d.,]+\d)", explanation.steps[-1].helps)
    return None if found is None else float(found.group(1).replace(",", ""))


def _asking(trial: Trial, **fields: Any) -> Trial:
    return trial._replace(request=replace(trial.request, **fields))


def _scoring(trial: Trial, **fields: Any) -> Trial:
    return trial._replace(settings=trial.settings._replace(**fields))


def _with(**fields: Any) -> Callable[[Explanation, Trial, str | None], Repair]:
    return lambda explanation, trial, embedder: Repair(_asking(trial, **fields), {})


def _found(explanation: Explanation, trial: Trial, embedder: str | None) -> Repair:
    """The limit that is named, or a vector and words like the message's."""
    limit = promised("a limit of", explanation)
    if limit is not None:
        return Repair(_asking(trial, limit=int(limit)), {})
    return _reworded(explanation, _asking(trial, limit=BIG_LIMIT), embedder)


def _reworded(explanation: Explanation, trial: Trial, embedder: str | None) -> Repair:
    query = trial.request.query
    entry = explanation.entry
    plain = " ".join(word.removesuffix("*").replace('"', "") or word for word in words(query))
    values: Changes = {"content": f"{entry.content} {query} {plain}"}
    if embedder is not None:
        values["embedding"] = blob(*embed(embedder, query))
    return Repair(trial, values)


def _like(explanation: Explanation, trial: Trial, embedder: str | None) -> Repair:
    if explanation.steps[-1].numbers["rank"] is not None:
        return Repair(_asking(trial, limit=BIG_LIMIT), {})
    return _reworded(explanation, _asking(trial, limit=BIG_LIMIT), embedder)


def _limit(explanation: Explanation, trial: Trial, embedder: str | None) -> Repair:
    limit = promised("a limit of", explanation)
    return Repair(trial, {}, alone=True) if limit is None else Repair(_asking(trial, limit=int(limit)), {})


def _threshold(explanation: Explanation, trial: Trial, embedder: str | None) -> Repair:
    threshold = promised("a threshold of", explanation)
    if threshold is None:
        threshold = math.floor(explanation.steps[-1].numbers["score"] * 100) / 100
    return Repair(_scoring(trial, threshold=threshold), {})


def _skip(explanation: Explanation, trial: Trial, embedder: str | None) -> Repair:
    entry = explanation.entry
    content = entry.content
    for marker in _MARKERS:
        content = re.sub(re.escape(marker), "", content, flags=re.IGNORECASE)
    values: Changes = {"key": f"renamed {entry.id}", "content": content.strip()[:300] or "text", "category": "core"}
    return Repair(trial, values)


_REPAIRS: dict[str, Callable[[Explanation, Trial, str | None], Repair]] = {
    "query": lambda explanation, trial, embedder: Repair(trial._replace(profile=profile_for("0.8.4")), {}),
    "candidates": _found,
    "merge": _with(limit=BIG_LIMIT),
    "superseded": lambda explanation, trial, embedder: Repair(trial, {"superseded_by": None}),
    "time": _with(since=None, until=None),
    "session": _with(session_id=None),
    "agent": _with(agents=None),
    "namespace": _with(namespace=None),
    "like": _like,
    "recent": _with(limit=BIG_LIMIT),
    "limit": _limit,
    "scanner": lambda explanation, trial, embedder: Repair(_scoring(trial, threat_scan="off"), {}),
    "threshold": _threshold,
    "skip": _skip,
    "cap": lambda explanation, trial, embedder: Repair(trial, {}, alone=True),
}
