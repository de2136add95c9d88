"""The table that each ZeroClaw version creates at its first start, and users who may not create one."""

from __future__ import annotations

import pytest
from support.memories import NothingYet, Refused
from support.postgres_place import PostgresPlace
from support.rules import profile_for

from zeroclaw_tui.backends.postgres.address import read_url
from zeroclaw_tui.backends.postgres.store import PostgresMemory

PLAIN = ["id", "key", "content", "category", "created_at", "updated_at", "session_id"]
INDEXES = {f"idx_memories_{name}" for name in ("category", "session_id", "updated_at", "content_fts", "key_fts")}


async def missing_table(url: str, schema: str = "agent_memory", **settings) -> PostgresMemory:
    memory = PostgresMemory(read_url(url), schema=schema, **settings)
    with pytest.raises(NothingYet):
        await memory.open()
    return memory


def columns(place: PostgresPlace, schema: str = "agent_memory", table: str = "memories") -> list[str]:
    return place.run(
        "SELECT column_name FROM information_schema.columns "
        f"WHERE table_schema = '{schema}' AND table_name = '{table}' ORDER BY ordinal_position"
    ).splitlines()


def indexes(place: PostgresPlace, schema: str = "agent_memory") -> set[str]:
    return set(place.run(f"SELECT indexname FROM pg_indexes WHERE schemaname = '{schema}'").splitlines())


@pytest.fixture
async def made(request, place):
    """Create a table as a version of ZeroClaw does."""
    memory = await missing_table(place.url)
    await memory.make(profile_for(request.param))
    yield memory
    await memory.close()


@pytest.mark.parametrize("made", ["0.1.2", "0.7.5"], indirect=True)
async def test_without_agents_a_key_is_unique(made, place):
    assert columns(place) == PLAIN
    assert indexes(place) == {*INDEXES, "memories_pkey", "memories_key_key"}
    await made.store("k", "c", "core")
    await made.store("k", "d", "core")
    assert [entry.content for entry in await made.list()] == ["d"]


@pytest.mark.parametrize("made", ["0.8.0", "0.8.4"], indirect=True)
async def test_with_agents_a_key_is_unique_for_each_agent(made, place):
    """Also checks the agent for memories without owner, the version table and the three named constraints."""
    assert columns(place) == [*PLAIN, "agent_id"]
    assert {"idx_memories_agent_id", "memories_agent_key_uniq", "memories_pkey", *INDEXES} <= indexes(place)
    rules = place.run("SELECT conname FROM pg_constraint WHERE conrelid = 'agent_memory.memories'::regclass").split()
    assert {"memories_agent_id_notnull_chk", "memories_agent_id_fk", "memories_agent_key_uniq"} <= set(rules)
    assert place.run("SELECT component, version FROM agent_memory.schema_version") == "memories|1"
    await made.store("k", "c", "core")
    assert [(entry.key, entry.agent) for entry in await made.list()] == [("k", "default")]


async def test_a_user_who_may_not_create_the_table_gets_the_grant_statement(place):
    url = place.another_user()
    memory = await missing_table(url)
    try:
        with pytest.raises(Refused, match="may not create the table") as refused:
            await memory.make(profile_for("0.8.4"))
        place.run(refused.value.hint.partition(": ")[2])
        await memory.make(profile_for("0.8.4"))
        await memory.store("k", "c", "core")
    finally:
        await memory.close()
