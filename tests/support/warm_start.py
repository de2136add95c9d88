"""Run our console scripts as separate processes, forked from a server that has imported their modules.

A new interpreter needs half a second for imports that a fork already has, a second for the inspector. Each command is
still a process with its own standard streams, arguments, folder, environment and exit code; with a terminal as its
streams it leads its own session.
"""

from __future__ import annotations

import atexit
import contextlib
import fcntl
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
import termios
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path

SCRIPTS = Path(sys.executable).parent
_START_VARIABLES = ("PYTHON", "LC_", "LANG", "TZ", "LD_", "OPENBLAS", "COVERAGE")
"""Variables read when an interpreter starts: a command with other values needs another server."""
_MODES = ("wb", "rb", "rb")
_MOST_SERVERS = 4
_PROGRAMS = {"zeroclaw": (), "zeroclaw-tui": ("tui",)}
"""The forked programs, each with the packages that only it needs."""
_Kind = tuple[int, str, frozenset[tuple[str, str]]]
_SERVERS: dict[_Kind, Path] = {}
"""Sockets of the servers, by parent process, program and those variables."""


def run_script(
    program: str, arguments: Sequence[str], *, stdin: bytes = b"", environment: Mapping[str, str], seconds: float = 120
) -> subprocess.CompletedProcess[bytes]:
    """Run "zeroclaw" or "zeroclaw-tui" with pipes for streams. Raises subprocess.TimeoutExpired."""
    command = [str(SCRIPTS / program), *arguments]
    if program != "zeroclaw" or not is_warm(program, environment):
        return subprocess.run(command, input=stdin, capture_output=True, env=dict(environment), timeout=seconds)
    return _with_pipes(command, stdin, environment, seconds)


def run_memory(
    *arguments: str, stdin: str = "", environment: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run `zeroclaw memory ...` with UTF-8 text, by default in the environment of this process."""
    environment = dict(os.environ) if environment is None else environment
    done = run_script("zeroclaw", ["memory", *arguments], stdin=stdin.encode(), environment=environment)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


class Forked:
    """A started command; its streams are the other ends of these descriptors, which are closed in this process.

    Raises subprocess.TimeoutExpired when a wait takes too long.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], streams: Sequence[int], *, in_terminal: bool
    ) -> None:
        self._command = list(command)
        self._status: int | None = None
        self._server = socket.socket(socket.AF_UNIX)
        self._server.connect(str(_server(_kind(Path(command[0]).name, environment))))
        asked = {"argv": self._command, "environment": dict(environment), "folder": os.getcwd(), "umask": _umask()}
        socket.send_fds(self._server, [b"."], list(streams))
        self._server.sendall(json.dumps(asked | {"in_terminal": in_terminal}).encode() + b"\n")
        for descriptor in set(streams):
            os.close(descriptor)
        self._told = self._server.makefile("rb", buffering=0)
        self._number = int(self._told.readline())

    def has_ended(self) -> bool:
        """Whether the exit code has arrived."""
        return self._status is not None or bool(select.select([self._server], [], [], 0)[0])

    def exit_code(self, seconds: float) -> int:
        """Wait for the exit code, negative for a signal; kill the command after a time-out."""
        if self._status is None:
            self._server.settimeout(seconds)
            try:
                self._status = int(self._told.readline())
            except TimeoutError:
                os.kill(self._number, signal.SIGKILL)
                raise subprocess.TimeoutExpired(self._command, seconds) from None
            finally:
                self._told.close()
                self._server.close()
        return os.waitstatus_to_exitcode(self._status)

    def kill(self, number: int) -> None:
        """Send a signal unless the command has ended."""
        if not self.has_ended():
            # The command may end between the check and the signal.
            with contextlib.suppress(ProcessLookupError):
                os.kill(self._number, number)


def is_warm(program: str, environment: Mapping[str, str]) -> bool:
    """Whether a program can be forked; not with unusual variables, since a server would be used only once."""
    kind = _kind(program, environment)
    if program not in _PROGRAMS or kind != _kind(program, os.environ):
        return False
    return kind in _SERVERS or len(_SERVERS) < _MOST_SERVERS


