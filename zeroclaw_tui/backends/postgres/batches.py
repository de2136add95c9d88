"""The rows of a long statement, some at a time, also behind PgBouncer in transaction mode."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]


async def in_batches(
    connection: asyncpg.Connection, statement: str, values: Sequence[Any], size: int
) -> AsyncIterator[Sequence[Any]]:
    """At most `size` records at a time, of one snapshot, within the transaction that is open; once in each."""
    # The driver's own cursors prepare by name, and behind a pooler another program may have that name on the server.
    await connection.execute(f"DECLARE each_row NO SCROLL CURSOR FOR {statement}", *values)
    records: Sequence[Any] = ()
    is_first = True
    while is_first or len(records) == size:
        is_first = False
        records = await connection.fetch(f"FETCH {size:d} FROM each_row")
        if records:
            yield records
