"""R-Mem's database: what tells it and its version, its rows as memories, and how they are changed as R-Mem does it.

The tables are those of R-Mem (rustmem) 0.1.0 to 0.3.0, https://github.com/Adaimade/R-Mem, src/store.rs and
src/graph.rs. Times are UTC in whole seconds without a zone, vectors float32 little-endian, ids UUIDs.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import stat
import threading
import uuid
from collections import defaultdict
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

from zeroclaw_tui.backends.fallback import Held, entry_of, stamp_of
from zeroclaw_tui.backends.health import StoreRepair, Trap, TrapKind
from zeroclaw_tui.backends.revert import MOST_ROWS, Operation, Rows
from zeroclaw_tui.backends.sqlite.transaction import not_written
from zeroclaw_tui.files.database import (
    DATABASE_HEADER,
    as_text,
    bound,
    check_file,
    connect_read_only_blocking,
    connect_to_write,
    quoted,
    raw_bytes,
    translated,
)
from zeroclaw_tui.memory.change import SUPERSEDED_BY, Conflict, Draft, Edit, Keep, RowChange, StoredRow, Value, Written
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import Corrupt, InspectorError, Locked, NotFound, Refused, Unreadable
from zeroclaw_tui.memory.text import are, counted, one_line

Version = Literal["0.1.x", "0.2.x", "0.3.0"]

MISC = "misc"
"""The category of a memory that none was given."""
ARCHIVE, RELATION = "archive", "relation"
"""The categories under which the archive and the graph are shown here; R-Mem has none for them."""
OF_RELATIONS = "semantic:relation"
SUPERSEDED, DELETED = "archive:superseded", "archive:deleted"
"""The kinds of what is no living memory."""

MOST_BYTES = 256_000_000
"""So much text is held; R-Mem's memories are single facts of some dozens of bytes."""

_NEEDED: Mapping[str, frozenset[str]] = {
    "memories": frozenset({"id", "user_id", "text", "embedding"}),
    "history": frozenset({"memory_id", "action", "old_text", "new_text"}),
    "relations": frozenset({"user_id", "source", "relation", "destination", "valid"}),
}
_ARCHIVE_COLUMNS = frozenset({"id", "user_id", "text", "embedding", "reason", "superseded_by"})
_INDEX = re.compile(r"\s*CREATE\s+VIRTUAL\s+TABLE\b.*\bUSING\s+fts5\b", re.IGNORECASE | re.DOTALL)
_PLAIN_TABLE = re.compile(r"\s*CREATE\s+TABLE\b", re.IGNORECASE)
_LENGTH = "CASE WHEN typeof(embedding) = 'blob' THEN length(embedding) END"
_KEY_DIGITS = 12
_NOT_HEX = re.compile(r"[^0-9a-f]")
_SUPERSEDED_ID = ":superseded:"
_NO_RMEM = "Give the rustmem.db of an R-Mem; its db_path stands in rustmem.toml under [store]."


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of its tables; the version follows from them, since the file names none.

    `archive` is empty where there is no such table. `has_index` says whether there is the keyword index,
    `has_index_rows` whether it can be told which rows are in it.
    """

    memories: frozenset[str]
    history: frozenset[str]
    relations: frozenset[str]
    archive: frozenset[str] = frozenset()
    has_index: bool = False
    has_index_rows: bool = False

    @property
    def version(self) -> Version:
        """The R-Mem that made it, or changed it last."""
        if not self.archive:
            return "0.1.x"
        return "0.3.0" if self.has_categories else "0.2.x"

    @property
    def has_categories(self) -> bool:
        """Whether memories have a category."""
        return "category" in self.memories

    def column(self, table: Literal["memories", "archive", "relations", "history"], name: str) -> str:
        """A column by name, NULL where the table of this version has none."""
        return quoted(name) if name in getattr(self, table) else "NULL"


def is_rmem(path: Path) -> bool:
    """Whether a file is R-Mem's, by its tables; a file that cannot be read is not known to be. Blocks."""
    try:
        with opened(path) as connection, translated(path):
            return _shape(connection) is not None
    except InspectorError:
        return False


