"""What stands between a store's recall and the agent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.scoring.profiles import ScoringProfile
from zeroclaw_tui.scoring.scanner import ScanMode, scan

SCANNER_WINDOW = 4
"""ZeroClaw >= 0.8.4 asks its store for this many times the limit, whether or not it scans."""

SCANNED_IN_A_FRAME = 250_000
"""Contents of up to so many characters in all are scanned and judged within a frame."""

Find = Callable[[str, ScanMode], str | None]
"""What tells the kind of threat in a content, None for a harmless one."""


class Findings:
    """What the scanner says of contents, each looked at once: a what-if has the same rows again at every key.

    It holds on to the contents, so it belongs to something that holds them anyway.
    """

    def __init__(self) -> None:
        self._known: dict[tuple[str, ScanMode], str | None] = {}

    def find(self, content: str, threat_scan: ScanMode) -> str | None:
        """What `scan` finds."""
        key = (content, threat_scan)
        if key not in self._known:
            self._known[key] = scan(content, threat_scan)
        return self._known[key]


def takes_long(entries: Iterable[MemoryEntry]) -> bool:
    """Whether scanning and judging these contents takes longer than a frame."""
    return sum(len(entry.content) for entry in entries) > SCANNED_IN_A_FRAME


def passes_scanner(request: RecallRequest, profile: ScoringProfile) -> bool:
    """Whether what the store recalls goes through the content scanner."""
    return profile.scans_content and request.layer == "agent"


def asked_of_store(request: RecallRequest, profile: ScoringProfile) -> RecallRequest:
    """The request as the store gets it."""
    if not passes_scanner(request, profile):
        return request
    return replace(request, limit=request.limit * SCANNER_WINDOW)


def for_agent(
    entries: Sequence[ScoredEntry],
    request: RecallRequest,
    profile: ScoringProfile,
    threat_scan: ScanMode,
    find: Find = scan,
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
        kind = scored.withheld or (find(scored.entry.content, threat_scan) if is_scanned else None)
        if kind is None:
            rank = len(kept) + 1
            # Mostly nothing is withheld, and copying hundreds of results takes longer than ranking thousands.
            kept.append(scored if scored.rank == rank else replace(scored, rank=rank))
        else:
            withheld.append(replace(scored, withheld=kind))
    return tuple(kept[: request.limit] if is_scanned else kept), tuple(withheld)


def seen_of(
    entries: Sequence[MemoryEntry],
    request: RecallRequest,
    profile: ScoringProfile,
    threat_scan: ScanMode,
    find: Find = scan,
) -> list[int]:
    """The places, from 0, in the store's recall of what `for_agent` gives: the rest need not be made."""
    if not passes_scanner(request, profile):
        return list(range(len(entries)))
    seen: list[int] = []
    kept = 0
    for place, entry in enumerate(entries):
        is_flagged = find(entry.content, threat_scan) is not None
        if is_flagged or kept < request.limit:
            seen.append(place)
            kept += not is_flagged
    return seen
