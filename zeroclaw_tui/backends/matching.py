"""Filtering, sorting and counting of memories in plain Python, for stores without a query language.

The text search of filters is shared by all backends and by the screens.
"""

from __future__ import annotations

import asyncio
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.errors import SearchInterrupted, Unreadable, UsageError
from zeroclaw_tui.memory.query import AGE_GROUPS, EVERYTHING, NO_DATE, MemoryFilter, SortField, Superseded
from zeroclaw_tui.memory.statistics import QUARTER_SECONDS, SIZE_GROUPS, SIZE_LIMITS, CountField, Counts
from zeroclaw_tui.memory.text import is_unicode, one_line

if TYPE_CHECKING:
    import regex  # type: ignore[import-untyped]

    from zeroclaw_tui.memory.entry import MemoryEntry

Span = tuple[int, int]
"""The start and end of a match, in characters."""

REGEX_SECONDS = 60.0
"""The time limit for matching patterns in one search, over all texts: a million memories take about 6 s."""
SECONDS_A_TEXT = 1.0
"""The time limit for one text, which also limits how long a cancelled search goes on."""
MAX_PATTERN_LENGTH = 10_000
"""In characters: compiling a longer pattern would take too long."""

_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def plain_text(filter: MemoryFilter) -> str | None:
    """The text that a filter searches for, in lower case; None if there is none, or if it has non-ASCII cased letters.

    It can be compared with texts or bytes in which only the ASCII letters are lowered.
    """
    text = filter.contains
    letters = (one for one in text or "" if not one.isascii())
    if not text or not is_unicode(text) or any(one.casefold() != one or one.upper() != one for one in letters):
        return None
    return _lowered(text)


def _lowered(text: str) -> str:
    return text.lower() if text.isascii() else text.translate(_ASCII_LOWER)


def has_patterns(filter: MemoryFilter) -> bool:
    """Whether a filter needs pattern matching, not only a plain text search."""
    return bool(filter.regex or (filter.contains and plain_text(filter) is None))


@lru_cache(maxsize=8)
def compiled(pattern: str) -> regex.Pattern[str]:
    """Compile a pattern with the `regex` library, ignoring case. Raises UsageError with the position of an error."""
    # The import takes a tenth of the time to the first frame, and most searches need no pattern.
    import regex

    if len(pattern) > MAX_PATTERN_LENGTH:
        raise UsageError(
            f"The pattern has {len(pattern):,} characters, more than {MAX_PATTERN_LENGTH:,}.",
            hint="Give a shorter one.",
        )
    try:
        return regex.compile(pattern, regex.IGNORECASE)
    except regex.error as error:
        at = error.pos
        place = "" if at is None else " at its end" if at >= len(pattern) else f" at character {at + 1}"
        raise UsageError(
            f"The pattern cannot be read{place}: {error.msg}.",
            hint=r"Put a \ before a character to match it literally.",
        ) from None
    except (RecursionError, MemoryError, OverflowError):
        raise _too_big() from None


@lru_cache(maxsize=8)
def _compiled_text(text: str) -> regex.Pattern[str]:
    """Compile a pattern for one text, ignoring case; ß matches SS too."""
    import regex

    return regex.compile(regex.escape(text), regex.IGNORECASE | regex.FULLCASE)


def _too_big() -> UsageError:
    return UsageError("The pattern is too deep or too big to be matched.", hint="Look for something simpler.")


