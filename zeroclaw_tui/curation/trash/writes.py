"""What is written to trash.db, in SQL; callers open the transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from zeroclaw_tui.curation.trash.reads import EARLIER, EMPTY, NOTHING_DONE, ids_move, store_number
from zeroclaw_tui.curation.trash.rows import bindable, pack_change
from zeroclaw_tui.memory.change import FILE, MEMORIES, RowChange, StoredRow, Value

_DAY = 24 * 60 * 60
_JUMP_SECONDS = 40 * _DAY
_DOUBT_SECONDS = _DAY
"""For so long a clock that jumped may still be found wrong."""

_NO_ROW = b"\0"
"""The id of the row that stands for nothing, which no row of a store has."""


def begin(connection: sqlite3.Connection, store: str, verb: str, now: datetime, summary: str) -> int:
    """A new action."""
    connection.execute("INSERT OR IGNORE INTO stores (name) VALUES (?)", (store,))
    number = store_number(connection, store)
    made = connection.execute(
        "INSERT INTO actions (store, verb, at, moment, summary, state) VALUES (?, ?, ?, ?, ?, 'begun')",
        (number, verb, now.isoformat(), now.timestamp(), bindable(summary)),
    )
    return int(made.lastrowid or 0)


def clock_is_doubtful(connection: sqlite3.Connection, now: datetime) -> bool:
    """Whether the clock jumped far ahead less than a day ago, so that nothing shall go for its age; notes the time.

    Far ahead of the time noted last: after a wrong clock was put right, the newest action still has the wrong time.
    Call it before `begin`.
    """
    # Not one of the first tables, so that a file made without it gets it and stays readable for who does not know it.
    connection.execute(
        "CREATE TABLE IF NOT EXISTS clock"
        " (number INTEGER PRIMARY KEY CHECK (number = 1), seen REAL NOT NULL, jumped REAL)"
    )
    moment = now.timestamp()
    noted = connection.execute("SELECT seen, jumped FROM clock").fetchone()
    seen, jumped = noted or (connection.execute("SELECT max(moment) FROM actions").fetchone()[0], None)
    if seen is not None and moment > seen + _JUMP_SECONDS:
        jumped = moment
    if jumped is not None and not jumped <= moment < jumped + _DOUBT_SECONDS:
        jumped = None
    connection.execute("INSERT OR REPLACE INTO clock (number, seen, jumped) VALUES (1, ?, ?)", (moment, jumped))
    return jumped is not None


def keep(connection: sqlite3.Connection, action: int, changes: Iterable[RowChange]) -> None:
    """Add these changes to an action."""
    store = connection.execute("SELECT store FROM actions WHERE number = ?", (action,)).fetchone()[0]
    size = 0
    for change in changes:
        packed = pack_change(change)
        size += packed.size
        before, after = packed.before, packed.after
        made = connection.execute(
            "INSERT INTO kept (action, store, table_name, id, deleted, reverses, size, key, content, before, after,"
            " content_after) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                action, store, packed.table, packed.id,
                packed.is_deletion and not _deletes_again(connection, packed.reverses), packed.reverses, packed.size,
                packed.key, before and before.content, before and before.row, after and after.row,
                after and after.content,
            ),
        )  # fmt: skip
        blobs = (before and before.blob, after and after.blob)
        if any(blobs):
            connection.execute("INSERT INTO blobs (number, before, after) VALUES (?, ?, ?)", (made.lastrowid, *blobs))
    connection.execute("UPDATE actions SET size = size + ? WHERE number = ?", (size, action))


def take_as_reversed(connection: sqlite3.Connection, action: int, numbers: Sequence[int]) -> None:
    """Note under an action that these changes are taken back though nothing had to be done for them."""
    connection.executemany(
        "INSERT INTO kept (action, store, table_name, id, deleted, reverses, size)"
        " SELECT ?, store, ?, id, 0, number, 0 FROM kept WHERE number = ? AND taken_back = 0",
        ((action, NOTHING_DONE, number) for number in numbers),
    )


def drop_old(connection: sqlite3.Connection, newest: int, since: float, most_bytes: int) -> bool:
    """Drop actions from before `since`, then the oldest until `most_bytes` are in use; never the `newest`.

    Bytes are those of the file. Gives whether anything went.
    """
    old = connection.execute("SELECT number FROM actions WHERE moment < ? AND number <> ?", (since, newest))
    dropped = [number for (number,) in old.fetchall()]
    drop_actions(connection, dropped)
    used = bytes_used(connection)
    if used > most_bytes:
        kept = connection.execute("SELECT number, size FROM actions ORDER BY number").fetchall()
        # An action takes its share of the file, indexes and all.
        bytes_each = used / max(1, sum(size for _, size in kept))
        oldest = []
        for number, size in kept:
            if used <= most_bytes:
                break
            if number != newest:
                oldest.append(number)
                used -= int(size * bytes_each)
        drop_actions(connection, oldest)
        dropped += oldest
    return bool(dropped)


def bytes_used(connection: sqlite3.Connection) -> int:
    """The bytes of the file without its free pages."""
    names = ("page_count", "freelist_count", "page_size")
    pages, free, size = (connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names)
    return int((pages - free) * size)


def drop_actions(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """These actions and all they kept."""
    for number in numbers:
        connection.execute("DELETE FROM kept WHERE action = ?", (number,))
        connection.execute("DELETE FROM actions WHERE number = ?", (number,))


def forget_rows(connection: sqlite3.Connection, store: int, rows: Iterable[StoredRow]) -> None:
    """Drop every kept version of these rows, and of files beside the store that hold their content."""
    (name,) = connection.execute("SELECT name FROM stores WHERE number = ?", (store,)).fetchone()
    for row in rows:
        if ids_move(name):
            _forget_text(connection, store, row.values.get("content"))
            continue
        connection.execute(
            "DELETE FROM kept WHERE id = ? AND store = ? AND table_name IN (?, ?)",
            (bindable(row.id), store, row.table, NOTHING_DONE),
        )
    contents = [row.values.get("content") for row in rows]
    for number, blob in connection.execute(
        "SELECT k.number, b.before FROM kept k JOIN blobs b ON b.number = k.number"
        " WHERE k.store = ? AND k.table_name = ?",
        (store, FILE),
    ).fetchall():
        texts = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in contents if text]
        if any(isinstance(text, bytes) and text in (blob or b"") for text in texts):
            connection.execute("DELETE FROM kept WHERE number = ?", (number,))


def forget_numbers(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Drop these deleted memories, what was kept of them earlier, and whatever took them back and was undone."""
    for number in numbers:
        connection.execute(
            f"{EARLIER}, chain(number) AS (SELECT number FROM earlier UNION"
            " SELECT later.number FROM chain JOIN kept later ON later.reverses = chain.number)"
            " DELETE FROM kept WHERE number IN (SELECT number FROM chain)",
            (number,),
        )


