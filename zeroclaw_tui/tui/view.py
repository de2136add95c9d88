"""The state of the list of memories: the view, and the page with the store's answer, its sentences and highlights."""

from __future__ import annotations

import math
import re
import shlex
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from functools import lru_cache
from itertools import islice
from typing import TYPE_CHECKING, Literal, NamedTuple

from rich.cells import split_graphemes
from textual.content import Content

from zeroclaw_tui.backends.about import sentences
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, UsageError
from zeroclaw_tui.memory.query import NEWEST_STORED, NO_SESSION, MemoryFilter, Sort, SortField, Superseded
from zeroclaw_tui.memory.recall import SIMILAR, RecallRequest, RecallResult
from zeroclaw_tui.memory.statistics import Counts
from zeroclaw_tui.memory.text import NO_VALUE, counted, cut, one_line
from zeroclaw_tui.tui.themes import HIGHLIGHT

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.backends.matching import Span
    from zeroclaw_tui.config.memory_config import MemoryConfig

_EIGHTHS = ("", "▏", "▎", "▍", "▌", "▋", "▊", "▉")
_MAX_MATCHES = 20_000
"""The maximum number of highlighted matches in a text."""
_SECONDS = 0.01
"""The time limit for matching a pattern in one line; a frame has 16 ms."""
Find = Callable[[str, float], "tuple[Sequence[Span], bool]"]
"""Finds matches in a text within a time limit in seconds; also returns whether the limit was exceeded."""

Part = Literal["category", "session", "agent", "namespace", "age", "superseded"]
NO_MOMENT = datetime(1970, 1, 1, tzinfo=UTC)
"""The time for ages before a store has answered."""
PARTS: tuple[Part, ...] = ("category", "session", "agent", "namespace", "age", "superseded")
_SINGLE: tuple[Part, ...] = ("age", "superseded")
"""Parts with at most one selected value."""
EmptyMessage = tuple[str, str, tuple[tuple[str, str], ...]]
SelectedValues = tuple[tuple[Part, str], ...]


@dataclass(frozen=True, slots=True)
class Pace:
    """The timing of the inspector.

    All times are in seconds. A search starts `debounce` after the last key; the store is polled for changes every
    `poll` (None: never). A change shows its progress after `patience`. The next key is delivered after `overdue`, even
    if the previous one seems unfinished or the screen that it opened has no rows yet. `stopwatch` is the clock of
    search times.
    """

    debounce: float = 0.12
    poll: float | None = 1.0
    patience: float = 0.3
    overdue: float = 0.5
    stopwatch: Callable[[], float] = time.perf_counter


class Mode(StrEnum):
    """The ways to search: the agent's recall, and three ways to find memories."""

    RECALL = "recall"
    CONTAINS = "contains"
    REGEX = "regex"
    SIMILAR = "similar"


FINDS = (Mode.CONTAINS, Mode.REGEX)
"""The modes that filter the list."""

AGES: Mapping[str, tuple[int | None, int | None]] = {
    "today": (None, 1),
    "this week": (1, 7),
    "this month": (7, 30),
    "older": (30, None),
}
"""Each age as the minimum and maximum number of days since creation."""
_CHIPS = {
    ("age", "older"): "older than 30 d",
    ("superseded", "show"): "with superseded",
    ("superseded", "only"): "superseded only",
}
"""The texts of values whose chip is not just the value."""
ORDERS: tuple[tuple[Sort, str, str], ...] = (
    (Sort(SortField.AGE, True), "newest first", "oldest first"),
    (Sort(SortField.STORED, True), "last stored first", "first stored first"),
    (Sort(SortField.UPDATED, True), "last changed first", "longest unchanged first"),
    (Sort(SortField.KEY, False), "by key", "by key, backwards"),
    (Sort(SortField.CATEGORY, False), "by category", "by category, backwards"),
    (Sort(SortField.CONTENT, False), "by content", "by content, backwards"),
    (Sort(SortField.SIZE, True), "biggest first", "smallest first"),
)
"""The sort orders, each with its description and that of the reverse order."""