def opened(path: Path) -> closing[sqlite3.Connection]:
    """A connection that only reads. Raises Unreadable, also for a symbolic link, and Corrupt for a file cut short."""
    check_place(path)
    return closing(connect_read_only_blocking(path))


def check_place(path: Path) -> None:
    """Raise Unreadable for what is no regular file by itself, and Corrupt where its size is no whole number of pages.

    Blocks.
    """
    if path.is_symlink():
        raise Unreadable(
            f"{path} is a symbolic link, which is not followed to another program's store.",
            hint=f"Give the file itself: {os.path.realpath(path)}.",
        )
    check_file(path)
    try:
        header = raw_bytes(path, 18)
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error.strerror}.", hint=_NO_RMEM) from error
    if not header.startswith(DATABASE_HEADER):
        raise Unreadable(f"{path} is not a SQLite database.", hint=_NO_RMEM)
    size = int.from_bytes(header[16:18], "big")
    page = 65536 if size == 1 else size
    if page and path.stat().st_size % page:
        raise Corrupt(
            f"{path} is damaged: its size is no whole number of pages, so its end is missing.",
            hint="Take a copy that is whole, or try `sqlite3 FILE .recover` on a copy.",
        )


def has_other_names(path: Path) -> bool:
    """Whether the file has a second name somewhere (a hard link), so that a write would change another file too."""
    found = path.stat()
    return stat.S_ISREG(found.st_mode) and found.st_nlink > 1


def read_shape(connection: sqlite3.Connection, path: Path) -> Shape:
    """The tables of a database. Raises Unreadable where they are not R-Mem's."""
    shape = _shape(connection)
    if shape is None:
        raise Unreadable(f"{path} has not the tables of R-Mem (memories, history, relations).", hint=_NO_RMEM)
    return shape


def _shape(connection: sqlite3.Connection) -> Shape | None:
    # A view or another program's module under one of these names is not read.
    tables = {
        as_text(name): as_text(statement)
        for name, statement in connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table'")
    }

    def columns(table: str) -> frozenset[str]:
        if _PLAIN_TABLE.match(tables.get(table, "")) is None:
            return frozenset()
        described = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
        return frozenset(as_text(name) for (name,) in described)

    found = {table: columns(table) for table in _NEEDED}
    if any(not needed <= found[table] for table, needed in _NEEDED.items()):
        return None
    archive = columns("archive")
    return Shape(
        found["memories"],
        found["history"],
        found["relations"],
        archive if archive >= _ARCHIVE_COLUMNS else frozenset(),
        _INDEX.match(tables.get("memories_fts", "")) is not None,
        "memories_fts_docsize" in tables,
    )


@dataclass(frozen=True)
class Contents(Held):
    """What one reading found: living memories, then the archive, then the graph."""

    shape: Shape | None = None

    @cached_property
    def keys_by_id(self) -> dict[str, str]:
        """The keys of living memories by id."""
        return {entry.id: entry.key for entry in self.entries if is_living(entry)}

    def named(self, name: str) -> MemoryEntry | None:
        """The memory of an id, or what lies in the archive or the graph under a handle; None where there is neither."""
        return self.by_id.get(name) or self.by_handle.get(name)


def is_living(entry: MemoryEntry) -> bool:
    """Whether it is one of R-Mem's memories, and neither archived nor a relation."""
    return isinstance(entry.handle, int)


def key_of(id: str) -> str:
    """The key that stands for an id: "rmem_" and its first 12 hexadecimal digits, or those of its hash."""
    digits = _NOT_HEX.sub("", id.lower())
    if len(digits) < _KEY_DIGITS or len(id.replace("-", "")) != len(digits):
        digits = hashlib.sha256(id.encode("utf-8", "surrogateescape")).hexdigest()
    return f"rmem_{digits[:_KEY_DIGITS]}"


