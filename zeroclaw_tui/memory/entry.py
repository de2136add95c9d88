"""One memory, as ZeroClaw's trait describes it."""

from __future__ import annotations

import json
import uuid
from dataclasses import dataclass, replace
from typing import Any

Handle = int | str
"""How a backend names one of its rows in a listing: SQLite by rowid, others by id."""

EXCERPT = 400
"""How many characters of the content a listing holds."""

_SEMANTIC = ("preference", "fact", "decision", "entity")


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """A memory. A field that a backend or a generation does not have is None.

    `timestamp` is when it was created and `updated_at` when it was last stored, both exactly as written.
    `handle` is the id where the backend has no other name for its rows. `size` is the content's length in bytes of
    UTF-8, counted where the backend does not say it. In a listing `content` may be only the beginning: then
    `is_excerpt` is set. `importance` lies in 0..1. `kind` is "episodic", "procedural" or "semantic:<what>".
    `withheld` names what the content scanner of ZeroClaw >= 0.8.4 found in it, once it was looked for.
    """

    id: str
    key: str
    content: str
    category: str
    timestamp: str
    updated_at: str | None = None
    session_id: str | None = None
    namespace: str | None = None
    importance: float | None = None
    superseded_by: str | None = None
    kind: str | None = None
    pinned: bool | None = None
    agent: str | None = None
    embedding_dimensions: int | None = None
    tenant_id: str | None = None
    handle: Handle = ""
    size: int = 0
    is_excerpt: bool = False
    withheld: str | None = None
    dated: str | None = None
    """In place of a `timestamp` that is only a file's name: the day in that name, YYYY-MM-DD, "" where it has none."""

    def __post_init__(self) -> None:
        if self.handle == "":
            object.__setattr__(self, "handle", self.id)
        if not self.size and self.content:
            object.__setattr__(self, "size", len(self.content.encode("utf-8", "surrogatepass")))

    @property
    def when(self) -> str:
        """What its age counts from, where that is a moment; ZeroClaw itself goes by `timestamp` alone."""
        return self.timestamp if self.dated is None else self.dated

    def as_json(self) -> dict[str, Any]:
        """The entry as the commands print it, always with the same fourteen names."""
        return {name: getattr(self, name) for name in JSON_FIELDS}

    def whole(self, content: str) -> MemoryEntry:
        """The same entry with its full content."""
        return replace(self, content=content, size=len(content.encode("utf-8", "surrogatepass")), is_excerpt=False)

    def excerpt(self) -> MemoryEntry:
        """The same entry with the first EXCERPT characters of its content; itself where that is all of it."""
        if len(self.content) <= EXCERPT:
            return self
        return replace(self, content=self.content[:EXCERPT], is_excerpt=True)


JSON_FIELDS = (
    "id", "key", "content", "category", "timestamp", "updated_at", "session_id", "namespace", "importance",
    "superseded_by", "kind", "pinned", "agent", "embedding_dimensions",
)  # fmt: skip


def uuid_for(id: str) -> str:
    """The id itself where it is a UUID, else one that always belongs to it."""
    try:
        return str(uuid.UUID(id))
    except ValueError:
        return str(uuid.uuid5(uuid.NAMESPACE_URL, f"zeroclaw-tui/{id}"))


def kind_from(stored: Any) -> str | None:
    """ZeroClaw's JSON in words: "episodic", "procedural" or "semantic:fact"; what it cannot decode is None."""
    if not isinstance(stored, str):
        return None
    try:
        decoded = json.loads(stored)
    except (ValueError, RecursionError):
        return None
    if decoded in ("episodic", "procedural"):
        return str(decoded)
    if isinstance(decoded, dict) and len(decoded) == 1 and decoded.get("semantic") in _SEMANTIC:
        return f"semantic:{decoded['semantic']}"
    return None
