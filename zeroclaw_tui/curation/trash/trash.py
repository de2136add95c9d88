"""The trash beside an install: every change's before and after, so that any of them can be taken back."""

from __future__ import annotations

import asyncio
import math
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeVar

from zeroclaw_tui.backends.lookup import rows_by_id
from zeroclaw_tui.config.settings import trash_limits
from zeroclaw_tui.curation.trash import file as trash_file
from zeroclaw_tui.curation.trash import journal
from zeroclaw_tui.curation.trash.file import Places
from zeroclaw_tui.curation.trash.journal import REVERSING, Action, States, Verb, Version
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
)
from zeroclaw_tui.memory.errors import InspectorError, Locked, NotFound

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.config.locations import Install

NAME = "trash.db"
LOCK = "trash.lock"

LOCK_SECONDS = 5.0
"""How long an action waits for another one."""
_LOOK_AGAIN_SECONDS = 0.05
_ROWS_AT_ONCE = 500
_COUNTED = (MEMORIES, FILE, AUDIT_LOG)
"""What a person meant to change; agents and cached vectors come along."""

Answer = TypeVar("Answer")

_TAKING_BACK = (*REVERSING, "restore")


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
    """What the trash of a config dir holds, for all of its stores. `bytes` is the size of its file."""

    rows: int
    bytes: int
    days_kept: int
    bytes_kept: int
    oldest: str | None


async def _never_happened(kept: Sequence[States], memory: Memory) -> list[int]:
    """The numbers of what an action kept, in this order, but did not do, as the store and the files now show.

    What is in neither state counts as done: the trash then holds on to it.
    """
    lines_of_file = _lines_by_file(kept)
    lines = {number for numbers in lines_of_file.values() for number in numbers}
    chains: dict[tuple[str, str], list[States]] = {}
    for states in kept:
        if states.number not in lines:
            chains.setdefault((states.table, states.id), []).append(states)
    struck: set[int] = set()
    names = [name for table, name in chains if table == MEMORIES]
    for start in range(0, len(names), _ROWS_AT_ONCE):
        some = names[start : start + _ROWS_AT_ONCE]
        present = await rows_by_id(memory, some)
        for name in some:
            now = present[name].fingerprint if name in present else None
            struck.update(_not_reached(chains[MEMORIES, name], now))
    # Imported for what was left half done: a trash is made with every store that is opened.
    from zeroclaw_tui.curation.side_files import file_digest

    for (table, name), chain in chains.items():
        if table in (FILE, NOTES_FILE):
            files = _not_reached(chain, await asyncio.to_thread(file_digest, Path(name)))
            struck.update(files, *(lines_of_file.get(file, ()) for file in files))
    struck.update(await asyncio.to_thread(_entries_as_before, kept))
    memories = {states.number for states in kept if states.table == MEMORIES}
    if memories and memories <= struck:
        # Agents and cached vectors change in the same transaction as the memories they belong to.
        struck.update(states.number for states in kept if states.table not in (FILE, AUDIT_LOG, OTHER_ROW))
    return sorted(struck)


def _lines_by_file(kept: Sequence[States]) -> dict[int, list[int]]:
    """The changes of memories that a store of notes made with a change of their file, which was kept right after them;
    by the number of that."""
    lines: list[int] = []
    by_file: dict[int, list[int]] = {}
    for states in kept:
        if states.table == MEMORIES:
            lines.append(states.number)
        elif states.table == NOTES_FILE:
            by_file[states.number], lines = lines, []
    return by_file


def _not_reached(chain: Sequence[States], now: str | None) -> list[int]:
    """Of the changes to one row, those behind the last state it can be in; none where it is in no such state."""
    reached = [chain[0].before, *(states.after for states in chain)]
    for done in range(len(chain), -1, -1):
        if reached[done] == now:
            return [states.number for states in chain[done:]]
    return []


def _entries_as_before(kept: Sequence[States]) -> list[int]:
    """Rows of other databases that still are, or still are not, there as before their change."""
    from zeroclaw_tui.curation.side_rows import present_now

    there = present_now([states.entry for states in kept if states.entry is not None])
    return [
        states.number for states in kept if states.entry is not None and (states.before is None) != (states.id in there)
    ]


