"""The journal of an install, trash.db: rows before and after each change, so that any change can be undone.

A change is done or undone. Undo, redo and restore turn changes; they are no actions of their own.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeVar

from zeroclaw_tui.backends.lookup import rows_by_id
from zeroclaw_tui.config.settings import trash_limits
from zeroclaw_tui.curation import journal_file
from zeroclaw_tui.curation.external import current_states
from zeroclaw_tui.curation.journal_file import RowCodec, bindable, searchable, text_of
from zeroclaw_tui.curation.old_trash import BACKUP, BACKUP_DAYS, convert
from zeroclaw_tui.files.database import transaction
from zeroclaw_tui.memory.change import (
    AUDIT_LOG,
    FILE,
    MEMORIES,
    NOTES_FILE,
    OTHER_ROW,
    Batches,
    Journal,
    Row,
    RowChange,
    Value,
)
from zeroclaw_tui.memory.errors import InspectorError, Locked, NotFound
from zeroclaw_tui.memory.text import WHITE_SPACE, is_unicode

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.config.locations import Install

NAME, LOCK = "trash.db", "trash.lock"
LOCK_SECONDS = 5.0
"""How long a change waits for another one."""
BATCH, BATCH_BYTES = 250, 32_000_000
"""How many changes are read at once; fewer where they are large."""

Verb = Literal[
    "store", "edit", "forget", "purge", "clear", "restore", "undo", "redo", "clean", "hygiene", "snapshot", "hydrate",
    "import", "merge", "recategorise", "copy",
]  # fmt: skip
"""What a person did. "clean" removes copies of a text elsewhere; "recategorise" is in the trash of versions up to
0.2.0. An action of "undo", "redo" or "restore" has the rows that it replaced."""

Answer = TypeVar("Answer")

_LOOK_AGAIN_SECONDS = 0.05
TURNS: tuple[Verb, ...] = ("undo", "redo", "restore")
"""What turns earlier changes. An action of these verbs has the rows that were replaced."""
_MEANT = (MEMORIES, FILE, AUDIT_LOG, OTHER_ROW)
"""The rows that a person means to change; agents, cached vectors and notes files come along."""
_IN_TRASH = "c.before IS NOT NULL AND c.after IS NULL AND c.undone = 0 AND c.table_name = 'memories'"
_THESE = "(SELECT value FROM json_each(?))"
"""Numbers that are given as one list in JSON."""
_COLUMNS = "c.number, c.action, c.undone, a.verb, a.at, a.store, c.content, c.before, c.after, c.after_state"
_CHANGES = f"SELECT {_COLUMNS} FROM changes c JOIN actions a ON a.number = c.action"
_ACTIONS = """SELECT a.number, a.verb, a.at, a.summary, a.store,
  (SELECT coalesce(sum(size), 0) FROM changes WHERE action = a.number) AS size,
  (SELECT count(*) FROM changes WHERE action = a.number AND {0}) AS meant,
  (SELECT count(*) FROM changes WHERE action = a.number AND {0} AND undone = 0) AS open,
  (SELECT count(*) FROM changes WHERE action = a.number) AS everything,
  (SELECT count(*) FROM changes WHERE action = a.number AND undone = 0) AS everything_open
  FROM actions a""".format(
    # Not the other half of a move, nor ZeroClaw's note of when hygiene ran.
    "table_name IN ('memories', 'file', 'memory_audit', 'other_row') AND NOT (table_name = 'file' AND ("
    """instr(coalesce(before, ''), '"moved_from"') + instr(coalesce(after, ''), '"moved_from"')"""
    """ + instr(coalesce(before, ''), '"stays_if_changed"') + instr(coalesce(after, ''), '"stays_if_changed"') > 0))"""
)


@dataclass(frozen=True, slots=True)
class Action:
    """Something a person did to one store. `at` is RFC 3339, `size` in bytes, `until` when the trash drops it.

    `count` is how many rows it changed, `open` how many of them are not undone.
    """

    number: int
    verb: Verb
    at: str
    summary: str
    count: int
    open: int
    size: int
    store: str
    until: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """One journaled change. Of a row that was new, `after` has only id and key; `after_state` is its fingerprint."""

    number: int
    action: int
    verb: Verb
    at: str
    store: str
    before: Row | None
    after: Row | None
    is_undone: bool = False
    after_state: str | None = None

    @property
    def change(self) -> RowChange:
        """The change with its number."""
        return RowChange(self.before, self.after, number=self.number, after_state=self.after_state)

    @property
    def to_turn(self) -> RowChange:
        """The change as one that an undo turns: reversed where it is undone."""
        if self.is_undone:
            return RowChange(self.after, self.before, number=self.number)
        return self.change

    @property
    def states(self) -> tuple[str | None, str | None]:
        """The fingerprints before and after."""
        return _state(self.before), self.after_state or _state(self.after)


@dataclass(frozen=True, slots=True)
class TrashRow:
    """A deleted memory that can be restored. `number` is how commands name it, `size` in bytes with its vector."""

    number: int
    action: int
    verb: Verb
    deleted_at: str
    until: str
    size: int
    row: Row
    store: str


@dataclass(frozen=True, slots=True)
class TrashUsage:
    """What the trash of a config dir has, for all of its stores. `bytes` is the size of its file."""

    rows: int
    bytes: int
    days_kept: int
    bytes_kept: int
    oldest: str | None


class RunningAction(Journal):
    """An action under way. It has the lock until it is finished, left or struck.

    `record`, `withdraw` and the journal of `dropping` block, for the thread that changes a store. Raises Unreadable and
    Locked.
    """

    def __init__(self, trash: Trash, descriptor: int, verb: Verb, summary: str) -> None:
        self._trash, self._descriptor, self._verb = trash, descriptor, verb
        self._guard = threading.Lock()
        self._has_begun = self._forgets = False
        self._last: list[int] = []
        self.number = 0
        self.summary = summary
        self.has_dropped = False
        """Whether earlier versions of rows have left the trash permanently."""
        self._connection = trash.open_to_write()
        try:
            with journal_file.explained(trash.file, "written"), transaction(self._connection):
                self._begin(self._connection, summary)
        except BaseException:
            self._connection.close()
            raise

    def _begin(self, connection: sqlite3.Connection, summary: str) -> None:
        self.number = self._new_action(connection, summary)

    def _new_action(self, connection: sqlite3.Connection, summary: str) -> int:
        now = self._trash.now()
        made = connection.execute(
            "INSERT INTO actions (store, verb, at, moment, summary) VALUES (?, ?, ?, ?, ?)",
            (self._trash.store, self._verb, now.isoformat(), now.timestamp(), bindable(summary)),
        )
        return made.lastrowid or 0

    def record(self, changes: Sequence[RowChange]) -> None:
        """Save what a store is about to change; one durable transaction."""
        with self._transaction() as connection:
            self._record(connection, changes)
        self._has_begun |= bool(changes)

    def _record(self, connection: sqlite3.Connection, changes: Sequence[RowChange]) -> None:
        self._last = [self._insert(connection, self.number, change) for change in changes]

    def withdraw(self) -> None:
        """Remove what the last `record` saved."""
        with self._transaction() as connection:
            _delete(connection, self._last)
        self._last = []

    def _insert(self, connection: sqlite3.Connection, action: int, change: RowChange, *, undone: bool = False) -> int:
        codec, row, before, after = self._trash.codec, change.row, change.before, change.after
        after_state = change.after_state
        if after_state is not None:
            after = Row(row.id, {"key": row.values.get("key")}, row.handle, row.agent)
        content, key = row.values.get("content"), row.values.get("key")
        is_apart = before is not None and isinstance(content, str) and is_unicode(content)
        made = connection.execute(
            "INSERT INTO changes (action, table_name, id, undone, size, key, content, after_state, before, after)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                action, row.table, codec.bound_name(row), undone,
                sum(one.size for one in (before, after) if one is not None),
                searchable(key) if isinstance(key, str) else None,
                content if is_apart else None, after_state,
                None if before is None else codec.pack(before, without_content=is_apart),
                None if after is None else codec.pack(after),
            ),
        )  # fmt: skip
        return made.lastrowid or 0

    def dropping(self) -> Journal:
        """A journal for rows that are deleted permanently: it drops their earlier versions from the trash."""
        return _Dropping(self)

    def forget(self, changes: Sequence[RowChange]) -> None:
        """Drop earlier versions of these rows, and the files that contain their content."""
        self._forgets = True
        with self._transaction() as connection:
            before = connection.total_changes
            self._trash.forget_rows(connection, [change.row for change in changes])
            self.has_dropped |= connection.total_changes > before
        self._has_begun |= bool(changes)

    async def set_summary(self, summary: str) -> None:
        """Change its summary."""
        await self._write(
            lambda connection: connection.execute(
                "UPDATE actions SET summary = ? WHERE number = ?", (bindable(summary), self.number)
            )
        )

    async def finish(self) -> Action | None:
        """Mark it as done, drop what is too old or too much, and release the lock; None if it changed nothing."""
        return await asyncio.to_thread(self._finish)

    async def strike(self) -> None:
        """Nothing of it was done: remove it, and release the lock."""
        try:
            await self._write(
                lambda connection: connection.execute("DELETE FROM changes WHERE action = ?", (self.number,))
            )
        except InspectorError:
            await self.leave()
            raise
        await self.finish()

    async def leave(self) -> None:
        """It failed: release the lock. `Trash.recover` finds out what of it was done."""

        def leave() -> None:
            try:
                with self._guard:
                    self._connection.close()
            finally:
                journal_file.let_go(self._descriptor)

        await asyncio.to_thread(leave)

    async def done(self) -> int | None:
        """After it was left and recovered: how many rows it has changed; None where it is not recovered."""

        def read(connection: sqlite3.Connection) -> int | None:
            found = connection.execute("SELECT is_done FROM actions WHERE number = ?", (self.number,)).fetchone()
            if found is not None and not found[0]:
                return None
            action = self._trash.action_in(connection, self.number)
            return 0 if action is None else action.count

        return await self._trash.read(read)

    def _finish(self) -> Action | None:
        connection, trash = self._connection, self._trash
        try:
            with self._guard, journal_file.explained(trash.file, "written further"), closing(connection):
                with transaction(connection):
                    self._end(connection)
                    _drop_empty(connection)
                if self._forgets:
                    journal_file.wipe(connection)
                return self._ended(connection)
        finally:
            journal_file.let_go(self._descriptor)

    def _end(self, connection: sqlite3.Connection) -> None:
        connection.execute("UPDATE actions SET is_done = 1 WHERE number = ?", (self.number,))

    def _ended(self, connection: sqlite3.Connection) -> Action | None:
        action = self._trash.action_in(connection, self.number)
        if action is not None:
            self._trash.drop_old(connection)
        return action

    async def _write(self, work: Callable[[sqlite3.Connection], object]) -> None:
        def write() -> None:
            with self._transaction() as connection:
                work(connection)

        await asyncio.to_thread(write)

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """One transaction; the sentence of its errors says that nothing changed only before the first batch."""
        verb = "written further" if self._has_begun else "written"
        with self._guard, journal_file.explained(self._trash.file, verb), transaction(self._connection):
            yield self._connection


class _Dropping(Journal):
    def __init__(self, action: RunningAction) -> None:
        self._action = action

    def record(self, changes: Sequence[RowChange]) -> None:
        self._action.forget(changes)

    def withdraw(self) -> None:
        """Earlier versions stay dropped."""


class Turn(RunningAction):
    """An undo, redo or restore of journaled changes.

    The changes are marked before anything is written, and their bits set with each batch; after a kill `Trash.recover`
    sets the bits by what the store shows. Rows that were replaced become an action of their own.
    """

    def __init__(self, trash: Trash, descriptor: int, verb: Verb, numbers: Sequence[int]) -> None:
        self._numbers, self._undone = json.dumps(list(numbers)), verb != "redo"
        self._replaced: int | None = None
        self._before: list[tuple[Any, ...]] = []
        self.is_cancelled = False
        super().__init__(trash, descriptor, verb, "")

    def _begin(self, connection: sqlite3.Connection, summary: str) -> None:
        connection.execute(f"UPDATE changes SET turning = 1 WHERE number IN {_THESE}", (self._numbers,))
        of_these = f"number IN (SELECT action FROM changes WHERE number IN {_THESE})"
        # Of a store that is no longer there, all comes to this one.
        connection.execute(f"UPDATE actions SET store = ? WHERE {of_these}", (self._trash.store, self._numbers))
        if self._undone:
            # The next number, so that what is done later has a higher one.
            connection.execute("UPDATE sqlite_sequence SET seq = seq + 1 WHERE name = 'actions'")
            place = "(SELECT seq FROM sqlite_sequence WHERE name = 'actions')"
            connection.execute(f"UPDATE actions SET turned = {place} WHERE {of_these}", (self._numbers,))
        query = f"SELECT max(action) FROM changes WHERE number IN {_THESE}"
        self.number = connection.execute(query, (self._numbers,)).fetchone()[0] or 0

    def _record(self, connection: sqlite3.Connection, changes: Sequence[RowChange]) -> None:
        """Set the bits of the changes that are turned, and save rows that are replaced."""
        self._last, self._before = [], []
        for change in changes:
            if change.reverses is not None:
                self._turn(connection, change, change.reverses)
            if change.reverses is None or change.replaces:
                self._last.append(self._save(connection, change))

    def withdraw(self) -> None:
        """Remove what the last `record` saved, and put the bits back."""
        with self._transaction() as connection:
            _delete(connection, self._last)
            connection.executemany(
                "UPDATE changes SET turning = 1, undone = ?, content = ?, after_state = ?, before = ?, after = ?"
                " WHERE number = ?",
                self._before,
            )
        self._last, self._before = [], []

    def _turn(self, connection: sqlite3.Connection, change: RowChange, number: int) -> None:
        query = "SELECT undone, content, after_state, before, after, number FROM changes WHERE number = ?"
        row = connection.execute(query, (number,)).fetchone()
        if row is None:
            return
        self._before.append(row)
        connection.execute("UPDATE changes SET turning = 2, undone = ? WHERE number = ?", (self._undone, number))
        old, new = (change.after, change.before) if self._undone else (change.before, change.after)
        _, content, after_state, before, _, _ = row
        codec = self._trash.codec
        if change.row.table == NOTES_FILE:
            # The file as it really is on both sides: another program may have appended to it.
            connection.execute(
                "UPDATE changes SET before = ?, after = ? WHERE number = ?",
                (*(None if one is None else codec.pack(one) for one in (old, new)), number),
            )
        elif change.replaces:
            return
        elif after_state is not None and new is not None and "content" in new.values:
            connection.execute(
                "UPDATE changes SET after_state = NULL, after = ?, size = ? WHERE number = ?",
                (codec.pack(new), new.size, number),
            )
        elif self._undone and old is not None and before is not None:
            was = codec.unpack(before, content)
            if (old.id, old.key) != (was.id, was.key):
                # It came back under another key, or in another place.
                connection.execute(
                    "UPDATE changes SET content = NULL, before = ? WHERE number = ?", (codec.pack(old), number)
                )

    def _save(self, connection: sqlite3.Connection, change: RowChange) -> int:
        if change.row.table not in _MEANT:
            # An agent or a cached vector that comes along: a part of what is turned.
            turned = RowChange(change.after, change.before) if self._undone else change
            return self._insert(connection, self.number, turned, undone=self._undone)
        if self._replaced is None:
            self._replaced = self._new_action(connection, f"replaced by {self._verb} of change {self.number}")
        return self._insert(connection, self._replaced, change)

    def _end(self, connection: sqlite3.Connection) -> None:
        if not self.is_cancelled:
            # Rows that were as wanted before count as turned too; they would be tried again forever.
            query = f"UPDATE changes SET undone = ? WHERE number IN {_THESE}"
            connection.execute(query, (self._undone, self._numbers))
        connection.execute(f"UPDATE changes SET turning = 0 WHERE number IN {_THESE}", (self._numbers,))
        connection.execute("UPDATE actions SET is_done = 1 WHERE number = ?", (self._replaced,))

    def _ended(self, connection: sqlite3.Connection) -> Action | None:
        # A turn drops nothing: what it undid may be wanted again.
        return None

    async def strike(self) -> None:
        """Nothing of it was done."""
        self.is_cancelled = True
        await self.finish()

    async def set_summary(self, summary: str) -> None:
        """The summary of what is turned stays."""

    async def done(self) -> int | None:
        """After it was left and recovered: how many rows were turned; None where it is not recovered."""

        def read(connection: sqlite3.Connection) -> int | None:
            query = f"SELECT max(turning), sum(undone = ?) FROM changes WHERE number IN {_THESE}"
            turning, done = connection.execute(query, (self._undone, self._numbers)).fetchone()
            return None if turning else done or 0

        return await self._trash.read(read)


class Trash:
    """The journal of one config dir, seen from one of its stores; `store` names that: backend and real path.

    Nothing is created on disk before the first change. SQLite runs in threads. Raises Unreadable when trash.db cannot
    be read or written, and Locked.
    """

    def __init__(self, install: Install, store: str, clock: Callable[[], datetime]) -> None:
        self.file = install.own_dir / NAME
        self.store = store
        self.now = clock
        self.codec = RowCodec(install.config_dir)
        self._install = install
        self._begun_here: set[int] = set()

    def was_begun_here(self, action: int) -> bool:
        """Whether an action was begun or turned by this object, not in an earlier session or by another process."""
        return action in self._begun_here

    def limits(self) -> tuple[int, int]:
        """For how many days, and up to how many bytes, the trash keeps changes."""
        return trash_limits(self._install)

    async def begin(self, verb: Verb, summary: str) -> RunningAction:
        """Begin an action. Raises Locked while another process changes something of this config dir."""
        return await self._begun(lambda descriptor: RunningAction(self, descriptor, verb, summary))

    async def turn(self, verb: Verb, numbers: Sequence[int]) -> Turn:
        """Begin an undo, redo or restore of these changes. Raises Locked."""
        return await self._begun(lambda descriptor: Turn(self, descriptor, verb, numbers))

    async def _begun(self, make: Callable[[int], Answer]) -> Answer:
        descriptor = await self._lock()
        try:
            action = await asyncio.to_thread(make, descriptor)
        except BaseException:
            journal_file.let_go(descriptor)
            raise
        if isinstance(action, RunningAction):
            self._begun_here.add(action.number)
        return action

    async def recover(self, memory: Memory) -> None:
        """Settle what was cut off: changes that were recorded but not made go, and each change of a turn is done or
        undone as the store shows it. Does nothing while an action is under way."""
        if not any(await self.read(self._pending) or ()):
            return
        descriptor = await asyncio.to_thread(journal_file.try_lock, self.file.with_name(LOCK))
        if descriptor is None:
            return
        try:
            begun, turning = await self.read(self._pending) or ([], [])
            for action in begun:
                versions = await self._of_action(action)
                reached = await _reached(versions, memory)
                going = [version.number for version in versions if not reached.get(version.number, True)]
                await self._write(partial(_settle, action=action, going=going))
            versions = await self.versions(await self.read(_written) or [])
            bits = [(not done, number) for number, done in (await _reached(versions, memory)).items()]
            await self._write(lambda connection: _settle_turn(connection, bits, turning), wipes=bool(begun))
        finally:
            journal_file.let_go(descriptor)

    def _pending(self, connection: sqlite3.Connection) -> tuple[list[int], list[int]]:
        begun = _numbers(connection, "SELECT number FROM actions WHERE is_done = 0 AND store = ?", self.store)
        query = (
            "SELECT c.number FROM changes c JOIN actions a ON a.number = c.action"
            " WHERE c.turning > 0 AND a.store = ? ORDER BY c.number"
        )
        turning = _numbers(connection, query, self.store)
        return begun, turning

    async def _of_action(self, action: int) -> list[Version]:
        numbers = await self.read(lambda connection: _of_action(connection, action)) or []
        return await self.versions(numbers)

    async def last(self) -> Action | None:
        """The last action on this store of which something is not undone."""

        def read(connection: sqlite3.Connection) -> Action | None:
            found = self._actions(
                connection,
                "a.store = ? AND iif(meant > 0, open, everything_open) > 0 ORDER BY a.number DESC LIMIT 1",
                self.store,
            )
            return found[0] if found else None

        return await self.read(read)

    async def last_undone(self) -> Action | None:
        """The action that was undone last, if no other change came since."""

        def read(connection: sqlite3.Connection) -> Action | None:
            condition = f"""a.store = ? AND a.turned IS NOT NULL
              AND EXISTS (SELECT 1 FROM changes WHERE action = a.number AND undone = 1)
              AND NOT EXISTS (SELECT 1 FROM actions later WHERE later.store = a.store AND later.number > a.turned
                AND later.verb NOT IN {TURNS}) ORDER BY a.turned DESC LIMIT 1"""
            found = self._actions(connection, condition, self.store)
            return found[0] if found else None

        return await self.read(read)

    async def numbers_to_turn(self, action: int, verb: Literal["undo", "redo"]) -> list[int]:
        """The changes that an undo of an action undoes, the newest first, or that a redo does again, the oldest
        first."""

        def read(connection: sqlite3.Connection) -> list[int]:
            order, undone = ("DESC", 0) if verb == "undo" else ("ASC", 1)
            query = f"SELECT number FROM changes WHERE action = ? AND undone = ? ORDER BY number {order}"
            return _numbers(connection, query, action, undone)

        return await self.read(read) or []

    async def actions(self, limit: int = 100) -> list[Action]:
        """What was done to this store, the newest first."""
        condition = "a.store = ? ORDER BY a.number DESC LIMIT ?"
        return await self.read(lambda connection: self._actions(connection, condition, self.store, limit)) or []

    async def action(self, number: int) -> Action:
        """One action. Raises NotFound."""
        found = await self.read(lambda connection: self.action_in(connection, number))
        if found is None:
            raise NotFound(f"The trash has no change {number}.", hint="The trash may have dropped it.")
        return found

    def action_in(self, connection: sqlite3.Connection, number: int) -> Action | None:
        """One action; None where there is none."""
        found = self._actions(connection, "a.number = ?", number)
        return found[0] if found else None

    def _actions(self, connection: sqlite3.Connection, condition: str, *values: Any) -> list[Action]:
        days = timedelta(days=self.limits()[0])
        rows = connection.execute(f"{_ACTIONS} WHERE {condition}", values).fetchall()
        return [
            Action(
                number, verb, at, text_of(summary),
                *((meant, opened) if meant else (everything, everything_open)),
                size, store, (datetime.fromisoformat(at) + days).isoformat(),
            )
            for number, verb, at, summary, store, size, meant, opened, everything, everything_open in rows
        ]  # fmt: skip

    def open_changes(self, action: int) -> Batches:
        """The changes of an action that are not undone, the last first, in batches."""
        query = "SELECT number FROM changes WHERE action = ? AND undone = 0 ORDER BY number DESC"
        return lambda: self._batches(lambda connection: _numbers(connection, query, action))

    def changes_numbered(self, numbers: Sequence[int]) -> Batches:
        """The changes of these numbers, in their order, in batches, each as something that can be undone: one that is
        undone already is reversed."""
        wanted = list(dict.fromkeys(numbers))

        def read() -> Iterator[Sequence[RowChange]]:
            for batch in self._batched_versions(lambda connection: wanted):
                yield [version.to_turn for version in batch if not (version.is_undone and version.after_state)]

        return read

    async def tables_of(self, numbers: Sequence[int]) -> dict[int, str]:
        """The table of each of these changes, in their order."""

        def read(connection: sqlite3.Connection) -> dict[int, str]:
            query = f"SELECT number, table_name FROM changes WHERE number IN {_THESE}"
            found = dict(connection.execute(query, (json.dumps(numbers),)))
            return {number: found[number] for number in numbers if number in found}

        return await self.read(read) or {}

    async def listing(
        self, contains: str = "", *, limit: int = 200, offset: int = 0, every_store: bool = False
    ) -> tuple[list[TrashRow], int]:
        """Deleted memories, the newest deletion first, and how many there are in all.

        `contains` is looked for in key and content, ignoring case.
        """
        store = None if every_store else self.store

        def read(connection: sqlite3.Connection) -> tuple[list[TrashRow], int]:
            everything = _in_trash(connection, store, contains)
            return self._trash_rows(connection, everything[offset : offset + limit]), len(everything)

        return await self.read(read) or ([], 0)

    async def numbers(self, contains: str = "", *, action: int | None = None) -> list[int]:
        """The numbers of all that `listing` gives for this store, or of one action's."""
        return await self.read(lambda connection: _in_trash(connection, self.store, contains, action)) or []

    async def row(self, number: int) -> TrashRow:
        """One deleted memory. Raises NotFound when it was restored or the trash has dropped it."""

        def read(connection: sqlite3.Connection) -> list[TrashRow]:
            query = f"SELECT c.number FROM changes c WHERE c.number = ? AND {_IN_TRASH}"
            return self._trash_rows(connection, _numbers(connection, query, number))

        for row in await self.read(read) or []:
            return row
        raise NotFound(f"The trash has no memory {number}.", hint="It was restored, or the trash has dropped it.")

    def _trash_rows(self, connection: sqlite3.Connection, numbers: Sequence[int]) -> list[TrashRow]:
        days = timedelta(days=self.limits()[0])
        return [
            TrashRow(
                one.number, one.action, one.verb, one.at, (datetime.fromisoformat(one.at) + days).isoformat(),
                row.size, row, one.store,
            )
            for one in self._versions(connection, numbers)
            if (row := one.before) is not None
        ]  # fmt: skip

    async def history(self, id: str) -> list[Version]:
        """The changes of the memory of this id, the newest first."""
        return await self.read(lambda connection: self._versions(connection, self._of_id(connection, id))) or []

    def _of_id(self, connection: sqlite3.Connection, id: str) -> list[int]:
        query = """SELECT c.number FROM changes c JOIN actions a ON a.number = c.action
          WHERE c.id = ? AND a.store = ? AND c.table_name = ? ORDER BY c.number DESC"""
        found = _numbers(connection, query, bindable(id), self.store, MEMORIES)
        return self._grown(connection, self.store, [found[0]]) if found and ids_move(self.store) else found

    async def history_of_file(self, path: str) -> list[Version]:
        """The changes of a file outside of the store, the newest first."""
        name = self.codec.bound_name(Row(path, {}, table=FILE))
        query = "SELECT number FROM changes WHERE id = ? AND table_name = ? ORDER BY number DESC"
        found = await self.read(lambda connection: self._versions(connection, _numbers(connection, query, name, FILE)))
        return found or []

    async def numbers_of_change(self, action: int) -> list[int]:
        """The changes of an action that a person meant, in the order in which they were made."""

        def read(connection: sqlite3.Connection) -> list[int]:
            meant = f"AND table_name IN {_MEANT}"
            return _of_action(connection, action, meant) or _of_action(connection, action)

        return await self.read(read) or []

    async def versions(self, numbers: Sequence[int]) -> list[Version]:
        """The changes of these numbers, in their order, without those that are gone."""
        return await self.read(lambda connection: self._versions(connection, numbers)) or []

    async def forget_change(self, action: int) -> None:
        """Drop an action permanently, with earlier versions of its memories. Zeroes what they used."""

        def forget(connection: sqlite3.Connection) -> None:
            self._forget(connection, _of_action(connection, action))
            connection.execute("DELETE FROM changes WHERE action = ?", (action,))
            _drop_empty(connection)

        await self._let_go(forget)

    async def usage(self) -> TrashUsage:
        """How much the trash has and how long it keeps it."""
        days, most_bytes = self.limits()

        def read(connection: sqlite3.Connection) -> tuple[int, str | None]:
            oldest = connection.execute("SELECT at FROM actions ORDER BY moment LIMIT 1").fetchone()
            return len(_in_trash(connection, None)), None if oldest is None else oldest[0]

        rows, oldest = await self.read(read) or (0, None)
        return TrashUsage(rows, journal_file.size_on_disk(self.file), days, most_bytes, oldest)

    async def empty(self, numbers: Sequence[int] | None = None) -> int:
        """Drop these deleted memories and their earlier versions permanently, or everything of this store; gives how
        many memories. Zeroes what they used."""
        if not self.file.exists():
            return 0

        def drop(connection: sqlite3.Connection) -> int:
            if numbers is None:
                going = _in_trash(connection, self.store)
                of_store = "action IN (SELECT number FROM actions WHERE store = ?)"
                connection.execute(f"DELETE FROM changes WHERE {of_store}", (self.store,))
            else:
                going = sorted(set(numbers).intersection(_in_trash(connection, None)))
                self._forget(connection, going)
            _drop_empty(connection)
            return len(going)

        return await self._let_go(drop)

    async def erase(
        self, contains: Callable[[Row], bool], names: Callable[[str], bool], *, dry_run: bool = False
    ) -> int:
        """Drop permanently every change, of any store, with a row of which `contains` is true, and the summaries of
        which `names` is true; gives how many both are. Zeroes what they used. With `dry_run` it only counts them."""
        if not self.file.exists():
            return 0

        def find(connection: sqlite3.Connection) -> tuple[list[int], list[int]]:
            every = _numbers(connection, "SELECT number FROM changes")
            found = [
                version.number
                for some in self._batched(connection, every)
                for version in some
                if any(map(contains, filter(None, (version.before, version.after))))
            ]
            summaries = connection.execute("SELECT number, summary FROM actions").fetchall()
            return found, [number for number, summary in summaries if names(text_of(summary))]

        if dry_run:
            return sum(map(len, await self.read(find) or ()))

        def erase(connection: sqlite3.Connection) -> int:
            found, named = find(connection)
            _delete(connection, found)
            connection.executemany(
                "UPDATE actions SET summary = verb || ' (its words were erased)' WHERE number = ?",
                ((number,) for number in named),
            )
            _drop_empty(connection)
            return len(found) + len(named)

        return await self._let_go(erase)

    def forget_rows(self, connection: sqlite3.Connection, rows: Sequence[Row]) -> None:
        """Drop every version of these rows, and of files with their content."""
        contents = {row.values.get("content") for row in rows} - {None, ""}
        of_store = "action IN (SELECT number FROM actions WHERE store = ?)"
        if ids_move(self.store):
            same = [one.number for one in self._memories(connection, self.store) if contents & _contents(one)]
            self._forget(connection, same)
        else:
            connection.executemany(
                f"DELETE FROM changes WHERE id = ? AND table_name = ? AND {of_store}",
                [(bindable(row.id), row.table, self.store) for row in rows],
            )
        texts = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in contents]
        query = f"SELECT number FROM changes WHERE table_name = ? AND {of_store}"
        files = _numbers(connection, query, FILE, self.store)
        going = [
            version.number
            for some in self._batched(connection, files)
            for version in some
            if any(text in data for data in _bytes_of(version) for text in texts if isinstance(text, bytes))
        ]
        _delete(connection, going)

    def _forget(self, connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
        """Drop deleted memories with their earlier versions, and the notes files that have them as lines."""
        by_store: dict[str, list[Version]] = {}
        for version in self._versions(connection, numbers):
            by_store.setdefault(version.store, []).append(version)
        for store, versions in by_store.items():
            if not ids_move(store):
                connection.executemany(
                    "DELETE FROM changes WHERE id = ? AND table_name = ? AND number <= ?"
                    " AND action IN (SELECT number FROM actions WHERE store = ?)",
                    [(self.codec.bound_name(row), row.table, one.number, store)
                     for one in versions if (row := one.change.row)],
                )  # fmt: skip
                continue
            going = self._versions(connection, self._grown(connection, store, [one.number for one in versions]))
            lines = {text for one in going for text in _contents(one)}
            query = f"{_CHANGES} WHERE a.store = ? AND c.table_name = ?"
            notes = [
                version.number
                for version in map(self._version, connection.execute(query, (store, NOTES_FILE)))
                if any(lines & _lines_in(data) for data in _bytes_of(version))
            ]
            _delete(connection, [one.number for one in going] + notes)

    def _memories(self, connection: sqlite3.Connection, store: str) -> list[Version]:
        query = f"{_CHANGES} WHERE a.store = ? AND c.table_name = ? ORDER BY c.number DESC"
        return [self._version(row) for row in connection.execute(query, (store, MEMORIES))]

    def _grown(self, connection: sqlite3.Connection, store: str, numbers: Sequence[int]) -> list[int]:
        """These changes and the earlier ones of the text that they grew out of, the newest first: where ids are places
        in a file, an id names another memory tomorrow."""
        found: list[int] = []
        texts: set[object] = set()
        for version in self._memories(connection, store):
            after = None if version.after is None else version.after.values.get("content")
            if version.number in numbers or (after is not None and after in texts):
                found.append(version.number)
                texts |= set() if version.before is None else {version.before.values.get("content")}
        return found

    def open_to_write(self) -> sqlite3.Connection:
        """A connection that writes; the caller has the lock. Converts the trash of an earlier version."""
        connection = journal_file.for_writing(self.file)
        try:
            if connection.execute("PRAGMA user_version").fetchone()[0] < journal_file.VERSION:
                convert(
                    connection, self.file, self.codec, self._install.config_dir and self._install.config_dir.resolve()
                )
        except BaseException:
            connection.close()
            raise
        return connection

    def drop_old(self, connection: sqlite3.Connection) -> None:
        """Drop actions that are too old, then the oldest until the size is within its limit; never the newest."""
        days, most_bytes = self.limits()
        now = self.now().timestamp()
        # What cannot be dropped now is dropped after the next action.
        with suppress(sqlite3.Error, OSError):
            actions = connection.execute(
                "SELECT number, moment, (SELECT coalesce(sum(size), 0) FROM changes WHERE action = a.number)"
                " FROM actions a ORDER BY number"
            ).fetchall()
            newest, moment, _ = actions[-1]
            # A clock that is behind the newest action is wrong, and may have been when the others were made.
            is_clock_wrong = now < moment - _DAY
            going = [n for n, at, _ in actions if n != newest and at < now - days * _DAY and not is_clock_wrong]
            used = journal_file.bytes_used(connection)[0]
            # An action takes its share of the file, indexes and all.
            bytes_each = used / max(1, sum(size for _, _, size in actions))
            used -= int(sum(size for n, _, size in actions if n in going) * bytes_each)
            for number, _, size in actions[:-1]:
                if used <= most_bytes:
                    break
                if number not in going:
                    going.append(number)
                    used -= int(size * bytes_each)
            if going:
                with transaction(connection):
                    connection.executemany("DELETE FROM changes WHERE action = ?", ((one,) for one in going))
                    _drop_empty(connection)
                journal_file.wipe(connection)
            backup = self.file.with_name(BACKUP)
            if backup.exists() and backup.stat().st_mtime < now - BACKUP_DAYS * _DAY:
                backup.unlink()

    async def _lock(self) -> int:
        until = time.monotonic() + LOCK_SECONDS
        while (descriptor := await asyncio.to_thread(journal_file.try_lock, self.file.with_name(LOCK))) is None:
            if time.monotonic() >= until:
                raise Locked("Another inspector is changing this install.", hint="Try again when it has finished.")
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        return descriptor

    async def _write(self, work: Callable[[sqlite3.Connection], Answer], *, wipes: bool = False) -> Answer:
        """What `work` gives, in one transaction; the caller has the lock. With `wipes` what it dropped is zeroed."""

        def write() -> Answer:
            with (
                journal_file.explained(self.file, "written"),
                closing(self.open_to_write()) as connection,
            ):
                with transaction(connection):
                    answer = work(connection)
                if wipes:
                    with suppress(InspectorError):
                        self._wipe(connection)
            return answer

        return await asyncio.to_thread(write)

    async def _let_go(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """What `work` gives, under the lock; what it drops is zeroed, and the backup of an earlier version goes."""
        descriptor = await self._lock()

        def drop() -> Answer:
            with journal_file.explained(self.file, "written"), closing(self.open_to_write()) as connection:
                with transaction(connection):
                    answer = work(connection)
                self._wipe(connection)
            self.file.with_name(BACKUP).unlink(missing_ok=True)
            return answer

        try:
            return await asyncio.to_thread(drop)
        finally:
            journal_file.let_go(descriptor)

    def _wipe(self, connection: sqlite3.Connection) -> None:
        try:
            with journal_file.explained(self.file, "written further"):
                journal_file.wipe(connection)
        except InspectorError as error:
            error.message = (
                f"It was permanently deleted from the trash, but the file may still contain it. {error.message}"
            )
            error.hint = f"Empty the trash again to clean the file. {error.hint}"
            raise

    async def read(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer | None:
        """What `work` gives; None when there is no trash."""

        def read() -> Answer | None:
            connection = self._open_to_read()
            if connection is None:
                return None
            with closing(connection), journal_file.explained(self.file, "read"):
                return work(connection)

        return await asyncio.to_thread(read)

    def _open_to_read(self) -> sqlite3.Connection | None:
        """A connection that reads; None when there is no trash. Converts the trash of an earlier version."""
        connection = journal_file.for_reading(self.file)
        if connection is None or connection.execute("PRAGMA user_version").fetchone()[0] == journal_file.VERSION:
            return connection
        connection.close()
        descriptor = journal_file.try_lock(self.file.with_name(LOCK))
        if descriptor is None:
            raise Locked("Another inspector is changing this install.", hint="Try again when it has finished.")
        try:
            self.open_to_write().close()
        finally:
            journal_file.let_go(descriptor)
        return journal_file.for_reading(self.file)

    def _versions(self, connection: sqlite3.Connection, numbers: Sequence[int]) -> list[Version]:
        rows = connection.execute(f"{_CHANGES} WHERE c.number IN {_THESE}", (json.dumps(numbers),))
        found = {row[0]: self._version(row) for row in rows}
        return [found[number] for number in numbers if number in found]

    def _version(self, row: Sequence[Any]) -> Version:
        number, action, undone, verb, at, store, content, before, after, after_state = row
        unpack = self.codec.unpack
        return Version(
            number, action, verb, at, store,
            None if before is None else unpack(before, content), None if after is None else unpack(after),
            bool(undone), after_state,
        )  # fmt: skip

    def _batched(self, connection: sqlite3.Connection, numbers: Sequence[int]) -> Iterator[list[Version]]:
        query = f"SELECT number, size FROM changes WHERE number IN {_THESE}"
        sizes = dict(connection.execute(query, (json.dumps(numbers),)).fetchall())
        some: list[int] = []
        size = 0
        for number in filter(sizes.__contains__, numbers):
            size += sizes[number]
            if some and (len(some) == BATCH or size > BATCH_BYTES):
                yield self._versions(connection, some)
                some, size = [], sizes[number]
            some.append(number)
        if some:
            yield self._versions(connection, some)

    def _batches(self, choose: Callable[[sqlite3.Connection], Sequence[int]]) -> Iterator[Sequence[RowChange]]:
        for batch in self._batched_versions(choose):
            yield [version.change for version in batch]

    def _batched_versions(self, choose: Callable[[sqlite3.Connection], Sequence[int]]) -> Iterator[list[Version]]:
        connection = self._open_to_read()
        if connection is None:
            return
        with closing(connection), journal_file.explained(self.file, "read"):
            yield from self._batched(connection, choose(connection))


_DAY = 24 * 60 * 60


def store_name(backend: str, location: str, config_dir: Path | None = None) -> str:
    """The name of a store in the trash: its backend and its real path, a URL or a bare name as it is.

    Within `config_dir` the path is relative to it, so that a config dir can be moved with all it contains.
    """
    if "://" not in location and (os.sep in location or os.path.exists(location)):
        location = os.path.realpath(location)
        if config_dir is not None and Path(location).is_relative_to(home := os.path.realpath(config_dir)):
            location = os.path.relpath(location, home)
    name = f"{backend}:{location}"
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def ids_move(store: str) -> bool:
    """Whether an id of this store names another memory tomorrow: those of Markdown are places in a file."""
    return store.startswith("markdown:")


async def _reached(versions: Sequence[Version], memory: Memory) -> dict[int, bool]:
    """Whether the store and the files show each change as done, by number. A row in neither state is left out."""
    lines_of_file = _lines_by_file(versions)
    lines = {number for numbers in lines_of_file.values() for number in numbers}
    chains: dict[tuple[str, str], list[Version]] = {}
    for version in versions:
        if version.number not in lines:
            chains.setdefault((version.change.row.table, version.change.row.id), []).append(version)
    present: dict[tuple[str, str], str | None] = {}
    ids = [one for table, one in chains if table == MEMORIES]
    for start in range(0, len(ids), BATCH):
        some = ids[start : start + BATCH]
        found = await rows_by_id(memory, some)
        present |= {(MEMORIES, one): found[one].fingerprint if one in found else None for one in some}
    present |= await asyncio.to_thread(_external_states, versions)
    reached: dict[int, bool] = {}
    for name, chain in chains.items():
        states = [chain[0].states[0], *(version.states[1] for version in chain)]
        for done in range(len(chain), -1, -1):
            if name in present and states[done] == present[name]:
                reached |= {version.number: at < done for at, version in enumerate(chain)}
                break
    for file, numbers in lines_of_file.items():
        reached |= {number: reached[file] for number in numbers if file in reached}
    known = [reached[one.number] for one in versions if one.change.row.table == MEMORIES and one.number in reached]
    if known and len(set(known)) == 1:
        # Agents and cached vectors change in the same transaction as the memories they belong to.
        reached = {version.number: known[0] for version in versions if version.number not in reached} | reached
    return reached


def _lines_by_file(versions: Sequence[Version]) -> dict[int, list[int]]:
    """The changes of lines that a Markdown store recorded right before the change of their file, by its number."""
    lines: list[int] = []
    by_file: dict[int, list[int]] = {}
    for version in versions:
        if version.change.row.table == MEMORIES:
            lines.append(version.number)
        elif version.change.row.table == NOTES_FILE:
            by_file[version.number], lines = lines, []
    return by_file


def _in_trash(
    connection: sqlite3.Connection, store: str | None, contains: str = "", action: int | None = None
) -> list[int]:
    """The numbers of deleted memories, of one store or of all, the newest deletion first."""
    where, values = _IN_TRASH, list[Any]()
    if store is not None:
        where, values = f"{where} AND a.store = ?", [store]
    if action is not None:
        where, values = f"{where} AND c.action = ?", [*values, action]
    if contains:
        # SQLite knows the cases of ASCII letters only.
        connection.create_function("folded_contains", 2, _folded_contains, deterministic=True)
        where = f"{where} AND (folded_contains(c.key, ?) OR folded_contains(c.content, ?))"
        values = [*values, *[bindable(contains.casefold())] * 2]
    query = f"SELECT c.number FROM changes c JOIN actions a ON a.number = c.action WHERE {where} ORDER BY c.number DESC"
    return _numbers(connection, query, *values)


def _folded_contains(text: object, needle: str) -> bool:
    return isinstance(text, str) and needle in text.casefold()


def _numbers(connection: sqlite3.Connection, query: str, *values: Any) -> list[int]:
    return [number for (number,) in connection.execute(query, values)]


def _of_action(connection: sqlite3.Connection, action: int, condition: str = "") -> list[int]:
    return _numbers(connection, f"SELECT number FROM changes WHERE action = ? {condition} ORDER BY number", action)


def _delete(connection: sqlite3.Connection, numbers: Iterable[int]) -> None:
    connection.executemany("DELETE FROM changes WHERE number = ?", ((number,) for number in numbers))


def _drop_empty(connection: sqlite3.Connection) -> None:
    connection.execute("DELETE FROM actions WHERE is_done = 1 AND number NOT IN (SELECT action FROM changes)")


def _written(connection: sqlite3.Connection) -> list[int]:
    """The changes of a turn that was cut off whose bits were set: only these can be done."""
    return _numbers(connection, "SELECT number FROM changes WHERE turning = 2 ORDER BY number")


def _settle(connection: sqlite3.Connection, action: int, going: Sequence[int]) -> None:
    _delete(connection, going)
    connection.execute("UPDATE actions SET is_done = 1 WHERE number = ?", (action,))
    _drop_empty(connection)


def _settle_turn(connection: sqlite3.Connection, bits: Sequence[tuple[bool, int]], turning: Sequence[int]) -> None:
    connection.executemany("UPDATE changes SET undone = ? WHERE number = ?", bits)
    connection.execute(f"UPDATE changes SET turning = 0 WHERE number IN {_THESE}", (json.dumps(turning),))


def _contents(version: Version) -> set[Value]:
    rows = filter(None, (version.before, version.after))
    return {row.values.get("content") for row in rows} - {None}


def _bytes_of(version: Version) -> list[bytes]:
    values = [row.values.get("bytes") for row in (version.before, version.after) if row is not None]
    return [value for value in values if isinstance(value, bytes)]


def _lines_in(data: bytes) -> set[Value]:
    text = data.decode("utf-8", "surrogateescape")
    return {line.strip(WHITE_SPACE).removeprefix("- ") for line in text.split("\n")}


def _state(row: Row | None) -> str | None:
    return None if row is None else row.fingerprint


def _external_states(versions: Sequence[Version]) -> dict[tuple[str, str], str | None]:
    """The present states of files and of rows in other databases. Blocks."""
    rows = [row for version in versions for row in (version.before, version.after) if row is not None]
    external = [row for row in rows if row.table in (FILE, NOTES_FILE, AUDIT_LOG, OTHER_ROW)]
    states = current_states(external)
    return {(row.table, row.id): states[row.id] for row in external}
