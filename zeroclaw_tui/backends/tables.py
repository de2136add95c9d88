"""What ZeroClaw's tables in SQLite and PostgreSQL have in common when rows are changed: agents, spellings, moments.

All that a batch concerns is read at once in the open transaction, decided on in memory, and written as what differs in
the end.
"""

from __future__ import annotations

import dataclasses
import uuid
from abc import abstractmethod
from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import UTC, datetime, timedelta
from types import MappingProxyType
from typing import Any

from zeroclaw_tui.backends.writing import OwnedKey, RowWriter
from zeroclaw_tui.memory.change import AGENTS, Change, Draft, Edit, Row, RowChange, Value, Vector
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.keywords import is_alphanumeric

_MICROSECOND = timedelta(microseconds=1)


def local_now(after: str = "") -> str:
    """Now as RFC 3339 with the local offset; always later than the moment `after` says."""
    return nine_digits(moment_after(after, datetime.now(UTC)).astimezone())


def utc_now() -> str:
    """Now in UTC, as ZeroClaw >= 0.8.0 dates its agents."""
    return nine_digits(datetime.now(UTC))


def moment_after(stored: str, now: datetime) -> datetime:
    """Now, or a microsecond after the moment of a stored text where that is later."""
    earlier = moment(stored)
    return now if earlier is None else max(now, earlier + _MICROSECOND)


def nine_digits(when: datetime) -> str:
    """A moment with nine fraction digits and `+00:00`, never `Z`: ZeroClaw compares such texts as text."""
    text = when.isoformat(timespec="microseconds")
    return f"{text[:-6]}000{text[-6:]}"


def uuid_for(id: str) -> str:
    """The id itself where it is a UUID, else one that always belongs to it."""
    try:
        return str(uuid.UUID(id))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"zeroclaw-tui/{id}"))


def sanitised(session: str) -> str:
    """A session id as ZeroClaw >= 0.8.0 stores it: what is no letter, digit, `_` or `-` becomes `_`."""
    return "".join(letter if letter in "_-" or is_alphanumeric(letter) else "_" for letter in session)


DEFAULT_AGENT = "default"
"""The alias ZeroClaw gives the owner of what was there before it knew agents, and of what names none."""


