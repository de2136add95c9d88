"""ZeroClaw's schema in a database: which generation it has, told by its columns, what can be done with that, the
statements that make one, and those that read memories out of one."""

from __future__ import annotations

import json
import math
import os
import re
import sqlite3
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import aiosqlite

from zeroclaw_tui.backends.matching import Needle, TextSearch, needle_of
from zeroclaw_tui.files.database import ReadOnlyConnection, as_text, bound, is_wal, translate_sqlite_errors, wal_file
from zeroclaw_tui.files.disk import file_size, new_file
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import MemoryEntry, kind_from
from zeroclaw_tui.memory.errors import Unreadable, UsageError
from zeroclaw_tui.memory.query import MemoryFilter, Query, Sort, SortField, Superseded
from zeroclaw_tui.memory.text import is_unicode, one_line
from zeroclaw_tui.scoring.profiles import COLUMNS, NEWEST_VERSION, lacks

if TYPE_CHECKING:
    from zeroclaw_tui.memory.change import Stamp, StoredRow

_MOST_NAMES = 8
_NEVER_OPENED = (
    "ZeroClaw's hydration made this database out of MEMORY_SNAPSHOT.md, and no ZeroClaw version can open it: "
    "its embedding_cache lacks the column accessed_at."
)
_COLUMN_OF = {
    "superseded": "superseded_by", "agents": "agent_id", "namespaces": "namespace", "sessions": "session_id",
    "pinned": "pinned", "importance": "importance", "kind": "kind", "category": "category", "session_id": "session_id",
    "namespace": "namespace",
}  # fmt: skip
"""The column that each thing a store can do needs."""
GENERATIONS = ("G1", "G2", "G3", "G4")
HYDRATED = "hydrated"
"""The database ZeroClaw makes from MEMORY_SNAPSHOT.md, and can no longer open."""
_OLDEST = """
  id TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, content TEXT NOT NULL, category TEXT NOT NULL DEFAULT 'core',
  embedding BLOB, created_at TEXT NOT NULL, updated_at TEXT NOT NULL
"""
_G1_TABLE = f"CREATE TABLE memories ({_OLDEST}, session_id TEXT)"
_G2_TABLE = f"""CREATE TABLE memories ({_OLDEST}, session_id TEXT,
  namespace TEXT DEFAULT 'default', importance REAL DEFAULT 0.5, superseded_by TEXT)"""
_AGENTS = "CREATE TABLE agents (id TEXT PRIMARY KEY, alias TEXT NOT NULL UNIQUE, created_at TEXT NOT NULL)"
_OWNED = """CREATE TABLE memories (
  id TEXT PRIMARY KEY, key TEXT NOT NULL, content TEXT NOT NULL, category TEXT NOT NULL DEFAULT 'core',
  embedding BLOB, created_at TEXT NOT NULL, updated_at TEXT NOT NULL, session_id TEXT,
  namespace TEXT DEFAULT 'default', importance REAL DEFAULT 0.5, superseded_by TEXT,
  agent_id TEXT NOT NULL REFERENCES agents(id){further}, UNIQUE (agent_id, key))"""
