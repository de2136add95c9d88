"""Rows of a file as a database takes them: its columns, its agents, the vectors of its model."""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace

from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.backends.session_ids import sanitised
from zeroclaw_tui.backends.sqlite.clock import local_now
from zeroclaw_tui.backends.sqlite.write import USUAL
from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.curation.transfer.identity import KnownVectors
from zeroclaw_tui.curation.transfer.jsonl import Header, Identity
from zeroclaw_tui.memory.change import StoredRow, Value
from zeroclaw_tui.memory.text import one_line

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d:\d\d|Z)")
_NOT_FITTING = "Vectors that do not fit this store's are left out; `zeroclaw memory reindex` makes new ones."


@dataclass(slots=True)
class Target:
    """The database rows are made fit for. `aliases` are its agents, `agent` who owns what names none of them.

    `notes` gathers sentences about what rows lost on the way.
    """

    columns: frozenset[str]
    aliases: frozenset[str] = frozenset()
    agent: str | None = None
    is_agent_given: bool = False
    takes: Callable[[Value], bool] = lambda vector: isinstance(vector, bytes)
    notes: dict[str, None] = field(default_factory=dict)

    @property
    def has_agents(self) -> bool:
        """Whether memories have owners there."""
        return "agent_id" in self.columns

    def owner_of(self, row: StoredRow) -> str | None:
        """The alias of who owns a row there; None where memories have no owners."""
        if not self.has_agents:
            return None
        if self.is_agent_given or row.agent is None:
            return self.agent
        if row.agent not in self.aliases:
            self._note(f"Memories of the agent {one_line(row.agent)} go to {one_line(self.agent or 'the usual one')}.")
            return self.agent
        return row.agent

    def fitted(self, row: StoredRow) -> StoredRow:
        """The row with what the database has columns for, with an id and dates ZeroClaw could have written."""
        now = local_now()
        values: dict[str, Value] = {name: value for name, value in row.values.items() if name != "agent_id"}
        values["category"] = values.get("category") or "core"
        values["created_at"] = _date_or(values.get("created_at"), _date_or(values.get("updated_at"), now))
        values["updated_at"] = _date_or(values.get("updated_at"), now)
        session = values.get("session_id")
        if self.has_agents and isinstance(session, str):
            values["session_id"] = sanitised(session)
        if values.get("embedding") is not None and not self.takes(values["embedding"]):
            values["embedding"] = None
            self._note(_NOT_FITTING)
        if values.get("pinned") is None:
            values.pop("pinned", None)
        kept = {name: value for name, value in values.items() if name in self.columns}
        self._tell_lost(values, kept)
        kept["id"] = row.id or str(uuid.uuid4())
        return StoredRow(str(kept["id"]), kept, None, self.owner_of(row))

    def _tell_lost(self, values: dict[str, Value], kept: dict[str, Value]) -> None:
        for name, value in values.items():
            if name not in kept and value is not None and value != USUAL.get(name):
                self._note(f"What stood in {one_line(name)} is left out: this database has no such column.")

    def _note(self, sentence: str) -> None:
        self.notes[sentence] = None


def with_new_id(row: StoredRow) -> StoredRow:
    """The same row under an id of its own."""
    fresh = str(uuid.uuid4())
    return replace(row, id=fresh, values={**row.values, "id": fresh})


def first_of_each_key(rows: Iterable[StoredRow], target: Target) -> list[StoredRow]:
    """Rows made fit, of several with one key and owner the first."""
    found: dict[tuple[str | None, Value], StoredRow] = {}
    for row in map(target.fitted, rows):
        owned = (row.agent if target.has_agents else None, row.values["key"])
        if owned in found:
            target.notes["Of memories with the same key the first is taken."] = None
        else:
            found[owned] = row
    return list(found.values())


def fitting_vectors(
    header: Header | None, embedding: EmbeddingConfig, known: KnownVectors | None = None
) -> Callable[[Value], bool]:
    """Tells of a vector of the file whether it fits among a store's and comes from the model that is configured."""
    there = known or KnownVectors()
    ours = Identity(embedding.provider, embedding.model, embedding.dimensions) if embedding.is_on else None
    made_by = header.embedding if header is not None else None

    def takes(vector: Value) -> bool:
        if not isinstance(vector, bytes) or not there.takes(vector, header):
            return False
        return ours is None or (made_by == ours if made_by is not None else len(vector) == 4 * ours.dimensions)

    return takes


def _date_or(value: Value, otherwise: Value) -> Value:
    if isinstance(value, str) and _RFC_3339.fullmatch(value) and moment(value) is not None:
        return f"{value[:-1]}+00:00" if value.endswith("Z") else value
    return otherwise
