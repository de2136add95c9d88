"""The doctor: check a store and its files for problems (read-only), and repair them after a backup."""

from __future__ import annotations

import asyncio
import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.cancellation import CancellableTask, read_in_thread
from zeroclaw_tui.backends.factory import create_memory, known_backend
from zeroclaw_tui.backends.health import Health, Pages, Repair
from zeroclaw_tui.backends.lookup import require_database
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.formats.snapshot import NAME as SNAPSHOT
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.files import database as sqlite
from zeroclaw_tui.files.disk import MAKE_ROOM, file_size, make_folder, names_in, sync_folder, work_folder
from zeroclaw_tui.memory.errors import (
    ASKED_READ_ONLY,
    BeforeFirstStart,
    DiskFull,
    InspectorError,
    Locked,
    Refused,
    Unreadable,
)
from zeroclaw_tui.memory.text import are, counted, mask_secrets, one_line, size_shown

Risk = Literal["serious", "worth knowing", "fine"]

GLYPHS: Mapping[Risk, str] = {"serious": "✗", "worth knowing": "!", "fine": "✓"}
RISKS = tuple(GLYPHS)
_LARGE_LOG = 64 * 1024 * 1024
_MUCH_FREE_BYTES = 1024 * 1024
_MUCH_FREE_SHARE = 0.25
_HYDRATED = "ZeroClaw's hydration made this database, and no ZeroClaw version can open it."
_REINDEX = "`zeroclaw memory reindex` shows what is sent where, and creates them."
_INDEX_FOLLOWS = "Keyword recall misses memories that the index lacks, and so does the agent."
RepairName = Repair | Literal["compact", "fill vectors"]
_BACKUP_STEP = "Create a backup of the whole database."
REPAIR_STEPS: Mapping[RepairName, tuple[str, ...]] = {
    "rebuild keyword index": (
        "Restore ZeroClaw's index and triggers, and rebuild the index from the memories, in one transaction. If a page "
        "of the index is damaged, no other program may have the database open.",
    ),
    "repair hydrated database": (
        "Add what ZeroClaw's own tables have and these lack, and rebuild the keyword index, all in one transaction.",
    ),
    "fold in write-ahead log": (
        "Write the log back into the database and truncate it. No other program may have the database open.",
    ),
    "compact": (
        "Rewrite the database without its free pages. No other program may have it open.",
        "Rebuild the keyword index, and compare every memory with the backup.",
    ),
    "fill vectors": (
        "Create the embeddings with the configured model, in small batches. You can stop and continue at any time.",
    ),
}
"""The steps of each repair after the backup."""

MAX_BACKUPS = 5
_FOLDER = "backups"
_SUFFIX = ".db"


class DoctorFinding(NamedTuple):
    """One result of a check; `by_hand` says what the user can do if this program cannot, `target` is the file."""

    id: str
    title: str
    risk: Risk = "worth knowing"
    risk_sentence: str = ""
    repair: RepairName | None = None
    by_hand: str = ""
    target: str = ""

    @property
    def repair_steps(self) -> tuple[str, ...]:
        return () if self.repair is None else (_BACKUP_STEP, *REPAIR_STEPS[self.repair])

    def as_json(self) -> dict[str, Any]:
        names = ("id", "title", "risk", "risk_sentence", "repair", "repair_steps", "by_hand", "target")
        document = {name: getattr(self, name) for name in names}
        masked = {name: mask_secrets(document[name]) for name in ("title", "by_hand", "target")}
        return {**document, **masked, "repair_steps": list(self.repair_steps)}


def fine(id: str, title: str, *, target: str = "") -> DoctorFinding:
    """The finding of a check that found no problem."""
    return DoctorFinding(id, title, "fine", target=target)


