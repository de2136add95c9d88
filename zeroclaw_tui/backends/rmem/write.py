"""Changing an R-Mem database by R-Mem's own sequence of statements, each batch in one transaction.

As `delete` and `update` of R-Mem 0.3.0 do it (src/store.rs): a copy into the archive, the row, a line of history; but
also the keyword index, which R-Mem forgets where it deletes. Nothing is ever removed from the history, and the file is
never vacuumed: rowids are not fixed there, and the keyword index goes by them.
"""

from __future__ import annotations

import sqlite3
import threading
import uuid
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from zeroclaw_tui.backends.generic import entry_of, stamp_of
from zeroclaw_tui.backends.rmem.tables import DELETED, MISC, Contents, Shape, check_place, key_of, memory_entry
from zeroclaw_tui.backends.rows import MOST_ROWS, Operation, Rows
from zeroclaw_tui.backends.sqlite.transaction import not_written
from zeroclaw_tui.files.database import as_text, bound, connect_to_write, quoted
from zeroclaw_tui.memory.change import (
    SUPERSEDED_BY,
    Conflict,
    Draft,
    Edit,
    Keep,
    RowChange,
    StoredRow,
    Value,
    Written,
)
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Locked, NotThere, Refused

Answer = TypeVar("Answer")

NO_NEW_TEXT = (
    "A new text needs a vector of R-Mem's own model, which the database does not name: with the old one it would be "
    "ranked wrongly, with none never recalled."
)
NOT_NEW = (
    "A new memory needs a vector of R-Mem's own model, which the database does not name; without one it would never be "
    "recalled."
)
WHY_NOT = {
    "sessions": "R-Mem keeps no session: its scope is the user_id, shown as the namespace.",
    "agents": "R-Mem does not tell agents apart: its scope is the user_id, shown as the namespace.",
    "pinned": "R-Mem cannot pin a memory.",
    "importance": "R-Mem keeps no importance.",
    "create": NOT_NEW,
    "content": NO_NEW_TEXT,
    "key": "The key is made of R-Mem's id, so it stays.",
    "session_id": "R-Mem keeps no session.",
    "namespace": "R-Mem never moves a memory to another user_id.",
    "zeroclaw_forget": "No ZeroClaw reads this store: it is deleted as R-Mem does it.",
}
NO_CATEGORIES = "R-Mem before 0.3.0 keeps no category; 0.3.0 adds the column when it next opens the file."
_NO_VECTOR = "This archived text has no vector, so as a memory it would never be recalled."
_OWN_COLUMNS = ("id", "user_id", "text", "category", "embedding", "created_at", "updated_at")
_OTHER = "column:"
"""What stands before the name of a column that R-Mem itself does not have."""
_IN_ARCHIVE, _IN_INDEX, _NO_CATEGORY = "in_archive", "in_index", "no_category"
"""Values of a row beside its columns: whether a copy is in the archive already, whether the keyword index has it, and
whether its category is NULL. Without them it could not come back exactly."""
_AT_ONCE = 400


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """A connection to write by; SQLite's errors come out as sentences. Raises Unreadable, Corrupt, Locked, Refused."""
    check_place(path)
    try:
        with closing(connect_to_write(path)) as connection:
            # The file's own triggers and views are anybody's.
            connection.execute("PRAGMA trusted_schema = OFF")
            yield connection
    except (sqlite3.Error, OverflowError) as error:
        told = not_written(path, error)
        if isinstance(told, Locked):
            told.hint = "Try again when it has finished its write, or stop R-Mem."
        told.tell_so_far("Nothing was changed.")
        raise told from error


def is_restore(entry: MemoryEntry, edit: Edit) -> bool:
    """Whether an edit brings an archived text back."""
    is_archived = str(entry.handle).startswith("archive:")
    return is_archived and dict(edit.values) == {SUPERSEDED_BY: None}


async def restored(rows: RMemRows, entry: MemoryEntry, expected: str, keep: Keep) -> Written:
    """The archived text as a memory again: under its own id where that is free, else as one of its own.

    The archive keeps its copy, as R-Mem never removes one. Raises NotThere, Conflict, Refused.
    """
    if StoredRow.of(entry).fingerprint != expected:
        raise Conflict(StoredRow.of(entry))
    async with rows.step(keep):
        row = await rows.from_archive(entry)
        (change,) = await rows.write([Operation(None, row)])
    return Written(change, ("R-Mem's archive keeps its copy too.",))


