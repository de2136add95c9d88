"""The SELECT statements for ZeroClaw's databases, and the conversion of their records."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.matching import TextSearch, has_patterns, plain_text
from zeroclaw_tui.backends.sql.select import SORTED_CHARACTERS, Select, first_value
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.files.database import bind
from zeroclaw_tui.memory.entry import EXCERPT, MemoryEntry, as_text, entry_from_record
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.query import EVERYTHING, MemoryFilter, Query, Sort, SortField

if TYPE_CHECKING:
    from zeroclaw_tui.memory.change import Row

_ENTRY = (
    "handle", "id", "key", "content", "size", "category", "created_at", "updated_at", "session_id", "namespace",
    "importance", "superseded_by", "kind", "pinned", "agent", "embedding_dimensions", "tenant_id",
)  # fmt: skip
"""The select list for a memory; its handle is the rowid."""
_values_of_state = itemgetter(*map(_ENTRY.index, ("updated_at", "size", "superseded_by")))
"""Picks the arguments of `_state` from a record."""
# octet_length() does not read the value, but exists only from SQLite 3.43 on.
_SIZE = "octet_length({})" if sqlite3.sqlite_version_info >= (3, 43) else "length(CAST({} AS BLOB))"
_MATCHES = "matches_pattern"
_TEXTS = "CAST(m.content AS BLOB), CAST(m.key AS BLOB)"
_INDEXED = (SortField.STORED, SortField.KEY, SortField.CATEGORY)
"""The sort fields with an index, or in the order of the table itself."""
_MAX_FAST_OFFSET = 10_000
_QUARTERS_A_DAY = 96
_FIRST_QUARTER = 234_296_400
"""1970-01-01 00:00 UTC as quarter hours of Julian days (2440587.5 days)."""
_HALF_A_MILLISECOND = 5e-7
"""In quarter hours: SQLite's dates are whole milliseconds, but as Julian days they may be slightly below one."""


class SqliteSelect(Select):
    """A SELECT from the memories of a database.

    If the filter has texts, its statements need the functions that `find_functions` adds to a connection.
    """

    source = "memories AS m"
    stored_order = "m.rowid"
    listed_order = "m.updated_at DESC"
    barrier = "LIMIT -1 OFFSET 0"

    def __init__(self, schema: Schema, filter: MemoryFilter = EVERYTHING) -> None:
        self.schema = schema
        super().__init__(filter)

    def column(self, name: str) -> str | None:
        if name == "handle":
            return "m.rowid"
        return f"m.{name}" if name in self.schema.columns else None

    def reading(self, read: str) -> tuple[str, Callable[[Any], Any]]:
        match read:
            case "handle":
                return "m.rowid", first_value
            case "version":
                return self._list("NULL"), _version_from
            case "excerpt":
                # Bytes, because substr() of a text ends at a NUL. A character has at most four bytes.
                content = f"substr(CAST(m.content AS BLOB), 1, {4 * EXCERPT + 1})"
                return self._list(content), lambda record: entry_from_record(_ENTRY, record).excerpt()
            case _:
                return self._list("m.content"), partial(entry_from_record, _ENTRY)

    def _list(self, content: str) -> str:
        """The select list for a memory, with NULL for missing columns; the vector itself is never read."""
        special = {
            "content": content,
            "size": _SIZE.format("m.content"),
            "embedding_dimensions": "length(m.embedding) / 4",
        }
        special["agent"] = self.column("agent_id") or "NULL"
        if self.schema.has_agents:
            special["agent"] = "coalesce((SELECT alias FROM agents WHERE agents.id = m.agent_id), m.agent_id)"
        return ", ".join(special.get(name) or self.column(name) or "NULL" for name in _ENTRY)

    def place(self, value: Any) -> str:
        mark, ready = bind([value])
        self.values += ready
        return mark.replace("?", f"?{len(self.values)}")

    def one_of(self, expression: str, texts: Sequence[Any]) -> str:
        return f"{expression} IN ({', '.join(map(self.place, texts))})"

    def has_name(self, column: str, names: Sequence[Any]) -> str:
        known = [name for name in names if isinstance(name, int)] if column == "handle" else names
        return super().has_name(column, known)

    def of_agents(self, aliases: Sequence[str]) -> str:
        places = ", ".join(map(self.place, aliases))
        if not self.schema.has_agents:
            return f"m.agent_id IN ({places})"
        by_alias = f"m.agent_id IN (SELECT id FROM agents WHERE alias IN ({places}))"
        without_alias = f"m.agent_id IN ({places}) AND m.agent_id NOT IN (SELECT id FROM agents WHERE id IS NOT NULL)"
        return f"({by_alias} OR {without_alias})"

    def begins_with(self, prefix: str) -> str:
        return f"m.key >= {self.place(prefix)} AND m.key < {self.place(prefix + chr(0x10FFFF))}"

    def contains(self) -> Sequence[str]:
        # Compared as bytes: LIKE would stop at a NUL and read % and _ as wildcards.
        found, plain = [], plain_text(self.filter)
        if plain is not None:
            place = self.place(plain.encode())
            found.append(
                " OR ".join(f"instr(CAST(lower(m.{name}) AS BLOB), {place}) > 0" for name in ("content", "key"))
            )
        if has_patterns(self.filter):
            found.append(f"{_MATCHES}({_TEXTS})")
        return [f"({condition})" for condition in found]

    def moment(self, when: datetime) -> str:
        return f"julianday({self.place(when.astimezone(UTC).isoformat(timespec='microseconds'))})"

    @property
    def created(self) -> str:
        return moment_of("m.created_at")

    def quarter(self, created: str) -> str:
        return f"CAST({created} * {_QUARTERS_A_DAY} + {_HALF_A_MILLISECOND} AS INTEGER) - {_FIRST_QUARTER}"

    @property
    def size(self) -> str:
        return f"coalesce({_SIZE.format('m.content')}, 0)"

    def sort_keys(self, sort: Sort) -> Sequence[str]:
        match sort.field:
            case SortField.STORED:
                return ("m.rowid",)
            case SortField.KEY | SortField.CATEGORY:
                return (f"m.{sort.field}", "m.rowid")
            case SortField.CONTENT:
                return (f"substr(m.content, 1, {SORTED_CHARACTERS})", "m.rowid")
            case SortField.SIZE:
                return (self.size, "m.rowid")
            case SortField.AGE:
                return (*_time_keys("m.created_at"), "m.rowid")
            case SortField.UPDATED:
                # ZeroClaw lists with ORDER BY updated_at DESC: for equal times SQLite returns the lower rowid first.
                return (*_time_keys("coalesce(m.updated_at, m.created_at)"), "-m.rowid")

    def takes_long(self, query: Query[Any]) -> bool:
        is_short = query.limit is not None and query.offset <= _MAX_FAST_OFFSET and query.sort.field in _INDEXED
        return query.filter.searches_text or not is_short


