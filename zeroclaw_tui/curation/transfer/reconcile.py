"""What comes beside what is there: compared, planned, brought in as one action, and read again.

Import, hydrate and copy are its uses. Both sides are read once, in bounded memory: what is known of each memory lies in
a temporary database that SQLite keeps on disk where it gets large, and so does what is to be written.
"""

from __future__ import annotations

import asyncio
import pickle
import re
import sqlite3
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, closing, suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import Enum
from itertools import chain
from itertools import count as counting
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar
from uuid import NAMESPACE_OID, uuid4, uuid5

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.backends.fallback import show
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.changes import Outcome, change_rows
from zeroclaw_tui.curation.hygiene.plan import Expiry
from zeroclaw_tui.curation.hygiene.rules import HygieneRule
from zeroclaw_tui.curation.journal import Verb
from zeroclaw_tui.curation.library import Library, open_library, profile_to_make, without_agents
from zeroclaw_tui.curation.transfer.fit import (
    RESTORED,
    TIMES,
    Fit,
    Losses,
    NoteFit,
    Origin,
    RowFit,
    comparable,
    digest,
    known_vectors,
    read_line,
)
from zeroclaw_tui.files.disk import cannot_write_temporary, temporary_folder
from zeroclaw_tui.memory.change import AGENTS, Change, OnConflict, ProgressCallback, Row, See, Value
from zeroclaw_tui.memory.entry import MemoryEntry, column_text
from zeroclaw_tui.memory.errors import INTERRUPTED, InspectorError, NothingYet, UsageError
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import cut, one_line


@dataclass(slots=True)
class Target:
    """Where memories go. `library` is None where the store is not there yet; then `nothing` says so.

    `profile` is the ZeroClaw version given for it, if any. Once `make` has made the store, `library` is it.
    """

    config: MemoryConfig
    library: Library | None
    nothing: NothingYet | None = None
    profile: str | None = None
    location: str = ""
    """Where it is or will be, for people."""

    @classmethod
    def of(cls, library: Library) -> Target:
        """A store that is open."""
        return cls(library.config, library, None, None, library.memory.about.location)

    @classmethod
    async def at(cls, config: MemoryConfig, profile: str | None = None) -> Target:
        """The store of a config, whether or not it is there. Raises what opening raises but NothingYet."""
        memory = create_memory(config)
        try:
            if memory.keeps_lines and not await memory.health_check():
                raise NothingYet(f"There is no directory {memory.about.location} yet.")
            library = await open_library(config, profile)
        except NothingYet as nothing:
            return cls(config, None, nothing, profile, memory.about.location)
        finally:
            await memory.close()
        return cls(config, library, None, profile, library.memory.about.location)

    async def close(self) -> None:
        """Close it."""
        if self.library is not None:
            await self.library.close()

    async def make(self) -> Library:
        """The open store, made first where it is not there yet. Raises what making and opening raise."""
        if self.library is None:
            memory = self._not_made()
            try:
                await memory.make(await profile_to_make(self.config, memory, self.profile))
            finally:
                await memory.close()
            self.library = await open_library(self.config, self.profile)
        return self.library

    @asynccontextmanager
    async def foreseen(self) -> AsyncIterator[Memory]:
        """The store, or where it is not there yet one that is as it will be."""
        if self.library is not None:
            yield self.library.memory
            return
        memory = self._not_made()
        profile = await profile_to_make(self.config, memory, self.profile)
        if memory.about.path is None:
            try:
                await memory.make(profile, dry_run=True)
                yield memory
            finally:
                await memory.close()
            return
        with temporary_folder("zeroclaw-tui-") as folder:
            sample = create_memory(self.config._replace(location=str(folder / "brain.db"), read_only=False))
            sample.about = replace(sample.about, location=self.location)
            try:
                await sample.make(profile)
                await sample.open()
                yield sample
            finally:
                await sample.close()

    def makes(self, memory: Memory) -> str | None:
        """A sentence about what is made first, for the store or the one foreseen; None where it is there."""
        if self.library is not None:
            return None
        what = (
            "The database" if memory.about.path is not None else "The directory" if memory.keeps_lines else "The store"
        )
        return f"{what} {one_line(self.location)} is created first."

    def _not_made(self) -> Memory:
        """The store that is not there yet; a folder that was named is made too."""
        memory = create_memory(self.config)
        if memory.keeps_lines and self.config.location is not None:
            alone = self.config.install._replace(root=Path(memory.about.location), layout="lone", is_loose=False)
            return create_memory(self.config._replace(install=alone, location=None))
        return memory


OnClash = Literal["skip", "overwrite", "rename"]
SAMPLES = 5
"""How many taken keys a plan names."""
PREVIEWS = 3
"""How many memories a plan shows as they will stand."""
EVERYTHING = MemoryFilter(superseded=Superseded.SHOW)
AnyPlan = TypeVar("AnyPlan", bound="Plan")

