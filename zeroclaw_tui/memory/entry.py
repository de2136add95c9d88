"""One memory, as ZeroClaw's trait describes it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

Handle = int | str
"""How a backend names one of its rows in a listing: SQLite by rowid, others by id."""

EXCERPT = 400
"""How many characters of the content a listing holds."""

EDITABLE = ("content", "key", "category", "session_id", "importance", "pinned", "namespace")
"""The fields of a memory that a person may change; a backend may offer fewer."""

BUILT_IN_CATEGORIES = ("core", "daily", "conversation")

_OPTIONAL_TEXTS = ("updated_at", "session_id", "namespace", "superseded_by", "tenant_id", "metadata")
_SAME_IN_TABLE = ("id", "key", "content", "category", "importance", "pinned", "embedding_dimensions")
"""Fields with the names and values that ZeroClaw's table has."""
_SEMANTIC = ("preference", "fact", "decision", "entity")


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """A memory. A field that a backend or a generation does not have is None.

    `timestamp` is when it was created and `updated_at` when it was last stored, both exactly as written.
    `handle` is the id where the backend has no other name for its rows. `size` is the content's length in bytes of
    UTF-8, counted where the backend does not say it. `superseded_by` is the key of the newer memory as ZeroClaw writes
    it, in other programs its id, and "" where nothing says which. In a listing `content` may be only the beginning:
    then `is_excerpt` is set. `importance` is in 0..1. `kind` is "episodic", "procedural" or "semantic:<what>".
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
    metadata: str | None = None
    """What a program keeps with it besides, as JSON."""
    handle: Handle = ""
    size: int = 0
    is_excerpt: bool = False
    withheld: str | None = None
    dated: str | None = None
    """In place of a `timestamp` that is only a file's name: the day in that name, YYYY-MM-DD, "" where it has none."""
    state: str = ""
    """In the version of a row: what the row is compared by before it is changed, a text of the backend's own."""

    def __post_init__(self) -> None:
        if self.handle == "":
            object.__setattr__(self, "handle", self.id)
        if not self.size and self.content:
            object.__setattr__(self, "size", len(self.content.encode("utf-8", "surrogatepass")))

    @classmethod
    def from_columns(cls, id: str, columns: Mapping[str, Any], **fields: Any) -> MemoryEntry:
        """The memory of a row; `columns` by the names of ZeroClaw's table, each as it is stored.

        Text that is no UTF-8 is there as bytes, or with surrogate escapes. `fields` are what no column has, and the
        size where the content is not whole.
        """
        texts: dict[str, Any] = {
            name: as_text(value) for name in _OPTIONAL_TEXTS if (value := columns.get(name)) is not None
        }
        content = as_text(columns.get("content"))
        importance, pinned, vector = columns.get("importance"), columns.get("pinned"), columns.get("embedding")
        dimensions = len(vector) // 4 if isinstance(vector, bytes) else columns.get("embedding_dimensions")
        return cls(
            id=id,
            key=as_text(columns.get("key")),
            content=content,
            category=as_text(columns.get("category")),
            timestamp=as_text(columns.get("created_at")),
            importance=float(importance) if isinstance(importance, int | float) else None,
            kind=kind_from(columns.get("kind")),
            pinned=None if pinned is None else bool(pinned),
            embedding_dimensions=dimensions if isinstance(dimensions, int) else None,
            **texts,
            **{"size": len(content.encode("utf-8", "surrogateescape")), **fields},
        )

    def columns(self) -> dict[str, Any]:
        """Back again, without the vector: its length is `embedding_dimensions`."""
        same = {name: getattr(self, name) for name in (*_SAME_IN_TABLE, *_OPTIONAL_TEXTS)}
        if self.metadata is None:
            del same["metadata"]
        return {**same, "created_at": self.timestamp, "kind": _kind_as_stored(self.kind)}

    @property
    def when(self) -> str:
        """What its age counts from, where that is a moment; ZeroClaw itself goes by `timestamp` alone."""
        return self.timestamp if self.dated is None else self.dated

    def as_json(self) -> dict[str, Any]:
        """The entry as the commands print it, always with the same names."""
        return {name: getattr(self, name) for name in JSON_FIELDS}

    def version(self, state: str) -> MemoryEntry:
        """The same entry as the version of its row, which has no content."""
        return replace(self, content="", state=state)

    def excerpt(self) -> MemoryEntry:
        """The same entry with the first EXCERPT characters of its content; itself where that is all of it."""
        if len(self.content) <= EXCERPT:
            return self
        return replace(self, content=self.content[:EXCERPT], is_excerpt=True)


JSON_FIELDS = {
    "id": "the store's identifier",
    "key": "the name of the memory, unique per agent",
    "content": "the text",
    "category": "core, daily, conversation, or a category of your own",
    "timestamp": "when it was created",
    "updated_at": "when it was last changed",
    "session_id": "the session it belongs to",
    "namespace": "its namespace",
    "importance": "0.0 to 1.0",
    "superseded_by": "key or id of the memory that replaces it",
    "kind": "what ZeroClaw says it is, such as episodic",
    "pinned": "whether hygiene and budgets leave it alone",
    "agent": "the alias of its owner",
    "embedding_dimensions": "the length of its embedding",
}
"""The fields of an entry as the commands print it, with what they mean."""


def as_text(value: object) -> str:
    """A value of a column as text: bytes read as UTF-8 with surrogate escapes, "" for nothing."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return "" if value is None else str(value)


def kind_from(stored: Any) -> str | None:
    """ZeroClaw's JSON in words: "episodic", "procedural" or "semantic:fact"; what it cannot decode is None."""
    try:
        decoded = json.loads(stored) if isinstance(stored, str) else None
    except (ValueError, RecursionError):
        return None
    if decoded in ("episodic", "procedural"):
        return str(decoded)
    if isinstance(decoded, dict) and len(decoded) == 1 and decoded.get("semantic") in _SEMANTIC:
        return f"semantic:{decoded['semantic']}"
    return None


def _kind_as_stored(kind: str | None) -> str | None:
    base, colon, what = (kind or "").partition(":")
    return json.dumps({base: what} if colon else base) if base else None
