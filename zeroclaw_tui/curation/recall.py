"""Recall as the agent would have it: one path for commands, screens and previews."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.profile_choice import ProfileChoice
from zeroclaw_tui.embeddings.base import Embedder
from zeroclaw_tui.memory.errors import EmbeddingFailed
from zeroclaw_tui.memory.recall import RecallRequest, RecallResult, ScoredEntry
from zeroclaw_tui.scoring.injection import judge
from zeroclaw_tui.scoring.keywords import lists_recent, words
from zeroclaw_tui.scoring.profiles import ScoringProfile
from zeroclaw_tui.scoring.scanner import ScanMode, scan
from zeroclaw_tui.scoring.settings import ScoringSettings

if TYPE_CHECKING:
    import numpy as np

SCANNER_WINDOW = 4
"""ZeroClaw >= 0.8.4 asks its store for this many times the limit, whether or not it scans."""


async def recall_memories(
    memory: Memory,
    embedder: Embedder | None,
    choice: ProfileChoice,
    settings: ScoringSettings,
    request: RecallRequest,
    why_no_vectors: str | None,
) -> RecallResult:
    """The answer to a recall, judged for injection. Raises InspectorError kinds and SearchInterrupted.

    Layer "agent" drops what the store gives no agent and what the content scanner of ZeroClaw >= 0.8.4 flags, and tells
    it in `withheld`; layer "store" is the store's own recall. A query whose vector cannot be had is answered by
    keywords alone, with a note.
    """
    profile = choice.profile
    as_of = request.as_of or datetime.now().astimezone().isoformat()
    request = replace(request, as_of=as_of)
    vector, notes = await _query_vector(memory, embedder, profile, settings, request.query, why_no_vectors)
    scans = profile.scans_content and request.layer == "agent"
    asked = replace(request, limit=request.limit * SCANNER_WINDOW) if scans else request
    found = await memory.search(asked, profile, settings, vector)
    kept, withheld = tuple(found.entries), tuple[ScoredEntry, ...]()
    if request.layer == "agent":
        kept, withheld = _for_agent(found.entries, settings.threat_scan if scans else "off")
    if scans:
        kept = kept[: request.limit]

    def judged(entries: Sequence[ScoredEntry]) -> tuple[ScoredEntry, ...]:
        return judge(entries, profile, settings.threshold, request.rule, as_of, session_id=request.session_id)

    return RecallResult(
        request=request,
        backend=memory.name,
        location=memory.location,
        profile=profile.version,
        profile_source=choice.source,
        mode=found.mode,
        weights=(settings.vector_weight, settings.keyword_weight),
        threshold=settings.threshold,
        scale=found.scale,
        results=judged(kept),
        withheld=judged(withheld),
        notes=(*notes, *found.notes),
    )


async def _query_vector(
    memory: Memory,
    embedder: Embedder | None,
    profile: ScoringProfile,
    settings: ScoringSettings,
    query: str,
    why_no_vectors: str | None,
) -> tuple[np.ndarray | None, tuple[str, ...]]:
    """The query's vector where this recall uses one, and notes on why there is none."""
    if memory.embeds_itself or not words(query) or lists_recent(query, profile):
        return None, ()
    if profile.search_modes and settings.search_mode == "bm25":
        return None, ()
    if embedder is None and not memory.capabilities.vectors:
        # Nobody expects vectors here: the store's notices say it, not every recall.
        return None, ()
    if embedder is None or not memory.capabilities.vectors:
        return None, (why_no_vectors,) if why_no_vectors else ()
    cached = await memory.cached_vector(query)
    if cached is not None and len(cached) == embedder.dimensions:
        return cached, ()
    try:
        return await embedder.embed(query), ()
    except EmbeddingFailed as failure:
        return None, (f"{failure.message} Keyword hits only. {failure.hint}".strip(),)


def _for_agent(
    entries: Sequence[ScoredEntry], threat_scan: ScanMode
) -> tuple[tuple[ScoredEntry, ...], tuple[ScoredEntry, ...]]:
    """What the agent gets, ranked anew, and what store or scanner keep from it, ranked as the store did."""
    kept: list[ScoredEntry] = []
    withheld: list[ScoredEntry] = []
    for scored in entries:
        kind = scored.withheld or scan(scored.entry.content, threat_scan)
        if kind is None:
            kept.append(replace(scored, rank=len(kept) + 1))
        else:
            withheld.append(replace(scored, withheld=kind))
    return tuple(kept), tuple(withheld)
