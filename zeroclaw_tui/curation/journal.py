"""The journal of an install, trash.db: rows before and after each change, so that any change can be undone.

A change is done or undone. Undo, redo and restore flip that state; they are not listed as actions themselves.
"""

from __future__ import annotations

import asyncio
import json
import os
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from zeroclaw_tui.backends.lookup import rows_by_id
from zeroclaw_tui.curation import journal_records as records
from zeroclaw_tui.curation.external import current_states
from zeroclaw_tui.curation.journal_file import JournalFile, Result
from zeroclaw_tui.curation.journal_records import EXTERNAL, LISTED, OF_STORE, REVERSALS, Action, Verb, Version
from zeroclaw_tui.files.database import transaction
from zeroclaw_tui.memory.change import FILE, MEMORIES, NOTES_FILE, OTHER_ROW, Journal, Row, RowChange
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.errors import NotFound

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.config.locations import Install

RowName = tuple[str, str]
"""The table and the id of a row."""

_BATCH = 250


class Trash:
    """The journal of a config directory, for one of its stores. Raises Unreadable, DiskFull and Locked."""

    def __init__(self, install: Install, store: str, clock: Callable[[], datetime]) -> None:
        self.store, self.now = store, clock
        self._file = JournalFile(install, store, clock)
        self._codec = self._file.codec
        self.begun_here: set[int] = set()
        """The actions that this object began or reversed, rather than another session or program."""

    @property
    def file(self) -> Path:
        return self._file.path

    # Changing

    async def begin(
        self, verb: Verb, summary: str, *, permanently: bool = False, reversing: Sequence[int] = ()
    ) -> RunningAction:
        """Begin an action, or an undo, redo or restore of the changes `reversing`.

        Raises Locked while another process is changing something in this config directory.
        """
        kind = PermanentDeletion if permanently else RunningAction
        start = partial(Reversal, numbers=reversing) if reversing else kind
        descriptor = await self._file.lock()
        try:
            action = await asyncio.to_thread(start, self._file, descriptor, verb, summary)
        except BaseException:
            os.close(descriptor)
            raise
        self.begun_here |= {action.number, action.reversed_action}
        return action

    async def recover(self, memory: Memory) -> None:
        """End killed actions, and delete their changes that are not in the store. Does nothing while an action runs."""
        begun = "SELECT number FROM actions WHERE is_done = 0 AND store = ?"
        if not await self._numbers(begun, self.store):
            return
        descriptor = await asyncio.to_thread(self._file.try_lock)
        if descriptor is None:
            return
        try:
            for action in await self._numbers(begun, self.store):
                done = await _find_done((await self._versions("a.number = ?", action))[::-1], memory)
                undone = [number for number, is_done in done.items() if not is_done]
                await self._file.write(partial(records.end_action, action=action, undone=undone))
        finally:
            os.close(descriptor)

    # Actions

    async def actions(self, limit: int = 100) -> list[Action]:
        """Return the actions on this store, the newest first."""
        newest = "SELECT number FROM actions WHERE store = ? ORDER BY number DESC LIMIT ?"
        return await self._actions(f"a.number IN ({newest})", self.store, limit)

    async def last(self) -> Action | None:
        """Return the last action on this store that is not completely undone."""
        # After a killed undo of a move only the new file may be left to undo, which is not counted.
        is_open = "action = actions.number AND undone = 0 AND (is_counted OR table_name = ?)"
        newest = f"SELECT max(number) FROM actions WHERE store = ? AND EXISTS (SELECT 1 FROM changes WHERE {is_open})"
        return next(iter(await self._actions(f"a.number = ({newest})", self.store, FILE)), None)

    async def last_undone(self) -> Action | None:
        """Return the last undone action, unless another change was made since."""
        condition = f"""a.number = (SELECT number FROM actions WHERE store = ? AND turned IS NOT NULL
          AND EXISTS (SELECT 1 FROM changes WHERE action = actions.number AND undone = 1)
          AND NOT EXISTS (SELECT 1 FROM actions later WHERE later.store = actions.store
            AND later.number > actions.turned AND later.verb NOT IN {REVERSALS}) ORDER BY turned DESC LIMIT 1)"""
        return next(iter(await self._actions(condition, self.store)), None)

    async def action(self, number: int) -> Action:
        """Return one action. Raises NotFound."""
        for action in await self._actions("a.number = ?", number):
            return action
        raise NotFound(f"The trash has no change {number}.", hint="It may have been too old for the trash.")

    async def _actions(self, condition: str, *values: Any) -> list[Action]:
        return await self._list(lambda connection: records.find_actions(connection, condition, *values))

    # Changes

    async def numbers_to_reverse(self, action: int, verb: Literal["undo", "redo"]) -> list[int]:
        """Return the changes of an action to undo, the newest first, or to redo, the oldest first."""
        condition = "undone = 0 ORDER BY number DESC" if verb == "undo" else "undone = 1 ORDER BY number"
        return await self._numbers(f"SELECT number FROM changes WHERE action = ? AND {condition}", action)

    async def versions_of(self, action: int, limit: int) -> list[Version]:
        """Return the first changes of an action in order, without those that only accompany others."""
        first = "SELECT number FROM changes WHERE action = ? AND is_counted ORDER BY number LIMIT ?"
        return (await self._versions(f"c.number IN ({first})", action, limit))[::-1]

    def changes_to_reverse(self, wanted: Sequence[int], *, outside: bool | None = None) -> Iterator[RowChange]:
        """Yield the changes with these numbers in order, ready to be undone; an undone one is reversed, to be redone.
        `outside` selects only those of files and other databases; False selects only the others. Blocks."""
        with self._file.reading() as connection:
            if connection is None:
                return
            tables = "1" if outside is None else f"c.table_name {'' if outside else 'NOT'} IN {(FILE, OTHER_ROW)}"
            for version in records.find_versions(connection, self._codec, wanted, tables):
                if not version.is_undone:
                    yield version.change
                elif not version.after_state:
                    # A change whose new row is not in the journal cannot be redone.
                    yield RowChange(version.after, version.before, number=version.number)

    async def history(self, id: str) -> list[Version]:
        """Return the changes of the memory with this id, newest first; if ids move, only those of the newest text."""
        condition = "c.id = ? AND c.table_name = ? AND a.store = ?"
        found = await self._versions(condition, records.bindable(id), MEMORIES, self.store)
        if not records.ids_move(self.store):
            return found
        return [version for version in found if records.contents_of(version.rows) & records.contents_of(found[0].rows)]

    async def _versions(self, condition: str, *values: Any) -> list[Version]:
        find = partial(records.versions_where, codec=self._codec, condition=condition, values=values)
        return await self._list(find)

    async def _numbers(self, query: str, *values: Any) -> list[int]:
        return await self._list(lambda connection: records.numbers(connection, query, *values))

    async def _list(self, find: Callable[[sqlite3.Connection], Iterable[Result]]) -> list[Result]:
        return await self._file.read(lambda connection: list(find(connection))) or []

    # The trash

    async def listing(self, contains: str = "", *, limit: int = 200, offset: int = 0) -> tuple[list[Version], int]:
        """Return deleted memories with a text in key or content, ignoring case, newest first, and their number."""
        numbers = await self.numbers(contains)
        page = numbers[offset : offset + limit]
        return await self._versions(f"c.number IN {LISTED}", json.dumps(page)), len(numbers)

    async def numbers(self, contains: str = "") -> list[int]:
        """Return the numbers of all memories in the trash with a text in key or content."""
        needle = contains.casefold()

        def find(connection: sqlite3.Connection) -> list[int]:
            numbers = records.numbers_in_trash(connection, self.store)
            if not contains:
                return numbers
            versions = records.find_versions(connection, self._codec, numbers)
            return [
                version.number
                for version in versions
                if any(needle in as_text(version.row.values.get(name)).casefold() for name in ("key", "content"))
            ]

        return await self._list(find)

    async def usage(self) -> dict[str, Any]:
        """Return rows, file size in bytes, limits and the time of the oldest change, for all stores of the install."""

        def read(connection: sqlite3.Connection) -> tuple[int, str | None]:
            oldest = connection.execute("SELECT at FROM actions ORDER BY moment LIMIT 1").fetchone()
            return len(records.numbers_in_trash(connection, None)), None if oldest is None else oldest[0]

        rows, oldest = await self._file.read(read) or (0, None)
        limits = {"days_kept": records.TRASH_DAYS, "bytes_kept": records.TRASH_BYTES}
        return {"rows": rows, "bytes": self._file.size(), **limits, "oldest": oldest}

    # Deleting permanently

    async def empty(self) -> int:
        """Delete all changes of this store, zeroed on disk; return the number of deleted memories among them."""
        if not self.file.exists():
            return 0

        def delete(connection: sqlite3.Connection) -> int:
            numbers = records.numbers_in_trash(connection, self.store)
            connection.execute(f"DELETE FROM changes WHERE {OF_STORE}", (self.store,))
            records.delete_empty_actions(connection)
            return len(numbers)

        return await self._file.erase(delete)

    async def count_texts(self, in_row: Callable[[Row], bool], in_text: Callable[[str], bool]) -> tuple[int, list[int]]:
        """Count what `erase` would erase, and return the actions of this store that could no longer be undone."""
        changes, actions = await self._file.read(partial(self._find_texts, in_row=in_row, in_text=in_text)) or ({}, [])
        return len(changes) + len(actions), sorted({one for one in changes.values() if one is not None}, reverse=True)

    async def erase(self, in_row: Callable[[Row], bool], in_text: Callable[[str], bool]) -> None:
        """Erase the changes of any store with a row that `in_row` selects, and the summaries that `in_text` selects."""

        def delete(connection: sqlite3.Connection) -> None:
            changes, actions = self._find_texts(connection, in_row, in_text)
            records.delete_changes(connection, list(changes))
            query = f"UPDATE actions SET summary = verb || ' (its words were erased)' WHERE number IN {LISTED}"
            connection.execute(query, (json.dumps(actions),))
            records.delete_empty_actions(connection)

        if self.file.exists():
            await self._file.erase(delete)

    def _find_texts(
        self, connection: sqlite3.Connection, in_row: Callable[[Row], bool], in_text: Callable[[str], bool]
    ) -> tuple[dict[int, int | None], list[int]]:
        """Find the changes and the summaries to erase, by number. A change has its action if that is of this store and
        not undone."""
        changes: dict[int, int | None] = {}
        for version in records.versions_where(connection, self._codec):
            if any(map(in_row, version.rows)):
                is_open = version.store == self.store and not version.is_undone
                changes[version.number] = version.action if is_open else None
        summaries = connection.execute("SELECT number, summary FROM actions").fetchall()
        return changes, [number for number, summary in summaries if in_text(records.text_of(summary))]


