"""A database that real ZeroClaw hydrated, and that no ZeroClaw opens, is repaired with every memory as it was."""

from __future__ import annotations

import gzip
import hashlib
import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support import small_store
from support.databases import HYDRATED, create_database
from support.patient import NOW

from zeroclaw_tui.backends.sqlite.schema import statements
from zeroclaw_tui.curation.changes import plan_purge, remove_memories, store_memory, undo
from zeroclaw_tui.curation.doctor import repair_finding
from zeroclaw_tui.memory.change import Draft
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.query import MemoryFilter

DATA = Path(__file__).parents[2] / "data" / "zeroclaw"
WIDE = os.environ.get("ZEROCLAW_FIXTURES")
VERSIONS = ("0.1.7", "0.7.5", "0.8.3", "0.8.4")


def hydrated(patient, version: str) -> None:
    """The real one of a version where the fixtures are at hand; else one with the same tables and rows by hand."""
    packed = DATA / version / "hydrated_brain.db.gz"
    if WIDE:
        patient.database.write_bytes((Path(WIDE) / version / "hydrated_brain.db").read_bytes())
        return
    if packed.exists():
        patient.database.write_bytes(gzip.decompress(packed.read_bytes()))
        return
    create_database(patient.database, HYDRATED)
    rows = [{"key": f"key {at}", "content": f"memory {at} of {version} about the harbour"} for at in range(40)]
    small_store.add(patient.database, rows)
    patient.change("INSERT INTO memories_fts(memories_fts) VALUES ('rebuild')")


def made(database: Path) -> dict[str, str]:
    """Every table, index and trigger with the statement that made it, blanks apart."""
    with closing(sqlite3.connect(database)) as connection:
        found = connection.execute("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL").fetchall()
    return {name: " ".join(sql.split()).replace("( ", "(").replace(" )", ")").replace(" ,", ",") for name, sql in found}


@pytest.mark.parametrize("version", VERSIONS)
async def test_it_is_repaired_to_all_that_zeroclaw_makes_and_then_written_to(make_patient, version: str) -> None:
    patient = make_patient("", "workspace")
    hydrated(patient, version)
    before = patient.rows()
    finding = await patient.finding("hydrated")
    assert (finding.risk, finding.repair) == ("serious", "repair hydrated database")
    repaired = await patient.repair("hydrated")
    assert repaired.backup is not None
    report = await patient.report(deep=True)
    assert report.is_healthy, [finding.title for finding in report.findings if finding.risk == "serious"]
    assert patient.rows() == before
    async with patient.library() as library:
        assert library.read_only_because is None
        assert library.memory.about.generation == "G1"
        await store_memory(library, Draft("new", "a word of its own: zanzibar"))
        assert patient.found("zanzibar") == 1
        await undo(library)
        plan = await plan_purge(library, MemoryFilter(category=("core",)))
        await remove_memories(library, plan, "purge")
        await undo(library)
    assert patient.rows() == before
    assert patient.found("zanzibar") == 0
    # ZeroClaw runs its statements with IF NOT EXISTS: the names and columns they need are there.
    empty = patient.folder / "empty.db"
    create_database(empty, "G1")
    ours, theirs = made(patient.database), made(empty)
    assert theirs.keys() <= ours.keys()
    for name, statement in theirs.items():
        if name not in ("memories", "memories_fts"):
            assert ours[name] == statement
    with closing(sqlite3.connect(patient.database)) as ours_open, closing(sqlite3.connect(empty)) as theirs_open:
        columns = "SELECT name, type, \"notnull\", dflt_value, pk FROM pragma_table_info('memories')"
        assert ours_open.execute(columns).fetchall() == theirs_open.execute(columns).fetchall()
        for statement in statements("G1"):
            ours_open.execute(statement.replace("TABLE ", "TABLE IF NOT EXISTS ", 1)
                              .replace("INDEX ", "INDEX IF NOT EXISTS ", 1)
                              .replace("TRIGGER ", "TRIGGER IF NOT EXISTS ", 1))  # fmt: skip


async def test_one_that_zeroclaw_tried_to_open_has_triggers_already(make_patient) -> None:
    """Opening fails after the triggers and the first indexes were made."""
    patient = make_patient("", "workspace")
    hydrated(patient, "0.1.7")
    patient.change(*[statement for statement in statements("G1") if "TRIGGER" in statement or "_category" in statement])
    before = patient.rows()
    await patient.repair("hydrated")
    assert (await patient.report(deep=True)).is_healthy
    assert patient.rows() == before


async def test_the_backup_is_the_database_of_before_for_its_owner_only(make_patient) -> None:
    patient = make_patient("", "workspace")
    hydrated(patient, "0.7.5")
    before = made(patient.database)
    repaired = await patient.repair("hydrated")
    assert repaired.backup is not None
    assert repaired.backup.parent == patient.folder / "zeroclaw-tui" / "backups"
    assert repaired.backup.stat().st_mode & 0o777 == 0o600
    assert made(repaired.backup) == before
    again = hashlib.sha256(repaired.backup.read_bytes()).hexdigest()
    await patient.report(deep=True)
    assert hashlib.sha256(repaired.backup.read_bytes()).hexdigest() == again


async def test_read_only_refuses_the_repair(make_patient) -> None:
    patient = make_patient("", "workspace")
    hydrated(patient, "0.1.7")
    finding = await patient.finding("hydrated")
    async with patient.library() as library:
        with pytest.raises(Refused, match="opened read-only"):
            await repair_finding(patient.config._replace(read_only=True), library, finding, NOW)
    assert "memories_ai" not in made(patient.database)
    assert not (patient.folder / "zeroclaw-tui" / "backups").exists()
