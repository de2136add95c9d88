"""What the list of memories shows: the view, and the page that answers it with its sentences."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from zeroclaw_tui.backends.about import sentences
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError, UsageError
from zeroclaw_tui.memory.query import NEWEST_STORED, NO_SESSION, MemoryFilter, Sort, SortField, Superseded
from zeroclaw_tui.memory.recall import SIMILAR, RecallRequest, RecallResult
from zeroclaw_tui.memory.statistics import Counts
from zeroclaw_tui.memory.text import counted, cut, one_line
from zeroclaw_tui.tui.format import NO_HIGHLIGHTS, Highlights, score_text

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.config.memory_config import MemoryConfig

Part = Literal["category", "session", "agent", "namespace", "age", "superseded"]
NO_MOMENT = datetime(1970, 1, 1, tzinfo=UTC)
"""The moment that ages count to before a store has answered."""
VALUE_PARTS: tuple[Part, ...] = ("category", "session", "agent", "namespace")
_LONGEST_CHIP = 24
EmptyWords = tuple[str, str, tuple[tuple[str, str], ...]]
Scope = tuple[MemoryFilter, str | None, MemoryFilter]


@dataclass(frozen=True, slots=True)
class Pace:
    """The timing of the inspector.

    `debounce` and `poll` are seconds: of rest before a search starts, and between two looks for changes (None: never).
    `patience` is how many seconds a change may take before its progress is shown. After `overdue` seconds the next key
    is taken although the one before seems not to have come to its end, or what it opened has no rows yet. `stopwatch`
    gives the seconds that search times are read from.
    """

    debounce: float = 0.12
    poll: float | None = 1.0
    patience: float = 0.3
    overdue: float = 0.5
    stopwatch: Callable[[], float] = time.perf_counter


class Mode(StrEnum):
    """The ways to search: as the agent recalls, and the three a person finds by."""

    RECALL = "recall"
    CONTAINS = "contains"
    REGEX = "regex"
    SIMILAR = "similar"


FINDS = (Mode.CONTAINS, Mode.REGEX)
"""The modes that narrow the list to what they find."""


@dataclass(frozen=True, slots=True)
class Age:
    """Memories created more than `over` and less than `under` days ago; `chip` is how a chip calls it."""

    chip: str
    over: int | None = None
    under: int | None = None


AGES: Mapping[str, Age] = {
    "today": Age("today", under=1),
    "this week": Age("this week", over=1, under=7),
    "this month": Age("this month", over=7, under=30),
    "older": Age("older than 30 d", over=30),
}


ORDERS: tuple[tuple[Sort, str, str], ...] = (
    (Sort(SortField.AGE, True), "newest first", "oldest first"),
    (Sort(SortField.STORED, True), "last stored first", "first stored first"),
    (Sort(SortField.UPDATED, True), "last changed first", "longest unchanged first"),
    (Sort(SortField.KEY, False), "by key", "by key, backwards"),
    (Sort(SortField.CATEGORY, False), "by category", "by category, backwards"),
    (Sort(SortField.CONTENT, False), "by content", "by content, backwards"),
    (Sort(SortField.SIZE, True), "biggest first", "smallest first"),
)
"""Each column in the order a person wants first, in words, and the words of the same turned round."""


@dataclass(frozen=True, slots=True)
class Chip:
    """One value that narrows the list, and the words on its chip."""

    part: Part
    value: str
    words: str


@dataclass(frozen=True, slots=True)
class View:
    """The filter, its age by name, the order, and the search with its mode."""

    filter: MemoryFilter = field(default_factory=MemoryFilter)
    age: str | None = None
    sort: Sort = NEWEST_STORED
    mode: Mode = Mode.RECALL
    query: str = ""
    similar_to: MemoryEntry | None = None
    """In the mode "similar", the memory that others are compared with; None compares them with the query."""

    @property
    def scope(self) -> Scope:
        """What the counts and the rows depend on, besides the moment."""
        return self.filter, self.age, self.text_filter

    @property
    def is_recall(self) -> bool:
        """True when the list shows a ranking: what the agent recalls, or what is similar."""
        return self.is_similar or (self.mode is Mode.RECALL and bool(self.query.strip()))

    @property
    def title(self) -> str:
        """What the list shows, in a word or two."""
        if self.is_similar:
            return "Similar memories"
        return "Recall" if self.is_recall else "Memories"

    @property
    def is_similar(self) -> bool:
        """True when the list shows memories similar to the query."""
        return self.mode is Mode.SIMILAR and bool(self.query.strip())

    @property
    def text_filter(self) -> MemoryFilter:
        """The text searched in keys and contents, and highlighted there."""
        if self.mode is Mode.CONTAINS:
            return MemoryFilter(contains=self.query or None)
        return MemoryFilter(regex=self.query or None) if self.mode is Mode.REGEX else MemoryFilter()

    def has(self, part: Part, value: str) -> bool:
        """Whether this value narrows the list."""
        if part == "age":
            return self.age == value
        if part == "superseded":
            return self.filter.superseded is not Superseded.HIDE
        return value in (getattr(self.filter, part) or ())

    def toggled(self, part: Part, value: str) -> View:
        """With one value switched on or off; superseded rows go from hidden to shown to alone."""
        if part == "age":
            return replace(self, age=None if self.age == value else value)
        if part == "superseded":
            turns = (Superseded.HIDE, Superseded.SHOW, Superseded.ONLY, Superseded.HIDE)
            return replace(self, filter=self.filter.but(superseded=turns[turns.index(self.filter.superseded) + 1]))
        values: tuple[str, ...] = getattr(self.filter, part) or ()
        values = tuple(one for one in values if one != value) if value in values else (*values, value)
        return replace(self, filter=self.filter.but(**{part: values or None}))

    def without(self, chip: Chip) -> View:
        """With one chip removed."""
        if chip.part == "superseded":
            return replace(self, filter=self.filter.but(superseded=Superseded.HIDE))
        return self.toggled(chip.part, chip.value)

    def cleared(self) -> View:
        """With no filter at all; search and order stay."""
        return replace(self, filter=MemoryFilter(), age=None)

    def shell_options(self, now: datetime) -> str:
        """The filter as the commands of the shell take it, quoted."""
        narrowed, words = self.listing_filter(now), []
        for part in ("category", "session", "agent", "namespace"):
            words += [word for value in getattr(narrowed, part) or () for word in (f"--{part}", value)]
        for part in ("older_than", "newer_than", "contains", "regex"):
            value = getattr(narrowed, part)
            words += [] if value is None else [f"--{part.replace('_', '-')}", str(value)]
        words += ["--superseded", narrowed.superseded.value] if narrowed.superseded is not Superseded.HIDE else []
        return shlex.join(one_line(word) for word in words)

    def sorted_by(self, chosen: SortField) -> View:
        """By that field in its first order, or turned round when it is the field already."""
        if self.sort.field is chosen:
            return replace(self, sort=Sort(chosen, not self.sort.descending))
        return replace(self, sort=next(sort for sort, *_ in ORDERS if sort.field is chosen))

    def part_of(self, entry: MemoryEntry) -> tuple[Part, str]:
        """What the memories most like this one share with it: its session, else its category, else its agent."""
        if entry.session_id:
            return "session", entry.session_id
        if entry.category or not entry.agent:
            return "category", entry.category
        return "agent", entry.agent

    @property
    def chips(self) -> tuple[Chip, ...]:
        """What narrows the list, in the order of the facets."""
        chips = [
            Chip(part, value, value_words(part, value))
            for part in VALUE_PARTS
            for value in getattr(self.filter, part) or ()
        ]
        if self.age is not None:
            chips.append(Chip("age", self.age, AGES[self.age].chip))
        if self.filter.superseded is Superseded.SHOW:
            chips.append(Chip("superseded", "show", "with superseded"))
        elif self.filter.superseded is Superseded.ONLY:
            chips.append(Chip("superseded", "only", "superseded only"))
        return tuple(chips)

    def listing_filter(self, now: datetime) -> MemoryFilter:
        """The filter of the list at this moment, the text to find included when that is the mode."""
        text = self.text_filter
        age = AGES[self.age] if self.age else Age("")
        over, under = _days_before(now, age.over), _days_before(now, age.under)
        return self.filter.but(older_than=over, newer_than=under, contains=text.contains, regex=text.regex)

    def finding_filter(self, now: datetime) -> MemoryFilter:
        """The filter that the mode "contains" would have for the same query."""
        return replace(self, mode=Mode.CONTAINS).listing_filter(now)

    def facet_filters(self, now: datetime) -> dict[Part, MemoryFilter]:
        """For each part that narrows: the filter without it, so that its other values keep their counts."""
        whole = self.listing_filter(now)
        without: dict[Part, MemoryFilter] = {
            part: whole.but(**{part: None}) for part in VALUE_PARTS if getattr(whole, part) is not None
        }
        if self.age is not None:
            without["age"] = replace(self, age=None).listing_filter(now)
        return without

    def request(self, now: datetime, config: MemoryConfig, limit: int | None = None) -> RecallRequest:
        """The recall: one session, the agents with those they may read, and one namespace of the filter count.

        `limit` is that of another program's recall, None for a turn of ZeroClaw's.
        """
        from zeroclaw_tui.scoring.injection import RECALL_LIMIT

        agents = self.filter.agent
        if agents is not None:
            agents = config.readable_by(agents)
        return RecallRequest(
            query=self.query,
            session_id=_only(self.filter.session),
            agents=agents,
            namespace=_only(self.filter.namespace),
            as_of=now.isoformat(),
            limit=limit or RECALL_LIMIT,
            turn_limit=limit or RECALL_LIMIT,
        )

    @property
    def ignored(self) -> tuple[Chip, ...]:
        """The chips that do not filter the current list: a recall knows an agent, one session and one namespace."""
        if not self.is_recall:
            return ()
        known = ("agent", *(part for part in ("session", "namespace") if _only(getattr(self.filter, part))))
        return tuple(chip for chip in self.chips if self.is_similar or chip.part not in known)


def order_words(sort: Sort) -> str:
    """An order as it is over the list."""
    first, words, turned = next(order for order in ORDERS if order[0].field is sort.field)
    return words if sort == first else turned


def value_words(part: Part, value: str) -> str:
    """A facet's value as one short line."""
    if part == "session" and value == NO_SESSION:
        return "no session"
    return cut(one_line(value), _LONGEST_CHIP) or "(blank)"


