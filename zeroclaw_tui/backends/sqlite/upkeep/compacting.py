"""Writing a database anew without its free pages, when nobody else has it open."""

from __future__ import annotations

import hashlib
import sqlite3
from dataclasses import dataclass
from pathlib import Path

from zeroclaw_tui.backends.sqlite.connection import translated, wal_file
from zeroclaw_tui.backends.sqlite.upkeep.alone import alone
from zeroclaw_tui.backends.sqlite.upkeep.copying import check_room
from zeroclaw_tui.backends.sqlite.upkeep.stoppable import Stoppable
from zeroclaw_tui.config.layouts import file_size
from zeroclaw_tui.memory.errors import Corrupt

_HAS_INDEX = "SELECT count(*) FROM sqlite_master WHERE name = 'memories_fts' AND sql LIKE '%fts5%'"


@dataclass(frozen=True, slots=True)
class Compacted:
    """Bytes of the database after it; `memories` in it; `index_changed` where the keyword index
    finds other words now, because it had fallen behind."""

    after: int
    memories: int
    index_changed: bool


@dataclass(frozen=True, slots=True)
class _Contents:
    """How many memories, a digest of their ids, keys and contents, one of their places, and one of all that words
    find."""

    memories: int
    rows: str
    places: str
    words: str


def compact_database(path: Path, stoppable: Stoppable) -> Compacted:
    """The keyword index built anew, VACUUM, and the log folded in; the journal mode stays.

    SQLite does each step wholly or not at all, so that an end at any moment leaves a whole database. Raises Locked,
    Unreadable without room, Corrupt should the memories not be what they were.
    """
    check_room(path.parent, 3 * _size(path))
    with translated(path), alone(path) as connection:
        stoppable.using(connection)
        try:
            found = _contents(connection)
            # First, so that what the index sheds is not left as free pages.
            _rebuild_index(connection)
            connection.execute("VACUUM")
            now = _contents(connection)
            if found.places != now.places:
                # SQLite does not promise to keep the places of rows without an INTEGER PRIMARY KEY.
                _rebuild_index(connection)
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        finally:
            stoppable.using(None)
    if (found.memories, found.rows) != (now.memories, now.rows):
        raise Corrupt(
            f"The memories of {path} are not what they were before.", hint="Stop ZeroClaw and put the backup back."
        )
    return Compacted(_size(path), now.memories, found.words != now.words)


def _contents(connection: sqlite3.Connection) -> _Contents:
    rows, places = hashlib.sha256(), hashlib.sha256()
    count = 0
    for place, *row in connection.execute("SELECT rowid, id, key, content FROM memories ORDER BY rowid"):
        count += 1
        places.update(b"%d " % place)
        for value in row:
            data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
            rows.update(f"{len(data)}:".encode() + data)
    return _Contents(count, rows.hexdigest(), places.hexdigest(), _words(connection))


def _words(connection: sqlite3.Connection) -> str:
    """A digest of every word of the keyword index with how often it stands in how many memories."""
    digest = hashlib.sha256()
    if _has_index(connection):
        connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab(main, memories_fts, row)")
        for row in connection.execute("SELECT term, doc, cnt FROM temp.words"):
            digest.update(repr(row).encode("utf-8", "surrogateescape"))
        connection.execute("DROP TABLE temp.words")
    return digest.hexdigest()


def _rebuild_index(connection: sqlite3.Connection) -> None:
    if _has_index(connection):
        connection.execute("INSERT INTO memories_fts(memories_fts) VALUES ('rebuild')")


def _has_index(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute(_HAS_INDEX).fetchone()[0])


def _size(path: Path) -> int:
    return file_size(path) + file_size(wal_file(path))