class RunningAction(Journal):
    """An action that `Trash.begin` began: it holds the lock until it is finished, left or struck out.

    `record`, `withdraw` and `forget` block, for the thread that changes a store; nothing else does. Raises Unreadable
    and Locked.
    """

    def __init__(self, trash: Trash, descriptor: int, verb: Verb, summary: str) -> None:
        self._trash, self._descriptor = trash, descriptor
        now = trash.now()
        days, self._most_bytes = trash.limits()
        self._since = (now - timedelta(days=days)).timestamp()
        # Who takes back, takes out of older actions, and may do so again.
        self._drops = verb not in _TAKING_BACK
        self._guard = threading.Lock()
        self._has_begun = self._forgets = False
        self._last: list[int] = []
        """The numbers of the changes that were recorded last."""
        self.has_dropped = False
        """Whether earlier versions of rows have left the trash for good."""
        self._connection = trash_file.for_writing(trash.file)
        try:
            with trash_file.explained(trash.file, "written"), transaction(self._connection):
                if journal.clock_is_doubtful(self._connection, now):
                    self._since = -math.inf
                self.number = journal.begin(self._connection, trash.store, verb, now, summary)
        except BaseException:
            self._connection.close()
            raise

    def record(self, changes: Sequence[RowChange]) -> None:
        """Save what a store is about to change, a batch at a time; one durable transaction (fsync) a call."""
        with self._written_further() as connection:
            self._last = journal.keep(connection, self.number, map(self._trash.places.kept, changes))
        self._has_begun |= bool(changes)

    def withdraw(self) -> None:
        """Take out what the last `record` saved."""
        with self._written_further() as connection:
            journal.strike(connection, self._last)
        self._last = []

    def dropping(self) -> Journal:
        """A journal for changes that shall never come back: instead of recording them it drops their earlier versions
        from the trash."""
        return _Dropping(self)

    def forget(self, changes: Sequence[RowChange]) -> None:
        """The same for what shall never come back: earlier versions of these rows leave the trash as well, zeroed."""
        self._forgets = True
        with self._written_further() as connection:
            before = connection.total_changes
            journal.forget_rows(connection, self._trash.store, [change.row for change in changes])
            dropped = connection.total_changes > before
        self.has_dropped |= dropped
        self._has_begun |= bool(changes)

    async def take_as_reversed(self, numbers: Sequence[int]) -> None:
        """Note that these changes are taken back already: nothing had to be done for them."""
        await self._write(lambda connection: journal.take_as_reversed(connection, self.number, numbers))

    async def strike_changes(self, numbers: Sequence[int]) -> None:
        """Take out changes of it that were kept but not done."""
        await self._write(lambda connection: journal.strike(connection, numbers))

    async def set_summary(self, summary: str) -> None:
        """Change what its summary says."""
        await self._write(lambda connection: journal.set_summary(connection, self.number, summary))

    async def finish(self) -> Action | None:
        """Mark it as done, drop what is too old or too much, and release the lock; None if it changed nothing."""
        facts = await asyncio.to_thread(self._finish)
        return None if facts is None else self._trash.with_end(facts)

    async def strike(self) -> None:
        """Nothing of it was done: take it out, with what was kept for it, and let go of the lock."""
        try:
            await self._write(lambda connection: journal.strike_action(connection, self.number))
        except InspectorError:
            await self.leave()
            raise
        await self.finish()

    async def leave(self) -> None:
        """It failed: let go of the lock, and leave it to `Trash.recover` to tell what of it was done."""

        def leave() -> None:
            try:
                with self._guard:
                    self._connection.close()
            finally:
                trash_file.let_go(self._descriptor)

        await asyncio.to_thread(leave)

    def _finish(self) -> Action | None:
        connection = self._connection
        try:
            with self._guard, trash_file.explained(self._trash.file, "written further"), closing(connection):
                with transaction(connection):
                    left = journal.finish(connection, self.number)
                    if self._forgets:
                        journal.recount(connection)
                if self._forgets:
                    trash_file.wipe(connection)
                if not left:
                    return None
                self._drop_old()
                return journal.action(connection, self.number)
        finally:
            trash_file.let_go(self._descriptor)

    async def _write(self, work: Callable[[sqlite3.Connection], None]) -> None:
        def write() -> None:
            with self._written_further() as connection:
                work(connection)

        await asyncio.to_thread(write)

    @contextmanager
    def _written_further(self) -> Iterator[sqlite3.Connection]:
        """One transaction; the words of its errors say that nothing is changed only before the first batch."""
        verb = "written further" if self._has_begun else "written"
        with self._guard, trash_file.explained(self._trash.file, verb), transaction(self._connection):
            yield self._connection

    def _drop_old(self) -> None:
        """Only at the end: while a batch is kept the store is locked, and an agent may wait for it."""
        if not self._drops:
            return
        # What cannot go now goes after the next action.
        with suppress(sqlite3.Error):
            with transaction(self._connection):
                dropped = journal.drop_old(self._connection, self.number, self._since, self._most_bytes)
            if dropped:
                trash_file.wipe(self._connection)


