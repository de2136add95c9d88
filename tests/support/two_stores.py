"""An install with two stores to switch between: SQLite (configured) and Markdown notes."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from support.databases import create_database


def install_of_two_stores(folder: Path) -> Path:
    """Create a config dir of before 0.8.0 with a brain.db of two memories and a MEMORY.md of three."""
    config_dir = folder / ".zeroclaw"
    database = config_dir / "workspace" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    (config_dir / "config.toml").write_text('[memory]\nbackend = "sqlite"\n')
    (config_dir / "workspace" / "MEMORY.md").write_text(
        "# Memory\n\n- Likes ramen.\n- Timezone is EST.\n- Runs on Sundays.\n"
    )
    create_database(database, "G1")
    with closing(sqlite3.connect(database)) as connection, connection:
        connection.executemany(
            "INSERT INTO memories (id, key, content, category, created_at, updated_at)"
            " VALUES (?1, ?1, ?2, 'core', ?3, ?3)",
            [(key, text, "2026-01-02T03:04:05+00:00") for key, text in (("tz", "EST it is"), ("food", "ramen it is"))],
        )
    return config_dir
