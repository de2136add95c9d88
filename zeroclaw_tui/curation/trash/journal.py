"""What is asked of trash.db and written to it, in SQL.

Every function is given a connection and runs in a thread; callers of what writes open the transaction.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

from zeroclaw_tui.curation.trash.file import (
    Packed,
    Places,
    bindable,
    bytes_used,
    file_path,
    file_state,
    pack,
    searchable,
    unpack,
)
from zeroclaw_tui.memory.change import AUDIT_LOG, FILE, MEMORIES, NOTES_FILE, OTHER_ROW, Row, RowChange, Value
from zeroclaw_tui.memory.text import WHITE_SPACE

BATCH = 250
"""How many changes are read at once."""
BATCH_BYTES = 32_000_000
"""Fewer where they are so large."""

NOTHING_DONE = ""
"""In place of a table's name: a row that only says that the one it reverses is taken back."""

EMPTY = f"table_name = '{NOTHING_DONE}' AND reverses IS NULL"
"""Of the one row of an action that changed nothing, which version 0.2.0 wrote."""

EARLIER = """WITH RECURSIVE earlier(number) AS (VALUES (?) UNION
  SELECT before.number FROM earlier JOIN kept this ON this.number = earlier.number
  JOIN stores s ON s.number = this.store AND s.name NOT LIKE 'markdown:%'
  JOIN kept before ON before.id = this.id AND before.store = this.store AND before.table_name = this.table_name
  AND before.number < this.number UNION
  SELECT before.number FROM earlier JOIN kept this ON this.number = earlier.number
  JOIN stores s ON s.number = this.store AND s.name LIKE 'markdown:%'
  JOIN kept before ON before.content_after = this.content AND before.store = this.store
  AND before.table_name = this.table_name AND before.number < this.number)"""
"""A kept change and those of the same memory before it: the same id, or where ids move the text it grew out of."""

_FILES = (FILE, NOTES_FILE)

_IN_TRASH = "deleted = 1 AND taken_back = 0"
_LOOKED_AT = "table_name IN ('memories', 'file', 'memory_audit', 'other_row')"
"""What a person meant to change; agents and cached vectors come along."""
_UNSEEN = """table_name = 'file' AND ((before IS NULL AND instr(after, '"moved_from"') > 0)
  OR instr(after, '"stays_if_changed"') > 0)"""
"""The other half of a move, and ZeroClaw's note of when hygiene ran."""
_ACTION = f"""SELECT a.number, a.verb, a.at, a.summary, a.size, s.name AS store,
  (SELECT count(*) FROM kept WHERE action = a.number AND table_name <> '') AS everything,
  (SELECT count(*) FROM kept WHERE action = a.number AND table_name = 'memories') AS memories,
  (SELECT count(*) FROM kept WHERE action = a.number AND {_LOOKED_AT}) AS looked_at,
  (SELECT count(*) FROM kept WHERE action = a.number AND {_UNSEEN}) AS unseen,
  (SELECT count(*) FROM kept WHERE action = a.number AND taken_back = 0 AND table_name <> '')
    AS open_everything,
  (SELECT count(*) FROM kept WHERE action = a.number AND taken_back = 0 AND {_LOOKED_AT}) AS open_looked_at,
  (SELECT count(*) FROM kept WHERE action = a.number AND taken_back = 0 AND {_UNSEEN}) AS open_unseen
  FROM actions a JOIN stores s ON s.number = a.store"""
_REVERSING = "('undo', 'redo')"
_THESE = "(SELECT value FROM json_each(?))"
"""Numbers that are given as one list in JSON."""
_IS_EMPTY = f"EXISTS (SELECT 1 FROM kept WHERE action = a.number AND {EMPTY})"
_KEPT = """SELECT k.number, k.action, a.verb, a.at, s.name AS store, k.before, k.content, k.after,
  k.content_after, b.before AS blob, b.after AS blob_after
  FROM kept k JOIN actions a ON a.number = k.action JOIN stores s ON s.number = k.store
  LEFT JOIN blobs b ON b.number = k.number"""

_DAY = 24 * 60 * 60
_JUMP_SECONDS = 40 * _DAY
_DOUBT_SECONDS = _DAY
"""For so long a clock that jumped may still be found wrong."""

