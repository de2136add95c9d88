"""The recall of a SQLite search: its hits, decided as the store decides them."""

from __future__ import annotations

from typing import Any

from zeroclaw_tui.backends.fallback import store_recall
from zeroclaw_tui.backends.health import StoreRecall
from zeroclaw_tui.backends.sqlite.search import SqliteSearch
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import ScoringProfile, ScoringSettings


async def recall_of(
    search: SqliteSearch, request: RecallRequest, profile: ScoringProfile, settings: ScoringSettings, vector: Any
) -> StoreRecall:
    """What the store returns, by the rules of a profile."""
    return store_recall(await search.recall_evidence(request, profile, settings, vector), request, profile, settings)
