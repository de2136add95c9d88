"""Comparing memories that come from elsewhere with those of a store.

A memory is known by its agent and its key; a line of notes, whose key is only a place, by its agent and its text.
"""

from __future__ import annotations

import asyncio
import hashlib
import uuid
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.library import without_agents
from zeroclaw_tui.curation.transfer.supply import KnownVectors, Supply
from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import column_text
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.note_lines import in_one_line, is_line
from zeroclaw_tui.memory.query import EXCERPTS, ROWS, Query
from zeroclaw_tui.memory.text import one_line

What = Literal["new", "same", "taken"]
"""What a memory that comes is to the store."""

DEFAULT_AGENT = "default"
VECTOR = "embedding"
OF_THE_STORE = frozenset({"id", "agent_id", "embedding_dimensions"})
"""Columns that mean something only in the store that a row comes from."""
_TIMES = ("created_at", "updated_at")
_FIELDS = frozenset(
    {
        *("key", "content", "category", "session_id", "namespace", "importance", "pinned", "superseded_by", "kind"),
        *_TIMES,
    }
)
"""The columns that a memory of any store may have."""


@dataclass(slots=True)
class Compared:
    """A memory that comes: as its source has it, as the store would have it, and what it is to the store.

    `existing` is the store's memory of that agent and key. A taken one without it has the key of another one that came.
    """

    row: Row
    stored: Row
    what: What
    existing: Row | None = None