class Trash:
    """The trash of one config dir, seen from one store of it (`store` names that: backend and real path).

    Nothing is made on disk before the first change. Every coroutine runs SQLite in a thread. Raises InspectorError
    kinds: Unreadable when trash.db cannot be read or written, Locked. Old actions go only when a new one is finished,
    whole, and never that one.
    """

    def __init__(self, install: Install, store: str, clock: Callable[[], datetime]) -> None:
        self.file = install.own_dir / NAME
        self.store = store
        self._install = install
        self._clock = clock
        self.places = Places(install.config_dir)
        self._begun_here: set[int] = set()

    def now(self) -> datetime:
        """The moment it is."""
        return self._clock()

    def was_begun_here(self, action: int) -> bool:
        """Whether an action was begun by this very object, and not in an earlier session or by another process."""
        return action in self._begun_here

    def limits(self) -> tuple[int, int]:
        """For how many days, and up to how many bytes, the trash keeps what was done."""
        return trash_limits(self._install)

    async def begin(self, verb: Verb, summary: str) -> RunningAction:
        """Note that an action begins, and hold the lock that tells other processes so.

        Raises Locked while another process is in the middle of an action on this config dir.
        """
        descriptor = await self._locked()
        try:
            action = await asyncio.to_thread(RunningAction, self, descriptor, verb, summary)
        except BaseException:
            trash_file.let_go(descriptor)
            raise
        self._begun_here.add(action.number)
        return action

    async def done_of(self, action: int, memory: Memory) -> int:
        """How many rows and files an action has changed, as the trash, the store and the files now show.

        Only reads; for an action that is over or was left.
        """
        kept = await self._states(action)
        struck = set(await _never_happened(kept, memory))
        changed = [states for states in kept if states.table in _COUNTED and states.before != states.after]
        return sum(states.number not in struck for states in changed)

    async def recover(self, memory: Memory) -> None:
        """Put right what an action that was cut off left open: what was kept but is still in the store as it was is
        struck out, so that each row is in the store or in the trash. Does nothing while such an action still runs."""
        if not await self._begun():
            return
        descriptor = await asyncio.to_thread(trash_file.try_lock, self.file.with_name(LOCK))
        if descriptor is None:
            return
        try:
            for action in await self._begun():
                struck = await _never_happened(await self._states(action), memory)
                await self._write(partial(_recover, action=action, struck=struck))
            # What was struck out is in the store, so that it need not leave the log as well.
            with suppress(InspectorError):
                await self._write(lambda connection: None, wipes=True)
        finally:
            trash_file.let_go(descriptor)

    async def last(self) -> Action | None:
        """The last action on this store, other than an undo or a redo, with something not yet taken back."""
        return await self._one(lambda connection: journal.last(connection, self.store))

    async def last_undone(self) -> Action | None:
        """The action on this store that an undo took back last, where nothing but undos and redos came since."""
        return await self._one(lambda connection: journal.last_undone(connection, self.store))

    async def numbers_to_reverse(self, action: int, verb: Literal["undo", "redo"]) -> list[int]:
        """The kept changes that an undo of an action reverses, or a redo of it; the last first.

        An undo reverses its own, or what a redo did again; a redo those of undos: none where none took it back.
        """
        return await self._read(lambda connection: journal.numbers_to_reverse(connection, action, verb)) or []

    async def actions(self, limit: int = 100) -> list[Action]:
        """What was done to this store, the newest first."""
        found = await self._read(lambda connection: journal.actions(connection, self.store, limit))
        return [self.with_end(facts) for facts in found or []]

    async def action(self, number: int) -> Action:
        """One action. Raises NotFound."""
        found = await self._one(lambda connection: journal.action(connection, number))
        if found is None:
            raise NotFound(f"The trash has no action {number}.", hint="The trash may have dropped it.")
        return found

    def open_changes(self, action: int) -> Batches:
        """What an action changed and nothing took back yet, the last change first, in batches of at most 250."""
        return lambda: self._batches(lambda connection: journal.numbers_of_action(connection, action, only_open=True))

    def changes_numbered(self, numbers: Sequence[int]) -> Batches:
        """The kept changes of these numbers, the last first, in batches."""
        newest_first = sorted(set(numbers), reverse=True)
        return lambda: self._batches(lambda connection: newest_first)

    async def tables_of(self, numbers: Sequence[int]) -> dict[int, str]:
        """What each of these kept changes belongs to: a table, or a file."""
        return await self._read(partial(journal.tables_of, numbers=numbers)) or {}

    async def listing(
        self, contains: str = "", *, limit: int = 200, offset: int = 0, every_store: bool = False
    ) -> tuple[list[TrashRow], int]:
        """Deleted memories not restored since, the newest deletion first, and how many there are in all.

        `contains` is looked for in key and content, ignoring case.
        """
        store = None if every_store else self.store

        def read(connection: sqlite3.Connection) -> tuple[list[Version], int]:
            everything = journal.numbers_in_trash(connection, store, contains)
            return journal.kept_rows(connection, everything[offset : offset + limit]), len(everything)

        found, total = await self._read(read) or ([], 0)
        return self._trash_rows(found), total

    async def numbers(self, contains: str = "", *, action: int | None = None) -> list[int]:
        """The numbers of all that `listing` would give for this store, or of one action's."""
        found = await self._read(
            lambda connection: journal.numbers_in_trash(connection, self.store, contains, action=action)
        )
        return found or []

    async def row(self, number: int) -> TrashRow:
        """One deleted memory. Raises NotFound when it was restored or the trash let go of it."""

        def read(connection: sqlite3.Connection) -> list[Version]:
            there = journal.is_in_trash(connection, number)
            return journal.kept_rows(connection, [number]) if there else []

        for row in self._trash_rows(await self._read(read) or []):
            return row
        raise NotFound(f"The trash has no memory {number}.", hint="It was restored, or the trash has dropped it.")

    async def history(self, id: str) -> list[Version]:
        """What was done here to the memory of this id, the newest first."""
        return await self._versions(lambda connection: journal.numbers_of_id(connection, self.store, id))

    async def history_of_file(self, path: str) -> list[Version]:
        """What was done here to a file beside a store, the newest first."""
        name = self.places.name(path)
        return await self._versions(lambda connection: journal.numbers_of_file(connection, name))

    async def numbers_of_change(self, action: int) -> list[int]:
        """The kept changes of an action that a person meant: memories, files, entries; in the order they were made."""

        def read(connection: sqlite3.Connection) -> list[int]:
            numbers = journal.numbers_of_action(connection, action, only_open=False)[::-1]
            tables = journal.tables_of(connection, numbers)
            return [number for number in numbers if tables.get(number) in _COUNTED] or numbers

        return await self._read(read) or []

    async def versions(self, numbers: Sequence[int]) -> list[Version]:
        """The kept changes of these numbers, in their order; those gone meanwhile left out."""
        return await self._versions(lambda connection: numbers)

    async def forget_change(self, action: int) -> None:
        """Let go for ever of all that is kept of an action, with earlier versions of its memories. Zeroes it."""

        def forget(connection: sqlite3.Connection) -> None:
            journal.forget_numbers(connection, journal.numbers_of_action(connection, action, only_open=False))
            journal.drop_actions(connection, [action])
            journal.recount(connection)

        await self._let_go(forget)

    async def usage(self) -> TrashUsage:
        """How much it holds and how long it keeps it."""
        days, most_bytes = self.limits()

        def read(connection: sqlite3.Connection) -> tuple[int, str | None]:
            return len(journal.numbers_in_trash(connection, None)), journal.oldest(connection)

        rows, oldest = await self._read(read) or (0, None)
        return TrashUsage(rows, trash_file.size_on_disk(self.file), days, most_bytes, oldest)

    async def empty(self, numbers: Sequence[int] | None = None) -> int:
        """Let go for ever of these deleted memories, or of everything kept of this store; gives how many memories.

        Zeroes what they used. Earlier versions of those memories go as well.
        """
        if not self.file.exists():
            return 0

        def let_go(connection: sqlite3.Connection) -> int:
            in_trash = journal.numbers_in_trash(connection, self.store if numbers is None else None)
            if numbers is None:
                going = in_trash
                journal.forget_store(connection, self.store)
            else:
                going = sorted(set(numbers).intersection(in_trash))
                journal.forget_numbers(connection, going)
            journal.recount(connection)
            return len(going)

        return await self._let_go(let_go)

    async def erase(self, holds: Callable[[Row], bool], names: Callable[[str], bool], *, dry_run: bool = False) -> int:
        """Let go for ever of every change kept here, of any store, of which `holds` says so by a row, and give other
        words to actions of whose summary `names` says so; gives how many both are.

        Zeroes what they used. With `dry_run` they are only counted.
        """
        if not self.file.exists():
            return 0
        if dry_run:

            def count(connection: sqlite3.Connection) -> int:
                return len(journal.holding(connection, holds)) + len(journal.named(connection, names))

            return await self._read(count) or 0

        def erase(connection: sqlite3.Connection) -> int:
            going = journal.holding(connection, holds)
            journal.strike(connection, going)
            journal.recount(connection)
            return len(going) + journal.unname(connection, names)

        return await self._let_go(erase)

    async def _begun(self) -> list[int]:
        return await self._read(lambda connection: journal.begun(connection, self.store)) or []

    async def _locked(self) -> int:
        until = time.monotonic() + LOCK_SECONDS
        while (descriptor := trash_file.try_lock(self.file.with_name(LOCK))) is None:
            if time.monotonic() >= until:
                raise Locked(
                    "Another inspector is in the middle of a change to this install.", hint="Try again when it is done."
                )
            await asyncio.sleep(_LOOK_AGAIN_SECONDS)
        return descriptor

    async def _states(self, action: int) -> list[States]:
        return await self._read(partial(journal.states, action=action, places=self.places)) or []

    async def _write(self, work: Callable[[sqlite3.Connection], Answer], *, wipes: bool = False) -> Answer:
        """What `work` gives, in one transaction; with `wipes` what it let go of is zeroed once that is durable."""

        def write() -> Answer:
            with trash_file.explained(self.file, "written"), closing(trash_file.for_writing(self.file)) as connection:
                with transaction(connection):
                    answer = work(connection)
                if wipes:
                    self._wipe(connection)
            return answer

        return await asyncio.to_thread(write)

    def _wipe(self, connection: sqlite3.Connection) -> None:
        try:
            with trash_file.explained(self.file, "written further"):
                trash_file.wipe(connection)
        except InspectorError as told:
            told.message = (
                f"It was permanently deleted from the trash, but the file may still contain it. {told.message}"
            )
            told.hint = f"Empty the trash again to clean the file. {told.hint}"
            raise

    async def _let_go(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer:
        """What `work` gives, under the lock; what it lets go of is zeroed."""
        descriptor = await self._locked()
        try:
            return await self._write(work, wipes=True)
        finally:
            trash_file.let_go(descriptor)

    async def _versions(self, choose: Callable[[sqlite3.Connection], Sequence[int]]) -> list[Version]:
        found = await self._read(lambda connection: journal.kept_rows(connection, choose(connection)))
        here = self.places.here
        return [
            replace(kept, before=here(kept.before), after=here(kept.after))
            for kept in found or []
            if kept.before != kept.after
        ]

    async def _read(self, work: Callable[[sqlite3.Connection], Answer]) -> Answer | None:
        """What `work` answers; None when there is no trash."""

        def read() -> Answer | None:
            connection = trash_file.for_reading(self.file)
            if connection is None:
                return None
            with closing(connection), trash_file.explained(self.file, "read"):
                return work(connection)

        return await asyncio.to_thread(read)

    def _batches(self, choose: Callable[[sqlite3.Connection], Sequence[int]]) -> Iterator[Sequence[RowChange]]:
        connection = trash_file.for_reading(self.file)
        if connection is None:
            return
        here = self.places.here
        with closing(connection), trash_file.explained(self.file, "read"):
            for batch in journal.batches(connection, choose(connection)):
                yield [RowChange(here(kept.before), here(kept.after), number=kept.number) for kept in batch]

    async def _one(self, find: Callable[[sqlite3.Connection], Action | None]) -> Action | None:
        found = await self._read(find)
        return None if found is None else self.with_end(found)

    def with_end(self, action: Action) -> Action:
        """An action with the moment at which the trash lets go of it."""
        return replace(action, until=_later(action.at, self.limits()[0]))

    def _trash_rows(self, found: Sequence[Version]) -> list[TrashRow]:
        days, _ = self.limits()
        return [
            TrashRow(one.number, one.action, one.verb, one.at, _later(one.at, days), row.size, row, one.store)
            for one in found
            if (row := one.before) is not None
        ]


class _Dropping(Journal):
    def __init__(self, action: RunningAction) -> None:
        self._action = action

    def record(self, changes: Sequence[RowChange]) -> None:
        self._action.forget(changes)

    def withdraw(self) -> None:
        """Earlier versions stay dropped."""


def _recover(connection: sqlite3.Connection, action: int, struck: Sequence[int]) -> None:
    journal.strike(connection, struck)
    journal.finish(connection, action)
    journal.recount(connection)


def _later(at: str, days: int) -> str:
    return (datetime.fromisoformat(at) + timedelta(days=days)).isoformat()
