"""What is being looked at: filters, order and search as one frozen value; and at which pace."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from zeroclaw_tui.backends.text_search import words_of
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import NEWEST_STORED, NO_DATE, NO_SESSION, MemoryFilter, Sort, SortField, Superseded
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.text import one_line

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Capabilities
    from zeroclaw_tui.config.memory_config import MemoryConfig

Part = Literal["category", "session", "agent", "namespace", "age", "length", "superseded", "recalled"]
VALUE_PARTS: tuple[Literal["category", "session", "agent", "namespace"], ...] = (
    "category",
    "session",
    "agent",
    "namespace",
)
_LONGEST_CHIP = 24


@dataclass(frozen=True, slots=True)
class Pace:
    """What of the inspector depends on time.

    `debounce` and `poll` are seconds: of rest before a search starts, and between two looks for changes (None: never).
    `patience` is how many seconds a change may take before its progress is shown. `stopwatch` gives the seconds that
    search times are read from.
    """

    debounce: float = 0.12
    poll: float | None = 1.0
    patience: float = 0.3
    stopwatch: Callable[[], float] = time.perf_counter


class Mode(StrEnum):
    """The ways to search: as the agent recalls, the four a person finds by, and a store's own fusion of both."""

    RECALL = "recall"
    CONTAINS = "contains"
    WORDS = "words"
    REGEX = "regex"
    SIMILAR = "similar"
    HYBRID = "hybrid"


FINDS: Mapping[Mode, str] = {
    Mode.CONTAINS: "contains",
    Mode.WORDS: "has the words",
    Mode.REGEX: "matches",
}
"""The modes that narrow the list to what they find, with the verb for it."""


@dataclass(frozen=True, slots=True)
class Age:
    """Memories created more than `over` and less than `under` days ago, or at no moment that can be read (`undated`).

    `chip` is how a chip calls it.
    """

    chip: str
    over: int | None = None
    under: int | None = None
    undated: bool = False


AGES: Mapping[str, Age] = {
    "today": Age("today", under=1),
    "this week": Age("this week", over=1, under=7),
    "this month": Age("this month", over=7, under=30),
    "older": Age("older than 30 d", over=30),
    NO_DATE: Age(NO_DATE, undated=True),
}


@dataclass(frozen=True, slots=True)
class Length:
    """Memories whose content has more than `over` or less than `under` bytes."""

    words: str
    over: int | None = None
    under: int | None = None


