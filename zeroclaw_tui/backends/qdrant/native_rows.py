"""Rows of any store as this collection would hold them."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from zeroclaw_tui.backends.clock import utc_now
from zeroclaw_tui.backends.qdrant.capabilities import NO_EMBEDDER
from zeroclaw_tui.backends.qdrant.collection import Collection
from zeroclaw_tui.backends.qdrant.points import ABSENT, DEFAULT_AGENT, FIELDS, OTHERS, point_id
from zeroclaw_tui.backends.sqlite.changes import sanitised
from zeroclaw_tui.memory.change import Draft, StoredRow, Value
from zeroclaw_tui.memory.entry import uuid_for
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.text import is_unicode, one_line

_CARRIED = {
    "namespace": "namespace",
    "importance": "importance",
    "pinned": "pinned",
    "superseded_by": "superseded",
    "kind": "kind",
}
"""What other stores hold and this one does not, with the capability that has a sentence for it."""
_USUAL: Mapping[str, tuple[Value, ...]] = {"namespace": ("default",), "importance": (0.5,), "pinned": (0, False)}
_KNOWN = frozenset({"id", *FIELDS, OTHERS, ABSENT, "embedding"})


@dataclass(frozen=True, slots=True)
class Shape:
    """What decides how a row looks here: the collection, and whether its points name agents."""

    collection: Collection
    has_agents: bool

    def native(self, row: StoredRow) -> StoredRow:
        """The same memory as a row of this collection; its own rows stay as they are."""
        if OTHERS in row.values:
            return row
        values = row.values
        fits = point_id(row.id) is not None
        named = row.id if fits else uuid_for(row.id)
        session = values.get("session_id")
        agent = (row.agent or DEFAULT_AGENT) if self.has_agents else None
        wanted: dict[str, Value] = {
            "id": named,
            **{name: _text(values.get(name)) for name in ("key", "content", "category")},
            "created_at": _text(values.get("created_at")) or utc_now(),
            "session_id": self.session(_text(session)) if session else None,
            "agent_id": agent,
            OTHERS: "{}",
            ABSENT: None,
        }
        vector = values.get("embedding")
        if isinstance(vector, bytes) and len(vector) == 4 * self.collection.dimensions:
            wanted["embedding"] = vector
        return StoredRow(named, wanted, named, agent)

    def drafted(self, draft: Draft, id: str | None, vector: bytes) -> StoredRow:
        """The row a draft becomes: stored now, with nothing but what ZeroClaw writes."""
        named = id or str(uuid.uuid4())
        agent = (draft.agent or DEFAULT_AGENT) if self.has_agents else None
        values: dict[str, Value] = {
            "id": named,
            "key": draft.key,
            "content": draft.content,
            "category": draft.category,
            "created_at": utc_now(),
            "session_id": self.session(draft.session_id),
            "agent_id": agent,
            OTHERS: "{}",
            ABSENT: None,
            "embedding": vector,
        }
        return checked(StoredRow(named, values, named, agent))

    def edited(self, row: StoredRow, values: Mapping[str, Value], vector: bytes | None) -> StoredRow:
        """The row with other values, and another vector where one is given; the rest of the payload stays."""
        changed = {**row.values, **values}
        session = changed.get("session_id")
        changed["session_id"] = self.session(session) if isinstance(session, str) else None
        absent = [name for name in str(row.values.get(ABSENT) or "").split() if name not in values]
        changed[ABSENT] = " ".join(absent) or None
        if vector is not None:
            changed["embedding"] = vector
        return checked(StoredRow(row.id, changed, row.handle, row.agent))

    def session(self, session: str | None) -> str | None:
        """A session as ZeroClaw writes it; from 0.8.0 on with letters, digits, _ and - only."""
        if not session:
            return None
        return sanitised(session) if self.has_agents else session


def checked(row: StoredRow) -> StoredRow:
    """The same row. Raises Refused for text that no JSON can carry."""
    for value in row.values.values():
        if isinstance(value, str) and not is_unicode(value):
            raise Refused(
                f"The memory {one_line(str(row.values['key']))!r} is no Unicode text, and Qdrant takes nothing else.",
                hint="Nothing was stored.",
            )
    return row


def lost(row: StoredRow) -> list[str]:
    """The names of the capabilities a row of another store would need here."""
    if OTHERS in row.values:
        return []
    return [
        capability
        for name, capability in _CARRIED.items()
        if row.values.get(name) is not None and row.values[name] not in _USUAL.get(name, ())
    ]


def same(one: StoredRow, other: StoredRow) -> bool:
    """Whether two rows of this collection are one memory in one state, whatever the vector."""
    return all(one.values.get(name) == other.values.get(name) for name in _KNOWN - {"embedding"})


def needs_vector(row: StoredRow) -> bool:
    """Whether a row has to be embedded first. Raises Refused for one that has no text to embed."""
    if isinstance(row.values.get("embedding"), bytes):
        return False
    if not str(row.values["key"]).strip() and not str(row.values["content"]).strip():
        raise Refused(f"{NO_EMBEDDER}, and a memory without key and content has none.")
    return True


def _text(value: Value) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return "" if value is None else str(value)
