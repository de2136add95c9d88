"""Converting the trash.db of earlier versions."""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import closing, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from zeroclaw_tui.curation.external import read_file
from zeroclaw_tui.curation.journal_records import EXTERNAL, INSERT_CHANGE, SCHEMA, VERSION, RowCodec, columns_of_change
from zeroclaw_tui.files.database import transaction
from zeroclaw_tui.files.disk import new_file
from zeroclaw_tui.memory.change import FILE, OTHER_ROW, Row, RowChange, Value
from zeroclaw_tui.memory.errors import Refused, Unreadable

BACKUP, BACKUP_DAYS = "trash-0.2.db", 30
"""The trash as it was before it was converted, and how long it stays."""

_PATHS = ("path", "moved_to", "moved_from", "made_folder", "audit_file")
_CHANGES = """SELECT k.number, k.action, k.taken_back > 0,
    k.before, k.content, b.before, k.after, k.content_after, b.after
  FROM kept k LEFT JOIN blobs b ON b.number = k.number
  WHERE k.reverses IS NULL AND k.table_name <> '' ORDER BY k.number"""


def convert(connection: sqlite3.Connection, file: Path, codec: RowCodec, home: Path | None) -> None:
    """Convert the tables of 0.2.0 and 0.3.0 in one transaction; if that fails, they stay as they are.

    A copy stays as a backup. What was undone is undone, the rest is done. Undos, redos and restores go; rows that they
    replaced stay.
    """
    home = None if home is None else Path(os.path.realpath(home))
    backup = file.with_name(BACKUP)
    backup.unlink(missing_ok=True)
    os.close(new_file(backup))
    with closing(sqlite3.connect(backup)) as copy:
        connection.backup(copy)
    with transaction(connection):
        for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute("DROP INDEX IF EXISTS actions_of_store")
        connection.execute("ALTER TABLE actions RENAME TO old_actions")
        for statement in SCHEMA:
            connection.execute(statement)
        connection.execute(
            "INSERT INTO actions (number, store, verb, at, moment, summary, is_done)"
            " SELECT a.number, s.name, a.verb, a.at, a.moment, a.summary, a.state = 'done' FROM old_actions a"
            " JOIN stores s ON s.number = a.store WHERE EXISTS (SELECT 1 FROM kept WHERE action = a.number"
            " AND reverses IS NULL AND table_name <> '')"
        )
        for row in connection.execute(_CHANGES):
            number, action, is_undone, old, content, blob, new, content_after, blob_after = row
            try:
                before = None if old is None else _in_place(_unpacked(old, content, blob, None), home)
                after = None if new is None else _in_place(_unpacked(new, content_after, blob_after, before), home)
            except (ValueError, TypeError) as error:
                raise Unreadable(
                    f"The trash of an earlier version, {file}, cannot be converted: change {number} is damaged.",
                    hint="Nothing was changed. Move the file away: the trash is then empty.",
                ) from error
            columns = columns_of_change(codec, action, RowChange(before, after), undone=bool(is_undone))
            connection.execute(INSERT_CHANGE, (number, *columns))
        counted = "SELECT action FROM changes WHERE is_counted"
        connection.execute(f"UPDATE changes SET is_counted = 1 WHERE action NOT IN ({counted})")
        for table in ("blobs", "kept", "old_actions", "stores", "clock"):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        connection.execute(f"PRAGMA user_version = {VERSION}")


def _unpacked(text: str, content: str | None, blob: bytes | None, before: Row | None) -> Row:
    """Return a row as those versions stored it: values that JSON cannot have are parts of a blob."""
    data = blob or b""

    def value(packed: Any) -> Any:
        if not isinstance(packed, list):
            return packed
        if packed == ["content"]:
            return content
        if packed == ["same"]:
            return before.values["embedding"] if before is not None else None
        kind, start, length = packed
        part = data[start : start + length]
        return part if kind == "bytes" else part.decode("utf-8", "surrogatepass")

    *parts, values = json.loads(text)
    named, handle, agent, table = map(value, parts)
    return Row(named, {value(name): value(one) for name, one in values}, handle, agent, table)


def _in_place(row: Row, home: Path | None) -> Row:
    """Return a row with whole paths, and with the bytes of its file; an entry of audit.db names its table."""
    if row.table == "memory_audit":
        row = replace(row, values={**row.values, "of_table": row.table}, table=OTHER_ROW)
    if home is not None and row.table in EXTERNAL:
        values: dict[str, Value] = {
            name: os.path.join(home, value) if name in _PATHS and isinstance(value, str) else value
            for name, value in row.values.items()
        }
        row = replace(row, id=os.path.join(home, row.id), values=values)
    if row.table != FILE or "bytes" in row.values:
        return row
    # Of a moved file only the digest was stored.
    for name in ("path", "moved_to", "moved_from"):
        with suppress(Refused):
            found = read_file(Path(str(row.values[name]))) if name in row.values else None
            if found is not None and found.fingerprint == row.values.get("sha256"):
                return replace(row, values={**row.values, "bytes": found.values["bytes"]})
    return row
