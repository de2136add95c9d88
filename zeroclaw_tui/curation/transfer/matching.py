"""The memories of one store beside those of another: which are new, the same or taken, in bounded memory.

What is known of each memory lies in a temporary database that SQLite keeps on disk where it gets large.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum

from zeroclaw_tui.curation.audit.secrets import masked
from zeroclaw_tui.curation.transfer.comparing import digest_of
from zeroclaw_tui.curation.transfer.keeping import RESTORED, Keeping
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.text import cut, one_line

_TABLES = (
    "CREATE TABLE there (id BLOB, place BLOB NOT NULL, state BLOB NOT NULL, claimed INTEGER NOT NULL DEFAULT 0)",
    "CREATE INDEX by_id ON there (id) WHERE id IS NOT NULL",
    "CREATE INDEX by_place ON there (place)",
    "CREATE TABLE beside (base BLOB NOT NULL, state BLOB NOT NULL, claimed INTEGER NOT NULL DEFAULT 0)",
    "CREATE INDEX by_base ON beside (base)",
    "CREATE TABLE expected (state BLOB NOT NULL, place BLOB, but_key BLOB, key BLOB NOT NULL,"
    " found INTEGER NOT NULL DEFAULT 0)",
    "CREATE INDEX by_state ON expected (state)",
    "CREATE INDEX by_renamed ON expected (place) WHERE place IS NOT NULL",
)
_CACHED_KIB = 16_000
_KEY_CELLS, _KEY_KEPT = 60, 400


class What(Enum):
    """What a memory of the source is to the target. SECOND has the key of one before it, which takes the place."""

    NEW = "new"
    SAME = "same"
    TAKEN = "taken"
    SECOND = "second"


@dataclass(frozen=True, slots=True)
class Match:
    """How a memory compares. `is_beside`: it was brought before, under another key, since its own was taken."""

    what: What
    is_beside: bool = False


class Matching:
    """Shown every memory of the target first, then asked about those of the source. One thread at a time."""

    def __init__(self, keeping: Keeping) -> None:
        self._keeping = keeping
        # An empty name makes a database that goes with its connection.
        self._connection = sqlite3.connect("", isolation_level=None, check_same_thread=False)
        for statement in ("PRAGMA journal_mode = OFF", f"PRAGMA cache_size = -{_CACHED_KIB}", *_TABLES, "BEGIN"):
            self._connection.execute(statement)
        self._last: tuple[StoredRow, bytes] | None = None
        self.last_place = 0
        """The highest number under which a row of the target lies."""

    def close(self) -> None:
        """Let go of it."""
        self._connection.close()

    def see(self, row: StoredRow) -> None:
        """A memory of the target."""
        keeping = self._keeping
        values = (digest_of(row.id), keeping.place(row), keeping.state(row))
        self._connection.execute("INSERT INTO there (id, place, state) VALUES (?, ?, ?)", values)
        if isinstance(row.handle, int):
            self.last_place = max(self.last_place, row.handle)
        base = self._base(row)
        if base is not None:
            renamed = (keeping.place(row, base), keeping.state(row, but_key=True))
            self._connection.execute("INSERT INTO beside (base, state) VALUES (?, ?)", renamed)

    def match(self, row: StoredRow, *, has_id: bool, is_second: bool = False) -> Match:
        """What a fitted memory of the source is; `has_id` says that it would keep its id."""
        keeping = self._keeping
        place, state = keeping.place(row), keeping.state(row)
        self._last = (row, state)
        found = self._connection.execute(
            "SELECT rowid, state, claimed FROM there WHERE place = ? ORDER BY claimed LIMIT 1", (place,)
        ).fetchone()
        if keeping.has_keys and (is_second or (found is not None and found[2])):
            return Match(What.SECOND, self._claim_beside(row, place))
        if found is None or found[2]:
            is_taken = has_id and self._has_id(row.id)
            self._connection.execute("INSERT INTO there (place, state, claimed) VALUES (?, ?, 1)", (place, state))
            return Match(What.TAKEN if is_taken else What.NEW, is_taken and self._claim_beside(row, place))
        self._connection.execute("UPDATE there SET claimed = 1 WHERE rowid = ?", (found[0],))
        if found[1] == state:
            return Match(What.SAME)
        return Match(What.TAKEN, self._claim_beside(row, place))

    def expect(self, row: StoredRow, match: Match, *, brings: bool) -> None:
        """A fitted memory that the target has, or shall have, when all is done."""
        keeping = self._keeping
        state = self._last[1] if self._last is not None and self._last[0] is row else keeping.state(row)
        place = but_key = None
        if brings and match.what is What.NEW:
            state = keeping.whole(row, state)
        elif match.what in (What.TAKEN, What.SECOND):
            place, but_key = keeping.place(row), keeping.state(row, but_key=True)
        values = (state, place, but_key, row.entry().key[:_KEY_KEPT].encode("utf-8", "surrogatepass"))
        self._connection.execute("INSERT INTO expected (state, place, but_key, key) VALUES (?, ?, ?, ?)", values)

    def find(self, row: StoredRow) -> None:
        """A memory of the target afterwards."""
        keeping = self._keeping
        state = keeping.state(row)
        if self._found("state = ?", (keeping.whole(row, state),)) or self._found("state = ?", (state,)):
            return
        base = self._base(row)
        if base is not None:
            renamed = (keeping.place(row, base), keeping.state(row, but_key=True))
            self._found("place = ? AND but_key = ?", renamed)

    def verified(self) -> int:
        """How many of those expected were found."""
        (count,) = self._connection.execute("SELECT count(*) FROM expected WHERE found").fetchone()
        return int(count)

    def missing(self, most: int) -> tuple[int, tuple[str, ...]]:
        """How many of those expected were not found, and the keys of the first of them."""
        (count,) = self._connection.execute("SELECT count(*) FROM expected WHERE NOT found").fetchone()
        keys = self._connection.execute("SELECT key FROM expected WHERE NOT found ORDER BY rowid LIMIT ?", (most,))
        return int(count), tuple(_shown(key.decode("utf-8", "surrogatepass")) for (key,) in keys)

    def _found(self, condition: str, values: Iterable[bytes]) -> bool:
        one = f"SELECT rowid FROM expected WHERE {condition} AND NOT found LIMIT 1"
        statement = f"UPDATE expected SET found = 1 WHERE rowid = ({one})"
        return self._connection.execute(statement, tuple(values)).rowcount > 0

    def _has_id(self, id: str) -> bool:
        found = self._connection.execute("SELECT 1 FROM there WHERE id = ? LIMIT 1", (digest_of(id),))
        return found.fetchone() is not None

    def _claim_beside(self, row: StoredRow, place: bytes) -> bool:
        one = "SELECT rowid FROM beside WHERE base = ? AND state = ? AND NOT claimed LIMIT 1"
        statement = f"UPDATE beside SET claimed = 1 WHERE rowid = ({one})"
        values = (place, self._keeping.state(row, but_key=True))
        return self._connection.execute(statement, values).rowcount > 0

    def _base(self, row: StoredRow) -> str | None:
        """The key a memory had before it was put beside another one."""
        if not self._keeping.has_keys:
            return None
        base, suffix, _ = row.entry().key.rpartition(RESTORED)
        return base if suffix else None


def shown_key(row: StoredRow) -> str:
    """A memory's key for people."""
    return _shown(row.entry().key[:_KEY_KEPT])


def _shown(key: str) -> str:
    return cut(one_line(masked(key)), _KEY_CELLS)
