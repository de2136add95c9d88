"""The PostgreSQL probe of the wizard, on a real server and on ports that only look like one."""

from __future__ import annotations

import asyncio
import itertools
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from probing import PASSWORD, WRONG_PASSWORD, make_answers, probed
from support.postgres_server import TLS_ONLY, PostgresServer

from zeroclaw_tui.onboard.probes import Finding, run_probe

_numbers = itertools.count()
CREATE_TABLE = """
CREATE TABLE IF NOT EXISTS "{0}"."{1}" (id TEXT PRIMARY KEY, key TEXT NOT NULL, content TEXT NOT NULL,
category TEXT NOT NULL, created_at TIMESTAMPTZ NOT NULL, updated_at TIMESTAMPTZ NOT NULL, session_id TEXT);"""
AT_EVERY_START = (
    'CREATE SCHEMA IF NOT EXISTS "{0}";'
    + CREATE_TABLE
    + 'CREATE INDEX IF NOT EXISTS idx_memories_category ON "{0}"."{1}"(category);'
)
"""Statements like those that ZeroClaw sends whenever it connects."""


WAIT_UNTIL_DISCONNECTED = """
SET statement_timeout = '10s';
DO $$ BEGIN
    WHILE EXISTS (SELECT 1 FROM pg_stat_activity WHERE usename = '{}') LOOP
        PERFORM pg_sleep(0.01); PERFORM pg_stat_clear_snapshot();
    END LOOP;
END $$;"""


class Place:
    """A separate database on the server, with its owner."""

    def __init__(self, server: PostgresServer, folder: Path) -> None:
        self.server = server
        self.folder = folder
        number = next(_numbers)
        self.user, self.database = f"agent{number}", f"memory{number}"
        server.make_user(self.user, PASSWORD)
        server.make_database(self.database, self.user)

    @property
    def url(self) -> str:
        return self.server.url(self.user, PASSWORD, self.database)

    @property
    def at(self) -> str:
        return f"{self.server.host}:{self.server.port}"

    def run(self, statements: str) -> str:
        return self.server.run(statements, self.database)

    def start_zeroclaw(self, user: str | None = None, schema: str = "public", table: str = "memories") -> bool:
        statements = AT_EVERY_START.format(schema, table)
        return self.server.run_as(user or self.user, PASSWORD, self.database, statements).returncode == 0

    def another_user(self) -> str:
        name = f"reader{next(_numbers)}"
        self.server.make_user(name, PASSWORD)
        return name

    def test(self, url: str | None = None, seconds: float = 8.0, **settings: Any) -> Finding:
        return look(self.folder, url or self.url, seconds, **settings)

    def test_as(self, user: str, **settings: Any) -> Finding:
        return self.test(self.server.url(user, PASSWORD, self.database), **settings)


def look(folder: Path, url: str, seconds: float = 8.0, **settings: Any) -> Finding:
    named = {f"storage__postgres__{name}": value for name, value in settings.items()}
    answers = make_answers(folder / "config", memory__backend="postgres", storage__postgres__db_url=url, **named)
    return probed("postgres", answers, seconds)


