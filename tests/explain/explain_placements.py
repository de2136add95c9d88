"""Hand-made ways of a memory through a recall, plain where a test does not say else."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.scoring.placement import Placement, StagePlace
from zeroclaw_tui.scoring.profiles import ScoringSettings, Trial, profile_for

NOW = "2026-03-20T12:00:00+00:00"
WEEK_AGO = "2026-03-13T12:00:00+00:00"
CUTLERY = MemoryEntry("id-1", "cutlery", "Bought new chopsticks, like mother's", "core", WEEK_AGO, handle=1)

PLAIN = Placement(entry=CUTLERY, path="hybrid", store_limit=5, merged=True, merge_limit=5)


def way(**fields: Any) -> Placement:
    """A way; nothing is found of it unless said."""
    return replace(PLAIN, **fields)


def place(rank: int, score: float, hits: int = 40, offered: int = 10) -> StagePlace:
    """A place in a stage that passes 10 of 40 hits on."""
    return StagePlace(rank, hits, offered, score)


def judged(score: float | None, *, entry: MemoryEntry = CUTLERY, **fields: Any) -> ScoredEntry:
    """The memory in the recall's answer."""
    return replace(ScoredEntry(entry, 1, score), **fields)


def trial(version: str = "0.6.2", query: str = "what does she like to eat?", **fields: Any) -> Trial:
    """A recall by the rules of a version; `settings` and the fields of the request may be named."""
    settings = fields.pop("settings", ScoringSettings())
    return Trial(RecallRequest(query, **{"as_of": NOW, **fields}), profile_for(version), settings)
