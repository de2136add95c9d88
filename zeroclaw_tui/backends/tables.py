"""Shared code for changing rows of ZeroClaw's tables in SQLite and PostgreSQL: agents, session ids, times.

All rows of a batch are read at once in the open transaction, the changes are computed in memory, and only the final
differences are written.
"""

from __future__ import annotations

import dataclasses
import uuid
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from zeroclaw_tui.backends.about import why_not_field
from zeroclaw_tui.backends.writing import OwnedKey, RowWriter
from zeroclaw_tui.memory.change import AGENTS, Change, Draft, Edit, Row, RowChange, Value, Vector
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.stages import is_alphanumeric

_MICROSECOND = timedelta(microseconds=1)


def local_now(after: str = "") -> str:
    """The current time as RFC 3339 with the local offset, always later than `after`."""
    return nine_digits(moment_after(after, datetime.now(UTC)).astimezone())


def utc_now() -> str:
    """The current time in UTC, as in ZeroClaw's agents from 0.8.0 on."""
    return nine_digits(datetime.now(UTC))


def moment_after(stored: str, now: datetime) -> datetime:
    """Return `now`, or one microsecond after a stored time if that is later."""
    earlier = moment(stored)
    return now if earlier is None else max(now, earlier + _MICROSECOND)


def nine_digits(when: datetime) -> str:
    """Format a time with nine fractional digits and `+00:00`, never `Z`: ZeroClaw compares times as text."""
    text = when.isoformat(timespec="microseconds")
    return f"{text[:-6]}000{text[-6:]}"


def uuid_for(id: str) -> str:
    """Return an id that is a UUID unchanged, or derive a UUID from any other id."""
    try:
        return str(uuid.UUID(id))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"zeroclaw-tui/{id}"))


def sanitised(session: str) -> str:
    """Convert a session id as ZeroClaw >= 0.8.0 does: characters other than letters, digits, `_` and `-` become `_`."""
    return "".join(letter if letter in "_-" or is_alphanumeric(letter) else "_" for letter in session)


def session_to_store(session: Value, notes: dict[str, None]) -> str | None:
    """Sanitise a session id, with a note if that changes it; None if it is empty."""
    stored = sanitised(as_text(session)) or None
    if session and stored != session:
        notes[f"The session is stored as {stored!r}: ZeroClaw allows only letters, digits, _ and - here."] = None
    return stored


DEFAULT_AGENT = "default"
"""ZeroClaw's alias for the owner of memories from before it had agents, and of memories without an agent."""


