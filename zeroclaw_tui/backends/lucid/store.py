"""The Lucid bridge: the local brain.db is the authority, and the lucid program adds what it lacks."""

from __future__ import annotations

from zeroclaw_tui.backends.sqlite.store import SqliteMemory


class LucidMemory(SqliteMemory):
    """A brain.db whose recall asks the lucid program for more, as ZeroClaw's own bridge does."""

    name = "lucid"
