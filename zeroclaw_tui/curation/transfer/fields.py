"""What a store keeps of a memory that comes from elsewhere."""

from __future__ import annotations

import asyncio
import dataclasses
import struct
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.config.locations import CORE_NAME
from zeroclaw_tui.config.memory_config import MemoryConfig, agent_folders
from zeroclaw_tui.curation.formats.jsonl import Identity
from zeroclaw_tui.curation.library import without_agents
from zeroclaw_tui.curation.transfer.note_lines import line_of, read_line
from zeroclaw_tui.memory.change import Row, Value
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import MemoryEntry, uuid_for
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.query import EVERYTHING
from zeroclaw_tui.memory.text import is_unicode, one_line

DEFAULT_AGENT = "default"
CORE, DAILY = "core", "daily"
CARRIED = {
    "session_id": "sessions",
    "namespace": "namespaces",
    "importance": "importance",
    "pinned": "pinned",
    "superseded_by": "superseded",
    "kind": "kind",
}
"""The fields that a store may lack, each with its name in `why_not`."""
TIMES = ("created_at", "updated_at")
VECTOR = "embedding"
ALWAYS = ("key", "content", "category")
KNOWN = frozenset({"id", *ALWAYS, *CARRIED, *TIMES, VECTOR, "agent_id"})
"""The names of ZeroClaw's columns; others are columns of other programs."""

_BYTES_EACH = 4
_UNKNOWN_CHARACTER = "\ufffd"
_CORE_STEM = Path(CORE_NAME).stem
_UNDATED_STEM = "undated"
"""The file in memory/ for what has no day."""
_NOTE_COLUMNS = frozenset(ALWAYS)


@dataclass(frozen=True, slots=True)
class KnownVectors:
    """What a store says of its vectors: `identity` as ZeroClaw >= 0.8.3 notes it, `dimensions` those of most."""

    identity: Identity | None = None
    dimensions: int | None = None

    def fits(self, vector: Value, source: Identity | None) -> bool:
        """Whether a vector made by `source` fits among them, as far as both sides say what made theirs."""
        if not isinstance(vector, bytes) or not vector or len(vector) % _BYTES_EACH:
            return False
        if self.dimensions is not None and len(vector) != _BYTES_EACH * self.dimensions:
            return False
        return source is None or self.identity is None or source == self.identity


async def identity_of(memory: Memory) -> Identity | None:
    """Return what made a store's vectors; None where it does not say."""
    return known_vectors((await memory.health()).facts).identity if "vectors" not in memory.why_not else None


def known_vectors(facts: Mapping[str, Any]) -> KnownVectors:
    """Read what a store says of its vectors from the facts of its health."""
    noted: Mapping[str, Any] = facts.get("embedding identity") or {}
    parts = [noted.get(f"embedding_{name}") for name in ("provider", "model", "dimensions")]
    identity = None
    if all(isinstance(part, str) for part in parts) and str(parts[2]).isdecimal():
        identity = Identity(str(parts[0]), str(parts[1]), int(str(parts[2])))
    lengths: Mapping[str, int] = facts.get("embedded by dimensions") or {}
    most = max(lengths, key=lambda length: lengths[length], default=None)
    if identity is not None:
        return KnownVectors(identity, identity.dimensions)
    return KnownVectors(None, None if most is None else int(most))


@dataclass(frozen=True, slots=True)
class SourceInfo:
    """Where memories come from: a store (None: a file), its columns, and what made its vectors."""

    memory: Memory | None = None
    columns: frozenset[str] | None = None
    vectors: KnownVectors = field(default_factory=KnownVectors)
    is_foreign: bool = False
    """Whether it is a file of another tool."""
    compares_times: bool = True
    """Whether a memory with other times is another one: times of notes and of other tools are often those of files."""
    owner: str | None = None
    """The agent that all memories shall belong to, whatever the source says."""

    @classmethod
    async def of_store(cls, memory: Memory) -> SourceInfo:
        """Read what a store says of itself."""
        if memory.keeps_lines:
            return cls(memory, _NOTE_COLUMNS, compares_times=False)
        facts = (await memory.health()).facts if "vectors" not in memory.why_not else {}
        return cls(memory, await columns_of_store(memory), known_vectors(facts))

    @property
    def is_file(self) -> bool:
        """Whether it is a file, or a folder of files, and no store."""
        return self.memory is None

    @property
    def is_notes(self) -> bool:
        """Whether it is a store of lines, which have neither ids nor times of their own."""
        return self.memory is not None and self.memory.keeps_lines

    def is_line(self, row: Row) -> bool:
        """Whether a row is a line of notes, with its place as its handle: "<file stem>:<number>"."""
        return self.is_notes or (self.memory is None and isinstance(row.handle, str))

    def read(self, row: Row) -> Row:
        """Return the memory that a row of it means."""
        return read_line(row) if self.is_notes else row