class TextSearch:
    """One search for the texts of a filter, row by row; created in the thread that searches.

    Only matching a pattern counts against REGEX_SECONDS; `clock` returns monotonic seconds. Raises UsageError for an
    invalid pattern, and in `finds` if the time is over.
    """

    def __init__(self, filter: MemoryFilter, clock: Callable[[], float] = time.perf_counter) -> None:
        self._plain = plain_text(filter)
        self._patterns = [compiled(filter.regex)] if filter.regex else []
        if filter.contains and self._plain is None:
            self._patterns.append(_compiled_text(filter.contains))
        self._seconds_left, self._clock = REGEX_SECONDS, clock
        self._is_stopped = False

    def finds(self, key: str, content: str) -> bool:
        """Whether key or content contain the text and match the pattern."""
        if self._is_stopped:
            raise SearchInterrupted
        if self._plain is not None and not any(self._plain in _lowered(text) for text in (content, key)):
            return False
        return self.matches_patterns(content, key)

    def matches_patterns(self, *texts: str) -> bool:
        """Whether each pattern matches in any of these texts. Raises UsageError if the time is over."""
        start, seconds = self._clock(), min(self._seconds_left, SECONDS_A_TEXT)
        try:
            if seconds <= 0:
                raise TimeoutError
            return all(
                any(pattern.search(text, concurrent=True, timeout=seconds) is not None for text in texts)
                for pattern in self._patterns
            )
        except TimeoutError:
            limit = REGEX_SECONDS if seconds < SECONDS_A_TEXT else SECONDS_A_TEXT
            raise UsageError(
                f"The pattern takes longer than {limit:g} s.",
                hint="Look for something simpler, or narrow the search by a filter.",
                title="Pattern too slow",
            ) from None
        except (MemoryError, RecursionError):
            raise _too_big() from None
        finally:
            self._seconds_left -= self._clock() - start

    def spans(self, text: str, seconds: float, most: int) -> tuple[Sequence[Span], bool]:
        """Find all matches in a text from left to right, overlapping ones merged; at most `most` of each search term.

        Also return whether matching took longer than `seconds`, so that later matches are missing.
        """
        found: list[Span] = []
        comparable, end, is_over = _lowered(text), 0, False
        while self._plain and len(found) < most and (start := comparable.find(self._plain, end)) >= 0:
            end = start + len(self._plain)
            found.append((start, end))
        for pattern in self._patterns:
            try:
                matches = pattern.finditer(text, concurrent=True, timeout=seconds)
                found += islice((match.span() for match in matches if match.end() > match.start()), most)
            except (TimeoutError, MemoryError, RecursionError):
                is_over = True
        merged: list[Span] = []
        for start, end in sorted(found):
            if merged and start <= merged[-1][1]:
                merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
            else:
                merged.append((start, end))
        return merged, is_over

    def stop(self) -> None:
        """Stop the search at its next row, which raises SearchInterrupted; callable from any thread."""
        self._is_stopped = True


def require_unique_ids(entries: Sequence[MemoryEntry], backend: str) -> Sequence[MemoryEntry]:
    """Return the memories. Raises Unreadable if two of them have the same id or handle, or a field is not a text."""
    for name in ("id", "key", "content", "category", "timestamp"):
        if not all(isinstance(getattr(entry, name, None), str) for entry in entries):
            raise Unreadable(
                f"The backend {backend} gives a memory whose {name} is not a text.", hint="Report it to its author."
            )
    for name in ("id", "handle"):
        counts = Counter(getattr(entry, name) for entry in entries)
        value, count = counts.most_common(1)[0] if counts else ("", 1)
        if count > 1:
            raise Unreadable(
                f"The backend {backend} gives the {name} {one_line(str(value))[:60]!r} to {count} memories, so they "
                "cannot be distinguished.",
                hint="Report it to the author of that backend: each memory needs its own.",
            )
    return entries


def matches(entry: MemoryEntry, filter: MemoryFilter) -> bool:
    """Whether a memory matches a filter. Raises the errors of `filter_entries`."""
    return bool(filter_entries([entry], filter))


def filter_entries(
    entries: Iterable[MemoryEntry], filter: MemoryFilter, search: TextSearch | None = None
) -> list[MemoryEntry]:
    """Select the memories that match a filter, in their order; call it on a thread if the filter has texts.

    Raises UsageError for a pattern that is invalid or takes longer than REGEX_SECONDS.
    """
    found = [entry for entry in entries if _passes(entry, filter)]
    if filter.searches_text:
        search = search or TextSearch(filter)
        found = [entry for entry in found if search.finds(entry.key, entry.content)]
    return found


async def filter_entries_async(entries: Sequence[MemoryEntry], filter: MemoryFilter) -> Sequence[MemoryEntry]:
    """Run `filter_entries` on a thread; cancelling the await stops the search."""
    if filter == EVERYTHING:
        return entries
    # Compiling a pattern imports its library.
    search = await asyncio.to_thread(TextSearch, filter)
    try:
        return await asyncio.to_thread(filter_entries, entries, filter, search=search)
    finally:
        search.stop()


