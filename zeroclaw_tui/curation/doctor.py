"""The doctor: check a store and its files for problems, and say what can be done. Checks only read."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Literal

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


@dataclass(frozen=True, slots=True)
class Subject:
    """What the checks look at. `store` is None unless a database opened; `pages` only after a deep check."""

    config: MemoryConfig
    library: Library | None
    store: StoreFacts | None = None
    pages: Pages | None = None
    health: Health | None = None
    """The health of a store without a database file."""
    error: InspectorError | None = None
    """Why the store cannot be opened or read."""


@dataclass(frozen=True, slots=True)
class Result:
    """What one check found. A field that is not None replaces the value of the check.

    `by_hand` also replaces the repair: what the user has to do is not repaired here.
    """

    title: str
    is_fine: bool = False
    target: str | Path | None = None
    details: Details = ()
    id: str | None = None
    risk: Risk | None = None
    follows: str | None = None
    repair: RepairName | None = None
    by_hand: str | None = None


@dataclass(frozen=True, slots=True)
class Check:
    """A check: `look` yields what it finds, `follows` is the consequence of a problem."""

    name: str
    look: Callable[[Subject], Iterator[Result]]
    follows: str = ""
    risk: Risk = "worth knowing"
    repair: RepairName | None = None
    by_hand: str = ""

    def finding(self, result: Result, subject: Subject) -> DoctorFinding:
        """The finding of a result."""
        target, finding_id = str(result.target or _database_path(subject)), result.id or self.name
        if result.is_fine:
            return DoctorFinding(finding_id, result.title, "fine", "", target=target, details=result.details)
        repair = result.repair or (self.repair if result.by_hand is None else None)
        return DoctorFinding(
            id=finding_id,
            title=result.title,
            risk=result.risk or self.risk,
            risk_sentence=self.follows if result.follows is None else result.follows,
            repair=repair,
            repair_steps=REPAIR_STEPS[repair] if repair is not None else (),
            by_hand=self.by_hand if result.by_hand is None else result.by_hand,
            target=target,
            details=result.details,
        )


async def examine(config: MemoryConfig, library: Library | None, *, deep: bool = False) -> DoctorReport:
    """Run every check that fits the backend, in threads. `library` is None if the store did not open.

    A `deep` examination also runs SQLite's and FTS5's integrity checks, on a copy of the database.
    """
    notes: list[str] = []
    subject = await _load_subject(config, library)
    if library is not None and library.memory.about.path is not None:
        # A damaged database may not count them; the damage itself is among the findings.
        with suppress(InspectorError):
            if hidden := await library.superseded_hidden(MemoryFilter()):
                notes.append(f"Counted is every memory, {among_fact(hidden)} and hidden from the agent.")
    if deep:
        subject = replace(subject, pages=await _check_pages(library, notes))
    findings = await asyncio.to_thread(_run_checks, subject)
    return DoctorReport(tuple(sorted(findings, key=lambda finding: _RISK_ORDER[finding.risk])), deep, tuple(notes))


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


def _run_checks(subject: Subject) -> list[DoctorFinding]:
    findings: list[DoctorFinding] = []
    for check in CHECKS:
        try:
            findings += [check.finding(result, subject) for result in check.look(subject)]
        except InspectorError as error:
            findings.append(
                DoctorFinding(check.name, error.message, "worth knowing", "It was not checked.", by_hand=error.hint)
            )
    return findings


async def _load_subject(config: MemoryConfig, library: Library | None) -> Subject:
    """Ask the store for its facts, or find out why it does not open."""
    subject = Subject(config, library)
    if library is not None and library.memory.about.path is None:
        return replace(subject, health=await library.memory.health())
    try:
        if library is None:
            await (await open_library(config)).close()
            return subject
        return replace(subject, store=await require_database(library.memory).examine())
    except InspectorError as error:
        # A damaged page is noticed only when its rows are read.
        return replace(subject, error=error)


async def _check_pages(library: Library | None, notes: list[str]) -> Pages | None:
    if library is None:
        notes.append("The pages are only checked of a store that opens.")
    elif (database := library.memory.upkeep.database) is None:
        notes.append(f"There is nothing to check page by page in {library.memory.name}.")
    else:
        try:
            return await database.check_pages()
        except InspectorError as error:
            notes.append(f"The deep check could not be made: {error.message}")
    return None


def _database_path(subject: Subject) -> str:
    """The database of a subject, which most findings are about; "" without one."""
    path = None if subject.library is None else subject.library.memory.about.path
    return "" if path is None else str(path)


def _not_open(subject: Subject) -> Iterator[Result]:
    """The error, with every place from which the memories can be restored."""
    config, error = subject.config, subject.error
    if error is None:
        return
    hints = [error.hint] if error.hint else []
    details: list[tuple[str, str]] = []
    if not isinstance(error, Locked):
        backups = [path for path in (*backups_of(config), *_old_databases(config)) if path.is_file()]
        details += [("backup", f"{backup} ({format_bytes(file_size(backup))})") for backup in backups]
        snapshot = config.install.root / SNAPSHOT
        if config.location is None and snapshot.is_file():
            details.append(("snapshot", str(snapshot)))
            hints.append(f"`zeroclaw memory hydrate` creates a database from {SNAPSHOT} with the core memories.")
    is_new = isinstance(error, BeforeFirstStart) and not details
    yield Result(error.message, is_new, config.database, tuple(details), by_hand=" ".join(hints))


def _other_store(subject: Subject) -> Iterator[Result]:
    library, health = subject.library, subject.health
    if library is None or health is None:
        return
    about = library.memory.about
    if about.keeps_nothing:
        yield Result("Nothing is stored, so there is nothing to examine.", is_fine=True)
        return
    if health.ok:
        count = counted(health.facts.get("memories", 0))
        title = f"The {library.memory.name} store answers and has {count}."
        yield Result(title, is_fine=True, target=about.location)
    for number, sentence in enumerate(health.findings, 1):
        yield Result(
            one_line(sentence), target=about.location, id=f"store-{number}",
            risk="worth knowing" if health.ok else None,
            follows="" if health.ok else None,
            by_hand="" if health.ok else None,
        )  # fmt: skip


def _tables(subject: Subject) -> Iterator[Result]:
    store = subject.store
    if store is None or store.is_hydrated:
        return
    if store.shape_because:
        yield Result(store.shape_because)
    else:
        yield Result(f"The tables are those of ZeroClaw {store.health.facts['zeroclaw versions']}.", is_fine=True)


def _hydrated(subject: Subject) -> Iterator[Result]:
    if subject.store is not None and subject.store.is_hydrated:
        yield Result("ZeroClaw's hydration made this database, and no ZeroClaw version can open it.")


def _keyword_index(subject: Subject) -> Iterator[Result]:
    store = subject.store
    if store is None or store.is_hydrated:
        return
    missing = store.health.facts.get("not in the keyword index", 0)
    extra = store.health.facts.get("only in the keyword index", 0)
    if not store.has_keyword_index:
        yield Result("There is no keyword index.")
    elif not store.is_keyword_index_readable:
        yield Result("The keyword index is damaged.")
    elif missing:
        yield Result(f"{are(missing)} not in the keyword index.")
    elif extra:
        yield Result(f"The keyword index still contains {counted(extra)} that no longer exist.")
    else:
        yield Result("The keyword index contains every memory.", is_fine=True)


def _triggers(subject: Subject) -> Iterator[Result]:
    store = subject.store
    if store is None or store.is_hydrated or not store.has_keyword_index:
        return
    if store.has_triggers:
        yield Result("The triggers that update the keyword index exist.", is_fine=True)
    else:
        yield Result("The triggers that update the keyword index are missing.")


def _agents(subject: Subject) -> Iterator[Result]:
    unknown = None if subject.store is None else subject.store.health.facts.get("of unknown agents")
    if unknown:
        yield Result(f"{are(unknown)} owned by agents that do not exist.")
    elif unknown is not None:
        yield Result("Every memory is owned by an agent that exists.", is_fine=True)


def _superseded(subject: Subject) -> Iterator[Result]:
    if subject.store is not None and subject.store.superseded_by_none:
        yield Result(f"{are(subject.store.superseded_by_none)} replaced by a memory that does not exist.")


def _sessions(subject: Subject) -> Iterator[Result]:
    if subject.store is not None and subject.store.old_sessions is not None:
        yield Result(subject.store.old_sessions)


def _dates(subject: Subject) -> Iterator[Result]:
    undated = None if subject.store is None else subject.store.health.facts.get("without a readable date")
    if undated:
        yield Result(f"{are(undated)} without a readable date.")
    elif undated is not None:
        yield Result("Every memory has a readable date.", is_fine=True)


def _journal_mode(subject: Subject) -> Iterator[Result]:
    if subject.store is None:
        return
    if subject.store.health.facts["journal mode"] == "wal":
        yield Result("The journal mode is WAL, as ZeroClaw sets it.", is_fine=True)
    else:
        yield Result("The journal mode is not WAL.")


def _log_size(subject: Subject) -> Iterator[Result]:
    store = subject.store
    if store is None:
        return
    log = store.health.facts["write-ahead log bytes"]
    # None where the system does not tell who has the database open.
    is_unused = store.holders is not None and not store.holders
    if log > _LARGE_LOG:
        yield Result(f"The write-ahead log is large: {format_bytes(log)}.")
    elif log and subject.config.install.layout == "workspace" and is_unused:
        yield Result(
            f"{format_bytes(log)} of writes are only in the write-ahead log, and no program has it open.",
            follows="ZeroClaw's move to 0.8 takes the database without the log, so these writes would be lost.",
        )
    elif log:
        yield Result(f"The write-ahead log is {format_bytes(log)}.", is_fine=True)
    else:
        yield Result("The write-ahead log is empty.", is_fine=True)


def _free_space(subject: Subject) -> Iterator[Result]:
    if subject.store is None:
        return
    size, free = subject.store.health.facts["bytes"], subject.store.free_bytes
    if free > max(_MUCH_FREE_BYTES, _MUCH_FREE_SHARE * size):
        yield Result(f"{format_bytes(free)} of the {format_bytes(size)} of the database are free pages.")
    else:
        share = f"{format_bytes(free)} of them" if free else "none of it"
        yield Result(f"The database has {format_bytes(size)}, {share} free.", is_fine=True)


def _open_elsewhere(subject: Subject) -> Iterator[Result]:
    others = None if subject.store is None else subject.store.holders
    if others:
        programs = describe_processes(others)
        yield Result(f"The database is open in {programs}; repairs wait for their turn.", is_fine=True)
    elif others is not None:
        yield Result("No other program has the database open.", is_fine=True)


def _vector_facts(subject: Subject) -> tuple[Library, StoreFacts, Mapping[str, Any]] | None:
    """What the checks of embeddings need; None if the store has no embeddings."""
    if subject.library is None or subject.store is None or "vectors" in subject.library.memory.why_not:
        return None
    return subject.library, subject.store, subject.store.health.facts


def _vectors(subject: Subject) -> Iterator[Result]:
    """How many memories have an embedding, by category."""
    if (found := _vector_facts(subject)) is None:
        return
    library, store, facts = found
    embedded = facts.get("embedded", 0)
    by_category = tuple(
        (one_line(category) or "(none)", f"{with_vector:,} of {with_vector + without:,}")
        for category, (with_vector, without) in store.embedded.items()
    )
    if library.embedder is None and not embedded:
        title = "No embeddings are configured, and no memory has a vector, so recall uses keywords only."
        yield Result(title, is_fine=True)
    elif not store.without_vector:
        yield Result("Every memory has a vector.", is_fine=True, details=by_category)
    else:
        title = f"{are(store.without_vector)} without a vector, {embedded:,} with one."
        yield Result(title, details=by_category, by_hand=_reason_not_to_fill(library))


def _vector_lengths(subject: Subject) -> Iterator[Result]:
    if (found := _vector_facts(subject)) is None:
        return
    library, _, facts = found
    lengths: Mapping[str, int] = facts.get("embedded by dimensions", {})
    if not lengths:
        return
    noted = str(facts.get("embedding identity", {}).get("embedding_dimensions", ""))
    if noted.isdecimal():
        expected, source = int(noted), "the store's own note"
    elif library.config.embedding.is_on:
        expected, source = library.config.embedding.dimensions, "memory.embedding_dimensions"
    else:
        expected, source = int(max(lengths, key=lambda length: lengths[length])), "most of them"
    wrong = [count for length, count in lengths.items() if int(length) != expected]
    if not wrong:
        yield Result(f"Every vector has {expected:,} numbers.", is_fine=True)
        return
    have = "has a vector" if sum(wrong) == 1 else "have vectors"
    by_hand = _reason_not_to_fill(library)
    if by_hand is None and library.embedder is not None and library.embedder.dimensions != expected:
        by_hand = (
            "The configured model makes vectors of another length than the store notes. Start ZeroClaw once: it "
            "deletes the old ones. Then run `zeroclaw memory reindex`."
        )
    yield Result(
        f"{counted(sum(wrong))} {have} of another length than {expected:,}.",
        details=(
            ("expected", f"{expected:,} numbers, by {source}"),
            *((f"{int(length):,} numbers", counted(count)) for length, count in lengths.items()),
        ),
        risk="serious" if len(wrong) == len(lengths) else "worth knowing",
        by_hand=by_hand,
    )


def _cut_vectors(subject: Subject) -> Iterator[Result]:
    if (found := _vector_facts(subject)) is None:
        return
    library, _, facts = found
    if cut := facts.get("cut vectors", 0):
        yield Result(f"{are(cut)} embedded with a truncated vector.", by_hand=_reason_not_to_fill(library))


def _vector_model(subject: Subject) -> Iterator[Result]:
    if (found := _vector_facts(subject)) is None:
        return
    library, _, facts = found
    noted: Mapping[str, str] = facts.get("embedding identity", {})
    embedding = library.config.embedding
    if not noted or not embedding.is_on:
        return
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
    if details:
        yield Result("The vectors come from another model than the configured one.", details=details)
    else:
        yield Result("The vectors come from the configured model.", is_fine=True)


def _reason_not_to_fill(library: Library) -> str | None:
    """Why embeddings cannot be created now, and what to do; None if they can."""
    reason = library.read_only_because
    if library.embedder is None:
        reason = library.no_embedder_because or "No embeddings are configured."
    return None if reason is None else f"{reason[:1].upper()}{reason[1:]} {_REINDEX}"


def _pages(subject: Subject) -> Iterator[Result]:
    if subject.pages is None:
        return
    faults = subject.pages.faults
    if faults:
        details = tuple((f"fault {number}", one_line(text)) for number, text in enumerate(faults, 1))
        yield Result(f"SQLite finds {counted(len(faults), 'fault')} in the pages of the database.", details=details)
    else:
        yield Result("Every page of the database is intact.", is_fine=True)


def _index_words(subject: Subject) -> Iterator[Result]:
    in_step = None if subject.pages is None else subject.pages.index_in_step
    if in_step:
        yield Result("The keyword index contains exactly the words of the memories.", is_fine=True)
    elif in_step is not None:
        yield Result("The keyword index does not contain the words of the memories.")


def _old_configs(subject: Subject) -> Iterator[Result]:
    folder = subject.config.install.config_dir
    if folder is None or subject.config.location is not None:
        return
    existing = names_in(folder)
    if "config.toml.bak" in existing:
        title = "config.toml.bak was left by a save that did not finish, or by an update of the config."
        yield _leftover(subject, title, folder / "config.toml.bak")
    if "config.toml.backup" in existing:
        title = "config.toml.backup is the config before ZeroClaw updated it."
        yield _leftover(subject, title, folder / "config.toml.backup")


def _copied_databases(subject: Subject) -> Iterator[Result]:
    for path in _old_databases(subject.config):
        title = f"{one_line(path.name)} is ZeroClaw's copy of the database before it moved to 0.8."
        yield _leftover(subject, title, path)


def _old_databases(config: MemoryConfig) -> list[Path]:
    """The copies that ZeroClaw made of the database before it moved it."""
    if not has_database(config.backend):
        return []
    database = config.database
    names = names_in(database.parent)
    return [database.with_name(name) for name in names if name.startswith(f"{database.name}.backup-")]


def _leftover(subject: Subject, title: str, path: Path) -> Result:
    by_hand = None
    if subject.library is None:
        by_hand = "Delete it yourself when everything works. This program has no trash without an open store."
    size = format_bytes(file_size(path))
    return Result(title, target=path, details=(("size", size),), id=f"leftover:{path.name}", by_hand=by_hand)


def _unfinished(subject: Subject) -> Iterator[Result]:
    """Files that were never renamed to their target, and folders in which such files were written."""
    leftovers = find_leftovers(subject.config)
    for leftover in leftovers:
        path = leftover.path
        title, by_hand = _unfinished_text(leftover, is_open=subject.library is not None)
        size = sum(map(file_size, path.iterdir())) if path.is_dir() else file_size(path)
        details = (("folder", str(path.parent)), ("size", format_bytes(size)))
        yield Result(title, target=path, details=details, id=f"unfinished:{path.name}", by_hand=by_hand)
    if not leftovers:
        yield Result("No unfinished save left a file behind.", is_fine=True)


def _unfinished_text(leftover: Leftover, *, is_open: bool) -> tuple[str, str | None]:
    """What a leftover is, and what the user can do if it is not repaired here."""
    name = one_line(leftover.path.name)
    if leftover.writer == "zeroclaw":
        return f"{name} was left by a save of ZeroClaw that did not finish.", "Delete it when ZeroClaw is not running."
    if leftover.writer == "unknown":
        return (
            f"{name} looks like the file of a save that did not finish.",
            "Check that no program is writing it, then look at it and delete it if you do not need it.",
        )
    if leftover.is_abandoned:
        by_hand = None if is_open else "The next command that changes something removes it."
        return f"{name} was left by a command of this program that was killed.", by_hand
    return (
        f"{name} is a file of this program that may still be written.",
        "Delete it when no command of this program is running.",
    )


def _two_databases(subject: Subject) -> Iterator[Result]:
    config, install = subject.config, subject.config.install
    if config.location is not None:
        return
    paths = [install.root / "memory" / "brain.db", install.root / "memory.db"]
    if install.config_dir is not None:
        paths += [install.config_dir / name / "memory" / "brain.db" for name in ("workspace", "data")]
    own = os.path.realpath(config.database) if has_database(config.backend) else ""
    others = {os.path.realpath(path): path for path in paths if path.is_file()}
    others.pop(own, None)
    if not others:
        return
    used = f"{config.database} is the one in use" if own else f"the {config.backend} backend uses none"
    title = f"There is another database, {' and '.join(map(str, others.values()))}; {used}."
    yield Result(title, target=next(iter(others.values())), details=_sizes((config.database, *others.values())))


def _split_log(subject: Subject) -> Iterator[Result]:
    """ZeroClaw's move to 0.8 moves brain.db and leaves brain.db-wal with the files of the default agent."""
    config, folder = subject.config, subject.config.install.config_dir
    if config.install.layout != "data" or folder is None or config.location is not None:
        return
    moved = folder / "agents" / "default" / "workspace" / "memory" / "brain.db"
    copies = [folder / name / "legacy-workspace" / "memory" / "brain.db" for name in names_in(folder)]
    copies = [copy for copy in copies if copy.is_file() and file_size(wal_file(copy))]
    logs = [wal_file(path) for path in (moved, *copies) if file_size(wal_file(path))]
    if not logs:
        return
    by_hand = (
        f"Keep {logs[0]}. It can only be read next to a copy of the database before the move. Do not put it next to "
        "the current database."
    )
    if copies:
        by_hand = (
            f"`zeroclaw memory export before.jsonl --location {copies[-1]}` reads the old database with its log, and "
            "`zeroclaw memory import before.jsonl` imports what is missing. Do not put the log next to the current "
            "database."
        )
    title = "The move to ZeroClaw 0.8 separated the database from its write-ahead log."
    yield Result(title, target=logs[0], details=_sizes(logs), by_hand=by_hand)


