"""The store contract for every form of the table: directly, behind PgBouncer and on Debian's server.

Each part runs on the forms that have their own statements for it; the others run in `.ci/run --all`.
"""

from __future__ import annotations

import itertools
from typing import Any

import pytest
from support.engine_contract import ConcurrencyContract, EngineContract
from support.pgbouncer import running_pgbouncer
from support.postgres_place import FORMS, PASSWORD, PostgresPlace
from support.postgres_server import NO_DEBIAN, debian_programs, running_postgres
from support.stores import Memory

from zeroclaw_tui.backends.postgres.address import read_url
from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.testing.contract import (
    CapabilityContract,
    MemoryContract,
    StoreContract,
    VerbsContract,
    WritableMemoryContract,
)


def covered_elsewhere(form: str) -> Any:
    """Mark a form that has the same statements as others."""
    return pytest.param(form, marks=pytest.mark.slow)


TUTORIAL = "uuid"
SCHEMA, TABLE = "agent_memory_1", "Notes"
_schemas = itertools.count()


@pytest.fixture(scope="session")
def filled(postgres):
    """A table of each form with the samples, in a schema named after the form."""
    place = PostgresPlace(postgres, "contract")
    for form in FORMS:
        place.make_table(form, form)
        place.fill(form, schema=form)
    place.make_table("agents", SCHEMA, TABLE)
    place.fill("agents", schema=SCHEMA, table=TABLE)
    place.run(f"""UPDATE "{SCHEMA}"."{TABLE}" SET embedding = '[1,2,3]' WHERE length(content) > 40""")
    return place


@pytest.fixture(scope="session")
def pooled(filled):
    """The URL of the same database behind PgBouncer in transaction mode."""
    with running_pgbouncer(filled.server, {filled.user: PASSWORD}) as pooler:
        yield pooler.url(filled.user, PASSWORD, filled.database)


class TestPostgresTables(MemoryContract):
    @pytest.fixture(params=["key", covered_elsewhere("vector"), covered_elsewhere("agents")])
    async def memory(self, request, filled, opening):
        return await opening(PostgresMemory(read_url(filled.url), schema=request.param))


class TestPostgresBehindPooler(MemoryContract):
    @pytest.fixture
    async def memory(self, pooled, opening):
        return await opening(PostgresMemory(read_url(pooled), schema=SCHEMA, table=TABLE))


class TestPostgresTutorialTable(MemoryContract):
    @pytest.fixture
    async def memory(self, filled, opening):
        return await opening(PostgresMemory(read_url(filled.url), schema=TUTORIAL))

    async def test_recall_ranks_rows_of_the_store(self, memory):
        """The tutorial recalls only by vectors, and these rows have none."""
        assert await memory.recall("Rust", 5) == []


@pytest.fixture(scope="session")
def shared(postgres):
    """One database for all tests: creating a schema is much faster than creating a database."""
    return PostgresPlace(postgres, "written")


@pytest.fixture(scope="session")
def pooled_url(shared):
    with running_pgbouncer(shared.server, {shared.user: PASSWORD}) as pooler:
        yield pooler.url(shared.user, PASSWORD, shared.database)


class Tables:
    """Gives each test its own filled table and a second store on it."""

    url: str | None = None

    @pytest.fixture
    async def memory(self, form, shared):
        self.schema = f"s{next(_schemas)}"
        self.place = shared
        shared.make_table(form, self.schema, "Notes")
        shared.fill(form, schema=self.schema, table="Notes")
        memory = await self.opened()
        yield memory
        await memory.close()

    async def opened(self) -> PostgresMemory:
        memory = PostgresMemory(read_url(self.url or self.place.url), schema=self.schema, table="Notes")
        await memory.open()
        return memory

    async def another(self, memory: Memory) -> Memory:
        return await self.opened()


@pytest.mark.parametrize("form", [covered_elsewhere("key"), covered_elsewhere("vector"), "agents", TUTORIAL])
class TestPostgresTablesWritten(Tables, WritableMemoryContract, CapabilityContract, EngineContract):
    """The statements of "key" and "vector" are included in those of "agents"."""


@pytest.mark.parametrize("form", ["agents", covered_elsewhere(TUTORIAL)])
class TestPostgresTablesConcurrent(Tables, ConcurrencyContract):
    """Concurrent programs and cancelled work."""


@pytest.mark.parametrize("form", ["key"])
class TestPostgresTablesRecalled(Tables, VerbsContract):
    """The forms that also recall without an embedder."""


class BehindPooler(Tables):
    @pytest.fixture(autouse=True)
    def through_the_pooler(self, pooled_url):
        self.url = pooled_url


@pytest.mark.parametrize("form", ["agents"])
class TestPostgresVerbsBehindPooler(BehindPooler, VerbsContract, ConcurrencyContract):
    """In transaction mode each transaction may use another server connection."""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["agents"])
class TestPostgresWrittenBehindPooler(BehindPooler, WritableMemoryContract, EngineContract):
    """All steps of a change."""


@pytest.mark.slow
@pytest.mark.parametrize("form", ["key"])
class TestDebiansPostgres(Tables, MemoryContract, StoreContract, EngineContract, ConcurrencyContract):
    """Older than the wheel's and without pgvector; the differences between forms are tested on the wheel's server."""

    @pytest.fixture(scope="class")
    def shared(self):
        programs = debian_programs()
        if programs is None:
            pytest.skip(NO_DEBIAN)
        with running_postgres(programs) as server:
            yield PostgresPlace(server, "written")
