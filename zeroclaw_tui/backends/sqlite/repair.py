"""Check every page of a SQLite database, repair it, or create a new one."""

from __future__ import annotations

import os
import re
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.health import MAX_FAULTS, Pages
from zeroclaw_tui.backends.sqlite.health import DAMAGE
from zeroclaw_tui.backends.sqlite.schema import INDEX_TABLES, KEYWORD_INDEX, TRIGGERS, Schema, new_database, schema_sql
from zeroclaw_tui.backends.sqlite.table import fold_in, missing_of_index
from zeroclaw_tui.backends.sqlite.write import SqliteWriter
from zeroclaw_tui.backends.tables import DEFAULT_AGENT, utc_now
from zeroclaw_tui.files.database import (
    back_up,
    bind,
    check_room,
    connect_read_only_blocking,
    creation_error,
    exclusive_connection,
    quoted,
    require_unused,
    translate_sqlite_errors,
    wal_file,
)
from zeroclaw_tui.files.disk import file_size, make_folder, put_in_place, work_folder
from zeroclaw_tui.memory.change import AGENTS, Row
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.errors import Corrupt, Locked, Refused
from zeroclaw_tui.scoring.profiles import COLUMNS

if TYPE_CHECKING:
    from zeroclaw_tui.backends.cancellation import CancellableTask


_INDEX = "SELECT sql FROM sqlite_master WHERE lower(name) = 'memories_fts' AND sql LIKE '%fts5%'"
_REBUILD = "INSERT INTO memories_fts(memories_fts) VALUES ('rebuild')"
_MADE = re.compile(r"CREATE (?:INDEX|TABLE) (idx_\w+|embedding_cache)\b")
# With 1, every SQLite version compares the index with the content of its table.
_COMPARE = "INSERT INTO memories_fts(memories_fts, rank) VALUES ('integrity-check', 1)"


@contextmanager
def _private_copy(path: Path, source: sqlite3.Connection, task: CancellableTask) -> Iterator[sqlite3.Connection]:
    """Copy a database into a temporary one, which no other program can open and SQLite deletes when it is closed."""
    with closing(sqlite3.connect("", isolation_level=None, check_same_thread=False)) as copy:
        copy.text_factory = as_text
        back_up(path, source, copy, task.check)
        with task.interrupting(copy):
            yield copy


def check_pages(path: Path, schema: Schema, task: CancellableTask) -> Pages:
    """Check a copy of the database, since checking the keyword index writes. Raises the errors of reading."""
    with (
        translate_sqlite_errors(path),
        closing(connect_read_only_blocking(path)) as source,
        _private_copy(path, source, task) as copy,
    ):
        return Pages(_faults(copy), _is_in_step(copy) if schema.has_fts else None)


def _faults(connection: sqlite3.Connection) -> tuple[str, ...]:
    try:
        found = connection.execute(f"PRAGMA integrity_check({MAX_FAULTS})").fetchall()
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorname == "SQLITE_INTERRUPT":
            raise
        return (str(error),)
    sentences = tuple(as_text(sentence) for (sentence,) in found)
    return () if sentences == ("ok",) else sentences


def _is_in_step(connection: sqlite3.Connection) -> bool:
    try:
        connection.execute(_COMPARE)
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorname == "SQLITE_INTERRUPT":
            raise
        return False
    return True


def repair_hydrated(writing: SqliteWriter) -> None:
    """Add what a database from ZeroClaw's hydration lacks, so that ZeroClaw and this program can open it.

    The memories are unchanged. The embedding cache, which such a database cannot have used, is created again. Raises
    Refused if columns are missing that hydration always creates.
    """
    generation = writing.schema.generation
    connection = writing.connection
    with writing.transaction():
        if "session_id" not in writing.schema.columns:
            connection.execute("ALTER TABLE memories ADD COLUMN session_id TEXT")
        lacking = set(COLUMNS[generation]) - writing.schema.columns - {"session_id"}
        if lacking:
            raise Refused(
                f"The memories table lacks {', '.join(sorted(lacking))}, which hydration always creates.",
                hint="Nothing was changed. Export the memories and import them into a new store.",
            )
        connection.execute("DROP TABLE IF EXISTS embedding_cache")
        found = {as_text(name) for (name,) in connection.execute("SELECT name FROM sqlite_master")}
        for statement in schema_sql(generation):
            made = _MADE.match(statement)
            if made is not None and made.group(1) not in found:
                connection.execute(statement)
        _fill_index(connection)


