"""The WHERE and ORDER BY clauses of a query; subclasses implement the SQL dialect of each engine."""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from datetime import datetime
from operator import itemgetter
from typing import Any, Self

from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.query import MemoryFilter, Query, Sort, Superseded

SORTED_CHARACTERS = 200
"""Contents are sorted by this many of their first characters."""
_MAX_ROWS = 2**62
first_value: Callable[[Any], Any] = itemgetter(0)


class Select(ABC):
    """A SELECT of the rows that match a filter. The table of memories has the alias `m`.

    `conditions` are joined by AND. Placeholders are numbered, so the parts of a statement can be built in any order;
    `values` are the bound values.
    """

    source: str
    """The table in the FROM clause."""
    stored_order: str
    """The order of rows with the same key, oldest first."""
    listed_order: str
    """The order of ZeroClaw's own `list`: the newest update first."""
    barrier = ""
    """The end of a subquery, to keep the engine from merging it into the outer query."""

    def __init__(self, filter: MemoryFilter) -> None:
        self.filter = filter
        self.conditions: list[str] = []
        self.values: list[Any] = []
        self._add_filter()

    @abstractmethod
    def column(self, name: str) -> str | None:
        """The SQL of a column by ZeroClaw's name, or of the "handle"; None if the table lacks the column."""

    @abstractmethod
    def reading(self, read: str) -> tuple[str, Callable[[Any], Any]]:
        """The select list for a kind of result ("excerpt", "entry", "version", "handle"), and the function that makes
        a result of a record, which may have further columns."""

    @abstractmethod
    def place(self, value: Any) -> str:
        """Bind a value and return its placeholder."""

    @abstractmethod
    def one_of(self, expression: str, texts: Sequence[str]) -> str:
        """The condition that an expression equals one of these values."""

    def spellings(self, categories: Sequence[str]) -> Sequence[str]:
        """The stored forms of these categories in the table."""
        return categories

    def category_of(self, stored: object) -> str:
        """The category for a stored value."""
        return as_text(stored)

    @abstractmethod
    def of_agents(self, aliases: Sequence[str]) -> str:
        """The condition that a row belongs to one of these agents, in a table with agents."""

    @abstractmethod
    def begins_with(self, prefix: str) -> str:
        """The condition that a key begins with this text."""

    @abstractmethod
    def contains(self) -> Sequence[str]:
        """The conditions for the filter's texts."""

    @abstractmethod
    def moment(self, when: datetime) -> str:
        """The SQL of a time to compare `created` with."""

    @property
    @abstractmethod
    def created(self) -> str:
        """The SQL of a row's creation time; NULL for an invalid time."""

    @abstractmethod
    def quarter(self, created: str) -> str:
        """The SQL of the number of quarter hours since 1970 (UTC) of a column with the value of `created`."""

    @property
    @abstractmethod
    def size(self) -> str:
        """The SQL of the content's length in bytes."""

    @abstractmethod
    def sort_keys(self, sort: Sort) -> Sequence[str]:
        """The SQL expressions to sort by, all in the same direction; the last one is unique."""

    @abstractmethod
    def takes_long(self, query: Query[Any]) -> bool:
        """Whether a query may have to read every row."""

    def also(self, condition: str) -> None:
        """Add a condition."""
        self.conditions.append(condition)

    def named(self, column: str, names: Sequence[Any]) -> Self:
        """Narrow the selection to rows with one of these values in a column ("handle" for the handle)."""
        narrower = copy.copy(self)
        narrower.conditions, narrower.values = list(self.conditions), list(self.values)
        narrower.also(narrower.has_name(column, names))
        return narrower

    def has_name(self, column: str, names: Sequence[Any]) -> str:
        """The condition that an identifying column has one of these values."""
        return self.one_of(self.column(column) or "NULL", names)

    @property
    def where(self) -> str:
        """The WHERE clause."""
        return f"WHERE {' AND '.join(self.conditions)}" if self.conditions else ""

    def statement(self, columns: str, rest: str = "") -> str:
        """A SELECT of these columns; `rest` follows the WHERE clause."""
        return f"SELECT {columns} FROM {self.source} {self.where} {rest}"

    def order(self, sort: Sort) -> str:
        """The ORDER BY clause."""
        direction = "DESC" if sort.descending else "ASC"
        return "ORDER BY " + ", ".join(f"{key} {direction}" for key in self.sort_keys(sort))

    def part(self, query: Query[Any]) -> str:
        """The LIMIT and OFFSET clause for one page."""
        if query.limit is None and not query.offset:
            return ""
        limit = _MAX_ROWS if query.limit is None else min(query.limit, _MAX_ROWS)
        return f"LIMIT {limit:d} OFFSET {min(query.offset, _MAX_ROWS):d}"

    def _add_filter(self) -> None:
        wanted = self.filter
        superseded = self.column("superseded_by")
        if wanted.superseded is Superseded.HIDE and superseded:
            self.also(f"{superseded} IS NULL")
        elif wanted.superseded is Superseded.ONLY:
            self.also(f"{superseded} IS NOT NULL" if superseded else "FALSE")
        columns = {"category": wanted.category, "session_id": wanted.session, "namespace": wanted.namespace}
        for name, values in columns.items():
            if values is None:
                continue
            expression = self.column(name) or "NULL"
            condition = self.one_of(expression, self.spellings(values) if name == "category" else values)
            # "" selects rows without a category or session; there is no such value for namespaces.
            is_null_wanted = name != "namespace" and "" in values
            self.also(f"({condition} OR {expression} IS NULL)" if is_null_wanted else condition)
        if wanted.agent is not None:
            self.also(self.of_agents(wanted.agent) if self.column("agent_id") else "FALSE")
        for sign, text in (("<", wanted.older_than), (">", wanted.newer_than)):
            if text is not None:
                limit = moment(text)
                # An invalid limit selects every row with a valid time.
                self.also(f"{self.created} {sign} {self.moment(limit)}" if limit else f"{self.created} IS NOT NULL")
        self.conditions += self.contains()
