"""The verbs of ZeroClaw's trait, one after the other, on a store that may be written; used like MemoryContract."""

from __future__ import annotations

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.memory.change import Draft, Edit
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import InspectorError
from zeroclaw_tui.memory.query import NO_SESSION, MemoryFilter, Sort
from zeroclaw_tui.testing.samples import NOW
from zeroclaw_tui.testing.tools import EVERY, Kept, StoreHooks, raises, state_of, written_row

MEGABYTE = 1_000_000

ONE_LINE_TEXTS = (
    "ピーナッツアレルギーがあります。", "她喜欢吃饺子", "🐸 and the family 👨‍👩‍👧",
    "[bold red]loud[/bold red] {user} %s",
    "Robert'); DROP TABLE memories; -- \"quoted\" \\ back",
    "evil \u202egnp.exe\u202c", "Z" + "\u0301" * 40,
)  # fmt: skip
"""Texts every store must give back to the letter."""
AWKWARD_TEXTS = (
    "two\nlines",
    "a\r\nb\rc",
    "\x1b[31mred\x1b[2J",
    "tab\tand end ",
    "  indented",
    "- [ ] a list item",
    "# x",
    "\u00a0a blank that is none",
)
"""Texts that a store of lines may refuse or say it changes, and any other gives back to the letter."""


