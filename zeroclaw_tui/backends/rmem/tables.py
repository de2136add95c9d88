"""R-Mem's database: what tells it and its version, and its rows as memories.

The tables are those of R-Mem (rustmem) 0.1.0 to 0.3.0, https://github.com/Adaimade/R-Mem, src/store.rs and
src/graph.rs. Times are UTC in whole seconds without a zone, vectors float32 little-endian, ids UUIDs.
"""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from zeroclaw_tui.backends.fallback import Held
from zeroclaw_tui.files.database import (
    DATABASE_HEADER,
    as_text,
    check_file,
    connect_read_only_blocking,
    quoted,
    raw_bytes,
    translated,
)
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Corrupt, InspectorError, Unreadable
from zeroclaw_tui.memory.text import one_line

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
_NO_RMEM = "Pass the path of a rustmem.db. It is db_path under [store] in rustmem.toml."


@dataclass(frozen=True, slots=True)
class Shape:
    """The columns of its tables; the version follows from them, since the file names none.

    `archive` is empty where there is no such table. `has_index` says whether there is the keyword index.
    """

    memories: frozenset[str]
    history: frozenset[str]
    relations: frozenset[str]
    archive: frozenset[str] = frozenset()
    has_index: bool = False

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
    """Raise Unreadable for what is not a regular file, and Corrupt where its size is no whole number of pages.

    Blocks.
    """
    if path.is_symlink():
        raise Unreadable(
            f"{path} is a symbolic link. Links to another program's store are not followed.",
            hint=f"Pass the file itself: {os.path.realpath(path)}.",
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
            hint="Use a complete copy, or run `sqlite3 FILE .recover` on a copy.",
        )


def read_shape(connection: sqlite3.Connection, path: Path) -> Shape:
    """The tables of a database. Raises Unreadable where they are not R-Mem's."""
    shape = _shape(connection)
    if shape is None:
        raise Unreadable(
            f"{path} is not an R-Mem database: it lacks the tables memories, history or relations.", hint=_NO_RMEM
        )
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
    )


@dataclass(frozen=True)
class Contents(Held):
    """What one reading found: living memories, then the archive, then the graph."""

    shape: Shape | None = None


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


def shown_user(user: str) -> str:
    """A user_id in a sentence."""
    return f'"{one_line(user)[:60]}"'


READ_ONLY = (
    "R-Mem databases are read-only here, because R-Mem keeps each deleted text in its archive and history. Change "
    "memories with `rustmem`, or copy them to another store with `zeroclaw memory copy`."
)
WHY_NOT = {
    "sessions": "R-Mem keeps no session: its scope is the user_id, shown as the namespace.",
    "agents": "R-Mem does not tell agents apart: its scope is the user_id, shown as the namespace.",
    "pinned": "R-Mem cannot pin a memory.",
    "importance": "R-Mem keeps no importance.",
    **dict.fromkeys(("write", "create", "content", "key", "category", "session_id", "namespace"), READ_ONLY),
}
