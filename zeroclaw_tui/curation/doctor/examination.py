"""Examining a store and what lies around it, and why one does not open; reading only."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import has_database
from zeroclaw_tui.backends.health import Health
from zeroclaw_tui.config.locations import file_size, names_in
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.changes import Leftover, find_leftovers
from zeroclaw_tui.curation.doctor.database import (
    DoctorFinding,
    DoctorReport,
    Risk,
    database_findings,
    fine,
    page_findings,
    size,
)
from zeroclaw_tui.curation.doctor.repairs import backups_of
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.snapshot.text import NAME as SNAPSHOT
from zeroclaw_tui.curation.words import among_fact
from zeroclaw_tui.files.database import wal_file
from zeroclaw_tui.memory.errors import BeforeFirstStart, InspectorError, Locked
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import counted, one_line

_CONFIGS = ("config.toml.bak", "config.toml.backup")
_IN_TRASH = ("Keep its bytes in the trash.", "Remove it; undo brings it back.")
_REMOVED = ("Remove it for good: nobody is writing it any more, and it was never put in its place.",)
_LITTLE_ROOM = 64 * 1024 * 1024
_LEGACY = Path("legacy-workspace", "memory")


def file_findings(config: MemoryConfig, is_open: bool) -> list[DoctorFinding]:
    """What the folders tell, whether or not the store opens; for a thread. Removing needs the store's trash."""
    found: list[DoctorFinding] = []
    for look in (_leftovers, _two_databases, _split_log, _permissions, _room):
        try:
            found += look(config, is_open)
        except InspectorError as error:
            found.append(
                DoctorFinding("folders", error.message, "worth knowing", "It was not looked at.", by_hand=error.hint)
            )
    return found


def _leftovers(config: MemoryConfig, is_open: bool) -> list[DoctorFinding]:
    found: list[DoctorFinding] = []
    folder = config.install.config_dir
    if folder is not None and config.location is None:
        for name in names_in(folder):
            path = folder / name
            if name in _CONFIGS:
                found.append(_leftover(path, name, _config_words(name), is_open))
            elif name.startswith("backup-") and path.is_dir():
                found.append(_tree(path, name))
    if has_database(config.backend):
        database = config.database
        for name in names_in(database.parent):
            if name.startswith(f"{database.name}.backup-"):
                words = (
                    f"{one_line(name)} is ZeroClaw's copy of the database before it moved to 0.8.",
                    "It still holds what was deleted since, and lacks what was only in the log.",
                )
                found.append(_leftover(database.parent / name, name, words, is_open))
    found += [_unfinished(left, is_open) for left in find_leftovers(config)]
    return found or [fine("leftovers", "Nothing was left behind by an update or an unfinished save.")]


def _unfinished(left: Leftover, is_open: bool) -> DoctorFinding:
    """A file that was never put in its place, or a folder in which one was being made."""
    path, name = left.path, one_line(left.path.name)
    can_repair = is_open and left.is_abandoned is True
    if left.writer == "zeroclaw":
        title = f"{name} was left by a save of ZeroClaw's that did not finish."
        by_hand = "When ZeroClaw does not run: remove it."
    elif left.writer == "unknown":
        title = f"{name} looks like what a save that did not finish left behind."
        by_hand = "When no program is writing it: look at it, and remove it where it is not needed."
    elif left.is_abandoned:
        title = f"{name} was left by a command of this program that was ended in the middle."
        by_hand = "" if can_repair else "The next command that changes something removes it."
    else:
        title = f"{name} is a file this program was writing; no lock tells whether it still does."
        by_hand = "When no command of this program runs: remove it."
    return DoctorFinding(
        f"unfinished:{left.path.name}", title, "worth knowing", "It may hold memories, keys or tokens.",
        "remove unfinished" if can_repair else None, _REMOVED if can_repair else (), by_hand, str(path),
        (("folder", str(path.parent)), ("size", size(_bytes_in(path)))),
    )  # fmt: skip


def _bytes_in(path: Path) -> int:
    """The size of a file, or of all in a folder."""
    return sum(map(file_size, path.iterdir())) if path.is_dir() else file_size(path)


def _config_words(name: str) -> tuple[str, str]:
    if name == "config.toml.bak":
        return (
            "config.toml.bak was left by a save that did not finish, or by an update of the config.",
            "It holds an old config with its keys and tokens.",
        )
    return "config.toml.backup is the config before ZeroClaw updated it.", "It holds its keys and tokens of that day."


def _leftover(path: Path, name: str, words: tuple[str, str], is_open: bool) -> DoctorFinding:
    title, risk = words
    by_hand = "" if is_open else "Remove it when all works: the trash is only at hand with an open store."
    return DoctorFinding(
        f"leftover:{name}", title, "worth knowing", risk, "remove leftover" if is_open else None,
        _IN_TRASH if is_open else (), by_hand, str(path), (("size", size(file_size(path))),),
    )  # fmt: skip


