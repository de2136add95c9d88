"""What lies around a store: leftovers, other databases, a log left behind, stores that do not open."""

from __future__ import annotations

import fcntl
import os
import shutil
import sqlite3
import threading
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support import small_store
from support.opened import opened_at
from support.patient import NOW

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.changes import store_memory, undo
from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.curation.doctor import examine, repair_finding
from zeroclaw_tui.memory.change import Draft
from zeroclaw_tui.memory.errors import Refused


def leave_log(database: Path) -> Path:
    """Writes that lie only in the log, as after a program was killed."""
    aside = database.with_name("aside.db")
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA wal_autocheckpoint = 0")
        connection.execute("UPDATE memories SET content = 'only in the log' WHERE rowid = 1")
        shutil.copy(database, aside)
        shutil.copy(f"{database}-wal", f"{aside}-wal")
    shutil.move(aside, database)
    shutil.move(f"{aside}-wal", f"{database}-wal")
    return database.with_name(f"{database.name}-wal")


@pytest.mark.parametrize("name", ["config.toml.bak", "config.toml.backup"])
async def test_leftover_configs_go_to_the_trash_and_come_back(make_patient, name: str) -> None:
    patient = make_patient()
    left = patient.folder / name
    left.write_text("api_key = 'sk-0123456789abcdef'\n")
    finding = await patient.finding(f"leftover:{name}")
    assert (finding.risk, finding.repair) == ("worth knowing", "remove leftover")
    async with patient.library() as library:
        await repair_finding(patient.config, library, finding, NOW)
        assert not left.exists()
        await undo(library)
    assert left.read_text() == "api_key = 'sk-0123456789abcdef'\n"


