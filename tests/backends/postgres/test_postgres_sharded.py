"""A table whose partitions lie on two other servers: everything works on it, through one server's postgres_fdw."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from support.postgres_place import PASSWORD
from support.postgres_server import NO_DEBIAN, PostgresServer, debian_programs, running_postgres

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.store_choice import configs_for
from zeroclaw_tui.curation.transfer.copy import copy_memories, open_target
from zeroclaw_tui.memory.change import Draft, Edit, StoredRow
from zeroclaw_tui.memory.query import NEWEST_STORED, MemoryFilter, Superseded
from zeroclaw_tui.testing.samples import sample_entries
from zeroclaw_tui.tui.app import InspectorApp
from zeroclaw_tui.tui.loader import Pace

USER = "sharded"
NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
COLUMNS = """(id TEXT NOT NULL, key TEXT NOT NULL, content TEXT NOT NULL, category TEXT NOT NULL,
created_at TIMESTAMPTZ NOT NULL, updated_at TIMESTAMPTZ NOT NULL, session_id TEXT)"""
EVERYTHING = MemoryFilter(superseded=Superseded.SHOW)


@pytest.fixture(scope="module")
def shards() -> Iterator[tuple[PostgresServer, PostgresServer]]:
    """Two servers, each with an empty table for a half of the memories."""
    with running_postgres() as one, running_postgres() as other:
        for server in (one, other):
            server.make_user(USER, PASSWORD)
            server.make_database(USER, USER)
            server.run(f"SET ROLE {USER}; CREATE TABLE half {COLUMNS}; CREATE UNIQUE INDEX ON half (id)", USER)
        yield one, other


@pytest.fixture(scope="module")
def front(shards: tuple[PostgresServer, PostgresServer]) -> Iterator[PostgresServer]:
    """The server that knows where the halves lie; the wheel's has no postgres_fdw."""
    programs = debian_programs()
    if programs is None:
        pytest.skip(NO_DEBIAN)
    with running_postgres(programs) as server:
        server.make_user(USER, PASSWORD)
        server.make_database(USER, USER)
        server.run("CREATE EXTENSION postgres_fdw", USER)
        statements = [f"CREATE TABLE memories {COLUMNS} PARTITION BY HASH (id); ALTER TABLE memories OWNER TO {USER}"]
        for number, shard in enumerate(shards):
            statements += [
                f"CREATE SERVER shard{number} FOREIGN DATA WRAPPER postgres_fdw "
                f"OPTIONS (host '127.0.0.1', port '{shard.port}', dbname '{USER}')",
                f"CREATE USER MAPPING FOR {USER} SERVER shard{number} OPTIONS (user '{USER}', password '{PASSWORD}')",
                f"CREATE FOREIGN TABLE part{number} PARTITION OF memories FOR VALUES WITH (MODULUS 2, "
                f"REMAINDER {number}) SERVER shard{number} OPTIONS (table_name 'half')",
                f"ALTER FOREIGN TABLE part{number} OWNER TO {USER}",
            ]
        server.run("; ".join(statements), USER)
        yield server


@pytest.fixture
async def library(
    front: PostgresServer, shards: tuple[PostgresServer, PostgresServer], tmp_path: Path
) -> AsyncIterator[Library]:
    """The open table with the samples' keys, texts and categories."""
    for shard in shards:
        shard.run("TRUNCATE half", USER)
    options = OpenOptions(location=front.url(USER, PASSWORD, USER), backend="postgres")
    library = await open_library(configs_for(options, {"HOME": str(tmp_path)})[0], "0.7.5")
    await library.memory.store_batch([Draft(entry.key, entry.content, entry.category) for entry in sample_entries()])
    yield library
    await library.close()


async def rows_of(library: Library) -> dict[str, StoredRow]:
    return await library.memory.stored_by_id([entry.id for entry in await library.memory.list()])


async def test_the_memories_lie_on_both_servers_and_are_listed_found_and_counted(
    library: Library, shards: tuple[PostgresServer, PostgresServer]
) -> None:
    memory, wanted = library.memory, {entry.key: entry for entry in sample_entries()}
    counts = [int(shard.run("SELECT count(*) FROM half", USER)) for shard in shards]
    assert sum(counts) == await memory.count() == len(wanted)
    assert min(counts) > 0
    assert {entry.key: entry.content for entry in await memory.list()} == {
        key: entry.content for key, entry in wanted.items()
    }
    page = await memory.page(MemoryFilter(), NEWEST_STORED, None, 5)
    rest = await memory.page(MemoryFilter(), NEWEST_STORED, page.next, 1000)
    assert len(page.entries) == 5
    assert {entry.key for entry in (*page.entries, *rest.entries)} == set(wanted)
    entry = await memory.get("lang")
    assert entry is not None
    assert entry.content == wanted["lang"].content
    assert "lang" in {found.entry.key for found in await memory.recall("Rust", 50)}
    facets = await memory.facets(MemoryFilter(), "2026-03-01T00:00:00Z")
    assert facets.total == sum(facets.category.values()) == len(wanted)
    assert (await memory.statistics()).total == len(wanted)
    assert (await memory.health()).ok
    version = await memory.data_version()
    assert await memory.data_version() == version