_MOST_DIFFERING = 100
_PREVIEW_LENGTH = 400
_ASKS_EVERY = 200
_NOTE_COLUMNS = frozenset({"key", "content", "category"})
_IN_MEMORY = 16_000_000
_AT_ONCE, _BYTES_AT_ONCE = 250, 8_000_000
_TABLES = (
    "CREATE TABLE there (id BLOB, place BLOB NOT NULL, state BLOB NOT NULL, base BLOB, number INTEGER, kept BLOB,"
    " claimed INTEGER NOT NULL DEFAULT 0, claimed_beside INTEGER NOT NULL DEFAULT 0, key BLOB, owner TEXT,"
    " giver TEXT)",
    "CREATE INDEX by_id ON there (id) WHERE id IS NOT NULL",
    "CREATE INDEX by_place ON there (place)",
    "CREATE INDEX by_base ON there (base) WHERE base IS NOT NULL",
    "CREATE TABLE expected (place BLOB NOT NULL, state BLOB NOT NULL, whole BLOB, said INTEGER NOT NULL,"
    " is_beside INTEGER NOT NULL, key BLOB NOT NULL, found INTEGER NOT NULL DEFAULT 0)",
    "CREATE TABLE came (id BLOB PRIMARY KEY, number INTEGER)",
    "CREATE TABLE waiting (row BLOB NOT NULL)",
    "CREATE TABLE marks (mark BLOB NOT NULL, row INTEGER NOT NULL, PRIMARY KEY (mark, row)) WITHOUT ROWID",
    "CREATE INDEX by_expected_place ON expected (place)",
)
_HELD = "SELECT rowid, state, claimed, kept, key FROM there WHERE"
_NUMBERED = re.compile(r"(.+)_[1-9][0-9]*", re.DOTALL)
_CACHED_KIB = 16_000
_KEY_CELLS, _KEY_KEPT = 60, 400

_MOST_NAMES = 200


class Spool:
    """Rows to bring about, in the order they were added. Iterated by one thread at a time, as often as wanted."""

    def __init__(self) -> None:
        # Only this process ever reads what it wrote: the file has no name.
        self._file = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY, prefix="zeroclaw-tui-")  # noqa: SIM115
        self._batch: list[Change] = []
        self._size = 0
        self.count = 0

    def __enter__(self) -> Spool:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def add(self, row: Row, present: Row | None = None) -> None:
        """One more, in the place of one that is `present`. Raises Unreadable where the disk of temporary files is
        full."""
        self._batch.append(Change(present, row))
        self._size += row.size
        self.count += 1
        if len(self._batch) >= _AT_ONCE or self._size >= _BYTES_AT_ONCE:
            self.end()

    def end(self) -> None:
        """Write what is pending; nothing is added after this."""
        if self._batch:
            try:
                pickle.dump(self._batch, self._file, pickle.HIGHEST_PROTOCOL)
            except OSError as error:
                raise cannot_write_temporary(error) from error
            self._batch, self._size = [], 0

    def changes(self) -> Iterator[Change]:
        """What was added, in that order."""
        place = 0
        while True:
            # More than one pass may be under way, each at its own place.
            self._file.seek(place)
            try:
                batch = pickle.load(self._file)
            except EOFError:
                return
            place = self._file.tell()
            yield from batch


class MatchKind(Enum):
    """What a memory that comes is to the target. SECOND has the key of one before it, which takes the place."""

    NEW = "new"
    SAME = "same"
    TAKEN = "taken"
    SECOND = "second"


@dataclass(frozen=True, slots=True)
class Match:
    """How a memory compares. `is_beside`: it was brought before, under another key, since its own was taken."""

    what: MatchKind
    is_beside: bool = False


Seen = tuple[str, Value, Value]
"""Id and times of a memory of the target."""