"""The id of the row that stands for nothing, which no row of a store has."""


Verb = Literal[
    "store", "edit", "forget", "purge", "clear", "restore", "undo", "redo", "clean", "hygiene", "snapshot", "hydrate",
    "import", "merge", "recategorise", "copy",
]  # fmt: skip
"""What a person did. "restore" brings chosen rows back from the trash, "clean" removes copies of a text elsewhere.

"recategorise" is in the trash.db of versions up to 0.2.0.
"""
REVERSING: tuple[Verb, ...] = ("undo", "redo")
"""What is done to another action: an undo reverses it, a redo applies it again."""


@dataclass(frozen=True, slots=True)
class Action:
    """Something a person did to one store. `at` is RFC 3339, `size` in bytes, `until` when the trash lets go of it.

    `count` is how many rows it changed, `open` how many of them are not taken back yet. `store` names the store.
    """

    number: int
    verb: Verb
    at: str
    summary: str
    count: int
    open: int
    size: int
    store: str
    until: str = ""


@dataclass(frozen=True, slots=True)
class Version:
    """One step in the history of one memory: what was done to it, and the row before and after.

    `number` is how the trash names the kept change.
    """

    number: int
    action: int
    verb: Verb
    at: str
    store: str
    before: Row | None
    after: Row | None


@dataclass(frozen=True, slots=True)
class States:
    """The fingerprints of a kept change's rows, None where there was none; of a file, the SHA-256 of its bytes.

    `entry` is the row itself where it is one of the audit log.
    """

    number: int
    table: str
    id: str
    before: str | None
    after: str | None
    entry: Row | None = None


def store_number(connection: sqlite3.Connection, name: str) -> int | None:
    """The number of a store, None when nothing of it was ever kept."""
    found = connection.execute("SELECT number FROM stores WHERE name = ?", (name,)).fetchone()
    return None if found is None else int(found[0])


def begun(connection: sqlite3.Connection, store: str) -> list[int]:
    """The actions of a store that were never finished."""
    query = "SELECT a.number FROM actions a JOIN stores s ON s.number = a.store WHERE s.name = ? AND a.state = 'begun'"
    return _numbers(connection, query, store)


def actions(connection: sqlite3.Connection, store: str, limit: int) -> list[Action]:
    """The newest actions of a store."""
    return _actions(connection, f"s.name = ? AND NOT {_IS_EMPTY} ORDER BY a.number DESC LIMIT ?", store, limit)


def action(connection: sqlite3.Connection, number: int) -> Action | None:
    """One action."""
    return _first(_actions(connection, "a.number = ?", number))


def last(connection: sqlite3.Connection, store: str) -> Action | None:
    """The newest action that is neither undo nor redo and has a change not taken back.

    Where it changed memories, what came along with them does not count.
    """
    condition = f"""s.name = ? AND a.verb NOT IN {_REVERSING} AND iif(
      EXISTS (SELECT 1 FROM kept WHERE action = a.number AND table_name = 'memories'),
      EXISTS (SELECT 1 FROM kept WHERE action = a.number AND {_LOOKED_AT} AND taken_back = 0),
      EXISTS (SELECT 1 FROM kept WHERE action = a.number AND table_name <> '' AND taken_back = 0))
      ORDER BY a.number DESC LIMIT 1"""
    return _first(_actions(connection, condition, store))


def last_undone(connection: sqlite3.Connection, store: str) -> Action | None:
    """The action that the newest undo, not done again since, took back; None where another change came after that."""
    query = f"""SELECT max(undo.number) FROM actions undo JOIN stores s ON s.number = undo.store
      WHERE s.name = ? AND undo.verb = 'undo'
      AND EXISTS (SELECT 1 FROM kept WHERE action = undo.number AND table_name <> '' AND taken_back = 0)
      AND NOT EXISTS (SELECT 1 FROM actions a WHERE a.store = undo.store AND a.number > undo.number
        AND a.verb NOT IN {_REVERSING} AND NOT {_IS_EMPTY})"""
    (undo,) = connection.execute(query, (store,)).fetchone()
    query = f"""WITH RECURSIVE below(number) AS (SELECT reverses FROM kept WHERE action = ? UNION
      SELECT k.reverses FROM below JOIN kept k ON k.number = below.number JOIN actions a ON a.number = k.action
      WHERE a.verb IN {_REVERSING})
      SELECT max(a.number) FROM below JOIN kept k ON k.number = below.number JOIN actions a ON a.number = k.action
      WHERE a.verb NOT IN {_REVERSING}"""
    (done,) = connection.execute(query, (undo,)).fetchone()
    return None if done is None else action(connection, done)


