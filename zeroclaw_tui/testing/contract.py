"""Contract tests for every Memory: subclass MemoryContract, StoreContract or a part of it, and provide a store."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.lookup import (
    count_facets,
    entries_with_key,
    entry_with_id,
    row_with_id,
    versions,
    versions_at,
    whole_entry,
    why_fixed,
)
from zeroclaw_tui.backends.matching import count_entries, matches
from zeroclaw_tui.memory.change import SUPERSEDED_BY, ApplyResult, Draft, Row, Value
from zeroclaw_tui.memory.entry import EDITABLE, MemoryEntry
from zeroclaw_tui.memory.errors import NOT_REACHABLE, InspectorError, NotFound, Refused
from zeroclaw_tui.memory.query import (
    ENTRIES,
    EVERYTHING,
    EXCERPTS,
    HANDLES,
    NO_SESSION,
    ROWS,
    MemoryFilter,
    Query,
    Sort,
    SortField,
    Superseded,
)
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.memory.statistics import COUNT_FIELDS, FACET_FIELDS
from zeroclaw_tui.scoring.decide import answer, can_decide, decide, store_recall
from zeroclaw_tui.scoring.profiles import LANDMARKS, NEWEST, ScoringSettings, Trial, profile_for
from zeroclaw_tui.testing.samples import NOW, sample_entries
from zeroclaw_tui.testing.tools import (
    Contract,
    JournalRecorder,
    create,
    delete,
    edit,
    entries_of,
    fill,
    handles_of,
    numbered,
    raises,
    row_of,
    skip_if,
    state_of,
    undo,
)

_ORDERS = tuple(Sort(field, descending) for field in SortField for descending in (True, False))


class MemoryContract(Contract):
    """Read tests on an open `memory` that has at least the contents in `expected`."""

    words = ("Rust", "beans", "same content")
    """Queries with results."""

    def expected(self) -> Collection[str]:
        """The contents of the memory, in any order."""
        return [entry.content for entry in sample_entries()]

    async def prepare(self, memory: Memory) -> None:
        """Store the samples."""
        await fill(
            memory, [Draft(entry.key, entry.content, entry.category, entry.session_id) for entry in sample_entries()]
        )

    async def test_every_text_comes_back_as_it_was_stored_and_count_and_list_agree(self, memory: Memory) -> None:
        rows, listed = await entries_of(memory, EVERYTHING), await memory.list()
        assert Counter(row.content for row in rows) == Counter(self.expected())
        assert await memory.count() == len(rows)
        assert _handles(listed) == _handles(row for row in rows if row.superseded_by is None)
        assert not any(entry.is_excerpt for entry in listed)
        for category in {*(entry.category for entry in listed), "no such category"}:
            wanted = _handles(entry for entry in listed if entry.category == category)
            assert _handles(await memory.list(category)) == wanted

    async def test_a_part_of_an_order_is_that_part_and_both_directions_are_sorted(self, memory: Memory) -> None:
        by_handle = {row.handle: row for row in await entries_of(memory, EVERYTHING)}
        for wanted in (EVERYTHING, EVERYTHING.replace(contains="e")):
            for sort in _ORDERS if wanted == EVERYTHING else _ORDERS[:2]:
                order = list(await handles_of(memory, wanted, sort))
                assert len(order) == len({*order})
                assert len(order) == await memory.count() or wanted != EVERYTHING
                if sort.field in (SortField.KEY, SortField.CATEGORY, SortField.SIZE):
                    values = [getattr(by_handle[handle], sort.field.value) for handle in order]
                    assert values == sorted(values, reverse=sort.descending)
                for offset, limit in ((1, 2), (len(order) - 1, 5), (len(order) + 1, 5), (0, 0), (0, 10**6)):
                    part = await memory.rows(Query(HANDLES, wanted, sort, offset=offset, limit=limit))
                    assert list(part) == order[offset : offset + limit]

    async def test_rows_come_in_the_order_asked_and_excerpts_are_beginnings(self, memory: Memory) -> None:
        handles = list(await handles_of(memory, EVERYTHING, Sort(SortField.KEY)))
        entries = await memory.rows(Query(ENTRIES, handles=[*handles, "no such row"]))
        assert [entry.handle for entry in entries] == handles
        assert list(await memory.rows(Query(HANDLES, handles=[handles[0], "no such row"]))) == handles[:1]
        for row, entry in zip(await memory.rows(Query(EXCERPTS, handles=handles)), entries, strict=True):
            assert entry == await whole_entry(memory, row.handle)
            assert entry.content.startswith(row.content)
            assert (row.is_excerpt, entry.is_excerpt) == (row.content != entry.content, False)
            assert row.size == entry.size == len(entry.content.encode("utf-8", "surrogateescape"))

    async def test_a_key_an_id_and_a_content_lead_to_their_rows(self, memory: Memory) -> None:
        rows = await entries_of(memory, EVERYTHING)
        for row in rows:
            assert await entry_with_id(memory, row.id) == row
            got = await memory.get(row.key)
            assert got is not None
            assert (got.key, got.is_excerpt) == (row.key, False)
            assert row.content in [entry.content for entry in await entries_with_key(memory, row.key)]
            starting = await memory.rows(Query(ENTRIES, MemoryFilter(), prefix=row.key[:2], limit=500))
            assert all(entry.key.startswith(row.key[:2]) for entry in starting)
            assert row.superseded_by is not None or str(row.handle) in _handles(starting)

    async def test_filters_select_what_they_mean_and_counts_are_those_of_counting_one_by_one(
        self, memory: Memory
    ) -> None:
        rows, now = await entries_of(memory, EVERYTHING), NOW.isoformat()
        for wanted in _filters(rows, memory):
            found = [row for row in rows if matches(row, wanted)]
            assert sorted(map(str, await handles_of(memory, wanted, Sort()))) == _handles(found)
            superseded = [row for row in rows if matches(row, wanted.replace(superseded=Superseded.ONLY))]
            expected = count_entries(found, superseded, memory.why_not, now, COUNT_FIELDS)
            counts = await memory.count_up(wanted, now, COUNT_FIELDS)
            assert (counts.total, counts.content) == (expected.total, expected.content)
            assert {name: dict(values) for name, values in counts.by.items()} == expected.by
            for name in FACET_FIELDS:
                assert list(counts.by.get(name, ())) == list(expected.by.get(name, ()))

    async def test_a_missing_row_is_reported(self, memory: Memory) -> None:
        handles = await handles_of(memory, EVERYTHING, Sort())
        unknown = -7 if isinstance(handles[0], int) else "no such handle"
        await raises(whole_entry(memory, unknown), NotFound)
        assert await memory.rows(Query(EXCERPTS, handles=[unknown])) == []
        assert await memory.get("no such key, surely") is None
        assert await entries_with_key(memory, "no such key, surely") == []
        assert await entry_with_id(memory, "no such id, surely") is None
        assert await memory.rows(Query(ENTRIES, prefix="no such key, surely")) == []

    async def test_recall_ranks_rows_of_the_store(self, memory: Memory) -> None:
        handles = set(map(str, (await handles_of(memory, EVERYTHING, Sort()))))
        profile = profile_for(memory.about.newest_version or NEWEST)
        for query in (*self.words, ""):
            ranked = await memory.recall(query, 5)
            assert len(ranked) <= 5
            assert ranked or not query
            assert [scored.rank for scored in ranked] == list(range(1, len(ranked) + 1))
            scores = [scored.score for scored in ranked if scored.score is not None]
            assert scores == sorted(scores, reverse=True)
            assert {str(scored.entry.handle) for scored in ranked} <= handles
            trial = Trial(RecallRequest(query), profile, ScoringSettings())
            found = store_recall(await memory.search(trial), trial).entries
            assert [(one.entry.handle, one.score) for one in found] == [(one.entry.handle, one.score) for one in ranked]

    async def test_recall_finds_nothing_for_words_nobody_wrote(self, memory: Memory) -> None:
        assert len(await memory.recall("\x00", 5)) <= 5
        for query in ("xylophonequartz", '"', "') OR 1=1 --", "NEAR(", "-"):
            for scored in await memory.recall(query, 5):
                text = f"{scored.entry.key} {scored.entry.content}".lower()
                assert any(word.strip("\"'()-*") in text for word in query.lower().split())
        assert await memory.recall("xylophonequartz", 5) == []

    async def test_a_scan_shows_each_row_whole_in_the_order_of_storing_until_an_error(self, memory: Memory) -> None:
        shown, seen, expected = list[Row](), list[Row](), await versions(memory, EVERYTHING)
        wanted = MemoryFilter(category=(expected[0].category,))
        await memory.scan(seen.append, wanted)
        assert [memory.version_of(row) for row in seen] == await versions(memory, wanted)

        def refuse(row: Row) -> None:
            seen.append(row)
            raise Refused("enough")

        seen.clear()
        await raises(memory.scan(refuse), Refused)
        assert len(seen) == 1
        await memory.scan(shown.append)
        assert [memory.version_of(row) for row in shown] == expected
        whole = [await whole_entry(memory, version.handle) for version in expected]
        assert [row.entry().content for row in shown] == [entry.content for entry in whole]
        stored = await memory.rows(Query(ROWS, handles=[version.handle for version in expected]))
        no_id = "00000000-0000-4000-8000-000000000000"
        assert stored == await memory.rows(Query(ROWS, ids=[*(version.id for version in expected), no_id]))

    async def test_reading_changes_nothing_and_health_has_a_summary_and_facts(self, memory: Memory) -> None:
        before, health = (await memory.count(), await memory.version()), await memory.health()
        assert health.ok
        assert await memory.health_check()
        assert all((health.summary, health.facts, memory.name, memory.about.location))
        await memory.recall(self.words[0], 5)
        await entries_of(memory, EVERYTHING)
        await count_facets(memory, EVERYTHING, NOW.isoformat())
        assert (await memory.count(), await memory.version()) == before

    async def test_evidence_gathered_once_decides_the_recall_of_every_limit(self, memory: Memory) -> None:
        numbers = ScoringSettings()
        for profile in map(profile_for, LANDMARKS):
            for query in (*self.words, "", "xylophonequartz"):
                request = RecallRequest(query, layer="store", as_of=NOW.isoformat())
                evidence = await memory.search(Trial(request, profile, numbers), deep=True)
                for asked in (replace(request, limit=limit) for limit in (1, 2, 10)):
                    trial = Trial(asked, profile, numbers)
                    assert can_decide([evidence], trial)
                    found, decision = store_recall(await memory.search(trial), trial), decide([evidence], trial)
                    rows = {entry.handle: entry for entry in await memory.rows(Query(ENTRIES, handles=decision.wanted))}
                    decided = answer(decision, rows)
                    unjudged = [one._replace(decayed=None, injected=False, stop=None) for one in decided.results]
                    assert unjudged == list(found.entries)
                    assert (decided.mode, decided.scale) == (found.mode, found.scale)


def _filters(rows: Sequence[MemoryEntry], memory: Memory) -> list[MemoryFilter]:
    categories = sorted({row.category for row in rows})
    moments = ["2026-10-20T00:00:00+00:00", "2026-11-10T06:30:00+02:00", "2026-11-15"]
    found = [MemoryFilter(category=(category,)) for category in (*categories, "no such category")]
    found += [MemoryFilter(category=tuple(categories[:2])), MemoryFilter(agent=("no such agent",))]
    found += [MemoryFilter(newer_than=limit) for limit in moments]
    found += [MemoryFilter(older_than=moments[1], newer_than=moments[0])]
    texts = ("rust", "RUST", "花生", "É", "the KEY", "%", "_", "'", "\\", "[/markup]", "no such text", "the very end")
    found += [MemoryFilter(contains=text) for text in texts]
    patterns = (r"\brust\b", "^.", r"\p{Han}", r"[[:alpha:]]{12}", "(a|aa)+z", r"x*", r"\x00", r"no such .* text")
    found += [MemoryFilter(regex=pattern) for pattern in patterns]
    found += [MemoryFilter(contains="e", regex="i"), MemoryFilter(category=(categories[0],), regex="e")]
    found += [MemoryFilter(category=(categories[0],), contains="e"), MemoryFilter(superseded=Superseded.SHOW)]
    if "sessions" not in memory.why_not:
        sessions = sorted({row.session_id or NO_SESSION for row in rows})
        found += [MemoryFilter(session=(session,)) for session in sessions]
        found += [MemoryFilter(session=tuple(sessions[:2]))]
    if "superseded" not in memory.why_not:
        found += [MemoryFilter(superseded=Superseded.ONLY)]
    return found


def _handles(entries: Iterable[MemoryEntry]) -> list[str]:
    return sorted(str(entry.handle) for entry in entries)


VALUES: dict[str, Value] = {
    "content": "new content", "key": "new key", "category": "projects", "session_id": "telegram_2",
    "importance": 0.25, "pinned": 1, "namespace": "work",
}  # fmt: skip
"""A new value for each field that a store may be able to change."""


async def made(memory: Memory, number: int = 0) -> Row:
    """Store a new memory, and return its row."""
    return row_of(await create(memory, Draft(f"made {number}", f"made content {number}")))


async def is_exact(memory: Memory) -> bool:
    """Whether an undo restores ids, times and all fields; false for a store with only the trait's verbs."""
    (stored,) = await memory.as_stored([Row("id", {"key": "key", "content": "content"})])
    return bool(stored.id) or memory.about.is_line_based