class DoctorReport(NamedTuple):
    """The findings, the serious ones first; "fine" findings show what was checked."""

    findings: tuple[DoctorFinding, ...]
    is_deep: bool
    notes: tuple[str, ...] = ()

    @property
    def is_healthy(self) -> bool:
        return all(finding.risk != "serious" for finding in self.findings)

    def headline(self) -> str:
        counts = Counter(finding.risk for finding in self.findings)
        if counts["serious"] or counts["worth knowing"]:
            return f"{', '.join(f'{counts[risk]:,} {risk}' for risk in RISKS if counts[risk])}."
        return f"No problems found: {are(counts['fine'], 'check')} fine." if counts["fine"] else "Nothing to check."

    def as_json(self) -> dict[str, Any]:
        findings = [finding.as_json() for finding in self.findings]
        return {"deep": self.is_deep, "healthy": self.is_healthy, "findings": findings, "notes": list(self.notes)}


async def examine(config: MemoryConfig, library: Library | None, *, deep: bool = False) -> DoctorReport:
    """Run every check; `library` is None if the store did not open. `deep` also checks all pages, on a copy."""
    notes: list[str] = []
    database = None if library is None else library.memory.upkeep.database
    pages, findings = None, list[DoctorFinding]()
    if deep and database is None:
        notes.append("Pages are only checked of a SQLite database that opens.")
    elif deep and database is not None:
        try:
            pages = await database.check_pages()
        except InspectorError as error:
            notes.append(f"The deep check could not be made: {error.message}")
    try:
        if library is None:
            await (await open_library(config)).close()
        elif (path := library.memory.about.path) is None:
            findings = _other_store(library.memory, await library.memory.health())
        else:
            holders = await asyncio.to_thread(sqlite.processes_using, path)
            checked = check_database(Database(library, await library.memory.health(), holders, pages))
            findings = [finding._replace(target=str(path)) for finding in checked]
    except InspectorError as error:
        # SQLite notices a damaged page only when its rows are read.
        findings = [await asyncio.to_thread(_not_open, config, error)]
    return DoctorReport(tuple(sorted(findings, key=lambda finding: RISKS.index(finding.risk))), deep, tuple(notes))


def _not_open(config: MemoryConfig, error: InspectorError) -> DoctorFinding:
    """Report the error, with every place from which the memories can be restored."""
    places = [] if isinstance(error, Locked) else [str(path) for path in backups_of(config) if path.is_file()]
    restore = [f"Backups: {', '.join(places)}."] if places else []
    if config.location is None and not isinstance(error, Locked) and (config.install.root / SNAPSHOT).is_file():
        restore.append(f"`zeroclaw memory hydrate` creates a database from {SNAPSHOT} with the core memories.")
    finding = fine("not-open", error.message, target=str(config.database))
    if isinstance(error, BeforeFirstStart) and not restore:
        return finding
    follows = "Neither this program nor ZeroClaw can read the memories."
    by_hand = " ".join(filter(None, [error.hint, *restore]))
    return finding._replace(risk="serious", risk_sentence=follows, by_hand=by_hand)


def _other_store(memory: Memory, health: Health) -> list[DoctorFinding]:
    """Report the health of a store without a database file."""
    if memory.about.keeps_nothing:
        return [fine("store", "Nothing is stored, so there is nothing to examine.")]
    location = memory.about.location
    findings = [
        DoctorFinding(f"store-{at}", one_line(each), target=location) for at, each in enumerate(health.findings, 1)
    ]
    if health.ok:
        title = f"The {memory.name} store answers and has {counted(health.facts.get('memories', 0))}."
        return [fine("store", title, target=location), *findings]
    by_hand = "Correct the file or its permissions."
    if not memory.about.is_line_based:
        findings.insert(0, fine("store", f"The {memory.name} store {health.summary}.", target=location))
        by_hand = "Check its server or program."
    follows = "ZeroClaw cannot read the memories until this is corrected."
    return [each._replace(risk="serious", risk_sentence=follows, by_hand=by_hand) for each in findings]


