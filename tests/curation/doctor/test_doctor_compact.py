"""Compacting: only alone, every memory as it was, and small."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from support.patient import NOW

from zeroclaw_tui.curation.doctor import examine, repair_finding
from zeroclaw_tui.curation.repairs import compact, plan_compact
from zeroclaw_tui.files import database as connections
from zeroclaw_tui.files import whole_database
from zeroclaw_tui.memory.errors import Locked, Refused
from zeroclaw_tui.memory.query import EXCERPTS, NEWEST_STORED, MemoryFilter, Query

HOLD = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("SELECT count(*) FROM memories").fetchone()
print("open", flush=True)
sys.stdin.read()
"""


@contextmanager
def held_open(database: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another program that has the database open and does nothing."""
    child = subprocess.Popen([sys.executable, "-c", HOLD, str(database)], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    try:
        child.stdout.readline()
        yield child
    finally:
        child.stdin.close()
        child.wait()
        child.stdout.close()


def make_holes(patient) -> None:
    """Rows deleted again leave free pages, and gaps between the rowids."""
    patient.change(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 900) "
        "INSERT INTO memories (id, key, content, created_at, updated_at) SELECT 'gone' || i, 'gone' || i, "
        "replace(hex(zeroblob(800)), '00', 'gone '), '2026-01-01', '2026-01-01' FROM n",
        "DELETE FROM memories WHERE id LIKE 'gone%' OR rowid IN (3, 7)",
    )


def has_journal_mode(database: Path) -> str:
    with closing(sqlite3.connect(database)) as connection:
        return str(connection.execute("PRAGMA journal_mode").fetchone()[0])


@pytest.mark.parametrize("mode", ["wal", "delete"])
async def test_it_gets_small_and_every_memory_is_as_it_was(make_patient, mode: str) -> None:
    patient = make_patient()
    patient.change(f"PRAGMA journal_mode = {mode}")
    make_holes(patient)
    before, size, words = patient.rows(), patient.database.stat().st_size, patient.found("harbour")
    finding = await patient.finding("free-space")
    assert (finding.risk, finding.repair) == ("worth knowing", "compact")
    told: list[str] = []
    done = await compact(patient.config, NOW, told.append)
    assert patient.database.stat().st_size < size / 4
    assert patient.rows() == before
    assert patient.found("harbour") == words
    assert has_journal_mode(patient.database) == mode
    assert done.backup is not None
    assert len(told) == 2
    assert (await patient.report(deep=True)).is_healthy
    assert (await patient.finding("free-space")).risk == "fine"


@pytest.mark.parametrize("can_tell", [True, False])
async def test_not_while_another_program_has_it_open(make_patient, monkeypatch, can_tell: bool) -> None:
    """Also where the system does not tell who it is: an idle connection is enough."""
    patient = make_patient()
    make_holes(patient)
    size = patient.database.stat().st_size
    monkeypatch.setattr(connections, "BUSY_SECONDS", 0.05)
    if not can_tell:
        monkeypatch.setattr(whole_database, "_PROCESSES", Path("/nowhere"))
    with held_open(patient.database) as child:
        with pytest.raises(Locked) as refused:
            await compact(patient.config, NOW)
        assert (f"process {child.pid}" in refused.value.message) == can_tell
        assert patient.database.stat().st_size == size
        assert not (patient.folder / "zeroclaw-tui" / "backups").exists()
    await compact(patient.config, NOW)
    assert patient.database.stat().st_size < size


async def test_the_plan_names_who_has_it_open(make_patient) -> None:
    patient = make_patient()
    make_holes(patient)
    with held_open(patient.database) as child:
        plan = await plan_compact(patient.config)
        assert f"process {child.pid}" in plan.open_in
        assert plan.free > 1_000_000
        finding = await patient.finding("open-elsewhere")
        assert f"process {child.pid}" in finding.title
    assert (await plan_compact(patient.config)).open_in == ""


async def test_as_a_repair_the_open_library_steps_aside_and_goes_on(make_patient) -> None:
    patient = make_patient()
    make_holes(patient)
    size = patient.database.stat().st_size
    async with patient.library() as library:
        report = await examine(patient.config, library)
        (finding,) = [finding for finding in report.findings if finding.id == "free-space"]
        await repair_finding(patient.config, library, finding, NOW)
        assert patient.database.stat().st_size < size
        page = await library.memory.rows(Query(EXCERPTS, MemoryFilter(), NEWEST_STORED, limit=50))
        assert len(page) == len(patient.rows())


async def test_an_index_that_had_fallen_behind_is_told(make_patient) -> None:
    patient = make_patient()
    patient.change("DELETE FROM memories_fts_docsize WHERE id < 4", "DROP TRIGGER memories_au",
                   "UPDATE memories SET content = 'a lighthouse' WHERE rowid = 9")  # fmt: skip
    done = await compact(patient.config, NOW)
    assert any("keyword index was out of date" in sentence for sentence in done.done)
    assert patient.found("lighthouse") == 1


async def test_other_backends_have_nothing_to_compact(make_patient) -> None:
    patient = make_patient("")
    (patient.folder / "config.toml").write_text('default_temperature = 0.7\n[memory]\nbackend = "none"\n')
    with pytest.raises(Refused, match="no database file"):
        await compact(patient.config, NOW)
