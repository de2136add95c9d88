"""The statements that read memories out of a database of ZeroClaw's, and what their rows become."""

from __future__ import annotations

import json
import sqlite3
from array import array
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from zeroclaw_tui.backends.matching import Needle, TextSearch, needle_of
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.files.database import as_text, bound
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import MemoryEntry, kind_from
from zeroclaw_tui.memory.errors import UsageError
from zeroclaw_tui.memory.query import MemoryFilter, Query, Sort, SortField, Superseded
from zeroclaw_tui.memory.text import is_unicode

if TYPE_CHECKING:
    from zeroclaw_tui.memory.change import Stamp, StoredRow

OWNER = "owner"
"""What `agent_join` calls the agents table."""
_FIELDS = 17
# octet_length() knows the size without reading the value, but SQLite has it only from 3.43 on.
_SIZE = "octet_length({})" if sqlite3.sqlite_version_info >= (3, 43) else "length(CAST({} AS BLOB))"
_HOLDS = "holds_in_any_case"
_MATCHES = "matches_pattern"
_TEXTS = "CAST(m.content AS BLOB), CAST(m.key AS BLOB)"
Condition = tuple[str, tuple[Any, ...]]
ROWS_AT_ONCE = 500
"""The most rows fetched in one statement, so that the event loop never waits for Python objects to be made."""
_HANDLES_AT_ONCE = 2000
_MOST_ROWIDS = 2**63 - 1
_MOST_SKIPPED = 10_000
_BY_CONTENT = 200
NO_MOMENT = "-1.0"
"""SQL for what `moment_of` makes of a timestamp that is no moment."""


def entry_columns(schema: Schema, *, excerpt: int | None, table: str = "m") -> str:
    """The SELECT list for `entry_from`; needs `agent_join`. What the generation lacks is NULL.

    `excerpt` is how many characters of the content to read, None for all. The vector itself is never read.
    """

    def column(name: str) -> str:
        return f"{table}.{name}" if schema.has(name) else "NULL"

    content = f"{table}.content"
    columns = [
        f"{table}.rowid",
        column("id"),
        f"{table}.key",
        content if excerpt is None else f"substr({content}, 1, {excerpt:d})",
        size_of(content),
        column("category"),
        column("created_at"),
        column("updated_at"),
        column("session_id"),
        column("namespace"),
        column("importance"),
        column("superseded_by"),
        column("kind"),
        column("pinned"),
        agent_of(schema, table),
        f"length({column('embedding')}) / 4",
        column("tenant_id"),
    ]
    return ", ".join(columns)


def agent_join(schema: Schema, table: str = "m") -> str:
    """The join that `entry_columns` needs to name agents; empty where there are none."""
    return f"LEFT JOIN agents AS {OWNER} ON {OWNER}.id = {table}.agent_id" if schema.has_agents else ""


def agent_of(schema: Schema, table: str = "m") -> str:
    """The agent's alias, its id where no agent has that id, NULL in generations without agents."""
    if schema.has_agents:
        return f"coalesce({OWNER}.alias, {table}.agent_id)"
    return f"{table}.agent_id" if schema.has("agent_id") else "NULL"


def size_of(expression: str) -> str:
    """The SQL for a text's length in bytes."""
    return _SIZE.format(expression)


def entry_from(row: Sequence[Any], schema: Schema) -> MemoryEntry:
    """A memory out of a row of `entry_columns`; further columns are ignored. The handle is the rowid."""
    (rowid, memory_id, key, content, size, category, created, updated, session, namespace, importance, superseded, kind,
     pinned, agent, dimensions, tenant) = row[:_FIELDS]  # fmt: skip
    text = as_text(content)
    size = size or 0
    return MemoryEntry(
        id=as_text(memory_id),
        key=as_text(key),
        content=text,
        category=as_text(category),
        timestamp=as_text(created),
        updated_at=_text_or_none(updated),
        session_id=_text_or_none(session),
        namespace=_text_or_none(namespace),
        importance=float(importance) if isinstance(importance, int | float) else None,
        superseded_by=_text_or_none(superseded),
        kind=kind_from(kind),
        pinned=None if pinned is None or not schema.has("pinned") else bool(pinned),
        agent=_text_or_none(agent),
        embedding_dimensions=dimensions,
        tenant_id=_text_or_none(tenant),
        handle=rowid,
        size=size,
        is_excerpt=len(text.encode("utf-8", "surrogateescape")) < size,
    )