async def test_a_leftover_is_removed_off_the_event_loop(make_patient, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file of 200 MB is read, written to the trash and deleted: meanwhile the screen goes on."""
    patient, threads = make_patient(), []
    left = patient.folder / "config.toml.bak"
    left.write_text("old")
    finding = await patient.finding("leftover:config.toml.bak")
    for owner, name in ((Path, "unlink"), (os, "fsync"), (os, "access")):
        work = getattr(owner, name)

        def watched(*args: Any, work: Any = work, **options: Any) -> Any:
            threads.append(threading.current_thread())
            return work(*args, **options)

        monkeypatch.setattr(owner, name, watched)
    async with patient.library() as library:
        threads.clear()
        await repair_finding(patient.config, library, finding, NOW)
        assert threads
        assert threading.current_thread() not in threads
    assert not left.exists()


UNFINISHED = ".MEMORY_SNAPSHOT.md.zeroclaw-tui-0123456789abcdef.tmp"
PLACES = ["", "zeroclaw-tui", "zeroclaw-tui/backups", "workspace", "workspace/memory", "workspace/state",
          "workspace/memory/archive", "workspace/sessions/archive", "agents/writer/workspace/memory"]  # fmt: skip


async def test_what_a_killed_run_left_is_named_where_it_lies_and_removed(make_patient) -> None:
    """Files and a folder whose writer is gone; what a living run holds its lock on is no finding and stays."""
    patient = make_patient()
    left = [patient.folder / place / UNFINISHED for place in PLACES]
    for path in left[:-1]:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("half a snapshot")
    left[-1].mkdir(parents=True)
    (left[-1] / "other.db").write_text("half a database")
    alive = left[0].with_name(UNFINISHED.replace("0", "a"))
    with alive.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        found = {finding.target: finding for finding in (await patient.report()).findings}
        assert str(alive) not in found
        async with patient.library() as library:
            for path in left:
                assert (found[str(path)].risk, found[str(path)].repair) == ("worth knowing", "remove unfinished")
                await repair_finding(patient.config, library, found[str(path)], NOW)
                assert not path.exists()
            with pytest.raises(Refused, match="being written by another run"):
                await repair_finding(patient.config, library, replace(found[str(left[0])], target=str(alive)), NOW)
    assert alive.exists()


async def test_the_next_change_removes_what_a_killed_run_left_and_nothing_of_others(make_patient) -> None:
    patient = make_patient()
    names = (".config.toml.tmp-1234", ".active_workspace.toml.tmp-1234", "workspace/.iyzc4orz.tmp",
             "workspace/state/runtime-trace.tmp.12.345", "workspace/state/runtime-trace.migrate.12.345")  # fmt: skip
    others = [patient.folder / name for name in names]
    others[-1].parent.mkdir()
    left, alive = patient.folder / "workspace" / UNFINISHED, patient.folder / UNFINISHED.replace("0", "a")
    for path in (left, *others):
        path.write_text("api_key = 'sk-0123456789abcdef'\n")
    found = {finding.target: finding for finding in (await patient.report()).findings}
    for path in map(str, others):
        assert (found[path].risk, found[path].repair) == ("worth knowing", None)
        assert "delete it" in found[path].by_hand.lower()
    with alive.open("wb") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        async with patient.library() as library:
            await store_memory(library, Draft("key", "content"))
    assert (left.exists(), alive.exists()) == (False, True)
    assert all(path.exists() for path in others)


async def test_copies_of_zeroclaws_own_are_named(make_patient) -> None:
    patient = make_patient("G4")
    backup = patient.database.with_name("brain.db.backup-20260301T101010")
    shutil.copy(patient.database, backup)
    report = await patient.report()
    found = {finding.id: finding for finding in report.findings}
    assert found["leftover:brain.db.backup-20260301T101010"].repair == "remove leftover"


async def test_a_second_database_is_named(make_patient) -> None:
    patient = make_patient("G4")
    other = patient.folder / "workspace" / "memory" / "brain.db"
    other.parent.mkdir(parents=True)
    small_store.make(other, "G2", [])
    finding = await patient.finding("two-databases")
    assert finding.risk == "worth knowing"
    assert finding.target == str(other)


async def test_a_log_left_behind_by_the_move_is_serious_and_told_by_hand(make_patient) -> None:
    patient = make_patient("G4")
    moved = patient.folder / "agents" / "default" / "workspace" / "memory" / "brain.db-wal"
    moved.parent.mkdir(parents=True)
    moved.write_bytes(b"frames")
    finding = await patient.finding("split-log")
    assert (finding.risk, finding.repair) == ("serious", None)
    assert finding.target == str(moved)
    assert "Keep the log" in finding.by_hand


async def test_a_log_nobody_has_open_is_folded_in(make_patient) -> None:
    patient = make_patient()
    log = leave_log(patient.database)
    before = patient.rows()
    leave_log(patient.database)
    finding = await patient.finding("log-size")
    assert (finding.risk, finding.repair) == ("worth knowing", "fold in write-ahead log")
    await patient.repair("log-size")
    assert not log.exists() or log.stat().st_size == 0
    assert patient.rows() == before
    assert before[0][3] == "only in the log"
    assert (await patient.finding("log-size")).risk == "fine"


async def test_a_database_others_may_read_is_told(make_patient, tmp_path: Path) -> None:
    patient = make_patient()
    patient.database.chmod(0o644)
    folders = [tmp_path, *tmp_path.parents]
    closed = next((folder for folder in folders if not folder.stat().st_mode & 0o011), None)
    assert closed is not None, "the test's own folder keeps others out"
    assert (await patient.finding("permissions")).risk == "fine"
    modes = {folder: folder.stat().st_mode for folder in folders if not folder.stat().st_mode & 0o011}
    try:
        for folder in modes:
            folder.chmod(0o711)
        finding = await patient.finding("permissions")
        assert finding.risk == "worth knowing"
        assert f"chmod 600 {patient.database}" in finding.by_hand
        patient.database.chmod(0o600)
        assert (await patient.finding("permissions")).risk == "fine"
    finally:
        for folder, mode in modes.items():
            folder.chmod(mode & 0o7777)


async def not_open(patient) -> object:
    report = await examine(patient.config, None)
    assert not report.is_healthy
    return next(finding for finding in report.findings if finding.id == "not-open")


async def test_a_store_that_does_not_open_says_why_and_what_is_left(make_patient) -> None:
    patient = make_patient()
    patient.database.write_bytes(b"this is no database at all" * 100)
    finding = await not_open(patient)
    assert "is not a SQLite database" in finding.title
    assert "hydrate" not in finding.by_hand
    (patient.folder / "workspace" / "MEMORY_SNAPSHOT.md").write_text("# snapshot\n")
    shutil.copy(patient.database, patient.database.with_name("brain.db.backup-20260301T101010"))
    finding = await not_open(patient)
    assert "zeroclaw memory hydrate" in finding.by_hand
    assert [name for name, _ in finding.details] == ["backup", "snapshot"]


async def test_an_empty_database_beside_its_log_is_not_touched(make_patient) -> None:
    patient = make_patient()
    log = leave_log(patient.database)
    size = log.stat().st_size
    patient.database.write_bytes(b"")
    finding = await not_open(patient)
    assert "is empty, but brain.db-wal next to it holds writes" in finding.title
    assert log.stat().st_size == size


async def test_markdown_and_none_are_examined_as_far_as_that_goes(tmp_path: Path) -> None:
    root = tmp_path / "zc" / "workspace"
    root.mkdir(parents=True)
    (root / "MEMORY.md").write_text("# Long-Term Memory\n\n- **lang**: Rust\n")
    for backend in ("markdown", "none"):
        (tmp_path / "zc" / "config.toml").write_text(f'default_temperature = 0.7\n[memory]\nbackend = "{backend}"\n')
        config = configs_for(OpenOptions(config_dir=tmp_path / "zc"), {"HOME": str(tmp_path)})[0]
        async with opened_at(config) as library:
            report = await examine(config, library, deep=True)
        assert report.is_healthy
        assert "store" in {finding.id for finding in report.findings}
        assert report.notes


async def test_markdown_that_cannot_be_read_is_serious(tmp_path: Path) -> None:
    root = tmp_path / "zc" / "workspace"
    (root / "memory").mkdir(parents=True)
    (root / "MEMORY.md").write_bytes(b"- \xff\xfe no text\n")
    (tmp_path / "zc" / "config.toml").write_text('default_temperature = 0.7\n[memory]\nbackend = "markdown"\n')
    config = configs_for(OpenOptions(config_dir=tmp_path / "zc"), {"HOME": str(tmp_path)})[0]
    async with opened_at(config) as library:
        report = await examine(config, library)
    assert not report.is_healthy
    assert "MEMORY.md" in report.findings[0].title
