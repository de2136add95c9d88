"""Making a database whole where there is none, as ZeroClaw itself makes it."""

from __future__ import annotations

import os
import sqlite3
import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from zeroclaw_tui.backends.sqlite.clock import utc_now
from zeroclaw_tui.backends.sqlite.connection import any_text, wal_file
from zeroclaw_tui.backends.sqlite.ddl import new_database
from zeroclaw_tui.backends.sqlite.making import could_not_be_made, generation_made_by
from zeroclaw_tui.backends.sqlite.raw_rows import RawTable
from zeroclaw_tui.backends.sqlite.schema import COLUMNS
from zeroclaw_tui.backends.table_rows import DEFAULT_AGENT
from zeroclaw_tui.config.document.replacing import make_folder, put_new, remove_left_over, sync_folder, work_folder
from zeroclaw_tui.config.layouts import file_size
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.snapshot.fitting import Target, first_of_each_key
from zeroclaw_tui.memory.change import StoredRow, Value
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, Refused

SMALLEST = 4096
"""ZeroClaw takes a database of fewer bytes for none, and hydrates."""


def is_empty_store(config: MemoryConfig) -> bool:
    """Whether there is no database yet, or one so small that ZeroClaw takes it for none (< 4,096 bytes, no log)."""
    path = config.database
    return config.backend in ("sqlite", "lucid") and file_size(path) < SMALLEST and not file_size(wal_file(path))


def generation_of(version: str | None) -> str:
    """The schema generation a version makes; without one the oldest, which every later ZeroClaw migrates.

    Raises WrongUse for what is no version.
    """
    return "G1" if version is None else generation_made_by(version)


def make_store(
    config: MemoryConfig,
    entries: Sequence[MemoryEntry],
    version: str | None,
    *,
    rows: Mapping[str, StoredRow] | None = None,
    agent: str | None = None,
) -> Path:
    """Make the database whole in one step, with these memories, as ZeroClaw of that version makes it (None: 0.1.7's
    schema, which every later one migrates). An empty file in its place is kept beside it. Blocks: run it in a thread.

    `rows` has by id what is more than an entry tells (vectors, columns of other programs); `agent` is who shall own
    all of them, else the agents that rows name, `default` where they name none. Raises Refused when there is a
    database by now, or it may not be written, and Unreadable.
    """
    target = Path(os.path.realpath(config.database))
    _check_free(config, target)
    generation = generation_of(version)
    known = rows or {}
    given = [known.get(entry.id) or _row(entry) for entry in entries]
    wanted = first_of_each_key(given, target_of(generation, given, agent))
    try:
        make_folder(target.parent)
        remove_left_over(target.parent)
        with work_folder(target) as room:
            made = room / target.name
            _fill(made, generation, wanted)
            _check_free(config, target)
            _put(made, target)
    except (OSError, sqlite3.Error) as error:
        raise could_not_be_made(target, error) from error
    return target


def target_of(generation: str, rows: Sequence[StoredRow], agent: str | None) -> Target:
    """A database of this generation that has yet to be made, with the agents these rows name."""
    aliases = {DEFAULT_AGENT, *(row.agent for row in rows if row.agent)} if agent is None else {agent}
    return Target(frozenset(COLUMNS[generation]), frozenset(aliases), agent or DEFAULT_AGENT, agent is not None)


def _check_free(config: MemoryConfig, path: Path) -> None:
    if config.read_only:
        raise Refused(ASKED_READ_ONLY, hint="Leave --read-only out.")
    if file_size(wal_file(path)):
        raise Refused(
            f"{wal_file(path)} holds writes of a database that is not there.",
            hint="Keep it, and restore the database from a backup; or move it away first.",
        )
    if not is_empty_store(config):
        raise Refused(f"There is a database {path} by now.", hint="Look again: it may be hydrated as it is.")


def _row(entry: MemoryEntry) -> StoredRow:
    """What an entry tells of its row; `kind` is in ZeroClaw's own words only in the row itself."""
    values: dict[str, Value] = {
        "id": entry.id,
        "key": entry.key,
        "content": entry.content,
        "category": entry.category,
        "created_at": entry.timestamp,
        "updated_at": entry.updated_at,
        "session_id": entry.session_id,
        "namespace": entry.namespace,
        "importance": entry.importance,
        "superseded_by": entry.superseded_by,
        "pinned": None if entry.pinned is None else int(entry.pinned),
    }
    return StoredRow(entry.id, values, None, entry.agent)


def _fill(path: Path, generation: str, rows: Sequence[StoredRow]) -> None:
    """A database with these rows, the last of them first, so that the newest are stored last."""
    with new_database(path, generation, now=utc_now()) as connection:
        connection.text_factory = any_text
        owners = _owners(connection, rows) if "agent_id" in COLUMNS[generation] else {}
        table = RawTable(connection)
        for row in reversed(rows):
            owner: dict[str, Value] = {"agent_id": owners[row.agent or DEFAULT_AGENT]} if owners else {}
            table.insert({**row.values, **owner})
        connection.execute("INSERT INTO memories_fts(memories_fts, rank) VALUES ('integrity-check', 1)")


def _owners(connection: sqlite3.Connection, rows: Sequence[StoredRow]) -> dict[str, str]:
    """The ids of the agents that own these rows, by alias; those are added that are not there."""
    agents = RawTable(connection, "agents")
    ids = {str(alias): str(agent) for agent, alias in connection.execute("SELECT id, alias FROM agents")}
    for alias in dict.fromkeys(row.agent or DEFAULT_AGENT for row in rows):
        if alias not in ids:
            added = agents.insert({"id": str(uuid.uuid4()), "alias": alias, "created_at": utc_now()})
            ids[alias] = added.id
    return ids


def _put(made: Path, path: Path) -> None:
    """Under its name in one step, never over a file."""
    if path.exists():
        path.rename(_free_name(path))
    try:
        put_new(made, path)
    except FileExistsError as error:
        raise Refused(f"There is a database {path} by now.", hint="Look again: it may be hydrated as it is.") from error
    made.unlink(missing_ok=True)
    sync_folder(path.parent)


def _free_name(path: Path) -> Path:
    base = f"{path.name}.before-hydrate-{datetime.now():%Y%m%dT%H%M%S}"
    free, number = path.with_name(base), 2
    while free.exists():
        free, number = path.with_name(f"{base}-{number}"), number + 1
    return free
