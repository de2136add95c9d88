"""Repairs, each after a backup of the database."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TypeVar

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.backends.sqlite.upkeep.alone import check_alone
from zeroclaw_tui.backends.sqlite.upkeep.compacting import compact_database
from zeroclaw_tui.backends.sqlite.upkeep.folding import fold_log
from zeroclaw_tui.backends.sqlite.upkeep.mending import name_unknown_agents, repair_hydrated
from zeroclaw_tui.backends.sqlite.upkeep.stoppable import Stoppable
from zeroclaw_tui.backends.sqlite.writable import WritableSqlite
from zeroclaw_tui.backends.sqlite.writing import Writing, why_not_writable
from zeroclaw_tui.config.document.replacing import remove_abandoned
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.changing import Outcome, carried_out, refuse_read_only
from zeroclaw_tui.curation.doctor.backups import back_up
from zeroclaw_tui.curation.doctor.compact_plan import CompactPlan, plan_compact, refuse_other_backends
from zeroclaw_tui.curation.doctor.finding import DoctorFinding
from zeroclaw_tui.curation.doctor.words import counted, size
from zeroclaw_tui.curation.files.doing import FileVanished, remove_file
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.reindex import plan_reindex, reindex, zeros_words
from zeroclaw_tui.memory.change import Advance
from zeroclaw_tui.memory.errors import ASKED_READ_ONLY, Locked, NotThere, Refused
from zeroclaw_tui.memory.text import one_line

__all__ = ["CompactPlan", "Repaired", "back_up", "compact", "plan_compact", "repair_finding"]

Answer = TypeVar("Answer")
Done = tuple[str, ...]


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
    _refuse_unwritable(config)
    if finding.repair == "compact":
        async with AsyncExitStack() as stack:
            if isinstance(library.memory, SqliteMemory):
                await stack.enter_async_context(library.memory.without_connections())
            return await compact(config, now)
    if finding.repair == "fill vectors":
        return await _fill_vectors(config, library, now, advance)
    memory = _database(library)
    backup = await back_up(config, now)
    match finding.repair:
        case "rebuild keyword index":
            await memory.repair()
            done: Done = ("The keyword index was built anew, with ZeroClaw's own triggers.",)
        case "repair hydrated database":
            await _written(memory, repair_hydrated)
            done = ("The database has ZeroClaw's own tables, indexes and triggers now; every memory is as it was.",)
        case "name unknown agents":
            names = await _written(memory, name_unknown_agents)
            done = tuple(f"Added the agent {one_line(name)}." for name in names)
        case "fold in write-ahead log":
            done = (f"{size(await _written(memory, fold_log))} of log were folded into the database.",)
    await memory.open_anew()
    if finding.repair != "fold in write-ahead log":
        # What a repair wrote belongs into the file, since ZeroClaw's move to 0.8 leaves a log behind; another program
        # that has it open does that itself.
        with suppress(Locked):
            await _written(memory, fold_log)
    return Repaired(done, backup)


async def compact(config: MemoryConfig, now: datetime, tell: Callable[[str], None] | None = None) -> Repaired:
    """Backup, VACUUM, rebuild of the keyword index, only when no other process has the database open.

    The caller has closed its own connections. Raises Locked naming who has it open where that can be told.
    """
    _refuse_unwritable(config)
    say = tell or (lambda sentence: None)
    before = (await plan_compact(config)).size
    stoppable = Stoppable()
    await stoppable.run(partial(check_alone, config.database))
    say("Making a backup")
    backup = await back_up(config, now)
    say("Writing the database anew")
    found = await stoppable.run(partial(compact_database, config.database, stoppable))
    done = [
        f"The database has {size(found.after)} now, {size(before)} before; "
        f"each of its {counted(found.memories)} is as it was."
    ]
    if found.index_changed:
        done.append("The keyword index had fallen behind and finds other words now.")
    return Repaired(tuple(done), backup)


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


async def _written(memory: WritableSqlite, work: Callable[[Writing], Answer]) -> Answer:
    """Repairs write also where the store is read-only for what they repair."""
    return await Writing(memory.path, memory.schema).run(work)


def _database(library: Library) -> WritableSqlite:
    if not isinstance(library.memory, WritableSqlite):
        raise Refused(f"The {library.memory.name} store has no database to repair.")
    return library.memory


def _refuse_unwritable(config: MemoryConfig) -> None:
    refuse_other_backends(config)
    if config.read_only:
        raise Refused(ASKED_READ_ONLY, hint="Nothing was changed.")
    because = why_not_writable(config.database)
    if because is not None:
        raise Refused(because, hint="Nothing was changed.")
