"""What every store must hold to, for every form of the table, directly and behind PgBouncer."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

import pytest
from support.pgbouncer import running_pgbouncer
from support.postgres_place import FORMS, PASSWORD, PostgresPlace
from support.postgres_server import PostgresServer

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.postgres.address import read_url
from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.testing.contract import MemoryContract

TUTORIAL = "uuid"
SCHEMA, TABLE = "agent_memory_1", "Notes"


@pytest.fixture(scope="module")
def filled(postgres: PostgresServer) -> PostgresPlace:
    """A table of each form with the samples, in a schema of its form's name."""
    place = PostgresPlace(postgres, "contract")
    for form in FORMS:
        place.make_table(form, form)
        place.fill(form, schema=form)
    place.make_table("agents", SCHEMA, TABLE)
    place.fill("agents", schema=SCHEMA, table=TABLE)
    return place


@pytest.fixture(scope="module")
def pooled(filled: PostgresPlace) -> Iterator[str]:
    """The URL of the same behind PgBouncer in transaction mode."""
    with running_pgbouncer(filled.server, {filled.user: PASSWORD}) as pooler:
        yield pooler.url(filled.user, PASSWORD, filled.database)


async def opened(url: str, schema: str, table: str = "memories") -> AsyncIterator[PostgresMemory]:
    memory = PostgresMemory(read_url(url), schema=schema, table=table)
    await memory.open()
    yield memory
    await memory.close()


class TestPostgresTables(MemoryContract):
    @pytest.fixture(params=[form for form in FORMS if form != TUTORIAL])
    async def memory(self, request: pytest.FixtureRequest, filled: PostgresPlace) -> AsyncIterator[PostgresMemory]:
        async for memory in opened(filled.url, request.param):
            yield memory


class TestPostgresBehindPooler(MemoryContract):
    @pytest.fixture
    async def memory(self, pooled: str) -> AsyncIterator[PostgresMemory]:
        async for memory in opened(pooled, SCHEMA, TABLE):
            yield memory


class TestPostgresTutorialTable(MemoryContract):
    @pytest.fixture
    async def memory(self, filled: PostgresPlace) -> AsyncIterator[PostgresMemory]:
        async for memory in opened(filled.url, TUTORIAL):
            yield memory

    async def test_recall_ranks_rows_of_the_store(self, memory: Memory) -> None:
        """The tutorial recalls by vectors alone, and these rows have none."""
        assert await memory.recall("Rust", 5) == []