class Matching:
    """Shown every memory of the target first, then asked about those that come. Used by one thread at a time."""

    def __init__(self, fit: Fit) -> None:
        self._fit = fit
        # An empty name makes a database that goes with its connection.
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for statement in ("PRAGMA journal_mode = OFF", f"PRAGMA cache_size = -{_CACHED_KIB}", *_TABLES, "BEGIN"):
            self._connection.execute(statement)
        self.last_place = 0
        """The highest number under which a row of the target lies."""
        self.there: Seen | None = None
        """Of the last memory of a file that was asked about: what the target has in its place."""
        self.earlier: tuple[Literal["key", "id"], int] | None = None
        """Of the same: what it has in common with one before it, and the number of that one."""
        self._numbers: dict[bytes, int] = {}

    def close(self) -> None:
        """Close it."""
        self._connection.close()

    def see(self, row: Row) -> None:
        """A memory of the target."""
        fit, kept, base = self._fit, None, self._base(row)
        if fit.origin.is_file:
            kept = pickle.dumps((row.id, *(row.values.get(name) for name in TIMES)), pickle.HIGHEST_PROTOCOL)
        base_place = None if base is None else fit.place(row, base)
        key = None if base is None else self._key(row).encode("utf-8", "surrogatepass")
        id_there = digest((comparable(row.id),))
        owner = None if fit.origin.owner is None else row.agent
        number = self._add(id_there, fit.place(row), fit.state(row), base_place, kept, None, key=key, owner=owner)
        marks = ((mark, number) for mark in fit.marks(row))
        self._connection.executemany("INSERT OR IGNORE INTO marks (mark, row) VALUES (?, ?)", marks)
        if isinstance(row.handle, int):
            self.last_place = max(self.last_place, row.handle)

    def match(
        self,
        row: Row,
        *,
        said: int,
        has_id: bool,
        is_second: bool = False,
        number: int | None = None,
        giver: str | None = None,
        is_line: bool = False,
    ) -> Match:
        """What a fitted memory is; `has_id` says that it would keep its id, `number` where it stands, `giver` which
        agent it belonged to, `is_line` that it is a line of notes for notes, which stands for itself."""
        fit = self._fit
        place, state = fit.place(row), fit.state(row)
        self.there, self.earlier = None, None
        found = self._connection.execute(
            "SELECT rowid, state, claimed, number, kept, giver FROM there WHERE place = ?"
            " ORDER BY claimed, state <> ? LIMIT 1",
            (place, state),
        ).fetchone()
        if fit.has_keys and (is_second or (found is not None and found[2])):
            # Agents that the store does not know may each have had a memory of this key.
            self.earlier = ("key", found[3]) if found is not None and found[5] == giver else None
            return Match(MatchKind.SECOND, self._claim_beside(state, place, said))
        has_id = has_id and not fit.renews_ids
        if fit.has_keys and has_id and fit.origin.is_file and not self._came(row.id, number):
            return Match(MatchKind.SECOND)
        is_there = self._is_marked(row, said)
        if found is None or found[2] or (is_line and found[1] != state):
            is_taken = has_id and self.has_id(row.id)
            self._add(None, place, state, None, None, number, claimed=True, giver=giver)
            if is_there:
                return Match(MatchKind.SAME)
            return Match(
                MatchKind.TAKEN if is_taken else MatchKind.NEW, is_taken and self._claim_beside(state, place, said)
            )
        is_same = is_there or fit.agree(found[1], state, said)
        if is_same or fit.has_keys:
            # Notes may have several lines of one key: what changed leaves them to others.
            claim = "UPDATE there SET claimed = 1, number = ?, giver = ? WHERE rowid = ?"
            self._connection.execute(claim, (number, giver, found[0]))
        if self.there is None or not is_there:
            self._note_there(found[4])
        if is_same:
            return Match(MatchKind.SAME)
        return Match(MatchKind.TAKEN, self._claim_beside(state, place, said))

    def match_foreign(
        self, row: Row, said: int, *, all_came: bool = False, rename: bool = False
    ) -> tuple[str, Match] | None:
        """What a fitted memory of another tool is, and the key for it; None where that shows only when `all_came`.

        Such a memory has no id here, and tools give one key to several: the first has it, others get `_2` and so on.
        Which is which tells what they say, not their order, since another export may have them in another one.
        """
        fit, key = self._fit, row.key
        place, state = fit.place(row), fit.state(row)
        self.there, self.earlier = None, None
        is_there = self._is_marked(row, said)
        own = self._connection.execute(f"{_HELD} place = ?", (place,)).fetchall()
        held = sorted(own + self._connection.execute(f"{_HELD} base = ?", (place,)).fetchall(), key=lambda one: one[2])
        for number, there, _, kept, numbered in held:
            if fit.agree(there, state, said, but_key=True):
                return self._claim(number, kept, numbered) or key, Match(MatchKind.SAME)
        if is_there:
            return key, Match(MatchKind.SAME)
        if own and not all_came:
            return None
        changed = self._claim_changed(held, state, said, key) if own else None
        if changed is not None and fit.has_keys and not rename:
            return changed, Match(MatchKind.TAKEN)
        if changed is not None and not fit.has_keys:
            # Notes get what changed as one more line under its key.
            key = changed
        elif own:
            key = self._free_key(row)
        self._add(None, fit.place(row, key), state, None if key == row.key else place, None, None, claimed=True)
        return key, Match(MatchKind.NEW if changed is None or not fit.has_keys else MatchKind.TAKEN)

    def wait(self, row: Row) -> None:
        """Keep a memory that came for `waiting`."""
        self._connection.execute("INSERT INTO waiting (row) VALUES (?)", (pickle.dumps(row, pickle.HIGHEST_PROTOCOL),))

    def waiting(self) -> Iterator[Row]:
        """Those kept, in their order."""
        for (row,) in self._connection.execute("SELECT row FROM waiting ORDER BY rowid"):
            yield pickle.loads(row)

    def expect(self, row: Row, match: Match, *, said: int, brings: bool) -> None:
        """The memory that was asked about last, fitted: the target has it, or shall have it when all is done."""
        fit = self._fit
        is_whole = brings and match.what is MatchKind.NEW
        is_beside = match.what in (MatchKind.TAKEN, MatchKind.SECOND)
        key = row.key[:_KEY_KEPT].encode("utf-8", "surrogatepass")
        values = (fit.place(row), fit.state(row), fit.whole(row) if is_whole else None, said, is_beside, key)
        self._connection.execute(
            "INSERT INTO expected (place, state, whole, said, is_beside, key) VALUES (?, ?, ?, ?, ?, ?)", values
        )

    def find(self, row: Row) -> None:
        """A memory of the target afterwards."""
        fit = self._fit
        if not self._found(row, fit.place(row), is_beside=False):
            base = self._base(row)
            if base is not None:
                self._found(row, fit.place(row, base), is_beside=True)

    def verified(self) -> int:
        """How many of those expected were found."""
        (number,) = self._connection.execute("SELECT count(*) FROM expected WHERE found").fetchone()
        return int(number)

    def missing(self, most: int) -> tuple[int, tuple[str, ...]]:
        """How many of those expected were not found, and the keys of the first of them."""
        (number,) = self._connection.execute("SELECT count(*) FROM expected WHERE NOT found").fetchone()
        keys = self._connection.execute("SELECT key FROM expected WHERE NOT found ORDER BY rowid LIMIT ?", (most,))
        return int(number), tuple(_shown(key.decode("utf-8", "surrogatepass")) for (key,) in keys)

    def _add(
        self,
        id: bytes | None,
        place: bytes,
        state: bytes,
        base: bytes | None,
        kept: bytes | None,
        number: int | None,
        *,
        claimed: bool = False,
        key: bytes | None = None,
        owner: str | None = None,
        giver: str | None = None,
    ) -> int | None:
        return self._connection.execute(
            "INSERT INTO there (id, place, state, base, kept, number, claimed, key, owner, giver)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (id, place, state, base, kept, number, claimed, key, owner, giver),
        ).lastrowid

    def _claim_changed(self, held: Sequence[Any], state: bytes, said: int, key: str) -> str | None:
        """The key of the one of these that a memory seems to have changed from; None where each is another memory."""
        for number, there, claimed, kept, numbered in held:
            if not claimed and not self._fit.is_other(there, state, said):
                return self._claim(number, kept, numbered) or key
        return None

    def _claim(self, number: int, kept: bytes | None, numbered: bytes | None) -> str | None:
        """Its key, where that has a number. Notes may have several lines under one: what it was before."""
        statement = "UPDATE there SET claimed = 1 WHERE place = (SELECT place FROM there WHERE rowid = ?)"
        self._connection.execute(statement, (number,))
        self._note_there(kept)
        return None if numbered is None else numbered.decode("utf-8", "surrogatepass")

    def _free_key(self, row: Row) -> str:
        """The key of a memory with the first number behind it that no other has."""
        known = self._fit.place(row)
        for number in counting(self._numbers.get(known, 2)):
            key = f"{row.key}_{number}"
            place = self._fit.place(row, key)
            if self._connection.execute("SELECT 1 FROM there WHERE place = ?", (place,)).fetchone() is None:
                self._numbers[known] = number + 1
                return key
        raise AssertionError("numbers have no end")

    def _is_marked(self, row: Row, said: int) -> bool:
        """Whether a mark makes it the same; `there` is then, or where another one has its key, the first such one."""
        sought = self._fit.sought(row, said)
        if sought is None:
            return False
        every = [self._marked(mark) for mark in sought.all]
        is_same = None not in every
        key = None if is_same else self._marked(sought.key)
        held = every[0] if is_same else key
        if held is not None:
            self._note_there(held[0])
        return is_same or (key is None and self._marked(sought.part) is not None)

    def _marked(self, mark: bytes | None) -> tuple[bytes | None] | None:
        if mark is None:
            return None
        statement = "SELECT kept FROM marks JOIN there ON there.rowid = marks.row WHERE mark = ? ORDER BY row LIMIT 1"
        found: tuple[bytes | None] | None = self._connection.execute(statement, (mark,)).fetchone()
        return found

    def _note_there(self, kept: bytes | None) -> None:
        if kept is not None:
            self.there = pickle.loads(kept)

    def _found(self, row: Row, place: bytes, *, is_beside: bool) -> bool:
        fit, state = self._fit, self._fit.state(row)
        statement = (
            "SELECT rowid, state, whole, said FROM expected WHERE place = ? AND NOT found AND is_beside >= ?"
            " ORDER BY is_beside"
        )
        for number, expected, whole, said in self._connection.execute(statement, (place, is_beside)).fetchall():
            if not fit.agree(expected, state, said, but_key=is_beside):
                continue
            if whole is not None and whole != fit.whole(row):
                continue
            self._connection.execute("UPDATE expected SET found = 1 WHERE rowid = ?", (number,))
            return True
        return False

    def has_id(self, id: str) -> bool:
        """Whether a memory of the target has it."""
        found = self._connection.execute("SELECT 1 FROM there WHERE id = ? LIMIT 1", (digest((comparable(id),)),))
        return found.fetchone() is not None

    def owned(self, row: Row) -> Row:
        """A fitted memory that shall belong to another agent than it did: what has its id there may be of that one.

        It gets an id of its own then, always the same, and what it is superseded by is called by the same rule.
        """
        owner = self._fit.origin.owner
        names = [name for name in ("id", "superseded_by") if self._is_of_another(row.values.get(name), owner)]
        if not names:
            return row
        values = {**row.values, **{name: _id_of(owner, row.values[name]) for name in names}}
        return replace(row, id=column_text(values["id"]), values=values)

    def apart(self, row: Row) -> Row:
        """A fitted memory without an id of its own: what one was made of, an earlier one may have too."""
        fresh, number = row.id, 1
        while row.id and not self._came(fresh, None):
            number += 1
            fresh = str(uuid5(NAMESPACE_OID, f"{row.id} {number}"))
        return row if fresh == row.id else replace(row, id=fresh, values={**row.values, "id": fresh})

    def _is_of_another(self, id: Value, owner: str | None) -> bool:
        if owner is None or not isinstance(id, str):
            return False
        statement = "SELECT owner FROM there WHERE id = ? LIMIT 1"
        found = self._connection.execute(statement, (digest((comparable(id),)),)).fetchone()
        return found is not None and found[0] not in (None, owner)

    def _came(self, id: str, number: int | None) -> bool:
        """Note the id of a memory of a file; whether it is the first that has it."""
        known = digest((comparable(id),))
        found = self._connection.execute("SELECT number FROM came WHERE id = ?", (known,)).fetchone()
        if found is not None:
            self.earlier = ("id", found[0])
            return False
        self._connection.execute("INSERT INTO came (id, number) VALUES (?, ?)", (known, number))
        return True

    def _claim_beside(self, state: bytes, place: bytes, said: int) -> bool:
        statement = "SELECT rowid, state FROM there WHERE base = ? AND NOT claimed_beside"
        for number, there in self._connection.execute(statement, (place,)).fetchall():
            if self._fit.agree(there, state, said, but_key=True):
                self._connection.execute("UPDATE there SET claimed_beside = 1 WHERE rowid = ?", (number,))
                return True
        return False

    def _base(self, row: Row) -> str | None:
        """The key a memory had before it was put beside another one."""
        key, is_foreign = self._key(row), self._fit.origin.is_foreign
        if not self._fit.has_keys and not is_foreign:
            return None
        base, suffix, _ = key.rpartition(RESTORED)
        if suffix:
            return base
        numbered = _NUMBERED.fullmatch(key) if is_foreign else None
        return None if numbered is None else numbered[1]

    def _key(self, row: Row) -> str:
        return row.key if self._fit.has_keys else read_line(row).key


