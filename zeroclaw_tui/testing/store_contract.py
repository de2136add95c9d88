"""What a store that is written to must do, as tests: subclass StoreContract or a part of it, and give it a store."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.lookup import count_facets, entry_with_id, row_with_id, versions, versions_at, why_fixed
from zeroclaw_tui.memory.change import SUPERSEDED_BY, Change, Draft, Row, Value
from zeroclaw_tui.memory.entry import EDITABLE
from zeroclaw_tui.memory.errors import NOT_REACHABLE, InspectorError, Refused
from zeroclaw_tui.memory.query import ENTRIES, EVERYTHING, EXCERPTS, HANDLES, ROWS, MemoryFilter, Query, Sort, SortField
from zeroclaw_tui.testing.samples import NOW
from zeroclaw_tui.testing.tools import (
    PATIENCE_SECONDS,
    Contract,
    JournalRecorder,
    create,
    delete,
    edit,
    fill,
    handles_of,
    is_exact,
    made,
    numbered,
    obstacle_of,
    raises,
    restorable,
    row_of,
    state_of,
    undo,
)

VALUES: dict[str, Value] = {
    "content": "new content", "key": "new key", "category": "projects", "session_id": "telegram_2",
    "importance": 0.25, "pinned": 1, "namespace": "work",
}  # fmt: skip
"""Another value for each field that a store may be able to change."""


class WritableMemoryContract(Contract):
    """Tests that each take an open `memory` of a few rows that may be written."""

    async def test_a_new_memory_is_stored_and_journaled(self, memory: Memory) -> None:
        count, journal = await memory.count(), JournalRecorder()
        after = row_of(await create(memory, Draft("contract key", "contract content"), journal))
        assert await memory.count() == count + 1
        assert after.entry().content.endswith("contract content")
        assert after.entry().category == "core"
        assert [change.before for change in journal.memories] == [None]
        if await is_exact(memory):
            assert [change.after for change in journal.memories] == [after]
        stored, entry = await row_with_id(memory, after.id), await entry_with_id(memory, after.id)
        assert stored is not None
        assert entry is not None
        assert (stored.fingerprint, entry.content) == (after.fingerprint, after.entry().content)

    async def test_fields_of_a_draft_are_stored_or_missed_in_a_note(self, memory: Memory) -> None:
        for name in ("category", "session_id", "namespace", "importance", "pinned", "agent"):
            before, value = await state_of(memory), VALUES.get(name, "ada")
            draft: dict[str, Any] = {"key": f"{name} key", "content": "content", name: value}
            try:
                done = await create(memory, Draft(**draft))
            except Refused:
                assert await state_of(memory) == before
            else:
                assert done.notes or getattr(row_of(done).entry(), name) == value, name

    async def test_a_key_that_is_taken_is_refused_or_replaced(self, memory: Memory) -> None:
        if why_fixed(memory, "key"):
            return  # Keys cannot be edited.
        first, journal = row_of(await create(memory, Draft("contract key", "first"))), JournalRecorder()
        count = await memory.count()
        refused = await create(memory, Draft("contract key", "second"), journal)
        assert obstacle_of(refused, "key exists").id == first.id
        assert journal.changes == []
        second = row_of(await create(memory, Draft("contract key", "second"), journal, replace=True))
        assert (second.id, second.entry().content) == (first.id, "second")
        assert [change.before for change in journal.memories] == [first]
        assert await memory.count() == count

    async def test_an_edit_changes_what_it_names(self, memory: Memory) -> None:
        row, is_same_row = await made(memory), await is_exact(memory)
        for name in (name for name in EDITABLE if not why_fixed(memory, name)):
            before, journal = row.entry(), JournalRecorder()
            row = row_of(await edit(memory, row, {name: VALUES[name]}, journal))
            after = row.entry()
            assert getattr(after, name) == VALUES[name]
            assert [other for other in VALUES if getattr(after, other) != getattr(before, other)] == [name]
            assert len(journal.memories) == 1
            if is_same_row:
                assert (after.timestamp, journal.memories[0].after) == (before.timestamp, row)

    async def test_an_edit_of_a_row_that_changed_shows_what_it_is_now(self, memory: Memory) -> None:
        row, journal = await made(memory), JournalRecorder()
        newer = row_of(await edit(memory, row, {"content": "theirs"}))
        state = await state_of(memory)
        refused = await edit(memory, row, {"content": "mine"}, journal)
        assert obstacle_of(refused, "changed").fingerprint == newer.fingerprint
        missing = Row("no such id", {**row.values, "id": "no such id", "key": "no such key"}, "no such id")
        refused = await edit(memory, missing, {"content": "mine"}, journal)
        assert [(one.reason, one.existing) for one in refused.conflicts] == [("deleted", None)]
        assert (journal.changes, await state_of(memory)) == ([], state)

    async def test_an_edit_that_changes_nothing_or_takes_a_key_is_not_journaled(self, memory: Memory) -> None:
        row, journal = await made(memory), JournalRecorder()
        same = await edit(memory, row, {"content": row.entry().content}, journal)
        assert row_of(same).fingerprint == row.fingerprint
        if not why_fixed(memory, "key"):
            other = row_of(await create(memory, Draft("other key", "other")))
            refused = await edit(memory, row, {"key": "other key"}, journal)
            assert obstacle_of(refused, "key exists").id == other.id
        assert journal.changes == []

    async def test_only_what_is_still_as_it_was_shown_is_removed(self, memory: Memory) -> None:
        rows = [await made(memory, number) for number in range(4)]
        by_id = {version.id: version for version in await versions(memory, EVERYTHING)}
        shown = [by_id[row.id] for row in rows]
        assert await versions_at(memory, [version.handle for version in shown]) == shown
        await edit(memory, rows[1], {"content": "changed"})
        await delete(memory, [shown[3]])
        count, journal = await memory.count(), JournalRecorder()
        removal = await delete(memory, shown, journal)
        assert (removal.written, removal.cancelled) == (2, False)
        assert (removal.skipped, removal.already) == ([shown[1].id], [shown[3].id])
        assert [change.after for change in journal.memories] == [None, None]
        contents = {change.row.entry().content for change in journal.memories}
        assert contents == {rows[0].entry().content, rows[2].entry().content}
        assert await memory.count() == count - 2

    async def test_a_row_of_another_store_is_stored_as_it_was_shown_before(self, memory: Memory) -> None:
        at = "2026-03-01T10:00:00.123456789+00:00"
        values: dict[str, Value] = {
            "id": "other 1", "key": "other key", "content": "a\0b \udcff c", "category": "core", "created_at": at,
            "updated_at": at, "session_id": "s", "namespace": "n", "importance": 0.7, "mood": "good",
        }  # fmt: skip
        (shown,) = await memory.as_stored([Row("other 1", values)])
        assert (await memory.apply([Change(None, shown)], JournalRecorder())).written == 1
        found = [row for row in await memory.rows(Query(ROWS)) if row.values["content"] == shown.values["content"]]
        assert len(found) == 1
        compared = shown.values.keys() - {"agent_id", *(["id"] if not shown.id else [])}
        compared -= {"key"} if memory.about.keeps_lines else set()
        assert {name: found[0].values.get(name) for name in compared} == {name: shown.values[name] for name in compared}

    async def test_everything_is_undone(self, memory: Memory) -> None:
        before, journal, undone = await restorable(memory), JournalRecorder(), JournalRecorder()
        order = list(await handles_of(memory, EVERYTHING, Sort()))
        row = row_of(await create(memory, Draft("contract key", "content"), journal))
        await edit(memory, row, {"content": "second"}, journal)
        removal = await delete(memory, await versions(memory, EVERYTHING), journal)
        assert removal.written == before.total() + 1
        assert await memory.count() == 0
        shown = await undo(memory, journal.changes[::-1], dry_run=True)
        assert (shown.written, shown.conflict_count, await memory.count()) == (len(journal.memories), 0, 0)
        reversal = await undo(memory, journal.changes[::-1], undone)
        assert reversal.done == len(journal.memories)
        assert {change.reverses for change in undone.changes} == {change.number for change in journal.changes}
        assert not reversal.renamed
        assert await restorable(memory) == before
        if await is_exact(memory):
            assert (list(await handles_of(memory, EVERYTHING, Sort())), reversal.notes) == (order, [])
        again = [change for change in journal.memories[2:] if not change.row.entry().content.endswith("second")]
        assert (await undo(memory, again, undone)).done == len(again)
        assert await restorable(memory) == before


_ONE_LINE_TEXTS = (
    "ピーナッツアレルギーがあります。", "🐸 and the family 👨‍👩‍👧", "[bold red]loud[/bold red] {user} %s",
    "Robert'); DROP TABLE memories; -- \"quoted\" \\ back", "evil \u202egnp.exe\u202c", "Z" + "\u0301" * 40,
    "0123456789 frog" * 70_000,
)  # fmt: skip
"""Texts every store must give back to the letter, the last one of a megabyte."""
_AWKWARD_TEXTS = (
    "two\nlines", "a\r\nb\rc", "\x1b[31mred\x1b[2J", "tab\tand end ", "  indented", "- [ ] a list item", "# x",
    "\u00a0a blank that is none",
)  # fmt: skip
"""Texts that a store of lines may refuse or say it changes, and any other gives back to the letter."""


class VerbsContract(Contract):
    """Tests that each take an open `memory` of a few rows, or none, that may be written."""

    async def test_a_second_store_of_a_key_keeps_id_and_creation_time(self, memory: Memory) -> None:
        if why_fixed(memory, "key"):
            return  # Memories have no keys of their own.
        await memory.store("verbs key", "first", "core")
        first, count = await memory.get("verbs key"), await memory.count()
        await memory.store("verbs key", "second", "daily")
        second = await memory.get("verbs key")
        assert first is not None
        assert second is not None
        assert (second.content, second.category, await memory.count()) == ("second", "daily", count)
        assert (second.id, second.timestamp) == (first.id, first.timestamp)
        assert (second.updated_at or "") >= (first.updated_at or "")

    async def test_recall_finds_what_was_stored_until_it_is_forgotten(self, memory: Memory) -> None:
        before = await state_of(memory)
        await memory.store("verbs key", "the xylophone of Zanzibar", "daily")
        entry = (await memory.recall("xylophone", 5))[0].entry
        (found,) = await memory.rows(Query(ENTRIES, MemoryFilter(contains="XYLOPHONE of")))
        assert (entry.id, entry.content, found.category) == (found.id, found.content, "daily")
        assert await memory.forget(entry.key)
        assert entry.id not in [scored.entry.id for scored in await memory.recall("xylophone", 5)]
        assert not await memory.forget("no such key, surely")
        assert await state_of(memory) == before

    async def test_batches_do_what_one_after_the_other_does(self, memory: Memory) -> None:
        count = await memory.count()
        await fill(memory, [Draft(f"batch {number}", f"batch content {number}", "daily") for number in range(12)])
        await fill(memory, [])
        stored = [entry for entry in await memory.list("daily") if "batch content" in entry.content]
        assert (len(stored), await memory.count()) == (12, count + 12)
        found = await memory.rows(Query(ENTRIES, keys=["no such key, surely", stored[7].key, stored[3].key]))
        assert [entry.id for entry in found] == [stored[7].id, stored[3].id]
        if not why_fixed(memory, "key"):
            await fill(memory, [Draft("batch 3", "older"), Draft("batch 3", "newer")])
            assert [entry.content for entry in await memory.rows(Query(ENTRIES, keys=["batch 3"]))] == ["newer"]
            assert await memory.count() == count + 12

    async def test_awkward_text_comes_back_or_is_refused(self, memory: Memory) -> None:
        for number, text in enumerate((*_ONE_LINE_TEXTS, *_AWKWARD_TEXTS)):
            before = await state_of(memory)
            must_stay = not memory.about.keeps_lines or text in _ONE_LINE_TEXTS
            try:
                done = await create(memory, Draft(f"awkward {number}", text))
            except InspectorError:
                assert not must_stay
                assert await state_of(memory) == before
                continue
            stored = await row_with_id(memory, row_of(done).id)
            assert stored is not None
            assert stored.entry().content.endswith(text) or (not must_stay and done.notes), text

    async def test_thousands_of_memories_are_counted_listed_paged_and_found(self, memory: Memory) -> None:
        before = await memory.count()
        many, page = 5_000, 200
        await self.fill(memory, numbered(many))
        assert await memory.count() == before + many
        bulk, by_key = MemoryFilter(contains="bulk content"), Sort(SortField.KEY, descending=False)
        facets = await count_facets(memory, bulk, NOW.isoformat())
        assert facets.total == sum(facets.by["category"].values()) == many
        seen: list[str] = []
        await memory.scan(lambda row: seen.append(row.id), bulk)
        assert len(seen) == len(set(seen)) == many
        handles = list(await handles_of(memory, bulk, by_key))
        assert len(handles) == many
        part = await memory.rows(Query(EXCERPTS, bulk, by_key, offset=many - page, limit=2 * page))
        assert [entry.handle for entry in part] == handles[-page:]
        found = await memory.recall(f"bulk content {many - 1:05}", 5)
        assert 0 < len(found) <= 5
        assert any("bulk content" in scored.entry.content for scored in found)


NAMES = (
    "vectors", "keyword", "sessions", "agents", "namespaces", "superseded", "pinned", "importance", "kind", "watch",
    "write", "atomic", "zeroclaw_forget", SUPERSEDED_BY, *EDITABLE,
)  # fmt: skip
"""What `why_not` can name."""


class CapabilityContract(Contract):
    """Tests that each take an open `memory`, written or not, with rows or none."""

    async def test_whatever_it_cannot_do_has_a_sentence(self, memory: Memory) -> None:
        for name, why in memory.why_not.items():
            assert name in NAMES
            assert why.strip().endswith((".", "!", "?")), name
            assert "\n" not in why

    async def test_a_field_that_cannot_be_edited_is_refused_with_its_sentence(self, memory: Memory) -> None:
        before, journal = await state_of(memory), JournalRecorder()
        for row in (await memory.rows(Query(ROWS)))[:1]:
            for name in (name for name in EDITABLE if why_fixed(memory, name)):
                error = await raises(edit(memory, row, {name: VALUES[name]}, journal), Refused)
                assert (why_fixed(memory, name) or "") in error.message
        assert (journal.changes, await state_of(memory)) == ([], before)

    async def test_a_read_only_store_refuses_every_write_with_a_reason(self, memory: Memory) -> None:
        if "write" not in memory.why_not:
            return  # The store takes writes.
        before, stamps = await state_of(memory), await versions(memory, EVERYTHING)
        for deed in (
            memory.store("contract_key", "contract content", "core"),
            create(memory, Draft("contract_key", "contract content")),
            delete(memory, stamps),
            memory.apply((), None, dry_run=True),
            *(edit(memory, stamp, {"content": "other"}) for stamp in stamps[:1]),
        ):
            await raises(deed, Refused)
        assert await state_of(memory) == before


class StoreContract(WritableMemoryContract, VerbsContract, CapabilityContract):
    """Tests that each take an open `memory` of their own that may be written and holds a few rows."""


class GoneContract(Contract, ABC):
    """A test that takes an open `memory` that may be written and can go away, as a server or a file can."""

    secrets: tuple[str, ...] = ()
    """What must be in no message: the password of the test's server, its key."""

    @abstractmethod
    async def take_down(self, memory: Memory) -> None:
        """Take the store away: end the server, cut the connection, damage or remove the file."""

    @abstractmethod
    async def bring_up(self, memory: Memory) -> None:
        """Bring it back as it was."""

    async def test_a_store_that_is_missing_is_reported_and_comes_back(self, memory: Memory) -> None:
        await self.fill(memory, numbered(30))
        before, shown, journal = await state_of(memory), await versions(memory, EVERYTHING), JournalRecorder()
        await self.take_down(memory)
        deeds: tuple[Callable[[], Awaitable[object]], ...] = (
            lambda: memory.rows(Query(HANDLES, EVERYTHING, offset=5, limit=5)),
            memory.list,
            memory.count,
            lambda: count_facets(memory, MemoryFilter(), NOW.isoformat()),
            lambda: memory.recall("bulk content", 5),
            lambda: memory.scan(lambda row: None),
            lambda: create(memory, Draft("gone", "gone content"), journal),
            lambda: delete(memory, shown, journal),
            lambda: memory.store("gone", "gone content", "core"),
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            for deed in deeds:
                self._check(await raises(deed(), InspectorError))
            try:
                assert not (await memory.health()).ok
            except InspectorError as error:
                self._check(error)
            await memory.close()
        await self.bring_up(memory)
        async with asyncio.timeout(PATIENCE_SECONDS):
            await memory.open()
        assert await state_of(memory) == before
        assert row_of(await create(memory, Draft("back", "back again")))

    def _check(self, error: InspectorError) -> None:
        assert error.exit_code == NOT_REACHABLE, str(error)
        assert "\n" not in error.message
        for secret in self.secrets:
            assert secret not in str(error)
            assert secret not in repr(error.__cause__)
