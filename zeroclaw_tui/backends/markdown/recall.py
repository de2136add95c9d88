"""Recall as ZeroClaw does it in Markdown: a line scores the share of the query's words that it contains."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import lru_cache

from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.profiles import ScoringProfile, parse_version

SCALE = "matched words / words"
STAGE = "markdown"
_BLANKS = re.compile(f"[{WHITE_SPACE}]+")


def recall_lines(entries: Iterable[MemoryEntry], request: RecallRequest, profile: ScoringProfile) -> list[ScoredEntry]:
    """The best lines first, equal ones in the order given; a blank query gives the newest, each scored 1."""
    first, last = _days_of(request, profile)
    within = [
        entry
        for entry in entries
        if (day := _day(entry.timestamp)) is None or ((first is None or day >= first) and (last is None or day <= last))
    ]
    is_star = profile.star_lists_recent and request.query.strip(WHITE_SPACE) == "*"
    words = [] if is_star else [word for word in _BLANKS.split(request.query.lower()) if word]
    if not words:
        newest = within[: request.limit] if profile.blank_lists_recent else []
        return [ScoredEntry(entry, rank, 1.0, stage="recent") for rank, entry in enumerate(newest, 1)]
    contents = ((entry, entry.content.lower()) for entry in within)
    scored = [(sum(word in content for word in words) / len(words), entry) for entry, content in contents]
    hits = sorted((hit for hit in scored if hit[0] > 0), key=lambda hit: hit[0], reverse=True)[: request.limit]
    return [ScoredEntry(entry, rank, score, stage=STAGE) for rank, (score, entry) in enumerate(hits, 1)]


def recall_of_agents(
    entries: Sequence[MemoryEntry], request: RecallRequest, profile: ScoringProfile, aliases: Sequence[str]
) -> list[ScoredEntry]:
    """What the first of some agents recalls, then what its peers' lines give, each key behind its agent's alias."""
    merged: list[ScoredEntry] = []
    for alias in aliases:
        own = [replace(entry, key=f"[{alias}] {entry.key}") for entry in entries if entry.agent == alias]
        merged += recall_lines(own, request, profile)
    return [replace(scored, rank=rank) for rank, scored in enumerate(merged[: request.limit], 1)]


def threshold_meaning(profile: ScoringProfile, threshold: float) -> str:
    """What the threshold means for the scores of lines."""
    score = "Markdown's score is the share of the message's words that a line contains"
    return f"{score}; the threshold is {threshold:.2f}."


def _days_of(request: RecallRequest, profile: ScoringProfile) -> tuple[date | None, date | None]:
    """The first and the last day of a recall, as its bounds write them, in their own offset.

    From 0.8.0 a file's date is compared with them, and any other name always passes; before, they left nothing out.
    """
    if parse_version(profile.version) < (0, 8, 0):
        return None, None
    first, last = (None if bound is None else _day(bound.strip()[:10]) for bound in (request.since, request.until))
    return first, last


@lru_cache(maxsize=10_000)
def _day(text: str) -> date | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        return None