def _text_or_none(value: Any) -> str | None:
    return None if value is None else as_text(value)


def text_conditions(filter: MemoryFilter) -> list[Condition]:
    """The conditions of a filter's text parts and what to bind, over the memories table as `m`, for use in `finding`.

    Compared as bytes: LIKE would stop at a NUL and read `%` and `_` as wildcards, and text that is no UTF-8 stays
    what it is.
    """
    needle = needle_of(filter)
    found = [] if needle is None else [_condition(needle)]
    return [*found, (f"{_MATCHES}({_TEXTS})", ())] if filter.regex else found


def _condition(needle: Needle) -> Condition:
    if not needle.is_plain:
        return f"{_HOLDS}({_TEXTS})", ()
    wanted = needle.text.encode()
    looked = [f"instr(CAST(lower({column}) AS BLOB), ?) > 0" for column in ("m.content", "m.key")]
    return f"({' OR '.join(looked)})", (wanted, wanted)


@contextmanager
def finding(connection: sqlite3.Connection, filter: MemoryFilter) -> Iterator[None]:
    """Within this the connection has the functions that `conditions` of the same filter names; for a thread.

    Raises UsageError for a pattern that cannot be read or is too slow.
    """
    if not filter.looks_for_text:
        yield
        return
    search = TextSearch(filter)
    failed: list[UsageError] = []

    def matches(content: bytes | None, key: bytes | None) -> bool:
        try:
            return is_in(_text(content), _text(key))
        except UsageError as error:
            # SQLite says of a function no more than that it failed.
            failed.append(error)
            raise

    if search.needle is not None:
        holds = search.needle.is_in
        connection.create_function(_HOLDS, 2, lambda content, key: holds(_text(content)) or holds(_text(key)))
    if search.pattern is not None:
        is_in = search.pattern.is_in
        connection.create_function(_MATCHES, 2, matches)
    try:
        yield
    except sqlite3.OperationalError:
        if failed:
            raise failed[0] from None
        raise


def _text(value: bytes | None) -> str:
    return "" if value is None else value.decode("utf-8", "surrogateescape")


class Where(NamedTuple):
    """Conditions that must all hold, over the memories table as `m`, and what to bind."""

    conditions: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()

    def also(self, condition: str, values: Sequence[Any] = ()) -> Where:
        """One more condition."""
        return Where((*self.conditions, condition), (*self.values, *values))

    @property
    def sql(self) -> str:
        """The WHERE clause, empty without conditions."""
        return f"WHERE {' AND '.join(self.conditions)}" if self.conditions else ""


def where(schema: Schema, filter: MemoryFilter) -> Where:
    """A filter in SQL; a part about something the generation lacks leaves no rows.

    One that looks for text may name functions that a connection has within `finding` of the same filter.
    """
    found = Where()
    if filter.superseded is Superseded.HIDE and schema.has("superseded_by"):
        found = found.also("m.superseded_by IS NULL")
    elif filter.superseded is Superseded.ONLY:
        found = found.also("m.superseded_by IS NOT NULL" if schema.has("superseded_by") else "0")
    found = _one_of(found, "m.category" if schema.has("category") else "NULL", filter.category, null_is_blank=True)
    found = _one_of(found, "m.session_id" if schema.has("session_id") else "NULL", filter.session, null_is_blank=True)
    found = _one_of(found, "m.namespace" if schema.has("namespace") else "NULL", filter.namespace)
    found = _of_agents(found, schema, filter.agent)
    found = _in_window(found, schema, filter)
    if filter.without_keys is not None:
        # One value, since a statement takes only so many; what is no Unicode no JSON can hold.
        keys = json.dumps([key for key in filter.without_keys if is_unicode(key)])
        found = found.also("coalesce(m.key, '') NOT IN (SELECT value FROM json_each(?))", [keys])
    for condition, values in text_conditions(filter):
        found = found.also(condition, values)
    return found


def moment_of(column: str) -> str:
    """SQL for a timestamp as a Julian day in UTC (milliseconds); -1 for what is no moment.

    Only text that begins like a date is read: SQLite would take "now" and plain numbers for moments too.
    """
    return f"CASE WHEN {column} GLOB '[0-9][0-9][0-9][0-9]-*' THEN coalesce(julianday({column}), -1.0) ELSE -1.0 END"


