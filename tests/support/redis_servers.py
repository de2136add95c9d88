"""Several redis-servers together for tests: a cluster of three, and a server with a replica that a Sentinel watches."""

from __future__ import annotations

import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from support.redis_server import NO_SERVER, PASSWORD, RedisServer, server_program

SERVICE = "memories"
_SLOTS = 16384
_PATIENCE = 30.0


@contextmanager
def running_cluster(size: int = 3) -> Iterator[list[RedisServer]]:
    """Servers that share the slots of one cluster evenly."""
    with ExitStack() as stack:
        servers = [
            stack.enter_context(_running("--cluster-enabled", "yes", "--masterauth", PASSWORD)) for _ in range(size)
        ]
        for number, server in enumerate(servers):
            slots = range(_SLOTS * number // size, _SLOTS * (number + 1) // size)
            server.say(f"CLUSTER ADDSLOTSRANGE {slots.start} {slots.stop - 1}")
            if number:
                server.say(f"CLUSTER MEET {server.host} {servers[0].port}")
        for server in servers:
            until(lambda server=server: _is_whole(server, size))  # type: ignore[misc]
        yield servers


@contextmanager
def running_sentinel() -> Iterator[tuple[RedisServer, RedisServer, int]]:
    """A server, its replica, and the port of the Sentinel that watches both."""
    with ExitStack() as stack:
        first = stack.enter_context(_running("--repl-diskless-sync-delay", "0"))
        replica = ("--replicaof", f"{first.host} {first.port}", "--masterauth", PASSWORD)
        second = stack.enter_context(_running(*replica))
        port = stack.enter_context(_sentinel_of(first))
        until(lambda: b"master_link_status:up" in second.say("INFO replication"))
        yield first, second, port


@contextmanager
def _sentinel_of(server: RedisServer) -> Iterator[int]:
    folder = Path(tempfile.mkdtemp(prefix="zeroclaw-tui-sentinel-"))
    port = _free_port()
    (folder / "sentinel.conf").write_text(
        f"port {port}\nbind {server.host}\nsentinel monitor {SERVICE} {server.host} {server.port} 1\n"
        f"sentinel auth-pass {SERVICE} {PASSWORD}\nsentinel down-after-milliseconds {SERVICE} 500\n"
    )
    process = subprocess.Popen(
        [str(server_program()), str(folder / "sentinel.conf"), "--sentinel"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: b"PONG" in _said(server.host, port, "PING"))
        yield port
    finally:
        process.terminate()
        process.wait(_PATIENCE)
        shutil.rmtree(folder)


@contextmanager
def _running(*options: str) -> Iterator[RedisServer]:
    program = server_program()
    if program is None:
        raise RuntimeError(NO_SERVER)
    folder = Path(tempfile.mkdtemp(prefix="zeroclaw-tui-redis-"))
    # A cluster's servers speak to each other on the port 10,000 above.
    server = RedisServer(folder, program, _split(options), port=_free_port(below=50_000))
    try:
        server.start()
        yield server
    finally:
        server.stop(save=False)
        shutil.rmtree(folder)


def _split(options: Sequence[str]) -> list[str]:
    return [part for option in options for part in (option.split(" ") if option[:2] != "--" else [option])]


def _is_whole(server: RedisServer, size: int) -> bool:
    said = server.say("CLUSTER INFO")
    return b"cluster_state:ok" in said and f"cluster_known_nodes:{size}".encode() in said


def until(is_so: Callable[[], bool]) -> None:
    """Ask again and again until it is so."""
    end = time.monotonic() + _PATIENCE
    while not is_so():
        if time.monotonic() > end:
            raise RuntimeError("the servers do not find each other")


def _said(host: str, port: int, command: str) -> bytes:
    try:
        with socket.create_connection((host, port), timeout=_PATIENCE) as connection:
            connection.sendall(f"{command}\r\n".encode())
            return connection.recv(65536)
    except OSError:
        return b""


def _free_port(below: int = 65_536) -> int:
    while True:
        with socket.create_server((RedisServer.host, 0)) as free:
            port = int(free.getsockname()[1])
        if port < below:
            return port
