"""The real scripts as processes, on small databases with ZeroClaw's own tables."""

from __future__ import annotations

import json
import os
import sqlite3
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.databases import create_database
from support.warm_start import SCRIPTS, run_script

AGENT_IDS = {"default": "00000000-0000-4000-8000-000000000001", "writer": "00000000-0000-4000-8000-000000000002"}


@dataclass(frozen=True)
class Answer:
    """What a command wrote, and its exit code."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode("utf-8")

    @property
    def message(self) -> str:
        """What stdout has, but for the document of an error with --json."""
        is_error = self.code and self.out.startswith('{\n  "error": {')
        return "" if is_error else self.out

    @property
    def json(self) -> Any:
        return json.loads(self.raw)


Command = Callable[..., Answer]


@pytest.fixture
def script() -> Callable[[str], str]:
    """Where an installed console script is."""
    return lambda name: str(SCRIPTS / name)


@pytest.fixture
def run(tmp_path: Path) -> Command:
    """Run an installed script with no terminal; PATH has only the system's folders and what the test adds."""

    def run(*arguments: str, program: str = "zeroclaw", stdin: bytes = b"", **variables: str) -> Answer:
        environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin", **variables}
        done = run_script(program, arguments, stdin=stdin, environment=environment)
        return Answer(done.returncode, done.stdout, done.stderr.decode("utf-8"))

    return run


@pytest.fixture
def memory(run: Command, install: Path) -> Command:
    """Run `zeroclaw memory ...` on the install with few memories."""
    return lambda *arguments, **more: run("memory", "--config-dir", str(install), *arguments, **more)


Row = tuple[str, str, str, str, str | None]
ROWS: Sequence[Row] = (
    ("lang", "User prefers Rust", "core", "2026-03-01T10:00:00+00:00", None),
    ("editor", "User uses Helix editor daily", "core", "2026-03-02T10:00:00+00:00", None),
    ("pet", "Cat named Mio", "core", "2026-03-03T10:00:00+00:00", "tg_1"),
    ("tz", "Timezone is EST", "daily", "2026-03-04T10:00:00+00:00", "tg_1"),
    ("food", "Likes ramen and rust colored plates\nand tea", "travel notes", "2026-03-05T10:00:00+00:00", None),
    ("food_allergy", "Allergic to peanuts", "core", "2026-03-06T10:00:00+00:00", "tg_2"),
    ("--json", "A key that looks like an option", "core", "2026-03-07T10:00:00+00:00", None),
    ("", "The empty key", "core", "2026-03-08T10:00:00+00:00", None),
)


@pytest.fixture
def install(tmp_path: Path) -> Path:
    """A config dir of the 0.5.7-0.7.5 generation: eight memories and one that a newer one replaced."""
    database = tmp_path / "zc" / "workspace" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    create_database(database, "G2")
    with closing(sqlite3.connect(database)) as connection, connection:
        for number, (key, content, category, at, session) in enumerate(ROWS):
            insert(connection, f"id-{number}", key, content, category, at, session)
        insert(connection, "id-old", "lang_old", "User prefers C", "core", "2026-02-01T10:00:00+00:00", None)
        connection.execute("UPDATE memories SET superseded_by = 'id-0' WHERE id = 'id-old'")
    (tmp_path / "zc" / "config.toml").write_text(
        'default_temperature = 0.7\n[memory]\nbackend = "sqlite"\nauto_save = true\n'
    )
    return tmp_path / "zc"


@pytest.fixture
def agents_install(tmp_path: Path) -> Path:
    """A config dir from 0.8.3 on whose agents `default` and `writer` both hold the key `lang`."""
    database = tmp_path / "zc8" / "data" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    create_database(database, "G4", default_agent_id=AGENT_IDS["default"])
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.execute("INSERT INTO agents VALUES (?, 'writer', '2026-01-01')", (AGENT_IDS["writer"],))
        at = "2026-03-01T10:00:00+00:00"
        for alias, agent_id in AGENT_IDS.items():
            insert(connection, f"lang-{alias}", "lang", f"Rust, says {alias}", "core", at, None, agent_id=agent_id)
        insert(connection, "pen", "pen", "Rust coloured ink", "core", at, None, agent_id=AGENT_IDS["writer"])
    (tmp_path / "zc8" / "config.toml").write_text('schema_version = 3\n[memory]\nbackend = "sqlite"\n')
    return tmp_path / "zc8"


@dataclass(frozen=True)
class Brain:
    """The database of the install, as another program sees it."""

    path: Path

    def rows(self, what: str = "rowid, *") -> list[tuple[Any, ...]]:
        with closing(sqlite3.connect(self.path)) as connection:
            return connection.execute(f"SELECT {what} FROM memories ORDER BY rowid").fetchall()

    def keys(self) -> set[str]:
        return {key for (key,) in self.rows("key")}

    def execute(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.path)) as connection, connection:
            for statement in statements:
                connection.execute(statement)

    def drop_triggers(self) -> None:
        with closing(sqlite3.connect(self.path)) as connection:
            names = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'").fetchall()
        self.execute(*(f"DROP TRIGGER {name}" for (name,) in names))

    def add_noise(self, count: int) -> None:
        """Add memories of the category noise."""
        with closing(sqlite3.connect(self.path)) as connection, connection:
            for number in range(count):
                at = "2026-02-01T10:00:00+00:00"
                insert(connection, f"n-{number}", f"noise_{number}", f"noise {number}", "noise", at, None)


@pytest.fixture
def brain(install: Path) -> Brain:
    return Brain(install / "workspace" / "memory" / "brain.db")


def insert(
    connection: sqlite3.Connection,
    memory_id: str,
    key: str,
    content: str | bytes,
    category: str,
    at: str,
    session: str | None,
    **more: Any,
) -> None:
    """Write one row as ZeroClaw does, triggers included; bytes go in as text."""
    columns = {"id": memory_id, "key": key, "content": content, "category": category, "created_at": at}
    columns |= {"updated_at": at, "session_id": session, **more}
    marks = ", ".join("CAST(? AS TEXT)" if isinstance(value, bytes) else "?" for value in columns.values())
    connection.execute(f"INSERT INTO memories ({', '.join(columns)}) VALUES ({marks})", list(columns.values()))