class TableWriter(RowWriter):
    """Writes the table of memories, identifying rows by id, and the table of agents (ZeroClaw >= 0.8)."""

    is_transactional = True
    has_update_times = True
    """Whether a row has a time of the last change in addition to the time of creation."""
    has_agents: bool
    """Whether each memory has an owner."""
    agents: dict[str, str]
    """The aliases by id in this transaction, including added ones."""
    columns: Set[str]
    """The names of allowed values of a row."""
    usual: Mapping[str, Value] = MappingProxyType({})
    """The defaults of columns that a draft may omit."""
    reset: Mapping[str, Value] = MappingProxyType({})
    """The values to which a draft that replaces a memory resets columns it does not set."""

    def __init__(self) -> None:
        super().__init__()
        self.planned_agents: dict[str, str] = {}
        """The aliases by id of the agents that a dry run would add."""

    @abstractmethod
    def later_than(self, stored: str) -> str:
        """The current time in the store's format, later than the stored one."""

    @abstractmethod
    def vector_problem(self, vector: Vector) -> Refused | None:
        """The reason why the store cannot have a vector."""

    @abstractmethod
    async def delete(self, rows: Sequence[Row]) -> None:
        """Delete rows."""

    @abstractmethod
    async def change(self, row: Row, values: Mapping[str, Value]) -> Row:
        """Update the values of a row that differ, and return the row as stored."""

    @abstractmethod
    async def insert(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Insert rows, and return them as stored, in order. Raises WriteConflict if a key exists."""

    @abstractmethod
    async def present_agent(self, row: Row) -> Row | None:
        """The existing row of the agent with the same id."""

    @abstractmethod
    async def insert_agent(self, row: Row) -> Row:
        """Insert an agent. Raises WriteConflict if another program has just inserted it."""

    @abstractmethod
    async def delete_agent(self, row: Row) -> bool:
        """Delete an agent; False if it owns memories or is referenced."""

    def check(self, after: Draft | Edit) -> None:
        """Raise Refused for a field that the table has no column for."""
        names = [*(after.explicit if isinstance(after, Draft) else after.values)]
        if isinstance(after, Draft):
            names += ["session_id"] if after.session_id is not None else []
            names += ["agent"] if after.agent is not None else []
        for name in names:
            if (reason := why_not_field(self.why_not, name)) is not None:
                raise Refused(reason, hint="Leave it out.")

    def owner(self, row: Row) -> str | None:
        """The id of its agent."""
        owner = row.values.get("agent_id")
        return None if owner is None else str(owner)

    def same(self, one: Row, other: Row) -> bool:
        """Whether two rows are equal; if ZeroClaw migrated the table in between, only common columns are compared."""
        if one.fingerprint == other.fingerprint:
            return True
        if one.values.keys() - {"embedding"} == other.values.keys() - {"embedding"}:
            return False
        common = one.values.keys() & other.values.keys()
        return _part(one, common).fingerprint == _part(other, common).fingerprint

    async def resolve_owner(self, row: Row | Draft, *, create: bool) -> tuple[str | None, RowChange | None]:
        """Find the agent by the row's agent id, or else its alias, or else `default`, or else the only one; or add one.

        Raises Refused for a draft without an agent if there are several.
        """
        if not self.has_agents:
            return None, None
        alias = row.agent
        known = self._known_owner(row)
        if known is not None or not create:
            return known, None
        if alias is None and self.agents:
            raise Refused(
                f"This store belongs to the agents {', '.join(sorted(self.agents.values()))}.",
                hint="Name the agent that will own the memory.",
            )
        alias, new_id = alias or DEFAULT_AGENT, str(uuid.uuid4())
        values: dict[str, Value] = {"id": new_id, "alias": alias, "created_at": utc_now()}
        added = await self.insert_agent(Row(new_id, values, agent=alias, table=AGENTS))
        self.agents[added.id] = alias
        return added.id, RowChange(None, added)

    def new_row(self, draft: Draft, existing: Row | None, owner: str | None) -> Row:
        """Make the row as ZeroClaw does; a replaced row keeps its id, its position and its time of creation."""
        values = {"content": draft.content, "category": draft.category, **self._as_stored(draft.explicit)}
        if "session_id" in self.columns:
            values["session_id"] = self._session_to_store(draft.session_id)
        data = self._usable_vector(draft.vector)
        if existing is not None:
            return self._changed(existing, {**self.reset, **values}, data)
        row_id, now = str(uuid.uuid4()), self.later_than("")
        values = {"id": row_id, "key": draft.key, "created_at": now, "updated_at": now, **self.usual, **values}
        if owner is not None:
            values["agent_id"] = owner
        if "embedding" in self.columns:
            values["embedding"] = data
        alias = None if owner is None else self.agents.get(owner)
        return Row(row_id, values, None, alias)

    def edited_row(self, row: Row, edit: Edit) -> Row:
        """Set the time of change; new content gets the given vector or none."""
        if not edit.values and edit.vector is not None:
            if (problem := self.vector_problem(edit.vector)) is not None:
                raise problem
            return dataclasses.replace(row, values={**row.values, "embedding": edit.vector.data})
        values = self._as_stored(edit.values)
        if "session_id" in values and values["session_id"] != row.values.get("session_id"):
            values["session_id"] = self._session_to_store(values["session_id"])
        if all(row.values.get(name) == value for name, value in values.items()):
            return row
        is_new = "content" in values and values["content"] != row.values["content"]
        return self._changed(row, values, self._usable_vector(edit.vector) if is_new else None)

    def restored_row(self, row: Row, existing: Row | None, owner: str | None, *, new_id: bool) -> Row:
        """Restore the values for which the current table has columns."""
        names, columns = row.values.keys(), self.columns
        unknown = () if names <= columns else names - columns
        if existing is None and owner is None and not new_id and not unknown and (self.has_agents or row.agent is None):
            return row
        values = dict(row.values)
        if lost := [name for name in unknown if values.pop(name) is not None]:
            self.notes[
                f"The values of {one_line(', '.join(sorted(lost)))} are dropped: this store has no such column."
            ] = None
        if existing is not None and self.identity(existing) == self.identity(row):
            # A column that was added since then only has a value in the existing row.
            values = {**existing.values, **values}
        alias = row.agent if self.has_agents else None
        if owner is not None:
            alias = self.agents.get(owner, owner)
            if values.get("agent_id", owner) != owner:
                self.notes[
                    f"{one_line(row.key)!r} now belongs to the agent {one_line(alias)}, because its own agent no "
                    "longer exists."
                ] = None
            values["agent_id"] = owner
        if new_id:
            new = str(uuid.uuid4())
            return Row(new, {**values, "id": new}, row.handle, alias, row.table)
        return Row(row.id, values, row.handle, alias, row.table)

    async def write(self, changes: Sequence[RowChange]) -> Mapping[str, Row]:
        """Delete, update, insert. A row whose new key another row still has is deleted and inserted again."""

        def place(row: Row) -> OwnedKey:
            return self.owner(row), row.key

        taken = {place(one.before) for one in changes if one.before is not None}
        deleted: list[Row] = []
        changed: list[tuple[Row, Row]] = []
        inserted: list[Row] = []
        for existing, new in ((one.before, one.after) for one in changes):
            if new is None:
                deleted += [] if existing is None else [existing]
            elif existing is None:
                inserted.append(new)
            elif place(new) in taken and place(new) != place(existing):
                deleted.append(existing)
                inserted.append(dataclasses.replace(new, handle=existing.handle))
            else:
                changed.append((existing, new))
        await self.delete(deleted)
        written: dict[str, Row] = {}
        for existing, new in changed:
            row = await self.change(existing, new.values)
            written[self.identity(row)] = row
        for meant, row in zip(inserted, await self.insert(inserted) if inserted else (), strict=True):
            written[self.identity(meant)] = row
        return written

    async def write_other(self, change: Change, *, dry_run: bool) -> RowChange | None:
        """Insert a missing agent, or delete an unused one; other tables are not written."""
        row = change.after if isinstance(change.after, Row) else change.before
        assert isinstance(row, Row), "rows of other tables are known whole"
        if dry_run:
            if row.table == AGENTS and change.after is not None and row.agent not in self.agents.values():
                self.planned_agents[row.id] = self.agents[row.id] = row.agent or row.id
            return None
        before: Row | None = row
        after: Row | None = row
        if row.table != AGENTS:
            self.notes["Cached vectors are not restored: ZeroClaw computes them again when needed."] = None
        elif self.has_agents:
            present = await self.present_agent(row)
            if change.after is None:
                before = present or row
                after = present if present is not None and not await self.delete_agent(present) else None
                if after is None:
                    self.agents.pop(before.id, None)
            elif present is not None or row.agent in self.agents.values():
                before = after = present or row
            else:
                before, after = None, await self.insert_agent(row)
                self.agents[after.id] = after.agent or after.id
        return RowChange(before, after, reverses=change.reverses)

    def _as_stored(self, values: Mapping[str, Any]) -> dict[str, Value]:
        """Convert values for the columns; None becomes the default of the column."""
        stored: dict[str, Value] = {}
        for name, value in values.items():
            if value is None:
                stored[name] = self.usual.get(name)
            elif name == "importance":
                stored[name] = float(value)
            else:
                stored[name] = int(value) if isinstance(value, bool) else value
        return stored

    def _usable_vector(self, vector: Vector | None) -> bytes | None:
        """The vector's data if the store can have it, or None with a note."""
        if vector is None or "embedding" not in self.columns:
            return None
        if (problem := self.vector_problem(vector)) is None:
            return vector.data
        self.notes[f"Stored without its vector. {problem.message}"] = None
        return None

    def _changed(self, row: Row, values: Mapping[str, Value], data: bytes | None) -> Row:
        """Change values, but not id, position and time of creation. The vector of other content is dropped."""
        changed = {**row.values, **values}
        if self.has_update_times:
            changed["updated_at"] = self.later_than(as_text(row.values["updated_at"]))
        if "embedding" in self.columns:
            same_content = changed["content"] == row.values["content"]
            changed["embedding"] = (row.values["embedding"] or data) if same_content else data
        return dataclasses.replace(row, values=changed)

    def _known_owner(self, row: Row | Draft) -> str | None:
        owner = row.values.get("agent_id") if isinstance(row, Row) else None
        if isinstance(owner, str) and owner in self.agents:
            return owner
        by_alias = self._id_of(row.agent) if row.agent is not None else None
        if by_alias is not None or (row.agent is not None and isinstance(row, Draft)):
            return by_alias
        only = next(iter(self.agents)) if len(self.agents) == 1 else None
        return self._id_of(DEFAULT_AGENT) or only

    def _session_to_store(self, session: Value) -> Value:
        return session_to_store(session, self.notes) if self.has_agents else session or None

    def _id_of(self, alias: str) -> str | None:
        return next((agent for agent, known in self.agents.items() if known == alias), None)


def _part(row: Row, names: Iterable[str]) -> Row:
    """Select values that ZeroClaw >= 0.8.0 does not change when it opens a file, with session ids converted."""
    values = {name: row.values[name] for name in names if name != "agent_id"}
    session = values.get("session_id")
    return Row(row.id, values | {"session_id": sanitised(session) if isinstance(session, str) else None})