class RMemRows(Rows):
    """The living memories, on a thread and a connection of their own; `contents` names their keys."""

    keys_are_unique = False

    def __init__(
        self,
        connection: sqlite3.Connection,
        shape: Shape,
        contents: Contents,
        stop: threading.Event | None = None,
    ) -> None:
        super().__init__()
        self._connection = connection
        self._shape = shape
        self._contents = contents
        self._stop = stop or threading.Event()
        self._changes: list[RowChange] = []
        described = connection.execute("SELECT name FROM pragma_table_info('memories')")
        self._columns = tuple(as_text(name) for (name,) in described)
        self.at_once = MOST_ROWS

    @property
    def is_stopped(self) -> bool:  # type: ignore[override]
        """Whether the work was asked to stop."""
        return self._stop.is_set()

    @asynccontextmanager
    async def step(self, keep: Keep) -> AsyncIterator[None]:
        """A transaction; what changes is kept before it is committed."""
        self._changes = []
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            if self._changes:
                keep(self._changes)
            self._connection.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
            raise

    async def read(self, work: Callable[[], Answer]) -> Answer:
        """At once: this is a thread of its own."""
        return work()

    def check_draft(self, draft: Draft) -> None:
        """Raises Refused: nothing new can be stored."""
        raise Refused(NOT_NEW)

    def check_edit(self, values: Mapping[str, Value]) -> None:
        """Raises Refused for all but the category."""
        for name in values:
            if name == "category" and not self._shape.has_categories:
                raise Refused(NO_CATEGORIES)
            if name != "category":
                raise Refused(WHY_NOT.get(name, f"R-Mem has no {name}."), hint="Nothing was changed.")

    async def of_ids(self, ids: Iterable[str]) -> dict[str, StoredRow]:
        """The memories of these ids."""
        found: dict[str, StoredRow] = {}
        wanted = [*ids]
        for start in range(0, len(wanted), _AT_ONCE):
            marks, values = bound(wanted[start : start + _AT_ONCE])
            for row in self._where(f"m.id IN ({marks})", values):
                found[row.id] = row
        return found

    async def of_key(self, key: str, owner: str | None = None) -> StoredRow | None:
        """None: a key is made of the id, so no other memory can have taken it."""
        return None

    def identity(self, row: StoredRow) -> str:
        """Its id."""
        return row.id

    async def present(self, row: StoredRow) -> StoredRow | None:
        """The memory of its id."""
        return (await self.of_ids([row.id])).get(row.id)

    def same(self, one: StoredRow, other: StoredRow) -> bool:
        """Whether text, user, category and dates are the same."""
        return _compared(one) == _compared(other)

    def state_of(self, row: StoredRow) -> str:
        """The state a stamp of it has: that of the memory it is."""
        return stamp_of(entry_of(row)).state

    def drafted(self, draft: Draft, existing: StoredRow | None, owner: str | None) -> StoredRow:
        """Raises Refused: see `check_draft`."""
        raise Refused(NOT_NEW)

    def edited(self, row: StoredRow, values: Mapping[str, Value]) -> StoredRow:
        """With another category; R-Mem's dates tell of texts alone."""
        return replace(row, values={**row.values, **values, _NO_CATEGORY: 0})

    def returned(self, row: StoredRow, over: StoredRow | None, owner: str | None, *, apart: bool) -> StoredRow:
        """As it was; with an id of its own where that one belongs to another memory now."""
        if not apart:
            return row
        id = str(uuid.uuid4())  # noqa: A001
        return StoredRow(id, {**row.values, "id": id, "key": key_of(id), _IN_ARCHIVE: 1})

    async def from_archive(self, entry: MemoryEntry) -> StoredRow:
        """The memory that an archived text becomes. Raises NotThere, Refused where it has no vector."""
        rowid = int(str(entry.handle).rpartition(":")[2])
        found = self._connection.execute(
            f"SELECT id, user_id, text, embedding, {self._shape.column('archive', 'original_created_at')} FROM archive "
            "WHERE rowid = ?",
            (rowid,),
        ).fetchone()
        if found is None or as_text(found[2]) != entry.content:
            raise NotThere("This archived text is no longer there.", hint="r reloads the list.")
        id, user, text, embedding, created = found  # noqa: A001
        if not isinstance(embedding, bytes) or not embedding:
            raise Refused(_NO_VECTOR, hint="`rustmem add -u USER TEXT` stores it anew.")
        own = as_text(id) if entry.kind == DELETED else ""
        if not own or (await self.of_ids([own])):
            own = str(uuid.uuid4())
        ((now,),) = self._connection.execute("SELECT datetime('now')")
        memory = memory_entry(0, own, user, text, MISC, now if created is None else created, now, len(embedding))
        values = StoredRow.of(memory).values
        return StoredRow(own, {**values, "embedding": embedding, _IN_ARCHIVE: 1, _IN_INDEX: 1, _NO_CATEGORY: 0})

    async def write(self, operations: Sequence[Operation]) -> Sequence[RowChange]:
        """Do these operations; `step` has them kept at its end, before they are committed."""
        changes: list[RowChange] = []
        for operation in operations:
            if operation.is_done:
                changes.append(operation.change)
            elif operation.wanted is None:
                if operation.over is not None and await self.drop(operation.over):
                    changes.append(operation.change)
            else:
                got = await self.put(operation.wanted, operation.over)
                changes.append(RowChange(operation.over, got, reverses=operation.reverses))
        self._changes += changes
        return changes

    async def put(self, row: StoredRow, over: StoredRow | None) -> StoredRow:
        """Add a memory, or give the one of its id another category, or its earlier text with the vector of that."""
        if over is not None and over.id != row.id:
            await self.drop(over)
            over = None
        if over is None:
            self._insert(row)
        else:
            if over.values["content"] != row.values["content"]:
                self._replace_text(row, over)
            self._update(row, over)
        got = await self.present(row)
        if got is None:
            raise Refused("R-Mem's tables did not take the memory.", hint="Nothing was changed.")
        return got

    async def drop(self, row: StoredRow) -> bool:
        """R-Mem's `delete`."""
        if self._shape.archive:
            self._archive(row, row.id, "DELETED", None)
        self._leave_index(row)
        self._run("DELETE FROM memories WHERE id = {0}", row.id)
        self._note(row.id, "DELETE", row.values["content"], None)
        return True

    def _insert(self, row: StoredRow) -> None:
        values: dict[str, Value] = {
            "id": row.id,
            "user_id": row.values.get("namespace"),
            "text": row.values["content"],
            "embedding": row.values.get("embedding"),
            "created_at": row.values.get("created_at"),
            "updated_at": row.values.get("updated_at"),
            "category": None if row.values.get(_NO_CATEGORY) else row.values.get("category"),
            **{name.removeprefix(_OTHER): value for name, value in row.values.items() if name.startswith(_OTHER)},
        }
        known = {name: value for name, value in values.items() if name in self._columns}
        if isinstance(row.handle, int) and self._is_free(row.handle):
            known["rowid"] = row.handle
        marks, ready = bound(known.values())
        names = ", ".join(map(quoted, known))
        self._connection.execute(f"INSERT INTO memories ({names}) VALUES ({marks})", ready)
        self._note(row.id, "ADD", None, row.values["content"])
        if row.values.get(_IN_INDEX, 1):
            self._enter_index(row.id)
        if self._shape.archive and not row.values.get(_IN_ARCHIVE, 1):
            # Made by the deletion that this takes back.
            self._run("DELETE FROM archive WHERE id = {0} AND reason = 'DELETED'", row.id)

    def _replace_text(self, row: StoredRow, over: StoredRow) -> None:
        """R-Mem's `update`, with a vector that is known: the one this text had."""
        if self._shape.archive:
            self._archive(over, f"{over.id}:superseded:{uuid.uuid4()}", "SUPERSEDED", over.id)
        self._leave_index(over)
        self._run(
            "UPDATE memories SET text = {0}, embedding = {1} WHERE id = {2}",
            row.values["content"], row.values.get("embedding"), over.id,
        )  # fmt: skip
        self._note(over.id, "UPDATE", over.values["content"], row.values["content"])
        self._enter_index(over.id)

    def _update(self, row: StoredRow, over: StoredRow) -> None:
        for name, column in (("category", "category"), ("updated_at", "updated_at"), ("created_at", "created_at")):
            is_same = row.values.get(name) == over.values.get(name)
            if column == "category":
                is_same = is_same and row.values.get(_NO_CATEGORY) == over.values.get(_NO_CATEGORY)
            if column in self._columns and not is_same:
                value = None if column == "category" and row.values.get(_NO_CATEGORY) else row.values.get(name)
                self._run(f"UPDATE memories SET {quoted(column)} = {{0}} WHERE id = {{1}}", value, over.id)

    def _archive(self, row: StoredRow, id: str, reason: str, newer: str | None) -> None:
        created = self._shape.column("memories", "created_at")
        dates = [name for name in ("archived_at", "original_created_at") if name in self._shape.archive]
        values = {"archived_at": "datetime('now')", "original_created_at": created}
        self._run(
            f"INSERT OR IGNORE INTO archive (id, user_id, text, embedding, reason, superseded_by, {', '.join(dates)}) "
            f"SELECT {{0}}, user_id, text, embedding, {{1}}, {{2}}, {', '.join(values[name] for name in dates)} "
            "FROM memories WHERE id = {3}",
            id, reason, newer, row.id,
        )  # fmt: skip

    def _note(self, id: str, action: str, old: Value, new: Value) -> None:
        date, now = (", created_at", ", datetime('now')") if "created_at" in self._shape.history else ("", "")
        self._run(
            f"INSERT INTO history (memory_id, action, old_text, new_text{date}) "
            f"VALUES ({{0}}, {{1}}, {{2}}, {{3}}{now})",
            id, action, old, new,
        )  # fmt: skip

    def _leave_index(self, row: StoredRow) -> None:
        """Take the words of a memory out; a row the index does not have would spoil it."""
        if self._shape.has_index and row.values.get(_IN_INDEX):
            self._run(
                "INSERT INTO memories_fts (memories_fts, rowid, text) SELECT 'delete', rowid, text FROM memories "
                "WHERE id = {0}",
                row.id,
            )

    def _enter_index(self, id: str) -> None:
        if self._shape.has_index:
            self._run("INSERT INTO memories_fts (rowid, text) SELECT rowid, text FROM memories WHERE id = {0}", id)

    def _is_free(self, rowid: int) -> bool:
        statement = "SELECT 1 FROM memories WHERE rowid = ?"
        return self._connection.execute(statement, (rowid,)).fetchone() is None

    def _run(self, statement: str, *values: Value) -> None:
        """A statement with `{0}`, `{1}` … for its values, in the order they come in it."""
        marks, ready = bound(values)
        self._connection.execute(statement.format(*marks.split(", ")), ready)

    def _where(self, condition: str, values: Sequence[object]) -> Iterator[StoredRow]:
        shape = self._shape
        others = [name for name in self._columns if name not in _OWN_COLUMNS]
        columns = [
            "m.rowid", "m.id", "m.user_id", "m.text", *(f"{'m.' if shape.column('memories', name) != 'NULL' else ''}"
            f"{shape.column('memories', name)}" for name in ("category", "created_at", "updated_at")), "m.embedding",
            "EXISTS (SELECT 1 FROM archive AS a WHERE a.id = m.id)" if shape.archive else "0",
            self._in_index, *(f"m.{quoted(name)}" for name in others),
        ]  # fmt: skip
        statement = f"SELECT {', '.join(columns)} FROM memories AS m WHERE {condition}"
        for found in self._connection.execute(statement, values):
            rowid, id, user, text, category, created, updated, embedding, archived, indexed, *rest = found  # noqa: A001
            own = as_text(id)
            length = len(embedding) if isinstance(embedding, bytes) else None
            entry = memory_entry(rowid, own, user, text, category, created, updated, length)
            entry = replace(entry, key=self._contents.keys_by_id.get(own, entry.key))
            row: dict[str, Value] = {
                **StoredRow.of(entry).values,
                "created_at": created,
                "embedding": embedding,
                _IN_ARCHIVE: archived,
                _IN_INDEX: indexed,
                _NO_CATEGORY: int(category is None and shape.has_categories),
                **{f"{_OTHER}{name}": value for name, value in zip(others, rest, strict=True)},
            }
            yield StoredRow(own, row, rowid)

    @property
    def _in_index(self) -> str:
        if not self._shape.has_index:
            return "0"
        if not self._shape.has_index_rows:
            return "1"
        return "EXISTS (SELECT 1 FROM memories_fts_docsize AS d WHERE d.id = m.rowid)"


_COMPARED = ("content", "category", "namespace", "created_at", "updated_at", _NO_CATEGORY)


def _compared(row: StoredRow) -> tuple[Value, ...]:
    return tuple(row.values.get(name) for name in _COMPARED)