def key_of_relation(user: str, source: str, relation: str, destination: str) -> str:
    """The key of a relation, the same for as long as the relation is."""
    named = "\0".join((user, source, relation, destination))
    return f"rmem_rel_{hashlib.sha256(named.encode('utf-8', 'surrogateescape')).hexdigest()[:8]}"


def read_contents(connection: sqlite3.Connection, shape: Shape, path: Path) -> Contents:
    """Every row, in one consistent reading. Raises Unreadable where there is more text than is held."""
    connection.execute("BEGIN")
    try:
        found: list[MemoryEntry] = []
        size = 0
        for entry in _told_apart(_rows(connection, shape)):
            size += entry.size
            if size > MOST_BYTES:
                raise Unreadable(
                    f"{path} holds more than {MOST_BYTES // 1_000_000} MB of text, which is no store of facts.",
                    hint="R-Mem's own `rustmem list -u USER` lists one user's memories.",
                )
            found.append(entry)
    finally:
        connection.execute("ROLLBACK")
    return Contents(tuple(found), shape)


def _rows(connection: sqlite3.Connection, shape: Shape) -> Iterator[MemoryEntry]:
    yield from _memories(connection, shape)
    if shape.archive:
        yield from _archive(connection, shape)
    yield from _relations(connection, shape)


def _memories(connection: sqlite3.Connection, shape: Shape) -> Iterator[MemoryEntry]:
    columns = [shape.column("memories", name) for name in ("category", "created_at", "updated_at")]
    statement = f"SELECT rowid, id, user_id, text, {', '.join(columns)}, {_LENGTH} FROM memories ORDER BY rowid"
    for rowid, id, user, text, category, created, updated, length in connection.execute(statement):  # noqa: A001
        yield memory_entry(rowid, as_text(id), user, text, category, created, updated, length)


def memory_entry(
    rowid: int, id: str, user: Any, text: Any, category: Any, created: Any, updated: Any, length: int | None
) -> MemoryEntry:
    """A living memory; `length` is that of its vector in bytes, None without one."""
    return MemoryEntry(
        id=id,
        key=key_of(id),
        content=as_text(text),
        category=MISC if category is None else as_text(category),
        timestamp=as_text(created),
        updated_at=None if updated is None else as_text(updated),
        namespace=as_text(user),
        embedding_dimensions=None if length is None else length // 4,
        handle=rowid,
    )


def _archive(connection: sqlite3.Connection, shape: Shape) -> Iterator[MemoryEntry]:
    columns = [shape.column("archive", name) for name in ("archived_at", "original_created_at")]
    statement = (
        f"SELECT rowid, id, user_id, text, reason, superseded_by, {', '.join(columns)}, {_LENGTH} FROM archive "
        f"ORDER BY {columns[0]}, rowid"
    )
    versions: defaultdict[str, int] = defaultdict(int)
    for rowid, id, user, text, reason, newer, archived, created, length in connection.execute(statement):  # noqa: A001
        own = as_text(id)
        if as_text(reason) == "SUPERSEDED":
            lives = as_text(newer) if newer is not None else own.partition(_SUPERSEDED_ID)[0]
            versions[lives] += 1
            name, key, kind = own, f"{key_of(lives)}_v{versions[lives]}", SUPERSEDED
        else:
            # The id of a deleted memory is its own, and a memory that was stored anew may have it.
            name, key, kind, lives = f"{own}:deleted", f"{key_of(own)}_deleted", DELETED, ""
        yield MemoryEntry(
            id=name,
            key=key,
            content=as_text(text),
            category=ARCHIVE,
            timestamp=as_text(archived if created is None else created),
            updated_at=None if archived is None else as_text(archived),
            namespace=as_text(user),
            superseded_by=lives,
            kind=kind,
            embedding_dimensions=None if length is None else length // 4,
            handle=archive_handle(rowid),
        )


