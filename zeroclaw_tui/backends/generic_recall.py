"""The recall verbs that a store of the trait's verbs alone has: built on its own recall."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.answers import StoreRecall
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import NotThere
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.evidence import OwnEvidence, WordShare
from zeroclaw_tui.scoring.keywords import words
from zeroclaw_tui.scoring.profiles import ScoringProfile
from zeroclaw_tui.scoring.settings import ScoringSettings

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.base import Memory

DEEPEST = 1000
"""How deep the ranking of a store's own rule is looked at."""


async def search(memory: Memory, request: RecallRequest) -> StoreRecall:
    """The trait's recall; agents are sorted out afterwards."""
    found = await memory.recall(request.query, request.limit, request.session_id, request.since, request.until)
    if request.agents is not None:
        found = [scored for scored in found if scored.entry.agent in (None, *request.agents)]
    ranked = tuple(replace(scored, rank=rank, stage=memory.name) for rank, scored in enumerate(found, 1))
    return StoreRecall(ranked, mode=memory.name, scale="its own")


async def evidence(
    memory: Memory,
    request: RecallRequest,
    profile: ScoringProfile,
    settings: ScoringSettings,
    query_vector: np.ndarray | None,
) -> OwnEvidence:
    """The store's own ranking, DEEPEST deep."""
    found = await memory.search(replace(request, limit=DEEPEST), profile, settings, query_vector)
    is_complete = len(found.entries) < DEEPEST
    return OwnEvidence(request, found.entries, found.mode, found.scale, is_complete, found.notes)


def word_shares(entry: MemoryEntry, query: str) -> list[WordShare]:
    """Which words of the query stand in key or content, whatever their case."""
    text = f"{entry.key}\n{entry.content}".casefold()
    return [WordShare(word, word.casefold() in text) for word in dict.fromkeys(words(query))]


async def whole_rows(memory: Memory, handles: Sequence[Handle]) -> list[MemoryEntry]:
    """Rows with their whole content, in that order; rows gone meanwhile are left out."""
    found = []
    for handle in handles:
        try:
            found.append(await memory.whole(handle))
        except NotThere:
            continue
    return found