def _only(values: tuple[str, ...] | None) -> str | None:
    return values[0] if values is not None and len(values) == 1 and values[0] else None


def _days_before(now: datetime, days: int | None) -> str | None:
    return None if days is None else (now - timedelta(days=days)).isoformat()


@dataclass(frozen=True, slots=True, eq=False)
class Page:
    """A view, and what the store has answered to it so far, besides the rows of the list; and the sentences on both."""

    view: View = field(default_factory=View)
    now: datetime = NO_MOMENT
    """The moment that ages count to."""
    is_answered: bool = False
    """Whether the rows are those of this view, and not of the view before."""
    recall: RecallResult | None = None
    vector_words: str = ""
    """What a recall is still waiting for."""
    lights: Highlights = NO_HIGHLIGHTS
    milliseconds: float | None = None
    counts: Counts | None = None
    other_counts: Mapping[Part, Counts] = field(default_factory=dict)
    """For each part that narrows: the counts without it."""
    scope: Scope | None = None
    """What was counted."""
    found: int | None = None
    """How many memories contain the query of a recall."""
    bad_pattern: UsageError | None = None
    """Why a half typed pattern cannot be read: the rows are those of the search before."""
    error: InspectorError | None = None

    @property
    def has_agents(self) -> bool:
        """Whether the memories are of several agents."""
        return self.counts is not None and len(self.counts.by.get("agent", ())) > 1

    @property
    def facts(self) -> tuple[str, ...]:
        """What the list holds; nothing while it is being counted."""
        counts = self.counts
        if counts is None:
            return ()
        facts = [counted(counts.total)]
        if counts.superseded and self.view.filter.superseded is Superseded.HIDE:
            facts.append(f"{counts.superseded:,} superseded hidden")
        if counts.not_embedded and counts.not_embedded < counts.total:
            facts.append(f"{counts.not_embedded:,} not embedded")
        return tuple(facts)

    @property
    def search_facts(self) -> tuple[str, ...]:
        """The numbers of a search and the filters that count for it, the weightiest first."""
        view, recall = self.view, self.recall
        if self.bad_pattern is not None:
            return (self._pattern_words,)
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
        """The line under the list: how many memories are marked, and the result of a search; without one a hint."""
        marks = f"● {marked:,} marked" if marked else ""
        if self.bad_pattern is not None:
            # A narrow search line has no room for it, and the rows look like an answer.
            return marks, f"the pattern {self._pattern_words}", "the list shows the previous search"
        if marked:
            hint = f"d deletes {'it' if marked == 1 else 'them'}, * * unmarks all"
        return marks, *(self._result_words() or (hint,))

    def _result_words(self) -> tuple[str, ...]:
        """The result of a recall."""
        recall, found = self.recall, self.found
        if recall is None or not (recall.results or recall.withheld):
            return ()
        count = len(recall.results)
        if recall.mode == SIMILAR:
            return f"{count} similar", *recall.notes, self._ignored_words
        so_far = " so far" if recall.awaits_vector else ""
        # Where recall does not narrow by the filters, what passes them is no whole to count from.
        of_all = f" of {self.counts.total:,}" if self.counts is not None and not self._ignored_words else ""
        return (
            f"{count} shown{of_all}",
            (recall.not_read_because or f"{recall.injected} injected{so_far}").rstrip("."),
            self.vector_words,
            f"{len(recall.withheld)} withheld from the agent" if recall.withheld else "",
            self._ignored_words,
            f"contains finds {found:,} (/ tab)" if found is not None and found > count else "",
            *recall.notes,
        )

    def why_empty(self, memory: Memory, *, can_write: bool) -> EmptyWords:
        """Why the list is empty, what would fill it, and which key does that."""
        view, hidden = self.view, self.counts.superseded if self.counts is not None else 0
        query = f"“{one_line(view.query)[:60]}”"
        filters = (("F", "change the filters"),) if view.chips or hidden else ()
        search_keys = (("tab", "search in another way"), ("esc", "close the search"), *filters)
        if memory.about.keeps_nothing:
            keys = (("6", "choose another store"), ("r", "reload"), ("q", "quit"))
            return "This backend stores no memories.", " ".join(sentences(memory.about.notices)), keys
        if view.is_recall:
            fact = "No similar memories." if view.is_similar else f"The agent recalls nothing for {query}."
            contains = "" if self.found is None else f"contains finds {self.found:,}"
            notes = self.recall.notes if self.recall is not None else ()
            facts = [contains, self._ignored_words, *notes, self.vector_words]
            lines = [one_line(one).rstrip(".") for one in facts if one]
            return fact, "\n".join(f"{one[:1].upper()}{one[1:]}." for one in lines), search_keys
        if view.query and view.mode in FINDS:
            return f"Nothing {'contains' if view.mode is Mode.CONTAINS else 'matches'} {query}.", "", search_keys
        if view.chips:
            return "No memory matches these filters.", " · ".join(chip.words for chip in view.chips), filters
        hidden_words = f"{hidden:,} superseded hidden. " if hidden else ""
        write = (("n", "write a memory"),) if can_write else ()
        words = f"{hidden_words}ZeroClaw writes memories while you talk with it."
        return "No memories here.", words, (*write, *filters, ("r", "reload"), ("q", "quit"))

    @property
    def _ignored_words(self) -> str:
        """The filters that a ranking ignores, so that its results do not look filtered."""
        words, mode = [chip.words for chip in self.view.ignored], self.view.mode
        return f"{mode} ignores the filter{'' if len(words) == 1 else 's'} {', '.join(words)}" if words else ""

    @property
    def _pattern_words(self) -> str:
        return "" if self.bad_pattern is None else self.bad_pattern.message.removeprefix("The pattern ").rstrip(".")
