"""How ZeroClaw recalls from Markdown files: the share of the query's words that a line contains."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime
from functools import cache

from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.recall import RecallRequest, ScoredEntry
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.profiles import ScoringProfile, parse_version

SCALE = "matched words / words"
STAGE = "markdown"
_BLANKS = re.compile(f"[{WHITE_SPACE}]+")
_DAYS_COUNT_SINCE = (0, 8, 0)


def recall_lines(
    entries: Iterable[MemoryEntry],
    query: str,
    limit: int,
    profile: ScoringProfile,
    since: str | None = None,
    until: str | None = None,
) -> list[ScoredEntry]:
    """The best lines first, equal ones in the order given; a blank query gives the newest, each scored 1.

    Raises WrongUse when `since` or `until` is no RFC 3339 moment or they do not follow one another.
    """
    in_window = _window(profile, since, until)
    words = _words(query, profile)
    if not words:
        if not profile.blank_lists_recent:
            return []
        newest = [entry for entry in entries if in_window(entry.timestamp)][:limit]
        return [ScoredEntry(entry, rank, 1.0, stage="recent") for rank, entry in enumerate(newest, 1)]
    scored = [(_share(entry.content, words), entry) for entry in entries if in_window(entry.timestamp)]
    hits = sorted((hit for hit in scored if hit[0] > 0), key=lambda hit: hit[0], reverse=True)[:limit]
    return [ScoredEntry(entry, rank, score, stage=STAGE) for rank, (score, entry) in enumerate(hits, 1)]


def recall_of_agents(
    entries: Iterable[MemoryEntry], request: RecallRequest, aliases: Sequence[str], profile: ScoringProfile
) -> list[ScoredEntry]:
    """What the first of some agents recalls, then what its peers' lines give, each key behind its agent's alias."""
    merged: list[ScoredEntry] = []
    held = list(entries)
    for alias in aliases:
        own = [replace(entry, key=f"[{alias}] {entry.key}") for entry in held if entry.agent == alias]
        merged += recall_lines(own, request.query, request.limit, profile, request.since, request.until)
    return [replace(scored, rank=rank) for rank, scored in enumerate(merged[: request.limit], 1)]


def _words(query: str, profile: ScoringProfile) -> list[str]:
    if profile.star_lists_recent and query.strip(WHITE_SPACE) == "*":
        return []
    return [word for word in _BLANKS.split(query.lower()) if word]


def _share(content: str, words: list[str]) -> float:
    lowered = content.lower()
    return sum(map(lowered.__contains__, words)) / len(words)


def _window(profile: ScoringProfile, since: str | None, until: str | None) -> Callable[[str], bool]:
    """Whether an entry's timestamp, a file's stem, lies between the bounds.

    From 0.8.0 a date is compared by the day and any other name always passes; before, the bounds left nothing out.
    """
    if not profile.has_time_bounds:
        return lambda stem: True
    first, last = _bound("since", since), _bound("until", until)
    if first and last and first >= last:
        raise WrongUse("The time bound 'since' must lie before 'until'.")
    if parse_version(profile.version) < _DAYS_COUNT_SINCE:
        return lambda stem: True
    # The day is the one written in the bound, in the bound's own offset.
    first_day, last_day = (None if text is None else _day(text.strip()[:10]) for text in (since, until))

    # A file has thousands of lines and one name.
    @cache
    def inside(stem: str) -> bool:
        day = _day(stem)
        if day is None:
            return True
        return (first_day is None or day >= first_day) and (last_day is None or day <= last_day)

    return inside


def _bound(name: str, text: str | None) -> datetime | None:
    if text is None:
        return None
    parsed = moment(text)
    if parsed is None:
        raise WrongUse(f"The time bound {name!r} is {text!r}.", hint="Write it like 2026-03-01T00:00:00+00:00.")
    return parsed


def _day(text: str) -> date | None:
    try:
        return datetime.strptime(text, "%Y-%m-%d").date()
    except ValueError:
        return None
