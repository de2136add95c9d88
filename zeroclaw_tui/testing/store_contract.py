"""What a store that is written to must hold to, as tests: subclass StoreContract or a part of it, and give it a store.

StoreContract is everything but reading the samples (MemoryContract of contract.py) and going away (GoneContract), which
is for a server or a disk. Hooks of a store are those of `tools.StoreHooks`.
"""

from __future__ import annotations

import asyncio
import threading
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import asynccontextmanager
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.lookup import (
    cached_vector,
    count_facets,
    entry_with_id,
    fill_vectors,
    row_with_id,
    vector_norm,
    versions,
    versions_at,
    whole_entry,
    why_fixed,
)
from zeroclaw_tui.memory.change import (
    SUPERSEDED_BY,
    ApplyResult,
    Change,
    Draft,
    Edit,
    NewVector,
    OnConflict,
    Row,
    RowChange,
    RowVersion,
    Value,
    Vector,
)
from zeroclaw_tui.memory.entry import EDITABLE, MemoryEntry
from zeroclaw_tui.memory.errors import NOT_REACHABLE, InspectorError, Refused, SearchInterrupted, UsageError
from zeroclaw_tui.memory.query import EXCERPTS, HANDLES, NO_SESSION, MemoryFilter, Query, Sort, SortField
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import NEWEST, ScoringSettings, profile_for
from zeroclaw_tui.testing.samples import NOW
from zeroclaw_tui.testing.tools import (
    EVERY,
    PATIENCE_SECONDS,
    JournalRecorder,
    StoreHooks,
    Told,
    create,
    cut,
    delete,
    edit,
    entries_of,
    entries_with_keys,
    fill,
    handles_of,
    numbered,
    raises,
    recall_of,
    row_of,
    soon,
    state_of,
    undo,
)

_SEVERAL, _SEVERAL_ONE_BY_ONE = 600, 300
"""More rows than any backend changes at once; and where each is a change by itself."""


_OTHER_WAYS: tuple[OnConflict, ...] = ("overwrite", "rename")