def _relations(connection: sqlite3.Connection, shape: Shape) -> Iterator[MemoryEntry]:
    columns = [shape.column("relations", name) for name in ("created_at", "updated_at")]
    statement = (
        f"SELECT rowid, user_id, source, relation, destination, valid, {', '.join(columns)} FROM relations "
        "ORDER BY rowid"
    )
    for rowid, *texts, valid, created, updated in connection.execute(statement):
        user, source, relation, destination = map(as_text, texts)
        yield MemoryEntry(
            id=f"relation:{rowid}",
            key=key_of_relation(user, source, relation, destination),
            content=f"{source} {relation} {destination}",
            category=RELATION,
            timestamp=as_text(created),
            updated_at=None if updated is None else as_text(updated),
            namespace=user,
            # What it was replaced by is not kept.
            superseded_by=None if valid == 1 else "",
            kind=OF_RELATIONS,
            handle=relation_handle(rowid),
        )


def archive_handle(rowid: int) -> str:
    """The handle of an archived text."""
    return f"archive:{rowid}"


def relation_handle(rowid: int) -> str:
    """How a relation is named in listings."""
    return f"relation:{rowid}"


def _told_apart(entries: Iterator[MemoryEntry]) -> Iterator[MemoryEntry]:
    """The same, ids and keys that are there already with a number behind them: a foreign table may repeat them."""
    ids: defaultdict[str, int] = defaultdict(int)
    keys: defaultdict[str, int] = defaultdict(int)
    for entry in entries:
        ids[entry.id] += 1
        keys[entry.key] += 1
        if ids[entry.id] > 1:
            entry = replace(entry, id=f"{entry.id}#{ids[entry.id]}")
        if keys[entry.key] > 1:
            entry = replace(entry, key=f"{entry.key}_{keys[entry.key]}")
        yield entry


_KEEPS_HISTORY = "R-Mem never removes a line of its history; here only `zeroclaw memory erase TEXT` does."
_KEEPS_ARCHIVE = "R-Mem removes nothing from its archive; here only `zeroclaw memory erase TEXT` does."
_GOOD = (
    "The memories themselves are good: `zeroclaw memory doctor --repair rebuild-keyword-index` makes R-Mem's own "
    "keyword index anew."
)
INDEX_TRAPS: frozenset[TrapKind] = frozenset({"foreign words", "not indexed"})
"""Those that go with a keyword index made anew."""
REBUILD = StoreRepair(
    "rebuild keyword index",
    "R-Mem's recall finds memories by words that are not theirs, or misses them by words that are.",
    (
        "Make a backup of the whole database.",
        "Have SQLite fill R-Mem's keyword index anew from the memories, in one transaction; no memory, archived text "
        "or line of history changes.",
        "R-Mem itself never does this: its recall finds other memories from then on. Undo does not take it back, the "
        "backup does.",
    ),
)