class Chip(NamedTuple):
    """A selected filter value, and the text on its chip."""

    part: Part
    value: str
    words: str


@dataclass(frozen=True, slots=True)
class View:
    """The selected filter values, the order, and the search with its mode."""

    selected: SelectedValues = ()
    """Each selected value with its part, in the order of selection."""
    sort: Sort = NEWEST_STORED
    mode: Mode = Mode.RECALL
    query: str = ""
    similar_to: MemoryEntry | None = None
    """In mode "similar", the memory to compare with; None compares with the query."""

    @property
    def scope(self) -> tuple[SelectedValues, MemoryFilter]:
        """All that counts and rows depend on, except the time."""
        return self.selected, self.text_filter

    @property
    def is_recall(self) -> bool:
        """Whether the list shows a ranking: an agent's recall, or similar memories."""
        return self.is_similar or (self.mode is Mode.RECALL and bool(self.query.strip()))

    @property
    def title(self) -> str:
        """The title of the list."""
        return "Similar memories" if self.is_similar else "Recall" if self.is_recall else "Memories"

    @property
    def is_similar(self) -> bool:
        """Whether the list shows memories similar to the query."""
        return self.mode is Mode.SIMILAR and bool(self.query.strip())

    @property
    def text_filter(self) -> MemoryFilter:
        """The text searched in keys and contents, and highlighted there."""
        if self.mode is Mode.CONTAINS:
            return MemoryFilter(contains=self.query or None)
        return MemoryFilter(regex=self.query or None) if self.mode is Mode.REGEX else MemoryFilter()

    def values(self, part: Part) -> tuple[str, ...]:
        """The selected values of a part."""
        return tuple(value for name, value in self.selected if name == part)

    @property
    def superseded(self) -> Superseded:
        """Whether superseded memories are shown."""
        return Superseded(next(iter(self.values("superseded")), Superseded.HIDE))

    def toggled(self, part: Part, value: str) -> View:
        """Select or deselect a value."""
        chosen = (part, value)
        others = self._without(part) if part in _SINGLE else tuple(pair for pair in self.selected if pair != chosen)
        return replace(self, selected=others if chosen in self.selected else (*others, chosen))

    def _without(self, part: Part) -> SelectedValues:
        return tuple(pair for pair in self.selected if pair[0] != part)

    def shell_options(self, now: datetime) -> str:
        """The filter as quoted options of a shell command."""
        filters, words = self.listing_filter(now), []
        for part in ("category", "session", "agent", "namespace"):
            words += [word for value in getattr(filters, part) or () for word in (f"--{part}", value)]
        for part in ("older_than", "newer_than", "contains", "regex"):
            value = getattr(filters, part)
            words += [] if value is None else [f"--{part.replace('_', '-')}", str(value)]
        words += [word for value in self.values("superseded") for word in ("--superseded", value)]
        return shlex.join(one_line(word) for word in words)

    def sorted_by(self, chosen: SortField) -> View:
        """Sort by a field, or reverse the order if the list is sorted by it."""
        if self.sort.field is chosen:
            return replace(self, sort=Sort(chosen, not self.sort.descending))
        return replace(self, sort=next(sort for sort, *_ in ORDERS if sort.field is chosen))

    def part_of(self, entry: MemoryEntry) -> tuple[Part, str]:
        """The value to filter by for memories related to an entry: its session, else category, else agent."""
        if entry.session_id:
            return "session", entry.session_id
        if entry.category or not entry.agent:
            return "category", entry.category
        return "agent", entry.agent

    @property
    def chips(self) -> tuple[Chip, ...]:
        """The selected values as chips, in the order of the facets."""
        chosen = sorted(self.selected, key=lambda one: PARTS.index(one[0]))
        return tuple(Chip(*pair, _CHIPS.get(pair) or value_text(*pair)) for pair in chosen)

    def listing_filter(self, now: datetime) -> MemoryFilter:
        """The filter of the list at a given time, including the text if the mode filters."""
        over, under = AGES.get("".join(self.values("age")), (None, None))
        return self.text_filter.replace(
            **{part: self.values(part) or None for part in PARTS if part not in _SINGLE},
            older_than=_days_before(now, over),
            newer_than=_days_before(now, under),
            superseded=self.superseded,
        )

    def facet_filters(self, now: datetime) -> dict[Part, MemoryFilter]:
        """The filter without each selected part, for the counts of the other values of that part."""
        parts = dict.fromkeys(part for part, _ in self.selected if part != "superseded")
        return {part: replace(self, selected=self._without(part)).listing_filter(now) for part in parts}

    def request(self, now: datetime, config: MemoryConfig, limit: int | None = None) -> RecallRequest:
        """The recall of the view: uses one session, the agents with those they may read, and one namespace.

        `limit` is that of another program's recall; None is the limit of a ZeroClaw turn.
        """
        from zeroclaw_tui.scoring.injection import RECALL_LIMIT

        agents = self.values("agent")
        return RecallRequest(
            query=self.query,
            session_id=_only(self.values("session")),
            agents=config.readable_by(agents) if agents else None,
            namespace=_only(self.values("namespace")),
            as_of=now.isoformat(),
            limit=limit or RECALL_LIMIT,
            turn_limit=limit or RECALL_LIMIT,
        )

    @property
    def ignored(self) -> tuple[Chip, ...]:
        """The chips that do not apply: a recall only filters by agent, one session and one namespace."""
        if not self.is_recall:
            return ()
        known = ("agent", *(part for part in ("session", "namespace") if _only(self.values(part))))
        return tuple(chip for chip in self.chips if self.is_similar or chip.part not in known)


