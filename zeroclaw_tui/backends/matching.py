"""What a filter leaves and in which order: one meaning of its texts for every backend and for what screens light up.

Filtering, ordering and counting are in plain Python, for stores without a query language.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.errors import SearchInterrupted, Unreadable, UsageError
from zeroclaw_tui.memory.query import (
    AGE_GROUPS,
    EVERYTHING,
    NO_DATE,
    MemoryFilter,
    Sort,
    SortField,
    Superseded,
)
from zeroclaw_tui.memory.statistics import SIZE_GROUPS, CountField, Counts, by_count, size_group
from zeroclaw_tui.memory.text import is_unicode, one_line

if TYPE_CHECKING:
    import regex  # type: ignore[import-untyped]

    from zeroclaw_tui.memory.entry import MemoryEntry


Span = tuple[int, int]
"""Where a match begins and ends, in characters."""

REGEX_SECONDS = 5.0
"""How long a pattern may be matched in one search, all texts together."""
SECONDS_A_TEXT = 1.0
"""The same for one text: a search that is called off goes on for so long at the most."""
LONGEST_PATTERN = 10_000
"""In characters; a longer one would take longer to be read than a person waits."""

_ASCII_LOWER = str.maketrans("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz")


def folded(text: str) -> str:
    """A text of the same length in which letters that differ only in case are the same.

    What Unicode folds into several letters stays one: ß is found by ß and by its capital, not by ss.
    """
    if text.isascii():
        return text.lower()
    shown = text.casefold()
    # Folding never shortens: at the same length every character has become one character.
    return shown if len(shown) == len(text) else "".join(map(_folded_one, text))


def _folded_one(character: str) -> str:
    return next(shown for shown in (character.casefold(), character.lower(), character) if len(shown) == 1)


class Needle:
    """A text that is looked for, in any case.

    `is_plain` says that only its ASCII letters have a case, so that bytes can be compared with those alone lowered.
    """

    def __init__(self, text: str) -> None:
        self._typed = text
        self.is_plain = is_unicode(text) and not any(map(_has_case, text))
        self.text = text.translate(_ASCII_LOWER) if self.is_plain else folded(text)

    def is_in(self, text: str) -> bool:
        """Whether it stands anywhere in this text."""
        return self.text in self._comparable(text)

    def spans(self, text: str) -> Iterator[Span]:
        """Where it stands, from left to right; matches do not overlap."""
        comparable, at = self._comparable(text), 0
        while (at := comparable.find(self.text, at)) >= 0:
            yield at, at + len(self.text)
            at += len(self.text)

    def other_cases(self) -> tuple[str, str]:
        """Give letters in other cases and, at the same places, the letters of `text` that they stand for."""
        forms = {form for letter in {*self._typed, *self.text} for form in (letter, letter.upper(), letter.title())}
        if "σ" in self.text:
            forms.add("ς")
        pairs = [(form, folded(form)) for form in sorted(forms) if len(form) == 1 and form != folded(form)]
        return "".join(form for form, _ in pairs), "".join(letter for _, letter in pairs)

    def _comparable(self, text: str) -> str:
        if text.isascii():
            return text.lower()
        return text.translate(_ASCII_LOWER) if self.is_plain else folded(text)


def _has_case(character: str) -> bool:
    return not character.isascii() and (character.casefold() != character or character.upper() != character)


@lru_cache(maxsize=8)
def compiled(pattern: str) -> regex.Pattern[str]:
    """A pattern of the `regex` library, ignoring case. Raises UsageError with the place where it cannot be read."""
    # A tenth of the time to the first frame, and most searches are for words.
    import regex

    if len(pattern) > LONGEST_PATTERN:
        raise UsageError(
            f"The pattern has {len(pattern):,} characters, more than {LONGEST_PATTERN:,}.", hint="Give a shorter one."
        )
    try:
        return regex.compile(pattern, regex.IGNORECASE)
    except regex.error as error:
        at = error.pos
        place = "" if at is None else " at its end" if at >= len(pattern) else f" at character {at + 1}"
        raise UsageError(
            f"The pattern cannot be read{place}: {error.msg}.", hint=r"A sign meant as itself has a \ before it."
        ) from None
    except (RecursionError, MemoryError, OverflowError):
        raise _too_big() from None


class TextSearch:
    """One search for what the text parts of a filter say, row by row; made in the thread that looks.

    Only matching a pattern counts against REGEX_SECONDS; `clock` gives seconds that only rise. Raises UsageError for a
    pattern that cannot be read, and from `finds` for one that takes longer.
    """

    def __init__(self, filter: MemoryFilter, clock: Callable[[], float] = time.perf_counter) -> None:
        self.needle = needle_of(filter)
        self.pattern = compiled(filter.regex) if filter.regex else None
        self._seconds_left, self._clock = REGEX_SECONDS, clock
        self._is_stopped = False

    def finds(self, key: str, content: str) -> bool:
        """Whether a memory is found: the text and the pattern somewhere in its key or in its content."""
        if self._is_stopped:
            raise SearchInterrupted
        if self.needle is not None and not (self.needle.is_in(content) or self.needle.is_in(key)):
            return False
        return self.pattern is None or self.matches_pattern(content, key)

    def matches_pattern(self, *texts: str) -> bool:
        """Whether the pattern matches anywhere in any of these texts. Raises UsageError when the time is over."""
        start, seconds = self._clock(), min(self._seconds_left, SECONDS_A_TEXT)
        try:
            if seconds <= 0:
                raise TimeoutError
            return self.pattern is not None and any(
                self.pattern.search(text, concurrent=True, timeout=seconds) is not None for text in texts
            )
        except TimeoutError:
            if seconds < SECONDS_A_TEXT:
                sentence = f"The pattern takes longer than {REGEX_SECONDS:g} s."
            else:
                sentence = f"The pattern takes longer than {SECONDS_A_TEXT:g} s on a single memory."
            hint = "Look for something simpler, or narrow the search by a filter."
            raise UsageError(sentence, hint=hint, title="Pattern too slow") from None
        except (MemoryError, RecursionError):
            raise _too_big() from None
        finally:
            self._seconds_left -= self._clock() - start

    def spans(self, text: str, seconds: float, most: int) -> tuple[Sequence[Span], bool]:
        """Where anything that is looked for stands in a text, from left to right, what overlaps as one.

        Of each at most so many. Also whether matching the pattern took longer than `seconds`: then the rest is missing.
        """
        found = [] if self.needle is None else list(islice(self.needle.spans(text), most))
        is_over = False
        if self.pattern is not None:
            try:
                matches = self.pattern.finditer(text, concurrent=True, timeout=seconds)
                found += islice((match.span() for match in matches if match.end() > match.start()), most)
            except (TimeoutError, MemoryError, RecursionError):
                is_over = True
        return merged(found), is_over

    def stop(self) -> None:
        """End the search at its next row, from any thread: that raises SearchInterrupted."""
        self._is_stopped = True


def needle_of(filter: MemoryFilter) -> Needle | None:
    """The text that a filter looks for, if any."""
    return Needle(filter.contains) if filter.contains else None


def merged(spans: Sequence[Span]) -> Sequence[Span]:
    """The same places from left to right, what overlaps or touches as one."""
    found: list[Span] = []
    for start, end in sorted(spans):
        if found and start <= found[-1][1]:
            found[-1] = (found[-1][0], max(end, found[-1][1]))
        else:
            found.append((start, end))
    return found


def _too_big() -> UsageError:
    return UsageError("The pattern is too deep or too big to be matched.", hint="Look for something simpler.")


def require_unique_ids(entries: Sequence[MemoryEntry], backend: str) -> Sequence[MemoryEntry]:
    """The same memories. Raises Unreadable where two of them have one id or one handle, so that neither is named."""
    for name in ("id", "handle"):
        counts = Counter(getattr(entry, name) for entry in entries)
        if len(counts) == len(entries):
            continue
        value, count = counts.most_common(1)[0]
        raise Unreadable(
            f"The backend {backend} gives the {name} {one_line(str(value))[:60]!r} to {count} memories, so it cannot "
            "be told which of them is meant.",
            hint="Whoever wrote that backend has to give each memory one of its own.",
        )
    return entries


def matches(entry: MemoryEntry, filter: MemoryFilter) -> bool:
    """Whether a filter leaves this memory. Raises what `filter_entries` does."""
    return bool(filter_entries([entry], filter))


def filter_entries(
    entries: Iterable[MemoryEntry], filter: MemoryFilter, search: TextSearch | None = None
) -> list[MemoryEntry]:
    """The memories a filter leaves, in their order; for a thread where it looks for text.

    Raises UsageError for a pattern that cannot be read or takes longer than REGEX_SECONDS.
    """
    found = [entry for entry in entries if _passes(entry, filter)]
    if filter.looks_for_text:
        search = search or TextSearch(filter)
        found = [entry for entry in found if search.finds(entry.key, entry.content)]
    return found


async def filter_entries_async(entries: Sequence[MemoryEntry], filter: MemoryFilter) -> Sequence[MemoryEntry]:
    """The same off the event loop; cancelling the await stops the search."""
    if filter == EVERYTHING:
        return entries
    # A pattern is read in the thread too: that brings in its library.
    search = await asyncio.to_thread(TextSearch, filter)
    try:
        return await asyncio.to_thread(filter_entries, entries, filter, search=search)
    finally:
        search.stop()


def _passes(entry: MemoryEntry, filter: MemoryFilter) -> bool:
    """Whether every part of a filter holds but those that look for text."""
    if filter.superseded is Superseded.HIDE and entry.superseded_by is not None:
        return False
    if filter.superseded is Superseded.ONLY and entry.superseded_by is None:
        return False
    wanted = (
        (filter.category, entry.category),
        (filter.session, entry.session_id or ""),
        (filter.agent, entry.agent),
        (filter.namespace, entry.namespace),
    )
    if any(values is not None and value not in values for values, value in wanted):
        return False
    return _in_window(entry, filter)


def sort_key(entry: MemoryEntry, sort: Sort) -> tuple[Any, ...]:
    """What to order by; equal values fall back on the order of storing."""
    handle = (0, entry.handle, "") if isinstance(entry.handle, int) else (1, 0, entry.handle)
    match sort.field:
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
        case SortField.AGE:
            return (_order_of(entry.when), handle)
        case SortField.UPDATED:
            return (_order_of(entry.updated_at or entry.when), handle)


def age_group(created: datetime | None, now: datetime) -> str:
    """The name in AGE_GROUPS for one moment."""
    if created is None:
        return NO_DATE
    age = now - created
    limits = (timedelta(days=1), timedelta(days=7), timedelta(days=30))
    return next((name for name, most in zip(AGE_GROUPS, limits, strict=False) if age < most), AGE_GROUPS[3])


def _order_of(timestamp: str) -> tuple[int, Any]:
    parsed = moment(timestamp)
    return (0, timestamp) if parsed is None else (1, parsed)


def _in_window(entry: MemoryEntry, filter: MemoryFilter) -> bool:
    if filter.older_than is None and filter.newer_than is None:
        return True
    created = moment(entry.when)
    if created is None:
        return False
    older, newer = moment(filter.older_than), moment(filter.newer_than)
    return (older is None or created < older) and (newer is None or created > newer)


def count_entries(
    entries: Sequence[MemoryEntry],
    superseded: Sequence[MemoryEntry],
    why_not: Container[str],
    now: str,
    by: Sequence[CountField],
) -> Counts:
    """Count memories by some fields; `superseded` are the superseded ones, counted or not.

    `why_not` says what the store does not have.
    """
    until = moment(now) or datetime.max.replace(tzinfo=UTC)
    counts: dict[CountField, Mapping[Any, int]] = {}
    for field in by:
        if _NEEDS.get(field) in why_not:
            continue
        found: Counter[Any]
        if field == "age":
            found = Counter(age_group(moment(entry.when), until) for entry in entries)
        else:
            found = Counter(map(_VALUES[field], superseded if field == "superseded" else entries))
        if field in _GROUPS:
            counts[field] = {name: found[name] for name in _GROUPS[field]}
        else:
            counts[field] = found if field == "quarter" else _ordered(found)
    return Counts(len(entries), counts, sum(entry.size for entry in entries))


def _ordered(found: Counter[Any]) -> Mapping[Any, int]:
    return by_count({value: count for value, count in found.items() if value is not None})


_GROUPS: Mapping[CountField, Sequence[str]] = {"age": AGE_GROUPS, "size": SIZE_GROUPS}
_VALUES: Mapping[CountField, Callable[[MemoryEntry], Any]] = {
    "category": lambda entry: entry.category,
    "session": lambda entry: entry.session_id or "",
    "agent": lambda entry: entry.agent,
    "namespace": lambda entry: entry.namespace,
    "superseded": lambda entry: entry.category,
    "embedded": lambda entry: None if entry.embedding_dimensions is None else entry.category,
    "size": lambda entry: size_group(entry.size),
    "quarter": lambda entry: quarter_of(entry.when),
    "dimensions": lambda entry: entry.embedding_dimensions,
}
"""The value of each field; a None is not counted, but in `quarter`."""
_NEEDS: Mapping[CountField, str] = {
    "session": "sessions",
    "agent": "agents",
    "namespace": "namespaces",
    "superseded": "superseded",
    "embedded": "vectors",
    "dimensions": "vectors",
}
"""What a store must be able to do for a field."""


def quarter_of(timestamp: str) -> int | None:
    """The quarter hour since 1970 that a moment lies in, UTC; None for what is no moment."""
    from zeroclaw_tui.memory.statistics import QUARTER_SECONDS

    when = moment(timestamp)
    return None if when is None else int(when.timestamp() // QUARTER_SECONDS)