def page_statement(schema: Schema, query: Query[Any]) -> tuple[str, tuple[Any, ...]]:
    """What selects the rowids of one page."""
    keys = _sort_keys(schema, query.filter, query.sort)
    found = where(schema, query.filter)
    limit = -1 if query.limit is None else min(query.limit, _MOST_ROWIDS)
    statement = (
        f"SELECT m.rowid FROM memories AS m {found.sql} ORDER BY {_order(keys, query.sort)} "
        f"LIMIT {limit:d} OFFSET {min(query.offset, _MOST_ROWIDS):d}"
    )
    return statement, found.values


def takes_long(query: Query[Any]) -> bool:
    """Whether a query may have to look at every row: a text is looked for, or no index has the order."""
    in_index = query.sort.field in (SortField.STORED, SortField.KEY, SortField.CATEGORY)
    return query.filter.looks_for_text or not in_index or query.limit is None or query.offset > _MOST_SKIPPED


def ordered_handles(connection: sqlite3.Connection, schema: Schema, query: Query[Any]) -> array[int]:
    """The rowids of all rows in order, eight bytes each; for a thread of its own."""
    handles = array("q")
    statement, values = page_statement(schema, query)
    with closing(connection.execute(statement, values)) as rows:
        while batch := rows.fetchmany(_HANDLES_AT_ONCE):
            handles.extend([row[0] for row in batch])
    return handles


def listing(schema: Schema, category: str | None) -> tuple[Where, str]:
    """ZeroClaw's own list: newest update first as text, superseded rows left out, cut at 1000 before anything else."""
    found = where(schema, MemoryFilter(category=None if category is None else (category,)))
    updated = _updated(schema)
    return found, f"ORDER BY {updated} DESC LIMIT 1000"


def starting_with(schema: Schema, filter: MemoryFilter, prefix: str) -> tuple[Where, str]:
    """The rows whose key begins so, compared byte for byte, and their order: newest update first as text."""
    low, values = bound([prefix])
    high, more = bound([prefix + chr(0x10FFFF)])
    found = where(schema, filter).also(f"m.key >= {low} AND m.key < {high}", (*values, *more))
    return found, f"ORDER BY {_updated(schema)} DESC"


def created(schema: Schema) -> str:
    """SQL for when a memory was created, as text."""
    return "m.created_at" if schema.has("created_at") else "''"


def _updated(schema: Schema) -> str:
    return "m.updated_at" if schema.has("updated_at") else created(schema)


def _one_of(found: Where, column: str, wanted: tuple[str, ...] | None, *, null_is_blank: bool = False) -> Where:
    if wanted is None:
        return found
    marks, values = bound(wanted)
    condition = f"{column} IN ({marks})"
    if null_is_blank and "" in wanted:
        condition = f"({condition} OR {column} IS NULL)"
    return found.also(condition, values)


def _of_agents(found: Where, schema: Schema, wanted: tuple[str, ...] | None) -> Where:
    if wanted is None:
        return found
    if not schema.has("agent_id"):
        return found.also("0")
    marks, values = bound(wanted)
    if not schema.has_agents:
        return found.also(f"m.agent_id IN ({marks})", values)
    by_alias = f"m.agent_id IN (SELECT id FROM agents WHERE alias IN ({marks}))"
    nameless = f"m.agent_id IN ({marks}) AND m.agent_id NOT IN (SELECT id FROM agents WHERE id IS NOT NULL)"
    return found.also(f"({by_alias} OR {nameless})", (*values, *values))


def _in_window(found: Where, schema: Schema, filter: MemoryFilter) -> Where:
    if filter.older_than is None and filter.newer_than is None:
        return found
    written = moment_of(created(schema))
    found = found.also(f"{written} <> {NO_MOMENT}")
    for sign, text in (("<", filter.older_than), (">", filter.newer_than)):
        limit = moment(text)
        if limit is not None:
            found = found.also(f"{written} {sign} julianday(?)", [sqlite_moment(limit)])
    return found


def sqlite_moment(when: datetime) -> str:
    """A moment as SQLite's date functions read it."""
    return when.astimezone(UTC).isoformat(timespec="microseconds")


