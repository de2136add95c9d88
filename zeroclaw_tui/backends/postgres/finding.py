"""Patterns in a PostgreSQL table: matched here, so that one means the same as everywhere.

The server's own `~*` reads other patterns: there `\\b` is a backspace, and `\\p{L}` and named groups are errors.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from zeroclaw_tui.backends.matching import TextSearch, needles_of
from zeroclaw_tui.backends.postgres.browse import ROWS_AT_ONCE, FoundFilter, conditions
from zeroclaw_tui.backends.postgres.connect import Connections, in_batches
from zeroclaw_tui.backends.postgres.facets import SECONDS
from zeroclaw_tui.backends.postgres.table import Table
from zeroclaw_tui.memory.query import MemoryFilter


async def found(connections: Connections, table: Table, filter: MemoryFilter, seconds: float) -> MemoryFilter:
    """The filter with the rows its pattern is found in; itself where it has none.

    All that the rest of the filter leaves is read for it, some rows at a time. Raises WrongUse for a pattern that
    cannot be read or is matched for longer than `seconds`, SearchInterrupted.
    """
    if any(not needle.is_plain for needle in needles_of(filter)):
        # What letters there are in other cases is looked up once, for longer than the loop should wait.
        await asyncio.to_thread(lambda: [needle.other_cases() for needle in needles_of(filter)])
    if not filter.regex:
        return filter
    rest = filter.but(regex=None)
    search = await asyncio.to_thread(TextSearch, MemoryFilter(regex=filter.regex), seconds)
    condition, values = conditions(rest, table)
    statement = f"SELECT m.id::text, m.key::text, m.content FROM {table.quoted} AS m WHERE {condition}"
    ids: list[str] = []

    def look(records: Sequence[Any]) -> list[str]:
        return [id for id, key, content in records if search.finds(key or "", content or "")]  # noqa: A001

    try:
        async with connections.reading(seconds=SECONDS) as connection:
            async for records in in_batches(connection, statement, values, ROWS_AT_ONCE):
                ids += await asyncio.to_thread(look, records)
    finally:
        search.stop()
    return FoundFilter(**{field.name: getattr(rest, field.name) for field in fields(rest)}, ids=tuple(ids))
