"""The content of the journal: tables, rows as JSON, actions and changes; and deleting old or erased entries.

All functions work on an open connection and block.
"""

from __future__ import annotations

import base64
import json
import os
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import chain
from pathlib import Path
from typing import Any, Literal, NamedTuple

from zeroclaw_tui.files.database import transaction
from zeroclaw_tui.memory.change import (
    AGENTS,
    EMBEDDING_CACHE,
    FILE,
    MEMORIES,
    NOTES_FILE,
    OTHER_ROW,
    Row,
    RowChange,
    Value,
)
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import is_unicode, one_line

VERSION = 5
"""The version of the tables, in the file's user_version."""
SCHEMA = (
    # `turned` is the number of the last undo, in the sequence of action numbers.
    """CREATE TABLE actions (
      number INTEGER PRIMARY KEY AUTOINCREMENT, store TEXT NOT NULL, verb TEXT NOT NULL, at TEXT NOT NULL,
      moment REAL NOT NULL, summary TEXT NOT NULL, is_done INTEGER NOT NULL DEFAULT 0, turned INTEGER)""",
    # `after_state` is the fingerprint of a new row of which only id and key are stored. `is_counted` is 0 for changes
    # that only accompany others. `reverses` is the change that an unfinished undo or redo reverses, else 0; `replaces`
    # says that the row had been changed since.
    """CREATE TABLE changes (
      number INTEGER PRIMARY KEY AUTOINCREMENT, action INTEGER NOT NULL REFERENCES actions(number),
      table_name TEXT NOT NULL, id NOT NULL, is_counted INTEGER NOT NULL, undone INTEGER NOT NULL DEFAULT 0,
      reverses INTEGER NOT NULL DEFAULT 0, replaces INTEGER NOT NULL DEFAULT 0, after_state TEXT, before TEXT,
      after TEXT)""",
    "CREATE INDEX actions_of_store ON actions(store, number)",
    "CREATE INDEX changes_of_action ON changes(action, is_counted, undone)",
    "CREATE INDEX changes_of_id ON changes(id)",
    "CREATE INDEX changes_in_trash ON changes(action) WHERE before IS NOT NULL AND after IS NULL AND undone = 0",
)
_INSERT = (
    "INSERT INTO changes"
    " (number, action, table_name, id, is_counted, undone, reverses, replaces, after_state, before, after) VALUES "
)
_MARKS = "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
_INSERTED_AT_ONCE = 500
EXTERNAL = (FILE, NOTES_FILE, OTHER_ROW)
"""The tables whose rows are files, or rows of other databases; their ids begin with a path."""

