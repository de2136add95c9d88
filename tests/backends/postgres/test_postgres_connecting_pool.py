"""Pooled connections are opened on use, keep no state, and can be cancelled."""

from __future__ import annotations

import asyncio
import gc

import pytest
from support.memories import NotReachable, Refused, sample_entries
from support.postgres_place import PASSWORD
from support.questions import EXCERPTS, NEWEST_STORED, MemoryFilter, Query

from zeroclaw_tui.backends.postgres.connect import MAX_CONNECTIONS
from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.testing.tools import handles_of

SLEEP = "SELECT pg_sleep(60)"


@pytest.fixture
async def memory(place, opens):
    place.make_table("key")
    place.fill("key")
    return await opens()


async def start_sleeping(memory: PostgresMemory) -> None:
    async with memory.connections.reading(seconds=60) as connection:
        await connection.execute(SLEEP)


async def wait_for_sleepers(memory: PostgresMemory, wanted: int) -> None:
    """Wait until this many statements sleep on the server."""
    async with memory.connections.reading(seconds=30) as connection:
        counting = f"SELECT count(*) FROM pg_stat_activity WHERE query = '{SLEEP}' AND state = 'active'"
        while await connection.fetchval(counting) != wanted:
            await connection.execute("SELECT pg_stat_clear_snapshot()")


async def test_a_cancelled_await_stops_the_statement_on_the_server_and_frees_the_connection(memory):
    for _ in range(MAX_CONNECTIONS + 2):
        task = asyncio.ensure_future(start_sleeping(memory))
        await wait_for_sleepers(memory, 1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await wait_for_sleepers(memory, 0)
    assert await memory.count() == len(sample_entries())


async def test_a_statement_that_takes_too_long_is_stopped(memory):
    with pytest.raises(NotReachable) as caught:
        async with memory.connections.reading(seconds=0.05) as connection:
            await connection.execute(SLEEP)
    assert "took too long" in caught.value.message
    assert await memory.count() == len(sample_entries())


async def test_a_silent_server_is_reported_and_a_new_connection_opened(memory):
    left_behind: list[object] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, sentence: left_behind.append(sentence))
    with pytest.raises(NotReachable) as caught:
        async with memory.connections.reading(seconds=60) as connection:
            await connection.execute(SLEEP, timeout=0.05)
    assert "stopped answering" in caught.value.message
    assert await memory.count() == len(sample_entries())
    gc.collect()
    assert not left_behind


async def test_a_stopped_server_is_reported_and_used_again_after_its_restart(memory, place):
    sleeping = asyncio.ensure_future(start_sleeping(memory))
    await wait_for_sleepers(memory, 1)
    place.server.stop()
    try:
        with pytest.raises(NotReachable) as middle:
            await sleeping
        assert "closed the connection" in middle.value.message
        with pytest.raises(NotReachable) as after:
            await memory.count()
        assert "Nothing listens at" in after.value.message
        assert not await memory.health_check()
    finally:
        place.server.start()
    assert await memory.count() == len(sample_entries())
    assert await memory.health_check()


async def test_reading_cannot_write(memory):
    with pytest.raises(Refused):
        async with memory.connections.reading() as connection:
            await connection.execute("DELETE FROM memories")
    assert await memory.count() == len(sample_entries())


async def test_a_pooled_connection_keeps_no_state(memory, place, pooler, opens):
    """Limits and time zone end with the transaction, and no prepared statement remains, also behind PgBouncer."""
    pooled = await opens(pooler.url(place.user, PASSWORD, place.database))
    place.run_as_superuser(f"""ALTER ROLE "{place.user}" SET TimeZone = 'Asia/Tokyo'""")
    await asyncio.gather(
        *(pooled.rows(Query(EXCERPTS, MemoryFilter(contains="rust"), NEWEST_STORED, limit=5)) for _ in range(20))
    )
    left = []
    for _ in range(6):
        async with pooled.connections.writing() as connection:
            await connection.execute("ROLLBACK; BEGIN")
            left.append(
                (
                    await connection.fetchval("SHOW statement_timeout"),
                    await connection.fetchval("SHOW lock_timeout"),
                    await connection.fetchval("SELECT count(*) FROM pg_prepared_statements WHERE name <> ''"),
                )
            )
    assert set(left) == {("0", "0", 0)}


async def test_cancelling_the_start_of_a_transaction_loses_no_later_memory(memory, place, monkeypatch):
    """The transaction may have begun on the server, so the connection is not used again."""
    import asyncpg

    began = asyncio.Event()
    execute = asyncpg.Connection.execute

    async def begin_and_fail(connection, query, *values, **named):
        await execute(connection, query, *values, **named)
        if query.startswith("BEGIN;"):
            began.set()
            await asyncio.Event().wait()

    monkeypatch.setattr(asyncpg.Connection, "execute", begin_and_fail)
    storing = asyncio.ensure_future(memory.store("given up", "text", "core"))
    await began.wait()
    monkeypatch.undo()
    storing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await storing
    await memory.store("stored", "text", "core")
    assert place.run("SELECT key FROM memories WHERE key IN ('given up', 'stored')") == "stored"


async def test_another_program_may_have_prepared_statements_of_the_same_name(memory, place, pooler, opens):
    """Every program with this driver numbers its statements from one, and the pooler shares the server connections."""
    pooled = await opens(pooler.url(place.user, PASSWORD, place.database))
    for _ in range(6):
        async with pooled.connections.writing() as connection:
            await connection.execute(
                "DO $$ BEGIN FOR n IN 0..99 LOOP BEGIN EXECUTE format('PREPARE __asyncpg_stmt_%s__ AS SELECT 1', "
                "to_hex(n)); EXCEPTION WHEN duplicate_prepared_statement THEN NULL; END; END LOOP; END $$"
            )
    assert len(await handles_of(pooled, MemoryFilter(), NEWEST_STORED)) == len(sample_entries())
    assert len(await pooled.list()) == len(sample_entries())
