"""Two writers on one store; used like MemoryContract, with the hook `another` of StoreHooks."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.memory.change import Conflict, Draft, DuplicateKey, Edit, Removal, Written
from zeroclaw_tui.testing.tools import EVERY, Kept, StoreHooks, soon, state_of, written_row

_EACH = 20


class TwoWritersContract(StoreHooks):
    """Tests that each take an open `memory` that may be written, and make a neighbour of it by `another`."""

    async def test_what_both_store_at_once_all_arrives(self, memory: Memory) -> None:
        """Nothing is lost, and each sees what the other stored."""
        async with self._neighbour(memory) as other:
            count = await memory.count()
            await soon(
                asyncio.gather(
                    *(
                        writer.create(Draft(f"{name} {number}", f"{name} content {number}"), Kept())
                        for number in range(_EACH)
                        for name, writer in (("mine", memory), ("theirs", other))
                    )
                )
            )
            for reader in (memory, other):
                contents = [entry.content for entry in await reader.list()]
                assert await reader.count() == count + 2 * _EACH
                assert sum("content" in content and "mine" in content for content in contents) >= _EACH
                assert sum("theirs content" in content for content in contents) == _EACH

    async def test_of_two_edits_of_one_state_the_second_is_a_conflict(self, memory: Memory) -> None:
        """Exactly one is written; the other shows the first one's text."""
        if "content" not in memory.capabilities.editable:
            return
        async with self._neighbour(memory) as other:
            row = written_row(await memory.create(Draft("shared", "first"), Kept()))
            edits = [
                writer.update(row.id, Edit({"content": f"by {name}"}), row.fingerprint, Kept())
                for name, writer in (("me", memory), ("them", other))
            ]
            done = await soon(asyncio.gather(*edits, return_exceptions=True))
            written = [result for result in done if isinstance(result, Written)]
            conflicts = [result for result in done if isinstance(result, Conflict)]
            assert (len(written), len(conflicts)) == (1, 1), done
            assert conflicts[0].theirs.entry().content == written_row(written[0]).entry().content
            for reader in (memory, other):
                contents = [entry.content for entry in await reader.list()]
                assert sum(content.endswith(("by me", "by them")) for content in contents) == 1

    async def test_of_two_stores_of_one_new_key_one_is_told_that_it_is_taken(self, memory: Memory) -> None:
        """There is one memory of that key afterwards."""
        if not self.has_keys:
            return
        async with self._neighbour(memory) as other:
            count = await memory.count()
            drafts = [writer.create(Draft("same key", name), Kept()) for name, writer in (("a", memory), ("b", other))]
            done = await soon(asyncio.gather(*drafts, return_exceptions=True))
            assert sum(isinstance(result, Written) for result in done) == 1, done
            assert sum(isinstance(result, DuplicateKey) for result in done) == 1, done
            assert await other.count() == count + 1

    async def test_rows_both_remove_go_once(self, memory: Memory) -> None:
        """What one removed the other tells as gone; both together removed each row once, and it comes back once."""
        async with self._neighbour(memory) as other:
            for number in range(_EACH):
                await memory.create(Draft(f"both {number}", f"both content {number}"), Kept())
            before, stamps = await state_of(memory), await memory.stamps(EVERY)
            mine, theirs = Kept(), Kept()
            done = await soon(
                asyncio.gather(memory.remove(stamps, mine), other.remove(stamps, theirs), return_exceptions=True)
            )
            removals = [result for result in done if isinstance(result, Removal)]
            assert len(removals) == 2, done
            assert sum(removal.removed for removal in removals) == len(stamps)
            assert await other.count() == 0
            for kept in (mine, theirs):
                await memory.revert(kept.last_first, Kept())
            assert sum((await state_of(other)).values()) == sum(before.values())

    @asynccontextmanager
    async def _neighbour(self, memory: Memory) -> AsyncIterator[Memory]:
        other = await self.another(memory)
        try:
            yield other
        finally:
            if other is not memory:
                await other.close()