def numbers_to_reverse(connection: sqlite3.Connection, action: int, verb: str) -> list[int]:
    """The kept changes that an "undo" of an action reverses, or a "redo"; the newest first.

    An undo reverses what the action did, or a redo did again last; a redo what undos did. Rows that were in the way
    and were replaced come along.
    """
    chosen = "= 'undo'" if verb == "redo" else "<> 'undo'"
    query = f"""WITH RECURSIVE chain(root, number, verb) AS (
      SELECT number, number, '' FROM kept WHERE action = :action AND table_name <> '' UNION
      SELECT chain.root, k.number, a.verb FROM chain JOIN kept k ON k.reverses = chain.number
      JOIN actions a ON a.number = k.action WHERE a.verb IN {_REVERSING}),
      last(number) AS (SELECT max(k.number) FROM chain JOIN kept k ON k.number = chain.number
        WHERE k.taken_back = 0 AND k.table_name <> '' AND chain.verb {chosen} GROUP BY chain.root)
      SELECT number FROM last UNION SELECT replaced.number FROM kept replaced
        WHERE replaced.action IN (SELECT k.action FROM last JOIN kept k ON k.number = last.number)
        AND replaced.reverses IS NULL AND replaced.taken_back = 0 AND replaced.table_name <> '' ORDER BY 1 DESC"""
    return [number for (number,) in connection.execute(query, {"action": action})]


def numbers_in_trash(
    connection: sqlite3.Connection, store: str | None, contains: str = "", action: int | None = None
) -> list[int]:
    """The numbers of deleted memories, of one store or of all, the newest deletion first."""
    where, values = _IN_TRASH, list[Any]()
    if store is not None:
        where, values = f"{where} AND store = ?", [store_number(connection, store)]
    if action is not None:
        where, values = f"{where} AND action = ?", [*values, action]
    if contains:
        # Only ASCII letters have cases for SQLite; the rest is left to Python.
        if contains.isascii():
            found, needle = "instr(lower(coalesce({0}, '')), ?)", contains.lower()
        else:
            found, needle = "folded_contains({0}, ?)", contains.casefold()
            connection.create_function("folded_contains", 2, _folded_contains, deterministic=True)
        where = f"{where} AND ({found.format('key')} OR {found.format('content')})"
        values = [*values, bindable(needle), bindable(needle)]
    return _numbers(connection, f"SELECT number FROM kept WHERE {where} ORDER BY number DESC", *values)


def kept_rows(connection: sqlite3.Connection, numbers: Sequence[int]) -> list[Version]:
    """These kept changes, in the order of their numbers given, those gone meanwhile left out."""
    rows = _rows(connection, f"{_KEPT} WHERE k.number IN {_THESE}", json.dumps(numbers))
    found = {row["number"]: _kept(row) for row in rows}
    return [found[number] for number in numbers if number in found]


def is_in_trash(connection: sqlite3.Connection, number: int) -> bool:
    """Whether this is a deleted memory that can be restored."""
    query = f"SELECT 1 FROM kept WHERE number = ? AND {_IN_TRASH}"
    return connection.execute(query, (number,)).fetchone() is not None


def store_name(backend: str, location: str, config_dir: Path | None = None) -> str:
    """How a store is named in the trash: its backend and where it really lies, a URL or a bare name as it is.

    Within `config_dir` it is named from there, so that a config dir may be moved with all it holds.
    """
    if "://" not in location and (os.sep in location or os.path.exists(location)):
        location = os.path.realpath(location)
        if config_dir is not None and Path(location).is_relative_to(home := os.path.realpath(config_dir)):
            location = os.path.relpath(location, home)
    name = f"{backend}:{location}"
    return name.encode("utf-8", "backslashreplace").decode("utf-8")


def ids_move(store: str) -> bool:
    """Whether an id of this store names another memory tomorrow: those of Markdown are places in a file."""
    return store.startswith("markdown:")


