"""Which memories, in what order, how many: frozen values that a backend compiles into its own language."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from zeroclaw_tui.memory.change import Row, RowVersion
    from zeroclaw_tui.memory.entry import Handle, MemoryEntry

NO_SESSION = ""
"""In a filter, the session of the rows that have none."""


class Superseded(StrEnum):
    """Whether rows that a newer one replaced are shown; ZeroClaw hides them."""

    HIDE = "hide"
    SHOW = "show"
    ONLY = "only"


class SortField(StrEnum):
    """What a listing can be ordered by."""

    STORED = "stored"
    KEY = "key"
    CATEGORY = "category"
    CONTENT = "content"
    SIZE = "size"
    AGE = "age"
    UPDATED = "updated"


class Sort(NamedTuple):
    """An order. STORED is the order of writing (rowid), AGE that of `timestamp`, UPDATED that of `updated_at`."""

    field: SortField = SortField.STORED
    descending: bool = True


NEWEST_STORED = Sort()
OLDEST_STORED = Sort(descending=False)
NEWEST_UPDATED = Sort(SortField.UPDATED)


@dataclass(frozen=True, slots=True)
class MemoryFilter:
    """All parts must hold; within one part any value does. None means the part is not set.

    `older_than` and `newer_than` are RFC 3339 moments compared with when a memory was created, as times and not as
    text.
    `contains` is looked for in key and content, in any case, with no wildcards. `regex` is a pattern of the `regex`
    library for key or content, ignoring case; one that cannot be read or takes too long raises UsageError.
    """

    category: tuple[str, ...] | None = None
    session: tuple[str, ...] | None = None
    agent: tuple[str, ...] | None = None
    namespace: tuple[str, ...] | None = None
    older_than: str | None = None
    newer_than: str | None = None
    contains: str | None = None
    regex: str | None = None
    superseded: Superseded = Superseded.HIDE

    def but(self, **parts: Any) -> MemoryFilter:
        """The same filter with other parts."""
        return replace(self, **parts)

    @property
    def looks_for_text(self) -> bool:
        """Whether every key and content has to be read for it."""
        return bool(self.contains or self.regex)

    @property
    def is_empty(self) -> bool:
        """True when nothing but superseded rows is left out."""
        return self == MemoryFilter(superseded=self.superseded)


EVERYTHING = MemoryFilter(superseded=Superseded.SHOW)
"""All memories, superseded ones too."""

T = TypeVar("T")


class Reading(NamedTuple, Generic[T]):
    """How much of each row a query reads."""

    name: Literal["excerpt", "entry", "row", "version", "handle"]


EXCERPTS: Reading[MemoryEntry] = Reading("excerpt")
"""Memories with at least the first EXCERPT characters of their content: for lists."""
ENTRIES: Reading[MemoryEntry] = Reading("entry")
"""Memories with their whole content."""
ROWS: Reading[Row] = Reading("row")
"""Rows exactly as the store has them, every column."""
VERSIONS: Reading[RowVersion] = Reading("version")
"""Row versions: what a change has to know of the row that it expects."""
HANDLES: Reading[Handle] = Reading("handle")
"""Positions only: a few bytes for each row."""


class Query(NamedTuple, Generic[T]):
    """Which rows to read, in which order, and how much of each.

    Rows named by `handles`, `ids` or `keys` come in the order of these names (several rows of one key: the oldest
    stored first), without duplicates; a name without a row is left out. With `prefix` (of the key) the row updated last
    comes first. All other queries are in the order of `sort`. The filter applies in every case.
    """

    read: Reading[T]
    filter: MemoryFilter = EVERYTHING
    sort: Sort = NEWEST_STORED
    handles: Sequence[Handle] | None = None
    ids: Sequence[str] | None = None
    keys: Sequence[str] | None = None
    prefix: str | None = None
    offset: int = 0
    limit: int | None = None


NO_DATE = "no date"
AGE_GROUPS = ("today", "this week", "this month", "older", NO_DATE)
"""Ages against a given moment: under 24 hours, 7 days, 30 days, the rest, and what has no moment that can be read."""