@dataclass(slots=True)
class Comparison:
    """Completes batches of memories for a store, compares them with it, and counts.

    `agents` are the aliases that the store knows, `vectors` what it says of its vectors. `is_empty` says that it has no
    memory yet. `with_vectors` compares vectors too.
    """

    supply: Supply
    memory: Memory
    agents: set[str]
    vectors: KnownVectors
    now: str
    is_empty: bool
    with_vectors: bool
    counts: Counter[What] = field(default_factory=Counter)
    _seen: dict[int, int] = field(default_factory=dict)
    """Hashes of the contents that came, by the hash of agent and key."""
    _lines: Counter[tuple[str | None, str]] | None = None

    @classmethod
    async def of(
        cls, supply: Supply, memory: Memory, now: datetime, *, exists: bool = True, with_vectors: bool = False
    ) -> Comparison:
        """Prepare a comparison with an open store, or with one that is as the store will be that does not exist yet.

        Raises Refused for an owner that the store cannot have, and where it can embed nothing.
        """
        has_agents = "agents" not in memory.why_not
        if supply.owner is not None and not has_agents:
            raise without_agents(memory)
        if memory.about.embeds_itself and "vectors" in memory.why_not and not supply.embeds_itself:
            raise Refused(memory.why_not["vectors"], hint="Set an embedding provider, then try again.")
        facts = (await memory.health()).facts if exists and not memory.about.keeps_lines else {}
        agents = set(facts.get("agents") or ()) if has_agents else set()
        is_empty = not exists or await memory.count() == 0
        return cls(supply, memory, agents, KnownVectors.from_facts(facts), now.isoformat(), is_empty, with_vectors)

    async def compare(self, rows: Sequence[Row]) -> list[Compared]:
        """Compare the next batch."""
        completed = await asyncio.to_thread(lambda: list(map(self._completed, rows)))
        stored = await self.memory.as_stored(completed)
        if self.memory.about.keeps_lines:
            found = await self._compared_lines(rows, stored)
        else:
            existing = await self._existing(row.key for row in stored)
            found = await asyncio.to_thread(self._compared_rows, rows, stored, existing)
            await self._find_renamed([one for one in found if one.what == "taken"])
            await self._give_new_ids([one for one in found if one.what == "new" and one.row.id and one.stored.id])
        self.counts.update(one.what for one in found)
        return found

    async def _existing(self, keys: Iterable[str]) -> dict[tuple[str | None, str], Row]:
        """The store's memories of these keys, by agent and key."""
        wanted = [] if self.is_empty else list(set(keys))
        rows = await self.memory.rows(Query(ROWS, keys=wanted)) if wanted else ()
        return {self.identity(row): row for row in reversed(rows)}

    def _compared_rows(
        self, rows: Sequence[Row], stored: Sequence[Row], existing: dict[tuple[str | None, str], Row]
    ) -> list[Compared]:
        found = []
        for row, new in zip(rows, stored, strict=True):
            identity, content = self.identity(new), hash(new.values["content"])
            known, present = hash(identity), existing.get(identity)
            what: What = "new"
            if known in self._seen:
                # Agents that the store does not have may each have had a memory of this key.
                what, present = "same" if self._seen[known] == content else "taken", None
            elif present is not None:
                what = "same" if self._is_same(row, new, present) else "taken"
            self._seen.setdefault(known, content)
            found.append(Compared(row, new, what, present))
        return found

    async def _find_renamed(self, taken: Sequence[Compared]) -> None:
        """Find the memories that were brought under another key before."""
        others = [self.renamed(one.stored) for one in taken]
        brought = await self._existing(row.key for row in others)
        for one, row in zip(taken, others, strict=True):
            present = brought.get(self.identity(row))
            if present is not None and present.entry().content == one.stored.entry().content:
                one.what = "same"

    async def _give_new_ids(self, new: Sequence[Compared]) -> None:
        """Give new ids to the memories whose id another one has."""
        ids = [] if self.is_empty else [one.stored.id for one in new]
        taken = {entry.id for entry in await self.memory.rows(Query(EXCERPTS, ids=ids))} if ids else set()
        for one in new:
            if one.stored.id in taken:
                one.stored = _with_key(one.stored, one.stored.key)
            taken.add(one.stored.id)

    async def _compared_lines(self, rows: Sequence[Row], stored: Sequence[Row]) -> list[Compared]:
        """A line is there if the store has it as often as it came so far."""
        if self._lines is None:
            lines = () if self.is_empty else await self.memory.rows(Query(ROWS))
            self._lines = Counter((row.agent, in_one_line(row.entry().content)) for row in lines)
        owner = self.supply.owner
        found: list[Compared] = []
        for row, new in zip(rows, stored, strict=True):
            if owner not in (None, new.agent):
                raise Refused(
                    f"Agent {one_line(str(owner))!r} has no notes here.", hint="Name an agent that has notes."
                )
            line = new.agent, column_text(new.values["content"])
            found.append(Compared(row, new, "same" if self._lines[line] > 0 else "new"))
            self._lines[line] -= 1
        return found

    def _completed(self, row: Row) -> Row:
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

    def _takes_vector(self, vector: Value) -> bool:
        is_alike = self.supply.embeds_itself or not self.memory.about.embeds_itself
        return is_alike and self.vectors.fits(vector, self.supply.vectors_by)

    def _owner(self, agent: str | None) -> str | None:
        """Return whose memory it will be; None where there are no agents.

        It is the agent that was named for all. Otherwise a copied store brings its agents along, and a file's memories
        go to an agent that exists.
        """
        if "agents" in self.memory.why_not or self.supply.owner is not None:
            return self.supply.owner
        owner = self._usual_owner(agent)
        if owner is None:
            raise Refused(
                f"This store belongs to the agents {one_line(', '.join(sorted(self.agents)))}, and the file does not"
                " name the agent of its memories.",
                hint="Give each memory of the file an agent, or name one agent for all with --agent.",
            )
        return owner

    def _usual_owner(self, agent: str | None) -> str | None:
        """Return the agent that gets the memories of one; None where a file leaves a choice of several."""
        if agent is not None and (agent in self.agents or not self.supply.is_file):
            return agent
        if DEFAULT_AGENT in self.agents or not self.agents:
            return DEFAULT_AGENT
        if len(self.agents) == 1:
            return next(iter(self.agents))
        return agent if self.supply.is_file else DEFAULT_AGENT

    def identity(self, row: Row) -> tuple[str | None, str]:
        """Return what makes a row of the store, or a completed one, the memory it is: its agent and its key."""
        return (None if "agents" in self.memory.why_not else self._usual_owner(row.agent)), row.key

    def renamed(self, stored: Row) -> Row:
        """Return a memory under a key made from its content, which is the same each time."""
        content = stored.values["content"]
        data = content if isinstance(content, bytes) else column_text(content).encode("utf-8", "surrogatepass")
        return _with_key(stored, f"{stored.key} (imported {hashlib.sha256(data).hexdigest()[:4]})")

    def _is_same(self, row: Row, stored: Row, existing: Row) -> bool:
        """Whether the store's memory has all that a memory of the supply states; `stored` is as it would be stored."""
        for name in self._stated(row, stored):
            one, other = stored.values[name], existing.values.get(name)
            if one != other and comparable(name, one) != comparable(name, other):
                return False
        vector = stored.values.get(VECTOR)
        is_compared = self.with_vectors and vector is not None and not self.memory.about.embeds_itself
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

    def _stated(self, row: Row, stored: Row) -> list[str]:
        """The fields that a memory of the supply states and the store has."""
        return [
            name
            for name, value in row.values.items()
            if name in _FIELDS
            and name in stored.values
            and (name != "category" or value)
            and (name not in _TIMES or (value and self.supply.has_own_times))
        ]


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


def _with_key(row: Row, key: str) -> Row:
    new_id = _new_id(row.agent, key, row.values["content"])
    return Row(new_id, {**row.values, "id": new_id, "key": key}, None, row.agent)


def _new_id(owner: str | None, *facts: Value) -> str:
    """Make the id of a memory that has none, or that is a copy for another agent: always the same one."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"zeroclaw-tui import for {owner!r} {facts!r}"))
