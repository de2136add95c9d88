"""In a table of many rows only those come over that are shown or asked for; the rest stays with the server."""

from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from support.postgres_place import PostgresPlace

from zeroclaw_tui.backends.matching import filter_entries
from zeroclaw_tui.cli.entries import list_memories
from zeroclaw_tui.cli.verbs import memory_arguments
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.testing.tools import entries_of

ROWS = 3_000
FILL = f"""
INSERT INTO memories (id, key, content, category, created_at, updated_at, agent_id)
SELECT 'id-' || n, 'key ' || n, 'memory number ' || n, (ARRAY['core', 'daily'])[1 + n % 2], t, t, 'a-default'
FROM (SELECT n, '2026-11-20'::timestamptz - n * interval '1 minute' AS t FROM generate_series(1, {ROWS}) n) AS made;
ANALYZE memories"""


@pytest.fixture
def filled(place: PostgresPlace) -> PostgresPlace:
    """More rows than any screen shows."""
    place.make_table("agents")
    place.run(FILL)
    return place


@pytest.fixture
async def library(filled: PostgresPlace, tmp_path: Path) -> AsyncIterator[Library]:
    options = OpenOptions(location=filled.url)
    opened = await open_library(configs_for(options, {"HOME": str(tmp_path)})[0])
    yield opened
    await opened.close()


@pytest.mark.parametrize("options", [(), ("--contains", "number 1"), ("--newer-than", "2000-01-01")])
async def test_a_short_list_brings_what_it_shows_and_no_other_id(library, fetched, capsys, options):
    given = memory_arguments(["list", "--limit", "3", "--offset", "2", *options])
    assert await list_memories(library, given, datetime.now(UTC)) == 0
    shown = capsys.readouterr().out
    found = sum("number 1" in f"number {number}" for number in range(1, ROWS + 1)) if "--contains" in options else ROWS
    assert f"({found} total, showing 3-5)" in shown.splitlines()[0]
    assert shown.count("\n- ") == 3
    assert len(fetched) <= 4
    assert sum(rows for _, rows in fetched) < 10


async def test_a_text_is_found_in_any_case_of_its_ascii_letters_whatever_the_language_of_the_column(place, opens):
    """In Unicode the sign of the kelvin is a capital of k, which the server may mean and the inspector does not."""
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
