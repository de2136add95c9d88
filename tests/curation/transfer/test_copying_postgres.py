"""`copy` to a real PostgreSQL, and round: sqlite → postgres → markdown → sqlite, with what was promised kept."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from copying_world import copied, install_in, opened, planned
from support.postgres_server import PostgresServer, running_postgres
from support.small_store import blob

from zeroclaw_tui.curation import changes
from zeroclaw_tui.memory.errors import UsageError

ROWS = [
    {
        "key": f"key{at}",
        "content": "nul \0 and \x1b" if at == 3 else f"text {at}\nof — lines",
        "category": ("core", "daily")[at % 2],
        "session_id": f"s{at}" if at == 1 else None,
        "embedding": blob(1, at, 2) if at == 2 else None,
        "created_at": f"2026-03-0{at + 1}T10:00:00.123456789+00:00",
    }
    for at in range(6)
]


@pytest.fixture(scope="module")
def server() -> Iterator[PostgresServer]:
    with running_postgres() as running:
        running.make_user("zeroclaw", "secret")
        yield running


@pytest.fixture
def url(server: PostgresServer, request: pytest.FixtureRequest) -> str:
    """A database with nothing in it."""
    name = f"of_{abs(hash(request.node.name))}"
    server.make_database(name, "zeroclaw")
    return server.url("zeroclaw", "secret", name)


async def test_a_new_table_is_filled_and_undo_empties_it(url: str, tmp_path: Path) -> None:
    database = install_in(tmp_path, ROWS)
    before = database.read_bytes()
    async with opened(tmp_path) as library:
        plan = await planned(library, "postgres", url)
        assert (plan.new, plan.same, plan.taken) == (6, 0, 0)
        assert plan.makes is not None
        assert "secret" not in plan.makes
        assert plan.notes == ("PostgreSQL drops or changes: content (1), vector (1).",)
        outcome = await copied(library, "postgres", url)
        assert (outcome.count, outcome.verified, outcome.differs) == (6, 6, 0)
        again = await copied(library, "postgres", url)
        assert (again.count, again.verified) == (0, 6)
        assert (await planned(library, "postgres", url)).same == 6
    assert database.read_bytes() == before
    async with opened(tmp_path, "postgres", url) as target:
        for same in (url, f"{url}?table=memories&schema=public"):
            with pytest.raises(UsageError, match="same store"):
                await planned(target, "postgres", same)
        entry = await target.memory.get("key3")
        assert entry is not None
        assert (entry.id, entry.content) == ("id-003", "nul � and \x1b")
        assert (await changes.undo(target)).count == 6
        assert await target.memory.count() == 0
