"""Repairs of what the doctor found, compacting, and the backup of the database that comes first."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.cancellation import Stoppable
from zeroclaw_tui.backends.factory import create_memory, has_database
from zeroclaw_tui.backends.health import Repair
from zeroclaw_tui.config.locations import file_size, names_in
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.config.whole_file import (
    FULL,
    MAKE_ROOM,
    make_folder,
    remove_abandoned,
    remove_left_over,
    sync_folder,
    work_folder,
)
from zeroclaw_tui.curation.changes import Outcome, carried_out, refuse_read_only
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.reindex import plan_reindex, reindex, zeros_words
from zeroclaw_tui.curation.side_files import FileVanished, remove_file
from zeroclaw_tui.files.database import Reading, wal_file, why_not_writable
from zeroclaw_tui.files.whole_database import (
    check_alone,
    copy_database,
    free_bytes,
    holders,
    named,
    remove_database,
)
from zeroclaw_tui.memory.change import Advance
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, DiskFull, Locked, NotThere, Refused, Unreadable
from zeroclaw_tui.memory.text import counted, one_line, size_shown

if TYPE_CHECKING:
    from zeroclaw_tui.curation.doctor.examination import DoctorFinding

FOLD: Repair = "fold in write-ahead log"
Done = tuple[str, ...]
KEPT = 5
_FOLDER = "backups"
_END = ".db"


def size(count: int) -> str:
    """Bytes as "37 bytes", "1.2 KB" or "310 MB"."""
    return counted(count, "byte") if count < 1000 else size_shown(count)


@dataclass(frozen=True, slots=True)
class CompactPlan:
    """`size` of the database with its log and `free` of it, in bytes. `open_in` names the programs that have it open,
    where that can be told; empty else."""

    database: Path
    size: int
    free: int
    open_in: str


async def plan_compact(config: MemoryConfig) -> CompactPlan:
    """Look at the database. Raises Refused where the backend has none, and what opening it raises."""
    _refuse_other_backends(config)
    path = config.database
    free = await Reading(path).run(free_bytes)
    found = await asyncio.to_thread(holders, path)
    return CompactPlan(path, file_size(path) + file_size(wal_file(path)), free, named(found or ()))


def _refuse_other_backends(config: MemoryConfig) -> None:
    """Raise Refused where memories are not in a database file here."""
    if not has_database(config.backend):
        raise Refused(f"The {config.backend} backend has no database file here.", hint="Nothing was changed.")


@dataclass(frozen=True, slots=True)
class Repaired:
    """What was done, in sentences, and where the backup lies."""

    done: Done
    backup: Path | None


async def repair_finding(
    config: MemoryConfig, library: Library | None, finding: DoctorFinding, now: datetime, advance: Advance | None = None
) -> Repaired:
    """Do the repair of a finding. Raises Refused where it has none or something changed, Locked, Unreadable.

    To compact, the library lets go of its connections and looks at the file anew afterwards.
    """
    if finding.repair is None or finding.repair == "join split log":
        raise Refused("This cannot be repaired here.", hint=finding.by_hand)
    if library is None:
        raise Refused("The store is not open, so nothing can be repaired in it.", hint=finding.by_hand)
    if finding.repair == "remove leftover":
        return await _remove_leftover(library, finding)
    if finding.repair == "remove unfinished":
        return await asyncio.to_thread(_remove_unfinished, library, Path(finding.target))
    if finding.repair == "make payload indexes":
        return await _make_indexes(library)
    _refuse_unwritable(config)
    if finding.repair == "compact":
        async with library.memory.without_connections():
            return await compact(config, now)
    if finding.repair == "fill vectors":
        return await _fill_vectors(config, library, now, advance)
    backup = await back_up(config, now)
    mended = await library.memory.repair(finding.repair)
    done: Done = ()
    match finding.repair:
        case "rebuild keyword index":
            done = ("The keyword index was built anew, with ZeroClaw's own triggers.",)
        case "repair hydrated database":
            done = ("The database has ZeroClaw's own tables, indexes and triggers now; every memory is as it was.",)
        case "name unknown agents":
            done = tuple(f"Added the agent {one_line(name)}." for name in mended.agents)
        case "fold in write-ahead log":
            done = (f"{size(mended.log_bytes)} of log were folded into the database.",)
    if finding.repair != FOLD:
        # What a repair wrote belongs into the file, since ZeroClaw's move to 0.8 leaves a log behind; another program
        # that has it open does that itself.
        with suppress(Locked):
            await library.memory.repair(FOLD)
    return Repaired(done, backup)


async def compact(config: MemoryConfig, now: datetime, tell: Callable[[str], None] | None = None) -> Repaired:
    """Backup, VACUUM, rebuild of the keyword index, only when no other process has the database open.

    The caller has closed its own connections. Raises Locked naming who has it open where that can be told.
    """
    _refuse_unwritable(config)
    say = tell or (lambda sentence: None)
    before = (await plan_compact(config)).size
    await asyncio.to_thread(check_alone, config.database)
    say("Making a backup")
    backup = await back_up(config, now)
    say("Writing the database anew")
    found = await create_memory(config).compact()
    done = [
        f"The database has {size(found.after)} now, {size(before)} before; "
        f"each of its {counted(found.memories)} is as it was."
    ]
    if found.index_changed:
        done.append("The keyword index had fallen behind and finds other words now.")
    return Repaired(tuple(done), backup)


async def _make_indexes(library: Library) -> Repaired:
    refuse_read_only(library)
    made = await library.memory.repair("make payload indexes")
    if not made.indexes:
        return Repaired(("The indexes are there by now.",), None)
    fields = ", ".join(made.indexes)
    if made.goes_on:
        return Repaired((f"{library.memory.name} is making the indexes on {fields}, and goes on by itself.",), None)
    return Repaired((f"There is an index on {fields} now.",), None)


async def _fill_vectors(config: MemoryConfig, library: Library, now: datetime, advance: Advance | None) -> Repaired:
    plan = await plan_reindex(library)
    backup = await back_up(config, now)
    done = await reindex(library, plan, advance=advance)
    sentences = [f"{counted(done.filled)} of {plan.count:,} got a vector."]
    if done.left:
        sentences.append(f"{counted(done.left)} changed meanwhile and stayed as they are.")
    if done.zeros:
        sentences.append(zeros_words(done.zeros))
    if done.stopped:
        sentences.append("It was stopped; doing it again goes on.")
    return Repaired((*sentences, *done.failed), backup)


async def _remove_leftover(library: Library, finding: DoctorFinding) -> Repaired:
    path = Path(finding.target)

    async def work(action: int, going: Advance) -> Outcome:
        remove_file(path, library.trash.keeper(action))
        return Outcome("clean", 1)

    try:
        await carried_out(library, "clean", f"removed {one_line(path.name)}", work)
    except FileVanished:
        raise NotThere(f"{path} is no longer there.", hint="Examine again.") from None
    return Repaired((f"{path.name} is in the trash; undo brings it back.",), None)


def _remove_unfinished(library: Library, path: Path) -> Repaired:
    refuse_read_only(library)
    try:
        removed = remove_abandoned(path)
    except FileNotFoundError:
        raise NotThere(f"{path} is no longer there.", hint="Examine again.") from None
    except OSError as error:
        raise Refused(f"{path} cannot be removed: {error.strerror}.", hint="Check its permissions.") from error
    if not removed:
        raise Refused(f"{path} is being written by another run of this program.", hint="Try again when it is done.")
    return Repaired((f"{one_line(path.name)} was removed.",), None)


def _refuse_unwritable(config: MemoryConfig) -> None:
    _refuse_other_backends(config)
    if config.read_only:
        raise Refused(ASKED_READ_ONLY, hint="Nothing was changed.")
    because = why_not_writable(config.database)
    if because is not None:
        raise Refused(because, hint="Nothing was changed.")


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
        target = _free_name(folder, config.database.name, now)
        with work_folder(target) as room:
            made = room / target.name
            copy_database(config.database, made, stoppable.check)
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


def _free_name(folder: Path, name: str, now: datetime) -> Path:
    at = now.astimezone(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    number, target = 1, folder / f"{name}.{at}{_END}"
    while target.exists():
        number += 1
        target = folder / f"{name}.{at}_{number}{_END}"
    return target


def _folder(config: MemoryConfig) -> Path:
    return config.install.own_dir / _FOLDER
