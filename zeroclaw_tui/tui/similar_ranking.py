"""Memories near one of them as the list shows a ranking, and the sentences beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from zeroclaw_tui.memory.recall import SIMILAR, RecallRequest, RecallResult, ScoredEntry
from zeroclaw_tui.tui.format import count_text

if TYPE_CHECKING:
    from zeroclaw_tui.curation.similar import SimilarMemory, SimilarResult

MOST_SHOWN = 50
_SCALES = {"vector": "cosine of vectors", "rare words": "shared rare words"}


def similar_ranking(found: SimilarResult, request: RecallRequest) -> RecallResult:
    """The nearest memories with a part of the score that says by what they are near: a cosine, or words."""
    is_by_vector = found.way == "vector"
    compared = f"{count_text(found.looked_at)} compared by {'their vectors' if is_by_vector else 'rare words'}"
    return RecallResult(
        request=request,
        backend=found.backend,
        location=found.location,
        profile="",
        profile_source="",
        mode=SIMILAR,
        weights=(0.0, 0.0),
        threshold=0.0,
        scale=_SCALES[found.way],
        results=tuple(_scored(near, is_by_vector) for near in found.results),
        notes=(compared,) if found.because is None else (compared, found.because),
        awaits_vector=found.awaits_vector,
    )


def _scored(near: SimilarMemory, is_by_vector: bool) -> ScoredEntry:
    return ScoredEntry(
        near.entry,
        near.rank,
        None,
        vector_score=near.score if is_by_vector else None,
        keyword_score=None if is_by_vector else near.score,
        stage=SIMILAR,
        shared=near.shared,
    )