ANY_LENGTH = Length("any length")
LENGTHS = (
    ANY_LENGTH,
    Length("under 20 B", under=20),
    Length("under 100 B", under=100),
    Length("over 1 KB", over=1024),
    Length("over 4 KB", over=4 * 1024),
    Length("over 100 KB", over=100 * 1024),
)

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
class RecallOrder:
    """The keys that were recalled, those recalled most often first; `is_turned` puts what never was before them."""

    keys: tuple[str, ...]
    is_turned: bool = False

    @property
    def words(self) -> str:
        """The order, in words."""
        return "least recalled first" if self.is_turned else "most recalled first"


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
    recalled: RecallOrder | None = None
    """The order by how often memories were recalled, in place of `sort`."""

    @property
    def is_recall(self) -> bool:
        """True when the list shows a ranking: what the agent recalls, the store's own fusion, or what is similar."""
        return self.is_similar or (self.mode in (Mode.RECALL, Mode.HYBRID) and bool(self.query.strip()))

    @property
    def is_similar(self) -> bool:
        """True when the list shows what is near to the query."""
        return self.mode is Mode.SIMILAR and bool(self.query.strip())

    @property
    def shows_blocks(self) -> bool:
        """True when the list shows blocks of lines; a ranking is always of lines."""
        return self.filter.blocks and not self.is_recall

    @property
    def lit(self) -> str:
        """What the list is narrowed to, as it was typed; empty where the mode does not narrow it."""
        return self.query if self.mode in FINDS else ""

    @property
    def sought(self) -> MemoryFilter:
        """What is looked for in keys and contents, and lit up there; nothing else narrows this filter."""
        match self.mode:
            case Mode.CONTAINS:
                return MemoryFilter(contains=self.query or None)
            case Mode.WORDS:
                return MemoryFilter(words=words_of(self.query) or None)
            case Mode.REGEX:
                return MemoryFilter(regex=self.query or None)
            case _:
                return MemoryFilter()

    def searching(self, query: str) -> View:
        """With another query."""
        return replace(self, query=query)

    def searching_by(self, mode: Mode) -> View:
        """The same query in another mode."""
        return replace(self, mode=mode)

    def without_search(self) -> View:
        """With no search; the mode stays for the next one."""
        return replace(self, query="")

    @property
    def order_words(self) -> str:
        """The order, in words."""
        return order_words(self.sort) if self.recalled is None else self.recalled.words

    def with_never_recalled(self, keys: tuple[str, ...] | None) -> View:
        """Only memories that have none of the keys that were recalled; None: those too."""
        return replace(self, filter=self.filter.but(without_keys=keys))

    def has(self, part: Part, value: str) -> bool:
        """Whether this value narrows the list."""
        if part == "age":
            return self.age == value
        if part == "superseded":
            return self.filter.superseded is not Superseded.HIDE
        if part == "recalled":
            return self.filter.without_keys is not None
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

    @property
    def length(self) -> Length:
        """Which contents are left by their length."""
        bounds = (self.filter.longer_than, self.filter.shorter_than)
        return next((length for length in LENGTHS if (length.over, length.under) == bounds), ANY_LENGTH)

    def with_length(self, length: Length) -> View:
        """With contents of this length only."""
        return replace(self, filter=self.filter.but(longer_than=length.over, shorter_than=length.under))

    def without(self, chip: Chip) -> View:
        """With one chip removed."""
        if chip.part == "length":
            return self.with_length(ANY_LENGTH)
        if chip.part == "superseded":
            return replace(self, filter=self.filter.but(superseded=Superseded.HIDE))
        if chip.part == "recalled":
            return self.with_never_recalled(None)
        return self.toggled(chip.part, chip.value)

    def cleared(self) -> View:
        """With no filter at all; search, order and the look at blocks stay."""
        return replace(self, filter=MemoryFilter(blocks=self.filter.blocks), age=None)

    def with_blocks(self, blocks: bool) -> View:
        """With lines together as blocks, or each for itself."""
        return replace(self, filter=self.filter.but(blocks=blocks))

    def fitting(self, can: Capabilities) -> View:
        """What of it makes sense in a store that can do this; search and order stay."""
        parts = {"session": can.sessions, "agent": can.agents, "namespace": can.namespaces}
        left_out: dict[str, object] = {part: None for part, kept in parts.items() if not kept}
        if not can.superseded:
            left_out["superseded"] = Superseded.HIDE
        if not can.blocks:
            left_out["blocks"] = False
        mode = Mode.RECALL if self.mode is Mode.HYBRID and not can.own_fusion else self.mode
        return replace(self, filter=self.filter.but(**left_out), mode=mode)

    def shell_options(self, now: datetime) -> str:
        """The filter as the commands of the shell take it, quoted."""
        narrowed, words = self.listing_filter(now), []
        for part in ("category", "session", "agent", "namespace"):
            words += [word for value in getattr(narrowed, part) or () for word in (f"--{part}", value)]
        for part in ("older_than", "newer_than", "longer_than", "shorter_than", "contains", "regex"):
            value = getattr(narrowed, part)
            words += [] if value is None else [f"--{part.replace('_', '-')}", str(value)]
        words += ["--words", " ".join(narrowed.words)] if narrowed.words else []
        words += ["--undated"] if narrowed.undated else []
        words += ["--superseded", narrowed.superseded.value] if narrowed.superseded is not Superseded.HIDE else []
        return shlex.join(one_line(word) for word in words)

    def sorted_by(self, chosen: SortField) -> View:
        """By that field in its first order, or turned round when it is the field already."""
        if self.sort.field is chosen:
            return replace(self, sort=Sort(chosen, not self.sort.descending), recalled=None)
        return replace(self, sort=next(sort for sort, *_ in ORDERS if sort.field is chosen), recalled=None)

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
        if self.length is not ANY_LENGTH:
            chips.append(Chip("length", self.length.words, self.length.words))
        if self.filter.superseded is Superseded.SHOW:
            chips.append(Chip("superseded", "show", "with superseded"))
        elif self.filter.superseded is Superseded.ONLY:
            chips.append(Chip("superseded", "only", "superseded only"))
        if self.filter.without_keys is not None:
            chips.append(Chip("recalled", "never", "never recalled"))
        return tuple(chips)

    def listing_filter(self, now: datetime) -> MemoryFilter:
        """The filter of the list at this moment, the text to find included when that is the mode."""
        sought = self.sought
        return self._aged(self.filter, now).but(contains=sought.contains, words=sought.words, regex=sought.regex)

    def finding_filter(self, now: datetime, mode: Mode = Mode.CONTAINS) -> MemoryFilter:
        """The filter that a mode which finds would have for the same query."""
        return replace(self, mode=mode).listing_filter(now)

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
            own_fusion=self.mode is Mode.HYBRID,
            limit=limit or RECALL_LIMIT,
            turn_limit=limit or RECALL_LIMIT,
        )

    def unused_by_recall(self) -> tuple[Chip, ...]:
        """Chips that recall knows nothing of."""
        session, namespace = _only(self.filter.session), _only(self.filter.namespace)
        used = {"agent": True, "session": session is not None, "namespace": namespace is not None}
        return tuple(chip for chip in self.chips if not used.get(chip.part, False))

    def _aged(self, filter: MemoryFilter, now: datetime) -> MemoryFilter:
        age = AGES[self.age] if self.age else Age("")
        return filter.but(
            older_than=_days_before(now, age.over), newer_than=_days_before(now, age.under), undated=age.undated
        )


def order_words(sort: Sort) -> str:
    """An order as it stands over the list."""
    first, words, turned = next(order for order in ORDERS if order[0].field is sort.field)
    return words if sort == first else turned


def value_words(part: Part, value: str) -> str:
    """A facet's value as one short line."""
    if part == "session" and value == NO_SESSION:
        return "no session"
    words = one_line(value) or "(blank)"
    return words if len(words) <= _LONGEST_CHIP else words[: _LONGEST_CHIP - 1] + "…"


def _only(values: tuple[str, ...] | None) -> str | None:
    return values[0] if values is not None and len(values) == 1 and values[0] else None


def _days_before(now: datetime, days: int | None) -> str | None:
    return None if days is None else (now - timedelta(days=days)).isoformat()
