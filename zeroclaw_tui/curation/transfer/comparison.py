"""Compare incoming memories, from a file or another store, with those of a store.

A memory is identified by agent and key; a line of notes, whose key is only a position, by agent and text.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.note_lines import in_one_line, is_line, line_place, read_line
from zeroclaw_tui.curation.formats.source import Identity
from zeroclaw_tui.curation.library import without_agents
from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.errors import INTERRUPTED, InspectorError, Refused
from zeroclaw_tui.memory.query import EXCERPTS, HANDLES, OLDEST_STORED, ROWS, MemoryFilter, Query
from zeroclaw_tui.memory.text import one_line

State = Literal["new", "same", "taken"]
"""How an incoming memory relates to the store."""
AgentKey = tuple[str | None, str]

BATCH_ROWS = 2_000
"""The number of memories in a batch; the store itself writes fewer per transaction."""
_ROWS_OF_STORE = 500
"""The number of memories read from a store at once, because their contents may be long."""
DEFAULT_AGENT = "default"
VECTOR = "embedding"
OF_THE_STORE = frozenset({"id", "agent_id", "embedding_dimensions"})
"""Columns whose values are only valid in the store of the row."""
_TIMES = ("created_at", "updated_at")
_FIELDS = frozenset(
    {
        *("key", "content", "category", "session_id", "namespace", "importance", "pinned", "superseded_by", "kind"),
        *_TIMES,
    }
)
"""The columns that a memory of any store may have."""
_USUAL: dict[str, Sequence[Value]] = {"namespace": ("default",), "pinned": (0,), "importance": (0.5,)}
"""ZeroClaw's default values."""
_NAMES = {
    VECTOR: "vector",
    "created_at": "time of creation",
    "updated_at": "time of change",
    "session_id": "session",
    "superseded_by": "superseding memory",
    "pinned": "pin",
}
_BYTES_EACH = 4


class Stopped(InspectorError):
    """`on_progress` returned False while memories were being read."""

    title = "Stopped"
    exit_code = INTERRUPTED


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """Facts about a store's vectors: `identity` as noted by ZeroClaw >= 0.8.3, `dimensions` those of most vectors."""

    identity: Identity | None = None
    dimensions: int | None = None

    @classmethod
    def from_facts(cls, facts: Mapping[str, Any]) -> KnownVectors:
        """Read it from the facts of a store's health."""
        noted: Mapping[str, Any] = facts.get("embedding identity") or {}
        parts = [noted.get(f"embedding_{name}") for name in ("provider", "model", "dimensions")]
        if all(isinstance(part, str) for part in parts) and str(parts[2]).isdecimal():
            identity = Identity(str(parts[0]), str(parts[1]), int(str(parts[2])))
            return cls(identity, identity.dimensions)
        lengths: Mapping[str, int] = facts.get("embedded by dimensions") or {}
        most = max(lengths, key=lambda length: lengths[length], default=None)
        return cls(None, None if most is None else int(most))

    def fits(self, vector: Value, made_by: Identity | None) -> bool:
        """Whether a vector is compatible with these, as far as both embedding models are known."""
        if not isinstance(vector, bytes) or not vector or len(vector) % _BYTES_EACH:
            return False
        if self.dimensions is not None and len(vector) != _BYTES_EACH * self.dimensions:
            return False
        return made_by is None or self.identity is None or made_by == self.identity


@dataclass(frozen=True, slots=True)
class Incoming:
    """Memories read in batches from a file, a folder of files, notes or another store.

    `batches` is called for each reading, with True if the target is notes, in which lines keep their order.
    """

    batches: Callable[[bool], AsyncIterator[Sequence[Row]]]
    vectors_by: Callable[[], Identity | None] = lambda: None
    """The embedding model of the vectors, as far as the batches read so far show it."""
    is_file: bool = True
    computes_vectors: bool = False
    """Whether the vectors are made from key and content together."""
    has_own_times: bool = True
    """Whether times are compared; times of notes and of other tools are often those of files."""
    owner: str | None = None
    """The agent that will own every memory, overriding the source."""