def _tree(path: Path, name: str) -> DoctorFinding:
    return DoctorFinding(
        f"leftover:{name}",
        f"{one_line(name)} is ZeroClaw's copy of the whole workspace before it moved to 0.8.",
        "worth knowing",
        "It still holds every memory of that day, also those deleted since.",
        by_hand=f"When nothing of it is missed: remove the folder {path}.",
        target=str(path),
    )


def _two_databases(config: MemoryConfig, is_open: bool) -> list[DoctorFinding]:
    if config.location is not None:
        return []
    install = config.install
    places = [install.root / "memory" / "brain.db", install.root / "memory.db"]
    if install.config_dir is not None:
        places += [install.config_dir / name / "memory" / "brain.db" for name in ("workspace", "data")]
    own = os.path.realpath(config.database) if has_database(config.backend) else ""
    others = {os.path.realpath(path): path for path in places if path.is_file()}
    others.pop(own, None)
    if not others:
        return []
    used = f"{config.database} is the one in use" if own else f"the {config.backend} backend uses none"
    many = " and ".join(str(path) for path in others.values())
    return [
        DoctorFinding(
            "two-databases",
            f"There is another database, {many}; {used}.",
            "worth knowing",
            "Its memories never reach the agent.",
            by_hand="Look at it with `zeroclaw memory list --location PATH`; what is wanted of it goes over with "
            "`export` and `import`.",
            target=str(next(iter(others.values()))),
            details=tuple((str(path), size(file_size(path))) for path in (config.database, *others.values())),
        )
    ]


def _split_log(config: MemoryConfig, is_open: bool) -> list[DoctorFinding]:
    """ZeroClaw's move to 0.8 takes brain.db along and leaves brain.db-wal with the default agent's files."""
    install = config.install
    if install.layout != "data" or install.config_dir is None or config.location is not None:
        return []
    moved = install.config_dir / "agents" / "default" / "workspace" / "memory" / "brain.db"
    copies = [install.config_dir / name / _LEGACY / "brain.db" for name in names_in(install.config_dir)]
    kept = [copy for copy in copies if copy.is_file() and file_size(wal_file(copy))]
    lost = [wal_file(path) for path in (moved, *kept) if file_size(wal_file(path))]
    if not lost:
        return []
    if kept:
        how = (
            f"{kept[-1]} and its log lie together: `zeroclaw memory export before.jsonl --location {kept[-1]}` reads "
            "both, and `zeroclaw memory import before.jsonl` brings in what is missing. Do not put the log beside the "
            "present database: it is not its log any more."
        )
    else:
        how = (
            f"Keep {lost[0]}. It belongs to the database as it was before the move; only beside a copy of that one "
            "can it be read. Do not put it beside the present database."
        )
    return [
        DoctorFinding(
            "split-log",
            "The move to ZeroClaw 0.8 separated the database from its write-ahead log.",
            "serious",
            "What was stored last before the move is missing from the database.",
            by_hand=how,
            target=str(lost[0]),
            details=tuple((str(path), size(file_size(path))) for path in lost),
        )
    ]


def _permissions(config: MemoryConfig, is_open: bool) -> list[DoctorFinding]:
    if not has_database(config.backend):
        return []
    database = config.database
    try:
        mode = database.stat().st_mode
    except OSError:
        return []
    if not mode & (stat.S_IRGRP | stat.S_IROTH) or not _is_reachable(database):
        return [fine("permissions", "Only its owner may read the database.", str(database))]
    can_write = bool(mode & (stat.S_IWGRP | stat.S_IWOTH))
    return [
        DoctorFinding(
            "permissions",
            f"Other users of this machine may read{' and write' if can_write else ''} the database.",
            "worth knowing",
            "All that the agent remembers is open to them.",
            by_hand=f"`chmod 600 {database}`, and `chmod 700 {database.parent}` for the files beside it.",
            target=str(database),
            details=(("mode", f"{stat.S_IMODE(mode):03o}"),),
        )
    ]


def _is_reachable(path: Path) -> bool:
    """Whether others may enter all the folders that lead there."""
    return all(folder.stat().st_mode & (stat.S_IXGRP | stat.S_IXOTH) for folder in path.resolve().parents)


def _room(config: MemoryConfig, is_open: bool) -> Iterator[DoctorFinding]:
    folder = config.database.parent if has_database(config.backend) else config.install.root
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return
    needed = 2 * file_size(config.database) if has_database(config.backend) else 0
    if free >= max(_LITTLE_ROOM, needed):
        yield fine("room", f"The disk has {size(free)} free.", str(folder))
        return
    risk: Risk = "serious" if free < _LITTLE_ROOM // 4 else "worth knowing"
    yield DoctorFinding(
        "room", f"The disk has only {size(free)} free.", risk,
        "When it is full the agent can store nothing, and neither backup nor compacting finds room.",
        by_hand="Make room on it.", target=str(folder),
    )  # fmt: skip


