"""The contract on Debian's PostgreSQL, which is older than the wheel's and has no pgvector."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from support.postgres_place import PostgresPlace
from support.postgres_server import NO_DEBIAN, debian_programs, running_postgres
from test_postgres_writing_contract import Tables

from zeroclaw_tui.testing.contract import MemoryContract
from zeroclaw_tui.testing.two_writers_contract import TwoWritersContract
from zeroclaw_tui.testing.verbs_contract import VerbsContract
from zeroclaw_tui.testing.write_contract import WritableMemoryContract


@pytest.fixture(scope="module")
def shared() -> Iterator[PostgresPlace]:
    programs = debian_programs()
    if programs is None:
        pytest.skip(NO_DEBIAN)
    with running_postgres(programs) as server:
        yield PostgresPlace(server, "written")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["key"])
class TestDebiansPostgres(Tables, MemoryContract, WritableMemoryContract, VerbsContract, TwoWritersContract):
    """One form of the table stands for all: what the forms have of their own is tested on the wheel's server."""
