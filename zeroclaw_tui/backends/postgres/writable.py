"""The verbs that change a PostgreSQL table."""

from __future__ import annotations

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.postgres.connection import Connections
from zeroclaw_tui.backends.postgres.table import Table


class WritablePostgres(Memory):
    """What PostgresMemory does beyond looking: create, update, remove, revert, store, forget, fill_vectors, make.

    The class above supplies `connections` and `table`, both only after `open`.
    """

    connections: Connections
    table: Table