def numbers_of_id(connection: sqlite3.Connection, store: str, id: str) -> list[int]:
    """The kept changes of a memory, the newest first; where ids move, those its last one grew out of."""
    query = """SELECT k.number FROM kept k JOIN stores s ON s.number = k.store
      WHERE k.id = ? AND s.name = ? AND k.table_name = ? ORDER BY k.number DESC"""
    found = _numbers(connection, query, bindable(id), store, MEMORIES)
    if found and ids_move(store):
        return _numbers(connection, f"{EARLIER} SELECT number FROM earlier ORDER BY number DESC", found[0])
    return found


def numbers_of_file(connection: sqlite3.Connection, path: str) -> list[int]:
    """The kept changes of a file, the newest first."""
    query = "SELECT number FROM kept WHERE id = ? AND table_name = ? ORDER BY number DESC"
    return _numbers(connection, query, bindable(path), FILE)


def numbers_of_action(connection: sqlite3.Connection, action: int, *, only_open: bool) -> list[int]:
    """The kept changes of an action, the newest first."""
    where = " AND taken_back = 0" if only_open else ""
    query = f"SELECT number FROM kept WHERE action = ? AND table_name <> ''{where} ORDER BY number DESC"
    return _numbers(connection, query, action)


def tables_of(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, str]:
    """What each of these kept changes belongs to."""
    query = f"SELECT number, table_name FROM kept WHERE number IN {_THESE}"
    return dict(connection.execute(query, (json.dumps(numbers),)))


def states(connection: sqlite3.Connection, action: int, places: Places) -> list[States]:
    """The states before and after every change of an action, in the order they were kept."""
    numbers = numbers_of_action(connection, action, only_open=False)[::-1]
    return [
        States(
            kept.number,
            row.table,
            file_path(row) if row.table in _FILES else row.id,
            _state(kept.before),
            _state(kept.after),
            row if row.table in (AUDIT_LOG, OTHER_ROW) else None,
        )
        for batch in batches(connection, numbers)
        for kept in batch
        if (row := places.here(kept.before or kept.after)) is not None
    ]


def batches(connection: sqlite3.Connection, numbers: Sequence[int]) -> Iterator[list[Version]]:
    """Kept changes, at most BATCH of them or about BATCH_BYTES at a time."""
    query = f"SELECT number, size FROM kept WHERE number IN {_THESE}"
    sizes = dict(connection.execute(query, (json.dumps(numbers),)).fetchall())
    some: list[int] = []
    size = 0
    for number in filter(sizes.__contains__, numbers):
        size += sizes[number]
        if some and (len(some) == BATCH or size > BATCH_BYTES):
            yield kept_rows(connection, some)
            some, size = [], sizes[number]
        some.append(number)
    if some:
        yield kept_rows(connection, some)


def holding(connection: sqlite3.Connection, holds: Callable[[Row], bool]) -> list[int]:
    """The numbers of all kept changes, of any store, of which a row holds what is looked for."""
    versions = map(_kept, _rows(connection, _KEPT))
    return [version.number for version in versions if any(map(holds, filter(None, (version.before, version.after))))]


def oldest(connection: sqlite3.Connection) -> str | None:
    """When the oldest action was that something is still kept of."""
    found = connection.execute("SELECT at FROM actions ORDER BY moment LIMIT 1").fetchone()
    return None if found is None else str(found[0])


def _state(row: Row | None) -> str | None:
    if row is None:
        return None
    return file_state(row) if row.table in _FILES else row.fingerprint


def _folded_contains(text: object, needle: str) -> bool:
    return isinstance(text, str) and needle in text.casefold()


def _numbers(connection: sqlite3.Connection, query: str, *values: Any) -> list[int]:
    return [number for (number,) in connection.execute(query, values)]


def _actions(connection: sqlite3.Connection, condition: str, *values: Any) -> list[Action]:
    return [_action(row) for row in _rows(connection, f"{_ACTION} WHERE {condition}", *values)]


def _first(found: Sequence[Action]) -> Action | None:
    return found[0] if found else None


def _rows(connection: sqlite3.Connection, query: str, *values: Any) -> sqlite3.Cursor:
    """What a query finds, values by the names of their columns."""
    cursor = connection.cursor()
    cursor.row_factory = sqlite3.Row
    return cursor.execute(query, values)