_COUNTED = (MEMORIES, FILE, OTHER_ROW)
"""The tables whose changes count; those of agents, cached vectors and notes files accompany them."""
_BYTES, _BELOW = "bytes", "below"
"""Values that JSON cannot represent are lists that begin with one of these."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))
TRASH_DAYS, TRASH_BYTES = 30, 500 * 1024 * 1024
"""The maximum age in days and size in bytes of the trash, whichever is reached first."""

Verb = Literal[
    "store", "edit", "forget", "purge", "clear", "restore", "undo", "redo", "clean", "hygiene", "snapshot", "hydrate",
    "import", "merge", "recategorise", "copy",
]  # fmt: skip
"""The kinds of actions. "clean" removes copies of a text elsewhere; "recategorise" is in the trash of versions up to
0.2.0. An action of "undo", "redo" or "restore" has the rows it replaced, and until it ends those it reverses."""
REVERSALS: tuple[Verb, ...] = ("undo", "redo", "restore")
LISTED = "(SELECT value FROM json_each(?))"
"""Selects numbers passed as a JSON list."""
OF_STORE = "action IN (SELECT number FROM actions WHERE store = ?)"

_CHANGES = """SELECT c.number, c.action, a.verb, a.at, a.store, c.before, c.after, c.undone, c.after_state
  FROM changes c JOIN actions a ON a.number = c.action"""
_ACTIONS = """SELECT a.number, a.verb, a.at, a.summary, coalesce(sum(c.is_counted), 0),
    coalesce(sum(c.is_counted AND NOT c.undone), 0), a.store
  FROM actions a LEFT JOIN changes c ON c.action = a.number"""
_BYTES_USED = (
    "SELECT (page_count - freelist_count) * page_size FROM pragma_page_count, pragma_freelist_count, pragma_page_size"
)
_LONGEST_SUMMARY = 400
_BATCH = 100
"""The number of changes read at once."""
_DAY = 24 * 60 * 60


class RowCodec:
    """Encodes rows as JSON: bytes as base64, paths below the config directory relative, so that it can be moved."""

    def __init__(self, config_dir: Path | None) -> None:
        self._home = None if config_dir is None else f"{os.path.realpath(config_dir)}{os.sep}"

    def name(self, row: Row) -> str | bytes:
        """Return the id of a row in the journal."""
        is_below = self._home is not None and row.table in EXTERNAL
        return bindable(row.id.removeprefix(self._home or "") if is_below else row.id)

    def pack(self, row: Row | None) -> str | None:
        """Return a row as JSON; None if there is none."""
        if row is None:
            return None
        home = self._home if row.table in EXTERNAL else None
        values = [[name, _pack(value, home)] for name, value in row.values.items()]
        parts = [_pack(row.id, home), _pack(row.handle, home), _pack(row.agent, home), row.table, values]
        text = _ENCODER.encode(parts)
        # JSON can escape lone surrogates, which SQLite does not accept.
        return text if is_unicode(text) else json.dumps(parts)

    def unpack(self, text: str | None) -> Row | None:
        if text is None:
            return None
        *parts, table, values = json.loads(text)
        id_of_row, handle, agent = map(self._value, parts)
        return Row(id_of_row, {name: self._value(value) for name, value in values}, handle, agent, table)

    def _value(self, packed: Any) -> Any:
        if not isinstance(packed, list):
            return packed
        kind, text = packed
        return base64.b64decode(text) if kind == _BYTES else f"{self._home or ''}{text}"


def columns_of_change(codec: RowCodec, action: int, change: RowChange, *, undone: bool = False) -> tuple[Any, ...]:
    """Return all columns but the number; rows with an `after_state` have only id and key, unless one is reversed."""
    row, before, after, state = change.row, change.before, change.after, change.after_state
    if change.reverses is not None:
        state = None
    elif state is not None and after is not None:
        after = Row(after.id, {"key": after.values.get("key")}, after.handle, after.agent)
    # The new file of a move is one half of it, so it is not counted.
    is_moved = row.table == FILE and any(one and "moved_from" in one.values for one in (before, after))
    is_counted = row.table in _COUNTED and not is_moved
    reversal = change.reverses or 0, change.replaces
    packed = codec.pack(before), codec.pack(after)
    return action, row.table, codec.name(row), is_counted, undone, *reversal, state, *packed


def insert_changes(connection: sqlite3.Connection, rows: Sequence[tuple[Any, ...]]) -> None:
    """Insert changes, each with its number or None and all other columns; one statement for many rows is faster."""
    for start in range(0, len(rows), _INSERTED_AT_ONCE):
        some = rows[start : start + _INSERTED_AT_ONCE]
        connection.execute(_INSERT + ", ".join([_MARKS] * len(some)), [*chain(*some)])


def bindable(text: str) -> str | bytes:
    """Return text as SQLite accepts it: as it is, or as bytes if it is not valid Unicode."""
    return text if is_unicode(text) else text.encode("utf-8", "surrogatepass")


def text_of(value: str | bytes) -> str:
    """Reverse `bindable`."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def _pack(value: Value, home: str | None) -> Any:
    if isinstance(value, bytes):
        return [_BYTES, base64.b64encode(value).decode("ascii")]
    is_below = home is not None and isinstance(value, str) and value.startswith(home)
    return [_BELOW, str(value)[len(home or "") :]] if is_below else value


@dataclass(frozen=True, slots=True)
class Action:
    """An action on a store, at an RFC 3339 time; `count` rows were changed, of which `open` are not undone."""

    number: int
    verb: Verb
    at: str
    summary: str
    count: int
    open: int
    store: str

    @property
    def until(self) -> str:
        """When the trash deletes it."""
        return _end_of(self.at)

    @property
    def title(self) -> str:
        """The summary on one line without a full stop, secrets masked."""
        return one_line(masked(self.summary[:_LONGEST_SUMMARY])).rstrip(".") or self.verb

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("number", "verb", "at", "summary", "count")}