class Database(NamedTuple):
    """The input of the checks of a database."""

    library: Library
    health: Health
    holders: tuple[str, ...] | None
    """The other programs that have it open; None if the system does not say."""
    pages: Pages | None
    """The result of a deep check, if there was one."""

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.health.facts

    @property
    def is_hydrated(self) -> bool:
        return self.library.memory.about.not_opened_because is not None


def check_database(database: Database) -> Iterator[DoctorFinding]:
    """Yield the findings of all checks that apply to a database."""
    for check, finding in CHECKS:
        problem = check(database)
        if problem:
            finding = finding._replace(title=problem)
            if finding.repair == "fill vectors" and database.library.embedder is None:
                by_hand = f"{database.library.no_embedder_because} {finding.by_hand}"
                finding = finding._replace(repair=None, by_hand=by_hand)
            yield finding
        elif problem is not None:
            yield fine(finding.id, finding.title)


def _unknown_agents(database: Database) -> str | None:
    count = database.facts.get("of unknown agents")
    return None if count is None else f"{are(count)} owned by agents that do not exist." if count else ""


def _in_tables(fact: str) -> Callable[[Database], str | None]:
    """Make a check that reports a health fact about tables that ZeroClaw itself created."""
    return lambda database: None if database.is_hydrated else str(database.facts[fact] or "")


def _log_size(database: Database) -> str:
    log, others = database.facts["write-ahead log bytes"], database.holders
    if log > _LARGE_LOG:
        return f"The write-ahead log is large: {size_shown(log)}."
    if log and database.library.config.install.layout == "workspace" and others == ():
        return f"{size_shown(log)} of writes are only in the write-ahead log, and no program has it open."
    return ""


def _free_space(database: Database) -> str:
    size, free = database.facts["bytes"], database.facts["free bytes"]
    is_much = free > max(_MUCH_FREE_BYTES, _MUCH_FREE_SHARE * size)
    return f"{size_shown(free)} of the {size_shown(size)} of the database are free pages." if is_much else ""


def _triggers(database: Database) -> str | None:
    if database.is_hydrated or "keyword" in database.library.memory.why_not:
        return None
    return "" if database.facts["triggers"] else "The triggers that update the keyword index are missing."


def _vectors(database: Database) -> str | None:
    without, embedded = database.facts.get("not embedded", 0), database.facts.get("embedded", 0)
    if "vectors" in database.library.memory.why_not or (database.library.embedder is None and not embedded):
        return None
    return f"{are(without)} without a vector, {embedded:,} with one." if without else ""


def _vector_lengths(database: Database) -> str | None:
    lengths: Mapping[str, int] = database.facts.get("embedded by dimensions", {})
    expected, source = database.library.config.embedding.dimensions, "memory.embedding_dimensions"
    noted = str(database.facts.get("embedding identity", {}).get("embedding_dimensions", ""))
    if noted.isdecimal():
        expected, source = int(noted), "the store's own note"
    elif not database.library.config.embedding.is_on:
        # Nothing defines the expected length.
        return None
    if not lengths:
        return None
    wrong = sum(count for length, count in lengths.items() if int(length) != expected)
    verb = "has a vector" if wrong == 1 else "have vectors"
    return f"{counted(wrong)} {verb} of another length than {expected:,}, by {source}." if wrong else ""


def _vector_model(database: Database) -> str | None:
    noted: Mapping[str, str] = database.facts.get("embedding identity", {})
    embedding = database.library.config.embedding
    if not noted or not embedding.is_on:
        return None
    configured = {f"embedding_{name}": str(getattr(embedding, name)) for name in ("provider", "model", "dimensions")}
    other = [
        f"{name} {one_line(noted[name])}, configured: {value}"
        for name, value in configured.items()
        if noted.get(name, value) != value
    ]
    return f"The vectors come from another model than the configured one: {'; '.join(other)}." if other else ""


def _page_faults(database: Database) -> str | None:
    if database.pages is None:
        return None
    faults = database.pages.faults
    return f"SQLite finds {counted(len(faults), 'fault')} in the pages of the database: {faults[0]}." if faults else ""


