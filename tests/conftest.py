"""Fixtures of every test: the developer's config cannot leak in, and no test depends on chance."""

from __future__ import annotations

import gc
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support.postgres_server import PostgresServer, running_postgres

_LEAKS = ("COLUMNS", "ZEROCLAW_", "DATABASE_URL", "QDRANT_", "MEM0_", "XDG_", "OPENAI_", "OPENROUTER_")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")

# No deadline, since the time of an example depends on the load of the machine. A few fixed examples each time;
# `.ci/run --all` generates others, and more of them.
_STEADY = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same examples", _STEADY, derandomize=True, max_examples=25)
settings.register_profile("other examples", _STEADY)


_MEMORY, _ROOM = Path("/dev/shm"), 4_000_000_000


def _files_lie_in_memory() -> bool:
    """Whether memory has room for the files, and programs written there can be started."""
    if not _MEMORY.is_dir() or os.statvfs(_MEMORY).f_flag & os.ST_NOEXEC:
        return False
    return shutil.disk_usage(_MEMORY).free > _ROOM


def pytest_configure(config: pytest.Config) -> None:
    if _files_lie_in_memory():
        # This program syncs its files to disk, which would take a third of the time of the tests.
        os.environ["TMPDIR"] = tempfile.tempdir = str(_MEMORY)
    settings.load_profile("same examples" if config.option.markexpr == "not slow" else "other examples")


def _share_bytecode(folder: Path) -> None:
    """Have this process and its children compile each module once, even where Python writes no bytecode."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = sys.pycache_prefix = str(folder)
    sys.dont_write_bytecode = False


# The objects of a test are few compared with all modules, which the collector would scan again and again.
gc.set_threshold(50_000, 20, 100)
_share_bytecode(Path(__file__).parent.parent / ".pytest_cache" / "bytecode")

_HOMES = count()


@pytest.fixture(autouse=True)
def clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Use an empty HOME, no proxy and no variable that ZeroClaw or this program reads, except the fixtures' folder."""
    for name in list(os.environ):
        is_leak = name.startswith(_LEAKS) or name.upper() in _PROXIES
        if is_leak and name not in ("ZEROCLAW_FIXTURES", "ZEROCLAW_ALLOW_SKIP"):
            monkeypatch.delenv(name)
    # Numbered here, since pytest would list all earlier homes for each new one.
    home = tmp_path_factory.getbasetemp() / "homes" / str(next(_HOMES))
    home.mkdir(parents=True)
    monkeypatch.setenv("HOME", str(home))
    # As in an activated environment, so that messages name our commands without a path.
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("TZ", "UTC")
    # In whatever terminal the tests are started, they draw with all colours on a dark background.
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    monkeypatch.delenv("COLORFGBG", raising=False)
    return home


@pytest.fixture(autouse=True)
def no_name_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """Resolve names under .invalid as unknown, without a query to a server outside this machine."""
    real = socket.getaddrinfo

    def answered(host, *arguments, **named):
        if str(host).rstrip(".").endswith(".invalid"):
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return real(host, *arguments, **named)

    monkeypatch.setattr(socket, "getaddrinfo", answered)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """One server for all tests, each of which uses users and databases of its own."""
    with running_postgres() as server:
        yield server
