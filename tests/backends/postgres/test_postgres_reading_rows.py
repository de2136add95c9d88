"""Rows are read and restored exactly, whatever the settings of the server and the role."""

from __future__ import annotations

import json

import pytest
from support.memories import MemoryEntry
from support.questions import EXCERPTS, HANDLES, ROWS, MemoryFilter, Query, Sort, SortField
from support.stores import count_matching

from zeroclaw_tui.backends.matching import filter_entries
from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.testing.tools import JournalRecorder, delete, entries_of, handles_of, undo

MORE = """
ALTER TABLE memories ADD COLUMN "Odd ""name%s" JSONB, ADD COLUMN raw BYTEA, ADD COLUMN lasted INTERVAL,
  ADD COLUMN exactly NUMERIC, ADD COLUMN words TEXT[], ADD COLUMN ratio DOUBLE PRECISION, ADD COLUMN yes BOOLEAN,
  ADD COLUMN seen TIMESTAMPTZ, ADD COLUMN local TIMESTAMP, ADD COLUMN place POINT, ADD COLUMN spans INT4RANGE,
  ADD COLUMN twice INTEGER GENERATED ALWAYS AS (length(content) * 2) STORED;
UPDATE memories SET "Odd ""name%s" = '{"a": [1, 2.50, "ü"]}', raw = '\\x00ff10', lasted = '1 mon 3 days 04:05:06.789',
  exactly = 12345678901234567890.1234567890, words = ARRAY['a', NULL, '"b", {c}', ''], ratio = 0.1 + 0.2, yes = true,
  seen = '2026-03-04 05:06:07.000001+05:45', local = '2026-03-04 05:06:07', place = '(1.5,-2)', spans = '[3,7)'
"""
AWKWARD_SETTINGS = (
    "DateStyle = 'SQL, DMY'", "TimeZone = 'Asia/Kathmandu'", "IntervalStyle = 'iso_8601'", "bytea_output = 'escape'",
    "extra_float_digits = -3", "statement_timeout = '30s'",
)  # fmt: skip


IDS = [f"id-{number:02}" for number in range(17)]


async def remove_and_undo(memory: PostgresMemory) -> None:
    """Remove every row, undo the removal and check that the rows are the same; return the rows."""
    rows, journal = await memory.rows(Query(ROWS)), JournalRecorder()
    await delete(memory, rows, journal)
    assert await memory.count() == 0
    await undo(memory, journal.changes[::-1])
    assert {row.id: row for row in await memory.rows(Query(ROWS))} == {row.id: row for row in rows}


@pytest.mark.parametrize("form", ["key", "vector", "agents", "uuid"])
async def test_removal_and_undo_restore_every_column(form, place, opens):
    """Includes unknown columns and vectors, for a role whose settings change the output of times, numbers and bytes."""
    place.make_table(form)
    place.fill(form)
    place.run(MORE)
    if form != "key":
        place.run(
            "UPDATE memories SET embedding = '[0.1,-3.4028235e38,1e-45]', content = 'with a vector' WHERE key = 'lang'"
        )
    if form == "vector":
        place.run("UPDATE memories SET importance = 0.7")
    if form != "uuid":
        place.run("UPDATE memories SET created_at = '-infinity', updated_at = '0044-03-15 BC' WHERE key = 'editor'")
    for setting in AWKWARD_SETTINGS:
        place.run_as_superuser(f'ALTER ROLE "{place.user}" SET {setting}')
    exactly = "SELECT m::text FROM memories AS m ORDER BY id"
    before = place.run(exactly)
    await remove_and_undo(await opens())
    assert place.run(exactly) == before


@pytest.mark.parametrize(
    ("kind", "written"), [("vector", "[0.5,2,-3.5]"), ("halfvec(3)", "[0.5,2,-3.5]"), ("real[]", "{0.5,2,-3.5}")]
)
async def test_a_restored_row_has_its_embedding_whatever_the_column_type(kind, written, place, opens):
    place.make_table("key")
    place.fill("key")
    place.run(f"ALTER TABLE memories ADD embedding {kind}")
    place.run(f"UPDATE memories SET embedding = '{written}' WHERE key = 'lang'")
    memory = await opens()
    assert "vectors" in memory.why_not
    before = place.run("SELECT key, embedding::text FROM memories ORDER BY key")
    await remove_and_undo(memory)
    assert place.run("SELECT key, embedding::text FROM memories ORDER BY key") == before


