"""Kill the repair of a hydrated database or of a damaged keyword index, or a compacting, before one of its writes,
and check what is left.

    python tests/crash/doctor_crash_points.py hydrated|index|compact FOLDER [--points N]

Without --points every write is tried. Exits with code 1 if a memory has changed, SQLite finds damage, or a
second run does not finish the work.
"""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from support import kill_points, killing, small_store
from support.databases import HYDRATED, create_database

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation import doctor
from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.curation.library import open_library

NOW = datetime(2026, 11, 22, tzinfo=UTC)
ROWS = [{"content": f"memory {at} about the crossing " + "and the harbour " * (at % 7)} for at in range(200)]
_FINDINGS = {"hydrated": "hydrated", "index": "keyword-index", "compact": "free-space"}


def make_install(folder: Path, action: str) -> None:
    database = folder / "workspace" / "memory" / "brain.db"
    database.parent.mkdir(parents=True)
    (folder / "config.toml").write_text('default_temperature = 0.7\n[memory]\nbackend = "sqlite"\nauto_save = true\n')
    if action == "hydrated":
        create_database(database, HYDRATED)
        small_store.add(database, ROWS)
        small_store.change(database, "INSERT INTO memories_fts(memories_fts) VALUES ('rebuild')")
    else:
        small_store.make(database, "G2", ROWS)
    if action == "index":
        small_store.damage(database, "memories_fts_data")
    elif action == "compact":
        small_store.change(database, "DELETE FROM memories WHERE rowid % 3 = 0")


def rows_of(folder: Path, action: str) -> list[Any]:
    """Return every row with its rowid, after SQLite's own check unless a page was damaged on purpose."""
    with closing(sqlite3.connect(folder / "workspace" / "memory" / "brain.db")) as connection:
        assert action == "index" or connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        columns = "rowid, id, key, content, category, created_at, updated_at"
        return connection.execute(f"SELECT {columns} FROM memories ORDER BY rowid").fetchall()


async def act(folder: Path, action: str) -> None:
    config = configs_for(OpenOptions(config_dir=folder), {"HOME": str(folder)})[0]
    if action == "compact":
        kill_points.mark()
        await doctor.compact(config, NOW)
        kill_points.mark()
        return
    library = await open_library(config)
    try:
        report = await doctor.examine(config, library)
        for finding in report.findings:
            if finding.id == _FINDINGS[action] and finding.repair is not None:
                kill_points.mark()
                await doctor.repair_finding(config, library, finding, NOW)
                kill_points.mark()
    finally:
        await library.close()


async def check(folder: Path, action: str, before: list[Any]) -> None:
    """Check that all memories are unchanged, and that a second run completes the repair."""
    assert rows_of(folder, action) == before, "a memory has changed"
    await act(folder, action)
    assert rows_of(folder, action) == before, "a memory has changed after the second run"
    config = configs_for(OpenOptions(config_dir=folder), {"HOME": str(folder)})[0]
    library = await open_library(config)
    try:
        report = await doctor.examine(config, library, deep=True)
    finally:
        await library.close()
    assert report.is_healthy, [finding.title for finding in report.findings if finding.risk == "serious"]
    assert library.read_only_because is None


def main() -> int:
    given = killing.arguments(_FINDINGS)
    place = given.folder / "copy"
    make_install(place, given.action)
    before = rows_of(place, given.action)
    return killing.kill_at_points(
        given, place, lambda: act(place, given.action), lambda: check(place, given.action, before)
    )


if __name__ == "__main__":
    sys.exit(main())