class VerbsContract(StoreHooks):
    """Tests that each take an open `memory` of a few rows, or none, that may be written."""

    async def test_what_is_stored_is_found_by_every_reading_verb(self, memory: Memory) -> None:
        """`get`, `list`, `count`, the listing, its facets and `with_key` agree on a memory just stored."""
        count = await memory.count()
        await memory.store("verbs key", "verbs content", "daily")
        assert await memory.count() == count + 1
        entry = await self._the_one(memory, "verbs content")
        assert (entry.category, entry.is_excerpt) == ("daily", False)
        assert entry.timestamp
        found = await memory.order(MemoryFilter(contains="verbs content"), Sort())
        assert list(found) == [entry.handle]
        assert (await memory.facets(EVERY, NOW.isoformat())).category["daily"] >= 1
        if self.has_keys:
            got = await memory.get("verbs key")
            assert got is not None
            assert (got.id, got.content, got.key) == (entry.id, "verbs content", "verbs key")

    async def test_a_second_store_of_a_key_keeps_id_and_creation_time(self, memory: Memory) -> None:
        """The content, the category and the time of the last change are new; there is still one memory."""
        if not self.has_keys:
            return
        await memory.store("verbs key", "first", "core")
        first, count = await memory.get("verbs key"), await memory.count()
        await memory.store("verbs key", "second", "daily")
        second = await memory.get("verbs key")
        assert first is not None
        assert second is not None
        assert (second.content, second.category, await memory.count()) == ("second", "daily", count)
        assert (second.id, second.timestamp) == (first.id, first.timestamp)
        assert (second.updated_at or "") >= (first.updated_at or "")

    async def test_a_session_is_kept_or_the_reason_is_told(self, memory: Memory) -> None:
        """A session stored is one that filters and facets know; a store without has its sentence."""
        await memory.store("verbs key", "verbs content", "core", "telegram_2")
        entry = await self._the_one(memory, "verbs content")
        if not memory.capabilities.sessions:
            assert memory.capabilities.why_not["sessions"]
            assert entry.session_id is None
            return
        assert entry.session_id == "telegram_2"
        assert "verbs content" in [found.content for found in await memory.list(session_id="telegram_2")]
        assert ((await memory.facets(EVERY, NOW.isoformat())).session or {}).get("telegram_2") == 1
        assert entry.handle not in await memory.order(MemoryFilter(session=(NO_SESSION,)), Sort())

    async def test_recall_finds_what_was_stored_until_it_is_forgotten(self, memory: Memory) -> None:
        """The word of a memory leads to it, and to nothing once it is gone."""
        await memory.store("verbs key", "the xylophone of Zanzibar", "core")
        found = await memory.recall("xylophone", 5)
        assert [scored.entry.content for scored in found][:1] == [(await self._the_one(memory, "xylophone")).content]
        entry = found[0].entry
        assert await memory.forget(entry.key)
        assert entry.id not in [scored.entry.id for scored in await memory.recall("xylophone", 5)]
        assert await memory.get(entry.key) is None or not self.has_keys
        assert not await memory.forget("no such key, surely")

    async def test_batches_do_what_one_after_the_other_does(self, memory: Memory) -> None:
        """`store_batch` stores all, the last of a key wins; `get_batch` gives what is there in the order asked."""
        count = await memory.count()
        drafts = [Draft(f"batch {number}", f"batch content {number}", "daily") for number in range(12)]
        await memory.store_batch(drafts)
        await memory.store_batch([])
        assert await memory.count() == count + 12
        stored = [entry for entry in await memory.list() if "batch content" in entry.content]
        assert {entry.category for entry in stored} == {"daily"}
        if not self.has_keys:
            keys = [entry.key for entry in stored]
            assert [entry.id for entry in await memory.get_batch(keys)] == [entry.id for entry in stored]
            return
        got = await memory.get_batch(["batch 7", "no such key, surely", "batch 3"])
        assert [entry.content for entry in got] == ["batch content 7", "batch content 3"]
        await memory.store_batch([Draft("batch 3", "older"), Draft("batch 3", "newer")])
        assert [entry.content for entry in await memory.get_batch(["batch 3"])] == ["newer"]
        assert await memory.count() == count + 12

    async def test_any_writing_system_comes_back_to_the_letter(self, memory: Memory) -> None:
        """CJK, emoji, bidi controls, combining marks, quotes and markup."""
        for number, text in enumerate(ONE_LINE_TEXTS):
            await memory.store(f"text {number}", text, "core")
        contents = [entry.content for entry in await memory.list()]
        for text in ONE_LINE_TEXTS:
            assert any(content.endswith(text) for content in contents), text

    async def test_awkward_text_comes_back_or_is_refused(self, memory: Memory) -> None:
        """Line ends, control characters and blanks at the ends are kept; a store that cannot says so and keeps all."""
        for number, text in enumerate(AWKWARD_TEXTS):
            before = await state_of(memory)
            try:
                done = await memory.create(Draft(f"awkward {number}", text), Kept())
            except InspectorError:
                assert not self.keeps_every_text
                assert await state_of(memory) == before
                continue
            stored = await memory.stored(written_row(done).id)
            assert stored is not None
            is_kept = stored.entry().content.endswith(text)
            assert is_kept or (not self.keeps_every_text and done.notes), text

    async def test_a_megabyte_is_a_memory_like_any_other(self, memory: Memory) -> None:
        """Stored, listed as an excerpt, read whole, edited and removed."""
        content = ("0123456789 frog" * (MEGABYTE // 15 + 1))[:MEGABYTE]
        await memory.store("megabyte", content, "core")
        entry = await self._the_one(memory, content)
        assert entry.size >= MEGABYTE
        assert (await memory.whole(entry.handle)).content.endswith(content)
        row = await memory.stored(entry.id)
        assert row is not None
        if "content" in memory.capabilities.editable:
            done = await memory.update(row.id, Edit({"content": "short again"}), row.fingerprint, Kept())
            assert written_row(done).entry().content.endswith("short again")
            entry = await self._the_one(memory, "short again")
        assert (await memory.remove(await memory.stamps_of([entry.handle]), Kept())).removed == 1

    async def test_empty_content_is_kept_as_it_is_or_refused_in_a_sentence(self, memory: Memory) -> None:
        """ZeroClaw's verb may store it; a person's store is refused. Neither says it did what it did not."""
        before, count = await state_of(memory), await memory.count()
        await raises(memory.create(Draft("empty", ""), Kept()), InspectorError)
        assert await state_of(memory) == before
        try:
            await memory.store("empty", "", "core")
        except InspectorError:
            assert await state_of(memory) == before
        else:
            assert await memory.count() == count + 1

    async def test_a_removed_memory_comes_back_with_its_id(self, memory: Memory) -> None:
        """Removed, it is gone from every reading verb; taken back, it is what it was."""
        row = written_row(await memory.create(Draft("verbs key", "comes back", "daily"), Kept()))
        entry, kept = await memory.with_id(row.id), Kept()
        assert entry is not None
        assert (await memory.remove(await memory.stamps_of([entry.handle]), kept)).removed == 1
        assert await memory.with_id(row.id) is None or not self.has_keys
        assert not [found for found in await memory.list() if found.content.endswith("comes back")]
        assert (await memory.revert(kept.last_first, Kept())).reverted == 1
        back = await self._the_one(memory, "comes back")
        assert (back.key, back.content, back.category) == (entry.key, entry.content, entry.category)
        assert (back.id == entry.id and back.timestamp == entry.timestamp) or not self.keeps_rows_exactly

    async def _the_one(self, memory: Memory, content: str) -> MemoryEntry:
        """The one memory whose content ends or begins so."""
        found = [entry for entry in await memory.list() if entry.content.endswith(content) or content in entry.content]
        assert len(found) == 1
        return found[0]
