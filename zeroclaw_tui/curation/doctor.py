"""The doctor: check a store and its files for problems, and say what can be done. Checks only read."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import has_database
from zeroclaw_tui.backends.health import Health, Pages, StoreFacts
from zeroclaw_tui.backends.lookup import require_database
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.formats.snapshot import NAME as SNAPSHOT
from zeroclaw_tui.curation.leftovers import Leftover, find_leftovers
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.repairs import (
    REPAIR_STEPS,
    RepairName,
    RepairOutcome,
    backups_of,
    format_bytes,
    run_repair,
)
from zeroclaw_tui.curation.words import among_fact
from zeroclaw_tui.files.database import wal_file
from zeroclaw_tui.files.disk import file_size, names_in
from zeroclaw_tui.files.whole_database import describe_processes
from zeroclaw_tui.memory.change import ProgressCallback
from zeroclaw_tui.memory.errors import BeforeFirstStart, InspectorError, Locked, Refused
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import are, counted, mask_secrets, one_line

Risk = Literal["serious", "worth knowing", "fine"]
Details = tuple[tuple[str, str], ...]
Subject = TypeVar("Subject")

_RISK_ORDER: Mapping[Risk, int] = {"serious": 0, "worth knowing": 1, "fine": 2}
_LARGE_LOG = 64 * 1024 * 1024
_MUCH_FREE_BYTES = 1024 * 1024
_MUCH_FREE_SHARE = 0.25
_LITTLE_DISK_SPACE = 64 * 1024 * 1024
_REINDEX = "`zeroclaw memory reindex` makes vectors once an embedding provider is configured."


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One result of a check: a fact, its consequence, and what can be done about it.

    `repair_steps` say what the repair would do, `by_hand` what the user can do where this program cannot. `target` is
    the file concerned, `details` are further facts (name, value).
    """

    id: str
    title: str
    risk: Risk
    risk_sentence: str
    repair: RepairName | None = None
    repair_steps: tuple[str, ...] = ()
    by_hand: str = ""
    target: str = ""
    details: Details = ()

    def as_json(self) -> dict[str, Any]:
        """The finding as the command prints it, secrets masked."""
        return {
            "id": self.id,
            "title": mask_secrets(self.title),
            "risk": self.risk,
            "risk_sentence": self.risk_sentence,
            "repair": self.repair,
            "repair_steps": list(self.repair_steps),
            "by_hand": mask_secrets(self.by_hand),
            "target": mask_secrets(self.target),
            "details": [{"name": name, "value": mask_secrets(value)} for name, value in self.details],
        }


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """The findings, the serious ones first; "fine" ones show what was checked."""

    findings: tuple[DoctorFinding, ...]
    is_deep: bool
    notes: tuple[str, ...] = ()

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is serious."""
        return all(finding.risk != "serious" for finding in self.findings)

    def as_json(self) -> dict[str, Any]:
        """The report as the command prints it."""
        return {
            "deep": self.is_deep,
            "healthy": self.is_healthy,
            "findings": [finding.as_json() for finding in self.findings],
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True)
class Result:
    """What a check found. A field that is not None replaces the value of the check.

    `by_hand` also replaces the repair: what the user has to do is not repaired here.
    """

    title: str
    is_fine: bool = False
    target: str | Path | None = None
    details: Details = ()
    id: str | None = None
    risk: Risk | None = None
    follows: str | None = None
    by_hand: str | None = None


@dataclass(frozen=True, slots=True)
class Database:
    """What the checks of a database look at."""

    config: MemoryConfig
    library: Library
    store: StoreFacts

    @property
    def facts(self) -> Mapping[str, Any]:
        """What its health counts."""
        return self.store.health.facts


@dataclass(frozen=True, slots=True)
class Files:
    """What the checks of files look at. Only the trash of an open store takes removed files."""

    config: MemoryConfig
    is_open: bool


@dataclass(frozen=True, slots=True)
class Check(Generic[Subject]):
    """One check. `look` returns the title of a problem, results, or None: then there is a finding only if `fine` says
    what is fine. `follows` is the consequence of a problem."""

    id: str
    look: Callable[[Subject], str | Result | list[Result] | None]
    fine: str = ""
    follows: str = ""
    risk: Risk = "worth knowing"
    repair: RepairName | None = None
    by_hand: str = ""

    def findings(self, subject: Subject, target: str) -> Iterator[DoctorFinding]:
        """The findings about a subject; `target` is the file that most of them are about."""
        try:
            found = self.look(subject)
        except InspectorError as error:
            yield DoctorFinding(self.id, error.message, "worth knowing", "It was not checked.", by_hand=error.hint)
            return
        if found is None:
            found = [Result(self.fine, is_fine=True)] if self.fine else []
        for result in found if isinstance(found, list) else [Result(found) if isinstance(found, str) else found]:
            yield self._finding(result, target)

    def _finding(self, result: Result, target: str) -> DoctorFinding:
        finding = DoctorFinding(result.id or self.id, result.title, "fine", "", target=str(result.target or target),
                                details=result.details)  # fmt: skip
        if result.is_fine:
            return finding
        repair = self.repair if result.by_hand is None else None
        return replace(
            finding,
            risk=result.risk or self.risk,
            risk_sentence=self.follows if result.follows is None else result.follows,
            repair=repair,
            repair_steps=() if repair is None else REPAIR_STEPS[repair],
            by_hand=self.by_hand if result.by_hand is None else result.by_hand,
        )


async def examine(config: MemoryConfig, library: Library | None, *, deep: bool = False) -> DoctorReport:
    """Run every check that fits the backend, in threads. `library` is None if the store did not open.

    A `deep` examination also runs SQLite's and FTS5's integrity checks, on a copy of the database.
    """
    notes: list[str] = []
    findings = await _examine_store(config, library, notes)
    if deep:
        findings += await _examine_pages(library, notes)
    files = Files(config, is_open=library is not None)
    findings += await asyncio.to_thread(_run, FILE_CHECKS, files, "")
    return DoctorReport(tuple(sorted(findings, key=lambda finding: _RISK_ORDER[finding.risk])), deep, tuple(notes))


def _run(checks: Iterable[Check[Subject]], subject: Subject, target: str) -> list[DoctorFinding]:
    return [finding for check in checks for finding in check.findings(subject, target)]


async def _examine_store(config: MemoryConfig, library: Library | None, notes: list[str]) -> list[DoctorFinding]:
    try:
        if library is None:
            await (await open_library(config)).close()
            return []
        path, memory = library.memory.about.path, library.memory
        if path is None:
            return _other_store(memory, await memory.health())
        database = Database(config, library, await require_database(memory).examine())
        if hidden := await library.superseded_hidden(MemoryFilter()):
            notes.append(f"Counted is every memory, {among_fact(hidden)} and hidden from the agent.")
    except InspectorError as error:
        # A damaged page is noticed only when its rows are read.
        return [await asyncio.to_thread(_not_open, config, error)]
    findings = _run(DATABASE_CHECKS, database, str(path))
    if not database.store.is_hydrated:
        findings += _run(TABLE_CHECKS, database, str(path))
    if "vectors" not in memory.why_not:
        findings += _run(VECTOR_CHECKS, database, str(path))
    return findings


async def _examine_pages(library: Library | None, notes: list[str]) -> list[DoctorFinding]:
    if library is None:
        notes.append("The pages are only checked of a store that opens.")
    elif (database := library.memory.upkeep.database) is None:
        notes.append(f"There is nothing to check page by page in {library.memory.name}.")
    else:
        try:
            return _run(PAGE_CHECKS, await database.check_pages(), str(library.memory.about.path))
        except InspectorError as error:
            notes.append(f"The deep check could not be made: {error.message}")
    return []


async def repair_finding(
    config: MemoryConfig,
    library: Library | None,
    finding: DoctorFinding,
    now: datetime,
    on_progress: ProgressCallback | None = None,
) -> RepairOutcome:
    """Repair a finding. Raises Refused if it has no repair or something changed, Locked, Unreadable."""
    if finding.repair is None:
        raise Refused("This cannot be repaired here.", hint=finding.by_hand)
    if library is None:
        raise Refused("The store is not open, so nothing can be repaired in it.", hint=finding.by_hand)
    return await run_repair(config, library, finding.repair, finding.target, now, on_progress)


def _not_open(config: MemoryConfig, error: InspectorError) -> DoctorFinding:
    """The error, with every place from which the memories can be restored."""
    hints = [error.hint] if error.hint else []
    details: list[tuple[str, str]] = []
    if not isinstance(error, Locked):
        backups = [path for path in (*backups_of(config), *_old_databases(config)) if path.is_file()]
        details += [("backup", f"{backup} ({format_bytes(file_size(backup))})") for backup in backups]
        snapshot = config.install.root / SNAPSHOT
        if config.location is None and snapshot.is_file():
            details.append(("snapshot", str(snapshot)))
            hints.append(f"`zeroclaw memory hydrate` creates a database from {SNAPSHOT} with the core memories.")
    if isinstance(error, BeforeFirstStart) and not details:
        return DoctorFinding("not-open", error.message, "fine", "", target=str(config.database))
    follows, by_hand = "Neither this program nor ZeroClaw can read the memories.", " ".join(hints)
    return DoctorFinding("not-open", error.message, "serious", follows, by_hand=by_hand, target=str(config.database),
                         details=tuple(details))  # fmt: skip


def _other_store(memory: Memory, health: Health) -> list[DoctorFinding]:
    """What a store without a database file says about itself."""
    if memory.about.keeps_nothing:
        return [DoctorFinding("store", "Nothing is stored, so there is nothing to examine.", "fine", "")]
    finding = DoctorFinding("store", "", "fine", "", target=memory.about.location)
    sentences = [replace(finding, id=f"store-{at}", title=one_line(each)) for at, each in enumerate(health.findings, 1)]
    if health.ok:
        title = f"The {memory.name} store answers and has {counted(health.facts.get('memories', 0))}."
        return [replace(finding, title=title), *(replace(each, risk="worth knowing") for each in sentences)]
    follows, by_hand = "Neither ZeroClaw nor this program can read it.", "Correct the file or its permissions."
    return [replace(each, risk="serious", risk_sentence=follows, by_hand=by_hand) for each in sentences]


def _keyword_index(database: Database) -> str | None:
    missing = database.facts.get("not in the keyword index", 0)
    extra = database.facts.get("only in the keyword index", 0)
    if not database.store.has_keyword_index:
        return "There is no keyword index."
    if not database.store.is_keyword_index_readable:
        return "The keyword index is damaged."
    if missing:
        return f"{are(missing)} not in the keyword index."
    return f"The keyword index still contains {counted(extra)} that no longer exist." if extra else None


def _triggers(database: Database) -> str | list[Result] | None:
    if not database.store.has_keyword_index:
        return []
    return None if database.store.has_triggers else "The triggers that update the keyword index are missing."


def _agents(database: Database) -> str | list[Result] | None:
    unknown = database.facts.get("of unknown agents")
    if unknown is None:
        return []
    return f"{are(unknown)} owned by agents that do not exist." if unknown else None


def _superseded(database: Database) -> str | None:
    count = database.store.superseded_by_none
    return f"{are(count)} replaced by a memory that does not exist." if count else None


def _dates(database: Database) -> str | list[Result] | None:
    undated = database.facts.get("without a readable date")
    if undated is None:
        return []
    return f"{are(undated)} without a readable date." if undated else None


def _log_size(database: Database) -> str | Result:
    log = database.facts["write-ahead log bytes"]
    others = database.store.holders
    if log > _LARGE_LOG:
        return f"The write-ahead log is large: {format_bytes(log)}."
    if log and database.config.install.layout == "workspace" and others is not None and not others:
        return Result(
            f"{format_bytes(log)} of writes are only in the write-ahead log, and no program has it open.",
            follows="ZeroClaw's move to 0.8 takes the database without the log, so these writes would be lost.",
        )
    return Result(f"The write-ahead log is {format_bytes(log)}." if log else "The write-ahead log is empty.", True)


def _free_space(database: Database) -> str | Result:
    size, free = database.facts["bytes"], database.store.free_bytes
    if free > max(_MUCH_FREE_BYTES, _MUCH_FREE_SHARE * size):
        return f"{format_bytes(free)} of the {format_bytes(size)} of the database are free pages."
    share = f"{format_bytes(free)} of them" if free else "none of it"
    return Result(f"The database has {format_bytes(size)}, {share} free.", is_fine=True)


def _open_elsewhere(database: Database) -> list[Result] | Result:
    others = database.store.holders
    if others is None:
        return []
    programs = describe_processes(others)
    title = f"The database is open in {programs}; repairs wait for their turn."
    return Result(title if others else "No other program has the database open.", is_fine=True)


def _vectors(database: Database) -> Result:
    """How many memories have an embedding, by category."""
    store, embedded = database.store, database.facts.get("embedded", 0)
    by_category = tuple(
        (one_line(category) or "(none)", f"{with_vector:,} of {with_vector + without:,}")
        for category, (with_vector, without) in store.embedded.items()
    )
    if database.library.embedder is None and not embedded:
        title = "No embeddings are configured, and no memory has a vector, so recall uses keywords only."
        return Result(title, is_fine=True)
    if not store.without_vector:
        return Result("Every memory has a vector.", is_fine=True, details=by_category)
    title = f"{are(store.without_vector)} without a vector, {embedded:,} with one."
    return Result(title, details=by_category, by_hand=_reason_not_to_fill(database.library))


def _vector_lengths(database: Database) -> Result | list[Result]:
    library = database.library
    lengths: Mapping[str, int] = database.facts.get("embedded by dimensions", {})
    if not lengths:
        return []
    noted = str(database.facts.get("embedding identity", {}).get("embedding_dimensions", ""))
    if noted.isdecimal():
        expected, source = int(noted), "the store's own note"
    elif library.config.embedding.is_on:
        expected, source = library.config.embedding.dimensions, "memory.embedding_dimensions"
    else:
        expected, source = int(max(lengths, key=lambda length: lengths[length])), "most of them"
    wrong = [count for length, count in lengths.items() if int(length) != expected]
    if not wrong:
        return Result(f"Every vector has {expected:,} numbers.", is_fine=True)
    have = "has a vector" if sum(wrong) == 1 else "have vectors"
    by_length = tuple((f"{int(length):,} numbers", counted(count)) for length, count in lengths.items())
    return Result(
        f"{counted(sum(wrong))} {have} of another length than {expected:,}.",
        details=(("expected", f"{expected:,} numbers, by {source}"), *by_length),
        risk="serious" if len(wrong) == len(lengths) else None,
        by_hand=_reason_not_to_fill(library, expected),
    )


def _cut_vectors(database: Database) -> Result | None:
    cut = database.facts.get("cut vectors", 0)
    title = f"{are(cut)} embedded with a truncated vector."
    return Result(title, by_hand=_reason_not_to_fill(database.library)) if cut else None


def _vector_model(database: Database) -> Result | list[Result] | None:
    noted: Mapping[str, str] = database.facts.get("embedding identity", {})
    embedding = database.library.config.embedding
    if not noted or not embedding.is_on:
        return []
    configured = {
        "embedding_provider": embedding.provider,
        "embedding_model": embedding.model,
        "embedding_dimensions": str(embedding.dimensions),
    }
    details = tuple(
        (name, f"{one_line(noted[name])}, configured: {value}")
        for name, value in configured.items()
        if noted.get(name, value) != value
    )
    return Result("The vectors come from another model than the configured one.", details=details) if details else None


def _reason_not_to_fill(library: Library, expected: int | None = None) -> str | None:
    """Why embeddings of the expected length cannot be created now, and what to do; None if they can."""
    if library.embedder is None:
        reason = library.no_embedder_because or "No embeddings are configured."
    elif library.read_only_because is not None:
        reason = library.read_only_because
    elif expected is None or library.embedder.dimensions == expected:
        return None
    else:
        return (
            "The configured model makes vectors of another length than the store notes. Start ZeroClaw once: it "
            "deletes the old ones. Then run `zeroclaw memory reindex`."
        )
    return f"{reason[:1].upper()}{reason[1:]} {_REINDEX}"


def _pages(pages: Pages) -> Result | None:
    details = tuple((f"fault {number}", one_line(text)) for number, text in enumerate(pages.faults, 1))
    title = f"SQLite finds {counted(len(details), 'fault')} in the pages of the database."
    return Result(title, details=details) if details else None


def _index_words(pages: Pages) -> str | list[Result] | None:
    if pages.index_in_step is None:
        return []
    return None if pages.index_in_step else "The keyword index does not contain the words of the memories."


def _old_configs(files: Files) -> list[Result]:
    folder = files.config.install.config_dir
    if folder is None or files.config.location is not None:
        return []
    titles = {
        "config.toml.bak": "config.toml.bak was left by a save that did not finish, or by an update of the config.",
        "config.toml.backup": "config.toml.backup is the config before ZeroClaw updated it.",
    }
    return [_leftover(files, titles[name], folder / name) for name in names_in(folder) if name in titles]


def _copied_databases(files: Files) -> list[Result]:
    of_zeroclaw = "is ZeroClaw's copy of the database before it moved to 0.8."
    return [_leftover(files, f"{one_line(path.name)} {of_zeroclaw}", path) for path in _old_databases(files.config)]


def _old_databases(config: MemoryConfig) -> list[Path]:
    """The copies that ZeroClaw made of the database before it moved it."""
    if not has_database(config.backend):
        return []
    database = config.database
    names = names_in(database.parent)
    return [database.with_name(name) for name in names if name.startswith(f"{database.name}.backup-")]


def _leftover(files: Files, title: str, path: Path) -> Result:
    without_trash = "Delete it yourself when everything works. This program has no trash without an open store."
    size = ("size", format_bytes(file_size(path)))
    by_hand = None if files.is_open else without_trash
    return Result(title, target=path, details=(size,), id=f"leftover:{path.name}", by_hand=by_hand)


def _unfinished(files: Files) -> list[Result] | None:
    """Files that were never renamed to their target, and folders in which such files were written."""
    results = []
    for leftover in find_leftovers(files.config):
        path = leftover.path
        title, by_hand = _unfinished_text(leftover, is_open=files.is_open)
        size = sum(map(file_size, path.iterdir())) if path.is_dir() else file_size(path)
        details = (("folder", str(path.parent)), ("size", format_bytes(size)))
        results.append(Result(title, target=path, details=details, id=f"unfinished:{path.name}", by_hand=by_hand))
    return results or None


def _unfinished_text(leftover: Leftover, *, is_open: bool) -> tuple[str, str | None]:
    """What a leftover is, and what the user can do if it is not repaired here."""
    name = one_line(leftover.path.name)
    if leftover.writer == "zeroclaw":
        return f"{name} was left by a save of ZeroClaw that did not finish.", "Delete it when ZeroClaw is not running."
    if leftover.writer == "unknown":
        by_hand = "Check that no program is writing it, then look at it and delete it if you do not need it."
        return f"{name} looks like the file of a save that did not finish.", by_hand
    if leftover.is_abandoned:
        by_hand = "The next command that changes something removes it."
        return f"{name} was left by a command of this program that was killed.", None if is_open else by_hand
    by_hand = "Delete it when no command of this program is running."
    return f"{name} is a file of this program that may still be written.", by_hand


def _two_databases(files: Files) -> Result | None:
    config, install = files.config, files.config.install
    if config.location is not None:
        return None
    paths = [install.root / "memory" / "brain.db", install.root / "memory.db"]
    if install.config_dir is not None:
        paths += [install.config_dir / name / "memory" / "brain.db" for name in ("workspace", "data")]
    own = os.path.realpath(config.database) if has_database(config.backend) else ""
    others = {os.path.realpath(path): path for path in paths if path.is_file()}
    others.pop(own, None)
    if not others:
        return None
    used = f"{config.database} is the one in use" if own else f"the {config.backend} backend uses none"
    title = f"There is another database, {' and '.join(map(str, others.values()))}; {used}."
    return Result(title, target=next(iter(others.values())), details=_sizes((config.database, *others.values())))


def _split_log(files: Files) -> Result | None:
    """ZeroClaw's move to 0.8 moves brain.db and leaves brain.db-wal with the files of the default agent."""
    config, folder = files.config, files.config.install.config_dir
    if config.install.layout != "data" or folder is None or config.location is not None:
        return None
    moved = folder / "agents" / "default" / "workspace" / "memory" / "brain.db"
    copies = [folder / name / "legacy-workspace" / "memory" / "brain.db" for name in names_in(folder)]
    copies = [copy for copy in copies if copy.is_file() and file_size(wal_file(copy))]
    logs = [wal_file(path) for path in (moved, *copies) if file_size(wal_file(path))]
    if not logs:
        return None
    title = "The move to ZeroClaw 0.8 separated the database from its write-ahead log."
    return Result(title, target=logs[0], details=_sizes(logs))