def _index_words(database: Database) -> str | None:
    is_in_step = None if database.pages is None else database.pages.index_in_step
    return {None: None, True: "", False: "The keyword index does not contain the words of the memories."}[is_in_step]


CHECKS: Sequence[tuple[Callable[[Database], str | None], DoctorFinding]] = (
    (lambda database: _HYDRATED if database.is_hydrated else None, DoctorFinding(
        "hydrated", "", "serious",
        "The agent runs without its memory, or does not start. The memories themselves are intact.",
        "repair hydrated database",
    )),
    (_unknown_agents, DoctorFinding(
        "unknown-agents", "Every memory is owned by an agent that exists.", "serious",
        "No agent recalls them, and the database breaks its own rules when they are changed.",
        by_hand="Export them, delete them, and import them with `--agent NAME`.",
    )),
    (_log_size, DoctorFinding(
        "log-size", "The write-ahead log is small.", "worth knowing",
        "A copy of the database file alone lacks these writes, and so does ZeroClaw's move to 0.8.",
        "fold in write-ahead log",
    )),
    (_free_space, DoctorFinding(
        "free-space", "The database has few free pages.", "worth knowing",
        "Whoever gets the file may read deleted memories in these pages.", "compact",
    )),
    (_in_tables("shape"), DoctorFinding(
        "shape", "The tables are those of ZeroClaw.", "serious",
        "You can browse it here, but not change it.",
        by_hand="Export the memories, and import them into a store that ZeroClaw made.",
    )),
    (_in_tables("keyword index"), DoctorFinding(
        "keyword-index", "The keyword index contains every memory.", "serious",
        _INDEX_FOLLOWS,
        "rebuild keyword index",
    )),
    (_triggers, DoctorFinding(
        "triggers", "The triggers that update the keyword index exist.", "serious",
        "Keyword recall misses every memory stored from now on, and nothing can be changed here.",
        "rebuild keyword index",
    )),
    (_vectors, DoctorFinding(
        "vectors", "Every memory has a vector.", "worth knowing",
        "Vector recall never finds those without.", "fill vectors", _REINDEX,
    )),
    (_vector_lengths, DoctorFinding(
        "vector-lengths", "Every vector has the right length.", "serious",
        "ZeroClaw gives a vector of another length than the query's a score of 0, without a warning.", "fill vectors",
        _REINDEX,
    )),
    (_vector_model, DoctorFinding(
        "vector-model", "The vectors come from the configured model.", "worth knowing",
        "When ZeroClaw next opens the database it deletes all of them.",
        by_hand="Start ZeroClaw once, then run `zeroclaw memory reindex`; or set the model back.",
    )),
    (_page_faults, DoctorFinding(
        "pages", "Every page of the database is intact.", "serious",
        "Memories on damaged pages are lost or wrong, and the damage can grow with every write.",
        by_hand="Stop ZeroClaw, copy the database with its -wal file, and try `sqlite3 COPY .recover`, or restore a "
        "backup.",
    )),
    (_index_words, DoctorFinding(
        "index-words", "The keyword index contains exactly the words of the memories.", "serious",
        _INDEX_FOLLOWS, "rebuild keyword index",
    )),
)  # fmt: skip
"""Each check with its finding, titled for the case without a problem. A check returns the problem in a sentence, "" if
there is none, and None if it does not apply."""


# Repairs


class RepairOutcome(NamedTuple):
    """The result of a repair, and the backup made before it."""

    done: str
    backup: Path

    def sentences(self) -> tuple[str, str]:
        return self.done, f"The backup is {self.backup}."

    def as_json(self) -> dict[str, Any]:
        return {"done": [self.done], "backup": str(self.backup)}