def order_text(sort: Sort) -> str:
    """The description of an order above the list."""
    first, words, reversed_words = next(order for order in ORDERS if order[0].field is sort.field)
    return words if sort == first else reversed_words


def value_text(part: Part, value: str) -> str:
    """A facet's value as one short line."""
    if part == "session" and value == NO_SESSION:
        return "no session"
    return cut(one_line(value), 24) or "(blank)"


def score_text(score: float | None) -> str:
    """A score of any scale with two decimals; a dash if there is none."""
    return NO_VALUE if score is None or math.isnan(score) else f"{score:.2f}"


def bar(value: float | None, width: int) -> str:
    """A bar of exactly `width` cells for a value clamped to 0..1; a dash if the value is missing.

    A value above 0 shows at least one eighth of a cell, so that a weak hit never looks like none.
    """
    if width <= 0:
        return ""
    if value is None or math.isnan(value):
        return NO_VALUE.ljust(width)
    share = min(1.0, max(0.0, value))
    eighths = round(share * width * 8)
    if share > 0:
        eighths = max(1, eighths)
    full, rest = divmod(eighths, 8)
    return ("█" * full + _EIGHTHS[rest]).ljust(width)


def _only(values: tuple[str, ...]) -> str | None:
    return values[0] if len(values) == 1 and values[0] else None


def _days_before(now: datetime, days: int | None) -> str | None:
    return None if days is None else (now - timedelta(days=days)).isoformat()


class Highlights:
    """The matches of a search. A pattern that is too slow for the screen highlights nothing."""

    def __init__(self, find: Find | None = None) -> None:
        self._find = find
        self._times_over = 0

    def spans(self, text: str, seconds: float = _SECONDS) -> Sequence[Span]:
        """Find all matches in a displayed text, from left to right, each of whole characters."""
        if self._find is None or self._times_over == 3:
            return ()
        found, is_over = self._find(text, seconds)
        self._times_over += is_over
        return found if text.isascii() else _whole_characters(text, found)

    def apply(self, text: str, seconds: float = _SECONDS) -> Content:
        """Highlight the matches in a displayed text."""
        content = Content(text)
        for start, end in self.spans(text, seconds):
            content = content.stylize(HIGHLIGHT, start, end)
        return content


