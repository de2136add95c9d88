"""A PgBouncer in transaction mode on a free loopback port, in front of a PostgreSQL, optionally with TLS."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from support.http_endpoints import free_port, self_signed
from support.postgres_server import PostgresServer

_HOST = "127.0.0.1"
_NOBODY = "nobody"
_SETTINGS = """\
[databases]
* = host={server_host} port={server_port}
[pgbouncer]
listen_addr = {host}
listen_port = {port}
unix_socket_dir =
pool_mode = transaction
default_pool_size = 3
max_client_conn = 50
auth_type = scram-sha-256
auth_file = {folder}/users
logfile = {folder}/log
{more}
"""


class PgBouncer:
    """A running pooler; `certificate` is the file of its certificate when it uses TLS."""

    def __init__(self, port: int, certificate: Path | None, log: Path) -> None:
        self.port = port
        self.certificate = certificate
        self._log = log

    @property
    def last_login_used_tls(self) -> bool:
        """Whether the last client to log in encrypts its connection."""
        logins = [line for line in self._log.read_text().splitlines() if " login attempt: " in line]
        return "tls=no" not in logins[-1]

    def url(self, user: str, password: str, database: str, options: str = "") -> str:
        """Return the URL of a user and a database, with options after a question mark."""
        return f"postgres://{user}:{password}@{_HOST}:{self.port}/{database}{options and '?' + options}"


@contextmanager
def running_pgbouncer(server: PostgresServer, users: Mapping[str, str], *, tls: str = "disable") -> Iterator[PgBouncer]:
    """Run a pooler for these users and passwords; `tls` is its client_tls_sslmode ("require": TLS only)."""
    folder = Path(tempfile.mkdtemp(prefix="zeroclaw-tui-pgbouncer-"))
    try:
        more, certificate = "", None
        if tls != "disable":
            certificate, key = self_signed(folder)
            more = f"client_tls_sslmode = {tls}\nclient_tls_cert_file = {certificate}\nclient_tls_key_file = {key}"
        port = free_port()
        (folder / "users").write_text("".join(f'"{name}" "{password}"\n' for name, password in users.items()))
        settings = folder / "pgbouncer.ini"
        settings.write_text(
            _SETTINGS.format(
                server_host=server.host, server_port=server.port, host=_HOST, port=port, folder=folder, more=more
            )
        )
        as_user = []
        if os.geteuid() == 0:
            # PgBouncer refuses to run as root.
            as_user = ["-u", _NOBODY]
            for path in (folder, *folder.iterdir()):
                shutil.chown(path, _NOBODY)
        process = subprocess.Popen(
            [shutil.which("pgbouncer") or "/usr/sbin/pgbouncer", *as_user, settings],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            until = time.monotonic() + 20
            while process.poll() is None and not _answers(port) and time.monotonic() < until:
                time.sleep(0.01)
            assert process.poll() is None, (folder / "log").read_text()
            yield PgBouncer(port, certificate, folder / "log")
        finally:
            process.kill()
            process.wait()
    finally:
        shutil.rmtree(folder)


def _answers(port: int) -> bool:
    try:
        with socket.create_connection((_HOST, port), timeout=1):
            return True
    except OSError:
        return False