def _sizes(paths: Iterable[Path]) -> Details:
    return tuple((str(path), format_bytes(file_size(path))) for path in paths)


def _permissions(files: Files) -> Result | list[Result]:
    if not has_database(files.config.backend):
        return []
    database = files.config.database
    enter, read, write = stat.S_IXGRP | stat.S_IXOTH, stat.S_IRGRP | stat.S_IROTH, stat.S_IWGRP | stat.S_IWOTH
    try:
        mode = database.stat().st_mode
        is_readable = mode & read and all(folder.stat().st_mode & enter for folder in database.resolve().parents)
    except OSError:
        return []
    if not is_readable:
        return Result("Only its owner may read the database.", is_fine=True, target=database)
    return Result(
        f"Other users of this machine may read{' and write' if mode & write else ''} the database.",
        target=database,
        details=(("mode", f"{stat.S_IMODE(mode):03o}"),),
        by_hand=f"`chmod 600 {database}`, and `chmod 700 {database.parent}` for the files next to it.",
    )


def _disk_space(files: Files) -> Result | list[Result]:
    config = files.config
    is_file = has_database(config.backend)
    folder = config.database.parent if is_file else config.install.root
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return []
    if free >= max(_LITTLE_DISK_SPACE, 2 * file_size(config.database) if is_file else 0):
        return Result(f"The disk has {format_bytes(free)} free.", is_fine=True, target=folder)
    risk: Risk | None = "serious" if free < _LITTLE_DISK_SPACE // 4 else None
    return Result(f"The disk has only {format_bytes(free)} free.", target=folder, risk=risk)


