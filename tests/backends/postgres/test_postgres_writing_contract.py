"""What every store that takes writes must hold to, for every form of the table, directly and behind PgBouncer."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator

import pytest
from support.pgbouncer import running_pgbouncer
from support.postgres_place import FORMS, PASSWORD, PostgresPlace
from support.postgres_server import PostgresServer

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.postgres.address import read_url
from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.testing.cancel_contract import CancelContract
from zeroclaw_tui.testing.capability_contract import CapabilityContract
from zeroclaw_tui.testing.many_rows_contract import ManyRowsContract
from zeroclaw_tui.testing.two_writers_contract import TwoWritersContract
from zeroclaw_tui.testing.verbs_contract import VerbsContract
from zeroclaw_tui.testing.write_contract import WritableMemoryContract

_schemas = itertools.count()


@pytest.fixture(scope="module")
def shared(postgres: PostgresServer) -> PostgresPlace:
    """One database for all: a schema for each test is a lot less to make than a database."""
    return PostgresPlace(postgres, "written")


@pytest.fixture(scope="module")
def pooled_url(shared: PostgresPlace) -> Iterator[str]:
    with running_pgbouncer(shared.server, {shared.user: PASSWORD}) as pooler:
        yield pooler.url(shared.user, PASSWORD, shared.database)


class Tables:
    """Gives each test a filled table of its own, and a second store on it."""

    url: str | None = None

    @pytest.fixture
    async def memory(self, form: str, shared: PostgresPlace) -> AsyncIterator[PostgresMemory]:
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


@pytest.mark.parametrize("form", FORMS)
class TestPostgresTablesWritten(Tables, WritableMemoryContract, CapabilityContract):
    """Every form there is."""


@pytest.mark.parametrize("form", ["agents", "uuid"])
class TestPostgresTablesOfSeveral(Tables, TwoWritersContract, CancelContract):
    """Others at the same time, and giving up in the middle."""


@pytest.mark.parametrize("form", ["agents"])
class TestPostgresTablesRecalled(Tables, VerbsContract, ManyRowsContract):
    """What also recalls without an embedder."""


@pytest.mark.parametrize("form", ["agents"])
class TestPostgresWrittenBehindPooler(Tables, WritableMemoryContract, VerbsContract, TwoWritersContract):
    """In transaction mode: each transaction may come to another of its connections."""

    @pytest.fixture(autouse=True)
    def through_the_pooler(self, pooled_url: str) -> None:
        self.url = pooled_url