class TargetFields(ABC):
    """What one store keeps of the memories of one source."""

    memory: Memory
    source: SourceInfo

    @abstractmethod
    def fitted(self, row: Row) -> Row:
        """Return a memory as the store shall have it."""

    def refusal(self, row: Row) -> str | None:
        """Return why the store cannot take a memory at all, without a full stop; None where it can."""
        return None


@dataclass(frozen=True)
class RowFields(TargetFields):
    """A store of rows. `columns` is None where it has none to tell; `agents` are the aliases it knows."""

    memory: Memory
    source: SourceInfo
    columns: frozenset[str] | None
    agents: frozenset[str]
    vectors: KnownVectors
    now: str

    @cached_property
    def keeps_rows(self) -> bool:
        """Whether ids and times are kept; the trait's own verbs do not keep them."""
        return self.memory.keeps_rows

    @cached_property
    def has_agents(self) -> bool:
        """Whether memories belong to agents there."""
        return "agents" not in self.memory.why_not

    @cached_property
    def has_vectors(self) -> bool:
        """Whether vectors can be kept."""
        has_column = not self.columns or VECTOR in self.columns
        return has_column and "vectors" not in self.memory.why_not

    @cached_property
    def _kept_names(self) -> dict[tuple[str, ...], tuple[str, ...]]:
        """Of the names that a row has, those that are kept; most rows of a source have the same."""
        return {}

    def keeps(self, name: str) -> bool:
        """Whether a field of a row is kept."""
        if name in ALWAYS:
            return True
        if name in TIMES:
            return self.keeps_rows and (name == "created_at" or self._has_updates)
        if name in CARRIED:
            return CARRIED[name] not in self.memory.why_not
        if name == VECTOR:
            return self.has_vectors
        return name not in KNOWN and self._keeps_other(name)

    def _keeps_other(self, name: str) -> bool:
        """Whether a column of another program is kept. A store without columns takes those of its own kind."""
        if self.columns is not None:
            return name in self.columns
        if self.source.is_file:
            return self.keeps_rows
        return type(self.source.memory) is type(self.memory) and name in (self.source.columns or ())

    @cached_property
    def _has_updates(self) -> bool:
        """Whether a row has the time of its last change too."""
        return self.memory.keeps_updates and (self.columns is None or "updated_at" in self.columns)

    def takes_vector(self, vector: Value) -> bool:
        """Whether a vector fits among those of the store; one that embeds key and content makes its own."""
        if self.memory.about.embeds_itself and type(self.source.memory) is not type(self.memory):
            return False
        return self.has_vectors and self.vectors.fits(vector, self.source.vectors.identity)

    def owner(self, agent: str | None) -> str | None:
        """Return whose memory it will be; None where there are no agents, or a file leaves a choice of several.

        It is the agent that was named for all. Otherwise a copied store brings its agents along, and a file's memories
        go to an agent that exists.
        """
        if not self.has_agents or self.source.owner is not None:
            return self.source.owner
        return self._usual_owner(agent)

    def _usual_owner(self, agent: str | None) -> str | None:
        if agent is not None and (agent in self.agents or not self.source.is_file):
            return agent
        if DEFAULT_AGENT in self.agents or not self.agents:
            return DEFAULT_AGENT
        if len(self.agents) == 1:
            return next(iter(self.agents))
        return agent if self.source.is_file else DEFAULT_AGENT

    def identity(self, row: Row) -> tuple[str | None, str]:
        """Return what makes a row of the store, or a fitted one, the memory it is: its agent and its key."""
        return (self._usual_owner(row.agent) if self.has_agents else None), row.key

    def text(self, value: Value) -> Value:
        """Return a text as the store can have it."""
        if value is None:
            return value
        text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
        if not isinstance(text, str):
            return text
        if self.memory.keeps_texts or not self.keeps_rows:
            return text
        if not is_unicode(text):
            text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        return text if self.memory.keeps_nul else text.replace("\0", _UNKNOWN_CHARACTER)

    def fitted(self, row: Row) -> Row:
        """Return a memory as the store shall have it, with its own id where it has one.

        Raises Refused for a memory of a file that does not say which of several agents it belongs to.
        """
        names = tuple(row.values)
        kept = self._kept_names.get(names)
        if kept is None:
            kept = self._kept_names[names] = tuple(name for name in names if name != VECTOR and self.keeps(name))
        values = {name: row.values[name] for name in kept}
        if not self.memory.keeps_bytes:
            values = {name: self.text(value) for name, value in values.items()}
        for name in ALWAYS:
            values.setdefault(name, "")
        if not values["category"]:
            values["category"] = CORE
        if self.keeps_rows:
            self._fit_times(values)
        if values.get("pinned", 0) is None:
            del values["pinned"]
        owner = self.owner(row.agent)
        if owner is None and self.has_agents:
            raise Refused(
                f"This store belongs to the agents {one_line(', '.join(sorted(self.agents)))}, and the file does not"
                " name the agent of its memories.",
                hint="Give each memory of the file an agent, or name one agent for all with --agent.",
            )
        if row.id and self.source.owner not in (None, row.agent):
            # The original may be in the store too, as another agent's memory.
            values |= {name: _id_for(owner, values[name]) for name in ("superseded_by",) if values.get(name)}
            wanted = _id_for(owner, row.id)
        else:
            wanted = row.id or self.new_id(row.key, row.values.get("content"), owner)
        wanted = uuid_for(wanted) if self.memory.ids_are_uuids else wanted
        vector = row.values.get(VECTOR)
        if self.has_vectors:
            values[VECTOR] = vector if self.takes_vector(vector) else None
        handle = row.handle if self.source.is_file and isinstance(row.handle, int) else None
        return Row(wanted, {"id": wanted, **values}, handle, owner)

    def new_id(self, key: str, content: Value, owner: str | None) -> str:
        """Make the id of a memory that has none: always the same in one store."""
        place = self.memory.about.location
        made = str(uuid.uuid5(uuid.NAMESPACE_OID, f"zeroclaw-tui import {place!r} {owner!r} {key!r} {content!r}"))
        return uuid_for(made) if self.memory.ids_are_uuids else made

    def _fit_times(self, values: dict[str, Value]) -> None:
        if values.get("created_at") is None:
            values["created_at"] = self.now
        if self._has_updates and values.get("updated_at") is None:
            values["updated_at"] = values["created_at"]
        if not self.memory.keeps_texts:
            for name in values.keys() & set(TIMES):
                values[name] = _to_microseconds(values[name]) or self.now

    def same(self, row: Row, fitted: Row, existing: Row, *, with_vector: bool = False) -> bool:
        """Whether the store's memory has all that a memory of the source states; ids are not compared."""
        present = existing.values if self.memory.keeps_bytes else _values_of(existing.entry(), existing)
        for name in self._stated(row):
            if name not in fitted.values:
                continue
            one, other = fitted.values[name], present.get(name)
            if one != other and self._comparable(name, one) != self._comparable(name, other):
                return False
        vector = fitted.values.get(VECTOR)
        is_compared = with_vector and vector is not None and not self.memory.about.embeds_itself
        return not is_compared or existing.values.get(VECTOR) == vector

    def replacing(self, row: Row, fitted: Row, existing: Row) -> Row:
        """Return the store's memory with all that a memory of the source states.

        The id stays, and the time of creation if the source is another tool's; a vector of other content goes.
        """
        present = existing.values if self.memory.keeps_bytes else _values_of(existing.entry(), existing)
        stated = {name: fitted.values[name] for name in self._stated(row) if name in fitted.values}
        values: dict[str, Value] = {**present, **stated}
        if "updated_at" in fitted.values and "updated_at" not in stated:
            values["updated_at"] = self.now
        if fitted.values.get(VECTOR) is not None:
            values[VECTOR] = fitted.values[VECTOR]
        elif VECTOR in existing.values:
            is_same_text = values.get("content") == present.get("content")
            values[VECTOR] = existing.values[VECTOR] if is_same_text else None
        return Row(existing.id, {**values, "id": existing.id}, existing.handle, fitted.agent)

    def _stated(self, row: Row) -> list[str]:
        """The fields that a memory of the source states."""
        has_times = self.source.compares_times
        return [
            name
            for name, value in row.values.items()
            if name not in ("id", VECTOR, "agent_id")
            and (name != "category" or value)
            and (name not in TIMES or (value and has_times))
        ]

    def _comparable(self, name: str, value: Value) -> Value:
        """Return what is equal for values that the store does not tell apart."""
        match name:
            case "namespace":
                value = value or "default"
            case "pinned":
                value = int(bool(value)) if isinstance(value, int | None) else value
            case "importance" if isinstance(value, float) and not self.memory.keeps_bytes:
                # A column of reals may have four bytes for each.
                value = struct.unpack("<f", struct.pack("<f", value))[0]
            case "created_at" | "updated_at" if not self.memory.keeps_texts:
                value = _to_microseconds(value)
            case "session_id" if not self.memory.keeps_bytes:
                value = value or None
        return value

    def refusal(self, row: Row) -> str | None:
        """A store that embeds everything itself, but has nothing to embed with, takes only memories with vectors."""
        can_embed = not self.memory.about.embeds_itself or "vectors" not in self.memory.why_not
        if can_embed or self.takes_vector(row.values.get(VECTOR)):
            return None
        return self.memory.why_not["vectors"].removesuffix(".")


