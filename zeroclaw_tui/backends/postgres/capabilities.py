"""What can be done with a PostgreSQL table, by what it has."""

from __future__ import annotations

from zeroclaw_tui.backends.base import Capabilities
from zeroclaw_tui.backends.postgres.table import Table
from zeroclaw_tui.memory.change import EDITABLE

VECTOR_TYPES = ("vector", "halfvec", "real[]")

_LACKING = {
    "sessions": ("session_id", "This table has no column for sessions."),
    "agents": ("agent_id", "This table has no agents; ZeroClaw keeps them from 0.8.0 on."),
    "namespaces": ("namespace", "This table has no namespaces; ZeroClaw adds them with pgvector only."),
    "importance": ("importance", "This table has no importance; ZeroClaw adds it with pgvector only."),
}
_NEVER = {
    "superseded": "ZeroClaw replaces no memory by another in PostgreSQL.",
    "pinned": "ZeroClaw pins nothing in PostgreSQL.",
    "kind": "ZeroClaw keeps no kinds of memories in PostgreSQL.",
}
_FIELDS = {"session_id": "sessions", "importance": "importance", "namespace": "namespaces", "pinned": "pinned"}


def capabilities_of(table: Table, read_only_because: str | None) -> Capabilities:
    """What works, and a sentence for each thing that does not."""
    why_not = dict(_NEVER)
    why_not |= {name: sentence for name, (column, sentence) in _LACKING.items() if not table.has(column)}
    if not has_vectors(table):
        why_not["vectors"] = "This table has no column for vectors."
    if not is_watched(table):
        why_not["watch"] = "What others change behind a view cannot be told without reading all of it."
    if read_only_because is not None:
        why_not["write"] = read_only_because
    editable: list[str] = []
    for field in EDITABLE:
        reason = read_only_because or (None if table.has(field) else why_not.get(_FIELDS.get(field, ""), ""))
        if reason is None and field in table.generated:
            reason = f"PostgreSQL itself computes the column {field}."
        if reason is None:
            editable.append(field)
        else:
            why_not[field] = reason
    return Capabilities(
        vectors=has_vectors(table),
        keyword=True,
        sessions=table.has("session_id"),
        agents=table.has("agent_id"),
        namespaces=table.has("namespace"),
        importance=table.has("importance"),
        watch=is_watched(table),
        write=read_only_because is None,
        editable=tuple(editable),
        own_fusion=table.vectors and table.vector_type == "vector" and table.schema_of_vector is not None,
        why_not=why_not,
    )


def has_vectors(table: Table) -> bool:
    """Whether there is a column of vectors that can be read here."""
    return table.vector_type in VECTOR_TYPES


def is_watched(table: Table) -> bool:
    """Whether changes by others can be told."""
    return table.kind in ("r", "p")