class Stopped(InspectorError):
    """`on_progress` said no while both sides were read."""

    title = "Stopped"
    exit_code = INTERRUPTED


class _FirstRow(Exception):
    """Ends a pass after its first row."""


Look = Callable[[Row, int | None], None]


class Supply(Protocol):
    """What memories come from."""

    async def fit(self, memory: Memory, config: MemoryConfig, now: datetime, *, is_there: bool) -> Fit:
        """What the target keeps of them, known before the first of them; `is_there` is False for one to be made."""

    async def each(self, look: Look, *, to_notes: bool) -> None:
        """Show every memory, with the number of its line in a file where none may come twice; `to_notes` says that
        notes will take them, where lines keep their order."""


@dataclass(frozen=True, slots=True)
class StoreSupply:
    """The memories of a store that a filter leaves."""

    memory: Memory
    filter: MemoryFilter

    async def fit(self, memory: Memory, config: MemoryConfig, now: datetime, *, is_there: bool) -> Fit:
        """By what the store says of itself."""
        if self.memory.keeps_lines:
            origin = Origin(self.memory, _NOTE_COLUMNS, known_vectors({}), await _outdated(self.memory))
        else:
            facts = (await self.memory.health()).facts if "vectors" not in self.memory.why_not else {}
            origin = Origin(self.memory, await _columns(self.memory), known_vectors(facts))
        return await fit_of(origin, memory, config, now, is_there=is_there)

    async def each(self, look: Look, *, to_notes: bool) -> None:
        """Every row; lines of notes in the order they stand in, day by day."""
        if not self.memory.keeps_lines:
            await self.memory.scan(lambda row: look(row, None), self.filter)
            return
        # All notes are in memory as it is.
        rows: list[Row] = []
        await self.memory.scan(rows.append, self.filter)
        rows.sort(key=_line_order)
        await show(rows, lambda row: look(row, None))


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What would come: how many new ones, the same already, and how many whose id or key is taken.

    `samples` are the first keys that are taken, `previews` the first new ones as they will stand. `losses` are
    sentences: what the target does not keep ("Markdown does not store the session (41)."). `makes` is a sentence about
    what is made first, or None. Of those taken, `beside` were brought before under another key, and `second` have the
    key of another one that comes with them, of another agent or a later line of notes; only "rename" brings those.
    `adds_lines` says that one that is taken comes as a further line, whatever is chosen but "skip". `refused` are those
    the target cannot take at all, which the losses tell. `by_category` counts those of a category by what they are to
    the target. `notes` are sentences about what was read, and about what ZeroClaw would soon take of it.
    """

    new: int
    same: int
    taken: int
    samples: tuple[str, ...] = ()
    previews: tuple[MemoryEntry, ...] = ()
    by_category: tuple[tuple[str, Match, int], ...] = ()
    losses: tuple[str, ...] = ()
    makes: str | None = None
    beside: int = 0
    second: int = 0
    refused: int = 0
    notes: tuple[str, ...] = ()
    adds_lines: bool = False

    @property
    def count(self) -> int:
        """How many memories there are to come."""
        return self.new + self.same + self.taken + self.refused

    def brings(self, on_clash: OnClash) -> int:
        """How many would be written."""
        more = {"skip": 0, "rename": self.taken - self.beside, "overwrite": self.taken - self.second}
        return self.new + more[on_clash]

    def leaves(self, on_clash: OnClash) -> int:
        """How many would be left out; what was brought under another key before is there."""
        there = self.same + (self.beside if on_clash == "rename" else 0)
        return self.count - there - self.brings(on_clash)

    def categories(self, on_clash: OnClash) -> tuple[tuple[str, int], ...]:
        """How many of which category would be written, the most first."""
        counts: Counter[str] = Counter()
        for category, match, number in self.by_category:
            counts[category] += number if _brings(match, on_clash) else 0
        return tuple((+counts).most_common())


@dataclass(slots=True)
class Reconciliation:
    """Looks at what comes, and what was found. What `on_clash` lets in goes to the spool, as the target shall have it;
    `each`, if any, is told of every memory and, where the target has it, by which id; `expiry`, if any, tells which of
    those that are new ZeroClaw would soon take.

    `refused` is how many the target cannot take, `agents` those it has yet to know.
    """

    fit: Fit
    matching: Matching
    spool: Spool | None = None
    on_clash: OnClash = "skip"
    each: Callable[[Row, Match, str | None], None] | None = None
    expiry: Expiry | None = None
    losses: Losses = field(init=False)
    counts: Counter[Match] = field(default_factory=Counter)
    refused: int = 0
    samples: list[str] = field(default_factory=list)
    previews: list[MemoryEntry] = field(default_factory=list)
    categories: Counter[tuple[str, Match]] = field(default_factory=Counter)
    agents: dict[str, None] = field(default_factory=dict)
    expiring: Counter[HygieneRule] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.losses = Losses(self.fit)

    @property
    def count(self) -> int:
        """How many memories came."""
        return self.counts.total() + self.refused

    @property
    def beside(self) -> int:
        """How many were brought before under another key."""
        return sum(number for match, number in self.counts.items() if match.is_beside)

    def of(self, *whats: MatchKind) -> int:
        """How many are any of that to the target."""
        return sum(number for match, number in self.counts.items() if match.what in whats)

    def look(self, raw: Row, number: int | None) -> None:
        """One that comes. Raises UsageError where it has a number, and its key or id is that of an earlier one."""
        fit, matching = self.fit, self.matching
        row = fit.origin.read(raw)
        why = fit.refuses(row)
        if why is not None:
            self.refused += 1
            self.losses.refuse(why)
            return
        fitted, said = matching.owned(fit.fitted(row)), fit.said(row)
        if not row.id and not fit.origin.is_foreign:
            fitted = matching.apart(fitted)
        self.losses.look(row, fitted)
        if fit.origin.is_foreign:
            self._look_at_foreign(row, fitted, all_came=False)
            return
        match = matching.match(
            fitted,
            said=said,
            has_id=bool(row.id),
            is_second=fit.origin.is_outdated(raw),
            number=number,
            giver=row.agent,
            is_line=not fit.has_keys and fit.origin.is_line(row),
        )
        if matching.earlier is not None and number is not None:
            raise _repeated(row, number, *matching.earlier)
        self._take(row, fitted, match)

    def end(self) -> None:
        """All came: look at those that had to wait for it, or write them."""
        for row in self.matching.waiting():
            if self.fit.origin.is_foreign:
                self._look_at_foreign(row, self.fit.fitted(row), all_came=True)
            elif self.spool is not None:
                self._spool(self.spool, row)

    def _look_at_foreign(self, row: Row, fitted: Row, *, all_came: bool) -> None:
        fit = self.fit
        is_renamed = self.on_clash == "rename"
        found = self.matching.match_foreign(fitted, fit.said(row), all_came=all_came, rename=is_renamed)
        if found is None:
            self.matching.wait(row)
            return
        key, match = found
        if key != row.key:
            row = replace(row, values={**row.values, "key": key})
            fitted = fit.fitted(row)
        self._take(row, fitted, match)

    def _take(self, row: Row, fitted: Row, match: Match) -> None:
        fit, matching, said = self.fit, self.matching, self.fit.said(row)
        self.counts[match] += 1
        self._sample(fitted, match)
        if self.each is not None:
            self.each(fitted, match, matching.there[0] if matching.there else None)
        if self.spool is None:
            return
        brings = _brings(match, self.on_clash)
        if brings and match.what is MatchKind.TAKEN and self.on_clash == "overwrite" and matching.there and not row.id:
            fitted = fit.over(fitted, row, matching.there)
        if brings or match.what is MatchKind.SAME or match.is_beside:
            matching.expect(fitted, match, said=said, brings=brings)
        if brings and match.what is MatchKind.SECOND:
            # The key belongs to the other one, which may come after it.
            matching.wait(fitted)
        elif brings:
            self._spool(self.spool, fitted)

    def _sample(self, fitted: Row, match: Match) -> None:
        of_category = column_text(fitted.values.get("category")), match
        if of_category in self.categories or len(self.categories) < _MOST_NAMES:
            self.categories[of_category] += 1
        if match.what is MatchKind.NEW:
            rule = None if self.expiry is None else self.expiry.rule(fitted)
            if rule is not None:
                self.expiring[rule] += 1
            if len(self.previews) < PREVIEWS:
                entry = fitted.entry()
                self.previews.append(replace(entry, content=entry.content[:_PREVIEW_LENGTH]))
        if match.what in (MatchKind.TAKEN, MatchKind.SECOND) and len(self.samples) < SAMPLES:
            self.samples.append(_shown(fitted.key[:_KEY_KEPT]))

    def _spool(self, spool: Spool, fitted: Row) -> None:
        fit = self.fit
        if isinstance(fit, RowFit):
            if fit.memory.keeps_bytes and not fit.origin.is_file:
                # Places of its own, behind those there are: so the rows keep their order, and many go in at once.
                fitted = replace(fitted, handle=self.matching.last_place + spool.count + 1)
            if fitted.agent is not None and fitted.agent not in fit.agents:
                self.agents[fitted.agent] = None
        spool.add(fitted)

    def _expiring(self) -> Iterator[str]:
        for rule, count in self.expiring.items():
            says = f"{rule.sentence} ({', '.join(rule.keys)})"
            yield f"ZeroClaw's hygiene will archive or delete {count:,} of them: {says}."

    def plan(self, kind: Callable[..., AnyPlan], makes: str | None, notes: Iterable[str] = (), **more: Any) -> AnyPlan:
        """The plan it leads to; `makes` is a sentence about what is made first where anything comes, `notes` are some
        about what was read, and `more` what that kind has besides."""
        return kind(
            new=self.of(MatchKind.NEW),
            same=self.of(MatchKind.SAME),
            taken=self.of(MatchKind.TAKEN, MatchKind.SECOND),
            samples=tuple(self.samples),
            previews=tuple(self.previews),
            by_category=tuple((*of_category, number) for of_category, number in self.categories.items()),
            losses=tuple(self.losses.sentences()),
            makes=makes if self.counts else None,
            beside=self.beside,
            second=self.of(MatchKind.SECOND),
            refused=self.refused,
            adds_lines=not self.fit.has_keys,
            notes=(*self._expiring(), *notes),
            **more,
        )


@asynccontextmanager
async def reconciled(
    supply: Supply,
    memory: Memory,
    target: Target,
    now: datetime,
    on_progress: ProgressCallback | None,
    *,
    spool: Spool | None = None,
    on_clash: OnClash = "skip",
    each: Callable[[Row, Match, str | None], None] | None = None,
) -> AsyncIterator[Reconciliation]:
    """Read the target, then what comes: see Reconciliation.

    `memory` is the open store of the target, or the one foreseen. `now` dates what has no date. `on_progress` gets
    how many memories were read. Raises Stopped where it says no, UsageError for a memory of a file whose
    key or id an earlier one has.
    """
    is_there = target.library is not None
    fit = await supply.fit(memory, target.config, now, is_there=is_there)
    matching = Matching(fit)
    with closing(matching):
        # Only a plan tells what would soon go.
        expiry = await _expiry(target, memory, now) if spool is None else None
        found = Reconciliation(fit, matching, spool, on_clash, each, expiry)
        if is_there:
            await memory.scan(
                asking(matching.see, None if on_progress is None else lambda _: on_progress(0)), EVERYTHING
            )
        read = counting()

        def look(row: Row, number: int | None) -> None:
            _go_on(next(read), on_progress)
            found.look(row, number)

        await supply.each(look, to_notes=memory.keeps_lines)
        found.end()
        if spool is not None:
            spool.end()
        yield found


async def _expiry(target: Target, memory: Memory, now: datetime) -> Expiry | None:
    library = target.library
    profile = (
        await profile_to_make(target.config, memory, target.profile) if library is None else library.profile.profile
    )
    return Expiry.of(target.config, memory, profile.version, now)


def asking(see: See, on_progress: ProgressCallback | None) -> See:
    """The same `see`, that asks every now and then whether to go on. It raises Stopped where not."""
    seen = counting()

    def look(row: Row) -> None:
        _go_on(next(seen), on_progress)
        see(row)

    return look


def _go_on(done: int, on_progress: ProgressCallback | None) -> None:
    if done % _ASKS_EVERY == 0 and on_progress is not None and not on_progress(done):
        raise Stopped("Reading was stopped.", hint="Nothing was imported.")


def _brings(match: Match, on_clash: OnClash) -> bool:
    if match.what is MatchKind.NEW:
        return True
    if match.what is MatchKind.SAME or on_clash == "skip":
        return False
    return not match.is_beside if on_clash == "rename" else match.what is MatchKind.TAKEN


def _repeated(row: Row, number: int, what: Literal["key", "id"], earlier: int) -> UsageError:
    told = repr(_cut_key(row.key if what == "key" else row.id))
    return UsageError(
        f"Memory {number:,} repeats the {what} {told} of memory {earlier:,}.",
        hint="Each memory of an agent needs a key of its own. Delete one of them or change its key.",
    )


async def bring(
    library: Library,
    verb: Verb,
    summary: str,
    spool: Spool,
    on_conflict: OnConflict,
    on_progress: ProgressCallback | None,
    agents: Collection[str] = (),
) -> Outcome:
    """Write what was spooled, and the `agents` it refers to, as one action that undo takes back. Raises what
    `change_rows` raises."""
    if not spool.count:
        return Outcome(verb, 0)
    now = library.trash.now().isoformat()
    added = [_agent(alias, now) for alias in agents] if library.memory.agents_are_rows else []
    return await change_rows(
        library, verb, summary, lambda: chain(added, spool.changes()), on_conflict=on_conflict, on_progress=on_progress
    )


async def verify(
    library: Library, matching: Matching, on_progress: ProgressCallback | None
) -> tuple[int, int, tuple[str, ...]]:
    """Read the target again: how many of those expected were found, how many not, and the first keys of these.

    Raises Stopped where `on_progress` says no.
    """
    await library.memory.scan(asking(matching.find, on_progress), EVERYTHING)
    return matching.verified(), *matching.missing(_MOST_DIFFERING)


def _agent(alias: str, now: str) -> Change:
    """An agent to add, which its memories refer to."""
    id = str(uuid4())  # noqa: A001
    return Change(None, Row(id, {"id": id, "alias": alias, "created_at": now}, None, alias, AGENTS))


def refuse_unless_written(memory: Memory) -> None:
    """Raises Refused for a store that takes nothing."""
    if "write" in memory.why_not:
        raise memory.refuse_to_write()


async def fit_of(origin: Origin, memory: Memory, config: MemoryConfig, now: datetime, *, is_there: bool) -> Fit:
    """What a store of rows or of lines keeps of what an origin gives. Raises Refused for an owner it cannot have."""
    has_agents = "agents" not in memory.why_not
    if origin.owner is not None and not has_agents:
        raise without_agents(memory)
    if memory.keeps_lines:
        return await asyncio.to_thread(NoteFit.of, memory, origin, config)
    facts = (await memory.health()).facts if is_there and (has_agents or "vectors" not in memory.why_not) else {}
    agents = frozenset(facts.get("agents") or ()) if has_agents else frozenset[str]()
    columns = await _columns(memory) if is_there or memory.about.path or memory.columns else None
    return RowFit(memory, origin, columns, agents, known_vectors(facts), now.isoformat())


def _id_of(owner: str | None, other: Value) -> str:
    """The id that a memory has for one agent, of which another agent has one with the id `other`."""
    return str(uuid5(NAMESPACE_OID, f"zeroclaw-tui import for {owner!r} {other!r}"))


def _line_order(row: Row) -> tuple[str, int]:
    label, _, number = row.id.rpartition(":")
    return label, int(number)


async def _outdated(memory: Memory) -> frozenset[str]:
    """The lines whose key stands further on in the same folder too: ZeroClaw appends what it stores anew."""
    last: dict[tuple[str | None, str], str] = {}
    earlier: set[str] = set()
    rows: list[Row] = []
    await memory.scan(rows.append, EVERYTHING)
    for row in sorted(rows, key=_line_order):
        known = (row.agent, read_line(row).key)
        if known in last:
            earlier.add(last[known])
        last[known] = row.id
    return frozenset(earlier)


async def _columns(memory: Memory) -> frozenset[str] | None:
    """The columns of a store: those of its table, else of its first row; None where it has none."""
    if memory.columns is not None:
        return memory.columns
    columns: list[frozenset[str]] = []

    def first(row: Row) -> None:
        columns.append(frozenset(row.values))
        raise _FirstRow

    with suppress(_FirstRow):
        await memory.scan(first, EVERYTHING)
    return columns[0] if columns else None


def _shown(key: str) -> str:
    return _cut_key(masked(key))


def _cut_key(text: str) -> str:
    return cut(one_line(text[:_KEY_KEPT]), _KEY_CELLS)