@dataclass(frozen=True, slots=True)
class NoteFields(TargetFields):
    """A store of lines. `agents` are the aliases whose folders it has; `only` is the stem of its one file."""

    memory: Memory
    source: SourceInfo
    agents: frozenset[str]
    only: str | None = None

    @classmethod
    def of(cls, memory: Memory, source: SourceInfo, config: MemoryConfig) -> NoteFields:
        """Read which folders there are; it blocks. Raises Refused for an owner without one."""
        place = Path(memory.about.location)
        agents = frozenset(agent_folders(config))
        if source.owner is not None and source.owner not in agents:
            raise Refused(f"Agent {one_line(source.owner)!r} has no notes here.", hint="Name an agent that has notes.")
        return cls(memory, source, agents, place.stem if place.is_file() else None)

    def owner(self, agent: str | None) -> str | None:
        """Return whose folder a memory goes to; None is the common one."""
        return self.source.owner or (agent if agent in self.agents else None)

    def fitted(self, row: Row) -> Row:
        """Return a memory as a line, with the stem of the file it goes to in `created_at`."""
        entry, stem = row.entry(), self._stem(row)
        has_no_key = self.source.is_line(row) and row.handle == entry.key
        values: dict[str, Value] = {
            "key": entry.key,
            "content": line_of(None if has_no_key else entry.key, entry.content),
            "category": CORE if stem == _CORE_STEM else DAILY,
            "created_at": stem,
        }
        return Row("", values, None, self.owner(row.agent))

    def _stem(self, row: Row) -> str:
        """Core memories and those without a category go to MEMORY.md, the others to the file of their day."""
        if self.only is not None:
            return self.only
        if self.source.is_line(row):
            return str(row.handle).rpartition(":")[0]
        entry = row.entry()
        if entry.category in ("", CORE):
            return _CORE_STEM
        written = moment(entry.timestamp)
        return _UNDATED_STEM if written is None else written.astimezone().date().isoformat()


