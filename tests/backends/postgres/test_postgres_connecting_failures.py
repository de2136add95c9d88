"""Every connection failure gives one sentence and the right exit code, without secrets."""

from __future__ import annotations

import logging

import asyncpg
import pytest
from support.failures import failure_of
from support.http_endpoints import answering_bytes, free_port
from support.memories import NothingYet, NotReachable, Refused, Unreadable, UsageError
from support.pgbouncer import running_pgbouncer
from support.postgres_place import PASSWORD

from zeroclaw_tui.backends.postgres.address import read_url
from zeroclaw_tui.backends.postgres.store import PostgresMemory

WRONG = "falsch-Klee-9"
SECRETS = (PASSWORD, WRONG)


@pytest.fixture
def refused(caplog):
    """Return the error of a failed opening, after checking it and the log for secrets."""
    caplog.set_level(logging.DEBUG)

    async def tried(url, **settings):
        memory = PostgresMemory(read_url(url), **settings)
        error = await failure_of(memory.open(), *SECRETS)
        await memory.close()
        sentence = f"{error.args} {memory!r} {memory.about.location} {memory.address!r} {caplog.text}"
        assert not [secret for secret in SECRETS if secret in sentence]
        assert error.message.endswith(".")
        assert error.message.count(". ") == 0
        assert error.__suppress_context__ or error.__context__ is None
        return error

    return tried


async def test_a_wrong_password_is_reported(place, refused):
    error = await refused(place.server.url(place.user, WRONG, place.database))
    assert isinstance(error, NotReachable)
    assert error.exit_code == 3
    assert "or the password" in error.message
    assert place.user in error.message


@pytest.fixture
def conflicting_settings(place, tmp_path, monkeypatch):
    """Set variables and files in the home folder that libpq would read, each with conflicting values."""
    place.make_table("key")
    passwords, services = tmp_path / ".pgpass", tmp_path / ".pg_service.conf"
    passwords.write_text(f"*:*:*:*:{PASSWORD}\n")
    passwords.chmod(0o600)
    services.write_text(f"[elsewhere]\nhost=elsewhere.invalid\npassword={PASSWORD}\n")
    said = {"HOME": tmp_path, "PGPASSWORD": PASSWORD, "PGPASSFILE": passwords, "PGSERVICE": "elsewhere"}
    said |= {"PGSERVICEFILE": services, "PGHOST": "elsewhere.invalid", "PGPORT": "1", "PGDATABASE": "elsewhere"}
    said |= {"PGUSER": "somebody", "PGSSLMODE": "verify-full"}
    said |= {"PGSSLNEGOTIATION": "direct", "PGTARGETSESSIONATTRS": "standby", "PGOPTIONS": "-c statement_timeout=1"}
    for name, value in said.items():
        monkeypatch.setenv(name, str(value))


async def test_only_the_url_decides_how_to_connect(place, conflicting_settings, opens):
    with running_pgbouncer(place.server, {place.user: PASSWORD}, tls="allow") as pooler:
        for mode in ("disable", "allow", "prefer", "require"):
            memory = await opens(pooler.url(place.user, PASSWORD, place.database, f"sslmode={mode}"))
            assert await memory.count() == 0, mode
            assert pooler.last_login_used_tls == (mode in ("prefer", "require")), mode


async def test_a_server_that_is_not_postgresql_is_reported(refused):
    async with answering_bytes(b"HTTP/1.1 400 Bad Request\r\n\r\n") as port:
        error = await refused(f"postgres://agent:{PASSWORD}@127.0.0.1:{port}/memory")
    assert isinstance(error, NotReachable)
    assert "is not PostgreSQL" in error.message


async def test_the_second_host_of_a_url_is_tried(place, opens):
    place.make_table("key")
    url = place.url.replace("@127.0.0.1", f"@127.0.0.1:{free_port()},127.0.0.1")
    assert await (await opens(url)).count() == 0


async def test_an_unknown_second_host_is_the_one_that_is_named(refused):
    error = await refused(f"postgres://agent:{PASSWORD}@127.0.0.1:{free_port()},no-such-host.invalid:5432/d")
    assert error.message == "There is no host named no-such-host.invalid."


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        (f"postgres://agent:p@q/{PASSWORD}@h/d", "has more than one @"),
        (f"postgres://agent:p@q?{PASSWORD}=x@h/d", "has more than one @"),
        (f"postgres://agent:{PASSWORD}@h/d?pool={WRONG}", "option pool"),
    ],
)
def test_an_invalid_url_is_a_usage_error(url, sentence):
    with pytest.raises(UsageError) as caught:
        read_url(url)
    assert sentence in caught.value.message
    assert not [secret for secret in SECRETS if secret in str(caught.value)]


async def test_a_missing_table_means_no_store_yet(place, refused):
    error = await refused(place.url)
    assert (type(error), error.message) == (NothingYet, "There is no table public.memories yet.")


async def test_another_programs_table_is_refused_and_its_missing_columns_named(place, refused):
    place.run("CREATE TABLE memories (id BIGINT PRIMARY KEY, content TEXT, created_at TIMESTAMPTZ)")
    error = await refused(place.url)
    assert isinstance(error, Unreadable)
    assert error.exit_code == 3
    assert error.message == ("The table public.memories is not ZeroClaw's: it has no column key, category, updated_at.")
    place.run("ALTER TABLE memories ADD key TEXT, ADD category TEXT, ADD updated_at TIMESTAMPTZ")
    assert "its column id is of type bigint" in (await refused(place.url)).message
    place.run("CREATE VIEW seen AS SELECT 1 AS id")
    assert "is not ZeroClaw's" in (await refused(place.url, table="seen")).message


async def test_a_user_without_the_right_to_read_is_reported(place, refused, opens):
    place.make_table("key", "kept")
    url = place.another_user()
    error = await refused(url, schema="kept")
    assert isinstance(error, Refused)
    assert "may not read the table kept.memories" in error.message
    place.run(error.hint.partition(": ")[2])
    await (await opens(url, schema="kept")).close()


async def test_another_engine_with_the_same_protocol_is_refused(place, refused, monkeypatch):
    async def answered(self, query, *values, **named):
        return "CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu)"

    monkeypatch.setattr(asyncpg.Connection, "fetchval", answered)
    error = await refused(place.url)
    assert isinstance(error, Refused)
    assert error.message.endswith("is not PostgreSQL but CockroachDB.")
    assert "ZeroClaw needs PostgreSQL" in error.hint
