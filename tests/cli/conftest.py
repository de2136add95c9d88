"""The real scripts as processes, on small databases with ZeroClaw's own tables."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from support.commands import Brain, Command, insert, run_command
from support.databases import create_database
from support.warm_start import SCRIPTS

AGENT_IDS = {"default": "00000000-0000-4000-8000-000000000001", "writer": "00000000-0000-4000-8000-000000000002"}


@pytest.fixture
def script() -> Callable[[str], str]:
    """Where an installed console script is."""
    return lambda name: str(SCRIPTS / name)


@pytest.fixture
def run(tmp_path: Path) -> Command:
    """Run an installed script with no terminal."""
    return run_command


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


@pytest.fixture
def brain(install: Path) -> Brain:
    return Brain(install / "workspace" / "memory" / "brain.db")