@pytest.fixture
def hanging_port() -> Iterator[int]:
    """A port that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


@pytest.fixture
def place(postgres: PostgresServer, tmp_path: Path) -> Place:
    return Place(postgres, tmp_path)


def test_an_empty_database_of_the_user_is_good_and_stays_empty(place: Place) -> None:
    place.run("CREATE EXTENSION vector")
    before = place.run("SELECT count(*) FROM pg_class")
    found = place.test()
    assert found.verdict == "good"
    assert found.sentence.startswith("connects in ")
    assert found.facts == (
        "may create the table public.memories",
        "pgvector is there: ZeroClaw recalls from PostgreSQL by keywords only",
    )
    assert place.run("SELECT count(*) FROM pg_class") == before
    assert place.start_zeroclaw()


def test_a_read_only_user_is_refused_as_by_zeroclaw(place: Place) -> None:
    place.start_zeroclaw()
    reader = place.another_user()
    place.run(f"GRANT USAGE ON SCHEMA public TO {reader}; GRANT SELECT ON memories TO {reader}")
    found = place.test_as(reader)
    assert (found.verdict, found.exit_code) == ("bad", 1)
    assert "to own the table public.memories" in found.sentence
    assert not place.start_zeroclaw(reader)


@pytest.mark.parametrize("has_table", [False, True])
def test_the_suggested_statements_grant_every_missing_privilege(place: Place, has_table: bool) -> None:
    if has_table:
        place.start_zeroclaw()
    other = place.another_user()
    place.run(place.test_as(other).hint.partition(": ")[2])
    found = place.test_as(other)
    assert (found.verdict, place.start_zeroclaw(other)) == ("good", True)
    assert f"may {'read and write' if has_table else 'create'} the table public.memories" in found.facts


@pytest.mark.parametrize("kind", ["TABLE memories (id int, name text)", "VIEW memories AS SELECT 1 AS id"])
def test_a_table_that_is_not_zeroclaws_is_bad(place: Place, kind: str) -> None:
    place.run(f"CREATE {kind}; GRANT ALL ON memories TO {place.user}")
    found = place.test()
    assert (found.verdict, found.exit_code) == ("bad", 3)
    assert found.sentence.startswith("The table public.memories is not ZeroClaw's: it has no column ")


def test_a_read_only_server_is_bad(place: Place) -> None:
    place.run(f"ALTER DATABASE {place.database} SET default_transaction_read_only = on")
    found = place.test()
    assert found.exit_code == 1
    assert "is read-only" in found.sentence


def test_a_wrong_password_is_reported(place: Place) -> None:
    found = place.test(place.server.url(place.user, WRONG_PASSWORD, place.database))
    assert (found.verdict, found.exit_code) == ("bad", 3)
    assert found.sentence == (f"The database server {place.at} refuses the user {place.user} or the password.")


def test_a_database_without_connect_permission_is_bad(place: Place) -> None:
    place.run(f"REVOKE CONNECT ON DATABASE {place.database} FROM PUBLIC")
    other = place.another_user()
    found = place.test_as(other)
    assert found.sentence == f"The user {other} may not connect to the database {place.database} at {place.at}."
    place.run(found.hint)
    assert "may not connect" not in place.test_as(other).sentence


def test_a_server_that_requires_tls_is_bad(place: Place) -> None:
    if place.server.run(f"SELECT count(*) FROM pg_database WHERE datname = '{TLS_ONLY}'") == "0":
        place.server.make_database(TLS_ONLY)
    found = place.test(place.server.url(place.user, PASSWORD, TLS_ONLY))
    assert found.exit_code == 3
    assert "over TLS only" in found.sentence
    assert "always connects without TLS" in found.hint


def test_a_missing_url_is_bad(tmp_path: Path) -> None:
    found = probed("postgres", make_answers(tmp_path / "config", memory__backend="postgres"))
    assert (found.verdict, found.exit_code) == ("bad", 2)


@pytest.mark.parametrize("url", ["op://vault/item/field", "${ZEROCLAW_TEST_URL}", "enc2:00ff"])
def test_a_url_stored_elsewhere_is_not_tested(tmp_path: Path, url: str) -> None:
    assert look(tmp_path, url).verdict == "not tested"


def test_a_port_that_never_answers_is_bad(tmp_path: Path, hanging_port: int) -> None:
    found = look(tmp_path, f"postgres://u:{WRONG_PASSWORD}@127.0.0.1:{hanging_port}/d", seconds=0.3)
    assert found.exit_code == 3
    assert found.sentence == f"The database server 127.0.0.1:{hanging_port} did not answer within 0.3 s."


async def test_cancelling_leaves_no_connection(place: Place) -> None:
    """Wherever the probe is cancelled, the server soon has no session."""
    answers = await asyncio.to_thread(
        make_answers, place.folder / "config", memory__backend="postgres", storage__postgres__db_url=place.url
    )
    for milliseconds in range(0, 40, 3):
        task = asyncio.create_task(run_probe("postgres", answers))
        await asyncio.wait([task], timeout=milliseconds / 1000)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await asyncio.to_thread(place.run, WAIT_UNTIL_DISCONNECTED.format(place.user))
