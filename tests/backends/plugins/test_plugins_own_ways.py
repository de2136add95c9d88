"""Optional behaviour of a plug-in: batch methods, and a recall that returns plain memories."""

from __future__ import annotations

from collections.abc import Sequence

from support.memories import Draft, MemoryEntry
from support.recalls import recalled
from support.shoe_box import ShoeBox

from zeroclaw_tui.testing.tools import fill, numbered


class BatchBox(ShoeBox):
    """Also has the trait's batch methods."""

    def __init__(self) -> None:
        super().__init__()
        self.batches: list[int] = []

    async def store_batch(self, entries: Sequence[tuple[str, str, str]]) -> None:
        self.batches.append(len(entries))
        for key, content, category in entries:
            await self.store(key, content, category)

    async def get_batch(self, keys: Sequence[str]) -> list[MemoryEntry]:
        wanted = {*keys}
        return [entry for entry in await self.list() if entry.key in wanted]


class PlainBox(ShoeBox):
    """Returns memories without scores from a recall."""

    async def recall(
        self, query: str, limit: int, session_id: str | None = None, since: str | None = None, until: str | None = None
    ) -> list[MemoryEntry]:
        return [*await self.list()][:limit]


async def test_a_recall_may_return_plain_memories():
    memory = PlainBox()
    await fill(memory, numbered(3))
    found = await recalled(memory, "same", limit=2)
    assert [(one.rank, one.score) for one in found.entries] == [(1, None), (2, None)]


async def test_many_memories_are_stored_with_the_batch_method():
    """Memories of a session are stored one by one, because the batch method has no session."""
    memory = BatchBox()
    await fill(memory, numbered(300))
    assert memory.batches == [250, 50]
    assert await memory.count() == 300
    await fill(memory, [Draft("with a session", "text", session_id="s1")])
    assert memory.batches == [250, 50]
    stored = await memory.get("with a session")
    assert stored.session_id == "s1"
