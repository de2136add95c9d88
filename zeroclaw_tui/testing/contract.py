"""What any Memory must do, as tests: subclass MemoryContract in a test module and give it a store.

The class needs no test framework itself; plain pytest runs it, and the samples are stored by the store's own verbs:

    class TestShoeBox(MemoryContract):
        async def new_memory(self, folder):
            return ShoeBox(folder / "box.json")

In place of `new_memory` a fixture `memory` of one's own may give it, open and with the contents of sample_entries().
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace
from operator import attrgetter
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.lookup import (
    count_facets,
    entries_with_key,
    entry_with_id,
    row_with_id,
    rows_by_id,
    versions,
    whole_entry,
)
from zeroclaw_tui.backends.matching import matches
from zeroclaw_tui.memory.change import Draft, Row, RowVersion
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import NotFound, Refused
from zeroclaw_tui.memory.query import (
    AGE_GROUPS,
    ENTRIES,
    EVERYTHING,
    HANDLES,
    NO_DATE,
    NO_SESSION,
    ROWS,
    MemoryFilter,
    Query,
    Sort,
    SortField,
    Superseded,
)
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.decide import answer, decide, serves
from zeroclaw_tui.scoring.evidence import word_shares
from zeroclaw_tui.scoring.profiles import LANDMARKS, NEWEST, ScoringSettings, Trial, profile_for
from zeroclaw_tui.testing.samples import NOW, sample_entries
from zeroclaw_tui.testing.tools import (
    Contract,
    JournalRecorder,
    create,
    delete,
    edit,
    entries_at,
    entries_of,
    excerpts_at,
    fill,
    handles_of,
    part_of,
    raises,
    recall_of,
)

ORDERS = tuple(Sort(field, descending) for field in SortField for descending in (True, False))
_LIMITS = (1, 2, 3, 5, 10)
_SINCE = "2026-01-01T00:00:00+00:00"
_VALUES: dict[SortField, Callable[[MemoryEntry], Any]] = {
    SortField.KEY: attrgetter("key"),
    SortField.CATEGORY: attrgetter("category"),
    SortField.SIZE: attrgetter("size"),
}


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

    async def test_every_text_comes_back_as_it_was_stored(self, memory: Memory) -> None:
        assert Counter(row.content for row in await entries_of(memory, EVERYTHING)) == Counter(self.expected())

    async def test_count_and_list_agree_with_the_listing(self, memory: Memory) -> None:
        rows = await entries_of(memory, EVERYTHING)
        assert await memory.count() == len(rows)
        listed = await memory.list()
        assert _handles(listed) == sorted(_handles(row for row in rows if row.superseded_by is None))
        assert not any(entry.is_excerpt for entry in listed)

    async def test_list_of_a_category_holds_exactly_that_category(self, memory: Memory) -> None:
        everything = await memory.list()
        for category in {entry.category for entry in everything}:
            wanted = _handles(entry for entry in everything if entry.category == category)
            assert _handles(await memory.list(category)) == wanted
        assert await memory.list("no such category") == []

    async def test_a_part_of_an_order_is_that_part_and_knows_how_long_all_of_it_is(self, memory: Memory) -> None:
        for wanted in (EVERYTHING, EVERYTHING.but(contains="e"), EVERYTHING.but(contains="no such text anywhere")):
            for sort in ORDERS if wanted == EVERYTHING else ORDERS[:2]:
                order = list(await handles_of(memory, wanted, sort))
                assert len(order) == await memory.count() or wanted != EVERYTHING
                for offset, limit in ((0, 3), (1, 2), (len(order) - 1, 5), (len(order) + 1, 5), (0, 0), (0, 10**6)):
                    found, total = await part_of(memory, wanted, sort, max(offset, 0), limit)
                    assert list(found) == order[max(offset, 0) : max(offset, 0) + limit]
                    assert total == len(order)

    async def test_both_directions_of_an_order_hold_the_same_rows_sorted(self, memory: Memory) -> None:
        by_handle = {row.handle: row for row in await entries_of(memory, EVERYTHING)}
        for field, value in _VALUES.items():
            for descending in (False, True):
                order = await handles_of(memory, EVERYTHING, Sort(field, descending))
                found = [value(by_handle[handle]) for handle in order]
                assert found == sorted(found, reverse=descending)

    async def test_rows_come_in_the_order_asked_and_excerpts_are_beginnings(self, memory: Memory) -> None:
        handles = list(await handles_of(memory, EVERYTHING, Sort(SortField.KEY)))
        entries = await entries_at(memory, [*handles, "no such row"])
        assert [entry.handle for entry in entries] == handles
        assert list(await memory.rows(Query(HANDLES, handles=[handles[0], "no such row"]))) == handles[:1]
        for row, entry in zip(await excerpts_at(memory, handles), entries, strict=True):
            assert entry == await whole_entry(memory, row.handle)
            assert entry.content.startswith(row.content)
            assert (row.is_excerpt, entry.is_excerpt) == (row.content != entry.content, False)
            assert row.size == entry.size == len(entry.content.encode("utf-8", "surrogateescape"))

    async def test_a_key_and_an_id_lead_to_their_rows(self, memory: Memory) -> None:
        for row in await entries_of(memory, EVERYTHING):
            assert await entry_with_id(memory, row.id) == row
            got = await memory.get(row.key)
            assert got is not None
            assert (got.key, got.is_excerpt) == (row.key, False)
            assert row.content in [entry.content for entry in await entries_with_key(memory, row.key)]
            starting = await memory.rows(Query(ENTRIES, MemoryFilter(), prefix=row.key[:2], limit=500))
            assert all(entry.key.startswith(row.key[:2]) for entry in starting)
            if row.superseded_by is None:
                assert str(row.handle) in _handles(starting)

    async def test_a_query_for_contents_finds_the_rows_with_exactly_these(self, memory: Memory) -> None:
        rows = await entries_of(memory, EVERYTHING)
        content = rows[0].content
        found = await memory.rows(Query(ENTRIES, contents=[content, f"{content} and more"]))
        assert _handles(found) == _handles(row for row in rows if row.content == content)
        assert await memory.rows(Query(ENTRIES, contents=[])) == []

    async def test_filters_select_what_they_mean(self, memory: Memory) -> None:
        rows = await entries_of(memory, EVERYTHING)
        for wanted_filter in _filters(rows, memory):
            wanted = _handles(row for row in rows if matches(row, wanted_filter))
            assert sorted(map(str, (await handles_of(memory, wanted_filter, Sort())))) == wanted
            assert (await count_facets(memory, wanted_filter, NOW.isoformat())).total == len(wanted)

    async def test_facets_count_every_row_once(self, memory: Memory) -> None:
        rows = await entries_of(memory, EVERYTHING)
        facets = await count_facets(memory, EVERYTHING, NOW.isoformat())
        assert facets.total == len(rows)
        assert dict(facets.category) == dict(Counter(row.category for row in rows))
        counts = list(facets.category.values())
        assert counts == sorted(counts, reverse=True)
        assert sum(facets.age.values()) == len(rows)
        assert set(facets.age) == set(AGE_GROUPS)
        assert facets.age[NO_DATE] == sum(moment(row.when) is None for row in rows)
        if "sessions" not in memory.why_not:
            assert dict(facets.session or {}) == dict(Counter(row.session_id or NO_SESSION for row in rows))
        else:
            assert facets.session is None

    async def test_a_missing_row_is_reported(self, memory: Memory) -> None:
        handles = await handles_of(memory, EVERYTHING, Sort())
        unknown = -7 if isinstance(handles[0], int) else "no such handle"
        await raises(whole_entry(memory, unknown), NotFound)
        assert (await excerpts_at(memory, [unknown])) == []
        assert await memory.get("no such key, surely") is None
        assert await entries_with_key(memory, "no such key, surely") == []
        assert await entry_with_id(memory, "no such id, surely") is None
        assert await memory.rows(Query(ENTRIES, prefix="no such key, surely")) == []

    async def test_recall_ranks_rows_of_the_store(self, memory: Memory) -> None:
        handles = set(map(str, (await handles_of(memory, EVERYTHING, Sort()))))
        for query in self.words:
            for limit in (1, 5):
                found = await memory.recall(query, limit)
                assert 0 < len(found) <= limit
                assert [scored.rank for scored in found] == list(range(1, len(found) + 1))
                scores = [scored.score for scored in found if scored.score is not None]
                assert scores == sorted(scores, reverse=True)
                assert {str(scored.entry.handle) for scored in found} <= handles

    async def test_recall_finds_nothing_for_words_nobody_wrote(self, memory: Memory) -> None:
        assert len(await memory.recall("\x00", 5)) <= 5
        for query in ("xylophonequartz", '"', "') OR 1=1 --", "NEAR(", "-"):
            for scored in await memory.recall(query, 5):
                words = query.lower().split()
                text = f"{scored.entry.key} {scored.entry.content}".lower()
                assert any(word.strip("\"'()-*") in text for word in words)
        assert await memory.recall("xylophonequartz", 5) == []

    async def test_search_is_recall_with_its_parts(self, memory: Memory) -> None:
        profile = profile_for(memory.about.newest_version or NEWEST)
        for query in (*self.words, ""):
            ranked = await memory.recall(query, 5)
            found = await recall_of(memory, RecallRequest(query), profile, ScoringSettings())
            assert [scored.entry.handle for scored in found.entries] == [scored.entry.handle for scored in ranked]
            assert [scored.score for scored in found.entries] == [scored.score for scored in ranked]
            assert found.scale

    async def test_health_has_a_summary_and_facts(self, memory: Memory) -> None:
        health = await memory.health()
        assert await memory.health_check()
        assert health.ok
        assert health.summary
        assert health.facts
        assert memory.name
        assert memory.about.location

    async def test_each_row_is_shown_once_whole_in_the_order_of_storing(self, memory: Memory) -> None:
        entries: list[MemoryEntry] = []
        stamps: list[RowVersion] = []

        def see(row: Row) -> None:
            entries.append(row.entry())
            stamps.append(memory.stamp_of(row))

        await memory.scan(see)
        expected = await versions(memory, EVERYTHING)
        assert stamps == expected
        assert [entry.content for entry in entries] == [
            (await whole_entry(memory, stamp.handle)).content for stamp in expected
        ]
        stored = await memory.rows(Query(ROWS, handles=[stamp.handle for stamp in expected]))
        assert stored == [await row_with_id(memory, stamp.id) for stamp in expected]
        by_id = await rows_by_id(memory, [*(stamp.id for stamp in expected), "00000000-0000-4000-8000-000000000000"])
        assert by_id == {row.id: row for row in stored}

    async def test_a_scan_shows_what_a_filter_selects_and_ends_with_an_error(self, memory: Memory) -> None:
        seen: list[str] = []
        category = (await versions(memory, EVERYTHING))[0].category
        await memory.scan(lambda row: seen.append(row.id), MemoryFilter(category=(category,)))
        assert seen == [stamp.id for stamp in await versions(memory, MemoryFilter(category=(category,)))]

        def enough(row: Row) -> None:
            seen.append(row.id)
            raise Refused("enough")

        seen.clear()
        await raises(memory.scan(enough), Refused)
        assert len(seen) == 1

    async def test_reading_changes_nothing(self, memory: Memory) -> None:
        before = (await memory.count(), await memory.version())
        await memory.recall(self.words[0], 5)
        await entries_of(memory, EVERYTHING)
        await count_facets(memory, EVERYTHING, NOW.isoformat())
        assert (await memory.count(), await memory.version()) == before

    async def test_a_read_only_store_refuses_every_write_with_a_reason(self, memory: Memory) -> None:
        if "write" not in memory.why_not:
            return  # The store takes writes.
        before = [row.as_json() for row in await entries_of(memory, EVERYTHING)]
        stamps = await versions(memory, EVERYTHING)
        draft = Draft("contract_key", "contract content")
        await raises(memory.store("contract_key", "contract content", "core"), Refused)
        await raises(create(memory, draft, JournalRecorder()), Refused)
        await raises(edit(memory, stamps[0], {"content": "other"}, JournalRecorder()), Refused)
        await raises(delete(memory, stamps, JournalRecorder()), Refused)
        await raises(memory.apply((), JournalRecorder()), Refused)
        await raises(memory.apply((), None, dry_run=True), Refused)
        assert [row.as_json() for row in await entries_of(memory, EVERYTHING)] == before

    async def test_evidence_gathered_once_decides_the_recall_of_every_limit(self, memory: Memory) -> None:
        for version in LANDMARKS:
            asked = [*((query, None) for query in (*self.words, "", "xylophonequartz")), (self.words[0], _SINCE)]
            for query, since in asked:
                request = RecallRequest(query, since=since, layer="store", as_of=NOW.isoformat())
                await _compare(memory, request, version)

    async def test_each_word_of_a_query_is_explained_once(self, memory: Memory) -> None:
        query = f"{self.words[0]} xylophonequartz {self.words[0]}"
        words = list(dict.fromkeys(query.split()))
        found = await recall_of(memory, RecallRequest(self.words[0]), profile_for(NEWEST), ScoringSettings())
        trial = Trial(RecallRequest(query), profile_for(NEWEST), ScoringSettings())
        for scored in found.entries:
            evidence = await memory.search(trial, deep=True)
            shares = word_shares(evidence, scored.entry, query)
            assert [share.word for share in shares] == words
            assert [share.is_found for share in shares if share.word == "xylophonequartz"] == [False]


def _filters(rows: Sequence[MemoryEntry], memory: Memory) -> list[MemoryFilter]:
    categories = sorted({row.category for row in rows})
    moments = ["2026-10-20T00:00:00+00:00", "2026-11-10T06:30:00+02:00", "2026-11-15"]
    found = [MemoryFilter(category=(category,)) for category in categories]
    found += [MemoryFilter(category=tuple(categories[:2])), MemoryFilter(category=("no such category",))]
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


async def _compare(memory: Memory, request: RecallRequest, version: str) -> None:
    profile, numbers = profile_for(version), ScoringSettings()
    evidence = await memory.search(Trial(request, profile, numbers), deep=True)
    for limit in _LIMITS:
        asked = replace(request, limit=limit)
        trial = Trial(asked, profile, numbers)
        assert serves([evidence], trial)
        found = await recall_of(memory, asked, profile, numbers)
        decision = decide([evidence], trial)
        rows = {entry.handle: entry for entry in (await entries_at(memory, decision.wanted))}
        decided = answer(decision, rows)
        unjudged = [replace(one, decayed=None, injected=False, stop=None) for one in decided.results]
        assert unjudged == list(found.entries)
        assert (decided.mode, decided.scale) == (found.mode, found.scale)
