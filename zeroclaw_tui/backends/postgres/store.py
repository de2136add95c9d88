"""ZeroClaw's PostgreSQL store, and the table of the user's own tutorial."""

from __future__ import annotations

from zeroclaw_tui.backends.postgres.writable import WritablePostgres


class PostgresMemory(WritablePostgres):
    """A table of memories on a PostgreSQL server."""

    name = "postgres"
