"""What is asked of trash.db, in SQL; every function is given a connection and runs in a thread."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zeroclaw_tui.curation.trash.places import Places
from zeroclaw_tui.curation.trash.rows import Packed, bindable, file_path, file_state, unpack
from zeroclaw_tui.memory.change import AUDIT_LOG, FILE, MEMORIES, OTHER_ROW, StoredRow

BATCH = 250
"""How many changes are read at once."""
BATCH_BYTES = 32_000_000
"""Fewer where they are so large."""

NOTHING_DONE = ""
"""In place of a table's name: a row that only says that the one it reverses is taken back."""

EMPTY = f"table_name = '{NOTHING_DONE}' AND reverses IS NULL"
"""Of the one row of an action that changed nothing."""

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

_IN_TRASH = "deleted = 1 AND taken_back = 0"
_LOOKED_AT = "table_name IN ('memories', 'file', 'memory_audit', 'other_row')"
"""What a person meant to change; agents and cached vectors come along."""
_UNSEEN = """table_name = 'file' AND ((before IS NULL AND instr(after, '"moved_from"') > 0)
  OR instr(after, '"stays_if_changed"') > 0)"""
"""The other half of a move, and ZeroClaw's note of when hygiene ran."""
_ACTION = f"""SELECT a.number, a.verb, a.at, a.moment, a.summary, a.size, s.name AS store,
  (SELECT count(*) FROM kept WHERE action = a.number AND table_name <> '') AS everything,
  (SELECT count(*) FROM kept WHERE action = a.number AND table_name = 'memories') AS memories,
  (SELECT count(*) FROM kept WHERE action = a.number AND {_LOOKED_AT}) AS looked_at,
  (SELECT count(*) FROM kept WHERE action = a.number AND {_UNSEEN}) AS unseen,
  (SELECT count(*) FROM kept WHERE action = a.number AND taken_back = 0 AND table_name <> '')
    AS open_everything,
  (SELECT count(*) FROM kept WHERE action = a.number AND taken_back = 0 AND {_LOOKED_AT}) AS open_looked_at,
  (SELECT count(*) FROM kept WHERE action = a.number AND taken_back = 0 AND {_UNSEEN}) AS open_unseen
  FROM actions a JOIN stores s ON s.number = a.store"""
_IS_EMPTY = f"EXISTS (SELECT 1 FROM kept WHERE action = a.number AND {EMPTY})"
_KEPT = """SELECT k.number, k.action, k.reverses, a.verb, a.at, a.moment, s.name AS store, k.before, k.content, k.after,
  k.content_after, b.before AS blob, b.after AS blob_after
  FROM kept k JOIN actions a ON a.number = k.action JOIN stores s ON s.number = k.store
  LEFT JOIN blobs b ON b.number = k.number"""


@dataclass(frozen=True, slots=True)
class ActionFacts:
    """An action as it is in the file; `moment` in seconds since 1970."""

    number: int
    verb: str
    at: str
    moment: float
    summary: str
    size: int
    store: str
    count: int
    open: int


@dataclass(frozen=True, slots=True)
class KeptFacts:
    """A kept change with its action."""

    number: int
    action: int
    reverses: int | None
    verb: str
    at: str
    moment: float
    store: str
    before: StoredRow | None
    after: StoredRow | None


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
    entry: StoredRow | None = None


def store_number(connection: sqlite3.Connection, name: str) -> int | None:
    """The number of a store, None when nothing of it was ever kept."""
    found = connection.execute("SELECT number FROM stores WHERE name = ?", (name,)).fetchone()
    return None if found is None else int(found[0])


def begun(connection: sqlite3.Connection, store: str) -> list[int]:
    """The actions of a store that were never finished."""
    found = connection.execute(
        "SELECT a.number FROM actions a JOIN stores s ON s.number = a.store WHERE s.name = ? AND a.state = 'begun'",
        (store,),
    )
    return [number for (number,) in found]


def actions(connection: sqlite3.Connection, store: str, limit: int) -> list[ActionFacts]:
    """The newest actions of a store."""
    query = f"{_ACTION} WHERE s.name = ? AND NOT {_IS_EMPTY} ORDER BY a.number DESC LIMIT ?"
    found = _dicts(connection, query, (store, limit))
    return [_action(row) for row in found]


