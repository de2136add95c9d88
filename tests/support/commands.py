"""Run commands as processes without a terminal, and read or change their database as another program would."""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support import small_store
from support.warm_start import SCRIPTS, run_script


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
        """Stdout, without the JSON error document of --json."""
        is_error = self.code and self.out.startswith('{\n  "error": {')
        return "" if is_error else self.out

    @property
    def json(self) -> Any:
        return json.loads(self.raw)


Command = Callable[..., Answer]


def run_command(*arguments: str, program: str = "zeroclaw", stdin: bytes = b"", **variables: str) -> Answer:
    """Run an installed script; PATH has only the scripts' and the system's folders and what the test adds."""
    environment = {**os.environ, "PATH": f"{SCRIPTS}:/usr/bin:/bin", **variables}
    done = run_script(program, arguments, stdin=stdin, environment=environment)
    return Answer(done.returncode, done.stdout, done.stderr.decode("utf-8"))


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
        at = {"category": "noise", "created_at": "2026-02-01T10:00:00+00:00", "updated_at": "2026-02-01T10:00:00+00:00"}
        rows = [{"id": f"n-{n}", "key": f"noise_{n}", "content": f"noise {n}", **at} for n in range(count)]
        small_store.add(self.path, rows)


def state_of(workspace: Path) -> tuple[dict[str, str], set[str]]:
    """Return every text file of the workspace and every key of its database."""
    files = [path for path in workspace.rglob("*") if path.is_file() and "brain.db" not in path.name]
    texts = {str(path.relative_to(workspace)): path.read_text() for path in files}
    return texts, Brain(workspace / "memory" / "brain.db").keys()
