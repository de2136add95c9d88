"""Our console scripts as processes of their own, forked from one that has imported what a command needs.

A new interpreter takes half a second to import what a fork has already. Each command is a process all the same, with
its own standard streams, arguments, folder, environment and exit code.
"""

from __future__ import annotations

import atexit
import contextlib
import importlib
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

SCRIPTS = Path(sys.executable).parent
_OF_A_START = ("PYTHON", "LC_", "LANG", "TZ", "LD_", "OPENBLAS", "COVERAGE")
"""Variables that count when an interpreter starts: commands with other values of one have another server."""
_MODES = ("wb", "rb", "rb")
_MOST_SERVERS = 3
_SERVERS: dict[tuple[int, frozenset[tuple[str, str]]], Path] = {}
"""Sockets by the process whose server it is and by those variables."""


def run_script(
    program: str, arguments: Sequence[str], *, stdin: bytes = b"", environment: Mapping[str, str], seconds: float = 120
) -> subprocess.CompletedProcess[bytes]:
    """Run "zeroclaw" or "zeroclaw-tui" with pipes for streams. Raises subprocess.TimeoutExpired."""
    command = [str(SCRIPTS / program), *arguments]
    of_a_start = frozenset((name, value) for name, value in environment.items() if name.startswith(_OF_A_START))
    is_known = (os.getpid(), of_a_start) in _SERVERS or len(_SERVERS) < _MOST_SERVERS
    if program != "zeroclaw" or not is_known:
        return subprocess.run(command, input=stdin, capture_output=True, env=dict(environment), timeout=seconds)
    return _forked(command, stdin, environment, seconds, of_a_start)


def run_memory(
    *arguments: str, stdin: str = "", environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `zeroclaw memory ...`, its texts in UTF-8; without an environment in that of this process."""
    environment = dict(os.environ) if environment is None else environment
    done = run_script("zeroclaw", ["memory", *arguments], stdin=stdin.encode(), environment=environment)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def _forked(
    command: Sequence[str],
    stdin: bytes,
    environment: Mapping[str, str],
    seconds: float,
    of_a_start: frozenset[tuple[str, str]],
) -> subprocess.CompletedProcess[bytes]:
    ours, theirs = zip(*(_pipe(is_input) for is_input in (True, False, False)), strict=True)
    out: list[bytes] = [b"", b""]
    with socket.socket(socket.AF_UNIX) as server, contextlib.ExitStack() as files:
        server.connect(str(_server(of_a_start)))
        asked = {"argv": list(command), "environment": dict(environment), "folder": os.getcwd(), "umask": _umask()}
        socket.send_fds(server, [b"."], list(theirs))
        server.sendall(json.dumps(asked).encode() + b"\n")
        for descriptor in theirs:
            os.close(descriptor)
        streams = [
            files.enter_context(os.fdopen(descriptor, mode)) for descriptor, mode in zip(ours, _MODES, strict=True)
        ]

        def feed() -> None:
            with contextlib.suppress(BrokenPipeError):
                streams[0].write(stdin)
                streams[0].close()

        def read(at: int) -> None:
            out[at] = streams[at + 1].read()

        threads = [threading.Thread(target=feed), *(threading.Thread(target=read, args=(at,)) for at in (0, 1))]
        for thread in threads:
            thread.start()
        told = server.makefile("rb")
        child = int(told.readline())
        server.settimeout(seconds)
        try:
            status = int(told.readline())
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            raise subprocess.TimeoutExpired(list(command), seconds) from None
        finally:
            for thread in threads:
                thread.join()
    return subprocess.CompletedProcess(list(command), os.waitstatus_to_exitcode(status), out[0], out[1])


def _pipe(is_input: bool) -> tuple[int, int]:
    reading, writing = os.pipe()
    return (writing, reading) if is_input else (reading, writing)


def _umask() -> int:
    present = os.umask(0o077)
    os.umask(present)
    return present


def _server(of_a_start: frozenset[tuple[str, str]]) -> Path:
    """The socket of this process's server for such an environment, which is started when it is first asked for."""
    known = _SERVERS.get((os.getpid(), of_a_start))
    if known is None:
        folder = Path(tempfile.mkdtemp(prefix="zeroclaw-tui-warm-"))
        known = folder / "socket"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_OF_A_START)}
        started = subprocess.Popen(
            [sys.executable, __file__, str(known)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=kept | dict(of_a_start),
        )  # fmt: skip
        assert started.stdout is not None
        started.stdout.readline()
        _SERVERS[(os.getpid(), of_a_start)] = known
        atexit.register(_end, started, folder)
    return known


def _end(server: subprocess.Popen[bytes], folder: Path) -> None:
    server.kill()
    server.wait()
    for file in (folder / "socket", folder):
        with contextlib.suppress(OSError):
            file.unlink() if file.name == "socket" else file.rmdir()


def _serve(place: str) -> None:
    """Import what commands need, then fork one for each connection, until whoever started it has ended."""
    import asyncio  # noqa: F401
    import sqlite3  # noqa: F401

    import aiosqlite  # noqa: F401
    import numpy  # noqa: F401

    for package in ("memory", "config", "files", "scoring", "embeddings", "backends.sqlite", "curation", "cli"):
        room = importlib.import_module(f"zeroclaw_tui.{package}")
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)

    listening = socket.socket(socket.AF_UNIX)
    listening.bind(place)
    listening.listen(16)
    print(flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # Whoever started it writes nothing there: only the end of it can be read.
    while listening in select.select([listening, sys.stdin], [], [])[0]:
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            _attend(connection)
        connection.close()


def _attend(connection: socket.socket) -> None:
    """Fork the command, tell its number and, at its end, its status."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, descriptors, _, _ = socket.recv_fds(connection, 1, 3)
    asked = json.loads(connection.makefile("rb").readline())
    child = os.fork()
    if child == 0:
        connection.close()
        _command(asked, descriptors)
    for descriptor in descriptors:
        os.close(descriptor)
    connection.sendall(b"%d\n" % child)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        connection.sendall(b"%d\n" % status)
    os._exit(0)


def _command(asked: dict[str, object], descriptors: Sequence[int]) -> None:
    from zeroclaw_tui.cli.main import zeroclaw

    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(asked["environment"])  # type: ignore[call-overload]
    os.chdir(str(asked["folder"]))
    os.umask(int(str(asked["umask"])))
    sys.argv = list(asked["argv"])  # type: ignore[call-overload]
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
    sys.exit(zeroclaw())


if __name__ == "__main__":
    _serve(sys.argv[1])
