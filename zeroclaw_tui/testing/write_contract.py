"""What any Memory that takes writes must hold to, as tests; used like MemoryContract, on a memory of its own each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.memory.change import Clash, Clashes, Conflict, Draft, DuplicateKey, Edit, Stamp, StoredRow, Value
from zeroclaw_tui.memory.errors import NotThere, Refused, WrongUse
from zeroclaw_tui.memory.query import Sort
from zeroclaw_tui.testing.tools import EVERY, Kept, StoreHooks, Told, cut, numbered, raises, state_of, written_row

__all__ = ["Kept", "Told", "WritableMemoryContract"]

MANY = 600
"""More rows than any backend changes at once."""


_OTHER_WAYS: tuple[Clash, ...] = ("overwrite", "rename")


class WritableMemoryContract(StoreHooks):
    """Tests that each take an open `memory` of a few rows that may be written."""

    async def test_a_new_memory_is_stored_and_kept_before(self, memory: Memory) -> None:
        """Exactly one row more, found by its content; `keep` was given what was then written."""
        count, kept = await memory.count(), Kept()
        done = await memory.create(Draft("contract key", "contract content"), kept)
        assert await memory.count() == count + 1
        after = written_row(done)
        assert after.entry().content.endswith("contract content")
        assert after.entry().category == "core"
        assert [change.before for change in kept.changes] == [None]
        if self.keeps_rows_exactly:
            assert [change.after for change in kept.changes] == [after]
        stored = await memory.stored(after.id)
        assert stored is not None
        assert stored.fingerprint == after.fingerprint
        whole = await memory.with_id(after.id)
        assert whole is not None
        assert whole.content == after.entry().content

    async def test_fields_of_a_draft_are_stored_or_told(self, memory: Memory) -> None:
        """A field that cannot be kept is refused, or has a sentence in the notes."""
        fields = {"category": "projects", "session_id": "telegram_2", "namespace": "work", "importance": 0.75}
        for name, value in (fields | {"pinned": True}).items():
            draft: dict[str, Any] = {"key": f"{name} key", "content": "content", name: value}
            try:
                done = await memory.create(Draft(**draft), Kept())
            except Refused as refusal:
                told = bool(refusal.message)
            else:
                told = bool(done.notes) or getattr(written_row(done).entry(), name) == value
            assert told, name

    async def test_what_no_memory_can_be_is_refused(self, memory: Memory) -> None:
        """A blank key, content or category: one sentence, nothing kept, nothing changed."""
        before, kept = await state_of(memory), Kept()
        for draft in (Draft(" ", "content"), Draft("key", "\n "), Draft("key", "content", " ")):
            await raises(memory.create(draft, kept), WrongUse)
        assert kept.changes == []
        assert await state_of(memory) == before

    async def test_a_key_that_is_taken_is_refused_or_replaced(self, memory: Memory) -> None:
        """Without `replace` the row there is named and stays; with it the row keeps its id."""
        if "key" not in memory.capabilities.editable:
            return
        first = written_row(await memory.create(Draft("contract key", "first"), Kept()))
        count, kept = await memory.count(), Kept()
        error = await raises(memory.create(Draft("contract key", "second"), kept), DuplicateKey)
        assert error.existing.id == first.id
        assert kept.changes == []
        second = written_row(await memory.create(Draft("contract key", "second"), kept, replace=True))
        assert (second.id, second.entry().content) == (first.id, "second")
        assert [change.before for change in kept.changes] == [first]
        assert await memory.count() == count

    async def test_an_edit_changes_what_it_names(self, memory: Memory) -> None:
        """Each field that can be edited, one after the other; the other fields and the creation time stay."""
        row = await self._made(memory)
        values: dict[str, Value] = {
            "content": "new content", "key": "new key", "category": "projects", "session_id": "telegram_2",
            "importance": 0.25, "pinned": 1, "namespace": "work",
        }  # fmt: skip
        for name in memory.capabilities.editable:
            kept = Kept()
            done = await memory.update(row.id, Edit({name: values[name]}), row.fingerprint, kept)
            before, row = row.entry(), written_row(done)
            assert getattr(row.entry(), name) == values[name]
            assert row.entry().timestamp == before.timestamp or not self.keeps_rows_exactly
            for other in set(values) - {name}:
                assert getattr(row.entry(), other) == getattr(before, other), (name, other)
            assert len(kept.changes) == 1
            if self.keeps_rows_exactly:
                assert kept.changes[0].after == row

    async def test_a_field_that_cannot_be_edited_has_a_reason(self, memory: Memory) -> None:
        """An edit of it changes nothing of the row's content and says why."""
        row = await self._made(memory)
        others: dict[str, Value] = {"key": "x", "category": "x", "session_id": "x", "namespace": "x", "importance": 0.1}
        for name, value in others.items():
            if name not in memory.capabilities.editable:
                kept = Kept()
                try:
                    done = await memory.update(row.id, Edit({name: value}), row.fingerprint, kept)
                except Refused as refusal:
                    told = bool(refusal.message) and not kept.changes
                else:
                    told, row = bool(done.notes), written_row(done)
                assert told, name

    async def test_an_edit_of_a_row_that_changed_shows_what_it_is_now(self, memory: Memory) -> None:
        """A wrong fingerprint is a Conflict with the present row, an unknown id is NotThere; nothing is kept."""
        row, kept = await self._made(memory), Kept()
        newer = written_row(await memory.update(row.id, Edit({"content": "theirs"}), row.fingerprint, Kept()))
        state = await state_of(memory)
        conflict = await raises(memory.update(row.id, Edit({"content": "mine"}), row.fingerprint, kept), Conflict)
        assert conflict.theirs.fingerprint == newer.fingerprint
        await raises(memory.update("no such id", Edit({"content": "mine"}), row.fingerprint, kept), NotThere)
        assert kept.changes == []
        assert await state_of(memory) == state

    async def test_an_edit_to_what_is_there_already_changes_nothing(self, memory: Memory) -> None:
        """Nothing is kept, so that nothing can be undone."""
        row, kept = await self._made(memory), Kept()
        done = await memory.update(row.id, Edit({"content": row.entry().content}), row.fingerprint, kept)
        assert kept.changes == []
        assert written_row(done).fingerprint == row.fingerprint

    async def test_an_edit_to_the_key_of_another_is_refused(self, memory: Memory) -> None:
        """The other row is named, and both stay."""
        if "key" not in memory.capabilities.editable:
            return
        row, kept = await self._made(memory), Kept()
        other = written_row(await memory.create(Draft("other key", "other"), Kept()))
        error = await raises(memory.update(row.id, Edit({"key": "other key"}), row.fingerprint, kept), DuplicateKey)
        assert error.existing.id == other.id
        assert kept.changes == []

    async def test_only_what_is_still_as_it_was_shown_is_removed(self, memory: Memory) -> None:
        """A row that changed is left and told, one that went is told, the rest goes; each was kept whole."""
        made = [await self._made(memory, number) for number in range(4)]
        stamps = await self._stamps(memory, made)
        await memory.update(made[1].id, Edit({"content": "changed"}), made[1].fingerprint, Kept())
        await memory.remove([stamps[3]], Kept())
        before, kept = await state_of(memory), Kept()
        removal = await memory.remove(stamps, kept)
        assert removal.removed == 2
        assert removal.changed == (stamps[1].id,)
        assert removal.gone == (stamps[3].id,)
        assert not removal.cancelled
        assert [change.after for change in kept.changes] == [None, None]
        contents = {change.row.entry().content for change in kept.changes}
        assert contents == {made[0].entry().content, made[2].entry().content}
        assert await memory.count() == sum(before.values()) - 2

    async def test_where_nothing_can_be_kept_nothing_changes(self, memory: Memory) -> None:
        """A trash that cannot be written stops a store, an edit, a removal and an undo before they begin."""
        row, kept, full = await self._made(memory), Kept(), Kept()
        await memory.update(row.id, Edit({"content": "second"}), row.fingerprint, kept)
        now = await memory.stored(row.id)
        assert now is not None
        state, full.fails = await state_of(memory), True
        stamps = await memory.stamps(EVERY)
        for deed in (
            memory.create(Draft("another key", "content"), full),
            memory.update(now.id, Edit({"content": "third"}), now.fingerprint, full),
            memory.remove(stamps, full),
            memory.revert(kept.last_first, full),
        ):
            assert (await raises(deed, Refused)).message == "The disk is full."
        assert await state_of(memory) == state

    async def test_everything_is_taken_back(self, memory: Memory) -> None:
        """A store, edits and a removal of everything, taken back: every memory is as it was, and so is its order."""
        before, order, kept = await state_of(memory), list(await memory.order(EVERY, Sort())), Kept()
        row = written_row(await memory.create(Draft("contract key", "content"), kept))
        await memory.update(row.id, Edit({"content": "second"}), row.fingerprint, kept)
        removal = await memory.remove(await memory.stamps(EVERY), kept)
        assert removal.removed == sum(before.values()) + 1
        assert await memory.count() == 0
        undone = Kept()
        reversal = await memory.revert(kept.last_first, undone)
        assert reversal.reverted == len(kept.changes)
        assert {change.reverses for change in undone.changes} == {change.number for change in kept.changes}
        assert not reversal.renamed
        assert await self._as_far_as_kept(memory) == cut(before, self.keeps_rows_exactly)
        if self.keeps_rows_exactly:
            assert list(await memory.order(EVERY, Sort())) == order
            assert not reversal.notes
        again = [change for change in kept.changes[2:] if not change.row.entry().content.endswith("second")]
        assert (await memory.revert(lambda: iter([again]), undone)).reverted == len(again)
        assert await self._as_far_as_kept(memory) == cut(before, self.keeps_rows_exactly)

    async def test_a_row_that_changed_since_is_not_overwritten_unasked(self, memory: Memory) -> None:
        """Refused with both named and nothing done; `overwrite` brings the old text back, `rename` puts it beside."""
        for clash in _OTHER_WAYS:
            kept = Kept()
            row = written_row(await memory.create(Draft(f"{clash} key", f"first {clash}"), Kept()))
            await memory.create(Draft(f"{clash} neighbour", f"next {clash}"), Kept())
            mine = written_row(await memory.update(row.id, Edit({"content": f"mine {clash}"}), row.fingerprint, kept))
            await memory.update(mine.id, Edit({"content": f"theirs {clash}"}), mine.fingerprint, Kept())
            state = await state_of(memory)
            clashes = await raises(memory.revert(kept.last_first, Kept()), Clashes)
            assert (clashes.total, clashes.found[0].reason) == (1, "changed")
            assert await state_of(memory) == state
            await memory.revert(kept.last_first, Kept(), clash=clash)
            contents = [entry.content for entry in await memory.list()]
            assert any(content.endswith(f"first {clash}") for content in contents)
            assert any(content.endswith(f"theirs {clash}") for content in contents) == (clash == "rename")

    async def test_a_key_that_exists_again_is_named(self, memory: Memory) -> None:
        """A deleted memory whose key was stored anew: refused, put in its place, or put back beside it."""
        if "key" not in memory.capabilities.editable:
            return
        expected = ({"key": "old"}, {"key": "new", "key (restored)": "old"})
        for clash, wanted in zip(_OTHER_WAYS, expected, strict=True):
            kept = Kept()
            made = written_row(await memory.create(Draft("key", "old"), Kept(), replace=True))
            await memory.remove(await self._stamps(memory, [made]), kept)
            await memory.create(Draft("key", "new"), Kept())
            clashes = await raises(memory.revert(kept.last_first, Kept()), Clashes)
            assert clashes.found[0].reason in ("key exists", "changed")
            reversal = await memory.revert(kept.last_first, Kept(), clash=clash)
            assert dict(reversal.renamed) == ({"key": "key (restored)"} if clash == "rename" else {})
            found = {entry.key: entry.content for entry in await memory.list() if entry.key.startswith("key")}
            assert found == wanted

    async def test_a_long_removal_can_be_stopped_and_a_long_undo_too(self, memory: Memory) -> None:
        """`advance` is told more and more; after False the rest stays. What was done can be taken back."""
        await self.fill(memory, numbered(MANY))
        stamps = [stamp for stamp in await memory.stamps(EVERY) if stamp.size and await self._is_bulk(memory, stamp)]
        assert len(stamps) == MANY
        before, kept, told = await state_of(memory), Kept(), Told()
        removal = await memory.remove(stamps, kept, told)
        assert removal.cancelled
        assert 0 < removal.removed < MANY
        assert len(kept.changes) == removal.removed
        assert await memory.count() == sum(before.values()) - removal.removed
        assert told.counts[-1] == removal.removed
        told.goes_on = True
        rest = await memory.remove(stamps[removal.removed :], kept, told)
        assert removal.removed + rest.removed == MANY
        undone = Kept()
        reversal = await memory.revert(kept.last_first, undone, advance=lambda done: False)
        assert reversal.cancelled
        assert 0 < reversal.reverted < MANY
        await memory.revert(kept.last_first, undone)
        assert await self._as_far_as_kept(memory) == cut(before, self.keeps_rows_exactly)

    async def test_forgetting_a_key_takes_that_memory_and_no_other(self, memory: Memory) -> None:
        """True once, and False when there is nothing of that key."""
        before = await state_of(memory)
        row = await self._made(memory)
        assert await memory.forget(row.entry().key)
        assert await state_of(memory) == before
        assert not await memory.forget("no such key, surely")
        assert await state_of(memory) == before

    async def _made(self, memory: Memory, number: int = 0) -> StoredRow:
        return written_row(await memory.create(Draft(f"made {number}", f"made content {number}"), Kept()))

    async def _stamps(self, memory: Memory, rows: Sequence[StoredRow]) -> list[Stamp]:
        by_id = {stamp.id: stamp for stamp in await memory.stamps(EVERY)}
        stamps = [by_id[row.id] for row in rows]
        handles = [stamp.handle for stamp in stamps]
        assert await memory.stamps_of(handles) == stamps
        return stamps

    async def _is_bulk(self, memory: Memory, stamp: Stamp) -> bool:
        return stamp.key.startswith("bulk") or "bulk content" in (await memory.whole(stamp.handle)).content

    async def _as_far_as_kept(self, memory: Memory) -> Counter[tuple[Any, ...]]:
        return cut(await state_of(memory), self.keeps_rows_exactly)