def _action(row: sqlite3.Row) -> Action:
    """What counts is what a person meant to change, where an action has memories; else everything it kept."""
    counted = "looked_at" if row["memories"] > 0 else "everything"
    return Action(
        number=row["number"],
        verb=row["verb"],
        at=row["at"],
        summary=_text(row["summary"]),
        count=row[counted] - row["unseen"] or row[counted],
        open=row[f"open_{counted}"] - row["open_unseen"] or row[f"open_{counted}"],
        size=row["size"],
        store=row["store"],
    )


def _kept(row: sqlite3.Row) -> Version:
    before = None if row["before"] is None else unpack(Packed(row["before"], row["content"], row["blob"]))
    after = None
    if row["after"] is not None:
        after = unpack(Packed(row["after"], row["content_after"], row["blob_after"]), before)
    return Version(row["number"], row["action"], row["verb"], row["at"], row["store"], before, after)


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


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


def keep(connection: sqlite3.Connection, action: int, changes: Iterable[RowChange]) -> list[int]:
    """Add these changes to an action; returns their numbers."""
    store = connection.execute("SELECT store FROM actions WHERE number = ?", (action,)).fetchone()[0]
    # AUTOINCREMENT gives no number twice, and nobody else writes within this transaction.
    (last,) = connection.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence WHERE name = 'kept'").fetchone()
    kept_bytes = 0
    numbers: list[int] = []
    for number, change in enumerate(changes, last + 1):
        numbers.append(number)
        row, key = change.row, change.row.values.get("key")
        before = None if change.before is None else pack(change.before)
        # Where a change reverses another, that one holds the vector which `after` has again.
        vector = change.reverses is None
        after = None if change.after is None else pack(change.after, change.before, vector=vector)
        is_deletion = row.table == MEMORIES and before is not None and after is None
        size = sum(there.size for there in (change.before, change.after) if there is not None)
        connection.execute(
            "INSERT INTO kept (number, action, store, table_name, id, deleted, reverses, size, key, content, before,"
            " after, content_after) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number, action, store, row.table, bindable(row.id),
                is_deletion and not _deletes_again(connection, change.reverses), change.reverses, size,
                searchable(key) if isinstance(key, str) else None,
                before and before.content, before and before.row, after and after.row, after and after.content,
            ),
        )  # fmt: skip
        blobs = (before and before.blob, after and after.blob)
        if any(blobs):
            connection.execute("INSERT INTO blobs (number, before, after) VALUES (?, ?, ?)", (number, *blobs))
        kept_bytes += size
    connection.execute("UPDATE actions SET size = size + ? WHERE number = ?", (kept_bytes, action))
    return numbers


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
    dropped = _numbers(connection, "SELECT number FROM actions WHERE moment < ? AND number <> ?", since, newest)
    drop_actions(connection, dropped)
    used = bytes_used(connection)[0]
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


