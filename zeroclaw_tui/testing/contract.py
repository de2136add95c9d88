"""What any Memory must do that holds the samples, as tests: subclass MemoryContract and give it a store."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.lookup import count_facets, entries_with_key, entry_with_id, versions, whole_entry
from zeroclaw_tui.backends.matching import count_entries, matches
from zeroclaw_tui.memory.change import Draft, Row
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import NotFound, Refused
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
from zeroclaw_tui.scoring.answer import answer
from zeroclaw_tui.scoring.decide import decide, serves, store_recall
from zeroclaw_tui.scoring.profiles import LANDMARKS, NEWEST, ScoringSettings, Trial, profile_for
from zeroclaw_tui.testing.samples import NOW, sample_entries
from zeroclaw_tui.testing.tools import Contract, entries_of, fill, handles_of, raises

_ORDERS = tuple(Sort(field, descending) for field in SortField for descending in (True, False))


class MemoryContract(Contract):
    """Tests that each take an open `memory`, holding at least the contents that `expected` names."""

    words = ("Rust", "beans", "same content")
    """Queries that recall something."""

    def expected(self) -> Collection[str]:
        """The contents the memory holds, in any order."""
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
        for wanted in (EVERYTHING, EVERYTHING.but(contains="e")):
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
            superseded = [row for row in rows if matches(row, wanted.but(superseded=Superseded.ONLY))]
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

    async def test_health_has_a_summary_and_facts(self, memory: Memory) -> None:
        health = await memory.health()
        assert await memory.health_check()
        assert health.ok
        assert all((health.summary, health.facts, memory.name, memory.about.location))

    async def test_a_scan_shows_each_row_whole_in_the_order_of_storing_until_an_error(self, memory: Memory) -> None:
        shown, seen, expected = list[Row](), list[Row](), await versions(memory, EVERYTHING)
        wanted = MemoryFilter(category=(expected[0].category,))
        await memory.scan(seen.append, wanted)
        assert [memory.stamp_of(row) for row in seen] == await versions(memory, wanted)

        def refuse(row: Row) -> None:
            seen.append(row)
            raise Refused("enough")

        seen.clear()
        await raises(memory.scan(refuse), Refused)
        assert len(seen) == 1
        await memory.scan(shown.append)
        assert [memory.stamp_of(row) for row in shown] == expected
        whole = [await whole_entry(memory, stamp.handle) for stamp in expected]
        assert [row.entry().content for row in shown] == [entry.content for entry in whole]
        stored = await memory.rows(Query(ROWS, handles=[stamp.handle for stamp in expected]))
        no_id = "00000000-0000-4000-8000-000000000000"
        assert stored == await memory.rows(Query(ROWS, ids=[*(stamp.id for stamp in expected), no_id]))

    async def test_reading_changes_nothing(self, memory: Memory) -> None:
        before = (await memory.count(), await memory.version())
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
                    assert serves([evidence], trial)
                    found, decision = store_recall(await memory.search(trial), trial), decide([evidence], trial)
                    rows = {entry.handle: entry for entry in await memory.rows(Query(ENTRIES, handles=decision.wanted))}
                    decided = answer(decision, rows)
                    unjudged = [replace(one, decayed=None, injected=False, stop=None) for one in decided.results]
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