_G4_COLUMNS = ", kind TEXT, pinned INTEGER NOT NULL DEFAULT 0, tenant_id TEXT"
_SCHEMA_VERSION = (
    "CREATE TABLE schema_version (component TEXT PRIMARY KEY, version INTEGER NOT NULL, applied_at TEXT NOT NULL)"
)
_META = "CREATE TABLE memory_meta (key TEXT PRIMARY KEY, value TEXT NOT NULL)"
KEYWORD_INDEX = "CREATE VIRTUAL TABLE memories_fts USING fts5(key, content, content=memories, content_rowid=rowid)"
INDEX_TABLES = frozenset(f"memories_fts_{part}" for part in ("data", "idx", "docsize", "config"))
"""The tables that SQLite makes for the keyword index."""
_FORGET = (
    "INSERT INTO memories_fts(memories_fts, rowid, key, content) VALUES ('delete', old.rowid, old.key, old.content);"
)
_LEARN = "INSERT INTO memories_fts(rowid, key, content) VALUES (new.rowid, new.key, new.content);"
TRIGGERS = {
    "memories_ai": f"CREATE TRIGGER memories_ai AFTER INSERT ON memories BEGIN {_LEARN} END",
    "memories_ad": f"CREATE TRIGGER memories_ad AFTER DELETE ON memories BEGIN {_FORGET} END",
    "memories_au": f"CREATE TRIGGER memories_au AFTER UPDATE ON memories BEGIN {_FORGET} {_LEARN} END",
}
"""What keeps the keyword index, by name."""
_CACHE = (
    "CREATE TABLE embedding_cache (content_hash TEXT PRIMARY KEY, embedding BLOB NOT NULL, created_at TEXT NOT NULL, "
    "accessed_at TEXT NOT NULL)",
    "CREATE INDEX idx_cache_accessed ON embedding_cache(accessed_at)",
)
_INDEXES = {
    "G1": ("category", "key", "session_id"),
    "G2": ("category", "key", "session_id", "namespace"),
    "G3": ("category", "key", "session_id", "namespace", "agent_id"),
    "G4": ("category", "key", "session_id", "namespace", "agent_id"),
}
_HYDRATED = (
    f"CREATE TABLE memories ({_OLDEST})",
    "CREATE INDEX idx_mem_key ON memories(key)",
    "CREATE INDEX idx_mem_cat ON memories(category)",
    "CREATE INDEX idx_mem_updated ON memories(updated_at)",
    KEYWORD_INDEX,
    "CREATE TABLE embedding_cache (content_hash TEXT PRIMARY KEY, embedding BLOB NOT NULL, created_at TEXT NOT NULL)",
)


_UPDATE_INDEX = re.compile(r"\bon memories ?\(updated_at\)")


@dataclass(frozen=True, slots=True)
class Schema:
    """What a database has. `generation` is "G1" to "G4".

    `hydrate_made` is a database ZeroClaw rebuilt from its snapshot file, which no ZeroClaw opens again.
    `read_only_because` is a sentence when the shape is not one of ZeroClaw's own; `notices` are for people,
    `facts` those that change nothing in what is shown. `has_update_index` says whether `updated_at` has an index, as in
    a database that hydration made.
    """

    generation: str
    columns: frozenset[str]
    not_null: frozenset[str]
    tables: frozenset[str]
    has_fts: bool
    has_agents: bool
    has_triggers: bool
    hydrate_made: bool
    read_only_because: str | None = None
    notices: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    has_update_index: bool = False

    def has(self, column: str) -> bool:
        """Whether the memories table has this column."""
        return column in self.columns

    @property
    def has_cached_vectors(self) -> bool:
        """Whether ZeroClaw's table of cached vectors is there, as ZeroClaw itself makes it."""
        return "embedding_cache" in self.tables and not self.hydrate_made

    @property
    def newest_version(self) -> str:
        """The newest ZeroClaw version that has this schema."""
        return NEWEST_VERSION[self.generation]


async def read_schema(connection: aiosqlite.Connection, path: Path) -> Schema:
    """Look at an open database.

    Raises Unreadable when it has no memories table, or one without keys and contents, and the other InspectorError
    kinds for what goes wrong on reading.
    """
    with translate_sqlite_errors(path):
        made = await _made(connection)
        tables = made["table"]
        if "memories" not in tables:
            raise _no_memories(path, connection, sorted(tables))
        described = await _columns(connection, "memories")
        cache = await _columns(connection, "embedding_cache")
        agents = await _columns(connection, "agents")
    columns = frozenset(described)
    _check_readable(path, columns, tables["memories"])
    hydrate_made = "embedding_cache" in tables and "accessed_at" not in cache
    generation = _generation(columns)
    has_agents = "agent_id" in columns and {"id", "alias"} <= set(agents)
    because = _NEVER_OPENED if hydrate_made else _because(generation, columns, has_agents)
    unknown = None if because else _unknown(columns - frozenset(COLUMNS[generation]))
    notice = connection.notice if isinstance(connection, ReadOnlyConnection) else None
    return Schema(
        generation=generation,
        columns=columns,
        not_null=frozenset(name for name, is_not_null in described.items() if is_not_null),
        tables=frozenset(tables),
        has_fts="fts5" in tables.get("memories_fts", ""),
        has_agents=has_agents,
        has_triggers=made["trigger"].keys() >= TRIGGERS.keys(),
        hydrate_made=hydrate_made,
        has_update_index=any(map(_UPDATE_INDEX.search, made["index"].values())),
        read_only_because=because,
        notices=tuple(sentence for sentence in (notice, because, unknown) if sentence),
        facts=(unknown,) if unknown else (),
    )


