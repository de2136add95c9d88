"""What the journal has: actions, their changes, deleted memories; and deleting of it what is old or must go.

All functions work on an open connection and block.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from zeroclaw_tui.curation.journal_file import bytes_used, wipe
from zeroclaw_tui.curation.journal_rows import RowCodec, bindable, text_of
from zeroclaw_tui.files.database import transaction
from zeroclaw_tui.memory.change import FILE, MEMORIES, NOTES_FILE, Row, RowChange
from zeroclaw_tui.memory.secret_text import masked
from zeroclaw_tui.memory.text import one_line

Verb = Literal[
    "store", "edit", "forget", "purge", "clear", "restore", "undo", "redo", "clean", "hygiene", "snapshot", "hydrate",
    "import", "merge", "recategorise", "copy",
]  # fmt: skip
"""What a person did. "clean" removes copies of a text elsewhere; "recategorise" is in the trash of versions up to
0.2.0. An action of "undo", "redo" or "restore" has the rows that it replaced."""
TURNS: tuple[Verb, ...] = ("undo", "redo", "restore")
IN_TRASH = "c.before IS NOT NULL AND c.after IS NULL AND c.undone = 0 AND c.table_name = 'memories'"
LISTED = "(SELECT value FROM json_each(?))"
"""Numbers that are given as one list in JSON."""
OF_STORE = "action IN (SELECT number FROM actions WHERE store = ?)"

_CHANGES = """SELECT c.number, c.action, c.undone, a.verb, a.at, a.store, c.content, c.before, c.after, c.after_state
  FROM changes c JOIN actions a ON a.number = c.action"""
_ACTIONS = """SELECT a.number, a.verb, a.at, a.summary, a.store, coalesce(sum(c.size), 0),
    coalesce(sum(c.is_counted), 0), coalesce(sum(c.is_counted AND NOT c.undone), 0)
  FROM actions a LEFT JOIN changes c ON c.action = a.number"""
_LONGEST_SUMMARY = 400
_DAY = 24 * 60 * 60
_LAST = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Action:
    """Something a person did to one store. `at` is RFC 3339, `size` in bytes, `until` when the trash deletes it.

    `count` is how many rows it changed, `open` how many of them are not undone.
    """

    number: int
    verb: Verb
    at: str
    summary: str
    count: int
    open: int
    size: int
    store: str
    until: str

    @property
    def title(self) -> str:
        """What was done, on one line without a full stop, secrets masked."""
        return one_line(masked(self.summary[:_LONGEST_SUMMARY])).rstrip(".") or self.verb

    def as_json(self) -> dict[str, Any]:
        """Return it by the names that it has in a document."""
        return {name: getattr(self, name) for name in ("number", "verb", "at", "summary", "count")}


@dataclass(frozen=True, slots=True)
class Version:
    """One journaled change. Of a row that was new, `after` has only id and key; `after_state` is its fingerprint."""

    number: int
    action: int
    verb: Verb
    at: str
    store: str
    before: Row | None
    after: Row | None
    is_undone: bool
    after_state: str | None

    @property
    def change(self) -> RowChange:
        """The change with its number."""
        return RowChange(self.before, self.after, number=self.number, after_state=self.after_state)

    @property
    def rows(self) -> list[Row]:
        """The row before and the row after, where there is one."""
        return [row for row in (self.before, self.after) if row is not None]

    @property
    def states(self) -> tuple[str | None, str | None]:
        """The fingerprints before and after."""
        before, after = (None if row is None else row.fingerprint for row in (self.before, self.after))
        return before, self.after_state or after


@dataclass(frozen=True, slots=True)
class TrashRow:
    """A deleted memory that can be restored. `number` is how commands name it, `size` in bytes with its vector."""

    number: int
    action: int
    verb: Verb
    deleted_at: str
    until: str
    size: int
    row: Row
    store: str

    @classmethod
    def of(cls, deletion: Version, days: int) -> TrashRow:
        """The memory that a change deleted; the trash keeps it for so many days."""
        row, at = deletion.rows[0], deletion.at
        number, action, verb = deletion.number, deletion.action, deletion.verb
        return cls(number, action, verb, at, _days_after(at, days), row.size, row, deletion.store)


def find_actions(connection: sqlite3.Connection, days: int, condition: str, *values: Any) -> list[Action]:
    """Return the actions for which a condition is true, the newest first; the trash keeps each for so many days."""
    rows = connection.execute(f"{_ACTIONS} WHERE {condition} GROUP BY a.number ORDER BY a.number DESC", values)
    return [
        Action(number, verb, at, text_of(summary), count, is_open, size, store, _days_after(at, days))
        for number, verb, at, summary, store, size, count, is_open in rows
    ]


def numbers(connection: sqlite3.Connection, query: str, *values: Any) -> list[int]:
    """Return the numbers that a query selects."""
    return [number for (number,) in connection.execute(query, values)]


def numbers_in_trash(
    connection: sqlite3.Connection, store: str | None, contains: str = "", action: int | None = None
) -> list[int]:
    """Return the numbers of deleted memories, of one store or of all, the newest deletion first."""
    where, values = f"{IN_TRASH} AND a.store = coalesce(?, a.store)", list[Any]([store])
    if action is not None:
        where, values = f"{where} AND c.action = ?", [*values, action]
    if contains:
        # SQLite knows the cases of ASCII letters only.
        connection.create_function("folded_contains", 2, _folded_contains, deterministic=True)
        where = f"{where} AND (folded_contains(c.key, ?) OR folded_contains(c.content, ?))"
        values = [*values, *[bindable(contains.casefold())] * 2]
    query = f"SELECT c.number FROM changes c JOIN actions a ON a.number = c.action WHERE {where} ORDER BY c.number DESC"
    return numbers(connection, query, *values)


def find_versions(connection: sqlite3.Connection, codec: RowCodec, wanted: Iterable[int]) -> Iterator[Version]:
    """Yield the changes of these numbers, in their order, without those that do not exist."""
    for number in wanted:
        yield from _versions(connection, codec, "c.number = ?", number)


def find_history(connection: sqlite3.Connection, codec: RowCodec, store: str, id: str) -> list[Version]:
    """Return the changes of the memory of an id, the newest first."""
    condition = "c.id = ? AND c.table_name = ? AND a.store = ?"
    found = list(_versions(connection, codec, condition, bindable(id), MEMORIES, store))
    if not found or not _ids_move(store):
        return found
    return list(_with_texts(connection, codec, store, _contents(found[0].rows), found[0].number))


def delete_changes(connection: sqlite3.Connection, wanted: Sequence[int]) -> None:
    """Delete the changes of these numbers."""
    connection.execute(f"DELETE FROM changes WHERE number IN {LISTED}", (json.dumps(wanted),))


def end_action(connection: sqlite3.Connection, action: int) -> None:
    """Mark an action as done. What only comes along with other changes counts where there are no others."""
    connection.execute("UPDATE actions SET is_done = 1 WHERE number = ?", (action,))
    others = "SELECT 1 FROM changes WHERE action = ?1 AND is_counted"
    connection.execute(f"UPDATE changes SET is_counted = 1 WHERE action = ?1 AND NOT EXISTS ({others})", (action,))


def delete_empty_actions(connection: sqlite3.Connection) -> None:
    """Delete the finished actions without a change."""
    connection.execute("DELETE FROM actions WHERE is_done = 1 AND number NOT IN (SELECT action FROM changes)")


def forget(
    connection: sqlite3.Connection, codec: RowCodec, store: str, rows: Sequence[Row], *, files: bool = False
) -> None:
    """Delete every change of these memories of a store, and the notes files that contain them.

    With `files` also the changes of all other files that contain their texts.
    """
    texts = _contents(rows)
    if _ids_move(store):
        # Adds earlier texts to `texts`.
        delete_changes(connection, [one.number for one in _with_texts(connection, codec, store, texts)])
    else:
        query = f"DELETE FROM changes WHERE id = ? AND table_name = ? AND {OF_STORE}"
        connection.executemany(query, [(codec.name(row), row.table, store) for row in rows])
    needles = [text if isinstance(text, bytes) else _bytes_of(str(text)) for text in texts]
    query = f"SELECT number FROM changes WHERE table_name IN (?, ?) AND {OF_STORE}"
    found = numbers(connection, query, NOTES_FILE, FILE if files else NOTES_FILE, store)
    for version in find_versions(connection, codec, found):
        sides = [row.values.get("bytes") for row in version.rows]
        if any(isinstance(data, bytes) and any(text in data for text in needles) for data in sides):
            delete_changes(connection, [version.number])


def forget_changes(connection: sqlite3.Connection, codec: RowCodec, chosen: Sequence[int]) -> None:
    """Delete these changes and every other change of their memories."""
    by_store: dict[str, list[Row]] = {}
    for version in find_versions(connection, codec, chosen):
        by_store.setdefault(version.store, []).extend(version.rows)
    for store, rows in by_store.items():
        forget(connection, codec, store, rows)
    delete_changes(connection, chosen)
    delete_empty_actions(connection)


def delete_old(connection: sqlite3.Connection, limits: tuple[int, int], now: datetime) -> None:
    """Delete the actions that are too old, then the oldest until the size is within its limit; never the newest.

    What cannot be deleted now is deleted after the next action.
    """
    days, most_bytes = limits
    with suppress(sqlite3.Error, OSError):
        with transaction(connection):
            *older, _ = connection.execute("SELECT number, moment FROM actions ORDER BY number").fetchall()
            has_deleted = False
            # A clock that is behind is wrong, or was wrong before: no age can be trusted then.
            is_behind = any(moment > now.timestamp() + _DAY for _, moment in older)
            for number, moment in older:
                is_old = not is_behind and moment < now.timestamp() - days * _DAY
                if is_old or bytes_used(connection) > most_bytes:
                    connection.execute("DELETE FROM changes WHERE action = ?", (number,))
                    has_deleted = True
            delete_empty_actions(connection)
        if has_deleted:
            wipe(connection)


def _versions(connection: sqlite3.Connection, codec: RowCodec, condition: str, *values: Any) -> Iterator[Version]:
    """Yield the changes for which a condition is true, the newest first."""
    rows = connection.execute(f"{_CHANGES} WHERE {condition} ORDER BY c.number DESC", values)
    for number, action, undone, verb, at, store, content, packed_before, packed_after, after_state in rows:
        before = None if packed_before is None else codec.unpack(packed_before, content)
        after = None if packed_after is None else codec.unpack(packed_after)
        yield Version(number, action, verb, at, store, before, after, bool(undone), after_state)


def _with_texts(
    connection: sqlite3.Connection, codec: RowCodec, store: str, texts: set[Any], newest: int = _LAST
) -> Iterator[Version]:
    """Yield the changes of memories with these texts up to a number, the newest first.

    The text that a memory had before one of these is added to `texts`: where ids are places in a file, nothing else
    says which earlier change was one of the same memory.
    """
    condition = "a.store = ? AND c.table_name = ? AND c.number <= ?"
    for version in _versions(connection, codec, condition, store, MEMORIES, newest):
        contents = _contents(version.rows)
        if contents & texts:
            if version.after is not None and version.after.values.get("content") in texts:
                texts |= contents
            yield version


def _ids_move(store: str) -> bool:
    """Return whether an id of this store names another memory tomorrow: those of Markdown are places in a file."""
    return store.startswith("markdown:")


def _contents(rows: Iterable[Row]) -> set[Any]:
    return {row.values.get("content") for row in rows} - {None, "", b""}


def _folded_contains(text: object, needle: str) -> bool:
    return isinstance(text, str) and needle in text.casefold()


def _bytes_of(text: str) -> bytes:
    """Return the bytes that a file has for a text; lone surrogates are bytes that are no UTF-8."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "surrogatepass")


def _days_after(at: str, days: int) -> str:
    return (datetime.fromisoformat(at) + timedelta(days=days)).isoformat()