async def restorable(memory: Memory) -> Counter[tuple[Any, ...]]:
    """All rows, reduced to the fields that an undo in this store restores."""
    state = await state_of(memory)
    return state if await is_exact(memory) else Counter(row[:4] for row in state.elements())


def obstacle_of(result: ApplyResult, reason: str) -> Row:
    """Assert that a change was refused without writing, and return the conflicting row."""
    (conflict,) = result.conflicts
    assert (result.written, conflict.reason) == (0, reason)
    assert conflict.existing is not None
    return conflict.existing


class WritableMemoryContract(Contract):
    """Write tests on an open `memory` with a few rows."""

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
        skip_if(why_fixed(memory, "key"))
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
"""Texts that every store must return exactly; the last one has about a megabyte."""
_AWKWARD_TEXTS = (
    "two\nlines", "a\r\nb\rc", "\x1b[31mred\x1b[2J", "tab\tand end ", "  indented", "- [ ] a list item", "# x",
    "\u00a0a blank that is none",
)  # fmt: skip
"""Texts that a line-based store may refuse or change with a note, and that others must return exactly."""


class VerbsContract(Contract):
    """Tests of the trait's verbs on an open, writable `memory`, which may be empty."""

    async def test_a_second_store_of_a_key_keeps_id_and_creation_time(self, memory: Memory) -> None:
        skip_if(why_fixed(memory, "key"))
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
            must_stay = not memory.about.is_line_based or text in _ONE_LINE_TEXTS
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
        many, page = 2_500, 200
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
"""The keys that `why_not` may have."""


