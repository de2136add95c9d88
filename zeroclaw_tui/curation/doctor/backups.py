"""Backups of the database that this program makes before a repair."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from zeroclaw_tui.backends.sqlite.upkeep.copying import copy_database, remove_database
from zeroclaw_tui.backends.sqlite.upkeep.stoppable import Stoppable
from zeroclaw_tui.config.document.replacing import (
    FULL,
    MAKE_ROOM,
    make_folder,
    remove_left_over,
    sync_folder,
    work_folder,
)
from zeroclaw_tui.config.layouts import names_in
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.memory.errors import DiskFull, Unreadable

KEPT = 5
_FOLDER = "backups"
_END = ".db"


async def back_up(config: MemoryConfig, now: datetime) -> Path:
    """A whole copy of the database (SQLite's backup API, so the log is in it), under `<own dir>/backups/`, 0600; the
    last five stay. Raises Unreadable when there is no room."""
    stoppable = Stoppable()
    return await stoppable.run(partial(_made, config, now, stoppable))


def backups_of(config: MemoryConfig) -> list[Path]:
    """The backups of this database, the newest first."""
    folder = _folder(config)
    beginning = f"{config.database.name}."
    names = [name for name in names_in(folder) if name.startswith(beginning) and name.endswith(_END)]
    return [folder / name for name in sorted(names, reverse=True) if name != config.database.name]


def _made(config: MemoryConfig, now: datetime, stoppable: Stoppable) -> Path:
    folder = _folder(config)
    try:
        make_folder(folder)
        remove_left_over(folder)
        target = _free(folder, config.database.name, now)
        with work_folder(target) as room:
            made = room / target.name
            copy_database(config.database, made, stoppable)
            os.rename(made, target)
        sync_folder(folder)
    except OSError as error:
        raise _no_backup(folder, error) from error
    # Never the one just made: a clock that was put back makes it look like the oldest.
    for old in [backup for backup in backups_of(config) if backup != target][KEPT - 1 :]:
        remove_database(old)
    return target


def _no_backup(folder: Path, error: OSError) -> Unreadable:
    if error.errno in FULL:
        return DiskFull(f"No backup can be made in {folder}: the disk is full.", hint=MAKE_ROOM)
    return Unreadable(f"No backup can be made in {folder}: {error.strerror}.", hint="Check its permissions.")


def _free(folder: Path, name: str, now: datetime) -> Path:
    at = now.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    number, target = 1, folder / f"{name}.{at}{_END}"
    while target.exists():
        number += 1
        target = folder / f"{name}.{at}_{number}{_END}"
    return target


def _folder(config: MemoryConfig) -> Path:
    return config.install.own_dir / _FOLDER