async def _made(connection: aiosqlite.Connection) -> dict[str, dict[str, str]]:
    """The statements that made the tables, indexes and triggers, by type and name, all in lower case."""
    made: dict[str, dict[str, str]] = {"table": {}, "index": {}, "trigger": {}}
    statement = "SELECT type, name, sql FROM sqlite_master WHERE type IN ('table', 'index', 'trigger')"
    for sort, name, sql in await connection.execute_fetchall(statement):
        made[sort][as_text(name).lower()] = as_text(sql).lower()
    return made


async def _columns(connection: aiosqlite.Connection, table: str) -> dict[str, bool]:
    """Names in lower case, each with whether it is NOT NULL; empty for a table that is not there."""
    rows = await connection.execute_fetchall('SELECT name, "notnull" FROM pragma_table_info(?)', (table,))
    return {as_text(name).lower(): bool(is_not_null) for name, is_not_null in rows}


def _generation(columns: frozenset[str]) -> str:
    if "pinned" in columns:
        return "G4"
    if "agent_id" in columns:
        return "G3"
    return "G2" if "namespace" in columns else "G1"


def _because(generation: str, columns: frozenset[str], has_agents: bool) -> str | None:
    """Why this is not one of ZeroClaw's own shapes; None when it is."""
    known = frozenset(COLUMNS[generation])
    lacking = [name for name in COLUMNS[generation] if name not in columns]
    parts: list[str] = []
    if lacking:
        parts.append(f"lacks {_listed(lacking)}")
    if columns - known:
        parts.append(f"has {_listed(sorted(columns - known))}, which ZeroClaw does not know")
    # Beside a column of that name the numbers of the rows have none, and a name that is no text cannot be written.
    unnamed = any(name == "rowid" or not _is_plain(name) for name in columns - known)
    if lacking or unnamed:
        return f"The memories table {' and '.join(parts)}, so it is opened for reading only."
    if "agent_id" in known and not has_agents:
        return "There is no agents table to name the owners of its memories, so it is opened for reading only."
    return None


def _unknown(columns: frozenset[str]) -> str | None:
    if not columns:
        return None
    kept = "it stays as it is" if len(columns) == 1 else "they stay as they are"
    return f"The memories table has {_listed(sorted(columns))}, which ZeroClaw does not know: {kept}."


def _is_plain(name: str) -> bool:
    return not any("\ud800" <= letter <= "\udfff" for letter in name)


def _check_readable(path: Path, columns: frozenset[str], made_by: str) -> None:
    if not {"key", "content"} <= columns:
        raise Unreadable(
            f"The memories table of {path} is not ZeroClaw's: it has {_listed(sorted(columns))}.",
            hint="ZeroClaw's has at least key and content.",
        )
    if "without rowid" in " ".join(made_by.rpartition(")")[2].split()):
        raise Unreadable(
            f"The memories table of {path} has no rowids, so it is not ZeroClaw's.",
            hint="Copy it into a plain table to look at it here.",
        )


def _no_memories(path: Path, connection: aiosqlite.Connection, tables: Sequence[str]) -> Unreadable:
    own = [name for name in tables if not name.startswith("sqlite_")]
    has = f"it has {_listed(own)}" if own else "it has no tables at all"
    notice = connection.notice if isinstance(connection, ReadOnlyConnection) else None
    if notice and file_size(wal_file(path)):
        return Unreadable(
            f"{path} has no memories table of its own: {has}. {notice}",
            hint="Copy the database with the -wal file beside it to a folder you may write to, and open it there.",
        )
    if not own and is_wal(path) and not file_size(wal_file(path)):
        log = wal_file(path).name
        return Unreadable(
            f"{path} has no memories table: {has}. Most likely {log} was left behind when the file was copied.",
            hint=f"Stop ZeroClaw, and copy {log} from where the file came from to beside it too.",
        )
    return Unreadable(
        f"{path} has no memories table: {has}.",
        hint="ZeroClaw keeps its memories in memory/brain.db of its workspace or data folder.",
    )


def _listed(names: Iterable[str]) -> str:
    shown = [one_line(name) for name in names]
    if len(shown) > _MOST_NAMES:
        return f"{', '.join(shown[:_MOST_NAMES])} and {len(shown) - _MOST_NAMES} more"
    return ", ".join(shown)


