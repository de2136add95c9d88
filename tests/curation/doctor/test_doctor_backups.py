"""Backups before repairs: whole, private, the last five."""

from __future__ import annotations

import re
import shutil
import sqlite3
from contextlib import closing
from datetime import timedelta
from types import SimpleNamespace

import pytest
from support.patient import NOW

from zeroclaw_tui.curation.repairs import back_up, backups_of
from zeroclaw_tui.memory.errors import Unreadable


async def test_what_lies_only_in_the_log_is_in_the_backup(make_patient) -> None:
    patient = make_patient()
    with closing(sqlite3.connect(patient.database, isolation_level=None)) as writer:
        writer.execute("PRAGMA wal_autocheckpoint = 0")
        writer.execute("UPDATE memories SET content = 'only in the log' WHERE rowid = 1")
        backup = await back_up(patient.config, NOW)
        writer.execute("UPDATE memories SET content = 'later' WHERE rowid = 1")
    with closing(sqlite3.connect(backup)) as connection:
        content = connection.execute("SELECT content FROM memories WHERE rowid = 1").fetchone()[0]
    assert content == "only in the log"
    assert backup.name.startswith("brain.db.2026")
    assert backup.stat().st_mode & 0o777 == 0o600
    assert backup.parent.stat().st_mode & 0o777 == 0o700


async def test_the_last_five_stay(make_patient) -> None:
    patient = make_patient()
    made = [await back_up(patient.config, NOW + timedelta(minutes=at)) for at in range(7)]
    assert backups_of(patient.config) == made[:1:-1]
    assert sorted(path.name for path in made[0].parent.iterdir()) == [path.name for path in made[2:]]
    clock_put_back = await back_up(patient.config, NOW - timedelta(days=1))
    assert backups_of(patient.config) == [*made[:2:-1], clock_put_back]


async def test_no_room_is_said_and_nothing_is_left(make_patient, monkeypatch: pytest.MonkeyPatch) -> None:
    patient = make_patient()
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    backups = patient.folder / "zeroclaw-tui" / "backups"
    with pytest.raises(Unreadable, match=f"There is no room in {re.escape(str(backups))}: "):
        await back_up(patient.config, NOW)
    assert list(backups.iterdir()) == []


async def test_a_database_that_cannot_be_read_gets_no_backup(make_patient) -> None:
    patient = make_patient()
    patient.database.write_bytes(b"no database" * 1000)
    with pytest.raises(Unreadable):
        await back_up(patient.config, NOW)
    assert list((patient.folder / "zeroclaw-tui" / "backups").iterdir()) == []