def _whole_characters(text: str, spans: Sequence[Span]) -> Sequence[Span]:
    """Extend spans to whole grapheme clusters."""
    edges = [start for start, _, _ in split_graphemes(text)[0]] + [len(text)]
    return [(edges[max(0, bisect_right(edges, start) - 1)], edges[bisect_left(edges, end)]) for start, end in spans]


NO_HIGHLIGHTS = Highlights()


@lru_cache(maxsize=4)
def highlights_of_filter(filter: MemoryFilter) -> Highlights:
    """Highlights for the text of a filter. Raises UsageError for an invalid pattern."""
    if not filter.searches_text:
        return NO_HIGHLIGHTS
    from zeroclaw_tui.backends.matching import TextSearch

    search = TextSearch(filter)
    return Highlights(lambda text, seconds: search.spans(text, seconds, _MAX_MATCHES))


@lru_cache(maxsize=4)
def highlights_of_message(message: str) -> Highlights:
    """Highlights for the whole words of a message, case-insensitive, as in the keyword stage of a recall."""
    words = dict.fromkeys(map(str.casefold, re.findall(r"\w+", message[:2_000])))
    if not words:
        return NO_HIGHLIGHTS
    pattern = re.compile(rf"(?<!\w)(?:{'|'.join(map(re.escape, words))})(?!\w)", re.IGNORECASE)
    return Highlights(lambda text, _: ([match.span() for match in islice(pattern.finditer(text), _MAX_MATCHES)], False))


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A view with the store's answer so far, except the rows of the list, and sentences about both."""

    view: View = field(default_factory=View)
    now: datetime = NO_MOMENT
    """The time for ages."""
    is_answered: bool = False
    """Whether the rows belong to this view rather than to the previous one."""
    recall: RecallResult | None = None
    vector_text: str = ""
    """The vector step that a recall is waiting for, in words."""
    highlights: Highlights = NO_HIGHLIGHTS
    milliseconds: float | None = None
    counts: Counts | None = None
    other_counts: Mapping[Part, Counts] = field(default_factory=dict)
    """For each part with selected values: the counts without that part."""
    scope: tuple[SelectedValues, MemoryFilter] | None = None
    """The scope of the counts."""
    found: int | None = None
    """The number of memories that contain the query of a recall."""
    bad_pattern: UsageError | None = None
    """Why an incomplete pattern is invalid; the rows are then those of the previous search."""
    error: InspectorError | None = None

    @property
    def facts(self) -> tuple[str, ...]:
        """Facts about the list; () until it is counted."""
        if (counts := self.counts) is None:
            return ()
        facts = [counted(counts.total)]
        if counts.superseded and self.view.superseded is Superseded.HIDE:
            facts.append(f"{counts.superseded:,} superseded hidden")
        embedded = sum(counts.by.get("embedded", {}).values())
        if 0 < embedded < counts.total:
            facts.append(f"{counts.total - embedded:,} not embedded")
        return tuple(facts)

    @property
    def search_facts(self) -> tuple[str, ...]:
        """The numbers of a search and the filters that apply to it, the most important first."""
        view, recall = self.view, self.recall
        if self.bad_pattern is not None:
            return (self._pattern_text,)
        scope = tuple(chip.words for chip in view.chips if chip not in view.ignored)
        took = () if self.milliseconds is None or not view.query else (f"{self.milliseconds:.0f} ms",)
        if view.mode in FINDS and view.query:
            is_counted = self.counts is not None and self.scope == view.scope
            return (*((f"{self.counts.total:,} found",) if self.counts and is_counted else ()), *took, *scope)
        if recall is None or recall.mode == SIMILAR:
            return scope
        threshold = () if recall.not_read_because is not None else (f"threshold {score_text(recall.threshold)}",)
        return (f"limit {recall.request.limit}", *threshold, *took, *scope)

    def status(self, marked: int, hint: str) -> tuple[str, ...]:
        """The line under the list: the number of marks, and the result of a search or a hint."""
        marks = f"● {marked:,} marked" if marked else ""
        if self.bad_pattern is not None:
            # A narrow search line has no room for it, and the rows look like a result.
            return marks, f"the pattern {self._pattern_text}", "the list shows the previous search"
        if marked:
            hint = f"d deletes {'it' if marked == 1 else 'them'}, * marks all or none"
        return marks, *(self._result_facts() or (hint,))

    def _result_facts(self) -> tuple[str, ...]:
        """The result of a recall."""
        recall, found = self.recall, self.found
        if recall is None or not (recall.results or recall.withheld):
            return ()
        count = len(recall.results)
        if recall.mode == SIMILAR:
            return f"{count} similar", *recall.notes, self._ignored_text
        so_far = " so far" if recall.awaits_vector else ""
        # If the recall ignores filters, the filtered count is not the total that it ranks.
        of_all = f" of {self.counts.total:,}" if self.counts is not None and not self._ignored_text else ""
        return (
            f"{count} shown{of_all}",
            (recall.not_read_because or f"{recall.injected} injected{so_far}").rstrip("."),
            self.vector_text,
            f"{len(recall.withheld)} withheld from the agent" if recall.withheld else "",
            self._ignored_text,
            f"contains finds {found:,} (/ tab)" if found is not None and found > count else "",
            *recall.notes,
        )

    def why_empty(self, memory: Memory, *, can_write: bool) -> EmptyMessage:
        """Say why the list is empty, what would fill it, and which keys help."""
        view, general_keys = self.view, (("r", "reload"), ("q", "quit"))
        if memory.about.keeps_nothing:
            keys = (("6", "choose another store"), *general_keys)
            return "This backend stores no memories.", " ".join(sentences(memory.about.notices)), keys
        hidden = self.counts.superseded if self.counts is not None else 0
        filters = (("F", "change the filters"),) if view.chips or hidden else ()
        search_keys = (("tab", "search in another way"), ("esc", "close the search"), *filters)
        query = f"“{one_line(view.query)[:60]}”"
        if view.is_recall:
            fact = "No similar memories." if view.is_similar else f"The agent recalls nothing for {query}."
            contains = "" if self.found is None else f"contains finds {self.found:,}"
            notes = self.recall.notes if self.recall is not None else ()
            facts = [contains, self._ignored_text, *notes, self.vector_text]
            lines = [one_line(line).rstrip(".") for line in facts if line]
            return fact, "\n".join(f"{line[:1].upper()}{line[1:]}." for line in lines), search_keys
        if view.query and view.mode in FINDS:
            return f"Nothing {'contains' if view.mode is Mode.CONTAINS else 'matches'} {query}.", "", search_keys
        if view.chips:
            return "No memory matches these filters.", " · ".join(chip.words for chip in view.chips), filters
        hidden_text = f"{hidden:,} superseded hidden. " if hidden else ""
        words = f"{hidden_text}ZeroClaw writes memories while you talk with it."
        write = (("n", "write a memory"),) if can_write else ()
        return "No memories here.", words, (*write, *filters, *general_keys)

    @property
    def _ignored_text(self) -> str:
        """Name the filters that a ranking ignores, so that its results do not look filtered."""
        words, mode = [chip.words for chip in self.view.ignored], self.view.mode
        return f"{mode} ignores the filter{'' if len(words) == 1 else 's'} {', '.join(words)}" if words else ""

    @property
    def _pattern_text(self) -> str:
        return "" if self.bad_pattern is None else self.bad_pattern.message.removeprefix("The pattern ").rstrip(".")
