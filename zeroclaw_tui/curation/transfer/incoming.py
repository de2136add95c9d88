"""Memories that come from elsewhere, completed for one store: with an id, an owner, times and a vector that fits."""

from __future__ import annotations

import uuid
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.formats.jsonl import Identity
from zeroclaw_tui.curation.library import without_agents
from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import column_text
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.note_lines import is_line, line_place, read_line
from zeroclaw_tui.memory.query import HANDLES, OLDEST_STORED, ROWS, MemoryFilter, Query
from zeroclaw_tui.memory.text import one_line

BATCH_ROWS = 2_000
"""How many memories come at once; the store itself writes fewer in one transaction."""
DEFAULT_AGENT = "default"
TIMES = ("created_at", "updated_at")
VECTOR = "embedding"
FIELDS = frozenset(
    {
        *("key", "content", "category", "session_id", "namespace", "importance", "pinned", "superseded_by", "kind"),
        *TIMES,
    }
)
"""The columns that a memory of any store may have."""
OF_THE_STORE = frozenset({"id", "agent_id", "embedding_dimensions"})
"""Columns that mean something only in the store that a row comes from."""
_BYTES_EACH = 4


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """What a store says of its vectors: `identity` as ZeroClaw >= 0.8.3 notes it, `dimensions` those of most."""

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
        """Whether a vector fits among them, as far as both sides say what made theirs."""
        if not isinstance(vector, bytes) or not vector or len(vector) % _BYTES_EACH:
            return False
        if self.dimensions is not None and len(vector) != _BYTES_EACH * self.dimensions:
            return False
        return made_by is None or self.identity is None or made_by == self.identity


@dataclass(frozen=True, slots=True)
class Supply:
    """The memories of a file (or a folder of files), of notes, or of another store, in batches.

    `batches` is called again for each reading, with True where notes take the memories: there lines keep their order.
    """

    batches: Callable[[bool], AsyncIterator[Sequence[Row]]]
    is_file: bool = True
    vectors_by: Identity | None = None
    embeds_itself: bool = False
    """Whether its vectors are of key and content together."""
    has_own_times: bool = True
    """Whether a memory with other times is another one: times of notes and of other tools are often those of files."""
    owner: str | None = None
    """The agent that all memories shall belong to, whatever the source says."""


async def store_supply(memory: Memory, filter: MemoryFilter) -> Supply:
    """The memories of a store that a filter selects."""

    async def lines(to_notes: bool) -> AsyncIterator[Sequence[Row]]:
        """Lines of notes day by day; for a store with keys, lines whose key comes again later are at the end."""
        rows = sorted(await memory.rows(Query(ROWS, filter)), key=line_place)
        if not to_notes:
            memories = [read_line(line) for line in rows]
            last = {(row.agent, row.key): at for at, row in enumerate(memories)}
            rows = sorted(memories, key=lambda row: row is not memories[last[row.agent, row.key]])
        for start in range(0, len(rows), BATCH_ROWS):
            yield rows[start : start + BATCH_ROWS]

    async def rows(to_notes: bool) -> AsyncIterator[Sequence[Row]]:
        """Rows in the order of storing."""
        handles = await memory.rows(Query(HANDLES, filter, OLDEST_STORED))
        for start in range(0, len(handles), BATCH_ROWS):
            yield await memory.rows(Query(ROWS, handles=handles[start : start + BATCH_ROWS]))

    if memory.about.keeps_lines:
        return Supply(lines, is_file=False, has_own_times=False)
    facts = (await memory.health()).facts if "vectors" not in memory.why_not else {}
    made_by = KnownVectors.from_facts(facts).identity
    return Supply(rows, is_file=False, vectors_by=made_by, embeds_itself=memory.about.embeds_itself)