_ORDER: dict[Risk, int] = {"serious": 0, "worth knowing": 1, "fine": 2}


async def examine(config: MemoryConfig, library: Library | None, *, deep: bool = False) -> DoctorReport:
    """Every check that fits the backend. `library` is None where the store did not open; then what can be told without
    it is told. `deep` also runs SQLite's and FTS5's integrity checks, on a copy made with the backup API, never on the
    live file. Works in threads; cancelling the await stops it.
    """
    notes: list[str] = []
    memory = None if library is None else library.memory
    if library is None:
        found = await _of_closed_store(config)
        if deep:
            notes.append("The pages are only checked of a store that opens.")
    elif library.memory.file is not None:
        found = await _of_database(config, library)
        notes += await _counted_too(library)
        if deep:
            found += await _deep(library.memory, notes)
    else:
        found = await _of_other_store(library.memory)
        if deep:
            notes.append(f"There is nothing to check page by page in {library.memory.name}.")
    found += await asyncio.to_thread(file_findings, config, memory is not None)
    return DoctorReport(tuple(sorted(found, key=lambda finding: _ORDER[finding.risk])), deep, tuple(notes))


async def _of_closed_store(config: MemoryConfig) -> list[DoctorFinding]:
    """Why it does not open; nothing where it does by now."""
    try:
        await (await open_library(config)).close()
    except InspectorError as error:
        return [await asyncio.to_thread(_not_open_finding, config, error)]
    return []


async def _of_database(config: MemoryConfig, library: Library) -> list[DoctorFinding]:
    try:
        facts = await library.memory.examine()
    except InspectorError as error:
        # Damage deep in a file shows only when its rows are read.
        return [await asyncio.to_thread(_not_open_finding, config, error)]
    return database_findings(library, facts)


async def _counted_too(library: Library) -> list[str]:
    """That the counts hold what a list hides."""
    try:
        hidden = await library.superseded_hidden(MemoryFilter())
    except InspectorError:
        # What damage keeps from being read is among the findings.
        return []
    return [f"Counted is every memory, {among_fact(hidden)} and hidden from the agent."] if hidden else []


async def _deep(memory: Memory, notes: list[str]) -> list[DoctorFinding]:
    try:
        found = await memory.check_pages()
    except InspectorError as error:
        notes.append(f"The deep check could not be made: {error.message}")
        return []
    return page_findings(found, str(memory.file))


async def _of_other_store(memory: Memory) -> list[DoctorFinding]:
    health = await memory.health()
    if memory.keeps_nothing:
        return [DoctorFinding("store", "Nothing is stored, so there is nothing to examine.", "fine", "")]
    count = health.facts.get("memories", 0)
    title = f"The {memory.name} store answers and holds {counted(count)}."
    found = [DoctorFinding("store", title, "fine", "", target=memory.location)] if health.ok else []
    return found + [
        _from_health(memory, health, number, sentence) for number, sentence in enumerate(health.findings, 1)
    ]


def _from_health(memory: Memory, health: Health, number: int, sentence: str) -> DoctorFinding:
    repair = health.repairs.get(sentence)
    if repair is not None:
        name = repair.name
        return DoctorFinding(
            name.replace(" ", "-"),
            sentence,
            "worth knowing",
            repair.follows,
            name,
            repair.steps,
            target=memory.location,
        )
    risk: Risk = "worth knowing" if health.ok else "serious"
    follows = "" if health.ok else "What it holds is not read, by ZeroClaw neither."
    hint = "" if health.ok else "Correct the file or its permissions, then look again."
    return DoctorFinding(f"store-{number}", one_line(sentence), risk, follows, by_hand=hint, target=memory.location)


def _not_open_finding(config: MemoryConfig, error: InspectorError) -> DoctorFinding:
    """The error as a finding, with every place its memories could come back from."""
    hints = [error.hint] if error.hint else []
    details: list[tuple[str, str]] = []
    if not isinstance(error, Locked):
        for backup in _backups(config):
            details.append(("backup", f"{backup} ({size(backup.stat().st_size)})"))
        snapshot = config.install.root / SNAPSHOT
        if config.location is None and snapshot.is_file():
            details.append(("snapshot", str(snapshot)))
            hints.append(f"`zeroclaw memory hydrate` makes a database of {SNAPSHOT}, which holds the core memories.")
    if isinstance(error, BeforeFirstStart) and not details:
        return DoctorFinding("not-open", error.message, "fine", "", target=str(config.database))
    return DoctorFinding(
        "not-open",
        error.message,
        "serious",
        "Neither this program nor ZeroClaw gets at the memories.",
        by_hand=" ".join(hints),
        target=str(config.database),
        details=tuple(details),
    )


def _backups(config: MemoryConfig) -> list[Path]:
    database = config.database
    beside = [
        database.with_name(name) for name in names_in(database.parent) if name.startswith(f"{database.name}.backup-")
    ]
    return [path for path in (*backups_of(config), *beside) if path.is_file()]
