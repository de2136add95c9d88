"""One memory, as ZeroClaw's trait describes it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

Handle = int | str
"""A backend's own identifier of a row in a list: the rowid for SQLite, the id for others."""

EXCERPT = 400
"""The number of characters of the content in a list."""

EDITABLE = ("content", "key", "category", "session_id", "importance", "pinned", "namespace")
"""The editable fields of a memory; a backend may support fewer."""

BUILT_IN_CATEGORIES = ("core", "daily", "conversation")

_OPTIONAL_TEXTS = ("updated_at", "session_id", "namespace", "superseded_by", "tenant_id", "metadata")
_SAME_IN_TABLE = ("id", "key", "content", "category", "importance", "pinned", "embedding_dimensions")
"""Fields with the same names and values as in ZeroClaw's table."""
_SEMANTIC = ("preference", "fact", "decision", "entity")


@dataclass(frozen=True, slots=True)
class MemoryEntry:
    """A memory. A field that a backend or a generation does not have is None.

    `timestamp` is the time of creation and `updated_at` of the last write, both exactly as stored. `handle` is the id
    if the backend has no other identifier for its rows. `size` is the content's length in bytes of UTF-8, computed if
    the backend does not provide it. `superseded_by` is the key of the newer memory in ZeroClaw, its id in other
    programs, and "" if it is not recorded. In a list, `content` may be only the beginning: then `is_excerpt` is True.
    `importance` is in 0..1. `kind` is "episodic", "procedural" or "semantic:<type>". `withheld` is the finding of the
    content scanner of ZeroClaw >= 0.8.4, after a scan.
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
    """Additional data of another program, as JSON."""
    handle: Handle = ""
    size: int = 0
    is_excerpt: bool = False
    withheld: str | None = None
    dated: str | None = None
    """The day for age and filters if `timestamp` is only a file's name: its YYYY-MM-DD, "" if there is none."""
    state: str = ""
    """In the version of a row: the backend's own text by which the row is compared before a change."""

    def __post_init__(self) -> None:
        if self.handle == "":
            object.__setattr__(self, "handle", self.id)
        if not self.size and self.content:
            object.__setattr__(self, "size", len(self.content.encode("utf-8", "surrogatepass")))

    @classmethod
    def from_columns(cls, id: str, columns: Mapping[str, Any], **fields: Any) -> MemoryEntry:
        """Make the memory of a row; `columns` has the stored values by the names of ZeroClaw's table.

        Text that is not UTF-8 is bytes, or has surrogate escapes. `fields` are values without a column, and the size
        if the content is truncated.
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
        """Convert back to columns, without the vector, but with its length as `embedding_dimensions`."""
        same = {name: getattr(self, name) for name in (*_SAME_IN_TABLE, *_OPTIONAL_TEXTS)}
        if self.metadata is None:
            del same["metadata"]
        return {**same, "created_at": self.timestamp, "kind": _kind_as_stored(self.kind)}

    @property
    def when(self) -> str:
        """The time for computing its age, possibly invalid; ZeroClaw itself only uses `timestamp`."""
        return self.timestamp if self.dated is None else self.dated

    def as_json(self) -> dict[str, Any]:
        """The JSON of the entry in the commands, always with the same names."""
        return {name: getattr(self, name) for name in JSON_FIELDS}

    def version(self, state: str) -> MemoryEntry:
        """Make the version of its row, without the content."""
        return replace(self, content="", state=state)

    def excerpt(self) -> MemoryEntry:
        """Truncate the content to the first EXCERPT characters."""
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
"""The fields of an entry in the JSON of the commands, with their meanings."""


def as_text(value: object) -> str:
    """Convert a value of a column to text: bytes are decoded as UTF-8 with surrogate escapes, None is ""."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return "" if value is None else str(value)


def entry_from_record(names: Sequence[str], record: Sequence[Any], *, state: str = "") -> MemoryEntry:
    """Make the memory of a record of SQLite; `names` are those of ZeroClaw's table, handle, size and agent among them.

    The record may have further columns.
    """
    columns = dict(zip(names, record, strict=False))
    agent = columns["agent"]
    return MemoryEntry.from_columns(
        as_text(columns["id"]),
        columns,
        handle=columns["handle"],
        agent=None if agent is None else as_text(agent),
        size=columns["size"] or 0,
        state=state,
    )


def kind_from(stored: Any) -> str | None:
    """Decode ZeroClaw's JSON to "episodic", "procedural" or "semantic:fact"; None if ZeroClaw cannot decode it."""
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
