"""The tables of trash.db, and how a row is stored in them."""

from __future__ import annotations

import base64
import json
import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from zeroclaw_tui.memory.change import FILE, MEMORIES, NOTES_FILE, OTHER_ROW, Row, RowChange, Value
from zeroclaw_tui.memory.text import is_unicode

VERSION = 4
"""The version of the tables, in the file's user_version."""
SCHEMA = (
    # `turned` is the place of the last undo in the order of the actions' numbers.
    """CREATE TABLE actions (
      number INTEGER PRIMARY KEY AUTOINCREMENT, store TEXT NOT NULL, verb TEXT NOT NULL, at TEXT NOT NULL,
      moment REAL NOT NULL, summary TEXT NOT NULL, is_done INTEGER NOT NULL DEFAULT 0, turned INTEGER)""",
    # `turning`: an undo or redo has begun (1), and set the bit of this change (2). `after_state` is the
    # fingerprint of a new row of which only id and key are stored. `is_counted` is 0 for what only comes along.
    """CREATE TABLE changes (
      number INTEGER PRIMARY KEY AUTOINCREMENT, action INTEGER NOT NULL REFERENCES actions(number),
      table_name TEXT NOT NULL, id NOT NULL, is_counted INTEGER NOT NULL, undone INTEGER NOT NULL DEFAULT 0,
      turning INTEGER NOT NULL DEFAULT 0, size INTEGER NOT NULL, after_state TEXT, before TEXT, after TEXT)""",
    "CREATE INDEX actions_of_store ON actions(store, number)",
    "CREATE INDEX changes_of_action ON changes(action, is_counted, undone, size)",
    "CREATE INDEX changes_of_id ON changes(id)",
    "CREATE INDEX changes_in_trash ON changes(action) WHERE before IS NOT NULL AND after IS NULL AND undone = 0",
)
INSERT_CHANGE = (
    "INSERT INTO changes (number, action, table_name, id, is_counted, undone, size, after_state, before, after)"
    " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
EXTERNAL = (FILE, NOTES_FILE, OTHER_ROW)
"""The tables whose rows are files, or rows of other databases; their ids begin with a path."""

_COUNTED = (MEMORIES, FILE, OTHER_ROW)
"""The tables whose rows a person changes; agents, cached vectors and notes files come along."""
_COMES_ALONG = {"moved_from", "stays_if_changed"}
"""Values of a file that is the other half of a move, or ZeroClaw's note of when hygiene ran."""
_BYTES, _TEXT, _BELOW = "bytes", "text", "below"
"""A value that JSON cannot have is a list that begins with one of these."""
_ENCODER = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


class RowCodec:
    """Rows as JSON. Bytes are base64; paths below the config dir are relative to it, so that it can be moved."""

    def __init__(self, config_dir: Path | None) -> None:
        self._home = None if config_dir is None else f"{os.path.realpath(config_dir)}{os.sep}"

    def name(self, row: Row) -> str | bytes:
        """Return the id of a row as the journal has it."""
        is_below = self._home is not None and row.table in EXTERNAL
        return bindable(row.id.removeprefix(self._home or "") if is_below else row.id)

    def pack(self, row: Row | None) -> str | None:
        """Return a row as JSON; None if there is none."""
        if row is None:
            return None
        home = self._home if row.table in EXTERNAL else None
        values = [[_packed(name, None), _packed(value, home)] for name, value in row.values.items()]
        parts = [_packed(part, home) for part in (row.id, row.handle, row.agent, row.table)]
        return _ENCODER.encode([*parts, values])

    def unpack(self, text: str | None) -> Row | None:
        """Return the row again."""
        if text is None:
            return None
        *parts, table, values = json.loads(text)
        id_of_row, handle, agent = map(self._value, parts)
        return Row(id_of_row, {self._value(name): self._value(value) for name, value in values}, handle, agent, table)

    def _value(self, packed: Any) -> Any:
        if not isinstance(packed, list):
            return packed
        kind, text = packed
        if kind == _BELOW:
            return f"{self._home or ''}{text}"
        data = base64.b64decode(text)
        return data if kind == _BYTES else data.decode("utf-8", "surrogatepass")


def insert_changes(
    connection: sqlite3.Connection, codec: RowCodec, action: int, changes: Sequence[RowChange], *, undone: bool = False
) -> range:
    """Store changes in a transaction that is open, and return their numbers."""
    connection.executemany(INSERT_CHANGE, [(None, *columns_of_change(codec, action, one, undone)) for one in changes])
    last = connection.execute("SELECT last_insert_rowid()").fetchone()[0]
    return range(last - len(changes) + 1, last + 1)


def columns_of_change(codec: RowCodec, action: int, change: RowChange, undone: bool) -> tuple[Any, ...]:
    """Return the columns of a change, without its number. Of a row with an `after_state` only id and key are stored."""
    row, before, after = change.row, change.before, change.after
    if change.after_state is not None and after is not None:
        after = Row(after.id, {"key": after.values.get("key")}, after.handle, after.agent)
    rows = [one for one in (before, after) if one is not None]
    is_counted = row.table in _COUNTED and not any(_COMES_ALONG & one.values.keys() for one in rows)
    size = sum(one.size for one in rows)
    packed = codec.pack(before), codec.pack(after)
    return action, row.table, codec.name(row), is_counted, undone, size, change.after_state, *packed


def bindable(text: str) -> str | bytes:
    """Return text as SQLite takes it: as it is, or as bytes where it is no Unicode."""
    return text if is_unicode(text) else text.encode("utf-8", "surrogatepass")


def text_of(value: str | bytes) -> str:
    """Return the text that `bindable` was given."""
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def _packed(value: Value, home: str | None) -> Any:
    if isinstance(value, bytes):
        return [_BYTES, base64.b64encode(value).decode("ascii")]
    if not isinstance(value, str):
        return value
    if not is_unicode(value):
        return [_TEXT, base64.b64encode(value.encode("utf-8", "surrogatepass")).decode("ascii")]
    if home is not None and value.startswith(home):
        return [_BELOW, value.removeprefix(home)]
    return value