async def from_store(memory: Memory, filter: MemoryFilter) -> Incoming:
    """Make the source for the memories that a filter selects in a store."""

    async def lines(to_notes: bool) -> AsyncIterator[Sequence[Row]]:
        """Yield lines of notes by day; for a store with keys, lines with a repeated key are at the end."""
        rows = sorted(await memory.rows(Query(ROWS, filter)), key=line_place)
        if not to_notes:
            memories = [read_line(line) for line in rows]
            last = {(row.agent, row.key): index for index, row in enumerate(memories)}
            rows = sorted(memories, key=lambda row: row is not memories[last[row.agent, row.key]])
        for start in range(0, len(rows), BATCH_ROWS):
            yield rows[start : start + BATCH_ROWS]

    async def rows(to_notes: bool) -> AsyncIterator[Sequence[Row]]:
        """Yield rows in storage order."""
        handles = await memory.rows(Query(HANDLES, filter, OLDEST_STORED))
        for start in range(0, len(handles), _ROWS_OF_STORE):
            yield await memory.rows(Query(ROWS, handles=handles[start : start + _ROWS_OF_STORE]))

    if memory.about.is_line_based:
        return Incoming(lines, is_file=False, has_own_times=False)
    facts = (await memory.health()).facts if "vectors" not in memory.why_not else {}
    made_by = KnownVectors.from_facts(facts).identity
    return Incoming(rows, lambda: made_by, is_file=False, computes_vectors=memory.about.computes_vectors)


@dataclass(slots=True)
class Compared:
    """An incoming memory: as in its source, as the store would store it, and how it relates to the store.

    `existing` is the store's memory with that agent and key; None if the key is taken by another incoming memory.
    """

    row: Row
    stored: Row
    state: State
    existing: Row | None = None


