"""The recall verbs that a store of the trait's verbs alone has: built on its own recall."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.answers import StoreRecall
from zeroclaw_tui.backends.listing import told_apart
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import NotThere, SearchInterrupted
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.scoring.decide import rank
from zeroclaw_tui.scoring.evidence import Evidence, OwnEvidence, StageEvidence, WordShare
from zeroclaw_tui.scoring.keywords import words
from zeroclaw_tui.scoring.profiles import ScoringProfile
from zeroclaw_tui.scoring.rare_words import RareWords, WordNeighbours, compared_text_of
from zeroclaw_tui.scoring.settings import ScoringSettings

if TYPE_CHECKING:
    import numpy as np

    from zeroclaw_tui.backends.base import Memory

_ROWS_AT_ONCE = 500
_SCALE = "its own"
DEEPEST = 1000
"""How deep the ranking of a store's own rule is looked at."""


async def nearest_by_words(memory: Memory, text: str, limit: int, without: Handle | None) -> WordNeighbours:
    """What is near a text by the words both have, all current memories read once."""
    counted = RareWords()
    stop = threading.Event()

    def see(row: StoredRow) -> None:
        if stop.is_set():
            raise SearchInterrupted
        entry = row.entry()
        counted.add(row.id if row.handle is None else row.handle, compared_text_of(entry.key, entry.content))

    try:
        await memory.each_row(see, MemoryFilter())
        return await asyncio.to_thread(counted.nearest, text, limit, without)
    finally:
        stop.set()


async def search(memory: Memory, request: RecallRequest) -> StoreRecall:
    """The trait's recall; agents are sorted out afterwards."""
    ranked, _, _ = await _ranked(memory, request)
    return StoreRecall(ranked, mode=memory.name, scale=_SCALE)


async def evidence(
    memory: Memory,
    request: RecallRequest,
    profile: ScoringProfile,
    settings: ScoringSettings,
    query_vector: np.ndarray | None,
) -> OwnEvidence:
    """The store's own ranking, DEEPEST deep or as deep as the request goes.

    A backend whose list is not the same at every limit says so with an `evidence` of its own.
    """
    from zeroclaw_tui.backends.base import Memory as Trait

    if request.own_fusion:
        found = await memory.search(request, profile, settings, query_vector)
        return as_found(request, found, profile, settings)
    depth = max(DEEPEST, request.limit)
    deep = replace(request, limit=depth)
    if type(memory).search is Trait.search:
        entries, places, found_by_all = await _ranked(memory, deep)
        return OwnEvidence(request, entries, memory.name, _SCALE, found_by_all < depth, (), places)
    found = await memory.search(deep, profile, settings, query_vector)
    is_complete = len(found.entries) < depth
    return OwnEvidence(
        request, found.entries, found.mode, found.scale, is_complete, found.notes, None, profile.version, settings
    )


def as_found(
    request: RecallRequest, found: StoreRecall, profile: ScoringProfile, settings: ScoringSettings
) -> OwnEvidence:
    """An answer as evidence that holds for its limit alone."""
    return OwnEvidence(
        request,
        found.entries,
        found.mode,
        found.scale,
        False,
        found.notes,
        # The store has cut it already.
        (0,) * len(found.entries),
        profile.version,
        settings,
        is_of_limit=True,
    )


def store_recall(
    evidence: Evidence, request: RecallRequest, profile: ScoringProfile, settings: ScoringSettings
) -> StoreRecall:
    """What a store that searches in stages returns for this request, decided from what it found."""
    assert isinstance(evidence, StageEvidence)
    ranking = rank(evidence, request, profile, settings)
    placed = ranking.placed(evidence.contents)
    entries = tuple(candidate.scored(entry, place, ranking.stage) for place, entry, candidate in placed)
    return StoreRecall(entries, ranking.mode, ranking.scale, (*ranking.notes, *evidence.notes))


async def _ranked(memory: Memory, request: RecallRequest) -> tuple[tuple[ScoredEntry, ...], tuple[int, ...], int]:
    """What the trait's recall gives the agents asked for, the place of each in what it gives anybody, and how many
    that are."""
    found = await memory.recall(request.query, request.limit, request.session_id, request.since, request.until)
    told_apart([scored.entry for scored in found], memory.name)
    places = [
        (place, scored)
        for place, scored in enumerate(found, 1)
        if request.agents is None or scored.entry.agent in (None, *request.agents)
    ]
    ranked = tuple(replace(scored, rank=rank, stage=memory.name) for rank, (_, scored) in enumerate(places, 1))
    return ranked, tuple(place for place, _ in places), len(found)


def word_shares(entry: MemoryEntry, query: str) -> list[WordShare]:
    """Which words of the query stand in key or content, whatever their case."""
    text = f"{entry.key}\n{entry.content}".casefold()
    return [WordShare(word, word.casefold() in text) for word in dict.fromkeys(words(query))]


async def whole_rows(memory: Memory, handles: Sequence[Handle]) -> list[MemoryEntry]:
    """Rows with their whole content, in that order; rows gone meanwhile are left out."""
    found: list[MemoryEntry] = []
    for start in range(0, len(handles), _ROWS_AT_ONCE):
        for row in await memory.rows(handles[start : start + _ROWS_AT_ONCE]):
            # What a listing shows whole need not be read again.
            with suppress(NotThere):
                found.append(await memory.whole(row.handle) if row.is_excerpt else row)
    return found
