"""Reading full rows with all columns, connections for writing, and explanations of SQLite's write errors."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, TypeVar

from zeroclaw_tui.backends.sqlite.schema import TRIGGERS, aliases_of
from zeroclaw_tui.files.database import bind, columns_of, connect_to_write, explain_sqlite_error, is_disk_full, quoted
from zeroclaw_tui.files.disk import MAKE_ROOM
from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.errors import Corrupt, DiskFull, InspectorError, Refused, Unreadable
from zeroclaw_tui.scoring.profiles import ALL_COLUMNS

T = TypeVar("T")

AMONG = "rowid IN (SELECT value FROM json_each(?))"
"""The condition that a rowid is in a JSON list."""
_AT_ONCE = 400
_INDEX = "memories_fts"


class RawTable:
    """The table of memories on an open connection, whose text factory must be `as_text`.

    `columns` are the names in order, ZeroClaw's own in lower case, without generated columns. `aliases` are the agents'
    aliases by id.
    """

    def __init__(self, connection: sqlite3.Connection, aliases: Mapping[str, str] | None = None) -> None:
        self._connection = connection
        self._aliases = aliases_of(connection) if aliases is None else aliases
        names = columns_of(connection, "memories")
        self.columns = tuple(name.lower() if name.lower() in ALL_COLUMNS else name for name in names)
        self._selected = ", ".join(map(quoted, self.columns))

    def where(self, condition: str, values: Sequence[Any] = ()) -> Iterator[Row]:
        """Read the rows that satisfy a condition; texts in `values` must be bindable."""
        statement = f"SELECT rowid, {self._selected} FROM memories WHERE {condition}"
        with closing(self._connection.execute(statement, values)) as found:
            columns, stored_row = self.columns, self._row
            for row in found:
                stored = stored_row(row[0], dict(zip(columns, row[1:], strict=True)))
                # A row can be many megabytes: release it before the next one is read.
                del row
                yield stored
                del stored

    def having(self, column: str, texts: Sequence[str]) -> Iterator[Row]:
        """Read the rows with one of these texts in a column."""
        for some in in_parts(texts, _AT_ONCE):
            marks, ready = bind(some)
            yield from self.where(f"{quoted(column)} IN ({marks})", ready)

    def with_rowids(self, rowids: Sequence[Any]) -> dict[Any, Row]:
        """Read the existing rows with these rowids, by rowid."""
        return {row.handle: row for row in self.where(AMONG, [json.dumps(rowids)])}

    def with_new_rowids(self, rowids: Sequence[Any]) -> dict[Any, Row]:
        """Like `with_rowids`, but faster if all text is valid UTF-8, as in nearly all new rows."""
        self._connection.text_factory = str
        try:
            return self.with_rowids(rowids)
        except sqlite3.OperationalError:
            self._connection.text_factory = as_text
            return self.with_rowids(rowids)
        finally:
            self._connection.text_factory = as_text

    def _row(self, rowid: int, values: dict[str, Value]) -> Row:
        owner = values.get("agent_id")
        agent = None if owner is None else self._aliases.get(as_text(owner), as_text(owner))
        return Row(as_text(values.get("id")), values, rowid, agent)


def in_parts(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """Split values into parts of at most `size`."""
    for start in range(0, len(values), size):
        yield values[start : start + size]


def fold_in(path: Path) -> bool:
    """Checkpoint the write-ahead log and truncate it; False if another connection prevents that or writing fails.

    True for a database without a log. Does not wait for locks. Blocks.
    """
    try:
        with closing(connect_to_write(path)) as connection:
            connection.execute("PRAGMA busy_timeout = 0").fetchall()
            ((is_busy, *_),) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    except (sqlite3.Error, InspectorError):
        return False
    return not is_busy


def check_index(connection: sqlite3.Connection) -> None:
    """Raise Refused if the keyword index or one of its triggers is missing; `repair` creates them."""
    missing = missing_of_index(connection)
    if missing:
        raise Refused(
            f"The keyword index cannot be updated: triggers missing ({', '.join(missing)}).",
            hint="Run `zeroclaw memory doctor --repair all`.",
            title="Repair first",
        )


def missing_of_index(connection: sqlite3.Connection) -> list[str]:
    """List the missing parts of the keyword index: its table, its triggers."""
    made = connection.execute("SELECT lower(name) FROM sqlite_master WHERE type IN ('table', 'trigger')")
    found = {name for (name,) in made}
    return [name for name in (_INDEX, *TRIGGERS) if name not in found]


def explain_failed_write(path: Path, error: sqlite3.Error | OverflowError) -> InspectorError:
    """Return the error for one of SQLite's result codes (https://sqlite.org/rescode.html)."""
    name = getattr(error, "sqlite_errorname", None)
    if (isinstance(error, (OverflowError, sqlite3.DataError)) and name is None) or name == "SQLITE_TOOBIG":
        return Refused("A memory is too long for SQLite.", hint="Store it in parts.")
    if name is None or isinstance(error, OverflowError):
        raise error
    if name == "SQLITE_CORRUPT_VTAB":
        return Corrupt(
            "The keyword index does not match the memories, so SQLite changes none of them.",
            hint="Run `zeroclaw memory doctor --repair all` to rebuild the index.",
        )
    if name.startswith("SQLITE_CONSTRAINT"):
        return Refused(f"The database refuses this change: {error}.", hint="A rule of its tables forbids it.")
    if is_disk_full(path.absolute().parent, error):
        return DiskFull(f"{path} cannot be written because the disk is full.", hint=MAKE_ROOM)
    if name.startswith(("SQLITE_READONLY", "SQLITE_CANTOPEN", "SQLITE_PERM", "SQLITE_AUTH")):
        return Refused(
            f"You have no permission to write to {path}.",
            hint="Check the permissions of the file, its directory, and the -wal and -shm files next to it.",
            title="Read-only",
        )
    if name.startswith("SQLITE_IOERR") and name != "SQLITE_IOERR_SHORT_READ":
        return Unreadable(
            f"{path} cannot be written because of a disk error.", hint="Check the disk or the network mount."
        )
    return explain_sqlite_error(path, name, error)
