"""Optional behaviour of a plug-in: batch methods, and a recall that returns plain memories."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from support.edits import edited
from support.memories import Draft, MemoryEntry, Refused, Unreadable
from support.recalls import recalled
from support.shoe_box import ShoeBox

from zeroclaw_tui.memory.query import ENTRIES, VERSIONS, Query
from zeroclaw_tui.testing.tools import JournalRecorder, delete, fill, numbered


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


class IdleBox(ShoeBox):
    """Ignores all writes, without an error."""

    async def store(self, key: str, content: str, category: str, session_id: str | None = None) -> None: ...

    async def forget(self, key: str) -> bool:
        return False


async def test_a_write_that_a_store_ignores_is_an_error():
    memory = IdleBox()
    await ShoeBox.store(memory, "pet", "cat", "core")
    with pytest.raises(Refused, match="accepted the memory 'pet', but does not have it"):
        await edited(memory, "id of pet", JournalRecorder(), content="dog")
    with pytest.raises(Refused, match="accepted the deletion of 'pet', but still has it"):
        await delete(memory, await memory.rows(Query(VERSIONS)))


async def test_a_list_may_be_a_generator_and_a_field_that_is_no_text_is_named(monkeypatch):
    memory = ShoeBox()
    await memory.store("pet", "cat", "core")
    entries = await memory.list()

    async def generate(*_: object) -> object:
        return (entry for entry in entries)

    monkeypatch.setattr(memory, "list", generate)
    assert [entry.key for entry in await memory.rows(Query(ENTRIES))] == ["pet"]
    entries = [MemoryEntry("1", "pet", None, "core", "2026-01-01T00:00:00Z", size=1)]
    with pytest.raises(Unreadable, match="a memory whose content is not a text"):
        await memory.rows(Query(ENTRIES))