def store_name(backend: str, location: str, config_dir: Path | None = None) -> str:
    """Return a store's name in the trash: backend and real path, relative within `config_dir`, which may be moved."""
    if "://" not in location and (os.sep in location or os.path.exists(location)):
        location = os.path.realpath(location)
        if config_dir is not None and Path(location).is_relative_to(home := os.path.realpath(config_dir)):
            location = os.path.relpath(location, home)
    return f"{backend}:{location}".encode("utf-8", "backslashreplace").decode("utf-8")


# Running actions


class RunningAction(Journal):
    """A running action, which has the lock until it ends. Raises Unreadable, DiskFull, Locked."""

    next_step = "Undo reverses them."
    reversed_action = 0
    """The newest action that an undo, redo or restore reverses."""

    def __init__(self, file: JournalFile, descriptor: int, verb: Verb, summary: str) -> None:
        self._file, self._descriptor, self._verb = file, descriptor, verb
        self._connection_lock = threading.Lock()
        self._has_begun = False
        self._last_recorded: list[int] = []
        self._connection = file.open_to_write()
        try:
            with self._transaction() as connection:
                self.number = self._begin(connection, summary)
        except BaseException:
            self._connection.close()
            raise

    def _begin(self, connection: sqlite3.Connection, summary: str) -> int:
        now = self._file.now()
        query = "INSERT INTO actions (store, verb, at, moment, summary) VALUES (?, ?, ?, ?, ?)"
        values = (self._file.store, self._verb, now.isoformat(), now.timestamp(), records.bindable(summary))
        return connection.execute(query, values).lastrowid or 0

    def record(self, changes: Sequence[RowChange]) -> None:
        """Save the rows that a store is about to change, in one durable transaction."""
        with self._transaction() as connection:
            self._record(connection, changes)
        self._has_begun |= bool(changes)

    def _record(self, connection: sqlite3.Connection, changes: Sequence[RowChange]) -> None:
        columns = [(None, *records.columns_of_change(self._file.codec, self.number, change)) for change in changes]
        records.insert_changes(connection, columns)
        last = connection.execute("SELECT last_insert_rowid()").fetchone()[0]
        self._last_recorded = [*range(last - len(changes) + 1, last + 1)]

    def withdraw(self) -> None:
        """Delete the changes of the last `record`."""
        with self._transaction() as connection:
            records.delete_changes(connection, self._last_recorded)

    async def set_summary(self, summary: str) -> None:
        def write() -> None:
            with self._transaction() as connection:
                values = (records.bindable(summary), self.number)
                connection.execute("UPDATE actions SET summary = ? WHERE number = ?", values)

        await asyncio.to_thread(write)

    async def finish(self, *, is_complete: bool = True) -> Action | None:
        """Mark the action as done, delete old ones, and release the lock; return None if nothing changed."""

        def finish() -> Action | None:
            try:
                with self._connection_lock, self._file.translate_errors("written further"):
                    with transaction(self._connection):
                        self._end(self._connection, is_complete=is_complete)
                    return self._finished_action(self._connection)
            finally:
                self._release()

        return await asyncio.to_thread(finish)

    async def abandon(self) -> None:
        """Release the lock after a failure. `Trash.recover` finds out how much was done."""
        await asyncio.to_thread(self._release)

    def _release(self) -> None:
        """Close the file and release the lock."""
        try:
            with self._connection_lock:
                self._connection.close()
        finally:
            os.close(self._descriptor)

    def _end(self, connection: sqlite3.Connection, *, is_complete: bool) -> None:
        records.end_action(connection, self.number)

    def _finished_action(self, connection: sqlite3.Connection) -> Action | None:
        actions = records.find_actions(connection, "a.number = ?", self.number)
        if actions:
            records.delete_old(connection, self._file.now())
            self._file.delete_old_backup()
        return next(iter(actions), None)

    async def what_is_done(self) -> str:
        """Say how much of an abandoned and recovered action is done; "" if nothing."""
        count = await self._file.read(self._count_done) or 0
        return f"{count:,} {'was' if count == 1 else 'were'} changed before that. {self.next_step}" if count else ""

    def _count_done(self, connection: sqlite3.Connection) -> int:
        query = "SELECT sum(is_counted) FROM changes WHERE action = ?"
        return connection.execute(query, (self.number,)).fetchone()[0] or 0

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        """Open a transaction; its errors say that nothing was changed, unless changes were recorded before."""
        verb = "written further" if self._has_begun else "written"
        with self._connection_lock, self._file.translate_errors(verb), transaction(self._connection):
            yield self._connection


