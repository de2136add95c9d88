"""Repairs of a store, compacting, and the backup that is made first."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal

from zeroclaw_tui.backends.cancellation import CancellableTask, read_in_thread
from zeroclaw_tui.backends.factory import create_memory, has_database
from zeroclaw_tui.backends.health import Repair
from zeroclaw_tui.backends.lookup import require_database
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.files.database import wal_file, why_not_writable
from zeroclaw_tui.files.disk import (
    FULL,
    MAKE_ROOM,
    file_size,
    make_folder,
    names_in,
    remove_stale_temp_files,
    sync_folder,
    work_folder,
)
from zeroclaw_tui.files.whole_database import (
    copy_database,
    describe_processes,
    free_bytes,
    processes_using,
    remove_database,
    require_exclusive,
)
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, DiskFull, Refused, Unreadable
from zeroclaw_tui.memory.text import counted, one_line, size_shown

RepairName = Repair | Literal["compact", "fill vectors"]

_BACKUP_STEP = "Create a backup of the whole database."
REPAIR_STEPS: Mapping[RepairName, tuple[str, ...]] = {
    "rebuild keyword index": (
        _BACKUP_STEP,
        "Restore ZeroClaw's index and triggers, and rebuild the index from the memories, in one transaction. If a page "
        "of the index is damaged, no other program may have the database open.",
    ),
    "repair hydrated database": (
        _BACKUP_STEP,
        "Add what ZeroClaw's own tables have and these lack, and rebuild the keyword index, all in one transaction.",
    ),
    "fold in write-ahead log": (
        _BACKUP_STEP,
        "Write the log back into the database and truncate it. No other program may have the database open.",
    ),
    "compact": (
        _BACKUP_STEP,
        "Rewrite the database without its free pages. No other program may have it open.",
        "Rebuild the keyword index, and compare every memory with the backup.",
    ),
    "fill vectors": (
        _BACKUP_STEP,
        "Create the embeddings with the configured model, in small batches. You can stop and continue at any time.",
    ),
}

MAX_BACKUPS = 5
_FOLDER = "backups"
_SUFFIX = ".db"


@dataclass(frozen=True, slots=True)
class RepairOutcome:
    """What a repair did, in sentences, and the backup of the database before it."""

    done: tuple[str, ...]
    backup: Path | None

    def sentences(self) -> tuple[str, ...]:
        return tuple(map(one_line, self.done)) or ("Nothing to do.",)

    def backup_sentence(self) -> str:
        """The path of the backup; "" without one."""
        return f"The backup is {self.backup}." if self.backup is not None else ""

    def as_json(self) -> dict[str, Any]:
        return {"done": list(self.done), "backup": None if self.backup is None else str(self.backup)}


@dataclass(frozen=True, slots=True)
class CompactPlan:
    """`size` of the database with its log and `free` of it, in bytes; `open_in` names the programs that have it open,
    as far as the system tells."""

    database: Path
    size: int
    free: int
    open_in: str

    def as_json(self) -> dict[str, Any]:
        return {"location": str(self.database), "before": self.size, "free": self.free, "open_in": self.open_in}

    def sentences(self) -> Iterator[str]:
        size, free = size_shown(self.size), size_shown(self.free)
        yield f"{one_line(str(self.database))} is {size}, of which {free} are free."
        yield "A backup is created first. Then the file is rewritten, and every memory is compared with the backup."
        if self.open_in:
            yield f"It is open in {self.open_in}. Close it there first."


async def plan_compact(config: MemoryConfig) -> CompactPlan:
    """Measure the database. Raises Refused if the backend has none, and the errors of opening it."""
    _require_database_file(config)
    path = config.database
    free = await read_in_thread(path, free_bytes)
    processes = await asyncio.to_thread(processes_using, path)
    return CompactPlan(path, file_size(path) + file_size(wal_file(path)), free, describe_processes(processes or ()))


async def compact(config: MemoryConfig, now: datetime) -> RepairOutcome:
    """Make a backup, rewrite the database without free pages, and rebuild the keyword index.

    The caller has closed its own connections. Raises Locked, naming the other programs that have the database open.
    """
    await asyncio.to_thread(require_writable, config)
    before = (await plan_compact(config)).size
    await asyncio.to_thread(require_exclusive, config.database)
    backup = await back_up(config, now)
    memories = await require_database(create_memory(config)).compact()
    sizes = f"{size_shown((await plan_compact(config)).size)} now, {size_shown(before)} before"
    return RepairOutcome((f"The database has {sizes}. Its {counted(memories)} are unchanged.",), backup)


def _require_database_file(config: MemoryConfig) -> None:
    if not has_database(config.backend):
        raise Refused(f"The {config.backend} backend has no database file here.", hint="Nothing was changed.")


def require_writable(config: MemoryConfig) -> None:
    """Raise Refused where there is no database file, or it cannot be written."""
    _require_database_file(config)
    reason = ASKED_READ_ONLY if config.read_only else why_not_writable(config.database)
    if reason is not None:
        raise Refused(reason, hint="Nothing was changed.")


async def back_up(config: MemoryConfig, now: datetime) -> Path:
    """Copy the whole database, log included, to `<own dir>/backups/` with mode 0600, and delete all but five backups.

    Raises Unreadable if there is no room.
    """
    task = CancellableTask()
    return await task.run(partial(_write_backup, config, now, task))


def backups_of(config: MemoryConfig) -> list[Path]:
    """The backups of the config's database, the newest first."""
    folder, database = config.install.own_dir / _FOLDER, config.database.name
    names = [name for name in names_in(folder) if name.startswith(f"{database}.") and name.endswith(_SUFFIX)]
    return [folder / name for name in sorted(names, reverse=True) if name != database]


def _write_backup(config: MemoryConfig, now: datetime, task: CancellableTask) -> Path:
    folder = config.install.own_dir / _FOLDER
    try:
        make_folder(folder)
        remove_stale_temp_files(folder)
        target = folder / f"{config.database.name}.{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}{_SUFFIX}"
        with work_folder(target) as temp_folder:
            copy = temp_folder / target.name
            copy_database(config.database, copy, task.check)
            os.rename(copy, target)
        sync_folder(folder)
    except OSError as error:
        if error.errno in FULL:
            raise DiskFull(f"Cannot create a backup in {folder}: the disk is full.", hint=MAKE_ROOM) from error
        message = f"Cannot create a backup in {folder}: {error.strerror}."
        raise Unreadable(message, hint="Check its permissions.") from error
    # After a clock change, the new backup can look like the oldest; it stays.
    for old in [backup for backup in backups_of(config) if backup != target][MAX_BACKUPS - 1 :]:
        remove_database(old)
    return target
