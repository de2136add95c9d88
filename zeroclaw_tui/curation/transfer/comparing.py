"""The memories of a file beside those of a store: which are new, the same, or taken, in bounded memory.

What is known of each memory of the file lies in a temporary database that SQLite keeps on disk where it gets large.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import uuid
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass

from zeroclaw_tui.curation.transfer.exact_values import packed, unpacked
from zeroclaw_tui.memory.change import StoredRow, Value
from zeroclaw_tui.memory.errors import WrongUse
from zeroclaw_tui.memory.text import cut, one_line

NEW, SAME, TAKEN, RENAMED = range(4)
"""What a memory of the file is. RENAMED was brought in before, under another key, since its own was taken."""

NOT_COMPARED = frozenset({"id", "embedding", "embedding_dimensions", "agent_id"})
_TABLE = """CREATE TABLE memory (number INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, id BLOB, beside BLOB,
columns INTEGER NOT NULL, state BLOB NOT NULL, but_key BLOB NOT NULL, what INTEGER NOT NULL DEFAULT 0, there TEXT,
has_id INTEGER NOT NULL DEFAULT 0)"""
_INDEXES = (
    "CREATE UNIQUE INDEX by_id ON memory (id) WHERE id IS NOT NULL",
    "CREATE INDEX by_beside ON memory (beside) WHERE beside IS NOT NULL",
)
_FOUND = "SELECT number, id, columns, state, but_key FROM memory WHERE"
_RENAMED_SUFFIX = " (restored"
_KEY_CELLS = 60
_CACHED_KIB = 32_000


@dataclass(frozen=True, slots=True)
class Known:
    """What is known of one memory of the file.

    `there` is the store's memory of the key of one without an id: its id and times. `id_is_taken` means that the store
    has its id with other values.
    """

    number: int
    what: int
    there: tuple[str, Value, Value] | None
    id_is_taken: bool = False


class Comparison:
    """Filled with the memories of the file first, then shown those of the store. Used by one thread at a time."""

    def __init__(self, columns: Collection[str] | None, place: str) -> None:
        """`columns` are those of the store's rows, None where it has no rows; `place` is where the store is."""
        self._place = place
        self._columns = tuple(sorted(set(columns or ()) - NOT_COMPARED))
        # An empty name makes a database that goes with its connection.
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for statement in ("PRAGMA journal_mode = OFF", f"PRAGMA cache_size = -{_CACHED_KIB}", _TABLE, *_INDEXES):
            self._connection.execute(statement)
        self._connection.execute("BEGIN")

    def close(self) -> None:
        """Let go of it."""
        self._connection.close()

    def add(self, number: int, row: StoredRow, owner: str | None) -> None:
        """A memory of the file. Raises WrongUse where an earlier one has its id, or its key and owner."""
        names = [name for name in self._columns if name in row.values]
        mask = sum(1 << at for at, name in enumerate(self._columns) if name in row.values)
        state, but_key = _state(row, names), _state(row, [name for name in names if name != "key"])
        own = digest_of(row.id) if row.id else None
        beside = digest_of(id_beside(row) if row.id else id_made(row, self._place))
        values = (number, _key(row, owner), own, beside, mask, state, but_key)
        try:
            self._connection.execute(
                "INSERT INTO memory (number, key, id, beside, columns, state, but_key) VALUES (?, ?, ?, ?, ?, ?, ?)",
                values,
            )
        except sqlite3.IntegrityError as failure:
            raise self._twice(number, row, values[1]) from failure

    def see(self, row: StoredRow) -> None:
        """A memory of the store."""
        own, key = digest_of(row.id), _key(row, row.agent)
        for number, what in self._of_id(row, own).items():
            self._note(number, what)
            if what == TAKEN:
                self._connection.execute("UPDATE memory SET has_id = 1 WHERE number = ?", (number,))
        for number, theirs, mask, state, _ in self._connection.execute(f"{_FOUND} key = ?", (key,)).fetchall():
            if theirs == own:
                continue
            is_same = theirs is None and _state(row, self._named(mask)) == state
            self._note(number, SAME if is_same else TAKEN)
            if theirs is None:
                there = json.dumps([packed(row.id), *(packed(row.values.get(name)) for name in _TIMES)])
                self._connection.execute("UPDATE memory SET there = ? WHERE number = ?", (there, number))

    def counts(self) -> tuple[int, int, int, int]:
        """How many are new, the same, taken; and how many of the taken were brought in under another key before."""
        found = dict(self._connection.execute("SELECT what, count(*) FROM memory GROUP BY what"))
        beside = found.get(RENAMED, 0)
        return found.get(NEW, 0), found.get(SAME, 0), found.get(TAKEN, 0) + beside, beside

    def taken(self, most: int) -> list[int]:
        """The first numbers of those that are taken."""
        statement = "SELECT number FROM memory WHERE what >= ? ORDER BY number LIMIT ?"
        return [number for (number,) in self._connection.execute(statement, (TAKEN, most))]

    def each(self) -> Iterator[Known]:
        """What is known of each, in the order of the file."""
        statement = "SELECT number, what, there, has_id FROM memory ORDER BY number"
        with closing(self._connection.execute(statement)) as found:
            for number, what, text, has_id in found:
                there = None
                if text is not None:
                    id_, created, updated = (unpacked(part) for part in json.loads(text))
                    there = (str(id_), created, updated)
                yield Known(number, what, there, bool(has_id))

    def _of_id(self, row: StoredRow, own: bytes) -> dict[int, int]:
        found: dict[int, int] = {}
        for number, _, mask, state, but_key in self._connection.execute(f"{_FOUND} id = ?", (own,)).fetchall():
            names = self._named(mask)
            if _state(row, names) == state:
                found[number] = SAME
            else:
                found[number] = RENAMED if _is_renamed(row) and self._agree(row, names, but_key) else TAKEN
        for number, id_, mask, state, but_key in self._connection.execute(f"{_FOUND} beside = ?", (own,)).fetchall():
            names = self._named(mask)
            if id_ is None and _state(row, names) == state:
                found[number] = SAME
            elif self._agree(row, names, but_key):
                found[number] = RENAMED
        return found

    def _agree(self, row: StoredRow, names: Sequence[str], but_key: bytes) -> bool:
        return _state(row, [name for name in names if name != "key"]) == but_key

    def _named(self, mask: int) -> list[str]:
        return [name for at, name in enumerate(self._columns) if mask >> at & 1]

    def _note(self, number: int, what: int) -> None:
        self._connection.execute("UPDATE memory SET what = max(what, ?) WHERE number = ?", (what, number))

    def _twice(self, number: int, row: StoredRow, key: bytes) -> WrongUse:
        earlier = self._connection.execute("SELECT number FROM memory WHERE key = ?", (key,)).fetchone()
        if earlier is not None:
            what = f"key {_shown(row.entry().key)}"
        else:
            what = f"id {_shown(row.id)}"
            earlier = self._connection.execute(
                "SELECT number FROM memory WHERE id = ?", (digest_of(row.id),)
            ).fetchone()
        return WrongUse(
            f"Line {number:,} has the {what} again, which line {earlier[0]:,} has already.",
            hint="A key belongs to one memory of an agent; take one of them out, or give it another key.",
        )