def action(connection: sqlite3.Connection, number: int) -> ActionFacts | None:
    """One action."""
    return next((_action(row) for row in _dicts(connection, f"{_ACTION} WHERE a.number = ?", (number,))), None)


def last(connection: sqlite3.Connection, store: str) -> ActionFacts | None:
    """The newest action that is no undo and has a change not taken back.

    Where it changed memories, what came along with them does not count.
    """
    query = (
        f"{_ACTION} WHERE s.name = ? AND a.verb <> 'undo' AND iif("
        "EXISTS (SELECT 1 FROM kept WHERE action = a.number AND table_name = 'memories'),"
        f"EXISTS (SELECT 1 FROM kept WHERE action = a.number AND {_LOOKED_AT} AND taken_back = 0),"
        "EXISTS (SELECT 1 FROM kept WHERE action = a.number AND table_name <> '' AND taken_back = 0))"
        " ORDER BY a.number DESC LIMIT 1"
    )
    return next((_action(row) for row in _dicts(connection, query, (store,))), None)


def newest_if_empty(connection: sqlite3.Connection, store: str) -> ActionFacts | None:
    """The newest action of a store, where that changed nothing."""
    query = f"""{_ACTION} WHERE s.name = ? AND {_IS_EMPTY}
      AND a.number = (SELECT max(newest.number) FROM actions newest WHERE newest.store = a.store)"""
    return next((_action(row) for row in _dicts(connection, query, (store,))), None)


def count_in_trash(connection: sqlite3.Connection, store: str | None) -> int:
    """How many deleted memories there are, of one store or of all."""
    where, values = _of_store(connection, store)
    return int(connection.execute(f"SELECT count(*) FROM kept WHERE {where}", values).fetchone()[0])


def numbers_in_trash(
    connection: sqlite3.Connection,
    store: str | None,
    contains: str = "",
    *,
    action: int | None = None,
    limit: int = -1,
    offset: int = 0,
) -> list[int]:
    """The numbers of deleted memories, the newest deletion first."""
    where, values = _of_store(connection, store)
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
    query = f"SELECT number FROM kept WHERE {where} ORDER BY number DESC LIMIT ? OFFSET ?"
    return [number for (number,) in connection.execute(query, (*values, limit, offset))]


def kept_rows(connection: sqlite3.Connection, numbers: Sequence[int]) -> list[KeptFacts]:
    """These kept changes, in the order of their numbers given, those gone meanwhile left out."""
    found: dict[int, KeptFacts] = {}
    for start in range(0, len(numbers), BATCH):
        some = numbers[start : start + BATCH]
        marks = ", ".join("?" * len(some))
        for row in _dicts(connection, f"{_KEPT} WHERE k.number IN ({marks})", some):
            found[row["number"]] = _kept(row)
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
    if ids_move(store):
        query = (
            "SELECT max(k.number) FROM kept k JOIN stores s ON s.number = k.store WHERE k.id = ? AND s.name = ?"
            " AND k.table_name = ?"
        )
        (newest,) = connection.execute(query, (bindable(id), store, MEMORIES)).fetchone()
        found = connection.execute(f"{EARLIER} SELECT number FROM earlier ORDER BY number DESC", (newest,))
        return [number for (number,) in found if number is not None]
    found = connection.execute(
        "SELECT k.number FROM kept k JOIN stores s ON s.number = k.store WHERE k.id = ? AND s.name = ?"
        " AND k.table_name = ? ORDER BY k.number DESC",
        (bindable(id), store, MEMORIES),
    )
    return [number for (number,) in found]


def numbers_of_file(connection: sqlite3.Connection, path: str) -> list[int]:
    """The kept changes of a file, the newest first."""
    query = "SELECT number FROM kept WHERE id = ? AND table_name = ? ORDER BY number DESC"
    return [number for (number,) in connection.execute(query, (bindable(path), FILE))]


def numbers_of_action(connection: sqlite3.Connection, action: int, *, only_open: bool) -> list[int]:
    """The kept changes of an action, the newest first."""
    where = " AND taken_back = 0" if only_open else ""
    found = connection.execute(
        f"SELECT number FROM kept WHERE action = ? AND table_name <> ''{where} ORDER BY number DESC", (action,)
    )
    return [number for (number,) in found]