async def fields_of(
    source: SourceInfo, memory: Memory, config: MemoryConfig, now: datetime, *, exists: bool
) -> RowFields | NoteFields:
    """Read what a store keeps. Raises Refused for an owner that it cannot have."""
    has_agents = "agents" not in memory.why_not
    if source.owner is not None and not has_agents:
        raise without_agents(memory)
    if memory.keeps_lines:
        return await asyncio.to_thread(NoteFields.of, memory, source, config)
    facts = (await memory.health()).facts if exists and (has_agents or "vectors" not in memory.why_not) else {}
    agents = frozenset(facts.get("agents") or ()) if has_agents else frozenset[str]()
    columns = await columns_of_store(memory) if exists or memory.about.path or memory.columns else None
    return RowFields(memory, source, columns, agents, known_vectors(facts), now.isoformat())


class _FirstRow(Exception):
    """Ends a scan after its first row."""


async def columns_of_store(memory: Memory) -> frozenset[str] | None:
    """Return the columns of a store's table, else of its first row; None where it has none."""
    if memory.columns is not None:
        return memory.columns
    columns: list[frozenset[str]] = []

    def first(row: Row) -> None:
        columns.append(frozenset(row.values))
        raise _FirstRow

    with suppress(_FirstRow):
        await memory.scan(first, EVERYTHING)
    return columns[0] if columns else None


def with_key(row: Row, key: str, new_id: str) -> Row:
    """Return a row under another key and id."""
    return dataclasses.replace(row, id=new_id, handle=None, values={**row.values, "id": new_id, "key": key})


def _id_for(owner: str | None, other: Value) -> str:
    """Make the id that one agent's copy of a memory has, from the id of the original."""
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"zeroclaw-tui import for {owner!r} {other!r}"))


def _values_of(entry: MemoryEntry, row: Row) -> Mapping[str, Value]:
    """The values of a row by the names of ZeroClaw's columns."""
    more = {name: value for name, value in row.values.items() if name not in KNOWN}
    named: dict[str, Value] = {
        "key": entry.key, "content": entry.content, "category": entry.category, "created_at": entry.timestamp,
        "updated_at": entry.updated_at or entry.timestamp, "session_id": entry.session_id,
        "namespace": entry.namespace, "importance": entry.importance, "superseded_by": entry.superseded_by,
        "pinned": entry.pinned, "kind": entry.kind,
    }  # fmt: skip
    return {**more, **named}


def _to_microseconds(value: Value) -> str | None:
    """Return a moment in UTC with six digits of fraction; None for what is no moment."""
    parsed = moment(value) if isinstance(value, str) else None
    return None if parsed is None else parsed.astimezone(UTC).isoformat(timespec="microseconds")
