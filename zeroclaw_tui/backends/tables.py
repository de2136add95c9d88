"""What ZeroClaw's tables in SQLite and PostgreSQL have in common when rows are changed: agents, spellings, moments.

All that a batch concerns is read at once in the open transaction, decided on in memory, and written as what differs in
the end.
"""

from __future__ import annotations

import dataclasses
import re
import time
import uuid
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from zeroclaw_tui.backends.revert import Operation, Rows
from zeroclaw_tui.memory.change import AGENTS, RowChange, StoredRow, Value, Vector
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import cut, one_line
from zeroclaw_tui.scoring.keywords import is_alphanumeric

_FRACTION = re.compile(r"\.(\d{1,9})")
_SECOND = 1_000_000_000


def local_now(after: str = "") -> str:
    """Now as RFC 3339 with the local offset and nine fraction digits; always later than the moment `after` says.

    ZeroClaw compares such texts as text, and writes `+00:00`, never `Z`.
    """
    nanoseconds = max(time.time_ns(), _nanoseconds(after) + 1)
    local = time.localtime(nanoseconds // _SECOND)
    sign, minutes = ("-" if local.tm_gmtoff < 0 else "+"), abs(local.tm_gmtoff) // 60
    return _written(local, nanoseconds, f"{sign}{minutes // 60:02d}:{minutes % 60:02d}")


def utc_now() -> str:
    """Now in UTC, as ZeroClaw >= 0.8.0 dates its agents."""
    nanoseconds = time.time_ns()
    return _written(time.gmtime(nanoseconds // _SECOND), nanoseconds, "+00:00")


def _written(parts: time.struct_time, nanoseconds: int, offset: str) -> str:
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', parts)}.{nanoseconds % _SECOND:09d}{offset}"


def _nanoseconds(timestamp: str) -> int:
    when = moment(timestamp)
    if when is None:
        return 0
    fraction = _FRACTION.search(timestamp)
    digits = fraction.group(1) if fraction else ""
    return int(when.replace(microsecond=0).timestamp()) * _SECOND + int(digits.ljust(9, "0") or 0)


_SHOWN_CELLS = 60


def sanitised(session: str) -> str:
    """A session id as ZeroClaw >= 0.8.0 stores it: what is no letter, digit, `_` or `-` becomes `_`."""
    return "".join(letter if letter in "_-" or is_alphanumeric(letter) else "_" for letter in session)


def respelled(sessions: Iterable[str]) -> str | None:
    """The sentence on those of these session ids that ZeroClaw >= 0.8.0 spells otherwise when it next opens the
    database: how many, and one for an example. None where there are none."""
    others = sorted(session for session in sessions if sanitised(session) != session)
    if not others:
        return None
    old, new = (cut(one_line(text), _SHOWN_CELLS) for text in (others[0], sanitised(others[0])))
    if len(others) == 1:
        return f"ZeroClaw will rename 1 session ID the next time it opens the database: {old} becomes {new}."
    return (
        f"ZeroClaw will rename {len(others):,} session IDs the next time it opens the database: for example, {old} "
        f"becomes {new}."
    )


DEFAULT_AGENT = "default"
"""The alias ZeroClaw gives the owner of what was there before it knew agents."""


class TableRows(Rows):
    """The rows of a table of memories, told apart by id, and those of its agents, from ZeroClaw 0.8.0 on."""

    def __init__(self, vector: Vector | None = None) -> None:
        super().__init__()
        self._vector = vector
        self._is_looking = False
        self._by_id: dict[str, StoredRow | None] = {}
        self._by_key: dict[tuple[str | None, str], StoredRow | None] = {}
        self._changes: list[RowChange] = []

    @property
    @abstractmethod
    def has_agents(self) -> bool:
        """Whether each memory has an owner."""

    @property
    @abstractmethod
    def agents(self) -> dict[str, str]:
        """The aliases by id, as they are in this transaction; may be added to."""

    @property
    @abstractmethod
    def columns(self) -> Iterable[str]:
        """The names that values of a row may have."""

    @property
    @abstractmethod
    def noun(self) -> str:
        """What a person calls it: "database" or "table"."""

    @abstractmethod
    async def fetch(self, rows: Sequence[StoredRow], owners: Iterable[str]) -> Iterable[StoredRow]:
        """Every row that has the id of one of these, or its key and one of these owners."""

    @abstractmethod
    async def fetch_id(self, row: StoredRow) -> StoredRow | None:
        """The row of the id of this one."""

    @abstractmethod
    async def fetch_key(self, key: str, owner: str | None) -> StoredRow | None:
        """The row of a key and an agent's id."""

    @abstractmethod
    async def delete(self, rows: Sequence[StoredRow]) -> None:
        """Remove these rows."""

    @abstractmethod
    async def change(self, row: StoredRow, values: Mapping[str, Value], *, touch: bool) -> StoredRow:
        """Give a row these values, and give it as it then is; `touch` as in `Operation`."""

    @abstractmethod
    async def insert(self, rows: Sequence[StoredRow]) -> Sequence[StoredRow]:
        """Add rows, and give them as they then are, in order. Raises DuplicateKey for one whose key was taken."""

    @abstractmethod
    async def present_other(self, row: StoredRow) -> StoredRow | None:
        """The row of the same table and id, of an agent or a cached vector."""

    @abstractmethod
    async def insert_other(self, row: StoredRow) -> StoredRow:
        """Add an agent or a cached vector."""

    @abstractmethod
    async def delete_other(self, row: StoredRow) -> bool:
        """Remove one; False where something refers to it."""

    @abstractmethod
    async def add_agent(self, alias: str) -> RowChange:
        """A new agent of that alias; `before` is set where another program has added it meanwhile."""

    @abstractmethod
    def has_table(self, name: str) -> bool:
        """Whether there is such a table beside that of the memories."""

    def identity(self, row: StoredRow) -> str:
        """Its id; of rows without one, where they lie."""
        return row.id or f"\0{row.handle}"

    def owner(self, row: StoredRow) -> str | None:
        """The id of its agent."""
        owner = row.values.get("agent_id")
        return None if owner is None else str(owner)

    async def expect(self, changes: Sequence[RowChange]) -> None:
        """Read all that these changes concern, and hold it until the end."""
        if self._is_looking:
            # An agent that comes back with its memories will own them again.
            back = [change.before for change in changes if change.row.table == AGENTS and change.before is not None]
            known = {*self.agents.values()}
            for agent in back:
                if agent.agent not in known:
                    self.agents.setdefault(agent.id, agent.agent or agent.id)
        rows = [row for change in changes if change.row.table != AGENTS for row in (change.before, change.after) if row]
        self._by_id = {row.id: None for row in rows if row.id}
        self._by_key = {(self.owner_then(row), row.key): None for row in rows}
        for row in await self.fetch(rows, {owner for owner, _ in self._by_key if owner is not None}):
            self._by_id[row.id] = row
            self._by_key[self.owner(row), row.key] = row

    async def present(self, row: StoredRow) -> StoredRow | None:
        """The row of its id."""
        return self._by_id[row.id] if row.id in self._by_id else await self.fetch_id(row)

    async def of_key(self, key: str, owner: str | None = None) -> StoredRow | None:
        """The row of that key and agent's id."""
        if (owner, key) not in self._by_key:
            self._by_key[owner, key] = await self.fetch_key(key, owner)
        return self._by_key[owner, key]

    def same(self, one: StoredRow, other: StoredRow) -> bool:
        """Whether a row is what it was; after a migration, as far as both have the same columns."""
        if isinstance(one, _Outline):
            return one.state == _state(other)
        if one.fingerprint == other.fingerprint:
            return True
        if one.values.keys() - {"embedding"} == other.values.keys() - {"embedding"}:
            return False
        common = one.values.keys() & other.values.keys()
        return _part(one, common).fingerprint == _part(other, common).fingerprint

    def outline(self, row: StoredRow, owner: str | None) -> StoredRow:
        """Without the weight of its vector and content, which still tells itself from others."""
        kept: Mapping[str, Value] = {"key": row.values.get("key"), "agent_id": owner}
        return _Outline(row.id, kept, row.handle, row.agent, row.table, _state(row))

    async def owner_named(self, alias: str | None) -> tuple[str | None, Operation | None]:
        """The id of an agent, and what was added where there was none of that alias.

        Without an alias it is the agent `default`, or the only one. Raises Refused where that leaves a choice.
        """
        if not self.has_agents:
            return None, None
        if alias is None:
            found = self._usual_owner()
            if found is not None:
                return found, None
            if self.agents:
                raise Refused(
                    f"This store belongs to the agents {', '.join(sorted(self.agents.values()))}.",
                    hint="Name the one that shall own the memory.",
                )
        wanted = DEFAULT_AGENT if alias is None else alias
        known = self._id_of(wanted)
        if known is not None:
            return known, None
        added = await self.add_agent(wanted)
        self.agents[added.row.id] = wanted
        return added.row.id, Operation(None, added.after, is_done=True) if added.before is None else None

    def owner_then(self, row: StoredRow) -> str | None:
        """The agent of its id, else of its alias, else the usual one."""
        if not self.has_agents:
            return None
        owner = row.values.get("agent_id")
        if isinstance(owner, str) and owner in self.agents:
            return owner
        by_alias = self._id_of(row.agent) if row.agent is not None else None
        return by_alias or self._usual_owner()

    async def owner_again(self, row: StoredRow) -> tuple[str | None, Operation | None]:
        """The same; where there is none at all, one is added."""
        known = self.owner_then(row)
        return (known, None) if known is not None else await self.owner_named(row.agent)

    def returned(self, row: StoredRow, over: StoredRow | None, owner: str | None, *, apart: bool) -> StoredRow:
        """With the values that today's table has columns for."""
        named = {*self.columns}
        lost = [name for name, value in row.values.items() if name not in named and value is not None]
        if lost:
            self.remarks[
                f"What stood in {one_line(', '.join(lost))} is left out: this {self.noun} has no such column."
            ] = None
        values = {name: value for name, value in row.values.items() if name in named}
        if over is not None and not apart and self.identity(over) == self.identity(row):
            # What an earlier state did not know of, its own row may have: a column that was added since.
            values = {**over.values, **values}
        alias = row.agent
        if owner is not None:
            alias = self.agents.get(owner, owner)
            if values.get("agent_id", owner) != owner:
                self.remarks[
                    f"{one_line(row.key)!r} belongs to the agent {one_line(alias)} now, since its own is no longer "
                    "there."
                ] = None
            values["agent_id"] = owner
        if apart:
            new_id = str(uuid.uuid4())
            return dataclasses.replace(row, id=new_id, values={**values, "id": new_id}, agent=alias)
        return dataclasses.replace(row, values=values, agent=alias)

    async def other(self, change: RowChange) -> Operation:
        """Put an agent or a cached vector back where there is none, or remove what nothing needs."""
        row = change.row
        if not self.has_table(row.table):
            return Operation(row, row, change.number, is_done=True)
        present = await self.present_other(row)
        if change.before is not None:
            if present is not None or (row.table == AGENTS and row.agent in self.agents.values()):
                there = present or row
                return Operation(there, there, change.number, is_done=True)
            back = await self.insert_other(row)
            if row.table == AGENTS:
                self.agents[back.id] = back.agent or back.id
            return Operation(None, back, change.number, is_done=True)
        if present is None:
            return Operation(row, None, change.number, is_done=True)
        if not await self.delete_other(present):
            return Operation(present, present, change.number, is_done=True)
        self.agents.pop(present.id, None)
        return Operation(present, None, change.number, is_done=True)

    async def write(self, operations: Sequence[Operation]) -> Sequence[RowChange]:
        """Do these operations, and remember what `step` has kept at its end, before it is committed."""
        changes = await self.carry_out(operations)
        self._changes += changes
        return changes

    async def carry_out(self, operations: Sequence[Operation]) -> Sequence[RowChange]:
        """What differs in the end: first what goes, then what changes, then what comes."""
        doing = [operation for operation in operations if not operation.is_done]
        if all(operation.wanted is None for operation in doing):
            await self.delete([operation.over for operation in doing if operation.over is not None])
            return [operation.change for operation in operations]
        net = _Net(self, doing)
        await self.delete(net.going)
        for before, wanted, touch in net.changed:
            net.written[self.identity(wanted)] = await self.change(before, wanted.values, touch=touch)
        for meant, row in zip(net.coming, await self.insert(net.coming), strict=True):
            net.written[self.identity(meant)] = row
        self._by_id, self._by_key = {}, {}
        return [operation.change if operation.is_done else net.change(operation) for operation in operations]

    def session_stored(self, session: Value) -> str | None:
        """A session as ZeroClaw of this generation writes it, with a remark where that is another; None for a blank
        one."""
        if not isinstance(session, str) or not session:
            return None
        if not self.has_agents:
            return session
        clean = sanitised(session)
        if clean != session:
            self.remarks[f"The session is stored as {clean!r}: this ZeroClaw keeps letters, digits, _ and - only."] = (
                None
            )
        return clean

    def _id_of(self, alias: str) -> str | None:
        return next((agent for agent, known in self.agents.items() if known == alias), None)

    def _usual_owner(self) -> str | None:
        only = next(iter(self.agents)) if len(self.agents) == 1 else None
        return self._id_of(DEFAULT_AGENT) or only


class _Net:
    """What some operations come to, all together: two rows that swap their keys go first and come again."""

    def __init__(self, rows: TableRows, operations: Sequence[Operation]) -> None:
        self.going: list[StoredRow] = []
        self.changed: list[tuple[StoredRow, StoredRow, bool]] = []
        self.coming: list[StoredRow] = []
        self.written: dict[str, StoredRow] = {}
        self._identity = rows.identity
        self._last: dict[str, Operation] = {}
        before: dict[str, StoredRow] = {}
        for operation in operations:
            for row in (operation.over, operation.wanted):
                if row is not None:
                    identity = rows.identity(row)
                    if row is operation.over and identity not in self._last:
                        before[identity] = row
                    self._last[identity] = operation
        held = {(rows.owner(row), row.key) for row in before.values()}
        for identity, operation in self._last.items():
            there, wanted = before.get(identity), self._wanted(identity)
            if wanted is None:
                self.going += [] if there is None else [there]
            elif there is None:
                self.coming.append(wanted)
            elif (place := (rows.owner(wanted), wanted.key)) in held and place != (rows.owner(there), there.key):
                self.going.append(there)
                self.coming.append(dataclasses.replace(wanted, handle=there.handle))
            elif operation.touch or there.values != wanted.values:
                self.changed.append((there, wanted, operation.touch))

    def change(self, operation: Operation) -> RowChange:
        """An operation with its row as it was written; one that another took the place of stays as it was meant."""
        wanted = operation.wanted
        if wanted is not None and self._last[self._identity(wanted)] is operation:
            wanted = self.written.get(self._identity(wanted), wanted)
        return RowChange(operation.over, wanted, reverses=operation.reverses)

    def _wanted(self, identity: str) -> StoredRow | None:
        wanted = self._last[identity].wanted
        return wanted if wanted is not None and self._identity(wanted) == identity else None


@dataclass(frozen=True, slots=True)
class _Outline(StoredRow):
    """A row of which only the state is known."""

    state: int = 0


def _state(row: StoredRow) -> int:
    """A quick fingerprint, for as long as this process lives."""
    return hash(frozenset((name, type(value), value) for name, value in row.values.items() if name != "embedding"))


def _part(row: StoredRow, names: Iterable[str]) -> StoredRow:
    """ZeroClaw >= 0.8.0 rewrites session ids when it opens a file, and gives every memory an owner."""
    values = {name: row.values[name] for name in names if name != "agent_id"}
    session = values.get("session_id")
    return StoredRow(row.id, values | {"session_id": sanitised(session) if isinstance(session, str) else None})