def _sort_keys(schema: Schema, filter: MemoryFilter, sort: Sort) -> tuple[str, ...]:
    """What is compared, all of it in one direction; the last one is different for every row."""
    match sort.field:
        case SortField.STORED:
            return ("m.rowid",)
        case SortField.KEY:
            return (_never_null(schema, "key"), "m.rowid")
        case SortField.CATEGORY:
            return (_never_null(schema, "category"), "m.rowid")
        case SortField.CONTENT:
            return (f"substr({_never_null(schema, 'content')}, 1, {_BY_CONTENT})", "m.rowid")
        case SortField.SIZE:
            return (f"coalesce({size_of('m.content')}, 0)", "m.rowid")
        case SortField.AGE:
            return (*_time_keys(created(schema)), "m.rowid")
        case SortField.UPDATED:
            # ZeroClaw lists with ORDER BY updated_at DESC: among equal times SQLite gives the lower rowid first, but
            # the higher one where it reads an index on updated_at backwards. With a category it reads that index.
            by_index = schema.has_update_index and filter.category is None
            times = _time_keys(f"coalesce({_updated(schema)}, {created(schema)})")
            return (*times, "m.rowid" if by_index else "-m.rowid")


def _time_keys(column: str) -> tuple[str, str]:
    # The text decides within a millisecond: ZeroClaw writes nine digits, SQLite's dates keep three.
    return (moment_of(column), f"coalesce({column}, '')")


def _never_null(schema: Schema, column: str) -> str:
    """The column as it is where it cannot be NULL, so that its index serves the order."""
    if not schema.has(column):
        return "''"
    return f"m.{column}" if column in schema.not_null else f"coalesce(m.{column}, '')"


def _order(keys: Sequence[str], sort: Sort) -> str:
    direction = "DESC" if sort.descending else "ASC"
    return ", ".join(f"{key} {direction}" for key in keys)


def stamps(connection: sqlite3.Connection, schema: Schema, found: Where) -> list[Stamp]:
    """The stamps of the rows a condition leaves, in the order of storing; for a thread of its own."""
    columns = ("id", "key", "category", "created_at", "updated_at", "superseded_by")
    named = [f"m.{column}" if schema.has(column) else "NULL" for column in columns]
    selected = ", ".join(["m.rowid", *named, size_of("m.content"), agent_of(schema)])
    statement = f"SELECT {selected} FROM memories AS m {agent_join(schema)} {found.sql} ORDER BY m.rowid"
    return [_stamp(row) for row in connection.execute(statement, found.values)]


def state_of(row: StoredRow) -> str:
    """The state a stamp of this row has."""
    values = row.values
    return _state(values.get("updated_at"), _size(as_text(values["content"])), values.get("superseded_by"))


def stamp_of(row: StoredRow) -> Stamp:
    """The stamp of a row with every column."""
    from zeroclaw_tui.memory.change import Stamp

    value = row.values.get
    content, updated, key = value("content"), value("updated_at"), value("key")
    category, created_at, superseded = value("category"), value("created_at"), value("superseded_by")
    if not type(content) is type(updated) is type(key) is type(category) is type(created_at) is str:
        content, updated, key, category, created_at = map(as_text, (content, updated, key, category, created_at))
    size = len(content) if content.isascii() else _size(content)
    return Stamp(
        row.id, _state(updated, size, superseded), key, category, size, created_at, updated, row.agent,
        "" if row.handle is None else row.handle,
    )  # fmt: skip


def _stamp(row: tuple[Any, ...]) -> Stamp:
    from zeroclaw_tui.memory.change import Stamp

    rowid, memory_id, key, category, created, updated, superseded, size, agent = row
    return Stamp(
        id=as_text(memory_id),
        state=_state(updated, size or 0, superseded),
        key=as_text(key),
        category=as_text(category),
        size=size or 0,
        timestamp=as_text(created),
        updated_at=as_text(updated),
        agent=None if agent is None else as_text(agent),
        handle=rowid,
    )


def _size(text: str) -> int:
    """The bytes of a text as the database holds it."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def _state(updated: object, size: int, superseded: object) -> str:
    """Every store of ZeroClaw's gives a new `updated_at`; only replacing a memory by another sets just that."""
    state = f"{as_text(updated)} {size}"
    return state if superseded is None else f"{state} {as_text(superseded)}"
