"""Which tables of a database are found, and which actions they allow."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.memories import sample_entries
from support.opened import opened_memory
from support.places import Install, MemoryConfig
from support.postgres_place import PASSWORD
from support.questions import EXCERPTS, NEWEST_STORED, MemoryFilter, Query, Sort

from zeroclaw_tui.backends.lookup import why_fixed
from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.testing.tools import entries_of, handles_of

FLAGS = ("vectors", "sessions", "agents", "namespaces", "superseded", "pinned", "importance", "kind", "write", "watch")


@pytest.mark.parametrize(
    ("form", "can"),
    [
        ("key", {"sessions"}),
        ("vector", {"sessions", "namespaces", "importance", "vectors"}),
        ("agents", {"sessions", "namespaces", "importance", "vectors", "agents"}),
        ("uuid", {"vectors"}),
    ],
)
async def test_a_missing_capability_of_a_table_has_a_reason(form, can, place, opens):
    place.make_table(form)
    memory = await opens()
    assert set(FLAGS) - set(memory.why_not) == can | {"write", "watch"}
    assert (why_fixed(memory, "namespace") is None) == ("namespaces" in can)
    assert (why_fixed(memory, "session_id") is None) == ("sessions" in can)
    assert all(reason.endswith(".") for reason in memory.why_not.values())


async def test_a_table_of_any_name_in_any_schema_opens_as_the_config_says(place, tmp_path):
    place.make_table("agents", "Team_2", "Erinnerungen")
    place.fill("agents", schema="Team_2", table="Erinnerungen")
    install = Install(None, tmp_path, tmp_path / "brain.db", "lone", "for a test", tmp_path / "own")
    storage = {"db_url": place.url, "schema": "Team_2", "table": "Erinnerungen"}
    config = MemoryConfig(install, backend="postgres", storage=storage)
    async with opened_memory(PostgresMemory.from_config(config)) as memory:
        assert await memory.count() == len(sample_entries())
        server = f"{place.user}@127.0.0.1:{place.server.port}/{place.database}"
        assert memory.about.location == f"postgres://{server}?schema=Team_2&table=Erinnerungen"
        assert PASSWORD not in memory.about.location


async def test_a_page_reads_only_the_rows_that_it_shows(place, opens):
    """The query uses ZeroClaw's index on updated_at."""
    place.make_table("key")
    place.run(
        "INSERT INTO memories SELECT n::text, 'k' || n, repeat('c', 200), 'core', now(), '2026-01-01'::timestamptz + n "
        "* interval '1 second' FROM generate_series(1, 20000) n; ANALYZE memories"
    )
    memory = await opens()
    place.run("SELECT pg_stat_force_next_flush()")
    fetched = "SELECT idx_tup_fetch + seq_tup_read FROM pg_stat_user_tables WHERE relname = 'memories'"
    before = int(place.run(fetched))
    page = await memory.rows(Query(EXCERPTS, MemoryFilter(), NEWEST_STORED, limit=50))
    assert [entry.handle for entry in page] == [str(number) for number in range(20000, 19950, -1)]
    async with memory.connections.reading() as connection:
        await connection.execute("SELECT pg_stat_force_next_flush()")
    assert int(place.run(fetched)) - before < 500


async def test_a_read_only_user_can_read(place, opens):
    place.make_table("agents")
    place.fill("agents")
    url = place.another_user("GRANT SELECT ON memories, agents TO {0}")
    memory = await opens(url)
    assert memory.why_not["write"] == f"The user {place.user}_other may not write to the table public.memories."
    assert {entry.agent for entry in await memory.list()} == {"default"}
    health = await memory.health()
    assert health.ok
    assert health.findings == (memory.why_not["write"],)
    assert health.facts["server"].startswith("PostgreSQL 1")
    assert (health.facts["memories"], health.facts["agents"]) == (len(sample_entries()), ["default", "scout"])


async def test_agents_are_filtered_by_alias_and_a_new_one_is_found(place, opens):
    place.make_table("agents")
    first, second, *rest = sample_entries()
    place.fill("agents", [first, replace(second, agent="scout"), *rest])
    memory = await opens()
    version = await memory.version()
    assert [entry.key for entry in (await entries_of(memory, MemoryFilter(agent=("scout",))))] == [second.key]
    place.run(
        "INSERT INTO agents VALUES ('a-new', 'newcomer', now()); UPDATE memories SET agent_id = 'a-new' WHERE id = "
        f"'{first.id}'"
    )
    assert await memory.version() != version
    assert [entry.agent for entry in (await entries_of(memory, MemoryFilter(agent=("newcomer",))))] == ["newcomer"]
    assert len(await handles_of(memory, MemoryFilter(agent=("nobody",)), Sort())) == 0


async def test_data_version_changes_with_every_kind_of_write_and_only_then(place, opens):
    place.make_table("key")
    place.fill("key")
    memory = await opens()
    for statement in (
        "UPDATE memories SET session_id = 'x' WHERE key = 'lang'",
        "DELETE FROM memories WHERE key = 'lang'",
        "INSERT INTO memories VALUES ('n', 'n', 'n', 'core', '2020-01-01', '2020-01-01')",
        "ALTER TABLE memories ADD note TEXT",
    ):
        version = await memory.version()
        assert await memory.version() == version
        place.run(statement)
        assert await memory.version() != version
    assert memory.table.has("note")
