"""TLS as the URL says it. The wheel's server has none, so a PgBouncer with a certificate is before it."""

from __future__ import annotations

import pytest
from support.http_endpoints import self_signed
from support.memories import NotReachable, UsageError
from support.pgbouncer import PgBouncer, running_pgbouncer
from support.postgres_place import PASSWORD, PostgresPlace


@pytest.fixture(scope="module")
def place(only_place):
    """A database with an empty table, which no test here writes to."""
    only_place.make_table("key")
    yield only_place
    only_place.empty()


@pytest.fixture(scope="module")
def guarded(place):
    """A pooler that lets nobody in without TLS."""
    with running_pgbouncer(place.server, {place.user: PASSWORD}, tls="require") as running:
        yield running


@pytest.fixture(scope="module")
def either(place):
    """A pooler that lets in with TLS and without."""
    with running_pgbouncer(place.server, {place.user: PASSWORD}, tls="allow") as running:
        yield running


def url_of(pooler: PgBouncer, place: PostgresPlace, options: str = "") -> str:
    return pooler.url(place.user, PASSWORD, place.database, options)


async def test_require_is_refused_where_there_is_no_tls(place, opens):
    with pytest.raises(NotReachable) as caught:
        await opens(place.url + "?sslmode=require")
    assert "does not support TLS" in caught.value.message


@pytest.mark.parametrize("mode", ["verify-ca", "verify-full"])
async def test_a_certificate_nobody_knows_is_refused_unless_it_is_named(
    mode, place, guarded, opens, tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UsageError) as unnamed:
        await opens(url_of(guarded, place, f"sslmode={mode}"))
    assert "Check sslmode, sslrootcert" in unnamed.value.hint
    other, _ = self_signed(tmp_path)
    with pytest.raises(NotReachable) as caught:
        await opens(url_of(guarded, place, f"sslmode={mode}&sslrootcert={other}"))
    assert "The TLS connection to" in caught.value.message
    await opens(url_of(guarded, place, f"sslmode={mode}&sslrootcert={guarded.certificate}"))
    assert guarded.last_login_used_tls


async def test_verify_full_holds_the_name_against_the_certificate(place, guarded, opens):
    for mode, good in (("verify-ca", True), ("verify-full", False)):
        options = f"sslmode={mode}&sslrootcert={guarded.certificate}"
        url = url_of(guarded, place, options).replace("127.0.0.1", "localhost")
        if good:
            await opens(url)
            assert guarded.last_login_used_tls
            continue
        with pytest.raises(NotReachable) as caught:
            await opens(url)
        assert "The TLS connection to" in caught.value.message


async def test_a_certificate_that_cannot_be_read_is_refused(place, guarded, opens, tmp_path):
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("no certificate")
    for path in (rubbish, tmp_path / "missing.pem"):
        with pytest.raises(NotReachable, match=r"TLS connection|cannot be reached") as caught:
            await opens(url_of(guarded, place, f"sslmode=verify-ca&sslrootcert={path}"))
        assert "sslrootcert" in caught.value.hint
