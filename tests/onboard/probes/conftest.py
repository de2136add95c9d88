from __future__ import annotations

import socket
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.http_endpoints import self_signed
from support.postgres_server import PostgresServer, running_postgres


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    with running_postgres() as server:
        yield server


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.fixture(autouse=True)
def no_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Names under .invalid are unknown without asking anybody outside this machine."""
    real = socket.getaddrinfo

    def answered(host: Any, *arguments: Any, **named: Any) -> Any:
        if str(host).endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", answered)


@pytest.fixture(scope="session")
def certificate() -> Iterator[tuple[Path, Path]]:
    with tempfile.TemporaryDirectory() as folder:
        yield self_signed(Path(folder))


@pytest.fixture
def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


@pytest.fixture
def hanging_port() -> Iterator[int]:
    """A port that takes connections and never says a word."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield int(listener.getsockname()[1])


@pytest.fixture
def talking_port():
    """Makes a port that answers the first bytes of each connection with its next words, then waits or ends."""
    listeners = []

    def made(*words: bytes, ends: bool = False) -> int:
        listener = socket.create_server(("127.0.0.1", 0))
        listeners.append(listener)

        def talk() -> None:
            for said in words:
                try:
                    connection, _ = listener.accept()
                except OSError:
                    return
                with connection:
                    connection.recv(65536)
                    connection.sendall(said)
                    while not ends and connection.recv(4096):
                        pass

        threading.Thread(target=talk, daemon=True).start()
        return int(listener.getsockname()[1])

    yield made
    for listener in listeners:
        listener.close()