def tables_of(connection: sqlite3.Connection, numbers: Sequence[int]) -> dict[int, str]:
    """What each of these kept changes belongs to."""
    found: dict[int, str] = {}
    for start in range(0, len(numbers), BATCH):
        some = numbers[start : start + BATCH]
        marks = ", ".join("?" * len(some))
        found |= dict(connection.execute(f"SELECT number, table_name FROM kept WHERE number IN ({marks})", some))
    return found


def states(connection: sqlite3.Connection, action: int, places: Places) -> list[States]:
    """The states before and after every change of an action, in the order they were kept."""
    numbers = numbers_of_action(connection, action, only_open=False)[::-1]
    return [
        States(
            kept.number,
            row.table,
            file_path(row) if row.table == FILE else row.id,
            _state(kept.before),
            _state(kept.after),
            row if row.table in (AUDIT_LOG, OTHER_ROW) else None,
        )
        for batch in batches(connection, numbers)
        for kept in batch
        if (row := places.here(kept.before or kept.after)) is not None
    ]


def batches(connection: sqlite3.Connection, numbers: Sequence[int]) -> Iterator[list[KeptFacts]]:
    """Kept changes, at most BATCH of them or about BATCH_BYTES at a time."""
    for start in range(0, len(numbers), BATCH):
        some = list(numbers[start : start + BATCH])
        marks = ", ".join("?" * len(some))
        sizes = dict(connection.execute(f"SELECT number, size FROM kept WHERE number IN ({marks})", some).fetchall())
        while some:
            taken, weight = 0, 0
            while taken < len(some) and (taken == 0 or weight + sizes.get(some[taken], 0) <= BATCH_BYTES):
                weight += sizes.get(some[taken], 0)
                taken += 1
            found = kept_rows(connection, some[:taken])
            if found:
                yield found
            some = some[taken:]


def holding(connection: sqlite3.Connection, holds: Callable[[str | bytes], bool]) -> list[int]:
    """The numbers of all kept changes of which some text or bytes hold what is looked for."""
    rows = connection.execute(
        "SELECT k.number, k.id, k.key, k.content, k.before, k.after, k.content_after, b.before, b.after"
        " FROM kept k LEFT JOIN blobs b ON b.number = k.number"
    )
    return [number for number, *values in rows if any(isinstance(one, str | bytes) and holds(one) for one in values)]


def oldest(connection: sqlite3.Connection) -> str | None:
    """When the oldest action was that something is still kept of."""
    found = connection.execute("SELECT at FROM actions ORDER BY moment LIMIT 1").fetchone()
    return None if found is None else str(found[0])


def _state(row: StoredRow | None) -> str | None:
    if row is None:
        return None
    return file_state(row) if row.table == FILE else row.fingerprint


def _of_store(connection: sqlite3.Connection, store: str | None) -> tuple[str, list[Any]]:
    if store is None:
        return _IN_TRASH, []
    return f"{_IN_TRASH} AND store = ?", [store_number(connection, store)]


def _folded_contains(text: object, needle: str) -> bool:
    return isinstance(text, str) and needle in text.casefold()


def _dicts(connection: sqlite3.Connection, query: str, values: Sequence[Any]) -> Iterator[dict[str, Any]]:
    found = connection.execute(query, values)
    names = [column[0] for column in found.description]
    for row in found:
        yield dict(zip(names, row, strict=True))


def _action(row: dict[str, Any]) -> ActionFacts:
    """What counts is what a person meant to change, where an action has memories; else everything it kept."""
    counted = "looked_at" if row["memories"] > 0 else "everything"
    return ActionFacts(
        row["number"], row["verb"], row["at"], row["moment"], _text(row["summary"]), row["size"], row["store"],
        row[counted] - row["unseen"] or row[counted],
        row[f"open_{counted}"] - row["open_unseen"] or row[f"open_{counted}"],
    )  # fmt: skip


def _kept(row: dict[str, Any]) -> KeptFacts:
    before = None if row["before"] is None else unpack(Packed(row["before"], row["content"], row["blob"]))
    after = None
    if row["after"] is not None:
        after = unpack(Packed(row["after"], row["content_after"], row["blob_after"]), before)
    return KeptFacts(
        row["number"],
        row["action"],
        row["reverses"],
        row["verb"],
        row["at"],
        row["moment"],
        row["store"],
        before,
        after,
    )


def _text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")