def drop_actions(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """These actions and all they kept."""
    for number in numbers:
        connection.execute("DELETE FROM kept WHERE action = ?", (number,))
        connection.execute("DELETE FROM actions WHERE number = ?", (number,))


def forget_rows(connection: sqlite3.Connection, store: str, rows: Sequence[Row]) -> None:
    """Drop every kept version of these rows, and of files beside the store that hold their content.

    Where ids move: what was kept with this text before or after, and what that grew out of.
    """
    number = store_number(connection, store)
    contents = [content for row in rows if (content := row.values.get("content"))]
    if ids_move(store):
        query = "SELECT number FROM kept WHERE store = ? AND table_name = ? AND ? IN (content, content_after)"
        bound = (bindable(content) if isinstance(content, str) else content for content in contents)
        found = (_numbers(connection, query, number, MEMORIES, content) for content in bound)
        forget_numbers(connection, [one for some in found for one in some])
        _forget_notes(connection, number, contents)
    else:
        connection.executemany(
            "DELETE FROM kept WHERE id = ? AND store = ? AND table_name IN (?, ?)",
            [(bindable(row.id), number, row.table, NOTHING_DONE) for row in rows],
        )
    texts = [text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text for text in contents]
    strike(connection, [
        file for file, blob, _ in _files(connection, number, FILE)
        if any(isinstance(text, bytes) and text in (blob or b"") for text in texts)
    ])  # fmt: skip


def _files(
    connection: sqlite3.Connection, store: int | None, table: str
) -> list[tuple[int, bytes | None, bytes | None]]:
    """The numbers of the kept files of a store with their bytes before and after."""
    query = """SELECT k.number, b.before, b.after FROM kept k JOIN blobs b ON b.number = k.number
      WHERE k.store = ? AND k.table_name = ?"""
    return connection.execute(query, (store, table)).fetchall()


def _forget_notes(connection: sqlite3.Connection, store: int | None, contents: Iterable[Value]) -> None:
    """Drop the kept notes files with a line of one of these contents; what was done is then undone line by line."""
    lines = set(contents)

    def has_one(data: bytes | None) -> bool:
        text = (data or b"").decode("utf-8", "surrogateescape")
        return not lines.isdisjoint(line.strip(WHITE_SPACE).removeprefix("- ") for line in text.split("\n"))

    strike(connection, [
        number for number, *blobs in _files(connection, store, NOTES_FILE) if any(map(has_one, blobs))
    ])  # fmt: skip


def forget_numbers(connection: sqlite3.Connection, numbers: Sequence[int]) -> None:
    """Drop these deleted memories, what was kept of them earlier, and whatever took them back and was undone.

    The notes files that had them as lines go too.
    """
    dropped: dict[int, set[str]] = {}
    for number in numbers:
        rows = connection.execute(
            f"{EARLIER}, chain(number) AS (SELECT number FROM earlier UNION"
            " SELECT later.number FROM chain JOIN kept later ON later.reverses = chain.number)"
            " DELETE FROM kept WHERE number IN (SELECT number FROM chain) RETURNING store, content, content_after",
            (number,),
        ).fetchall()
        for store, *contents in rows:
            dropped.setdefault(store, set()).update(contents)
    for store, lines in dropped.items():
        _forget_notes(connection, store, lines)


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


def set_summary(connection: sqlite3.Connection, action: int, summary: str) -> None:
    """Change the summary of an action."""
    connection.execute("UPDATE actions SET summary = ? WHERE number = ?", (bindable(summary), action))


def named(connection: sqlite3.Connection, names: Callable[[str], bool]) -> list[int]:
    """The numbers of all actions of whose summary `names` says so."""
    summaries = connection.execute("SELECT number, summary FROM actions").fetchall()
    return [number for number, summary in summaries if names(_text(summary))]


def unname(connection: sqlite3.Connection, names: Callable[[str], bool]) -> int:
    """Give those another summary; gives how many."""
    going = [(number,) for number in named(connection, names)]
    connection.executemany("UPDATE actions SET summary = verb || ' (its words were erased)' WHERE number = ?", going)
    return len(going)


def finish(connection: sqlite3.Connection, action: int) -> bool:
    """Mark an action as done and count its size anew; one that changed nothing is deleted, which gives False."""
    size = connection.execute("SELECT sum(size) FROM kept WHERE action = ?", (action,)).fetchone()[0]
    if size is not None:
        connection.execute("UPDATE actions SET state = 'done', size = ? WHERE number = ?", (size, action))
    else:
        connection.execute("DELETE FROM actions WHERE number = ?", (action,))
    return size is not None


def recount(connection: sqlite3.Connection) -> None:
    """After rows went: actions of which nothing is left go too, the others count what is left."""
    connection.execute("DELETE FROM actions WHERE number NOT IN (SELECT action FROM kept)")
    connection.execute(
        "UPDATE actions SET size = (SELECT coalesce(sum(k.size), 0) FROM kept k WHERE k.action = actions.number)"
    )


def _deletes_again(connection: sqlite3.Connection, reverses: int | None) -> bool:
    """Whether a deletion undoes a restore, so that the first deletion stands in the trash again."""
    if reverses is None:
        return False
    query = (
        "WITH RECURSIVE below(number) AS (VALUES (?) UNION SELECT k.reverses FROM below JOIN kept k USING (number))"
        " SELECT 1 FROM below JOIN kept first USING (number) WHERE first.deleted = 1"
    )
    return connection.execute(query, (reverses,)).fetchone() is not None