async def test_the_tutorials_categories_are_read_as_serde_writes_them(place, opens):
    """Categories are serde's JSON, plain text, or text that only looks like JSON."""
    spelled = {
        '"Core"': "core", "core": "core", '{"Custom":"recipes and menus"}': "recipes and menus", '"Daily"': "daily",
        '{"Custom":"größe \\"x\\""}': 'größe "x"', "{not json": "{not json", '"Conversation"': "conversation",
    }  # fmt: skip
    place.make_table("uuid")
    document = json.dumps([{"key": f"k{at}", "content": "c", "category": text} for at, text in enumerate(spelled)])
    place.run(
        "INSERT INTO memories (key, content, category) SELECT key, content, category FROM "
        f"json_to_recordset($x${document}$x$) AS r(key TEXT, content TEXT, category TEXT)"
    )
    memory = await opens()
    for at, name in enumerate(spelled.values()):
        assert (await memory.get(f"k{at}")).category == name
        listed = await memory.list(name)
        assert {entry.category for entry in listed} == {name}
        assert f"k{at}" in {entry.key for entry in listed}
    assert len(await handles_of(memory, MemoryFilter(category=("core",)), Sort())) == 2


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("field", [field for field in SortField if field is not SortField.KEY])
@pytest.mark.parametrize("wanted", [MemoryFilter(), MemoryFilter(contains="text")])
async def test_equal_values_are_sorted_by_id_in_both_directions(place, opens, wanted, field, descending):
    """Otherwise pages of a list could repeat or omit a memory."""
    place.make_table("key")
    rows = ", ".join(f"('{id_}', 'key {id_}', 'text', 'core', 'epoch', 'epoch')" for id_ in IDS[8:] + IDS[:8])
    place.run(f"INSERT INTO memories (id, key, content, category, created_at, updated_at) VALUES {rows}")
    memory, sort = await opens(), Sort(field, descending)
    expected = sorted(IDS, reverse=descending)
    assert list(await handles_of(memory, wanted, sort)) == expected
    assert list(await memory.rows(Query(HANDLES, wanted, sort, prefix="key "))) == sorted(IDS, reverse=True)
    for offset in range(0, len(IDS), 5):
        part = await memory.rows(Query(HANDLES, wanted, sort, offset=offset, limit=5))
        assert (list(part), await count_matching(memory, wanted)) == (expected[offset : offset + 5], len(IDS))
        page = await memory.rows(Query(EXCERPTS, wanted, sort, offset=offset, limit=5))
        assert [entry.handle for entry in page] == expected[offset : offset + 5]


async def test_search_ignores_ascii_case_whatever_the_collation_of_the_column(place, opens):
    """In Unicode the kelvin sign is a capital of k; the server may treat it so, the inspector does not."""
    place.make_table("key")
    place.run('ALTER TABLE memories ALTER content TYPE text COLLATE "pg_unicode_fast"')
    for at, content in enumerate(
        ("IN", "in", "\u0130n", "\u0131n", "273 \u212a", "a_b%c\\d", "aXb", "深色主题", "ÄRGER")
    ):
        place.fill("key", [MemoryEntry(f"id-{at}", f"key {at}", content, "core", "2026-03-01T00:00:00Z")])
    memory = await opens()
    for text in ("in", "IN", "\u0130", "\u0131", "k", "\u212a", "_", "%", "\\", "a_B%C\\", "色主", "ärger", "KEY 1"):
        wanted = MemoryFilter(contains=text)
        one_by_one = {entry.id for entry in filter_entries(await memory.list(), wanted)}
        assert {entry.id for entry in (await entries_of(memory, wanted))} == one_by_one