def _kind(program: str, environment: Mapping[str, str]) -> _Kind:
    relevant = ((name, value) for name, value in environment.items() if name.startswith(_START_VARIABLES))
    return os.getpid(), program, frozenset(relevant)


def _with_pipes(
    command: Sequence[str], stdin: bytes, environment: Mapping[str, str], seconds: float
) -> subprocess.CompletedProcess[bytes]:
    ours, theirs = zip(*(_pipe(is_input) for is_input in (True, False, False)), strict=True)
    out: list[bytes] = [b"", b""]
    with contextlib.ExitStack() as files:
        forked = Forked(command, environment, theirs, in_terminal=False)
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
        try:
            code = forked.exit_code(seconds)
        finally:
            for thread in threads:
                thread.join()
    return subprocess.CompletedProcess(list(command), code, out[0], out[1])


def _pipe(is_input: bool) -> tuple[int, int]:
    reading, writing = os.pipe()
    return (writing, reading) if is_input else (reading, writing)


def _umask() -> int:
    present = os.umask(0o077)
    os.umask(present)
    return present


def _server(kind: _Kind) -> Path:
    """Return the socket of this process's server of a kind, starting the server on first use."""
    known = _SERVERS.get(kind)
    if known is None:
        _, program, relevant = kind
        folder = Path(tempfile.mkdtemp(prefix="zeroclaw-tui-warm-"))
        known = folder / "socket"
        kept = {name: value for name, value in os.environ.items() if not name.startswith(_START_VARIABLES)}
        started = subprocess.Popen(
            [sys.executable, __file__, str(known), program],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=kept | dict(relevant),
        )  # fmt: skip
        assert started.stdout is not None
        started.stdout.readline()
        _SERVERS[kind] = known
        atexit.register(_end, started, folder)
    return known


def _end(server: subprocess.Popen[bytes], folder: Path) -> None:
    server.kill()
    server.wait()
    for file in (folder / "socket", folder):
        with contextlib.suppress(OSError):
            file.unlink() if file.name == "socket" else file.rmdir()


def _serve(place: str, program: str) -> None:
    """Import a program's modules, then fork one child for each connection until the parent process has ended."""
    import asyncio  # noqa: F401
    import sqlite3  # noqa: F401

    import aiosqlite  # noqa: F401
    import numpy  # noqa: F401

    packages = ("memory", "config", "files", "scoring", "embeddings", "backends.sqlite", "curation", "cli")
    for package in (*packages, *_PROGRAMS[program]):
        room = importlib.import_module(f"zeroclaw_tui.{package}")
        for module in pkgutil.walk_packages(room.__path__, f"{room.__name__}."):
            importlib.import_module(module.name)

    listening = socket.socket(socket.AF_UNIX)
    listening.bind(place)
    listening.listen(16)
    print(flush=True)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    # The parent writes nothing to stdin, so only its end can be read.
    while listening in select.select([listening, sys.stdin], [], [])[0]:
        connection, _ = listening.accept()
        if os.fork() == 0:
            listening.close()
            _attend(connection)
        connection.close()


def _attend(connection: socket.socket) -> None:
    """Fork the command, send its process id and, when it ends, its status."""
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
    from zeroclaw_tui.cli.main import inspector, zeroclaw

    for target, descriptor in enumerate(descriptors):
        os.dup2(descriptor, target)
        os.close(descriptor)
    if asked["in_terminal"]:
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.environ.clear()
    os.environ.update(asked["environment"])  # type: ignore[call-overload]
    os.chdir(str(asked["folder"]))
    os.umask(int(str(asked["umask"])))
    sys.argv = list(asked["argv"])  # type: ignore[call-overload]
    encoding, errors = sys.stdout.encoding, sys.stdout.errors
    for name, stream in {
        "stdin": os.fdopen(0, encoding=encoding, errors=errors, closefd=False),
        "stdout": os.fdopen(1, "w", encoding=encoding, errors=errors, closefd=False),
        "stderr": os.fdopen(2, "w", 1, encoding=encoding, errors="backslashreplace", closefd=False),
    }.items():
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    sys.exit(inspector() if Path(sys.argv[0]).name == "zeroclaw-tui" else zeroclaw())


if __name__ == "__main__":
    _serve(sys.argv[1], sys.argv[2])
