"""What a database keeps of the memories of a snapshot, and which of them it has already.

ZeroClaw's own format loses blanks, lines and whole memories: what went through it is compared with what ZeroClaw would
read of the store's memories, had it written them.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field, replace

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.clock import local_now
from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.backends.session_ids import sanitised
from zeroclaw_tui.config.memory_config import EmbeddingConfig
from zeroclaw_tui.curation.formats.jsonl import Header, Identity
from zeroclaw_tui.curation.snapshot.text import what_is_read
from zeroclaw_tui.curation.transfer.fit import DEFAULT_AGENT, Fit, KnownVectors, Origin, Sought, comparable, digest
from zeroclaw_tui.memory.change import StoredRow, Value
from zeroclaw_tui.memory.entry import column_text
from zeroclaw_tui.memory.text import one_line
from zeroclaw_tui.scoring.generations import COLUMNS, USUAL

_RFC_3339 = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?([+-]\d\d:\d\d|Z)")
_NOT_FITTING = "Vectors that do not fit this store's are left out; `zeroclaw memory reindex` makes new ones."
_TEXTS_SAID, _OWNER_SAID = 0b011, 0b100


@dataclass(slots=True)
class SnapshotFit(Fit):
    """A database as the memories of a snapshot come into it. `aliases` are its agents, `agent` who owns what names none
    of them. `exactly` is False for what went through ZeroClaw's format; `keys` are those of the snapshot.

    `notes` gathers sentences about what rows lost on the way.
    """

    memory: Memory
    columns: frozenset[str]
    aliases: frozenset[str] = frozenset()
    agent: str | None = None
    is_agent_given: bool = False
    takes: Callable[[Value], bool] = lambda vector: isinstance(vector, bytes)
    exactly: bool = True
    keys: Collection[str] = ()
    origin: Origin = field(default_factory=Origin)
    notes: dict[str, None] = field(default_factory=dict)
    has_keys = True
    renews_ids = True

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
            self.note(f"Memories of the agent {one_line(row.agent)} go to {one_line(self.agent or 'the usual one')}.")
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
            self.note(_NOT_FITTING)
        if values.get("pinned") is None:
            values.pop("pinned", None)
        kept = {name: value for name, value in values.items() if name in self.columns}
        for name, value in values.items():
            if name not in kept and value is not None and value != USUAL.get(name):
                self.note(f"What stood in {one_line(name)} is left out: this database has no such column.")
        kept["id"] = row.id or str(uuid.uuid4())
        return StoredRow(str(kept["id"]), kept, None, self.owner_of(row))

    def place(self, row: StoredRow, key: str | None = None) -> bytes:
        """Its key, and its agent where there are agents."""
        return digest((comparable(row.values.get("key") if key is None else key), comparable(row.agent)))

    def state(self, row: StoredRow) -> bytes:
        """Over key and content: all else a snapshot may have lost."""
        return digest((comparable(row.key),)) + digest((comparable(_content(row)),))

    def said(self, row: StoredRow) -> int:
        """Key and content, and whose it is where the snapshot or the person who brings it says so."""
        is_owned = self.has_agents and (self.is_agent_given or row.agent is not None)
        return _TEXTS_SAID | _OWNER_SAID * is_owned

    def marks(self, row: StoredRow) -> Collection[bytes]:
        """What ZeroClaw would read of a memory of the store, as its own agent's and as anybody's."""
        if self._goes_by_place or row.key not in self.keys:
            return ()
        key, read = row.key, () if self.exactly else what_is_read(row.entry())
        contents = {_content(row), *(content for name, content in read if name == key)}
        found = {_mark("part", *part) for part in read}
        for owner in {None, row.agent}:
            found.add(_mark("key", key, owner))
            found |= {_mark("same", key, content, owner) for content in contents}
        return found

    def sought(self, row: StoredRow, said: int) -> Sought | None:
        """What any agent has is there, unless it is said whose a memory is. Lines of another memory that look like this
        one are it where nothing else has its key."""
        if self._goes_by_place:
            return None
        key, content, owner = row.key, _content(row), row.agent if said & _OWNER_SAID else None
        return Sought([_mark("same", key, content, owner)], _mark("key", key, owner), _mark("part", key, content))

    @property
    def _goes_by_place(self) -> bool:
        """Whether a key has one owner, and its content is as it was written."""
        return self.exactly and not self.has_agents

    def note(self, sentence: str) -> None:
        """Remember a sentence, once."""
        self.notes[sentence] = None


def generation_fit(memory: Memory, generation: str, rows: Iterable[StoredRow], agent: str | None) -> SnapshotFit:
    """A database of this generation that has yet to be made, with the agents these rows name."""
    aliases = {DEFAULT_AGENT, *(row.agent for row in rows if row.agent)} if agent is None else {agent}
    columns = frozenset(COLUMNS[generation])
    return SnapshotFit(memory, columns, frozenset(aliases), agent or DEFAULT_AGENT, agent is not None)


def fitting_vectors(
    header: Header | None, embedding: EmbeddingConfig, known: KnownVectors | None = None
) -> Callable[[Value], bool]:
    """Tells of a vector of the file whether it fits among a store's and comes from the model that is configured."""
    there = known or KnownVectors()
    ours = Identity(embedding.provider, embedding.model, embedding.dimensions) if embedding.is_on else None
    made_by = header.embedding if header is not None else None

    def takes(vector: Value) -> bool:
        if not isinstance(vector, bytes) or not there.fits(vector, made_by):
            return False
        return ours is None or (made_by == ours if made_by is not None else len(vector) == 4 * ours.dimensions)

    return takes


def with_new_id(row: StoredRow) -> StoredRow:
    """The same row under an id of its own."""
    fresh = str(uuid.uuid4())
    return replace(row, id=fresh, values={**row.values, "id": fresh})


def _content(row: StoredRow) -> str:
    return column_text(row.values.get("content"))


def _mark(kind: str, *texts: str | None) -> bytes:
    return digest((kind.encode(), *map(comparable, texts)))


def _date_or(value: Value, otherwise: Value) -> Value:
    if isinstance(value, str) and _RFC_3339.fullmatch(value) and moment(value) is not None:
        return f"{value[:-1]}+00:00" if value.endswith("Z") else value
    return otherwise