class Version(NamedTuple):
    """A journaled change; for a new row `after` may have only id and key, and `after_state` is its fingerprint."""

    number: int
    action: int
    verb: Verb
    at: str
    store: str
    before: Row | None
    after: Row | None
    is_undone: bool
    after_state: str | None

    @property
    def change(self) -> RowChange:
        return RowChange(self.before, self.after, number=self.number, after_state=self.after_state)

    @property
    def row(self) -> Row:
        """The row before the change, else the row that it created."""
        return self.change.row

    @property
    def rows(self) -> list[Row]:
        """The rows before and after, if they exist."""
        return [row for row in (self.before, self.after) if row is not None]

    @property
    def states(self) -> tuple[str | None, str | None]:
        """The fingerprints before and after."""
        before, after = (None if row is None else row.fingerprint for row in (self.before, self.after))
        return before, self.after_state or after

    @property
    def until(self) -> str:
        """When the trash deletes it."""
        return _end_of(self.at)


def find_actions(connection: sqlite3.Connection, condition: str, *values: Any) -> list[Action]:
    """Return the actions that match a condition, the newest first."""
    rows = connection.execute(f"{_ACTIONS} WHERE {condition} GROUP BY a.number ORDER BY a.number DESC", values)
    return [Action(number, verb, at, text_of(summary), *others) for number, verb, at, summary, *others in rows]


def numbers(connection: sqlite3.Connection, query: str, *values: Any) -> list[int]:
    """Return the numbers that a query selects."""
    return [number for (number,) in connection.execute(query, values)]


def numbers_in_trash(connection: sqlite3.Connection, store: str | None) -> list[int]:
    """Return the numbers of deleted memories, of one store or of all, the newest deletion first."""
    query = """SELECT c.number FROM changes c JOIN actions a ON a.number = c.action
      WHERE c.before IS NOT NULL AND c.after IS NULL AND c.undone = 0 AND c.table_name = 'memories'
        AND a.store = coalesce(?, a.store) ORDER BY c.number DESC"""
    return numbers(connection, query, store)


def find_versions(
    connection: sqlite3.Connection, codec: RowCodec, wanted: Sequence[int], condition: str = "1"
) -> Iterator[Version]:
    """Yield the changes with these numbers that match a condition, in this order."""
    for start in range(0, len(wanted), _BATCH):
        part = wanted[start : start + _BATCH]
        among = versions_where(connection, codec, f"c.number IN {LISTED} AND {condition}", [json.dumps(part)])
        by_number = {version.number: version for version in among}
        yield from (by_number[number] for number in part if number in by_number)


def versions_where(
    connection: sqlite3.Connection, codec: RowCodec, condition: str = "1", values: Sequence[Any] = ()
) -> Iterator[Version]:
    """Yield the changes that match a condition, the newest first."""
    for row in connection.execute(f"{_CHANGES} WHERE {condition} ORDER BY c.number DESC", values):
        number, action, verb, at, store, before, after, undone, state = row
        yield Version(number, action, verb, at, store, codec.unpack(before), codec.unpack(after), bool(undone), state)


def delete_changes(connection: sqlite3.Connection, wanted: Sequence[int]) -> None:
    """Delete the changes with these numbers."""
    connection.execute(f"DELETE FROM changes WHERE number IN {LISTED}", (json.dumps(wanted),))


def end_action(connection: sqlite3.Connection, action: int, undone: Sequence[int] = ()) -> None:
    """Mark an action as done, and delete its changes that were not made (`undone`); an empty action is deleted.

    Changes that only accompany others are counted if there are no others.
    """
    delete_changes(connection, undone)
    for (verb,) in connection.execute("SELECT verb FROM actions WHERE number = ?", (action,)).fetchall():
        if verb in REVERSALS:
            recorded = numbers(connection, "SELECT number FROM changes WHERE action = ?", action)
            end_reversal(connection, recorded, undone=verb != "redo")
    connection.execute("UPDATE actions SET is_done = 1 WHERE number = ?", (action,))
    others = "SELECT 1 FROM changes WHERE action = ?1 AND is_counted"
    connection.execute(f"UPDATE changes SET is_counted = 1 WHERE action = ?1 AND NOT EXISTS ({others})", (action,))
    delete_empty_actions(connection)