class PermanentDeletion(RunningAction):
    """Deletes memories permanently: instead of recording them, it deletes their earlier changes from the trash."""

    def _record(self, connection: sqlite3.Connection, changes: Sequence[RowChange]) -> None:
        records.forget(connection, self._file.codec, self._file.store, [change.row for change in changes])

    def withdraw(self) -> None:
        """Do nothing: earlier changes stay deleted."""

    async def what_is_done(self) -> str:
        """Say that earlier versions were deleted from the trash, if anything was deleted."""
        sentence = "Earlier versions have left the trash. `zeroclaw memory list` shows which memories still exist."
        return sentence if self._has_begun else ""

    def _finished_action(self, connection: sqlite3.Connection) -> Action | None:
        records.wipe(connection)
        return None


class Reversal(RunningAction):
    """An undo, redo or restore of journaled changes.

    The changes of a batch count as reversed when the next batch is recorded, or when the action ends or is recovered.
    """

    next_step = "Run it again to continue."

    def __init__(self, file: JournalFile, descriptor: int, verb: Verb, summary: str, *, numbers: Sequence[int]) -> None:
        self._listed, self._undone = json.dumps(numbers), verb != "redo"
        super().__init__(file, descriptor, verb, summary)

    def _begin(self, connection: sqlite3.Connection, summary: str) -> int:
        actions = f"SELECT action FROM changes WHERE number IN {LISTED}"
        newest = connection.execute(f"SELECT max(action) FROM ({actions})", (self._listed,)).fetchone()[0]
        self.reversed_action = newest or 0
        number = super()._begin(connection, f"replaced by {self._verb} of change {self.reversed_action}")
        if self._undone:
            connection.execute(f"UPDATE actions SET turned = ? WHERE number IN ({actions})", (number, self._listed))
        return number

    def _record(self, connection: sqlite3.Connection, changes: Sequence[RowChange]) -> None:
        records.end_reversal(connection, self._last_recorded, undone=self._undone)
        super()._record(connection, changes)

    def _end(self, connection: sqlite3.Connection, *, is_complete: bool) -> None:
        if is_complete:
            # Rows that already had the wanted state also count as reversed; otherwise they would be retried forever.
            query = f"UPDATE changes SET undone = ? WHERE number IN {LISTED}"
            connection.execute(query, (self._undone, self._listed))
        super()._end(connection, is_complete=is_complete)

    def _finished_action(self, connection: sqlite3.Connection) -> Action | None:
        # An undo deletes nothing old, because it may be redone.
        return None

    def _count_done(self, connection: sqlite3.Connection) -> int:
        query = f"SELECT sum(undone = ?) FROM changes WHERE number IN {LISTED}"
        return connection.execute(query, (self._undone, self._listed)).fetchone()[0] or 0


