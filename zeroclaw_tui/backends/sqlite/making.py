"""Making a database where there is none: empty, as ZeroClaw makes it at its first start, or with memories in it."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from zeroclaw_tui.backends.clock import utc_now
from zeroclaw_tui.backends.sqlite.ddl import create_database, new_database
from zeroclaw_tui.backends.sqlite.raw_rows import aliases_of
from zeroclaw_tui.backends.table_rows import DEFAULT_AGENT
from zeroclaw_tui.config.document.replacing import (
    keep_looks,
    make_folder,
    put_new,
    remove_left_over,
    sync_folder,
    work_folder,
)
from zeroclaw_tui.config.layouts import file_size
from zeroclaw_tui.files.database import any_text, bound, could_not_be_made, quoted, wal_file
from zeroclaw_tui.memory.change import AGENTS, MEMORIES, StoredRow, Value
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.scoring.generations import SMALLEST


def make_database(path: Path, generation: str) -> None:
    """Put an empty database at `path`, with the folders above it, in one step. Blocks: run it in a thread.

    The file is 0600, and SQLite gives its -wal and -shm the same mode; an empty one (0 bytes) is replaced and keeps its
    mode and owner. Raises Refused where there is something already or nothing can be written.
    """
    target = Path(os.path.realpath(path))
    _check_log(target)
    if file_size(target):
        raise _there_already(target)
    try:
        with _beside(target) as made:
            create_database(made, generation, now=utc_now())
            with made.open("rb") as file:
                keep_looks(file.fileno(), target)
                os.fsync(file.fileno())
            if target.exists():
                made.replace(target)
            else:
                put_new(made, target)
            sync_folder(target.parent)
    except FileExistsError as error:
        raise _there_already(target) from error


def fill_database(path: Path, generation: str, rows: Sequence[StoredRow], now: str) -> None:
    """Put a database with these rows at `path`, with the folders above it, in one step; see `Memory.fill`. Blocks.

    What ZeroClaw takes for no database is kept beside it. Raises Refused where there is one, or its log.
    """
    target = Path(os.path.realpath(path))
    _check_empty(target)
    try:
        with _beside(target) as made:
            with new_database(made, generation, now=now, default_agent_id=_given_id(rows)) as connection:
                _insert(connection, rows, now)
            _check_empty(target)
            if target.exists():
                target.rename(_free_name(target))
            put_new(made, target)
            made.unlink(missing_ok=True)
            sync_folder(target.parent)
    except FileExistsError as error:
        raise _there_by_now(target) from error


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Where a database is made before it is put in its place."""
    try:
        make_folder(target.parent)
        remove_left_over(target.parent)
        with work_folder(target) as room:
            yield room / target.name
    except FileExistsError:
        raise
    except (OSError, sqlite3.Error) as error:
        raise could_not_be_made(target, error) from error


def _given_id(rows: Sequence[StoredRow]) -> str | None:
    return next((row.id for row in rows if row.table == AGENTS and row.agent == DEFAULT_AGENT), None)


def _insert(connection: sqlite3.Connection, rows: Sequence[StoredRow], now: str) -> None:
    connection.text_factory = any_text
    owners = {alias: agent for agent, alias in aliases_of(connection).items()}
    for row in rows:
        values, alias = row.values, row.agent or DEFAULT_AGENT
        if row.table == AGENTS and alias in owners:
            continue
        if row.table == AGENTS:
            owners[alias] = row.id
        elif row.table == MEMORIES and owners:
            if alias not in owners:
                owners[alias] = str(uuid.uuid4())
                _insert_one(connection, AGENTS, {"id": owners[alias], "alias": alias, "created_at": now})
            values = {**values, "agent_id": owners[alias]}
        _insert_one(connection, row.table, values)
    connection.execute("INSERT INTO memories_fts(memories_fts, rank) VALUES ('integrity-check', 1)")


def _insert_one(connection: sqlite3.Connection, table: str, values: Mapping[str, Value]) -> None:
    marks, ready = bound(values.values())
    connection.execute(f"INSERT INTO {quoted(table)} ({', '.join(map(quoted, values))}) VALUES ({marks})", ready)


def _check_log(path: Path) -> None:
    if file_size(wal_file(path)):
        raise Refused(
            f"{wal_file(path)} holds writes of a database that is not there.",
            hint="Keep it, and restore the database from a backup; or move it away first.",
        )


def _check_empty(path: Path) -> None:
    _check_log(path)
    if file_size(path) >= SMALLEST:
        raise _there_by_now(path)


def _there_already(path: Path) -> Refused:
    return Refused(f"There is a file {path} already.", hint="Open that one.")


def _there_by_now(path: Path) -> Refused:
    return Refused(f"There is a database {path} by now.", hint="Look again: it may be hydrated as it is.")


def _free_name(path: Path) -> Path:
    base = f"{path.name}.before-hydrate-{datetime.now():%Y%m%dT%H%M%S}"
    free, number = path.with_name(base), 2
    while free.exists():
        free, number = path.with_name(f"{base}-{number}"), number + 1
    return free