@dataclass(slots=True)
class Incoming:
    """Completes the memories of one supply for one store. `agents` are the aliases that the store knows."""

    supply: Supply
    memory: Memory
    agents: set[str]
    vectors: KnownVectors
    now: str

    @classmethod
    async def of(cls, supply: Supply, memory: Memory, now: datetime, *, exists: bool) -> Incoming:
        """Look at the store. Raises Refused for an owner that it cannot have, and where it can embed nothing."""
        has_agents = "agents" not in memory.why_not
        if supply.owner is not None and not has_agents:
            raise without_agents(memory)
        if memory.about.embeds_itself and "vectors" in memory.why_not and not supply.embeds_itself:
            raise Refused(memory.why_not["vectors"], hint="Set an embedding provider, then try again.")
        facts = (await memory.health()).facts if exists and not memory.about.keeps_lines else {}
        agents = set(facts.get("agents") or ()) if has_agents else set()
        return cls(supply, memory, agents, KnownVectors.from_facts(facts), now.isoformat())

    def completed(self, row: Row) -> Row:
        """Return a memory with all that the store needs to take it."""
        values = {name: value for name, value in row.values.items() if name not in OF_THE_STORE}
        if self.memory.about.keeps_lines:
            if not is_line(row) and not values.get("created_at"):
                values["created_at"] = self.now
            return Row("", values, None, self.supply.owner or row.agent)
        values["category"] = values.get("category") or "core"
        if values.get("created_at") is None:
            values["created_at"] = self.now
        if values.get("updated_at") is None:
            values["updated_at"] = values["created_at"]
        if values.get("pinned", 0) is None:
            del values["pinned"]
        if VECTOR in values and not self._takes_vector(values[VECTOR]):
            del values[VECTOR]
        owner = self._owner(row.agent)
        new_id = row.id or _new_id(owner, row.key, values.get("content"))
        if row.id and self.supply.owner not in (None, row.agent):
            # The original may be in the store too, as another agent's memory.
            new_id = _new_id(owner, row.id)
            if values.get("superseded_by"):
                values["superseded_by"] = _new_id(owner, values["superseded_by"])
        values["id"] = new_id
        handle = row.handle if self.supply.is_file and isinstance(row.handle, int) else None
        return Row(new_id, values, handle, owner)

    def with_key(self, row: Row, key: str) -> Row:
        new_id = _new_id(row.agent, key, row.values["content"])
        return Row(new_id, {**row.values, "id": new_id, "key": key}, None, row.agent)

    def identity(self, row: Row) -> tuple[str | None, str]:
        """Return what makes a row of the store, or a completed one, the memory it is: its agent and its key."""
        return (None if "agents" in self.memory.why_not else self.usual_owner(row.agent)), row.key

    def is_same(self, row: Row, stored: Row, existing: Row, *, with_vector: bool = False) -> bool:
        """Whether the store's memory has all that a memory of the supply states; `stored` is as it would be stored."""
        for name in self._stated(row, stored):
            one, other = stored.values[name], existing.values.get(name)
            if one != other and comparable(name, one) != comparable(name, other):
                return False
        vector = stored.values.get(VECTOR)
        is_compared = with_vector and vector is not None and not self.memory.about.embeds_itself
        return not is_compared or existing.values.get(VECTOR) == vector

    def replacing(self, row: Row, stored: Row, existing: Row) -> Row:
        """Return the store's memory with all that a memory of the supply states.

        The id stays, and the time of creation if the source is another tool's; a vector of other content goes.
        """
        stated = {name: stored.values[name] for name in self._stated(row, stored)}
        values: dict[str, Value] = {**existing.values, **stated, "id": existing.id}
        if "updated_at" in stored.values and "updated_at" not in stated:
            values["updated_at"] = self.now
        if stored.values.get(VECTOR) is not None:
            values[VECTOR] = stored.values[VECTOR]
        elif VECTOR in values and values.get("content") != existing.values.get("content"):
            values[VECTOR] = None
        return Row(existing.id, values, existing.handle, stored.agent)

    def usual_owner(self, agent: str | None) -> str | None:
        """Return the agent that gets the memories of one; None where a file leaves a choice of several."""
        if agent is not None and (agent in self.agents or not self.supply.is_file):
            return agent
        if DEFAULT_AGENT in self.agents or not self.agents:
            return DEFAULT_AGENT
        if len(self.agents) == 1:
            return next(iter(self.agents))
        return agent if self.supply.is_file else DEFAULT_AGENT

    def _takes_vector(self, vector: Value) -> bool:
        is_alike = self.supply.embeds_itself or not self.memory.about.embeds_itself
        return is_alike and self.vectors.fits(vector, self.supply.vectors_by)

    def _stated(self, row: Row, stored: Row) -> list[str]:
        """The fields that a memory of the supply states and the store has."""
        return [
            name
            for name, value in row.values.items()
            if name in FIELDS
            and name in stored.values
            and (name != "category" or value)
            and (name not in TIMES or (value and self.supply.has_own_times))
        ]

    def _owner(self, agent: str | None) -> str | None:
        """Return whose memory it will be; None where there are no agents.

        It is the agent that was named for all. Otherwise a copied store brings its agents along, and a file's memories
        go to an agent that exists.
        """
        if "agents" in self.memory.why_not or self.supply.owner is not None:
            return self.supply.owner
        owner = self.usual_owner(agent)
        if owner is None:
            raise Refused(
                f"This store belongs to the agents {one_line(', '.join(sorted(self.agents)))}, and the file does not"
                " name the agent of its memories.",
                hint="Give each memory of the file an agent, or name one agent for all with --agent.",
            )
        return owner


def comparable(name: str, value: Value) -> Value:
    """Return what is equal for values that some stores do not distinguish."""
    if isinstance(value, bytes) and name != VECTOR:
        value = column_text(value)
    match name:
        case "namespace":
            return value or "default"
        case "pinned":
            return int(bool(value)) if isinstance(value, int | None) else value
        case "importance" if isinstance(value, float):
            # A column of reals may have four bytes for each.
            return f"{value:.6g}"
        case "created_at" | "updated_at":
            parsed = moment(value) if isinstance(value, str) else None
            return value if parsed is None else parsed.isoformat(timespec="microseconds")
        case "session_id":
            return value or None
    return value


def _new_id(owner: str | None, *facts: Value) -> str:
    """Make the id of a memory that has none, or that is a copy for another agent: always the same one."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"zeroclaw-tui import for {owner!r} {facts!r}"))
