"""Queries for memories: immutable values that a backend compiles to its own language."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, Literal, NamedTuple, TypeVar

if TYPE_CHECKING:
    from zeroclaw_tui.memory.change import Row, RowVersion
    from zeroclaw_tui.memory.entry import Handle, MemoryEntry

NO_SESSION = ""
"""In a filter, the session of rows without a session."""


class Superseded(StrEnum):
    """Whether superseded rows are shown; ZeroClaw hides them."""

    HIDE = "hide"
    SHOW = "show"
    ONLY = "only"


class SortField(StrEnum):
    """The fields for sorting a list."""

    STORED = "stored"
    KEY = "key"
    CATEGORY = "category"
    CONTENT = "content"
    SIZE = "size"
    AGE = "age"
    UPDATED = "updated"


class Sort(NamedTuple):
    """A sort order. STORED is the order of writing (rowid), AGE that of `timestamp`, UPDATED that of `updated_at`."""

    field: SortField = SortField.STORED
    descending: bool = True


NEWEST_STORED = Sort()
OLDEST_STORED = Sort(descending=False)
NEWEST_UPDATED = Sort(SortField.UPDATED)


class MemoryFilter(NamedTuple):
    """A filter: a memory matches if it matches every part that is not None, by any of the part's values.

    `older_than` and `newer_than` are RFC 3339 times that are compared with the creation time, as times and not as
    text.
    `contains` is searched in key and content, ignoring case, without wildcards. `regex` is a pattern of the `regex`
    library for key or content, ignoring case; one that is invalid or takes too long raises UsageError.
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

    def replace(self, **parts: Any) -> MemoryFilter:
        """Return a copy with some parts replaced."""
        return self._replace(**parts)

    @property
    def searches_text(self) -> bool:
        """Whether it has to read every key and content."""
        return bool(self.contains or self.regex)

    @property
    def is_empty(self) -> bool:
        """Whether it excludes at most superseded rows."""
        return self == MemoryFilter(superseded=self.superseded)


EVERYTHING = MemoryFilter(superseded=Superseded.SHOW)
"""Selects all memories, including superseded ones."""

T = TypeVar("T")


class ResultKind(NamedTuple, Generic[T]):
    """The kind of result that a query returns for each row."""

    name: Literal["excerpt", "entry", "row", "version", "handle"]


EXCERPTS: ResultKind[MemoryEntry] = ResultKind("excerpt")
"""Memories with at least the first EXCERPT characters of their content, for lists."""
ENTRIES: ResultKind[MemoryEntry] = ResultKind("entry")
"""Memories with their full content."""
ROWS: ResultKind[Row] = ResultKind("row")
"""Rows exactly as stored, with every column."""
VERSIONS: ResultKind[RowVersion] = ResultKind("version")
"""Row versions, which a change needs to identify the expected row."""
HANDLES: ResultKind[Handle] = ResultKind("handle")
"""Handles only: a few bytes for each row."""


class Query(NamedTuple, Generic[T]):
    """A query: which rows to read, in which order, and which kind of result for each.

    Rows selected by `handles`, `ids` or `keys` are in the order of these names (several rows with one key: oldest
    first), without duplicates; names without a row are left out. With `prefix` (of the key) the last updated row comes
    first. All other queries are in the order of `sort`. The filter always applies.
    """

    read: ResultKind[T]
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
"""Age groups at a given time: under 24 hours, 7 days, 30 days, the rest, and memories without a valid time."""