class CapabilityContract(Contract):
    """Tests of `why_not` on any open `memory`."""

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


class ReadOnlyContract(CapabilityContract):
    """Tests on an open `memory` that refuses writes."""

    async def test_every_write_is_refused_with_a_reason(self, memory: Memory) -> None:
        assert "write" in memory.why_not
        before, stored = await state_of(memory), await versions(memory, EVERYTHING)
        for operation in (
            memory.store("contract_key", "contract content", "core"),
            create(memory, Draft("contract_key", "contract content")),
            delete(memory, stored),
            memory.apply((), None, dry_run=True),
            *(edit(memory, version, {"content": "other"}) for version in stored[:1]),
        ):
            await raises(operation, Refused)
        assert await state_of(memory) == before


class StoreContract(WritableMemoryContract, VerbsContract, CapabilityContract):
    """All tests on an open, writable `memory` with a few rows."""


PATIENCE_SECONDS = 30.0
"""The time limit for each group of verbs, so that a hanging verb fails."""


class GoneContract(Contract, ABC):
    """A test on an open, writable `memory` that can become unavailable, like a server or a file."""

    secrets: tuple[str, ...] = ()
    """Texts that must not be in any message, such as the password or key of the test's server."""

    @abstractmethod
    async def take_down(self, memory: Memory) -> None:
        """Make the store unavailable: stop the server, cut the connection, damage or remove the file."""

    @abstractmethod
    async def bring_up(self, memory: Memory) -> None:
        """Make the store available again, unchanged."""

    async def test_a_store_that_is_missing_is_reported_and_comes_back(self, memory: Memory) -> None:
        await self.fill(memory, numbered(30))
        before, shown, journal = await state_of(memory), await versions(memory, EVERYTHING), JournalRecorder()
        await self.take_down(memory)
        operations: tuple[Callable[[], Awaitable[object]], ...] = (
            lambda: memory.rows(Query(HANDLES, EVERYTHING, offset=5, limit=5)),
            memory.list,
            memory.count,
            lambda: count_facets(memory, MemoryFilter(), NOW.isoformat()),
            lambda: memory.recall("bulk content", 5),
            lambda: memory.scan(lambda row: None),
            lambda: create(memory, Draft("absent", "absent content"), journal),
            lambda: delete(memory, shown, journal),
            lambda: memory.store("absent", "absent content", "core"),
        )
        async with asyncio.timeout(PATIENCE_SECONDS):
            for operation in operations:
                self._check(await raises(operation(), InspectorError))
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
            assert secret not in f"{error} {error.__cause__!r}"
