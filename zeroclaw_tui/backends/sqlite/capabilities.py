"""What can be done with a database, by what it has."""

from __future__ import annotations

from zeroclaw_tui.backends.base import Capabilities
from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.memory.change import EDITABLE
from zeroclaw_tui.scoring.generations import lacks

_TOLD = {
    "superseded_by": "superseded", "agent_id": "agents", "namespace": "namespaces", "session_id": "sessions",
    "pinned": "pinned", "importance": "importance", "kind": "kind",
}  # fmt: skip


def capabilities_of(schema: Schema, read_only_because: str | None) -> Capabilities:
    """What works, and a sentence for each thing that does not."""
    why_not = {} if read_only_because is None else {"write": read_only_because}
    for column, what in _TOLD.items():
        if not schema.has(column):
            why_not[what] = lacks(what)
    for field in EDITABLE:
        if not schema.has(field):
            why_not[field] = lacks(field)
    if not schema.has("embedding"):
        why_not["vectors"] = "This database has no column for vectors."
    if not schema.has_fts:
        why_not["keyword"] = "This database has no keyword index."
    return Capabilities(
        vectors=schema.has("embedding"),
        keyword=schema.has_fts,
        sessions=schema.has("session_id"),
        agents=schema.has("agent_id"),
        namespaces=schema.has("namespace"),
        superseded=schema.has("superseded_by"),
        pinned=schema.has("pinned"),
        importance=schema.has("importance"),
        kind=schema.has("kind"),
        watch=True,
        write=read_only_because is None,
        editable=tuple(field for field in EDITABLE if schema.has(field)) if read_only_because is None else (),
        cached_vectors="embedding_cache" in schema.tables and not schema.hydrate_made,
        stages=True,
        why_not=why_not,
    )