def missing_in(schema: Schema) -> dict[str, str]:
    """What a database cannot do, with a sentence for each."""
    why_not = {name: lacks(name) for name, column in _COLUMN_OF.items() if not schema.has(column)}
    if not schema.has("embedding"):
        why_not["vectors"] = "This database has no embedding column."
    if not schema.has_fts:
        why_not["keyword"] = "This database has no keyword index."
    return why_not


def statements(generation: str) -> tuple[str, ...]:
    """What makes an empty database of a generation ("G1" to "G4"), or the hydrated one (HYDRATED)."""
    if generation == HYDRATED:
        return _HYDRATED
    return (*_tables(generation), *_indexes(generation), KEYWORD_INDEX, *TRIGGERS.values(), *_CACHE)


def create_database(
    path: Path, generation: str, *, now: str = "2026-01-01T00:00:00+00:00", default_agent_id: str | None = None
) -> None:
    """Make an empty database as `new_database` does."""
    with new_database(path, generation, now=now, default_agent_id=default_agent_id):
        pass


@contextmanager
def new_database(
    path: Path, generation: str, *, now: str = "2026-01-01T00:00:00+00:00", default_agent_id: str | None = None
) -> Iterator[sqlite3.Connection]:
    """Make a database in WAL mode as ZeroClaw leaves it, 0600; `path` must not exist. What is to be in it is written
    within.

    From G3 on it holds the agent `default`, whose id is a new UUID unless one is given, and the schema's version.
    At the end all of it is in the one file and on the disk, and SQLite finds every page whole. Raises FileExistsError,
    sqlite3.Error and OSError, also where the disk did not take all of it; what is at `path` is then of no use.
    """
    from zeroclaw_tui.files.whole_database import put_on_disk

    # SQLite would make it readable by all, and its -wal and -shm like it.
    os.close(new_file(path))
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as connection:
        connection.execute("PRAGMA journal_mode = WAL").fetchall()
        connection.execute("PRAGMA foreign_keys = ON")
        connection.execute("BEGIN IMMEDIATE")
        for statement in statements(generation):
            connection.execute(statement)
        if generation in ("G3", "G4"):
            import uuid

            agent = (default_agent_id or str(uuid.uuid4()), "default", now)
            connection.execute("INSERT INTO agents (id, alias, created_at) VALUES (?, ?, ?)", agent)
            connection.execute("INSERT INTO schema_version VALUES ('memories', 1, ?)", (now,))
        yield connection
        connection.execute("COMMIT")
        size = _finish(connection)
    put_on_disk(path, size)


def _finish(connection: sqlite3.Connection) -> int:
    """Fold in the log while its failures are still told: SQLite keeps them to itself when it closes a database.

    Gives the bytes that the file must have.
    """
    ((is_busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if is_busy:
        raise sqlite3.OperationalError("another program has it open")
    ((found, *_), *_) = connection.execute("PRAGMA quick_check(1)").fetchall()
    if found != "ok":
        raise sqlite3.DatabaseError(f"its pages are not whole: {found}")
    return math.prod(connection.execute(f"PRAGMA {name}").fetchone()[0] for name in ("page_count", "page_size"))


def _tables(generation: str) -> Sequence[str]:
    match generation:
        case "G1":
            return (_G1_TABLE,)
        case "G2":
            return (_G2_TABLE,)
        case "G3":
            return (_AGENTS, _OWNED.format(further=""), _SCHEMA_VERSION)
        case "G4":
            return (_AGENTS, _OWNED.format(further=_G4_COLUMNS), _SCHEMA_VERSION, _META)
    raise ValueError(f"{generation!r} is none of {', '.join(GENERATIONS)}")


def _indexes(generation: str) -> list[str]:
    made = [
        f"CREATE INDEX idx_memories_{column.removesuffix('_id') if column == 'session_id' else column} "
        f"ON memories({column})"
        for column in _INDEXES[generation]
    ]
    if generation == "G4":
        made.append("CREATE INDEX idx_memories_namespace_category ON memories(namespace, category)")
    return made


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
def finding(connection: sqlite3.Connection, filter: MemoryFilter, seconds: float) -> Iterator[None]:
    """Within this the connection has the functions that `conditions` of the same filter names; for a thread.

    Raises UsageError for a pattern that cannot be read or is matched for longer than `seconds` in all.
    """
    if not filter.looks_for_text:
        yield
        return
    search = TextSearch(filter, seconds)
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