@dataclass(slots=True)
class Comparison:
    """One reading of incoming memories: completes them for a store, and compares them with it.

    `agents` are the aliases in the store, `vectors` the facts about its vectors. `is_empty` says that it has no
    memories. `with_vectors` also compares vectors. `has_agent_list` is False where any alias may own memories (Qdrant).
    """

    incoming: Incoming
    memory: Memory
    agents: set[str]
    vectors: KnownVectors
    now: str
    is_empty: bool
    with_vectors: bool
    has_agent_list: bool
    counts: Counter[State] = field(default_factory=Counter)
    _seen: dict[int, int] = field(default_factory=dict)
    """Hashes of the contents read so far, by the hash of agent and key."""
    _lines: Counter[AgentKey] = field(default_factory=Counter)
    """The count of each line of an agent in the notes, minus those read so far."""

    @classmethod
    async def prepare(
        cls, incoming: Incoming, memory: Memory, now: datetime, *, exists: bool = True, with_vectors: bool = False
    ) -> Comparison:
        """Prepare a comparison with an open store, or with a store like the missing one will be.

        Raises Refused for an owner in a store without agents, and if a store that computes vectors cannot.
        """
        has_agents, has_lines = "agents" not in memory.why_not, memory.about.is_line_based
        if incoming.owner is not None and not has_agents:
            raise without_agents(memory)
        if memory.about.computes_vectors and "vectors" in memory.why_not and not incoming.computes_vectors:
            raise Refused(memory.why_not["vectors"], hint="Set an embedding provider, then try again.")
        facts = (await memory.health()).facts if exists and not has_lines else {}
        agents = set(facts.get("agents") or ()) if has_agents else set()
        is_empty = not exists or await memory.count() == 0
        vectors = KnownVectors.from_facts(facts)
        has_list = not exists or "agents" in facts
        found = cls(incoming, memory, agents, vectors, now.isoformat(), is_empty, with_vectors, has_list)
        if has_lines and not is_empty:
            lines = await memory.rows(Query(ROWS))
            found._lines.update((row.agent, in_one_line(row.entry().content)) for row in lines)
        return found

    async def batches(self) -> AsyncIterator[Sequence[Compared]]:
        """Yield all incoming memories in batches, compared, and count them in `counts`."""
        has_lines = self.memory.about.is_line_based
        complete = self._completed_line if has_lines else self._complete
        async for rows in self.incoming.batches(has_lines):
            stored = await self.memory.as_stored(await asyncio.to_thread(list, map(complete, rows)))
            if has_lines:
                found = list(map(self._compared_line, rows, stored))
            else:
                existing = await self._existing(row.key for row in stored)
                found = await asyncio.to_thread(self._compared_rows, rows, stored, existing)
                await self._find_renamed([one for one in found if one.state == "taken"])
                await self._give_new_ids([one for one in found if one.state == "new" and one.row.id and one.stored.id])
            self.counts.update([one.state for one in found])
            yield found

    async def _existing(self, keys: Iterable[str]) -> dict[AgentKey, Row]:
        """Read the store's memories with these keys, by agent and key."""
        wanted = [] if self.is_empty else list(set(keys))
        rows = await self.memory.rows(Query(ROWS, keys=wanted)) if wanted else ()
        return {self.identity(row): row for row in reversed(rows)}

    def _compared_rows(
        self, rows: Sequence[Row], stored: Sequence[Row], existing: Mapping[AgentKey, Row]
    ) -> list[Compared]:
        compared = []
        for row, new in zip(rows, stored, strict=True):
            identity, content = self.identity(new), hash(new.values["content"])
            known, present = hash(identity), existing.get(identity)
            state: State = "new"
            if known in self._seen:
                # Several agents that the store does not have may each have a memory with this key.
                state, present = "same" if self._seen[known] == content else "taken", None
            elif present is not None:
                state = "same" if self._is_same(row, new, present) else "taken"
            self._seen.setdefault(known, content)
            compared.append(Compared(row, new, state, present))
        return compared

    async def _find_renamed(self, taken: Sequence[Compared]) -> None:
        """Recognise memories that an earlier run added under another key."""
        others = [rekey(one.stored) for one in taken]
        brought = await self._existing(row.key for row in others)
        for one, row in zip(taken, others, strict=True):
            present = brought.get(self.identity(row))
            if present is not None and present.entry().content == one.stored.entry().content:
                one.state = "same"

    async def _give_new_ids(self, new: Sequence[Compared]) -> None:
        """Give new ids to the memories whose id is taken."""
        ids = [] if self.is_empty else [one.stored.id for one in new]
        taken = {entry.id for entry in await self.memory.rows(Query(EXCERPTS, ids=ids))} if ids else set()
        for one in new:
            if one.stored.id in taken:
                one.stored = _with_key(one.stored, one.stored.key)
            taken.add(one.stored.id)

    def _compared_line(self, row: Row, new: Row) -> Compared:
        """Compare a line: it exists if the store has it at least as often as it was read so far."""
        if self.incoming.owner not in (None, new.agent):
            owner = one_line(str(self.incoming.owner))
            raise Refused(f"Agent {owner!r} has no notes here.", hint="Name an agent that has notes.")
        line = new.agent, as_text(new.values["content"])
        self._lines[line] -= 1
        return Compared(row, new, "same" if self._lines[line] >= 0 else "new")

    def _completed_line(self, row: Row) -> Row:
        values = {name: value for name, value in row.values.items() if name not in OF_THE_STORE}
        if not is_line(row) and not values.get("created_at"):
            values["created_at"] = self.now
        return Row("", values, agent=self.incoming.owner or row.agent)

    def _complete(self, row: Row) -> Row:
        """Complete a memory with the values that the store requires."""
        values = dict(row.values)
        for name in OF_THE_STORE:
            values.pop(name, None)
        values["category"] = values.get("category") or "core"
        if values.get("created_at") is None:
            values["created_at"] = self.now
        if values.get("updated_at") is None:
            values["updated_at"] = values["created_at"]
        if values.get("pinned", 0) is None:
            del values["pinned"]
        vector = values.pop(VECTOR, None)
        if vector is not None and self._takes_vector(vector):
            values[VECTOR] = vector
        owner = self._owner(row.agent)
        new_id = row.id or _new_id(owner, row.key, values.get("content"))
        if row.id and self.incoming.owner not in (None, row.agent):
            # The original may also be in the store, as a memory of another agent.
            new_id = _new_id(owner, row.id)
            winner = values.get("superseded_by")
            # ZeroClaw stores the key, other programs the id.
            if winner and not as_text(winner).startswith("core_"):
                values["superseded_by"] = _new_id(owner, winner)
        values["id"] = new_id
        handle = row.handle if self.incoming.is_file and isinstance(row.handle, int) else None
        return Row(new_id, values, handle, owner)

    def _takes_vector(self, vector: Value) -> bool:
        is_alike = self.incoming.computes_vectors or not self.memory.about.computes_vectors
        return is_alike and self.vectors.fits(vector, self.incoming.vectors_by())

    def _owner(self, agent: str | None) -> str | None:
        """Return the owner of a memory; None in a store without agents.

        It is the agent given for all memories. Otherwise a copy creates the agents of its source, and an import uses
        existing agents.
        """
        if "agents" in self.memory.why_not or self.incoming.owner is not None:
            return self.incoming.owner
        owner = self._usual_owner(agent)
        if owner is None:
            raise Refused(
                f"This store belongs to the agents {one_line(', '.join(sorted(self.agents)))}, and the file does not"
                " name the agent of its memories.",
                hint="Give each memory of the file an agent, or name one agent for all with --agent.",
            )
        return owner

    def _usual_owner(self, agent: str | None) -> str | None:
        """Return the owner for an agent of the source; None if a file does not determine one of several."""
        takes_agent = not (self.incoming.is_file and self.has_agent_list)
        if agent is not None and (takes_agent or agent in (*self.agents, self.incoming.owner)):
            return agent
        if DEFAULT_AGENT in self.agents or not self.agents:
            return DEFAULT_AGENT
        if len(self.agents) == 1:
            return next(iter(self.agents))
        return agent if self.incoming.is_file else DEFAULT_AGENT

    def identity(self, row: Row) -> AgentKey:
        """Return the identity of a row of the store, or of a completed row: its agent and key."""
        return (None if "agents" in self.memory.why_not else self._usual_owner(row.agent)), row.key

    def _is_same(self, row: Row, stored: Row, existing: Row) -> bool:
        """Whether the existing memory has all provided values of an incoming one; `stored` is as it would be stored."""
        for name in self._provided_names(row, stored):
            new, old = stored.values[name], existing.values.get(name)
            if new != old and _comparable(name, new) != _comparable(name, old):
                return False
        vector = stored.values.get(VECTOR)
        is_compared = self.with_vectors and vector is not None and not self.memory.about.computes_vectors
        return not is_compared or existing.values.get(VECTOR) == vector

    def replacing(self, row: Row, stored: Row, existing: Row) -> Row:
        """Return the existing memory updated with the provided values of an incoming one.

        Its id stays, and its creation time if the source is another tool; a vector of another content is removed.
        """
        stated = {name: stored.values[name] for name in self._provided_names(row, stored)}
        values: dict[str, Value] = {**existing.values, **stated, "id": existing.id}
        if "updated_at" in stored.values and "updated_at" not in stated:
            values["updated_at"] = self.now
        if stored.values.get(VECTOR) is not None:
            values[VECTOR] = stored.values[VECTOR]
        elif VECTOR in values and values.get("content") != existing.values.get("content"):
            values[VECTOR] = None
        return Row(existing.id, values, existing.handle, stored.agent)

    def _provided_names(self, row: Row, stored: Row) -> list[str]:
        """The fields that an incoming memory provides and the store has."""
        return [
            name
            for name, value in row.values.items()
            if name in _FIELDS
            and name in stored.values
            and (name != "category" or value)
            and (name not in _TIMES or (value and self.incoming.has_own_times))
        ]