def _sizes(paths: Iterable[Path]) -> Details:
    return tuple((str(path), format_bytes(file_size(path))) for path in paths)


def _permissions(subject: Subject) -> Iterator[Result]:
    if not has_database(subject.config.backend):
        return
    database = subject.config.database
    try:
        mode = database.stat().st_mode
        can_enter = all(
            folder.stat().st_mode & (stat.S_IXGRP | stat.S_IXOTH) for folder in database.resolve().parents
        )  # fmt: skip
    except OSError:
        return
    if not can_enter or not mode & (stat.S_IRGRP | stat.S_IROTH):
        yield Result("Only its owner may read the database.", is_fine=True, target=database)
        return
    write = " and write" if mode & (stat.S_IWGRP | stat.S_IWOTH) else ""
    yield Result(
        f"Other users of this machine may read{write} the database.",
        target=database,
        details=(("mode", f"{stat.S_IMODE(mode):03o}"),),
        by_hand=f"`chmod 600 {database}`, and `chmod 700 {database.parent}` for the files next to it.",
    )


def _disk_space(subject: Subject) -> Iterator[Result]:
    config = subject.config
    is_file = has_database(config.backend)
    folder = config.database.parent if is_file else config.install.root
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return
    if free >= max(_LITTLE_DISK_SPACE, 2 * file_size(config.database) if is_file else 0):
        yield Result(f"The disk has {format_bytes(free)} free.", is_fine=True, target=folder)
    else:
        risk: Risk = "serious" if free < _LITTLE_DISK_SPACE // 4 else "worth knowing"
        yield Result(f"The disk has only {format_bytes(free)} free.", target=folder, risk=risk)


