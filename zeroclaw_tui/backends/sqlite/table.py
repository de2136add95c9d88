"""Rows with every column they have, read and written back exactly as they are."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from zeroclaw_tui.files.database import as_text, bound, quoted
from zeroclaw_tui.memory.change import AGENTS, EMBEDDING_CACHE, MEMORIES, StoredRow, Value
from zeroclaw_tui.scoring.profiles import ALL_COLUMNS

_ID_COLUMN = {MEMORIES: "id", AGENTS: "id", EMBEDDING_CACHE: "content_hash"}
_AT_ONCE = 400
FAR, FARTHEST = 2**32, 2**62
"""How far above the highest rowid of a table a row may be put, and where at most: SQLite's last is 2**63 - 1."""
_MOST_BOUND = 30_000


class RawTable:
    """One of ZeroClaw's tables on an open connection; `connection` must give text through `any_text`.

    `columns` are their names in order, ZeroClaw's own in lower case, generated ones left out: SQLite makes those anew.
    It is empty where there is no such table. `aliases` are those of the agents by id.
    """

    def __init__(
        self, connection: sqlite3.Connection, name: str = MEMORIES, aliases: Mapping[str, str] | None = None
    ) -> None:
        self._connection = connection
        self._name = name
        self._aliases = aliases_of(connection) if aliases is None else aliases
        described = connection.execute("SELECT name FROM pragma_table_info(?)", (name,))
        self.columns = tuple(_known(as_text(column)) for (column,) in described)
        self._selected = ", ".join(map(quoted, self.columns))

    @property
    def lower_columns(self) -> frozenset[str]:
        """The names of the columns in lower case."""
        return frozenset(name.lower() for name in self.columns)

    def where(self, condition: str, values: Sequence[Any] = ()) -> Iterator[StoredRow]:
        """The rows a condition leaves; text among `values` must be bindable."""
        statement = f"SELECT rowid, {self._selected} FROM {quoted(self._name)} WHERE {condition}"
        with closing(self._connection.execute(statement, values)) as found:
            columns, stored_row = self.columns, self._row
            for row in found:
                stored = stored_row(row[0], dict(zip(columns, row[1:], strict=True)))
                # A row can be many megabytes: it is let go before the next one is read.
                del row
                yield stored
                del stored

    def with_id(self, id: str, handle: object = None) -> StoredRow | None:
        """The row of an id. One whose id is no text is found by its rowid."""
        mark, value = bound([id])
        for row in self.where(f"{quoted(_ID_COLUMN[self._name])} = {mark}", value):
            return row
        if isinstance(handle, int):
            for row in self.where("rowid = ? AND typeof(id) <> 'text'", [handle]):
                return row if row.id == id else None
        return None

    def with_ids(self, ids: Sequence[str]) -> dict[str, StoredRow]:
        """The rows of these ids that are there, by id."""
        found: dict[str, StoredRow] = {}
        for start in range(0, len(ids), _AT_ONCE):
            marks, values = bound(ids[start : start + _AT_ONCE])
            for row in self.where(f"{quoted(_ID_COLUMN[self._name])} IN ({marks})", values):
                found[row.id] = row
        return found

    def with_key(self, key: Value, owner: Value) -> StoredRow | None:
        """The memory of a key; of one agent's id where memories have owners."""
        mark, value = bound([key])
        condition = f"key = {mark}"
        if "agent_id" in self.columns:
            owner_mark, owner_value = bound([owner])
            condition, value = f"agent_id = {owner_mark} AND {condition}", [*owner_value, *value]
        return next(self.where(condition, value), None)

    def with_keys(self, keys: Sequence[Value]) -> dict[tuple[Value, Value], StoredRow]:
        """The memories of these keys, by agent's id and key."""
        found: dict[tuple[Value, Value], StoredRow] = {}
        for start in range(0, len(keys), _AT_ONCE):
            marks, values = bound(keys[start : start + _AT_ONCE])
            for row in self.where(f"key IN ({marks})", values):
                found[row.values.get("agent_id"), row.values["key"]] = row
        return found

    def takes(self, rowid: object) -> bool:
        """Whether a row may be put there: the place is free, and not far above all others.

        Once the last rowid there can be is in use, SQLite gives new rows random ones (https://sqlite.org/autoinc.html):
        then nothing tells any more which of them came last.
        """
        if not isinstance(rowid, int):
            return False
        table = quoted(self._name)
        (highest, is_taken), *_ = self._connection.execute(
            f"SELECT (SELECT max(rowid) FROM {table}), EXISTS (SELECT 1 FROM {table} WHERE rowid = ?)", (rowid,)
        )
        return not is_taken and not is_far(rowid, highest or 0)

    def insert(self, values: Mapping[str, Value], rowid: object = None) -> StoredRow:
        """Add a row, at `rowid` where the table `takes` it, and give it as the table now holds it."""
        names = [quoted(name) for name in values]
        marks, ready = bound(values.values())
        if self.takes(rowid):
            names, marks, ready = ["rowid", *names], f"?, {marks}", [rowid, *ready]
        statement = f"INSERT INTO {quoted(self._name)} ({', '.join(names)}) VALUES ({marks})"
        return self._at(self._connection.execute(statement, ready).lastrowid)

    def insert_all(self, rows: Sequence[tuple[int, Mapping[str, Value]]]) -> list[StoredRow] | None:
        """Add rows at free rowids, and give them as the table now holds them.

        None, and nothing done, where they are not alike: other columns, a place taken or far above all others, text
        that is no UTF-8.
        """
        places = [rowid for rowid, _ in rows]
        names = tuple(rows[0][1])
        plain, _ = bound([""] * len(names))
        ready: list[Any] = []
        # FTS5 writes out what it has gathered whenever a rowid is lower than the one before.
        for rowid, values in sorted(rows, key=lambda row: row[0]):
            marks, some = bound(values.values())
            if marks != plain or tuple(values) != names:
                return None
            ready += [rowid, *some]
        at = f"rowid IN ({', '.join(map(str, places))})"
        statement = f"SELECT 1 FROM {quoted(self._name)} WHERE {at}"
        if len(ready) > _MOST_BOUND or len(set(places)) < len(places):
            return None
        if self._connection.execute(statement).fetchone() is not None:
            return None
        (highest,) = self._connection.execute(f"SELECT max(rowid) FROM {quoted(self._name)}").fetchone()
        if is_far(max(places), highest or 0):
            return None
        named = ", ".join(map(quoted, names))
        every = ", ".join([f"(?, {plain})"] * len(rows))
        self._connection.execute(f"INSERT INTO {quoted(self._name)} (rowid, {named}) VALUES {every}", ready)
        by_place = {row.handle: row for row in self.where(at)}
        return [by_place[place] for place in places]

    def change(self, row: StoredRow, values: Mapping[str, Value]) -> StoredRow:
        """Give a row these values, where they differ, and return it as the table now holds it."""
        changed = {name: value for name, value in values.items() if not _same(row.values[name], value)}
        if not changed:
            return row
        sets: list[str] = []
        ready: list[Any] = []
        for name, value in changed.items():
            mark, some = bound([value])
            sets.append(f"{quoted(name)} = {mark}")
            ready += some
        statement = f"UPDATE {quoted(self._name)} SET {', '.join(sets)} WHERE rowid = ?"
        self._connection.execute(statement, [*ready, row.handle])
        return self._at(row.handle)

    def delete(self, rows: Iterable[StoredRow]) -> None:
        """Remove these rows."""
        places = [row.handle for row in rows]
        for start in range(0, len(places), _AT_ONCE):
            some = places[start : start + _AT_ONCE]
            # One statement for many rows: the keyword index does the work of a whole statement for each.
            marks = ", ".join("?" * len(some))
            self._connection.execute(f"DELETE FROM {quoted(self._name)} WHERE rowid IN ({marks})", some)

    def _at(self, rowid: object) -> StoredRow:
        return next(self.where("rowid = ?", [rowid]))

    def _row(self, rowid: int, values: dict[str, Value]) -> StoredRow:
        owner = values.get("agent_id")
        agent = as_text(owner) if owner is not None else None
        if self._name == AGENTS:
            agent = as_text(values.get("alias"))
        elif agent is not None:
            agent = self._aliases.get(agent, agent)
        return StoredRow(as_text(values.get(_ID_COLUMN[self._name])), values, rowid, agent, self._name)


def is_far(rowid: int, highest: int) -> bool:
    """Whether a place lies so far above the highest rowid of a table that rows put there would use up the others."""
    return rowid > min(highest + FAR, FARTHEST)


def aliases_of(connection: sqlite3.Connection) -> dict[str, str]:
    """The agents' aliases by id; empty where there is no such table."""
    described = connection.execute("SELECT lower(name) FROM pragma_table_info('agents')")
    if not {"id", "alias"} <= {name for (name,) in described}:
        return {}
    return {as_text(agent): as_text(alias) for agent, alias in connection.execute("SELECT id, alias FROM agents")}


def _known(name: str) -> str:
    return name.lower() if name.lower() in ALL_COLUMNS else name


def _same(one: Value, other: Value) -> bool:
    return type(one) is type(other) and one == other