async def test_what_others_write_on_either_server_is_seen(
    library: Library, front: PostgresServer, shards: tuple[PostgresServer, PostgresServer]
) -> None:
    """An edit that leaves the times alone, a deletion and a new memory; nothing is seen where nothing was written."""
    memory = library.memory
    assert memory.capabilities.watch
    seen = [await memory.data_version()]
    for shard in shards:
        for statement in (
            "UPDATE half SET content = content || '!' WHERE id = (SELECT min(id) FROM half)",
            "DELETE FROM half WHERE id = (SELECT max(id) FROM half)",
        ):
            shard.run(statement, USER)
            seen += [await memory.data_version(), await memory.data_version()]
    front.run(
        f"SET ROLE {USER}; INSERT INTO memories VALUES ('new', 'new', 'new', 'core', '2020-01-01', '2020-01-01')", USER
    )
    seen.append(await memory.data_version())
    assert [one == other for one, other in pairwise(seen)] == [False, True] * 4 + [False]


async def test_a_deletion_among_many_rows_is_seen(
    library: Library, shards: tuple[PostgresServer, PostgresServer]
) -> None:
    """Where there are too many to be compared they are counted; what stays as it is changes nothing."""
    memory = library.memory
    many = "SELECT n, n, n, 'core', '2020-01-01', '2020-01-01' FROM generate_series(1, 30000) AS n"
    shards[0].run(f"INSERT INTO half {many}", USER)
    async with asyncio.timeout(60):
        for shard in shards:
            before = await _steady(memory)
            shard.run("DELETE FROM half WHERE id = (SELECT max(id) FROM half)", USER)
            while await memory.data_version() == before:
                pass
        await _steady(memory)


async def _steady(memory: Memory) -> object:
    """The version once it stays: dates are read each time, rows counted only now and then."""
    while len(seen := {await memory.data_version() for _ in range(3)}) > 1:
        pass
    return seen.pop()


async def test_the_inspector_shows_what_others_write_on_another_server(
    library: Library, front: PostgresServer, shards: tuple[PostgresServer, PostgresServer]
) -> None:
    options = OpenOptions(location=front.url(USER, PASSWORD, USER), backend="postgres")
    app = InspectorApp(options, clock=lambda: NOW, pace=Pace(debounce=0.0, poll=0.05, stopwatch=lambda: 0.0))
    total = len(sample_entries())
    async with app.run_test(size=(140, 40)) as pilot:

        async def shows(wanted: str) -> None:
            async with asyncio.timeout(20):
                while wanted not in "".join(app.export_screenshot(simplify=True).split("&#160;")):
                    await pilot.pause(0.05)

        await shows(f"{total}memories")
        added = "INSERT INTO memories VALUES ('n', 'newcomer', 'of another program', 'core', now(), now() + '1 day')"
        front.run(f"SET ROLE {USER}; {added}", USER)
        await shows("newcomer")
        for shard in shards:
            shard.run("UPDATE half SET key = 'changed' WHERE id = 'n'", USER)
        await shows("changed")


async def test_what_is_stored_edited_and_removed_there_is_taken_back(library: Library) -> None:
    before = await rows_of(library)
    stored = await changes.store_memory(library, Draft("pet", "A cat called Mau", "core"))
    row = next(row for row in (await rows_of(library)).values() if row.values["key"] == "pet")
    assert stored.count == 1
    await changes.edit_memory(library, row.id, Edit({"content": "A dog", "key": "animal"}), row.fingerprint)
    edited = await library.memory.get("animal")
    assert edited is not None
    assert (edited.id, edited.content) == (row.id, "A dog")
    plan = await changes.plan_purge(library, MemoryFilter(category=("core",)))
    assert plan.count > 1
    assert (await changes.remove_memories(library, plan, "purge")).count == plan.count
    assert (await library.memory.facets(MemoryFilter(), "2026-03-01T00:00:00Z")).category.get("core", 0) == 0
    for _ in range(3):
        await changes.undo(library)
    after = await rows_of(library)
    assert {name: row.values for name, row in after.items()} == {name: row.values for name, row in before.items()}


async def test_a_key_is_overwritten_in_whichever_half_it_lies(library: Library) -> None:
    for key in [entry.key for entry in sample_entries()][:6]:
        await library.memory.store(key, "newer", "core")
        entry = await library.memory.get(key)
        assert entry is not None
        assert entry.content == "newer"
    assert await library.memory.count() == len(sample_entries())


async def test_all_of_it_is_copied_to_sqlite(library: Library, tmp_path: Path) -> None:
    target = await open_target(library, "sqlite", str(tmp_path / "copy.db"), "0.7.5", environ={})
    try:
        outcome = await copy_memories(library, target, EVERYTHING, "skip")
    finally:
        await target.close()
    assert (outcome.count, outcome.verified, outcome.differs) == (len(sample_entries()), len(sample_entries()), 0)