def rename_store(connection: sqlite3.Connection, old: str, new: str) -> None:
    """Call a store otherwise, unless another process has begun to keep under the new name meanwhile."""
    connection.execute("UPDATE OR IGNORE stores SET name = ? WHERE name = ?", (new, old))


def forget_store(connection: sqlite3.Connection, store: str) -> None:
    """Drop everything kept of a store."""
    number = store_number(connection, store)
    connection.execute("DELETE FROM kept WHERE store = ?", (number,))
    connection.execute("DELETE FROM actions WHERE store = ?", (number,))


def strike(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Take kept changes out that never happened."""
    connection.executemany("DELETE FROM kept WHERE number = ?", ((number,) for number in numbers))


def strike_action(connection: sqlite3.Connection, action: int) -> None:
    """Take out all that was kept for an action."""
    connection.execute("DELETE FROM kept WHERE action = ?", (action,))


def retell(connection: sqlite3.Connection, action: int, summary: str) -> None:
    """Another summary."""
    connection.execute("UPDATE actions SET summary = ? WHERE number = ?", (bindable(summary), action))


def unname(connection: sqlite3.Connection, holds: Callable[[str | bytes], bool]) -> None:
    """Give actions whose summary holds something another one."""
    named = connection.execute("SELECT number, summary FROM actions").fetchall()
    going = [(number,) for number, summary in named if holds(summary)]
    connection.executemany("UPDATE actions SET summary = verb || ' (its words were erased)' WHERE number = ?", going)


def finish(connection: sqlite3.Connection, action: int) -> bool:
    """The action is done, its size counted anew; False when nothing is kept of it, then it is struck out."""
    size = connection.execute("SELECT sum(size) FROM kept WHERE action = ?", (action,)).fetchone()[0]
    if size is None:
        connection.execute("DELETE FROM actions WHERE number = ?", (action,))
        return False
    connection.execute("UPDATE actions SET state = 'done', size = ? WHERE number = ?", (size, action))
    return True


def has_kept(connection: sqlite3.Connection, action: int) -> bool:
    """Whether anything is kept of an action."""
    return connection.execute("SELECT 1 FROM kept WHERE action = ? LIMIT 1", (action,)).fetchone() is not None


def note_nothing(connection: sqlite3.Connection, action: int, summary: str) -> None:
    """Keep an action that changed nothing, for the next undo to tell; one row that no table has stands for that."""
    connection.execute("UPDATE actions SET state = 'done', summary = ? WHERE number = ?", (bindable(summary), action))
    connection.execute(
        "INSERT INTO kept (action, store, table_name, id, deleted, size) SELECT number, store, ?, ?, 0, 0 FROM actions"
        " WHERE number = ?",
        (NOTHING_DONE, _NO_ROW, action),
    )


def drop_empty(connection: sqlite3.Connection, action: int) -> None:
    """Let go of the actions before this one of its store that changed nothing."""
    store = "(SELECT store FROM actions WHERE number = ?)"
    found = connection.execute(f"SELECT action FROM kept WHERE {EMPTY} AND store = {store}", (action,)).fetchall()
    drop_actions(connection, [number for (number,) in found if number != action])


def count_anew(connection: sqlite3.Connection) -> None:
    """After rows went: actions of which nothing is left go too, the others count what is left."""
    connection.execute("DELETE FROM actions WHERE number NOT IN (SELECT action FROM kept)")
    connection.execute(
        "UPDATE actions SET size = (SELECT coalesce(sum(k.size), 0) FROM kept k WHERE k.action = actions.number)"
    )


def _forget_text(connection: sqlite3.Connection, store: int, content: Value) -> None:
    """Drop what was kept with this text before or after, and what that grew out of."""
    query = "SELECT number FROM kept WHERE store = ? AND table_name = ? AND ? IN (content, content_after)"
    seeds = connection.execute(query, (store, MEMORIES, content)).fetchall() if isinstance(content, str) else []
    forget_numbers(connection, [number for (number,) in seeds])


def _deletes_again(connection: sqlite3.Connection, reverses: int | None) -> bool:
    """Whether a deletion undoes a restore, so that the first deletion stands in the trash again."""
    if reverses is None:
        return False
    query = (
        "SELECT 1 FROM kept restore JOIN kept first ON first.number = restore.reverses"
        " WHERE restore.number = ? AND first.deleted = 1"
    )
    return connection.execute(query, (reverses,)).fetchone() is not None