def look_for_traps(connection: sqlite3.Connection, shape: Shape) -> tuple[Trap, ...]:
    """Those there are, the worst first. Reads all of the keyword index."""

    def rowids(statement: str) -> list[int]:
        return [int(rowid) for (rowid,) in connection.execute(statement)]

    known = "SELECT id FROM memories"
    archived: dict[str, list[Handle]] = {"DELETED": [], "SUPERSEDED": []}
    if shape.archive:
        for rowid, reason in connection.execute("SELECT rowid, reason FROM archive WHERE embedding IS NOT NULL"):
            archived.setdefault(as_text(reason), []).append(archive_handle(rowid))
        known += f" UNION SELECT id FROM archive UNION SELECT {shape.column('archive', 'superseded_by')} FROM archive"
    ((left,),) = connection.execute(
        "SELECT count(DISTINCT memory_id) FROM history "
        f"WHERE memory_id NOT IN (SELECT id FROM ({known}) WHERE id NOT NULL)"
    )
    deleted, superseded = archived["DELETED"], archived["SUPERSEDED"]
    stale: list[int] = []
    unindexed: list[int] = []
    mixed: list[int] = []
    if shape.has_index and shape.has_index_rows:
        stale = rowids("SELECT id FROM memories_fts_docsize WHERE id NOT IN (SELECT rowid FROM memories)")
        unindexed = rowids("SELECT rowid FROM memories WHERE rowid NOT IN (SELECT id FROM memories_fts_docsize)")
        mixed = _mixed(connection)
    found = (
        (left, Trap(
            "texts in history",
            f"The history holds the texts of {counted(left)} that are neither there nor archived: R-Mem's reset leaves "
            "them.",
            _KEEPS_HISTORY,
        )),
        (len(deleted), Trap(
            "deleted texts",
            f"{len(deleted):,} deleted {_texts(len(deleted))} in the archive: where nothing else scores 0.4, R-Mem's "
            "recall brings such back.",
            _KEEPS_ARCHIVE,
            tuple(deleted),
        )),
        (len(superseded), Trap(
            "earlier texts",
            f"{len(superseded):,} earlier {_texts(len(superseded))} in the archive, which recall brings back likewise.",
            _KEEPS_ARCHIVE,
            tuple(superseded),
        )),
        (len(mixed), Trap(
            "foreign words",
            f"{are(len(mixed))} found by words of deleted ones too: R-Mem leaves those in its keyword index, and a "
            "new memory takes their place.",
            _GOOD,
            tuple(mixed),
        )),
        (len(stale), Trap(
            "foreign words",
            f"The keyword index has the words of {counted(len(stale))} that were deleted: the next ones that are "
            "stored will be found by them.",
            _GOOD,
        )),
        (len(unindexed), Trap(
            "not indexed",
            f"{are(len(unindexed))} not in the keyword index, being older than it: recall leaves such out as soon as "
            "any other memory has a word of the query.",
            _GOOD,
            tuple(unindexed),
        )),
    )  # fmt: skip
    return tuple(trap for count, trap in found if count)


def _texts(count: int) -> str:
    return "text lies" if count == 1 else "texts lie"


def _mixed(connection: sqlite3.Connection) -> list[int]:
    """The memories that the index has under words that their text lacks, by an index made anew beside it.

    That lies in the temporary tables of this connection, which opened the file for reading alone.
    """
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute("PRAGMA query_only = OFF")
    try:
        connection.execute("CREATE VIRTUAL TABLE temp.fresh USING fts5(text)")
        connection.execute("INSERT INTO temp.fresh (rowid, text) SELECT rowid, text FROM main.memories")
        connection.execute("CREATE VIRTUAL TABLE temp.fresh_words USING fts5vocab(temp, fresh, instance)")
        connection.execute("CREATE VIRTUAL TABLE temp.words USING fts5vocab(main, memories_fts, instance)")
        rows = connection.execute(
            "SELECT DISTINCT doc FROM (SELECT term, doc FROM temp.words "
            "WHERE doc IN (SELECT rowid FROM memories) EXCEPT SELECT term, doc FROM temp.fresh_words) ORDER BY doc"
        )
        return [int(rowid) for (rowid,) in rows]
    finally:
        for name in ("words", "fresh_words", "fresh"):
            connection.execute(f"DROP TABLE IF EXISTS temp.{name}")
        connection.execute("PRAGMA query_only = ON")


def shown_user(user: str) -> str:
    """A user_id in a sentence."""
    return f'"{one_line(user)[:60]}"'


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


def rebuild_index(path: Path) -> None:
    """Fill the keyword index from the texts of the memories, in one transaction
    (https://sqlite.org/fts5.html#the_rebuild_command). Blocks. Raises what `writing` raises."""
    with writing(path) as connection:
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO memories_fts (memories_fts) VALUES ('rebuild')")
        connection.execute("COMMIT")


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

    The archive keeps its copy, as R-Mem never removes one. Raises NotFound, Conflict, Refused.
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
        """The memory that an archived text becomes. Raises NotFound, Refused where it has no vector."""
        rowid = int(str(entry.handle).rpartition(":")[2])
        found = self._connection.execute(
            f"SELECT id, user_id, text, embedding, {self._shape.column('archive', 'original_created_at')} FROM archive "
            "WHERE rowid = ?",
            (rowid,),
        ).fetchone()
        if found is None or as_text(found[2]) != entry.content:
            raise NotFound("This archived text is no longer there.", hint="r reloads the list.")
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
