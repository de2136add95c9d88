"""A real redis-server (Debian's package) on a free loopback port, removed when the tests end."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import redis

from support.http_endpoints import free_port

PASSWORD = "s3cret-Of-The-Test"
NO_SERVER = "redis-server is not installed (Debian: apt-get install redis-server)"
_PATIENCE = 20.0


class RedisServer:
    """A running server; on disk is only what `stop` saves for the next `start`."""

    host = "127.0.0.1"

    def __init__(self, folder: Path, program: str, options: Sequence[str] = (), port: int | None = None) -> None:
        self.folder, self.port = folder, port or free_port()
        self._program, self._options = program, options
        self._process: subprocess.Popen[bytes] | None = None

    def url(self, database: int = 0, password: str | None = PASSWORD) -> str:
        """Return the URL of one of its databases."""
        secret = "" if password is None else f":{password}@"
        return f"redis://{secret}{self.host}:{self.port}/{database}"

    def start(self) -> None:
        """Start the server and wait for its port."""
        command = [self._program, "--port", str(self.port), "--bind", self.host, "--save", "", "--appendonly", "no"]
        command += ["--dir", str(self.folder), "--requirepass", PASSWORD, "--daemonize", "no", *self._options]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        end = time.monotonic() + _PATIENCE
        while b"PONG" not in self.say("PING"):
            if time.monotonic() > end or self._process.poll() is not None:
                raise RuntimeError("redis-server does not start")

    def stop(self, *, save: bool = True) -> None:
        """Save the data and stop the server."""
        if self._process is not None:
            self.say("SHUTDOWN SAVE" if save else "SHUTDOWN NOSAVE")
            self._process.wait(_PATIENCE)
            self._process = None

    def say(self, command: str) -> bytes:
        """Return the answer to one signed-in protocol line; nothing while the server does not listen."""
        try:
            with socket.create_connection((self.host, self.port), timeout=_PATIENCE) as connection:
                connection.sendall(f"AUTH {PASSWORD}\r\n{command}\r\nQUIT\r\n".encode())
                return b"".join(iter(lambda: connection.recv(65536), b""))
        except OSError:
            return b""

    def put(self, name: str | bytes, value: str | bytes, *options: str) -> None:
        """Set a value of any bytes."""
        with self._client() as client:
            client.execute_command("SET", name, value, *options)

    def value(self, name: str | bytes) -> str | None:
        """Return the text of a key."""
        with self._client() as client:
            found = client.get(name)
        return found.decode() if isinstance(found, bytes) else None

    def _client(self) -> redis.Redis:
        return redis.Redis(self.host, self.port, password=PASSWORD, protocol=2)


def server_program() -> str | None:
    """Return the path of redis-server."""
    return shutil.which("redis-server", path="/usr/bin:/usr/local/bin:/usr/sbin:/bin")


@contextmanager
def running_redis(*options: str) -> Iterator[RedisServer]:
    """Run a new server."""
    program = server_program()
    if program is None:
        raise RuntimeError(NO_SERVER)
    folder = Path(tempfile.mkdtemp(prefix="zeroclaw-tui-redis-"))
    server = RedisServer(folder, program, options)
    try:
        server.start()
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder)
