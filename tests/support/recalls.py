"""Run a store's own recall with defaults for most arguments, and reduce its results to keys, ids or contents."""

from __future__ import annotations

from typing import Any

import numpy as np

from support.questions import RecallRequest
from support.rules import NEWEST, ScoringSettings, StoreRecall, Trial, profile_for
from support.stores import Memory
from zeroclaw_tui.scoring.decide import store_recall


async def recalled(
    memory: Memory,
    query: str,
    version: str = NEWEST,
    *,
    vector: np.ndarray | None = None,
    settings: ScoringSettings | None = None,
    **request: Any,
) -> StoreRecall:
    """Recall from an open store by the rules of a version; `request` has further fields of the request."""
    trial = Trial(RecallRequest(query, **request), profile_for(version), settings or ScoringSettings())
    return store_recall(await memory.search(trial, vector), trial)


def keys(found: StoreRecall) -> list[str]:
    """Return the keys, best first."""
    return [scored.entry.key for scored in found.entries]


def ids(found: StoreRecall) -> list[str]:
    """Return the ids, best first."""
    return [scored.entry.id for scored in found.entries]


def contents(found: StoreRecall) -> list[str]:
    """Return the contents, best first."""
    return [scored.entry.content for scored in found.entries]
