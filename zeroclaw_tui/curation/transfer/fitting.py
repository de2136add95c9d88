"""Memories of a file as this store can take them, and what of them it cannot."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.curation.transfer.comparing import TAKEN, Known, id_beside, id_made
from zeroclaw_tui.curation.transfer.identity import KnownVectors
from zeroclaw_tui.curation.transfer.jsonl import Header
from zeroclaw_tui.memory.change import StoredRow, Value
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import cut, one_line

DEFAULT_AGENT = "default"
_CATEGORY = "core"
_TIMES = ("created_at", "updated_at")
_NEVER = frozenset({"agent_id"})
_MEANS_NOTHING: dict[str, tuple[Value, ...]] = {"namespace": ("default",), "pinned": (0,), "embedding_dimensions": ()}
_NAMES_TOLD, _NAME_CELLS = 6, 30


@dataclass(frozen=True, slots=True)
class Target:
    """What is known of the store that takes them: `columns` is None where it has no rows to tell."""

    memory: Memory
    columns: frozenset[str] | None
    agents: frozenset[str]
    vectors: KnownVectors

    def owner(self, agent: str | None) -> str | None:
        """Whose memory it will be: of the agent of that alias, else the usual one; None where there are no agents."""
        if not self.memory.capabilities.agents:
            return None
        if agent in self.agents:
            return agent
        if DEFAULT_AGENT in self.agents or not self.agents:
            return DEFAULT_AGENT
        return next(iter(self.agents)) if len(self.agents) == 1 else agent

    def owner_or_refuse(self, agent: str | None) -> str | None:
        """The same; raises Refused where several agents leave a choice."""
        owner = self.owner(agent)
        if owner is None and self.memory.capabilities.agents:
            raise Refused(
                f"This store belongs to the agents {one_line(', '.join(sorted(self.agents)))}, and the file does not"
                " say whose its memories are.",
                hint="Give each memory of the file an agent.",
            )
        return owner

    def lacks(self, name: str) -> bool:
        """Whether the store is known to have no such column."""
        return self.columns is not None and name not in self.columns


@dataclass(slots=True)
class Losses:
    """Counts what cannot be taken, for notes."""

    target: Target
    columns: Counter[str] = field(default_factory=Counter)
    agents: Counter[str] = field(default_factory=Counter)
    vectors: int = 0
    undated: int = 0
    _MOST = 200

    def look(self, row: StoredRow, header: Header | None) -> None:
        """Count what of one memory is lost."""
        for name, value in row.values.items():
            if value is None or name in _NEVER or name == "embedding_dimensions":
                continue
            if self.target.lacks(name) and value not in _MEANS_NOTHING.get(name, ()):
                self._count(self.columns, name)
        vector = row.values.get("embedding")
        if vector is not None and not self.target.lacks("embedding"):
            self.vectors += not self.target.vectors.takes(vector, header)
        written = row.values.get("created_at")
        if written is not None and not (isinstance(written, str) and moment(written) is not None):
            self.undated += 1
        if row.agent is not None and row.agent not in self.target.agents and row.agent != self.target.owner(None):
            self._count(self.agents, row.agent)

    def notes(self) -> Iterator[str]:
        """A sentence for each kind of loss."""
        if self.columns:
            yield f"This store has no column for {told_names(self.columns)}: what stands there is left out."
        if self.agents:
            count, owner = sum(self.agents.values()), self.target.owner(None)
            if not self.target.memory.capabilities.agents:
                yield f"This store does not keep agents apart ({told_names(self.agents)})."
            elif owner is None:
                yield f"Agents this store does not know are added: {told_names(self.agents)}."
            else:
                whose = f"the agent {one_line(owner)} gets what is theirs ({count:,})"
                yield f"This store does not know the agents {told_names(self.agents)}: {whose}."
        if self.vectors:
            yield (
                "Vectors of another model or length than this store's are left out "
                f"({self.vectors:,}); `zeroclaw memory reindex` makes them anew."
            )
        if self.undated:
            yield f"Times that ZeroClaw cannot read are kept as they are ({self.undated:,})."

    def _count(self, counter: Counter[str], name: str) -> None:
        if name in counter or len(counter) < self._MOST:
            counter[name] += 1


@dataclass(frozen=True, slots=True)
class Fitting:
    """Makes of a memory of a file the row the store shall have; `now` is RFC 3339, for those without times."""

    target: Target
    header: Header | None
    now: str

    def row(self, row: StoredRow, known: Known, on_clash: str) -> StoredRow:
        """The wanted row. One without an id takes the place of the store's of its key, or gets an id of its own."""
        values = {name: value for name, value in row.values.items() if name not in _NEVER and self._has(name)}
        over = known.there if known.what == TAKEN and on_clash == "overwrite" and not row.id else None
        if over is not None:
            self._put_over(values, over)
        else:
            self._complete(values)
        wanted = over[0] if over is not None else self._id(row, known, on_clash)
        if wanted != row.id or "id" not in values:
            values = {**values, "id": wanted}
        if not self.target.lacks("embedding"):
            vector = row.values.get("embedding")
            values["embedding"] = vector if self.target.vectors.takes(vector, self.header) else None
        owner = self.target.owner(row.agent)
        return StoredRow(wanted, values, row.handle, owner if owner is not None else row.agent)

    def _has(self, name: str) -> bool:
        if name == "embedding_dimensions":
            return self.target.columns is not None and name in self.target.columns
        return not self.target.lacks(name)

    def _complete(self, values: dict[str, Value]) -> None:
        if values.get("category") in (None, ""):
            values["category"] = _CATEGORY
        if values.get("created_at") is None:
            values["created_at"] = self.now
        if values.get("updated_at") is None:
            values["updated_at"] = values["created_at"]

    def _put_over(self, values: dict[str, Value], over: tuple[str, Value, Value]) -> None:
        """What the file does not say stays as the store has it; only the time of the last store is new."""
        if values.get("category") in (None, ""):
            values.pop("category", None)
        if values.get("created_at") is None:
            values["created_at"] = over[1]
        if values.get("updated_at") is None:
            values["updated_at"] = self.now

    def _id(self, row: StoredRow, known: Known, on_clash: str) -> str:
        if not row.id:
            return id_made(row, self.target.memory.location)
        if known.what == TAKEN and on_clash == "rename":
            return id_beside(row) if known.id_is_taken else row.id
        return row.id


def told_names(names: Collection[str]) -> str:
    """The first few names, cleaned, and how many more."""
    ordered = [cut(one_line(name), _NAME_CELLS) for name in names]
    more = f" and {len(ordered) - _NAMES_TOLD:,} more" if len(ordered) > _NAMES_TOLD else ""
    return ", ".join(ordered[:_NAMES_TOLD]) + more