async def repair_finding(
    config: MemoryConfig, library: Library | None, finding: DoctorFinding, now: datetime
) -> RepairOutcome:
    """Repair a finding; the library is disconnected during compaction. Raises Refused, Locked, Unreadable."""
    repair = finding.repair
    if repair is None:
        raise Refused("This cannot be repaired here.", hint=finding.by_hand)
    if library is None:
        raise Refused("The store is not open, so nothing can be repaired in it.", hint=finding.by_hand)
    if repair == "fill vectors":
        raise Refused("Creating vectors may send texts to a provider.", hint=_REINDEX)
    await asyncio.to_thread(require_writable, config)
    database = require_database(library.memory)
    if repair == "compact":
        async with database.disconnected():
            return await compact(config, now)
    backup = await back_up(config, now)
    await database.repair(repair)
    if repair == "fold in write-ahead log":
        return RepairOutcome("The write-ahead log was written into the database.", backup)
    # ZeroClaw's migration to 0.8 does not copy the log, so the repair has to be in the database file. If another
    # program has the database open, that program folds the log in.
    with suppress(Locked):
        await database.repair("fold in write-ahead log")
    return RepairOutcome("The database has ZeroClaw's own tables, index and triggers again.", backup)


class CompactPlan(NamedTuple):
    """The `size` of the database with its log, and its `free` part, in bytes; `open_in` names the programs that have
    it open, if the system says."""

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
    """Measure the database. Raises Refused if the backend has none, and the errors of opening one."""
    _require_database_file(config)
    path = config.database
    free = await read_in_thread(path, sqlite.free_bytes)
    processes = await asyncio.to_thread(sqlite.processes_using, path)
    return CompactPlan(path, file_size(path) + file_size(sqlite.wal_file(path)), free, ", ".join(processes or ()))


async def compact(config: MemoryConfig, now: datetime) -> RepairOutcome:
    """Back up and rewrite the database, which the caller has closed. Raises Locked, naming the program that uses it."""
    await asyncio.to_thread(require_writable, config)
    before = (await plan_compact(config)).size
    await asyncio.to_thread(sqlite.require_exclusive, config.database)
    backup = await back_up(config, now)
    memories = await require_database(create_memory(config)).compact()
    sizes = f"{size_shown((await plan_compact(config)).size)} now, {size_shown(before)} before"
    return RepairOutcome(f"The database has {sizes}. Its {counted(memories)} are unchanged.", backup)


def _require_database_file(config: MemoryConfig) -> None:
    if not known_backend(config.backend).has_database:
        raise Refused(f"The {config.backend} backend has no database file here.", hint="Nothing was changed.")


def require_writable(config: MemoryConfig) -> None:
    """Raise Refused if there is no database file, or it cannot be written."""
    _require_database_file(config)
    reason = ASKED_READ_ONLY if config.read_only else sqlite.why_not_writable(config.database)
    if reason is not None:
        raise Refused(reason, hint="Nothing was changed.")


async def back_up(config: MemoryConfig, now: datetime) -> Path:
    """Copy the database to `<own dir>/backups/` with mode 0600; the newest five stay. Raises DiskFull, Unreadable."""
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
        target = folder / f"{config.database.name}.{now.astimezone(UTC):%Y%m%dT%H%M%S.%fZ}{_SUFFIX}"
        with work_folder(target) as temp_folder:
            copy = temp_folder / target.name
            sqlite.check_room(config.database, copies=1, folder=folder)
            sqlite.copy_database(config.database, copy, task.check)
            os.rename(copy, target)
        sync_folder(folder)
    except (OSError, sqlite3.Error) as error:
        if sqlite.is_disk_full(folder, error):
            raise DiskFull(f"Cannot create a backup in {folder}: the disk is full.", hint=MAKE_ROOM) from error
        message = f"Cannot create a backup in {folder}: {getattr(error, 'strerror', None) or error}."
        raise Unreadable(message, hint="Check its permissions.") from error
    # After a clock change, the new backup can look like the oldest; it must stay.
    for old in [backup for backup in backups_of(config) if backup != target][MAX_BACKUPS - 1 :]:
        old.unlink(missing_ok=True)
    return target