def end_reversal(connection: sqlite3.Connection, recorded: Sequence[int], *, undone: bool) -> None:
    """Flip the state of the changes that an undo, redo or restore reversed, and store both rows as they are now.

    A row may have been restored under another key, and for a new row the journal had only the key. Changes that
    accompany a memory become part of the reversed action; replaced rows stay as separate changes.
    """
    these, listed = f"number IN {LISTED}", (json.dumps(recorded),)
    reversed_changes = f"number IN (SELECT reverses FROM changes WHERE {these})"
    (of_action,) = connection.execute(f"SELECT max(action) FROM changes WHERE {reversed_changes}", listed).fetchone()
    connection.execute(f"UPDATE changes SET undone = ? WHERE {reversed_changes}", (undone, *listed))
    reversed_rows, own_rows, done = [], [], []
    query = f"SELECT number, reverses, replaces, table_name, before, after FROM changes WHERE {these} ORDER BY number"
    for number, reverses, replaces, table, before, after in connection.execute(query, listed):
        both = (after, before) if undone else (before, after)
        if reverses and (not replaces or table == NOTES_FILE):
            reversed_rows.append((*both, reverses))
        if table in (AGENTS, EMBEDDING_CACHE, NOTES_FILE) and (replaces or not reverses):
            own_rows.append((undone, *both, of_action, number))
        elif reverses and not replaces:
            done.append(number)
    set_both = "before = ?, after = ?"
    connection.executemany(f"UPDATE changes SET {set_both}, after_state = NULL WHERE number = ?", reversed_rows)
    set_own = f"undone = ?, {set_both}, action = coalesce(?, action)"
    connection.executemany(f"UPDATE changes SET {set_own} WHERE number = ?", own_rows)
    delete_changes(connection, done)
    connection.execute(f"UPDATE changes SET reverses = 0, replaces = 0 WHERE {these}", listed)


def delete_empty_actions(connection: sqlite3.Connection) -> None:
    """Delete the finished actions without a change."""
    connection.execute("DELETE FROM actions WHERE is_done = 1 AND number NOT IN (SELECT action FROM changes)")


def forget(connection: sqlite3.Connection, codec: RowCodec, store: str, rows: Sequence[Row]) -> None:
    """Delete every change of these memories of a store, and the files that contain their texts."""
    texts = contents_of(rows)
    if ids_move(store):
        of_memories = "a.store = ? AND c.table_name = ?"
        numbers = []
        for version in versions_where(connection, codec, of_memories, [store, MEMORIES]):
            contents = contents_of(version.rows)
            if contents & texts:
                # An edit also has the previous text of the memory.
                texts |= contents
                numbers.append(version.number)
        delete_changes(connection, numbers)
    else:
        query = f"DELETE FROM changes WHERE id = ? AND table_name = ? AND {OF_STORE}"
        connection.executemany(query, [(codec.name(row), row.table, store) for row in rows])
    needles = [text if isinstance(text, bytes) else _bytes_of(str(text)) for text in texts]
    of_files = "a.store = ? AND c.table_name IN (?, ?)"
    numbers = []
    for version in versions_where(connection, codec, of_files, [store, NOTES_FILE, FILE]):
        sides = [row.values.get("bytes") for row in version.rows]
        if any(isinstance(data, bytes) and any(text in data for text in needles) for data in sides):
            numbers.append(version.number)
    delete_changes(connection, numbers)


def delete_old(connection: sqlite3.Connection, now: datetime) -> None:
    """Delete actions that are too old, then the oldest ones while the file is too large; never the newest."""
    with suppress(sqlite3.Error, OSError):
        with transaction(connection):
            *older, _ = connection.execute("SELECT number, moment FROM actions ORDER BY number").fetchall()
            has_deleted = False
            # If the clock is behind, it is or was wrong, so ages cannot be trusted.
            is_behind = any(moment > now.timestamp() + _DAY for _, moment in older)
            for number, moment in older:
                is_old = not is_behind and moment < now.timestamp() - TRASH_DAYS * _DAY
                if is_old or connection.execute(_BYTES_USED).fetchone()[0] > TRASH_BYTES:
                    connection.execute("DELETE FROM changes WHERE action = ?", (number,))
                    has_deleted = True
            delete_empty_actions(connection)
        if has_deleted:
            wipe(connection)


def ids_move(store: str) -> bool:
    """Whether ids of this store can later belong to other memories, as in Markdown, where they are line numbers."""
    return store.startswith("markdown:")


def contents_of(rows: Iterable[Row]) -> set[Any]:
    """Return the non-empty contents of rows."""
    return {row.values.get("content") for row in rows} - {None, "", b""}


def _bytes_of(text: str) -> bytes:
    """Return the bytes of a text in a file; lone surrogates are bytes that are not valid UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _end_of(at: str) -> str:
    return (datetime.fromisoformat(at) + timedelta(days=TRASH_DAYS)).isoformat()


def wipe(connection: sqlite3.Connection) -> None:
    """Return freed pages to the system and empty the write-ahead log, so that no deleted content is left."""
    # `execute` would run only one step, which frees one page.
    connection.executescript("PRAGMA incremental_vacuum")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
