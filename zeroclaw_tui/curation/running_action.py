"""Actions under way: a change that is recorded, and a turn, which is an undo, redo or restore of earlier changes."""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

from zeroclaw_tui.curation.journal_file import JournalFile
from zeroclaw_tui.curation.journal_records import (
    LISTED,
    Action,
    Verb,
    bindable,
    delete_changes,
    delete_empty_actions,
    delete_old,
    end_action,
    find_actions,
    forget,
    insert_changes,
    wipe,
)
from zeroclaw_tui.files.database import transaction
from zeroclaw_tui.memory.change import AGENTS, EMBEDDING_CACHE, NOTES_FILE, Journal, RowChange

Clock = Callable[[], datetime]


class RunningAction(Journal):
    """An action under way. It has the lock until it is finished or abandoned.

    `record` and `withdraw` block, for the thread that changes a store. Raises Unreadable, DiskFull and Locked.
    """

    ending = "Undo reverses them."

    def __init__(self, file: JournalFile, descriptor: int, store: str, clock: Clock, verb: Verb, summary: str) -> None:
        self._file, self._descriptor, self._store, self._clock, self._verb = file, descriptor, store, clock, verb
        self._guard = threading.Lock()
        self._has_begun = False
        self._recorded: list[int] = []
        self._connection = file.open_to_write()
        try:
            with self._transaction() as connection:
                self.number = self._begin(connection, summary)
        except BaseException:
            self._connection.close()
            raise

    def _begin(self, connection: sqlite3.Connection, summary: str) -> int:
        """Insert the action and return its number."""
        now = self._clock()
        inserted = connection.execute(
            "INSERT INTO actions (store, verb, at, moment, summary) VALUES (?, ?, ?, ?, ?)",
            (self._store, self._verb, now.isoformat(), now.timestamp(), bindable(summary)),
        )
        return inserted.lastrowid or 0

    def record(self, changes: Sequence[RowChange]) -> None:
        """Save what a store is about to change; one durable transaction."""
        with self._transaction() as connection:
            self._record(connection, changes)
        self._has_begun |= bool(changes)

    def _record(self, connection: sqlite3.Connection, changes: Sequence[RowChange]) -> None:
        self._recorded = [*insert_changes(connection, self._file.codec, self.number, changes)]

    def withdraw(self) -> None:
        """Delete what the last `record` saved."""
        with self._transaction() as connection:
            delete_changes(connection, self._recorded)

    async def set_summary(self, summary: str) -> None:
        """Change its summary."""
        query = "UPDATE actions SET summary = ? WHERE number = ?"

        def write() -> None:
            with self._transaction() as connection:
                connection.execute(query, (bindable(summary), self.number))

        await asyncio.to_thread(write)

    async def finish(self) -> Action | None:
        """Mark it as done, delete old actions, and release the lock; return None if it changed nothing."""

        def finish() -> Action | None:
            try:
                with self._guard, self._file.explained("written further"):
                    with transaction(self._connection):
                        self._end(self._connection)
                        delete_empty_actions(self._connection)
                    return self._ended(self._connection)
            finally:
                self._release()

        return await asyncio.to_thread(finish)

    async def abandon(self) -> None:
        """Release the lock because it failed. `Trash.recover` finds out what of it was done."""
        await asyncio.to_thread(self._release)

    def _release(self) -> None:
        """Close the file and release the lock."""
        try:
            with self._guard:
                self._connection.close()
        finally:
            os.close(self._descriptor)

    def _end(self, connection: sqlite3.Connection) -> None:
        end_action(connection, self.number)

    def _ended(self, connection: sqlite3.Connection) -> Action | None:
        found = find_actions(connection, "a.number = ?", self.number)
        if found:
            delete_old(connection, self._clock())
            self._file.delete_old_backup(self._clock())
        return next(iter(found), None)

    async def what_is_done(self) -> str:
        """Say how much of an abandoned action is done, once it is recovered; "" for nothing."""
        count = await self._file.read(self._count_done) or 0
        return f"{count:,} {'was' if count == 1 else 'were'} changed before that. {self.ending}" if count else ""

    def _count_done(self, connection: sqlite3.Connection) -> int:
        query = "SELECT sum(is_counted) FROM changes WHERE action = ?"
        return connection.execute(query, (self.number,)).fetchone()[0] or 0

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction; the sentence of its errors says that nothing changed only before the first batch."""
        verb = "written further" if self._has_begun else "written"
        with self._guard, self._file.explained(verb), transaction(self._connection):
            yield self._connection


class PermanentDeletion(RunningAction):
    """Deletes memories permanently: in place of a record of them, their earlier changes leave the trash."""

    def _record(self, connection: sqlite3.Connection, changes: Sequence[RowChange]) -> None:
        forget(connection, self._file.codec, self._store, [change.row for change in changes])

    def withdraw(self) -> None:
        """Earlier changes stay deleted."""

    async def what_is_done(self) -> str:
        """Say that the trash has lost earlier versions, where anything was deleted."""
        sentence = "Earlier versions have left the trash. `zeroclaw memory list` shows which memories still exist."
        return sentence if self._has_begun else ""

    def _ended(self, connection: sqlite3.Connection) -> Action | None:
        wipe(connection)
        return None


class Turn(RunningAction):
    """An undo, redo or restore of journaled changes.

    The bits of its changes are set before each batch is written; after a kill `Trash.recover` sets them by what the
    store shows. Rows that were replaced become an action of their own.
    """

    ending = "Run it again to continue."

    def __init__(
        self, file: JournalFile, descriptor: int, store: str, clock: Clock, verb: Verb, numbers: Sequence[int]
    ) -> None:
        self._numbers, self._undone = json.dumps(numbers), verb != "redo"
        self._replaced: int | None = None
        self._turned: list[int] = []
        self.is_cancelled = False
        super().__init__(file, descriptor, store, clock, verb, "")

    def _begin(self, connection: sqlite3.Connection, summary: str) -> int:
        if self._undone:
            # The next number, so that what is done later has a higher one.
            connection.execute("UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'actions'")
            place = "(SELECT seq FROM sqlite_sequence WHERE name = 'actions')"
            actions = f"number IN (SELECT action FROM changes WHERE number IN {LISTED})"
            connection.execute(f"UPDATE actions SET turned = {place} WHERE {actions}", (self._numbers,))
        query = f"SELECT max(action) FROM changes WHERE number IN {LISTED}"
        return connection.execute(query, (self._numbers,)).fetchone()[0] or 0

    def _record(self, connection: sqlite3.Connection, changes: Sequence[RowChange]) -> None:
        """Set the bits of the changes that are turned, and save rows that are replaced."""
        self._recorded, self._turned = [], []
        for change in changes:
            if change.reverses is not None:
                self._turn(connection, change, change.reverses)
            if change.reverses is None or change.replaces:
                self._recorded += self._save(connection, change)

    def withdraw(self) -> None:
        """Delete what the last `record` saved, and put the bits back."""
        with self._transaction() as connection:
            delete_changes(connection, self._recorded)
            query = f"UPDATE changes SET turning = 0, undone = ? WHERE number IN {LISTED}"
            connection.execute(query, (not self._undone, json.dumps(self._turned)))

    def _turn(self, connection: sqlite3.Connection, change: RowChange, number: int) -> None:
        """Set the bit of a change, and save both rows as they are now: a row may come back under another key, and of a
        new row the journal had the key alone. What replaces a row stays as it was recorded."""
        self._turned.append(number)
        connection.execute("UPDATE changes SET turning = 1, undone = ? WHERE number = ?", (self._undone, number))
        if not change.replaces or change.row.table == NOTES_FILE:
            rows = (change.after, change.before) if self._undone else (change.before, change.after)
            connection.execute(
                "UPDATE changes SET after_state = NULL, before = ?, after = ? WHERE number = ?",
                (*map(self._file.codec.pack, rows), number),
            )

    def _save(self, connection: sqlite3.Connection, change: RowChange) -> Iterable[int]:
        codec = self._file.codec
        if change.row.table in (AGENTS, EMBEDDING_CACHE, NOTES_FILE):
            # It comes along with a memory: a part of what is turned.
            turned = RowChange(change.after, change.before) if self._undone else change
            return insert_changes(connection, codec, self.number, [turned], undone=self._undone)
        if self._replaced is None:
            self._replaced = super()._begin(connection, f"replaced by {self._verb} of change {self.number}")
        return insert_changes(connection, codec, self._replaced, [change])

    def _end(self, connection: sqlite3.Connection) -> None:
        if not self.is_cancelled:
            # Rows that were as wanted before count as turned too; they would be tried again forever.
            query = f"UPDATE changes SET undone = ? WHERE number IN {LISTED}"
            connection.execute(query, (self._undone, self._numbers))
        connection.execute(f"UPDATE changes SET turning = 0 WHERE number IN {LISTED}", (self._numbers,))
        connection.execute("UPDATE actions SET is_done = 1 WHERE number = ?", (self._replaced,))

    def _ended(self, connection: sqlite3.Connection) -> Action | None:
        # A turn deletes nothing: what it undid may be wanted again.
        return None

    def _count_done(self, connection: sqlite3.Connection) -> int:
        query = f"SELECT sum(undone = ?) FROM changes WHERE number IN {LISTED}"
        return connection.execute(query, (self._undone, self._numbers)).fetchone()[0] or 0
