"""An action under way, and which changes of one that was cut off never happened."""

from __future__ import annotations

import asyncio
import math
import sqlite3
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.curation.files import digest_now
from zeroclaw_tui.curation.side_databases import present_now
from zeroclaw_tui.curation.trash import journal
from zeroclaw_tui.curation.trash.file import explained, for_writing, let_go, transaction, wipe
from zeroclaw_tui.memory.change import AUDIT_LOG, FILE, MEMORIES, OTHER_ROW, RowChange
from zeroclaw_tui.memory.errors import InspectorError

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.curation.trash.journal import States

_ROWS_AT_ONCE = 500

TAKING_BACK = ("undo", "redo", "restore")


async def never_happened(kept: Sequence[States], memory: Memory) -> list[int]:
    """The numbers of what an action kept, in this order, but did not do, as the store and the files now show.

    What is in neither state counts as done: the trash then holds on to it.
    """
    chains: dict[tuple[str, str], list[States]] = {}
    for states in kept:
        chains.setdefault((states.table, states.id), []).append(states)
    struck: set[int] = set()
    names = [name for table, name in chains if table == MEMORIES]
    for start in range(0, len(names), _ROWS_AT_ONCE):
        some = names[start : start + _ROWS_AT_ONCE]
        present = await memory.stored_by_id(some)
        for name in some:
            now = present[name].fingerprint if name in present else None
            struck.update(_not_reached(chains[MEMORIES, name], now))
    for (table, name), chain in chains.items():
        if table == FILE:
            struck.update(_not_reached(chain, await asyncio.to_thread(digest_now, Path(name))))
    struck.update(await asyncio.to_thread(_entries_as_before, kept))
    memories = {states.number for states in kept if states.table == MEMORIES}
    if memories and memories <= struck:
        # Agents and cached vectors change in the same transaction as the memories they belong to.
        struck.update(states.number for states in kept if states.table not in (FILE, AUDIT_LOG, OTHER_ROW))
    return sorted(struck)


def _not_reached(chain: Sequence[States], now: str | None) -> list[int]:
    """Of the changes to one row, those behind the last state it can be in; none where it is in no such state."""
    reached = [chain[0].before, *(states.after for states in chain)]
    for done in range(len(chain), -1, -1):
        if reached[done] == now:
            return [states.number for states in chain[done:]]
    return []


def _entries_as_before(kept: Sequence[States]) -> list[int]:
    """Rows of other databases that still are, or still are not, there as before their change."""
    rows = {states.number: states.entry for states in kept if states.entry is not None}
    there = present_now(list(rows.values())) if rows else set()
    return [
        states.number for states in kept if states.entry is not None and (states.before is None) != (states.id in there)
    ]


class ActionUnderWay:
    """What `Trash.begin` begins. Its methods block, may be called from any thread, and raise Unreadable and Locked.

    `limits` are days and bytes; `descriptor` is the lock, which `finish` gives up.
    """

    def __init__(
        self,
        file: Path,
        store: str,
        descriptor: int,
        begun: tuple[str, str, datetime],
        limits: tuple[int, int],
    ) -> None:
        verb, summary, now = begun
        days, self._most_bytes = limits
        self._file, self._store, self._descriptor = file, store, descriptor
        # Who takes back, takes out of older actions, and may do so again.
        self._drops = verb not in TAKING_BACK
        self._since = (now - timedelta(days=days)).timestamp()
        self._guard = threading.Lock()
        self._forgets = False
        self.has_dropped = False
        """Whether earlier versions of rows have left the trash for good."""
        self._rows = 0
        self._connection = for_writing(file)
        try:
            with explained(file, "written"), transaction(self._connection):
                if journal.clock_is_doubtful(self._connection, now):
                    self._since = -math.inf
                self.number = journal.begin(self._connection, store, verb, now, summary)
        except BaseException:
            self._connection.close()
            raise

    def keep(self, changes: Sequence[RowChange]) -> None:
        """Put these changes on disk."""
        with self._guard, self._explained(), transaction(self._connection):
            journal.keep(self._connection, self.number, changes)
        self._rows += len(changes)

    def forget(self, changes: Sequence[RowChange]) -> None:
        """Drop what was kept of these rows earlier."""
        self._forgets = True
        connection = self._connection
        with self._guard, self._explained(), transaction(connection):
            store = journal.store_number(connection, self._store)
            before = connection.total_changes
            if store is not None:
                journal.forget_rows(connection, store, [change.row for change in changes])
            dropped = connection.total_changes - before
        self._rows += len(changes)
        self.has_dropped = self.has_dropped or dropped > 0

    def take_as_reversed(self, numbers: Sequence[int]) -> None:
        """Note that these changes are taken back already."""
        with self._guard, explained(self._file, "written further"), transaction(self._connection):
            journal.take_as_reversed(self._connection, self.number, numbers)

    def strike_changes(self, numbers: Sequence[int]) -> None:
        """Take out changes of it that were kept but not done."""
        with self._guard, explained(self._file, "written further"), transaction(self._connection):
            journal.strike(self._connection, numbers)

    def finish(self, nothing: str | None = None) -> journal.ActionFacts | None:
        """End it, drop what is too old or too much, and give up the lock; None when nothing was kept.

        Then it is struck out, or noted with `nothing` for its summary.
        """
        connection = self._connection
        try:
            with self._guard, explained(self._file, "written further"), closing(connection):
                with transaction(connection):
                    journal.drop_empty(connection, self.number)
                    if nothing is not None and not self._forgets and not journal.has_kept(connection, self.number):
                        journal.note_nothing(connection, self.number, nothing)
                        left = False
                    else:
                        left = journal.finish(connection, self.number)
                    if self._forgets:
                        journal.count_anew(connection)
                if self._forgets:
                    wipe(connection)
                if not left:
                    return None
                self._drop_old()
                return journal.action(connection, self.number)
        finally:
            let_go(self._descriptor)

    def strike(self) -> None:
        """End it as if it had never begun."""
        try:
            with self._guard, explained(self._file, "written further"), transaction(self._connection):
                journal.strike_action(self._connection, self.number)
        except InspectorError:
            self.leave()
            raise
        self.finish()

    def retell(self, summary: str) -> None:
        """Say otherwise what it does."""
        with self._guard, explained(self._file, "written further"), transaction(self._connection):
            journal.retell(self._connection, self.number, summary)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """Errors in words, which after the first batch do not say that nothing is changed."""
        with explained(self._file, "written further" if self._rows else "written"):
            yield

    def _drop_old(self) -> None:
        """Only at the end: while a batch is kept the store is locked, and an agent may wait for it."""
        if not self._drops:
            return
        # What cannot go now goes after the next action.
        with suppress(sqlite3.Error):
            with transaction(self._connection):
                dropped = journal.drop_old(self._connection, self.number, self._since, self._most_bytes)
            if dropped:
                wipe(self._connection)

    def leave(self) -> None:
        """Give up the lock and leave it unfinished, for `Trash.settle` to put right."""
        try:
            with self._guard:
                self._connection.close()
        finally:
            let_go(self._descriptor)
