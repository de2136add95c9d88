"""A store of thousands of memories, and pages while rows come and go; used like MemoryContract."""

from __future__ import annotations

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.memory.entry import Handle
from zeroclaw_tui.memory.query import Cursor, MemoryFilter, Sort, SortField
from zeroclaw_tui.testing.samples import NOW
from zeroclaw_tui.testing.tools import EVERY, Kept, StoreHooks, numbered

MANY = 10_000
"""How many memories are stored where that takes moments: in one go, by `store_batch` or a `fill` of the test's own."""
MANY_ONE_BY_ONE = 500
"""How many where each is stored by itself."""
_PAGE = 500


class ManyRowsContract(StoreHooks):
    """Tests that each take an open `memory` of a few rows, or none, that may be written."""

    async def test_thousands_of_memories_are_counted_listed_paged_and_found(self, memory: Memory) -> None:
        """Count, facets, listing, pages and recall over them agree with what was stored."""
        at_once = type(memory).store_batch is not Memory.store_batch or type(self).fill is not StoreHooks.fill
        many = MANY if at_once else MANY_ONE_BY_ONE
        before = await memory.count()
        await self.fill(memory, numbered(many))
        assert await memory.count() == before + many
        bulk = MemoryFilter(contains="bulk content")
        assert len(await memory.order(bulk, Sort())) == many
        facets = await memory.facets(bulk, NOW.isoformat())
        assert facets.total == many
        assert sum(facets.category.values()) == many
        seen: list[str] = []
        await memory.each_row(lambda row: seen.append(row.id), bulk)
        assert len(seen) == len(set(seen)) == many
        pages = await self._by_page(memory, bulk, Sort(SortField.KEY, descending=False), _PAGE)
        assert len(pages) == len(set(pages)) == many
        found = await memory.recall(f"bulk content {many - 1:05}", 5)
        assert 0 < len(found) <= 5
        assert any("bulk content" in scored.entry.content for scored in found)

    async def test_pages_hold_each_untouched_row_once_while_others_come_and_go(self, memory: Memory) -> None:
        """Between two pages a row is stored, the last row shown is removed, and so is one that is still to come."""
        for field in (SortField.STORED, SortField.KEY, SortField.UPDATED):
            for descending in (True, False):
                await self._page_through_changes(memory, Sort(field, descending))

    async def _page_through_changes(self, memory: Memory, sort: Sort) -> None:
        await memory.remove(await memory.stamps(EVERY), Kept())
        await self.fill(memory, numbered(40))
        texts = {f"bulk content {number:05}" for number in range(40)}
        touched: set[str] = set()
        seen: list[str] = []
        cursor: Cursor | None = None
        for turn in range(100):
            page = await memory.page(EVERY, sort, cursor, 6)
            seen += [text for entry in page.entries for text in texts if entry.content.endswith(text)]
            if page.next is None:
                break
            cursor = page.next
            await memory.store(f"meanwhile {turn}", f"stored meanwhile {turn}", "core")
            touched |= await self._remove(memory, page.entries[-1].handle, texts)
            ahead = [handle for handle in await memory.order(EVERY, sort) if handle not in seen]
            touched |= await self._remove(memory, ahead[len(ahead) // 2], texts)
        else:
            raise AssertionError("the pages never end")
        assert len(seen) == len(set(seen)), (sort, "a row came twice")
        assert texts - touched <= set(seen), (sort, "a row nobody touched is missing")

    async def _remove(self, memory: Memory, handle: Handle, texts: set[str]) -> set[str]:
        """Remove one row; gives its text."""
        entry = await memory.whole(handle)
        removal = await memory.remove(await memory.stamps_of([handle]), Kept())
        assert removal.removed == 1
        return {text for text in texts if entry.content.endswith(text)}

    async def _by_page(self, memory: Memory, filter: MemoryFilter, sort: Sort, size: int) -> list[Handle]:
        page = await memory.page(filter, sort, None, size)
        handles = [entry.handle for entry in page.entries]
        while page.next is not None:
            page = await memory.page(filter, sort, page.next, size)
            handles += [entry.handle for entry in page.entries]
        return handles