def fold_log(path: Path) -> None:
    """Checkpoint the write-ahead log into the database and truncate it.

    Raises Locked if another program is known to have the database open, or if a reader prevents the checkpoint.
    """
    require_unused(path)
    if not fold_in(path):
        raise Locked(f"{path} is in use, so only part of its log was checkpointed.", hint="Try again in a moment.")


def rebuild_index(writing: SqliteWriter) -> None:
    """Create ZeroClaw's keyword index and triggers if missing, and rebuild the index, in one transaction."""
    with writing.transaction():
        _fill_index(writing.connection)


def _fill_index(connection: sqlite3.Connection) -> None:
    for name in missing_of_index(connection):
        connection.execute(TRIGGERS.get(name, KEYWORD_INDEX))
    connection.execute(_REBUILD)


def rewrite_database(path: Path, task: CancellableTask) -> int:
    """Vacuum a database, rebuild its keyword index, even if pages of the index are damaged, and checkpoint its log.

    Returns the number of memories. A copy replaces the contents in one transaction, so that a kill at any moment
    leaves either the old or the new contents. Raises Locked while another program has the database open, DiskFull, and
    Corrupt if more than the index is damaged.
    """
    check_room(path, copies=3, folder=path.parent)
    with (
        translate_sqlite_errors(path),
        exclusive_connection(path) as connection,
        _private_copy(path, connection, task) as copy,
    ):
        try:
            _vacuum(copy)
            (found,) = copy.execute("PRAGMA integrity_check(1)").fetchone()
        except sqlite3.DatabaseError as error:
            if error.sqlite_errorname not in DAMAGE:
                raise
            found = str(error)
        if found != "ok":
            raise Corrupt(
                "More than the keyword index is damaged, so it cannot be rebuilt.",
                hint="Nothing was changed. Stop ZeroClaw, copy the database, and run `sqlite3 COPY .recover`; or "
                "restore a backup.",
            )
        copy.backup(connection)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return int(connection.execute("SELECT count(*) FROM memories").fetchone()[0])


def _vacuum(copy: sqlite3.Connection) -> None:
    """Reduce a copy to its rows and a new keyword index, if it has one.

    SQLite cannot drop a table with a damaged page, so the index is deleted from the schema table, and VACUUM drops
    its pages. VACUUM may renumber the rows, so the new index is filled afterwards.
    """
    index = copy.execute(_INDEX).fetchone()
    if index is not None:
        names = ", ".join(f"'{name}'" for name in ("memories_fts", *sorted(INDEX_TABLES)))
        copy.execute("PRAGMA writable_schema = ON")
        copy.execute(f"DELETE FROM sqlite_master WHERE type = 'table' AND lower(name) IN ({names})")
        copy.execute("PRAGMA writable_schema = RESET")
    copy.execute("VACUUM")
    if index is not None:
        copy.execute(as_text(index[0]))
        copy.execute(_REBUILD)


def make_database(path: Path, generation: str, rows: Sequence[Row] = (), now: str | None = None) -> None:
    """Create a database with these rows at `path`, and its parent folders, atomically. Blocks: run it in a thread.

    The file has mode 0600, and SQLite gives its -wal and -shm the same mode; an empty file (0 bytes) is replaced and
    keeps its mode and owner. Raises Refused if there is a file already or nothing can be written.
    """
    target, now = Path(os.path.realpath(path)), now or utc_now()
    if file_size(wal_file(target)):
        raise Refused(
            f"{wal_file(target)} contains writes of a missing database.",
            hint="Keep it, and restore the database from a backup; or move it away first.",
        )
    given = (row.id for row in rows if row.table == AGENTS and row.agent == DEFAULT_AGENT)
    try:
        if file_size(target):
            raise FileExistsError
        make_folder(target.parent)
        with work_folder(target) as folder:
            made = folder / target.name
            with new_database(made, generation, now=now, default_agent_id=next(given, None)) as connection:
                _insert(connection, rows)
            with made.open("rb") as file:
                put_in_place(made, file.fileno(), target, replaces=target.exists())
    except FileExistsError as error:
        raise Refused(f"The file {target} exists already.", hint="Open it, or choose another path.") from error
    except (OSError, sqlite3.Error) as error:
        raise creation_error(target, error) from error


def _insert(connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
    for row in rows:
        # The agent `default` exists already.
        if row.table == AGENTS and row.agent == DEFAULT_AGENT:
            continue
        marks, ready = bind(row.values.values())
        columns = ", ".join(map(quoted, row.values))
        connection.execute(f"INSERT INTO {quoted(row.table)} ({columns}) VALUES ({marks})", ready)
    connection.execute(_COMPARE)
