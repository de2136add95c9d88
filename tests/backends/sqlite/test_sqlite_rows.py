"""Any content of a row is read unchanged: huge, broken or hostile."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest
from changed_stores import opened
from support.memories import kind_from
from support.questions import EXCERPTS, NEWEST_STORED, MemoryFilter, Query, Sort, SortField
from support.stores import count_facets, whole_entry

from zeroclaw_tui.testing.tools import entries_of, handles_of

LATER = "2026-12-31T00:00:00+00:00"


@pytest.mark.parametrize(
    ("stored", "kind"),
    [
        ('"episodic"', "episodic"), ('"procedural"', "procedural"), ('{"semantic":"fact"}', "semantic:fact"),
        ('{"semantic":"preference"}', "semantic:preference"), ('{"semantic":"mood"}', None),
        ('{"semantic":["fact"]}', None), ('"semantic"', None), ("episodic", None), ("[" * 100_000, None), ("", None),
        (None, None), (7, None),
    ],
)  # fmt: skip
def test_kinds_are_decoded_as_by_zeroclaw(stored, kind):
    assert kind_from(stored) == kind


async def test_a_huge_row_is_listed_as_an_excerpt_and_read_whole_on_demand(make_store):
    huge = "ä" * 9_000_000
    async with opened(make_store([{"key": "huge", "content": huge}, {"key": "small"}])) as memory:
        page = await memory.rows(Query(EXCERPTS, MemoryFilter(), Sort(SortField.SIZE), limit=10))
        (first, second) = page
        assert (first.key, first.size, first.is_excerpt, first.content) == ("huge", 18_000_000, True, "ä" * 400)
        assert (second.key, second.is_excerpt, second.content) == ("small", False, "text")
        whole = await whole_entry(memory, first.handle)
        assert whole.content == huge
        assert not whole.is_excerpt


async def test_a_nul_character_is_read(make_store):
    rows = [{"content": "before\0after", "key": "a\0b"}, {"content": "x\0" * 300}]
    async with opened(make_store(rows)) as memory:
        long, entry = await memory.rows(Query(EXCERPTS, MemoryFilter(), NEWEST_STORED, limit=2))
        assert (entry.size, entry.is_excerpt, entry.content) == (12, False, "before\0after")
        assert (long.size, long.is_excerpt, long.content) == (600, True, "x\0" * 200)
        assert (await whole_entry(memory, entry.handle)).content == "before\0after"
        assert (await memory.get("a\0b")).key == "a\0b"
        assert len(await entries_of(memory, MemoryFilter(contains="after"))) == 1


async def test_invalid_utf8_neither_raises_nor_changes(make_store):
    path = make_store([{}])
    broken = b"ok \xff\xfe \xed\xa0\x80 end"
    columns = ("key", "content", "category", "session_id", "namespace", "created_at", "superseded_by", "kind", "id")
    with closing(sqlite3.connect(path)) as writer, writer:
        changes = ", ".join(f"{column} = CAST(? AS TEXT)" for column in columns)
        writer.execute(f"UPDATE memories SET {changes}", [broken] * len(columns))
        writer.execute("UPDATE memories SET superseded_by = NULL")
    as_read = broken.decode("utf-8", "surrogateescape")
    async with opened(path) as memory:
        (entry,) = await memory.list()
        assert entry.key == entry.content == entry.category == entry.session_id == entry.id == as_read
        assert entry.kind is None
        assert (await memory.get(as_read)).handle == entry.handle
        facets = await count_facets(memory, MemoryFilter(), LATER)
        assert facets.by["category"] == {as_read: 1}
        chosen = MemoryFilter(category=(as_read,), session=(as_read,), namespace=(as_read,), contains="\udcff\udcfe")
        assert (await count_facets(memory, chosen, LATER)).total == 1
        assert len(await handles_of(memory, chosen, NEWEST_STORED)) == 1


@pytest.mark.parametrize("date", ["", "now", "yesterday", "0", "2026-13-45", "9" * 300, "2026-03-01T10:00:00+99:99"])
async def test_invalid_timestamps_never_raise_and_have_their_own_group(date, make_store):
    rows = [{"key": "bad", "created_at": date, "updated_at": date}, {"key": "good"}]
    async with opened(make_store(rows)) as memory:
        assert (await memory.get("bad")).timestamp == date
        for field in (SortField.AGE, SortField.UPDATED):
            page = await memory.rows(Query(EXCERPTS, MemoryFilter(), Sort(field), limit=5))
            assert [entry.key for entry in page] == ["good", "bad"]
        facets = await count_facets(memory, MemoryFilter(), "2026-03-01T12:00:00+00:00")
        assert facets.by["age"] == {"today": 1, "this week": 0, "this month": 0, "older": 0, "no date": 1}
        some = await count_facets(memory, MemoryFilter(contains="d"), "2026-03-01T12:00:00+00:00")
        assert some.by["age"] == facets.by["age"]
        assert len(await entries_of(memory, MemoryFilter(older_than="2030-01-01"))) == 1


async def test_numbers_and_blobs_in_text_columns_are_read(make_store):
    path = make_store([{"key": "k"}])
    with closing(sqlite3.connect(path)) as writer, writer:
        writer.execute("UPDATE memories SET content = x'68690aff', importance = 'high', embedding = 'text', pinned = 5")
    async with opened(path) as memory:
        entry = await memory.get("k")
        assert (entry.content, entry.importance, entry.pinned) == ("hi\n\udcff", None, True)
        assert entry.size == 4


async def test_an_owner_without_an_agent_row_is_shown_by_its_id(make_store):
    path = make_store([{"key": "a"}, {"key": "b"}])
    with closing(sqlite3.connect(path)) as writer, writer:
        writer.execute("UPDATE memories SET agent_id = 'ghost' WHERE key = 'a'")
    async with opened(path) as memory:
        assert (await memory.get("a")).agent == "ghost"
        assert (await count_facets(memory, MemoryFilter(), LATER)).by["agent"] == {"default": 1, "ghost": 1}
        assert len(await handles_of(memory, MemoryFilter(agent=("ghost",)), NEWEST_STORED)) == 1
        assert "owned by agents that do not exist" in " ".join((await memory.health()).findings)
