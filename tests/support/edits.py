"""A short way to edit one row, for tests of stores."""

from __future__ import annotations

from typing import Any

from support.memories import ApplyResult, Journal, Vector
from support.stores import Memory, row_with_id
from zeroclaw_tui.testing.tools import edit


async def edited(
    memory: Memory, id: str, journal: Journal | None = None, vector: Vector | None = None, **values: Any
) -> ApplyResult:
    """Edit the row with this id and return the result."""
    row = await row_with_id(memory, id)
    assert row is not None
    return await edit(memory, row, values, journal, vector=vector)