class TableWriter(RowWriter):
    """Writes the table of memories, whose rows are identified by their id, and that of the agents (ZeroClaw >= 0.8)."""

    is_transactional = True
    has_update_times = True
    """Whether a row has the time of its last change besides that of its creation."""
    has_agents: bool
    """Whether each memory has an owner."""
    agents: dict[str, str]
    """The aliases by id, as they are in this transaction; may be added to."""
    columns: Set[str]
    """The names that values of a row may have."""
    usual: Mapping[str, Value] = MappingProxyType({})
    """What a new memory has in columns that a draft need not name."""
    reset: Mapping[str, Value] = MappingProxyType({})
    """What a draft that replaces a memory sets back, unless it names another value."""

    @abstractmethod
    def later_than(self, stored: str) -> str:
        """Now, as the store writes a time, and later than the one that is stored."""

    @abstractmethod
    def vector_problem(self, vector: Vector) -> Refused | None:
        """Why the store cannot have a vector."""

    @abstractmethod
    async def delete(self, rows: Sequence[Row]) -> None:
        """Delete rows."""

    @abstractmethod
    async def change(self, row: Row, values: Mapping[str, Value]) -> Row:
        """Give a row these values, where they differ, and return it as it then is."""

    @abstractmethod
    async def insert(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Insert rows, and return them as they then are, in order. Raises WriteConflict if a key was taken."""

    @abstractmethod
    async def present_agent(self, row: Row) -> Row | None:
        """The row of the agent with the same id."""

    @abstractmethod
    async def insert_agent(self, row: Row) -> Row:
        """Insert an agent. Raises WriteConflict if another program has just inserted it."""

    @abstractmethod
    async def delete_agent(self, row: Row) -> bool:
        """Delete an agent; False if it owns memories, or if something refers to it."""

    def check(self, after: Draft | Edit) -> None:
        """Raise Refused for a field that the table has no column for."""
        names = [*(after.named if isinstance(after, Draft) else after.values)]
        if isinstance(after, Draft):
            names += ["session_id"] if after.session_id is not None else []
            names += ["agents"] if after.agent is not None else []
        for name in names:
            if name in self.why_not:
                raise Refused(self.why_not[name], hint="Leave it out.")

    def owner(self, row: Row) -> str | None:
        """The id of its agent."""
        owner = row.values.get("agent_id")
        return None if owner is None else str(owner)

    def same(self, one: Row, other: Row) -> bool:
        """Whether two rows are equal; if ZeroClaw migrated the table in between, in the columns of both."""
        if one.fingerprint == other.fingerprint:
            return True
        if one.values.keys() - {"embedding"} == other.values.keys() - {"embedding"}:
            return False
        common = one.values.keys() & other.values.keys()
        return _part(one, common).fingerprint == _part(other, common).fingerprint

    async def resolve_owner(self, row: Row | Draft, *, create: bool) -> tuple[str | None, RowChange | None]:
        """The agent of the row's id, else of its alias, else `default`, else the only one; else one is added.

        Raises Refused for a draft that leaves a choice.
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
                hint="Name the one that shall own the memory.",
            )
        alias, new_id = alias or DEFAULT_AGENT, str(uuid.uuid4())
        values: dict[str, Value] = {"id": new_id, "alias": alias, "created_at": utc_now()}
        added = await self.insert_agent(Row(new_id, values, agent=alias, table=AGENTS))
        self.agents[added.id] = alias
        return added.id, RowChange(None, added)

    def new_row(self, draft: Draft, existing: Row | None, owner: str | None) -> Row:
        """As ZeroClaw's own store writes it; a replaced row keeps its id, its place and its time of creation."""
        values = {"content": draft.content, "category": draft.category, **self._as_stored(draft.named)}
        if "session_id" in self.columns:
            values["session_id"] = self.session_stored(draft.session_id)
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
        """With the time it is now; new content with the given vector or none."""
        if not edit.values and edit.vector is not None:
            if (problem := self.vector_problem(edit.vector)) is not None:
                raise problem
            return dataclasses.replace(row, values={**row.values, "embedding": edit.vector.data})
        values = self._as_stored(edit.values)
        if "session_id" in values and values["session_id"] != row.values.get("session_id"):
            values["session_id"] = self.session_stored(values["session_id"])
        if all(row.values.get(name) == value for name, value in values.items()):
            return row
        is_new = "content" in values and values["content"] != row.values["content"]
        return self._changed(row, values, self._usable_vector(edit.vector) if is_new else None)

    def restored_row(self, row: Row, existing: Row | None, owner: str | None, *, new_id: bool) -> Row:
        """With the values that today's table has columns for."""
        names, columns = row.values.keys(), self.columns
        unknown = () if names <= columns else names - columns
        if existing is None and owner is None and not new_id and not unknown and (self.has_agents or row.agent is None):
            return row
        values = dict(row.values)
        if lost := [name for name in unknown if values.pop(name) is not None]:
            self.notes[
                f"What stood in {one_line(', '.join(sorted(lost)))} is left out: this store has no such column."
            ] = None
        if existing is not None and self.identity(existing) == self.identity(row):
            # A column that was added since then has a value only in the present row.
            values = {**existing.values, **values}
        alias = row.agent if self.has_agents else None
        if owner is not None:
            alias = self.agents.get(owner, owner)
            if values.get("agent_id", owner) != owner:
                self.notes[
                    f"{one_line(row.key)!r} belongs to the agent {one_line(alias)} now, since its own is no longer "
                    "there."
                ] = None
            values["agent_id"] = owner
        if new_id:
            new = str(uuid.uuid4())
            return Row(new, {**values, "id": new}, row.handle, alias, row.table)
        return Row(row.id, values, row.handle, alias, row.table)

    async def write(self, changes: Sequence[RowChange]) -> Mapping[str, Row]:
        """Delete, update, insert. A row whose new key another one still has is deleted and inserted again."""

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
        """Insert an agent if there is none, or delete one that nothing needs; no other table is written."""
        row = change.after if isinstance(change.after, Row) else change.before
        assert isinstance(row, Row), "rows of other tables are known whole"
        if dry_run:
            return None
        before: Row | None = row
        after: Row | None = row
        if row.table != AGENTS:
            self.notes["Cached vectors are not brought back: ZeroClaw makes them again when it needs them."] = None
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
        """Values as the columns have them; what is None and needs a value gets the usual one."""
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
        """The vector's data if the store can have it, else None and a note."""
        if vector is None or "embedding" not in self.columns:
            return None
        if (problem := self.vector_problem(vector)) is None:
            return vector.data
        self.notes[f"Stored without its vector. {problem.message}"] = None
        return None

    def _changed(self, row: Row, values: Mapping[str, Value], data: bytes | None) -> Row:
        """Id, place and time of creation stay. A vector of other content would be worse than none."""
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

    def session_stored(self, session: Value) -> str | None:
        """A session as ZeroClaw of this generation writes it, with a remark where that is another; None for a blank
        one."""
        if not isinstance(session, str) or not session:
            return None
        if not self.has_agents:
            return session
        clean = sanitised(session)
        if clean != session:
            self.notes[f"The session is stored as {clean!r}: this ZeroClaw keeps letters, digits, _ and - only."] = None
        return clean

    def _id_of(self, alias: str) -> str | None:
        return next((agent for agent, known in self.agents.items() if known == alias), None)


def _part(row: Row, names: Iterable[str]) -> Row:
    """ZeroClaw >= 0.8.0 rewrites session ids when it opens a file, and gives every memory an owner."""
    values = {name: row.values[name] for name in names if name != "agent_id"}
    session = values.get("session_id")
    return Row(row.id, values | {"session_id": sanitised(session) if isinstance(session, str) else None})
