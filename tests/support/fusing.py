"""Fuse hand-made stage hits with the function that decides every recall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from support.memories import MemoryEntry
from support.questions import ScoredEntry
from support.rules import Hit, ScoringProfile, ScoringSettings, StageHits
from zeroclaw_tui.scoring.decide import FusedRanking, fuse_hits

NO_LIMIT = 1000


def fusion_of(
    keyword: Sequence[Hit],
    vector: Sequence[Hit],
    ids: Mapping[int, str],
    profile: ScoringProfile,
    settings: ScoringSettings,
) -> tuple[FusedRanking, np.ndarray]:
    """Return the fused order and the handles of its rows; rows without an id are ordered by their handle."""
    handles = np.array(sorted({handle for handle, _ in (*keyword, *vector)}), dtype=np.int64)
    names = [ids.get(handle, f"{handle:09d}") for handle in handles.tolist()]
    ranks = np.empty(len(names), dtype=np.int64)
    ranks[sorted(range(len(names)), key=names.__getitem__)] = np.arange(len(names))
    stages = (_stage(keyword, handles), _stage(vector, handles))
    return fuse_hits(*stages, NO_LIMIT, ranks, profile, settings), handles


def fuse(
    keyword: Sequence[Hit],
    vector: Sequence[Hit],
    ids: Mapping[int, str],
    profile: ScoringProfile,
    settings: ScoringSettings,
    limit: int,
) -> list[ScoredEntry]:
    """Return every hit with its final score, best first; only a merge is cut to the limit."""
    found, handles = fusion_of(keyword, vector, ids, profile, settings)
    entries = (MemoryEntry(str(handle), "", "", "", "", handle=handle) for handle in handles[found.positions].tolist())
    rows = [found.scored(at, entry, at + 1) for at, entry in enumerate(entries)]
    return rows[:limit] if found.is_merged else rows


def _stage(hits: Sequence[Hit], handles: np.ndarray) -> StageHits:
    positions = np.searchsorted(handles, np.array([handle for handle, _ in hits], dtype=np.int64))
    places = np.zeros(len(handles), dtype=np.int64)
    places[positions] = np.arange(1, len(hits) + 1)
    return StageHits(positions, np.array([score for _, score in hits], dtype=np.float32), places)