# Recovery of changes whose program was killed


async def _find_done(versions: Sequence[Version], memory: Memory) -> dict[int, bool]:
    """Find out by number whether each change is done, from the current state of its row; unknown ones are left out."""
    lines_by_file = _lines_by_file(versions)
    lines = {number for numbers in lines_by_file.values() for number in numbers}
    by_row: dict[RowName, list[Version]] = {}
    for version in versions:
        if version.number not in lines:
            by_row.setdefault((version.row.table, version.row.id), []).append(version)
    present = await _present_states(versions, [name for table, name in by_row if table == MEMORIES], memory)
    done: dict[int, bool] = {}
    for row, changes in by_row.items():
        states = [changes[0].states[0], *(version.states[1] for version in changes)]
        if row in present and present[row] in states:
            # The last matching state counts: the changes up to it are done.
            count = len(changes) - states[::-1].index(present[row])
            done |= {version.number: index < count for index, version in enumerate(changes)}
    for file, numbers in lines_by_file.items():
        done |= {number: done[file] for number in numbers if file in done}
    of_memories = {done[one.number] for one in versions if one.row.table == MEMORIES and one.number in done}
    if len(of_memories) == 1:
        # Agents and cached vectors change in the same transaction as their memories.
        done = {version.number: True in of_memories for version in versions} | done
    return done


def _lines_by_file(versions: Sequence[Version]) -> dict[int, list[int]]:
    """Group the changes of lines by the change of their file, which a Markdown store records right after them."""
    lines: list[int] = []
    by_file: dict[int, list[int]] = {}
    for version in versions:
        if version.row.table == MEMORIES:
            lines.append(version.number)
        elif version.row.table == NOTES_FILE:
            by_file[version.number], lines = lines, []
    return by_file


async def _present_states(versions: Sequence[Version], ids: Sequence[str], memory: Memory) -> dict[RowName, str | None]:
    """Read the current fingerprints of these memories, and of all files and rows of other databases."""
    present: dict[RowName, str | None] = {}
    for start in range(0, len(ids), _BATCH):
        rows = await rows_by_id(memory, ids[start : start + _BATCH])
        present |= {(MEMORIES, name): row.fingerprint for name, row in rows.items()}
    external = [row for version in versions for row in version.rows if row.table in EXTERNAL]
    states = await asyncio.to_thread(current_states, external)
    missing: dict[RowName, str | None] = dict.fromkeys((MEMORIES, name) for name in ids)
    return missing | present | {(row.table, row.id): states[row.id] for row in external}
