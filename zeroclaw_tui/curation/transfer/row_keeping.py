"""What a store of rows keeps of the memories of another store."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC
from functools import cached_property

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.listing import moment
from zeroclaw_tui.curation.transfer.comparing import comparable, id_made
from zeroclaw_tui.curation.transfer.fitting import DEFAULT_AGENT
from zeroclaw_tui.curation.transfer.identity import KnownVectors
from zeroclaw_tui.curation.transfer.keeping import Keeping, Origin
from zeroclaw_tui.memory.change import StoredRow, Value
from zeroclaw_tui.memory.entry import MemoryEntry, uuid_for
from zeroclaw_tui.memory.text import is_unicode

CARRIED = {
    "session_id": "sessions",
    "namespace": "namespaces",
    "importance": "importance",
    "pinned": "pinned",
    "superseded_by": "superseded",
    "kind": "kind",
}
"""The fields a store may lack, each with its capability."""
TIMES = ("created_at", "updated_at")
VECTOR = "embedding"
_ALWAYS = ("key", "content", "category")
KNOWN = frozenset({"id", *_ALWAYS, *CARRIED, *TIMES, VECTOR, "agent_id", "embedding_dimensions"})
"""The names of which something is known; others are columns of other programs."""
_UNKNOWN_CHARACTER = "�"


@dataclass(frozen=True)
class RowKeeping(Keeping):
    """A store of rows. `columns` is None where it has none to tell; `agents` are the aliases it knows."""

    memory: Memory
    origin: Origin
    columns: frozenset[str] | None
    agents: frozenset[str]
    vectors: KnownVectors
    now: str
    has_keys = True

    @cached_property
    def keeps_rows(self) -> bool:
        """Whether ids and times come through; through the trait's own verbs they do not."""
        return type(self.memory).revert is not Memory.revert

    @cached_property
    def has_agents(self) -> bool:
        """Whether memories belong to agents there."""
        return self.memory.capabilities.agents

    @cached_property
    def has_vectors(self) -> bool:
        """Whether vectors can be kept."""
        return self.memory.capabilities.vectors and (self.columns is None or VECTOR in self.columns or not self.columns)

    def keeps(self, name: str) -> bool:
        """Whether a field of a row is kept."""
        if name in _ALWAYS:
            return True
        if name in TIMES:
            return self.keeps_rows and (name == "created_at" or self._has_updates)
        if name in CARRIED:
            return bool(getattr(self.memory.capabilities, CARRIED[name]))
        if name == VECTOR:
            return self.has_vectors
        return name not in KNOWN and name in self._others

    @cached_property
    def _others(self) -> frozenset[str]:
        """The columns there; one without rows to tell is taken to have those of a source of its own kind."""
        if self.columns is None and type(self.origin.memory) is type(self.memory):
            return self.origin.columns or frozenset()
        return self.columns or frozenset()

    @property
    def _has_updates(self) -> bool:
        """Whether the time of the last store stands beside that of the first."""
        return self.memory.keeps_updates and (self.columns is None or "updated_at" in self.columns)

    def takes_vector(self, vector: Value) -> bool:
        """Whether a vector fits among those of the store; one that embeds key and content makes its own of others'."""
        if self.memory.embeds_itself and type(self.origin.memory) is not type(self.memory):
            return False
        return self.has_vectors and self.vectors.fits(vector, self.origin.vectors.identity)

    def owner(self, agent: str | None) -> str | None:
        """Whose memory it will be there; None where there are no agents."""
        if not self.has_agents:
            return None
        if agent is not None:
            return agent
        if DEFAULT_AGENT in self.agents or len(self.agents) != 1:
            return DEFAULT_AGENT
        return next(iter(self.agents))

    def text(self, value: Value) -> Value:
        """A text as the store can hold it."""
        if self.memory.keeps_bytes or value is None:
            return value
        text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value
        if not isinstance(text, str):
            return text
        if self.memory.keeps_texts or not self.keeps_rows:
            return text
        if not is_unicode(text):
            text = text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
        return text if self.memory.keeps_nul else text.replace("\0", _UNKNOWN_CHARACTER)

    def fitted(self, row: StoredRow) -> StoredRow:
        """With its own id where there is one, without what the store has no place for."""
        values = {name: self.text(value) for name, value in row.values.items() if self.keeps(name) and name != VECTOR}
        for name in _ALWAYS:
            values.setdefault(name, "")
        if not values["category"]:
            values["category"] = "core"
        if self.keeps_rows:
            self._fit_times(values)
        if values.get("pinned", 0) is None:
            del values["pinned"]
        owner = self.owner(row.agent)
        wanted = row.id or id_made(replace(row, agent=owner), self.memory.location)
        if self.memory.ids_are_uuids:
            wanted = uuid_for(wanted)
        vector = row.values.get(VECTOR)
        if self.has_vectors:
            values[VECTOR] = vector if self.takes_vector(vector) else None
        return StoredRow(wanted, {"id": wanted, **values}, None, owner)

    def _fit_times(self, values: dict[str, Value]) -> None:
        if values.get("created_at") is None:
            values["created_at"] = self.now
        if self._has_updates and values.get("updated_at") is None:
            values["updated_at"] = values["created_at"]
        if not self.memory.keeps_texts:
            for name in values.keys() & set(TIMES):
                values[name] = _to_microseconds(values[name]) or self.now

    def place(self, row: StoredRow, key: str | None = None) -> bytes:
        """Its key, and its agent where there are agents."""
        return _digest((comparable(row.values.get("key") if key is None else key), self._agent(row)))

    def state(self, row: StoredRow, *, but_key: bool = False) -> bytes:
        """Over every field both stores keep."""
        return _digest(self._compared(row, but_key))

    def _compared(self, row: StoredRow, but_key: bool) -> Iterable[bytes]:
        names = self._names
        values = row.values if self.memory.keeps_bytes else _values_of(row.entry(), row)
        for name in names[1:] if but_key else names:
            yield self._value(name, values)
        yield self._agent(row)

    @cached_property
    def _names(self) -> tuple[str, ...]:
        given = self.origin.columns or frozenset()
        compared = [name for name in CARRIED if name in given and self.keeps(name)]
        compared += [name for name in TIMES if name in given and self.keeps(name) and not self.origin.is_notes]
        return (*_ALWAYS, *compared, *sorted(name for name in given - KNOWN if self.keeps(name)))

    def _value(self, name: str, values: Mapping[str, Value]) -> bytes:
        value = values.get(name)
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
        return comparable(value)

    def _agent(self, row: StoredRow) -> bytes:
        return comparable(self.owner(row.agent) if self.has_agents else None)

    def whole(self, row: StoredRow, state: bytes) -> bytes:
        """With its id, and its vector to the byte."""
        parts = [state]
        if self.keeps_rows:
            parts.append(comparable(row.id))
        if self.keeps_rows and self.has_vectors and not self.memory.embeds_itself:
            parts.append(comparable(row.values.get(VECTOR)))
        return _digest(parts)

    def refuses(self, row: StoredRow) -> str | None:
        """A store that keeps nothing without a vector of its own, and has nothing to make one with."""
        makes_them = not self.memory.embeds_itself or self.memory.capabilities.vectors
        if makes_them or self.takes_vector(row.values.get(VECTOR)):
            return None
        return self.memory.capabilities.why_not.get("vectors", "It keeps nothing without a vector.").removesuffix(".")


def _values_of(entry: MemoryEntry, row: StoredRow) -> Mapping[str, Value]:
    more = {name: value for name, value in row.values.items() if name not in KNOWN}
    named: dict[str, Value] = {
        "key": entry.key, "content": entry.content, "category": entry.category, "created_at": entry.timestamp,
        "updated_at": entry.updated_at or entry.timestamp, "session_id": entry.session_id,
        "namespace": entry.namespace, "importance": entry.importance, "superseded_by": entry.superseded_by,
        "pinned": entry.pinned, "kind": entry.kind,
    }  # fmt: skip
    return {**more, **named}


def _to_microseconds(value: Value) -> str | None:
    """A moment in UTC with six digits of fraction; None for what is no moment."""
    parsed = moment(value) if isinstance(value, str) else None
    return None if parsed is None else parsed.astimezone(UTC).isoformat(timespec="microseconds")


def _digest(parts: Iterable[bytes]) -> bytes:
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return digest.digest()