_TIMES = ("created_at", "updated_at")


def id_beside(row: StoredRow) -> str:
    """The id a memory gets beside one that has its own: always the same, so that it is known again."""
    content = hashlib.sha256(repr(row.values.get("content")).encode("utf-8", "surrogatepass")).hexdigest()
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"zeroclaw-tui beside {row.id!r} {content}"))


def id_made(row: StoredRow, place: str) -> str:
    """The id of a memory that has none in its file: always the same in one store, so that it is known again."""
    key, content = row.values.get("key"), row.values.get("content")
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"zeroclaw-tui import {place!r} {row.agent!r} {key!r} {content!r}"))


def _is_renamed(row: StoredRow) -> bool:
    return _RENAMED_SUFFIX in row.entry().key


def _state(row: StoredRow, names: Iterable[str]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for name in names:
        digest.update(comparable(row.values.get(name)))
        digest.update(b"\0,")
    return digest.digest()


def comparable(value: Value) -> bytes:
    """What is equal for values that a store does not tell apart."""
    if isinstance(value, str):
        return b"t" + value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes):
        return b"b" + value
    # A column of reals gives back 1.0 for 1, and a switch is True here and 1 there.
    number = int(value) if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()) else value
    return f"n{number!r}".encode()


def _key(row: StoredRow, owner: str | None) -> bytes:
    key = row.values.get("key")
    return hashlib.blake2b(f"{owner!r} {type(key).__name__} {key!r}".encode(), digest_size=16).digest()


def digest_of(text: str) -> bytes:
    """A short hash of an id."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _shown(text: str) -> str:
    return repr(cut(one_line(text[:400]), _KEY_CELLS))
