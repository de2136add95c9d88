"""The trash of an earlier version is converted once, and its backup goes with the trash."""

from __future__ import annotations

import sqlite3
import stat
from contextlib import closing
from pathlib import Path

from trash_world import Clock

from zeroclaw_tui.config.locations import Install
from zeroclaw_tui.curation.journal import Trash
from zeroclaw_tui.curation.old_trash import BACKUP

DUMP = Path(__file__).parents[2] / "data" / "rmem" / "trash_0.2.0.sql"


async def test_an_old_trash_is_converted_and_its_backup_leaves_with_the_trash(install: Install, clock: Clock) -> None:
    install.own_dir.mkdir()
    trash = Trash(install, "rmem:rustmem.db", clock)
    with closing(sqlite3.connect(trash.file)) as connection:
        connection.executescript(DUMP.read_text())
    assert [(one.verb, one.count, one.open) for one in await trash.actions()] == [("edit", 1, 1), ("forget", 1, 1)]
    ((row,), _) = await trash.listing()
    assert row.row.entry().content == "Mila keeps bees on the roof"
    backup = install.own_dir / BACKUP
    assert stat.S_IMODE(backup.stat().st_mode) == 0o600
    assert await trash.empty() == 1
    assert not backup.exists()
