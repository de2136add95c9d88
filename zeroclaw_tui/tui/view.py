"""What is being looked at: filters, order and search as one frozen value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING, Literal

from zeroclaw_tui.backends.text_search import words_of
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import NEWEST_STORED, NO_DATE, NO_SESSION, MemoryFilter, Sort, SortField, Superseded
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.injection import RECALL_LIMIT

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Capabilities
    from zeroclaw_tui.config.memory_config import MemoryConfig

Part = Literal["category", "session", "agent", "namespace", "age", "length", "superseded"]
VALUE_PARTS: tuple[Literal["category", "session", "agent", "namespace"], ...] = (
    "category",
    "session",
    "agent",
    "namespace",
)
_LONGEST_CHIP = 24


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

ORDERS: tuple[tuple[Sort, str], ...] = (
    (Sort(SortField.STORED, True), "newest first"),
    (Sort(SortField.STORED, False), "oldest first"),
    (Sort(SortField.UPDATED, True), "last changed first"),
    (Sort(SortField.UPDATED, False), "longest unchanged first"),
    (Sort(SortField.KEY, False), "by key"),
    (Sort(SortField.KEY, True), "by key, backwards"),
    (Sort(SortField.CATEGORY, False), "by category"),
    (Sort(SortField.CATEGORY, True), "by category, backwards"),
    (Sort(SortField.CONTENT, False), "by content"),
    (Sort(SortField.CONTENT, True), "by content, backwards"),
    (Sort(SortField.SIZE, True), "biggest first"),
    (Sort(SortField.SIZE, False), "smallest first"),
    (Sort(SortField.AGE, True), "youngest first"),
    (Sort(SortField.AGE, False), "eldest first"),
)
"""Every order with its words; of each field the one a person wants first comes first."""


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
    """In the mode SIMILAR: the memory that others shall be near to; None: near to the query."""

    @property
    def is_recall(self) -> bool:
        """True when the list shows a ranking: what the agent recalls, the store's own fusion, or what is similar."""
        return self.is_similar or (self.mode in (Mode.RECALL, Mode.HYBRID) and bool(self.query.strip()))

    @property
    def is_similar(self) -> bool:
        """True when the list shows what is near to a memory or to the query."""
        return self.mode is Mode.SIMILAR and (self.similar_to is not None or bool(self.query.strip()))

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
        """With another query; near to it, and no longer to a memory."""
        return replace(self, query=query, similar_to=None)

    def searching_by(self, mode: Mode) -> View:
        """The same query in another mode."""
        return replace(self, mode=mode, similar_to=None)

    def without_search(self) -> View:
        """With no search; the mode stays for the next one, unless it was for one memory."""
        mode = Mode.RECALL if self.similar_to is not None else self.mode
        return replace(self, query="", mode=mode, similar_to=None)

    @property
    def order_words(self) -> str:
        """The order, in words."""
        return next(words for sort, words in ORDERS if sort == self.sort)

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
        # What others were near to is a memory of the store before.
        is_elsewhere = self.similar_to is not None or (self.mode is Mode.HYBRID and not can.own_fusion)
        mode = Mode.RECALL if is_elsewhere else self.mode
        return replace(self, filter=self.filter.but(**left_out), mode=mode, similar_to=None)

    def sorted_by(self, chosen: SortField) -> View:
        """By that field in its first order, or turned round when it is the field already."""
        if self.sort.field is chosen:
            return replace(self, sort=Sort(chosen, not self.sort.descending))
        return replace(self, sort=next(sort for sort, _ in ORDERS if sort.field is chosen))

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