_INDEX_FOLLOWS = "Keyword recall misses memories that the index lacks, and so does the agent."
DATABASE_CHECKS: Sequence[Check[Database]] = (
    Check(
        "hydrated",
        lambda database: "ZeroClaw's hydration made this database, and no ZeroClaw version can open it."
        if database.store.is_hydrated else None,
        "", "The agent runs without its memory, or does not start. The memories themselves are intact.",
        "serious", "repair hydrated database",
    ),
    Check(
        "unknown-agents", _agents, "Every memory is owned by an agent that exists.",
        "No agent recalls them, and the database breaks its own rules when they are changed.",
        "serious", "name unknown agents",
    ),
    Check(
        "superseded", _superseded, "",
        "They stay hidden from the agent although the memory that replaced them is missing.",
        by_hand="`zeroclaw memory list --superseded only` shows them, `zeroclaw memory edit KEY --unsupersede` makes "
        "one visible to the agent again.",
    ),
    Check(
        "old-sessions", lambda database: database.store.old_sessions, "",
        "A recall within such a session finds nothing until they are renamed.",
        by_hand="Nothing needs to be done: ZeroClaw 0.8 and later renames them.",
    ),
    Check(
        "dates", _dates, "Every memory has a readable date.",
        "Hygiene compares dates as text, so it may delete them at once or never; their age is not known.",
        by_hand="Edit such a memory's content once, or purge it: the list sorted by age shows them first.",
    ),
    Check(
        "journal-mode",
        lambda database: None if database.facts["journal mode"] == "wal" else "The journal mode is not WAL.",
        "The journal mode is WAL, as ZeroClaw sets it.", "Readers and writers wait for one another.",
        by_hand="ZeroClaw switches it when it next opens the database; 0.1.8 can be configured not to.",
    ),
    Check(
        "log-size", _log_size, "",
        "Every start reads all of it, and a copy of the database file alone lacks its memories.",
        repair="fold in write-ahead log",
    ),
    Check(
        "free-space", _free_space, "", "Whoever gets the file may read deleted memories in these pages.",
        repair="compact",
    ),
    Check("open-elsewhere", _open_elsewhere),
)  # fmt: skip
TABLE_CHECKS: Sequence[Check[Database]] = (
    Check(
        "shape",
        lambda database: database.store.shape_because
        or Result(f"The tables are those of ZeroClaw {database.facts['zeroclaw versions']}.", is_fine=True),
        "", "You can browse it here, but not change it.", "serious",
        by_hand="Export the memories, and import them into a store that ZeroClaw made.",
    ),
    Check(
        "keyword-index", _keyword_index, "The keyword index contains every memory.", _INDEX_FOLLOWS, "serious",
        "rebuild keyword index",
    ),
    Check(
        "triggers", _triggers, "The triggers that update the keyword index exist.",
        "Keyword recall misses every memory stored from now on, and nothing can be changed here.",
        "serious", "rebuild keyword index",
    ),
)  # fmt: skip
VECTOR_CHECKS: Sequence[Check[Database]] = (
    Check("vectors", _vectors, "", "Vector recall never finds those without.", repair="fill vectors"),
    Check(
        "vector-lengths", _vector_lengths, "",
        "ZeroClaw gives a vector of another length than the query's a score of 0, without a warning.",
        repair="fill vectors",
    ),
    Check(
        "cut-vectors", _cut_vectors, "", "A program wrote half a vector; vector recall never finds these memories.",
        "serious", "fill vectors",
    ),
    Check(
        "vector-model", _vector_model, "The vectors come from the configured model.",
        "When ZeroClaw next opens the database it deletes all of them.",
        by_hand="Start ZeroClaw once, then run `zeroclaw memory reindex`; or set the model back.",
    ),
)  # fmt: skip
PAGE_CHECKS: Sequence[Check[Pages]] = (
    Check(
        "pages", _pages, "Every page of the database is intact.",
        "Memories on damaged pages are lost or wrong, and the damage can grow with every write.", "serious",
        by_hand="Stop ZeroClaw, copy the database with its -wal file, and try `sqlite3 COPY .recover`, or restore a "
        "backup.",
    ),
    Check(
        "index-words", _index_words, "The keyword index contains exactly the words of the memories.", _INDEX_FOLLOWS,
        "serious", "rebuild keyword index",
    ),
)  # fmt: skip
FILE_CHECKS: Sequence[Check[Files]] = (
    Check(
        "old-config", _old_configs, "", "It contains an old config with its keys and tokens.",
        repair="remove leftover",
    ),
    Check(
        "old-database", _copied_databases, "",
        "It still contains memories deleted later and lacks those that were only in the log.",
        repair="remove leftover",
    ),
    Check(
        "leftovers", _unfinished, "No unfinished save left a file behind.",
        "It may contain memories, keys or tokens.", repair="remove unfinished",
    ),
    Check(
        "two-databases", _two_databases, "", "Its memories never reach the agent.",
        by_hand="Look at it with `zeroclaw memory list --location PATH`; copy the memories you want with `export` and "
        "`import`.",
    ),
    Check(
        "split-log", _split_log, "", "The last memories stored before the move are missing from the database.",
        "serious",
        by_hand="Keep the log; do not put it next to the current database. `zeroclaw memory export FILE --location "
        "PATH` reads a copy of the old database with its log next to it, and `import` brings what is missing.",
    ),
    Check("permissions", _permissions, "", "They can read everything that the agent remembers."),
    Check(
        "room", _disk_space, "",
        "When it is full, the agent can store nothing, and there is no space for a backup or for compacting.",
        by_hand="Free some space.",
    ),
)  # fmt: skip
