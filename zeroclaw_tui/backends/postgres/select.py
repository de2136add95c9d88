"""The SELECT statements over a table of memories in PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from zeroclaw_tui.backends.matching import plain_text
from zeroclaw_tui.backends.postgres.table import PLAIN_CATEGORY, Table, can_hold
from zeroclaw_tui.backends.sql.select import SORTED_CHARACTERS, Select, first_value
from zeroclaw_tui.memory.entry import EXCERPT
from zeroclaw_tui.memory.query import EVERYTHING, MemoryFilter, Query, Sort, SortField
from zeroclaw_tui.memory.statistics import QUARTER_SECONDS

_FIELDS = ("session_id", "namespace", "agent_id", "key", "content")
_TYPES = {list: "text[]", int: "bigint", datetime: "timestamp with time zone"}
"""The SQL types of bound values; all others are text."""


class PostgresSelect(Select):
    """A SELECT from a table. The regular expression of a filter is not part of it: the server's syntax differs."""

    def __init__(self, table: Table, filter: MemoryFilter = EVERYTHING) -> None:
        self.table = table
        self.source = f"{table.quoted} AS m"
        self._id = "m.id" if table.is_tutorial else 'm.id COLLATE "C"'
        self.stored_order = f"m.{table.created}, m.id"
        self.listed_order = f"m.{table.updated} DESC, m.id DESC"
        super().__init__(filter)

    def column(self, name: str) -> str | None:
        match name:
            case "handle" | "id":
                return "m.id::text"
            case "category":
                return "m.category"
            case "embedding":
                return "m.embedding" if self.table.keeps_vectors else None
            case _:
                return f"m.{name}::text" if name in _FIELDS and self.table.has(name) else None

    def reading(self, read: str) -> tuple[str, Callable[[Any], Any]]:
        table = self.table
        match read:
            case "handle":
                return "m.id::text", first_value
            case "version":
                return table.version_columns, table.version_from
            case "excerpt":
                return table.entry_columns(f"left(m.content, {EXCERPT})"), table.entry_from
            case _:
                return table.entry_columns(), table.entry_from

    def place(self, value: Any) -> str:
        # Every placeholder names its type, so that neither the server nor the driver has to infer it.
        self.values.append(value)
        return f"${len(self.values)}::{_TYPES.get(type(value), 'text')}"

    def one_of(self, expression: str, texts: Sequence[Any]) -> str:
        return f"{expression} = ANY({self.place([text for text in texts if can_hold(text)])})"

    def has_name(self, column: str, names: Sequence[Any]) -> str:
        if column not in ("handle", "id"):
            return super().has_name(column, names)
        if not self.table.is_tutorial:
            return self.one_of("m.id", names)
        return f"m.id = ANY(CAST({self.place(list(filter(_is_uuid, names)))} AS uuid[]))"

    def spellings(self, categories: Sequence[str]) -> Sequence[str]:
        return [*categories, *map(self.table.category_written, categories)]

    def category_of(self, stored: object) -> str:
        return self.table.category_of(None if stored is None else str(stored))

    def of_agents(self, aliases: Sequence[str]) -> str:
        # For an unknown alias ZeroClaw generates an id, which no row has.
        ids = {alias: agent_id for agent_id, alias in self.table.agents.items()}
        return self.one_of("m.agent_id", [ids.get(alias, alias) for alias in aliases])

    def begins_with(self, prefix: str) -> str:
        return f"starts_with(m.key::text, {self.place(prefix)})" if can_hold(prefix) else "FALSE"

    def contains(self) -> Sequence[str]:
        plain = plain_text(self.filter)
        if plain is None:
            return []
        if not can_hold(plain):
            return ["FALSE"]
        place = self.place(plain)
        # With the collation C, lower() changes ASCII letters only, and takes a tenth of the time of translate().
        lowered = 'lower(m.{}::text COLLATE "C")'
        return [f"({' OR '.join(f'position({place} IN {lowered.format(name)}) > 0' for name in ('content', 'key'))})"]

    def moment(self, when: datetime) -> str:
        return self.place(when)

    @property
    def created(self) -> str:
        column = f"m.{self.table.created}"
        return f"CASE WHEN isfinite({column}) THEN {column} END"

    def quarter(self, created: str) -> str:
        return f"floor(date_part('epoch', {created}) / {QUARTER_SECONDS})::bigint"

    @property
    def size(self) -> str:
        return "coalesce(octet_length(m.content), 0)"

    def sort_keys(self, sort: Sort) -> Sequence[str]:
        # Compare text by code points.
        match sort.field:
            case SortField.KEY:
                return ('m.key COLLATE "C"', self._id)
            case SortField.CATEGORY:
                category = f"lower({PLAIN_CATEGORY})" if self.table.is_tutorial else "m.category"
                return (f'({category}) COLLATE "C"', self._id)
            case SortField.CONTENT:
                return (f'left(m.content, {SORTED_CHARACTERS}) COLLATE "C"', self._id)
            case SortField.SIZE:
                return ("octet_length(m.content)", self._id)
            case SortField.AGE:
                return (f"m.{self.table.created}", self._id)
            case SortField.STORED | SortField.UPDATED:
                return (f"m.{self.table.updated}", self._id)

    def takes_long(self, query: Query[Any]) -> bool:
        is_indexed = query.sort.field in (SortField.STORED, SortField.UPDATED)
        is_short = query.limit is not None and not query.offset and query.prefix is None
        return query.filter.searches_text or not is_indexed or not is_short


def _is_uuid(text: str) -> bool:
    """Whether a text is a UUID in any notation."""
    try:
        UUID(text)
    except ValueError:
        return False
    return True