class WritableMemoryContract(StoreHooks):
    """Tests that each take an open `memory` of a few rows that may be written."""

    async def test_a_new_memory_is_stored_and_kept_before(self, memory: Memory) -> None:
        """Exactly one row more, found by its content; `keep` was given what was then written."""
        count, kept = await memory.count(), JournalRecorder()
        done = await create(memory, Draft("contract key", "contract content"), kept)
        assert await memory.count() == count + 1
        after = row_of(done)
        assert after.entry().content.endswith("contract content")
        assert after.entry().category == "core"
        assert [change.before for change in kept.memories] == [None]
        if self.keeps_rows_exactly:
            assert [change.after for change in kept.memories] == [after]
        stored = await row_with_id(memory, after.id)
        assert stored is not None
        assert stored.fingerprint == after.fingerprint
        whole = await entry_with_id(memory, after.id)
        assert whole is not None
        assert whole.content == after.entry().content

    async def test_fields_of_a_draft_are_stored_or_told(self, memory: Memory) -> None:
        """A field that cannot be kept is refused, or has a sentence in the notes."""
        fields = {"category": "projects", "session_id": "telegram_2", "namespace": "work", "importance": 0.75}
        for name, value in (fields | {"pinned": True}).items():
            draft: dict[str, Any] = {"key": f"{name} key", "content": "content", name: value}
            try:
                done = await create(memory, Draft(**draft), JournalRecorder())
            except Refused as refusal:
                told = bool(refusal.message)
            else:
                told = bool(done.notes) or getattr(row_of(done).entry(), name) == value
            assert told, name

    async def test_what_no_memory_can_be_is_refused(self, memory: Memory) -> None:
        """A blank key, content or category: one sentence, nothing kept, nothing changed."""
        before, kept = await state_of(memory), JournalRecorder()
        for draft in (Draft(" ", "content"), Draft("key", "\n "), Draft("key", "content", " ")):
            await raises(create(memory, draft, kept), UsageError)
        assert kept.changes == []
        assert await state_of(memory) == before

    async def test_a_key_that_is_taken_is_refused_or_replaced(self, memory: Memory) -> None:
        """Without `replace` the row there is named and stays; with it the row keeps its id."""
        if why_fixed(memory, "key"):
            return  # Keys cannot be edited.
        first = row_of(await create(memory, Draft("contract key", "first"), JournalRecorder()))
        count, kept = await memory.count(), JournalRecorder()
        refused = await create(memory, Draft("contract key", "second"), kept)
        assert _obstacle(refused, "key exists").id == first.id
        assert kept.changes == []
        second = row_of(await create(memory, Draft("contract key", "second"), kept, replace=True))
        assert (second.id, second.entry().content) == (first.id, "second")
        assert [change.before for change in kept.memories] == [first]
        assert await memory.count() == count

    async def test_an_edit_changes_what_it_names(self, memory: Memory) -> None:
        """Each field that can be edited, one after the other; the other fields and the creation time stay."""
        row = await self._made(memory)
        values: dict[str, Value] = {
            "content": "new content", "key": "new key", "category": "projects", "session_id": "telegram_2",
            "importance": 0.25, "pinned": 1, "namespace": "work",
        }  # fmt: skip
        for name in (name for name in EDITABLE if not why_fixed(memory, name)):
            kept = JournalRecorder()
            done = await edit(memory, row, {name: values[name]}, kept)
            before, row = row.entry(), row_of(done)
            assert getattr(row.entry(), name) == values[name]
            assert row.entry().timestamp == before.timestamp or not self.keeps_rows_exactly
            for other in set(values) - {name}:
                assert getattr(row.entry(), other) == getattr(before, other), (name, other)
            assert len(kept.memories) == 1
            if self.keeps_rows_exactly:
                assert kept.memories[0].after == row

    async def test_a_field_that_cannot_be_edited_has_a_reason(self, memory: Memory) -> None:
        """An edit of it changes nothing of the row's content and says why."""
        row = await self._made(memory)
        others: dict[str, Value] = {"key": "x", "category": "x", "session_id": "x", "namespace": "x", "importance": 0.1}
        for name, value in others.items():
            if why_fixed(memory, name):
                kept = JournalRecorder()
                try:
                    done = await edit(memory, row, {name: value}, kept)
                except Refused as refusal:
                    told = bool(refusal.message) and not kept.changes
                else:
                    told, row = bool(done.notes), row_of(done)
                assert told, name

    async def test_an_edit_of_a_row_that_changed_shows_what_it_is_now(self, memory: Memory) -> None:
        """A wrong fingerprint is a Conflict with the present row, an unknown id is NotFound; nothing is kept."""
        row, kept = await self._made(memory), JournalRecorder()
        newer = row_of(await edit(memory, row, {"content": "theirs"}, JournalRecorder()))
        state = await state_of(memory)
        refused = await edit(memory, row, {"content": "mine"}, kept)
        assert _obstacle(refused, "changed").fingerprint == newer.fingerprint
        missing = Row("no such id", {**row.values, "id": "no such id", "key": "no such key"}, "no such id")
        refused = await edit(memory, missing, {"content": "mine"}, kept)
        assert [(one.reason, one.existing) for one in refused.conflicts] == [("deleted", None)]
        assert kept.changes == []
        assert await state_of(memory) == state

    async def test_an_edit_to_what_is_there_already_changes_nothing(self, memory: Memory) -> None:
        """Nothing is kept, so that nothing can be undone."""
        row, kept = await self._made(memory), JournalRecorder()
        done = await edit(memory, row, {"content": row.entry().content}, kept)
        assert kept.changes == []
        assert row_of(done).fingerprint == row.fingerprint

    async def test_an_edit_to_the_key_of_another_is_refused(self, memory: Memory) -> None:
        """The other row is named, and both stay."""
        if why_fixed(memory, "key"):
            return  # Keys cannot be edited.
        row, kept = await self._made(memory), JournalRecorder()
        other = row_of(await create(memory, Draft("other key", "other"), JournalRecorder()))
        refused = await edit(memory, row, {"key": "other key"}, kept)
        assert _obstacle(refused, "key exists").id == other.id
        assert kept.changes == []

    async def test_only_what_is_still_as_it_was_shown_is_removed(self, memory: Memory) -> None:
        """A row that changed is left and told, one that went is told, the rest goes; each was kept whole."""
        made = [await self._made(memory, number) for number in range(4)]
        stamps = await self._stamps(memory, made)
        await edit(memory, made[1], {"content": "changed"}, JournalRecorder())
        await delete(memory, [stamps[3]], JournalRecorder())
        before, kept = await state_of(memory), JournalRecorder()
        removal = await delete(memory, stamps, kept)
        assert removal.written == 2
        assert removal.skipped == (stamps[1].id,)
        assert removal.already == (stamps[3].id,)
        assert not removal.cancelled
        assert [change.after for change in kept.memories] == [None, None]
        contents = {change.row.entry().content for change in kept.memories}
        assert contents == {made[0].entry().content, made[2].entry().content}
        assert await memory.count() == sum(before.values()) - 2

    async def test_a_dry_run_shows_the_row_and_writes_nothing(self, memory: Memory) -> None:
        """A new memory, an edit and a deletion: the rows as they would be, and the store as it was."""
        row, state, journal = await self._made(memory), await state_of(memory), JournalRecorder()
        draft = Change(None, Draft("dry key", "dry content", "daily"))
        changes = [draft, Change(row, Edit({"content": "edited"})) if not why_fixed(memory, "content") else draft]
        result = await memory.apply(changes, journal, on_conflict="overwrite", dry_run=True)
        assert result.written == 2
        assert result.rows[0].entry().content.endswith("dry content")
        assert (await memory.apply([Change(row, None)], journal, dry_run=True)).written == 1
        assert (journal.changes, await state_of(memory)) == ([], state)

    async def test_two_memories_exchange_their_keys_and_undo_exchanges_them_again(self, memory: Memory) -> None:
        """In one set of changes each takes the key that the other one leaves."""
        if why_fixed(memory, "key"):
            return  # Keys cannot be edited.
        first, second = await self._made(memory, 1), await self._made(memory, 2)
        before, journal = await self._as_far_as_kept(memory), JournalRecorder()
        changes = [Change(first, Edit({"key": second.key})), Change(second, Edit({"key": first.key}))]
        assert (await memory.apply(changes, journal, on_conflict="refuse")).written == 2
        contents = {entry.key: entry.content for entry in await memory.list()}
        assert contents[first.key] == second.entry().content
        assert contents[second.key] == first.entry().content
        assert (await undo(memory, journal.changes[::-1])).done == 2
        assert await self._as_far_as_kept(memory) == before

    async def test_where_nothing_can_be_kept_nothing_changes(self, memory: Memory) -> None:
        """A journal that cannot be written stops a store, an edit, a removal and an undo before they begin."""
        row, kept, full = await self._made(memory), JournalRecorder(), JournalRecorder()
        await edit(memory, row, {"content": "second"}, kept)
        now = await row_with_id(memory, row.id)
        assert now is not None
        state, full.fails = await state_of(memory), True
        stamps = await versions(memory, EVERY)
        for deed in (
            create(memory, Draft("another key", "content"), full),
            edit(memory, now, {"content": "third"}, full),
            delete(memory, stamps, full),
            undo(memory, kept.changes[::-1], full),
        ):
            assert (await raises(deed, Refused)).message == "The disk is full."
        assert await state_of(memory) == state
        ends = EndingJournal()
        for deed in (create(memory, Draft("another key", "content"), ends), delete(memory, stamps, ends)):
            await raises(deed, Refused)
            assert ends.changes
            assert await state_of(memory) == state

    async def test_everything_is_taken_back(self, memory: Memory) -> None:
        """A store, edits and a removal of everything, taken back: every memory is as it was, and so is its order."""
        before, order, kept = (
            await state_of(memory),
            list(await handles_of(memory, EVERY, Sort())),
            JournalRecorder(),
        )
        row = row_of(await create(memory, Draft("contract key", "content"), kept))
        await edit(memory, row, {"content": "second"}, kept)
        removal = await delete(memory, await versions(memory, EVERY), kept)
        assert removal.written == sum(before.values()) + 1
        assert await memory.count() == 0
        undone, gone = JournalRecorder(), await state_of(memory)
        foreseen = await undo(memory, kept.changes[::-1], dry_run=True)
        assert (foreseen.written, foreseen.conflict_count, foreseen.conflicts) == (len(kept.memories), 0, ())
        assert await state_of(memory) == gone
        reversal = await undo(memory, kept.changes[::-1], undone)
        assert reversal.done == len(kept.memories)
        assert {change.reverses for change in undone.changes} == {change.number for change in kept.changes}
        assert not reversal.renamed
        assert await self._as_far_as_kept(memory) == cut(before, self.keeps_rows_exactly)
        if self.keeps_rows_exactly:
            assert list(await handles_of(memory, EVERY, Sort())) == order
            assert not reversal.notes
        again = [change for change in kept.memories[2:] if not change.row.entry().content.endswith("second")]
        assert (await undo(memory, again, undone)).done == len(again)
        assert await self._as_far_as_kept(memory) == cut(before, self.keeps_rows_exactly)

    async def test_a_row_that_changed_since_is_not_overwritten_unasked(self, memory: Memory) -> None:
        """Refused with both named and nothing done; `overwrite` brings the old text back, `rename` puts it beside."""
        for on_conflict in _OTHER_WAYS:
            kept = JournalRecorder()
            row = row_of(await create(memory, Draft(f"{on_conflict} key", f"first {on_conflict}"), JournalRecorder()))
            await create(memory, Draft(f"{on_conflict} neighbour", f"next {on_conflict}"), JournalRecorder())
            mine = row_of(await edit(memory, row, {"content": f"mine {on_conflict}"}, kept))
            await edit(memory, mine, {"content": f"theirs {on_conflict}"}, JournalRecorder())
            state = await state_of(memory)
            refused = await undo(memory, kept.changes[::-1])
            assert (refused.written, refused.conflict_count, refused.conflicts[0].reason) == (0, 1, "changed")
            assert await state_of(memory) == state
            reversal = await self._as_foreseen(memory, kept, on_conflict, refused)
            assert reversal.done == 1
            contents = [entry.content for entry in await memory.list()]
            assert any(content.endswith(f"first {on_conflict}") for content in contents)
            assert any(content.endswith(f"theirs {on_conflict}") for content in contents) == (on_conflict == "rename")

    async def test_a_key_that_exists_again_is_named(self, memory: Memory) -> None:
        """A deleted memory whose key was stored anew: refused, put in its place, or put back beside it."""
        if why_fixed(memory, "key"):
            return  # Keys cannot be edited.
        expected = ({"key": "old"}, {"key": "new", "key (restored)": "old"})
        for on_conflict, wanted in zip(_OTHER_WAYS, expected, strict=True):
            kept = JournalRecorder()
            made = row_of(await create(memory, Draft("key", "old"), JournalRecorder(), replace=True))
            await delete(memory, await self._stamps(memory, [made]), kept)
            await create(memory, Draft("key", "new"), JournalRecorder())
            refused = await undo(memory, kept.changes[::-1])
            assert refused.conflicts[0].reason in ("key exists", "changed")
            reversal = await self._as_foreseen(memory, kept, on_conflict, refused)
            assert dict(reversal.renamed) == ({"key": "key (restored)"} if on_conflict == "rename" else {})
            found = {entry.key: entry.content for entry in await memory.list() if entry.key.startswith("key")}
            assert found == wanted

    async def test_a_long_removal_can_be_stopped_and_a_long_undo_too(self, memory: Memory) -> None:
        """`on_progress` is told more and more; after False the rest stays. What was done can be taken back."""
        several = self.many(memory, _SEVERAL, _SEVERAL_ONE_BY_ONE)
        await self.fill(memory, numbered(several))
        stamps = [stamp for stamp in await versions(memory, EVERY) if stamp.size and await self._is_bulk(memory, stamp)]
        assert len(stamps) == several
        before, kept, told = await state_of(memory), JournalRecorder(), Told()
        removal = await delete(memory, stamps, kept, on_progress=told)
        assert removal.cancelled
        assert 0 < removal.written < several
        assert len(kept.memories) == removal.written
        assert await memory.count() == sum(before.values()) - removal.written
        assert told.counts[-1] == removal.written
        told.goes_on = True
        rest = await delete(memory, stamps[removal.written :], kept, on_progress=told)
        assert removal.written + rest.written == several
        undone = JournalRecorder()
        reversal = await undo(memory, kept.changes[::-1], undone, on_conflict="skip", on_progress=lambda done: False)
        assert reversal.cancelled
        assert 0 < reversal.done < several
        await undo(memory, kept.changes[::-1], undone)
        assert await self._as_far_as_kept(memory) == cut(before, self.keeps_rows_exactly)

    async def test_forgetting_a_key_takes_that_memory_and_no_other(self, memory: Memory) -> None:
        """True once, and False when there is nothing of that key."""
        before = await state_of(memory)
        row = await self._made(memory)
        assert await memory.forget(row.entry().key)
        assert await state_of(memory) == before
        assert not await memory.forget("no such key, surely")
        assert await state_of(memory) == before

    async def _as_foreseen(
        self, memory: Memory, kept: JournalRecorder, on_conflict: OnConflict, refused: ApplyResult
    ) -> ApplyResult:
        """Undo what was journaled, as a dry run said before, which found the same conflicts and did nothing."""
        state = await state_of(memory)
        for way in ("refuse", on_conflict):
            foreseen = await undo(memory, kept.changes[::-1], on_conflict=way, dry_run=True)
            assert [found.words for found in foreseen.conflicts] == [found.words for found in refused.conflicts]
            assert foreseen.conflict_count == len(refused.conflicts)
            assert foreseen.written == (0 if way == "refuse" else len(kept.memories))
        assert await state_of(memory) == state
        reversal = await undo(memory, kept.changes[::-1], JournalRecorder(), on_conflict=on_conflict)
        assert (foreseen.written, foreseen.renamed) == (reversal.done, reversal.renamed)
        assert set(foreseen.notes) <= set(reversal.notes)
        return reversal

    async def _made(self, memory: Memory, number: int = 0) -> Row:
        return row_of(await create(memory, Draft(f"made {number}", f"made content {number}"), JournalRecorder()))

    async def _stamps(self, memory: Memory, rows: Sequence[Row]) -> list[RowVersion]:
        by_id = {stamp.id: stamp for stamp in await versions(memory, EVERY)}
        stamps = [by_id[row.id] for row in rows]
        handles = [stamp.handle for stamp in stamps]
        assert await versions_at(memory, handles) == stamps
        return stamps

    async def _is_bulk(self, memory: Memory, stamp: RowVersion) -> bool:
        return stamp.key.startswith("bulk") or "bulk content" in (await whole_entry(memory, stamp.handle)).content

    async def _as_far_as_kept(self, memory: Memory) -> Counter[tuple[Any, ...]]:
        return cut(await state_of(memory), self.keeps_rows_exactly)


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


