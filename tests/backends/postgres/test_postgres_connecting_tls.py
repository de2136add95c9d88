"""TLS follows the URL. The wheel's server has no TLS, so a PgBouncer with a certificate is in front of it."""

from __future__ import annotations

import pytest
from support.http_endpoints import self_signed
from support.memories import NotReachable, UsageError
from support.pgbouncer import PgBouncer, running_pgbouncer
from support.postgres_place import PASSWORD, PostgresPlace


@pytest.fixture(scope="module")
def place(shared_place):
    """A database with an empty table that no test writes to."""
    shared_place.make_table("key")
    yield shared_place
    shared_place.empty()


@pytest.fixture(scope="module")
def tls_pooler(place):
    """A pooler that requires TLS."""
    with running_pgbouncer(place.server, {place.user: PASSWORD}, tls="require") as running:
        yield running


@pytest.fixture(scope="module")
def either(place):
    """A pooler that accepts connections with and without TLS."""
    with running_pgbouncer(place.server, {place.user: PASSWORD}, tls="allow") as running:
        yield running


def url_of(pooler: PgBouncer, place: PostgresPlace, options: str = "") -> str:
    return pooler.url(place.user, PASSWORD, place.database, options)


async def test_require_fails_on_a_server_without_tls(place, opens):
    with pytest.raises(NotReachable) as caught:
        await opens(place.url + "?sslmode=require")
    assert "does not support TLS" in caught.value.message


@pytest.mark.parametrize("mode", ["verify-ca", "verify-full"])
async def test_an_unknown_certificate_is_refused_unless_the_url_names_it(
    mode, place, tls_pooler, opens, tmp_path, monkeypatch
):
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(UsageError) as unnamed:
        await opens(url_of(tls_pooler, place, f"sslmode={mode}"))
    assert "Check sslmode, sslrootcert" in unnamed.value.hint
    other, _ = self_signed(tmp_path)
    with pytest.raises(NotReachable) as caught:
        await opens(url_of(tls_pooler, place, f"sslmode={mode}&sslrootcert={other}"))
    assert "The TLS connection to" in caught.value.message
    await opens(url_of(tls_pooler, place, f"sslmode={mode}&sslrootcert={tls_pooler.certificate}"))
    assert tls_pooler.last_login_used_tls


async def test_verify_full_compares_the_host_name_with_the_certificate(place, tls_pooler, opens):
    for mode, good in (("verify-ca", True), ("verify-full", False)):
        options = f"sslmode={mode}&sslrootcert={tls_pooler.certificate}"
        url = url_of(tls_pooler, place, options).replace("127.0.0.1", "localhost")
        if good:
            await opens(url)
            assert tls_pooler.last_login_used_tls
            continue
        with pytest.raises(NotReachable) as caught:
            await opens(url)
        assert "The TLS connection to" in caught.value.message


async def test_an_unreadable_certificate_is_refused(place, tls_pooler, opens, tmp_path):
    rubbish = tmp_path / "rubbish.pem"
    rubbish.write_text("no certificate")
    for path in (rubbish, tmp_path / "missing.pem"):
        with pytest.raises(NotReachable, match=r"TLS connection|cannot be reached") as caught:
            await opens(url_of(tls_pooler, place, f"sslmode=verify-ca&sslrootcert={path}"))
        assert "sslrootcert" in caught.value.hint
