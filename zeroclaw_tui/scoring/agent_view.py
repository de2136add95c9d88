"""What stands between a store's recall and the agent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.scoring.profiles import ScoringProfile
from zeroclaw_tui.scoring.scanner import ScanMode, scan

SCANNER_WINDOW = 4
"""ZeroClaw >= 0.8.4 asks its store for this many times the limit, whether or not it scans."""

_LONGEST_KEPT = 4_000
_FINDINGS_KEPT = 2_000


def passes_scanner(request: RecallRequest, profile: ScoringProfile) -> bool:
    """Whether what the store recalls goes through the content scanner."""
    return profile.scans_content and request.layer == "agent"


def asked_of_store(request: RecallRequest, profile: ScoringProfile) -> RecallRequest:
    """The request as the store gets it."""
    if not passes_scanner(request, profile):
        return request
    return replace(request, limit=request.limit * SCANNER_WINDOW)


def for_agent(
    entries: Sequence[ScoredEntry], request: RecallRequest, profile: ScoringProfile, threat_scan: ScanMode
) -> tuple[tuple[ScoredEntry, ...], tuple[ScoredEntry, ...]]:
    """What the request gets of the store's recall, ranked anew, and what store or scanner keep from it.

    The withheld ones keep the rank the store gave them. Layer "store" gets the recall as it is.
    """
    if request.layer != "agent":
        return tuple(entries), ()
    is_scanned = passes_scanner(request, profile)
    kept: list[ScoredEntry] = []
    withheld: list[ScoredEntry] = []
    for scored in entries:
        kind = scored.withheld or (_finding(scored.entry.content, threat_scan) if is_scanned else None)
        if kind is None:
            rank = len(kept) + 1
            # Mostly nothing is withheld, and copying hundreds of results takes longer than ranking thousands.
            kept.append(scored if scored.rank == rank else replace(scored, rank=rank))
        else:
            withheld.append(replace(scored, withheld=kind))
    return tuple(kept[: request.limit] if is_scanned else kept), tuple(withheld)


def seen_of(
    entries: Sequence[MemoryEntry], request: RecallRequest, profile: ScoringProfile, threat_scan: ScanMode
) -> list[int]:
    """The places, from 0, in the store's recall of what `for_agent` gives: the rest need not be made."""
    if not passes_scanner(request, profile):
        return list(range(len(entries)))
    seen: list[int] = []
    kept = 0
    for place, entry in enumerate(entries):
        is_flagged = _finding(entry.content, threat_scan) is not None
        if is_flagged or kept < request.limit:
            seen.append(place)
            kept += not is_flagged
    return seen


def _finding(content: str, threat_scan: ScanMode) -> str | None:
    if len(content) > _LONGEST_KEPT:
        return scan(content, threat_scan)
    return _kept_finding(content, threat_scan)


# The same rows come again at every key of a what-if, and scanning them would take longer than ranking them all.
_kept_finding = lru_cache(maxsize=_FINDINGS_KEPT)(scan)