def _obstacle(result: ApplyResult, reason: str) -> Row:
    """The row that a refused change met; nothing was written."""
    (conflict,) = result.conflicts
    assert (result.written, conflict.reason) == (0, reason)
    assert conflict.existing is not None
    return conflict.existing


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
        found = await handles_of(memory, MemoryFilter(contains="verbs content"), Sort())
        assert list(found) == [entry.handle]
        assert (await count_facets(memory, EVERY, NOW.isoformat())).category["daily"] >= 1
        if self.has_keys:
            got = await memory.get("verbs key")
            assert got is not None
            assert (got.id, got.content, got.key) == (entry.id, "verbs content", "verbs key")

    async def test_a_second_store_of_a_key_keeps_id_and_creation_time(self, memory: Memory) -> None:
        """The content, the category and the time of the last change are new; there is still one memory."""
        if not self.has_keys:
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

    async def test_a_session_is_kept_or_the_reason_is_told(self, memory: Memory) -> None:
        """A session stored is one that filters and facets know; a store without has its sentence."""
        await memory.store("verbs key", "verbs content", "core", "telegram_2")
        entry = await self._the_one(memory, "verbs content")
        if "sessions" in memory.why_not:
            assert entry.session_id is None
            return
        assert entry.session_id == "telegram_2"
        assert "verbs content" in [found.content for found in await memory.list(session_id="telegram_2")]
        assert ((await count_facets(memory, EVERY, NOW.isoformat())).session or {}).get("telegram_2") == 1
        assert entry.handle not in (await handles_of(memory, MemoryFilter(session=(NO_SESSION,)), Sort()))

    async def test_recall_finds_what_was_stored_until_it_is_forgotten(self, memory: Memory) -> None:
        """The word of a memory leads to it, and to nothing once it is gone."""
        await memory.store("verbs key", "the xylophone of Zanzibar", "core")
        found = await memory.recall("xylophone", 5)
        assert [scored.entry.content for scored in found][:1] == [(await self._the_one(memory, "xylophone")).content]
        entry = found[0].entry
        assert await memory.forget(entry.key)
        assert entry.id not in [scored.entry.id for scored in await memory.recall("xylophone", 5)]
        assert await memory.get(entry.key) is None or not self.has_keys

    async def test_batches_do_what_one_after_the_other_does(self, memory: Memory) -> None:
        """One set of changes stores all, the last of a key wins; `rows` gives what is there in the order asked."""
        count = await memory.count()
        drafts = [Draft(f"batch {number}", f"batch content {number}", "daily") for number in range(12)]
        await fill(memory, drafts)
        await fill(memory, [])
        assert await memory.count() == count + 12
        stored = [entry for entry in await memory.list() if "batch content" in entry.content]
        assert {entry.category for entry in stored} == {"daily"}
        if not self.has_keys:
            keys = [entry.key for entry in stored]
            assert [entry.id for entry in await entries_with_keys(memory, keys)] == [entry.id for entry in stored]
            return
        got = await entries_with_keys(memory, ["batch 7", "no such key, surely", "batch 3"])
        assert [entry.content for entry in got] == ["batch content 7", "batch content 3"]
        await fill(memory, [Draft("batch 3", "older"), Draft("batch 3", "newer")])
        assert [entry.content for entry in await entries_with_keys(memory, ["batch 3"])] == ["newer"]
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
                done = await create(memory, Draft(f"awkward {number}", text), JournalRecorder())
            except InspectorError:
                assert not self.keeps_every_text
                assert await state_of(memory) == before
                continue
            stored = await row_with_id(memory, row_of(done).id)
            assert stored is not None
            is_kept = stored.entry().content.endswith(text)
            assert is_kept or (not self.keeps_every_text and done.notes), text

    async def test_a_megabyte_is_a_memory_like_any_other(self, memory: Memory) -> None:
        """Stored, listed as an excerpt, read whole, edited and removed."""
        content = ("0123456789 frog" * (MEGABYTE // 15 + 1))[:MEGABYTE]
        await memory.store("megabyte", content, "core")
        entry = await self._the_one(memory, content)
        assert entry.size >= MEGABYTE
        assert (await whole_entry(memory, entry.handle)).content.endswith(content)
        row = await row_with_id(memory, entry.id)
        assert row is not None
        if not why_fixed(memory, "content"):
            done = await edit(memory, row, {"content": "short again"}, JournalRecorder())
            assert row_of(done).entry().content.endswith("short again")
            entry = await self._the_one(memory, "short again")
        assert (await delete(memory, await versions_at(memory, [entry.handle]), JournalRecorder())).written == 1

    async def test_empty_content_is_kept_as_it_is_or_refused_in_a_sentence(self, memory: Memory) -> None:
        """ZeroClaw's verb may store it; a person's store is refused. Neither says it did what it did not."""
        before, count = await state_of(memory), await memory.count()
        await raises(create(memory, Draft("empty", ""), JournalRecorder()), InspectorError)
        assert await state_of(memory) == before
        try:
            await memory.store("empty", "", "core")
        except InspectorError:
            assert await state_of(memory) == before
        else:
            assert await memory.count() == count + 1

    async def _the_one(self, memory: Memory, content: str) -> MemoryEntry:
        """The one memory whose content ends or begins so."""
        found = [entry for entry in await memory.list() if entry.content.endswith(content) or content in entry.content]
        assert len(found) == 1
        return found[0]


_PAGE = 200


class ManyRowsContract(StoreHooks):
    """Tests that each take an open `memory` of a few rows, or none, that may be written."""

    async def test_thousands_of_memories_are_counted_listed_paged_and_found(self, memory: Memory) -> None:
        """Count, facets, listing, pages and recall over them agree with what was stored."""
        many = self.many(memory, 5_000, 500)
        before = await memory.count()
        await self.fill(memory, numbered(many))
        assert await memory.count() == before + many
        bulk = MemoryFilter(contains="bulk content")
        assert len(await handles_of(memory, bulk, Sort())) == many
        facets = await count_facets(memory, bulk, NOW.isoformat())
        assert facets.total == many
        assert sum(facets.category.values()) == many
        seen: list[str] = []
        await memory.scan(lambda row: seen.append(row.id), bulk)
        assert len(seen) == len(set(seen)) == many
        by_key = Sort(SortField.KEY, descending=False)
        part = await memory.rows(Query(EXCERPTS, bulk, by_key, offset=many - _PAGE, limit=2 * _PAGE))
        assert [entry.handle for entry in part] == list(await handles_of(memory, bulk, by_key))[-_PAGE:]
        found = await memory.recall(f"bulk content {many - 1:05}", 5)
        assert 0 < len(found) <= 5
        assert any("bulk content" in scored.entry.content for scored in found)


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
                        create(writer, Draft(f"{name} {number}", f"{name} content {number}"), JournalRecorder())
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
        if why_fixed(memory, "content"):
            return  # Contents cannot be edited.
        async with self._neighbour(memory) as other:
            row = row_of(await create(memory, Draft("shared", "first"), JournalRecorder()))
            edits = [
                edit(writer, row, {"content": f"by {name}"}, JournalRecorder())
                for name, writer in (("me", memory), ("them", other))
            ]
            done = await soon(asyncio.gather(*edits))
            assert sorted(result.written for result in done) == [0, 1]
            first, second = sorted(done, key=lambda result: result.conflict_count)
            assert _obstacle(second, "changed").entry().content == row_of(first).entry().content
            for reader in (memory, other):
                contents = [entry.content for entry in await reader.list()]
                assert sum(content.endswith(("by me", "by them")) for content in contents) == 1

    async def test_what_a_neighbour_writes_before_the_write_is_not_lost(self, memory: Memory) -> None:
        """It edits a memory between the comparison and the write of a deletion: one of the two is a conflict."""
        if why_fixed(memory, "content") or "atomic" in memory.why_not:
            return  # Contents cannot be edited, or the store cannot compare and write in one step.
        async with self._neighbour(memory) as other:
            row = row_of(await create(memory, Draft("shared", "first")))
            racing = RacingJournal(edit(other, row, {"content": "theirs"}))
            deleted = await soon(delete(memory, [row], racing))
            edited = await soon(racing.result())
            assert (deleted.written, edited.written) in ((0, 1), (1, 0))
            contents = [entry.content for entry in await other.list() if entry.content in ("first", "theirs")]
            assert contents == ["theirs"] * edited.written

    async def test_of_two_stores_of_one_new_key_one_is_told_that_it_is_taken(self, memory: Memory) -> None:
        """There is one memory of that key afterwards."""
        if not self.has_keys:
            return  # Memories have no keys of their own.
        async with self._neighbour(memory) as other:
            count = await memory.count()
            drafts = [
                create(writer, Draft("same key", name), JournalRecorder())
                for name, writer in (("a", memory), ("b", other))
            ]
            done = await soon(asyncio.gather(*drafts))
            assert sorted(result.written for result in done) == [0, 1]
            assert [conflict.reason for result in done for conflict in result.conflicts] == ["key exists"]
            assert await other.count() == count + 1

    async def test_rows_both_remove_go_once(self, memory: Memory) -> None:
        """What one removed the other tells as gone; both together removed each row once, and it comes back once."""
        async with self._neighbour(memory) as other:
            for number in range(_EACH):
                await create(memory, Draft(f"both {number}", f"both content {number}"), JournalRecorder())
            before, stamps = await state_of(memory), await versions(memory, EVERY)
            mine, theirs = JournalRecorder(), JournalRecorder()
            done = await soon(asyncio.gather(delete(memory, stamps, mine), delete(other, stamps, theirs)))
            assert sum(result.written for result in done) == len(stamps)
            assert await other.count() == 0
            for kept in (mine, theirs):
                await undo(memory, kept.changes[::-1], JournalRecorder())
            assert sum((await state_of(other)).values()) == sum(before.values())

    @asynccontextmanager
    async def _neighbour(self, memory: Memory) -> AsyncIterator[Memory]:
        other = await self.another(memory)
        try:
            yield other
        finally:
            if other is not memory:
                await other.close()


_CANCELLED = 300


class CancelContract(StoreHooks):
    """Tests that each take an open `memory` of a few rows, or none, that may be written."""

    async def test_a_pass_that_is_cancelled_ends_and_the_store_answers(self, memory: Memory) -> None:
        """Cancelled at its first row, a pass over every row ends; the next one shows them all."""
        await self.fill(memory, numbered(_CANCELLED))
        count, canceller = await memory.count(), Canceller()

        def see(row: Row) -> None:
            canceller.cancel()

        await canceller.run(memory.scan(see))
        seen: list[str] = []
        await soon(memory.scan(lambda row: seen.append(row.id)))
        assert len(seen) == count

    async def test_a_search_that_is_cancelled_can_be_asked_again(self, memory: Memory) -> None:
        """The same search gives the same rows afterwards."""
        await self.fill(memory, numbered(_CANCELLED))
        profile = profile_for(memory.about.newest_version or NEWEST)

        def searching() -> Coroutine[Any, Any, Any]:
            return recall_of(memory, RecallRequest("bulk content 00007"), profile, ScoringSettings())

        wanted = [scored.entry.id for scored in (await soon(searching())).entries]
        task = asyncio.ensure_future(searching())
        await asyncio.sleep(0)
        task.cancel()
        await soon(_ended(task))
        assert [scored.entry.id for scored in (await soon(searching())).entries] == wanted

    async def test_a_removal_that_is_cancelled_can_be_taken_back(self, memory: Memory) -> None:
        """Whatever went had been kept; undo gives every memory back."""
        await self.fill(memory, numbered(_CANCELLED))
        before, kept = await state_of(memory), CancellingJournal()
        await kept.canceller.run(delete(memory, await versions(memory, EVERY), kept))
        left = {row.content for row in await entries_of(memory, EVERY)}
        assert {row[1] for row in before} - left <= {change.row.entry().content for change in kept.memories}
        await soon(undo(memory, kept.changes[::-1], JournalRecorder()))
        assert cut(await state_of(memory), self.keeps_rows_exactly) == cut(before, self.keeps_rows_exactly)

    async def test_a_store_that_is_cancelled_is_done_or_not_done(self, memory: Memory) -> None:
        """There is the new memory or none, and undo leaves none."""
        before, kept = await state_of(memory), CancellingJournal()
        await kept.canceller.run(create(memory, Draft("cancelled", "cancelled content"), kept))
        now = await state_of(memory)
        assert sum(now.values()) - sum(before.values()) in (0, 1)
        await soon(undo(memory, kept.changes[::-1], JournalRecorder()))
        assert cut(await state_of(memory), self.keeps_rows_exactly) == cut(before, self.keeps_rows_exactly)

    async def test_an_edit_that_is_cancelled_is_done_or_not_done(self, memory: Memory) -> None:
        """The old text stands there or the new one, and undo leaves the old."""
        if why_fixed(memory, "content"):
            return  # Contents cannot be edited.
        row = row_of(await create(memory, Draft("cancelled", "old text"), JournalRecorder()))
        kept = CancellingJournal()
        await kept.canceller.run(edit(memory, row, {"content": "new text"}, kept))
        ends = [entry.content for entry in await memory.list() if entry.content.endswith(("old text", "new text"))]
        assert len(ends) == 1
        await soon(undo(memory, kept.changes[::-1], JournalRecorder()))
        assert [entry.content for entry in await memory.list() if entry.content.endswith(" text")] == [
            row.entry().content
        ]

    async def test_what_is_cancelled_before_it_began_changed_nothing(self, memory: Memory) -> None:
        """A write that waits for another can be cancelled; the other one is done."""
        before, kept = await state_of(memory), JournalRecorder()
        deeds = [asyncio.ensure_future(create(memory, Draft(f"n {n}", f"content {n}"), kept)) for n in range(6)]
        for deed in deeds[1::2]:
            deed.cancel()
        for deed in deeds:
            await soon(_ended(deed))
        stored = {entry.content[-1] for entry in await memory.list() if "content " in entry.content}
        assert {"0", "2", "4"} <= stored
        await soon(undo(memory, kept.changes[::-1], JournalRecorder()))
        assert cut(await state_of(memory), self.keeps_rows_exactly) == cut(before, self.keeps_rows_exactly)


class Canceller:
    """Cancels what it runs, from whichever thread; the thread goes on only when that has arrived."""

    def __init__(self) -> None:
        self._task: asyncio.Task[Any] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread = 0
        self._arrived = threading.Event()

    async def run(self, deed: Coroutine[Any, Any, Any]) -> None:
        """Run it to its end, which is its own or that of being cancelled."""
        self._loop, self._thread = asyncio.get_running_loop(), threading.get_ident()
        self._task = asyncio.ensure_future(deed)
        await soon(_ended(self._task))

    def cancel(self) -> None:
        """Once: cancel it."""
        if self._task is None or self._loop is None or self._arrived.is_set():
            return
        if threading.get_ident() == self._thread:
            self._task.cancel()
            self._arrived.set()
            return
        self._loop.call_soon_threadsafe(self._arrive)
        assert self._arrived.wait(PATIENCE_SECONDS), "the event loop is held up"

    def _arrive(self) -> None:
        if self._task is not None:
            self._task.cancel()
        self._arrived.set()


class EndingJournal(JournalRecorder):
    """Records, and fails after that: the batch does not get any further."""

    def record(self, changes: Sequence[RowChange]) -> None:
        """Add some, then fail."""
        super().record(changes)
        raise Refused("The program ends here.")


class RacingJournal(JournalRecorder):
    """Starts what another program does as soon as a batch is recorded."""

    def __init__(self, deed: Coroutine[Any, Any, ApplyResult]) -> None:
        super().__init__()
        self._deed, self._loop = deed, asyncio.get_running_loop()
        self._running: Future[ApplyResult] | None = None

    def record(self, changes: Sequence[RowChange]) -> None:
        """Add some, and start it the first time."""
        super().record(changes)
        if self._running is None:
            self._running = asyncio.run_coroutine_threadsafe(self._deed, self._loop)

    async def result(self) -> ApplyResult:
        """What it came to."""
        assert self._running is not None
        return await asyncio.wrap_future(self._running)


class CancellingJournal(JournalRecorder):
    """Records, and cancels what is being done as soon as something has been recorded."""

    def __init__(self) -> None:
        super().__init__()
        self.canceller = Canceller()

    def record(self, changes: Sequence[RowChange]) -> None:
        """Add some, then cancel."""
        super().record(changes)
        self.canceller.cancel()


async def _ended(task: asyncio.Future[Any]) -> None:
    try:
        await task
    except (asyncio.CancelledError, SearchInterrupted):
        assert task.done()


NAMES = (
    "vectors", "keyword", "sessions", "agents", "namespaces", "superseded", "pinned", "importance", "kind", "watch",
    "write", "atomic", "zeroclaw_forget", SUPERSEDED_BY, *EDITABLE,
)  # fmt: skip
"""What `why_not` can name."""
VALUES: dict[str, Value] = {
    "content": "other", "key": "other key", "category": "other", "session_id": "other", "importance": 0.25, "pinned": 1,
    "namespace": "other",
}  # fmt: skip


class CapabilityContract(StoreHooks):
    """Tests that each take an open `memory`, written or not, with rows or none."""

    async def test_whatever_it_cannot_do_has_a_sentence(self, memory: Memory) -> None:
        """Everything in `why_not` has a name that is asked for, and one sentence."""
        for name, why in memory.why_not.items():
            assert name in NAMES
            assert why.strip().endswith((".", "!", "?")), name
            assert "\n" not in why

    async def test_a_field_that_cannot_be_edited_is_refused_with_its_sentence(self, memory: Memory) -> None:
        """The edit changes nothing and keeps nothing."""
        stamps = await versions(memory, EVERY)
        if not stamps:
            return  # There are no rows.
        before, row = await state_of(memory), await row_with_id(memory, stamps[0].id)
        assert row is not None
        for name in EDITABLE:
            if not (why := why_fixed(memory, name)):
                continue
            kept = JournalRecorder()
            error = await raises(edit(memory, row, {name: VALUES[name]}, kept), Refused)
            assert why in error.message
            assert kept.changes == []
        assert await state_of(memory) == before

    async def test_vectors_that_cannot_be_kept_are_refused(self, memory: Memory) -> None:
        """Filling in a vector says why it cannot be; a store without vectors counts none."""
        if "vectors" not in memory.why_not:
            return  # The store has vectors.
        stamps = await versions(memory, EVERY)
        vector = Vector(bytes(16), "a test", "a test")
        vectors = [NewVector(stamp.id, stamp.state, vector) for stamp in stamps[:1]]
        if vectors:
            await raises(fill_vectors(memory, vectors), InspectorError)
            assert await vector_norm(memory, stamps[0].handle) is None
        assert await cached_vector(memory, "any text") is None

    async def test_a_facet_it_does_not_have_is_none_and_not_zero(self, memory: Memory) -> None:
        """Sessions, agents and namespaces are counted only where the store has them."""
        facets = await count_facets(memory, EVERY, NOW.isoformat())
        assert (facets.session is None) == ("sessions" in memory.why_not)
        assert (facets.agent is None) == ("agents" in memory.why_not)
        assert (facets.namespace is None) == ("namespaces" in memory.why_not)
        assert facets.total == len(await handles_of(memory, EVERY, Sort()))

    async def test_a_store_without_agents_takes_none(self, memory: Memory) -> None:
        """A memory for an agent is refused or told, never put under everybody's as if that were the same."""
        if "agents" not in memory.why_not or "write" in memory.why_not:
            return  # The store has agents or takes no writes.
        before = await state_of(memory)
        try:
            done = await create(memory, Draft("of ada", "content of ada", agent="ada"), JournalRecorder())
        except InspectorError:
            assert await state_of(memory) == before
        else:
            assert done.notes or row_of(done).agent == "ada"

    async def test_a_filter_of_what_it_does_not_have_leaves_nothing_by_mistake(self, memory: Memory) -> None:
        """Asking for one agent's rows of a store without agents does not give everybody's."""
        if "agents" not in memory.why_not:
            return  # The store has agents.
        assert len(await handles_of(memory, MemoryFilter(agent=("no such agent",)), Sort())) == 0


class StoreContract(
    WritableMemoryContract, VerbsContract, ManyRowsContract, TwoWritersContract, CancelContract, CapabilityContract
):
    """Tests that each take an open `memory` of their own that may be written and holds a few rows."""


_ROWS = 30


class GoneContract(StoreHooks, ABC):
    """Tests that each take an open `memory` that may be written. `break_it` and `mend_it` have to be given.

    A store that lives in this process alone cannot go away and needs none of this.
    """

    secrets: tuple[str, ...] = ()
    """What must stand in no message: the password of the test's server, its key."""

    @abstractmethod
    async def break_it(self, memory: Memory) -> None:
        """Take the store away: end the server, cut the connection, damage or remove the file."""

    @abstractmethod
    async def mend_it(self, memory: Memory) -> None:
        """Bring it back as it was."""

    async def test_a_store_that_is_gone_is_reported_and_comes_back(self, memory: Memory) -> None:
        """Each reading verb ends in one sentence and exit code 3; mended and opened again, all is as it was."""
        await self.fill(memory, numbered(_ROWS))
        before, stamp = await state_of(memory), (await versions(memory, EVERY))[0]
        sort = Sort(SortField.KEY)
        await self.break_it(memory)
        reading: tuple[Callable[[], Awaitable[object]], ...] = (
            lambda: memory.rows(Query(EXCERPTS, EVERY, sort, offset=5, limit=5)),
            lambda: memory.rows(Query(HANDLES, EVERY, sort)),
            memory.list,
            memory.count,
            lambda: count_facets(memory, MemoryFilter(), NOW.isoformat()),
            lambda: memory.recall("bulk content", 5),
            lambda: whole_entry(memory, stamp.handle),
            lambda: memory.scan(lambda row: None),
        )
        for deed in reading:
            self._check(await soon(raises(deed(), InspectorError)))
        await self.mend_it(memory)
        await self._open_again(memory)
        assert await state_of(memory) == before

    async def test_a_write_to_a_store_that_has_gone_never_says_it_is_done(self, memory: Memory) -> None:
        """One sentence, exit code 3; mended and opened again, nothing is lost and undo gives what was there."""
        await self.fill(memory, numbered(_ROWS))
        before, stamps = await state_of(memory), await versions(memory, EVERY)
        row = await row_with_id(memory, stamps[0].id)
        assert row is not None
        await self.break_it(memory)
        kept = JournalRecorder()
        deeds: list[Awaitable[object]] = [
            create(memory, Draft("gone", "gone content"), kept),
            delete(memory, stamps, kept),
            memory.store("gone", "gone content", "core"),
        ]
        if not why_fixed(memory, "content"):
            deeds.append(edit(memory, row, {"content": "gone"}, kept))
        for deed in deeds:
            self._check(await soon(raises(deed, InspectorError)))
        await self.mend_it(memory)
        await self._open_again(memory)
        assert await state_of(memory) == before
        done = await create(memory, Draft("back", "back again"), JournalRecorder())
        assert row_of(done)

    async def test_a_store_that_has_gone_says_so_when_asked_how_it_is_and_can_be_closed(self, memory: Memory) -> None:
        """`health_check` is False or tells why, `health` is not ok or tells why, and closing does not hang."""
        await self.break_it(memory)
        for asked in (memory.health_check, memory.health):
            try:
                answer = await soon(asked())
            except InspectorError as error:
                self._check(error)
            else:
                assert not (answer if isinstance(answer, bool) else answer.ok)  # type: ignore[attr-defined]
        await soon(memory.close())
        await self.mend_it(memory)
        await self._open_again(memory)
        await memory.count()

    async def _open_again(self, memory: Memory) -> None:
        """What a person's `r` does."""
        await soon(memory.open())

    def _check(self, error: InspectorError) -> None:
        assert error.exit_code == NOT_REACHABLE, str(error)
        assert "\n" not in error.message
        for secret in self.secrets:
            assert secret not in str(error)
            assert secret not in repr(error.__cause__)
