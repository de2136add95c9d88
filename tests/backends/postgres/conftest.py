from __future__ import annotations

import pytest
from support.pgbouncer import running_pgbouncer
from support.postgres_place import PASSWORD, PostgresPlace

from zeroclaw_tui.backends.postgres.address import read_url
from zeroclaw_tui.backends.postgres.store import PostgresMemory


@pytest.fixture(scope="session")
def shared_place(postgres):
    return PostgresPlace(postgres, "inspector")


@pytest.fixture
def place(shared_place):
    """A database for this test alone, empty except for pgvector."""
    yield shared_place
    shared_place.empty()


@pytest.fixture
async def opens(place, opening):
    """Open a table of the database, with another URL if given."""
    return lambda url=None, **settings: opening(PostgresMemory(read_url(url or place.url), **settings))


@pytest.fixture
def pooler(place):
    """A PgBouncer in transaction mode in front of the database."""
    with running_pgbouncer(place.server, {place.user: PASSWORD}) as running:
        yield running