def _passes(entry: MemoryEntry, filter: MemoryFilter) -> bool:
    """Whether a memory matches a filter, apart from its texts."""
    if filter.superseded is not Superseded.SHOW:
        is_superseded = entry.superseded_by is not None
        if is_superseded != (filter.superseded is Superseded.ONLY):
            return False
    wanted = (
        (filter.category, entry.category),
        (filter.session, entry.session_id or ""),
        (filter.agent, entry.agent),
        (filter.namespace, entry.namespace),
    )
    if any(values is not None and value not in values for values, value in wanted):
        return False
    if filter.older_than is None and filter.newer_than is None:
        return True
    created, older, newer = map(moment, (entry.when, filter.older_than, filter.newer_than))
    if created is None:
        return False
    return (older is None or created < older) and (newer is None or created > newer)


def sort_key(entry: MemoryEntry, field: SortField) -> tuple[Any, ...]:
    """The unique sort key of a memory; memories with equal values are in the order of storing."""
    handle = (0, entry.handle, "") if isinstance(entry.handle, int) else (1, 0, entry.handle)
    match field:
        case SortField.STORED:
            return handle
        case SortField.KEY:
            return (entry.key, handle)
        case SortField.CATEGORY:
            return (entry.category, handle)
        case SortField.CONTENT:
            return (entry.content[:200], handle)
        case SortField.SIZE:
            return (entry.size, handle)
        case SortField.AGE | SortField.UPDATED:
            is_updated = field is SortField.UPDATED and entry.updated_at
            timestamp = entry.updated_at if is_updated else entry.when
            parsed = moment(timestamp)
            return ((0, timestamp) if parsed is None else (1, parsed), handle)


def age_group(created: datetime | None, now: datetime) -> str:
    """The age group, from AGE_GROUPS, of a creation time."""
    if created is None:
        return NO_DATE
    limits = (timedelta(days=1), timedelta(days=7), timedelta(days=30))
    return next((name for name, most in zip(AGE_GROUPS, limits, strict=False) if now - created < most), AGE_GROUPS[3])


def by_count(counts: Mapping[str, int]) -> dict[str, int]:
    """Sort counts, highest first, then by name; zeros are left out."""
    return dict(sorted(((name, n) for name, n in counts.items() if n), key=lambda item: (-item[1], item[0])))


def count_entries(
    entries: Sequence[MemoryEntry],
    superseded: Sequence[MemoryEntry],
    why_not: Container[str],
    now: str,
    by: Sequence[CountField],
) -> Counts:
    """Count memories by some fields; `superseded` are the superseded ones, included in `entries` or not.

    Fields that the store does not have, according to `why_not`, are skipped.
    """
    until = moment(now) or datetime.max.replace(tzinfo=UTC)
    counts: dict[CountField, Mapping[Any, int]] = {}
    for field in by:
        if _NEEDS.get(field) in why_not:
            continue
        counted = superseded if field == "superseded" else entries
        if field == "age":
            found = Counter(age_group(moment(entry.when), until) for entry in entries)
        else:
            found = Counter(map(_VALUES[field], counted))
        if field in _GROUPS:
            counts[field] = {name: found[name] for name in _GROUPS[field]}
        elif field == "quarter":
            counts[field] = found
        else:
            counts[field] = by_count({value: count for value, count in found.items() if value is not None})
    return Counts(len(entries), counts, sum(entry.size for entry in entries))


def _quarter_of(entry: MemoryEntry) -> int | None:
    """The number of quarter hours from 1970 to its date, UTC; None without a date."""
    when = moment(entry.when)
    return None if when is None else int(when.timestamp() // QUARTER_SECONDS)


_GROUPS: Mapping[CountField, Sequence[str]] = {"age": AGE_GROUPS, "size": SIZE_GROUPS}
_VALUES: Mapping[CountField, Callable[[MemoryEntry], Any]] = {
    "category": lambda entry: entry.category,
    "session": lambda entry: entry.session_id or "",
    "agent": lambda entry: entry.agent,
    "namespace": lambda entry: entry.namespace,
    "superseded": lambda entry: entry.category,
    "embedded": lambda entry: None if entry.embedding_dimensions is None else entry.category,
    "size": lambda entry: SIZE_GROUPS[bisect_right(SIZE_LIMITS, entry.size)],
    "quarter": _quarter_of,
}
"""The value of each field; None is only counted for `quarter`."""
_NEEDS: Mapping[CountField, str] = {
    "session": "sessions",
    "agent": "agents",
    "namespace": "namespaces",
    "superseded": "superseded",
    "embedded": "vectors",
}
"""The capability of the store that a field needs."""