def moment_of(column: str) -> str:
    """The SQL of a timestamp as a Julian day in UTC (milliseconds); NULL for an invalid time.

    Only text that begins like a date is parsed: SQLite would accept "now" and plain numbers as times too.
    """
    return f"CASE WHEN {column} GLOB '[0-9][0-9][0-9][0-9]-*' THEN julianday({column}) END"


def _time_keys(column: str) -> tuple[str, str]:
    # The text decides within a millisecond: ZeroClaw writes nine digits, SQLite's dates have three.
    return (moment_of(column), f"coalesce({column}, '')")


def _version_from(record: Sequence[Any]) -> MemoryEntry:
    return entry_from_record(_ENTRY, record, state=_state(*_values_of_state(record)))


def state_of(row: Row) -> str:
    """Compute the `state` for the version of a row."""
    entry = row.entry()
    return _state(entry.updated_at, entry.size, entry.superseded_by)


def _state(updated: object, size: int | None, superseded: object) -> str:
    """Make the state: every write of ZeroClaw changes `updated_at`, except superseding, which only sets its column."""
    state = f"{as_text(updated)} {size or 0}"
    return state if superseded is None else f"{state} {as_text(superseded)}"


@contextmanager
def find_functions(connection: sqlite3.Connection, filter: MemoryFilter) -> Iterator[None]:
    """Add the functions that a SELECT with this filter calls to a connection. Blocks.

    Raises UsageError for a pattern that is invalid or too slow.
    """
    if not has_patterns(filter):
        yield
        return
    search = TextSearch(filter)
    failed: list[UsageError] = []

    def matches(content: bytes | None, key: bytes | None) -> bool:
        try:
            return search.matches_patterns(_decoded(content), _decoded(key))
        except UsageError as error:
            # SQLite only reports that a function failed.
            failed.append(error)
            raise

    connection.create_function(_MATCHES, 2, matches)
    try:
        yield
    except sqlite3.OperationalError:
        if failed:
            raise failed[0] from None
        raise


def _decoded(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "surrogateescape")
