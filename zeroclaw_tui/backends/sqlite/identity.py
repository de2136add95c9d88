"""Which model a store's vectors come from, as ZeroClaw >= 0.8.3 notes it in memory_meta."""

from __future__ import annotations

import sqlite3

from zeroclaw_tui.backends.sqlite.schema import Schema
from zeroclaw_tui.files.database import as_text

_NAMES = ("embedding_provider", "embedding_model", "embedding_dimensions")


def other_model(
    connection: sqlite3.Connection, schema: Schema, provider: str, model: str, dimensions: int
) -> str | None:
    """The model the store names where it is not this one, in words; None where they agree or the store names none."""
    if "memory_meta" not in schema.tables:
        return None
    pairs = connection.execute("SELECT key, value FROM memory_meta")
    stamped = {as_text(key): as_text(value) for key, value in pairs}
    ours = dict(zip(_NAMES, (provider, model, str(dimensions)), strict=True))
    if all(stamped.get(name, value) == value for name, value in ours.items()):
        return None
    return ", ".join(stamped[name] for name in _NAMES if name in stamped)