_INDEX_FOLLOWS = "Keyword recall misses memories that the index lacks, and so does the agent."
CHECKS: tuple[Check, ...] = (
    Check("not-open", _not_open, "Neither this program nor ZeroClaw can read the memories.", "serious"),
    Check(
        "store",
        _other_store,
        "Neither ZeroClaw nor this program can read it.",
        "serious",
        by_hand="Correct the file or its permissions, then check again.",
    ),
    Check(
        "hydrated",
        _hydrated,
        "The agent runs without its memory, or does not start. The memories themselves are intact.",
        "serious",
        "repair hydrated database",
    ),
    Check(
        "shape",
        _tables,
        "You can browse it here, but not change it.",
        "serious",
        by_hand="Export the memories, and import them into a store that ZeroClaw made.",
    ),
    Check("keyword-index", _keyword_index, _INDEX_FOLLOWS, "serious", "rebuild keyword index"),
    Check(
        "triggers",
        _triggers,
        "Keyword recall misses every memory stored from now on, and nothing can be changed here.",
        "serious",
        "rebuild keyword index",
    ),
    Check(
        "unknown-agents",
        _agents,
        "No agent recalls them, and the database breaks its own rules when they are changed.",
        "serious",
        "name unknown agents",
    ),
    Check(
        "superseded",
        _superseded,
        "They stay hidden from the agent although the memory that replaced them is missing.",
        by_hand="`zeroclaw memory list --superseded only` shows them, `zeroclaw memory edit KEY --unsupersede` makes "
        "one visible to the agent again.",
    ),
    Check(
        "old-sessions",
        _sessions,
        "A recall within such a session finds nothing until they are renamed.",
        by_hand="Nothing needs to be done: ZeroClaw 0.8 and later renames them.",
    ),
    Check(
        "dates",
        _dates,
        "Hygiene compares dates as text, so it may delete them at once or never; their age is not known.",
        by_hand="Edit such a memory's content once, or purge it: the list sorted by age shows them first.",
    ),
    Check(
        "journal-mode",
        _journal_mode,
        "Readers and writers wait for one another.",
        by_hand="ZeroClaw switches it when it next opens the database; 0.1.8 can be configured not to.",
    ),
    Check(
        "log-size",
        _log_size,
        "Every start reads all of it, and a copy of the database file alone lacks its memories.",
        repair="fold in write-ahead log",
    ),
    Check(
        "free-space", _free_space, "Whoever gets the file may read deleted memories in these pages.", repair="compact"
    ),
    Check("open-elsewhere", _open_elsewhere),
    Check("vectors", _vectors, "Vector recall never finds those without.", repair="fill vectors"),
    Check(
        "vector-lengths",
        _vector_lengths,
        "ZeroClaw gives a vector of another length than the query's a score of 0, without a warning.",
        repair="fill vectors",
    ),
    Check(
        "cut-vectors",
        _cut_vectors,
        "A program wrote half a vector; vector recall never finds these memories.",
        "serious",
        "fill vectors",
    ),
    Check(
        "vector-model",
        _vector_model,
        "When ZeroClaw next opens the database it deletes all of them.",
        by_hand="Start ZeroClaw once, then run `zeroclaw memory reindex`; or set the model back.",
    ),
    Check(
        "pages",
        _pages,
        "Memories on damaged pages are lost or wrong, and the damage can grow with every write.",
        "serious",
        by_hand="Stop ZeroClaw, copy the database with its -wal file, and try `sqlite3 COPY .recover`, or restore a "
        "backup.",
    ),
    Check("index-words", _index_words, _INDEX_FOLLOWS, "serious", "rebuild keyword index"),
    Check(
        "old-config", _old_configs, "It contains an old config with its keys and tokens.", repair="remove leftover"
    ),
    Check(
        "old-database",
        _copied_databases,
        "It still contains memories deleted later and lacks those that were only in the log.",
        repair="remove leftover",
    ),
    Check("leftovers", _unfinished, "It may contain memories, keys or tokens.", repair="remove unfinished"),
    Check(
        "two-databases",
        _two_databases,
        "Its memories never reach the agent.",
        by_hand="Look at it with `zeroclaw memory list --location PATH`; copy the memories you want with `export` and "
        "`import`.",
    ),
    Check(
        "split-log", _split_log, "The last memories stored before the move are missing from the database.", "serious"
    ),
    Check("permissions", _permissions, "They can read everything that the agent remembers."),
    Check(
        "room",
        _disk_space,
        "When it is full, the agent can store nothing, and there is no space for a backup or for compacting.",
        by_hand="Free some space.",
    ),
)  # fmt: skip