def rekey(stored: Row) -> Row:
    """Return a memory under a key with a suffix from its content, which is always the same."""
    content = stored.values["content"]
    data = content if isinstance(content, bytes) else as_text(content).encode("utf-8", "surrogatepass")
    return _with_key(stored, f"{stored.key} (imported {hashlib.sha256(data).hexdigest()[:4]})")


def _comparable(name: str, value: Value) -> Value:
    """Normalize a value, so that values that some stores do not distinguish are equal."""
    if isinstance(value, bytes) and name != VECTOR:
        value = as_text(value)
    match name:
        case "namespace":
            return value or "default"
        case "pinned":
            return int(bool(value)) if isinstance(value, int | None) else value
        case "importance" if isinstance(value, float):
            # A real column may store only four bytes.
            return f"{value:.6g}"
        case "created_at" | "updated_at":
            parsed = moment(value) if isinstance(value, str) else None
            return value if parsed is None else parsed.isoformat(timespec="microseconds")
        case "session_id":
            return value or None
    return value


def lost_fields(row: Row, stored: Row) -> Iterator[str]:
    """Yield the names of the fields that the store changes or drops."""
    values = stored.values
    for name, value in row.values.items():
        if value is None or value == (other := values.get(name)) or name in OF_THE_STORE:
            continue
        if value not in ("", *_USUAL.get(name, ())) and _comparable(name, value) != _comparable(name, other):
            yield _NAMES.get(name, name)
    if row.agent not in (None, DEFAULT_AGENT, stored.agent):
        yield "agent"


def _with_key(row: Row, key: str) -> Row:
    new_id = _new_id(row.agent, key, row.values["content"])
    return Row(new_id, {**row.values, "id": new_id, "key": key}, agent=row.agent)


def _new_id(owner: str | None, *facts: Value) -> str:
    """Make a reproducible id for a memory without one, or for a copy that belongs to another agent."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"zeroclaw-tui import for {owner!r} {facts!r}"))
