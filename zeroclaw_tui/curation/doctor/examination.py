"""Examining a store and what lies around it, and why one does not open; reading only."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import has_database
from zeroclaw_tui.backends.health import Pages, Repair, StoreFacts
from zeroclaw_tui.backends.lookup import require_database
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.doctor.repairs import backups_of, size
from zeroclaw_tui.curation.formats.snapshot import NAME as SNAPSHOT
from zeroclaw_tui.curation.leftovers import Leftover, find_leftovers
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.words import among_fact
from zeroclaw_tui.files.database import wal_file
from zeroclaw_tui.files.disk import file_size, names_in
from zeroclaw_tui.files.whole_database import describe_processes
from zeroclaw_tui.memory.errors import BeforeFirstStart, InspectorError, Locked
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import are, counted, one_line

RepairName = Repair | Literal["compact", "fill vectors", "remove leftover", "remove unfinished", "join split log"]
Risk = Literal["serious", "worth knowing", "fine"]
Details = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """`title` is a sentence of fact, `risk_sentence` what may come of it, `repair` what can be done here, if anything.

    `repair_steps` say in sentences what the repair would do; `by_hand` what a person does where we cannot. `target` is
    the file it is about, `details` further facts in reading order (name, value).
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


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """All that was looked at, the serious first; `fine` findings too, so that a person sees what was checked."""

    findings: tuple[DoctorFinding, ...]
    is_deep: bool
    notes: tuple[str, ...] = ()

    @property
    def is_healthy(self) -> bool:
        """Nothing serious."""
        return all(finding.risk != "serious" for finding in self.findings)


_BACKED_UP = "Make a backup of the whole database."
_STEPS: Mapping[RepairName | None, tuple[str, ...]] = {
    "rebuild keyword index": (
        _BACKED_UP,
        "Put ZeroClaw's own index and triggers back where they are missing.",
        "Fill the index anew from the memories, in one transaction.",
        "Where a page of the index is damaged, do so in a copy and write that back in one transaction; only when no "
        "other program has the database open.",
    ),
    "repair hydrated database": (
        _BACKED_UP,
        "Add the column session_id where it is missing.",
        "Create the embedding cache again as ZeroClaw does. ZeroClaw fills it again.",
        "Put ZeroClaw's indexes and triggers in, and fill the keyword index anew, all in one transaction.",
    ),
    "name unknown agents": (
        _BACKED_UP,
        "Add each missing agent with the name recovered- and the beginning of its id.",
    ),
    "fold in write-ahead log": (
        _BACKED_UP,
        "Have SQLite write the log back into the database and cut it to nothing; only when no other program has it "
        "open.",
    ),
    "compact": (
        _BACKED_UP,
        "Rewrite the database without its free pages. No other program may have it open.",
        "Fill the keyword index anew, and compare every memory with before.",
    ),
    "fill vectors": (
        _BACKED_UP,
        "Have the configured model make a vector of each such memory; `zeroclaw memory reindex --dry-run` tells how "
        "many, and where their text goes.",
        "Write them a few at a time; stopping loses nothing.",
    ),
    "remove leftover": ("Keep its bytes in the trash.", "Remove it; undo restores it."),
    "remove unfinished": (
        "Delete it permanently. No program is writing it, and it never replaced the file it was made for.",
    ),
}


@dataclass(frozen=True, slots=True)
class _Kind:
    """What may come of a finding, and what is done about it, here or by hand."""

    follows: str
    risk: Risk = "worth knowing"
    repair: RepairName | None = None
    by_hand: str = ""


_KINDS: Mapping[str, _Kind] = {
    "hydrated": _Kind(
        "The agent runs without its memory, or does not start. The memories themselves are whole.",
        "serious",
        "repair hydrated database",
    ),
    "shape": _Kind(
        "You can browse it here, but not change it.",
        "serious",
        by_hand="Export the memories, and import them into a store that ZeroClaw made.",
    ),
    "keyword-index": _Kind(
        "Recall by words misses what the index lacks, and the agent with it.", "serious", "rebuild keyword index"
    ),
    "index-words": _Kind(
        "Recall by words misses what the index lacks, and the agent with it.", "serious", "rebuild keyword index"
    ),
    "triggers": _Kind(
        "What is stored from now on is not found by words, and nothing can be changed here.",
        "serious",
        "rebuild keyword index",
    ),
    "pages": _Kind(
        "Memories on damaged pages are lost or wrong, and the damage can grow with every write.",
        "serious",
        by_hand="Stop ZeroClaw, copy the database with its -wal file, and try `sqlite3 COPY .recover`, or put a backup "
        "back.",
    ),
    "unknown-agents": _Kind(
        "No agent recalls them, and the database breaks its own rules when they are changed.",
        "serious",
        "name unknown agents",
    ),
    "superseded": _Kind(
        "They stay hidden from the agent although the memory that replaced them is missing.",
        by_hand="`zeroclaw memory list --superseded only` shows them, `zeroclaw memory edit KEY --unsupersede` lets "
        "the agent have one again.",
    ),
    "old-sessions": _Kind(
        "A recall within such a session finds nothing until they are respelled.",
        by_hand="Nothing needs to be done: ZeroClaw 0.8 and later does it by itself.",
    ),
    "rowids": _Kind("When that rowid is used, SQLite gives new memories random rowids, and their order is lost."),
    "dates": _Kind(
        "Hygiene compares dates as text, so it may delete them at once or never; their age is not known.",
        by_hand="Edit such a memory's content once, or purge it: the list sorted by age shows them first.",
    ),
    "journal-mode": _Kind(
        "Readers and writers wait for one another.",
        by_hand="ZeroClaw switches it when it next opens the database; 0.1.8 can be set to leave it so.",
    ),
    "log-size": _Kind(
        "Every start reads all of it, and a copy of the database file alone lacks its memories.",
        repair="fold in write-ahead log",
    ),
    "free-space": _Kind("What was deleted may still be read in them by whoever gets the file.", repair="compact"),
    "vectors": _Kind("Recall by meaning never finds those without."),
    "vector-lengths": _Kind(
        "A vector of another length than the query's counts as nothing alike, without a word from ZeroClaw."
    ),
    "cut-vectors": _Kind("Something wrote half a vector; recall by meaning never finds them.", "serious"),
    "vector-model": _Kind(
        "When ZeroClaw next opens the database it empties all of them.",
        by_hand="Start ZeroClaw once, then run `zeroclaw memory reindex`; or set the model back.",
    ),
    "folders": _Kind("It was not checked."),
    "unfinished": _Kind("It may hold memories, keys or tokens."),
    "config.toml.bak": _Kind("It holds an old config with its keys and tokens."),
    "config.toml.backup": _Kind("It holds its keys and tokens of that day."),
    "old-database": _Kind("It still contains what was deleted later and lacks what was only in the log."),
    "old-workspace": _Kind("It still contains every memory of that day, including those deleted later."),
    "two-databases": _Kind(
        "Its memories never reach the agent.",
        by_hand="Look at it with `zeroclaw memory list --location PATH`; move the memories you want with "
        "`export` and `import`.",
    ),
    "split-log": _Kind("What was stored last before the move is missing from the database.", "serious"),
    "permissions": _Kind("All that the agent remembers is open to them."),
    "room": _Kind(
        "When it is full, the agent can store nothing, and there is no room for a backup or for compacting.",
        by_hand="Make room on it.",
    ),
    "store": _Kind(""),
    "store-broken": _Kind(
        "Neither ZeroClaw nor this program reads it.",
        "serious",
        by_hand="Correct the file or its permissions, then look again.",
    ),
    "not-open": _Kind("Neither this program nor ZeroClaw can read the memories.", "serious"),
}


def _found(
    kind: str, title: str, target: str | Path = "", details: Details = (), *, id: str = "", **otherwise: Any
) -> DoctorFinding:
    """A finding as all of its kind are but for what is said `otherwise` of it."""
    what = replace(_KINDS[kind], **otherwise)
    return DoctorFinding(
        id or kind, title, what.risk, what.follows, what.repair, _STEPS.get(what.repair, ()), what.by_hand, str(target),
        details,
    )  # fmt: skip


def _fine(id: str, title: str, target: str | Path = "", details: Details = ()) -> DoctorFinding:
    """A check that found nothing."""
    return DoctorFinding(id, title, "fine", "", target=str(target), details=details)


_BIG_LOG = 64 * 1024 * 1024
_MUCH_FREE = 1024 * 1024
_FREE_SHARE = 0.25
_REINDEX = "`zeroclaw memory reindex` makes vectors once an embedding provider is configured."


def _database_findings(library: Library, found: StoreFacts) -> Iterator[DoctorFinding]:
    """A finding of each check, the fine ones too."""
    facts, target = found.health.facts, str(library.memory.about.path)
    if found.is_hydrated:
        title = "ZeroClaw's hydration made this database, and no ZeroClaw version can open it."
        yield _found("hydrated", title, target)
    elif found.shape_because:
        yield _found("shape", found.shape_because, target)
    else:
        yield _fine("shape", f"The tables are those of ZeroClaw {facts['zeroclaw versions']}.", target)
    if not found.is_hydrated:
        yield from _keyword_index(found, target)
    nameless = facts.get("of unknown agents")
    if nameless:
        yield _found("unknown-agents", f"{are(nameless)} owned by agents that do not exist.", target)
    elif nameless is not None:
        yield _fine("unknown-agents", "Every memory is owned by an agent that exists.", target)
    yield from _rows(found)
    yield from _file(library.config, found, target)
    if "vectors" not in library.memory.why_not:
        yield from _vectors(library, found)


def _page_findings(found: Pages, target: str) -> Iterator[DoctorFinding]:
    """What the check of a copy showed."""
    if found.faults:
        title = f"SQLite finds {counted(len(found.faults), 'fault')} in the pages of the database."
        told = tuple((f"fault {number}", one_line(text)) for number, text in enumerate(found.faults, 1))
        yield _found("pages", title, target, told)
    else:
        yield _fine("pages", "Every page of the database is whole.", target)
    if found.index_in_step:
        yield _fine("index-words", "The keyword index holds exactly the words of the memories.", target)
    elif found.index_in_step is not None:
        yield _found("index-words", "The keyword index does not hold the words the memories have.", target)


def _keyword_index(found: StoreFacts, target: str) -> Iterator[DoctorFinding]:
    facts = found.health.facts
    if not found.has_keyword_index:
        yield _found("keyword-index", "There is no keyword index.", target)
        return
    lacking, too_many = facts.get("not in the keyword index", 0), facts.get("only in the keyword index", 0)
    if not found.is_keyword_index_readable:
        yield _found("keyword-index", "The keyword index is damaged.", target)
    elif lacking:
        yield _found("keyword-index", f"{are(lacking)} not in the keyword index.", target)
    elif too_many:
        yield _found("keyword-index", f"The keyword index still holds {counted(too_many)} that are gone.", target)
    else:
        yield _fine("keyword-index", "The keyword index knows every memory.", target)
    if found.has_triggers:
        yield _fine("triggers", "The triggers that keep the keyword index are there.", target)
    else:
        yield _found("triggers", "The triggers that keep the keyword index are missing.", target)


def _rows(found: StoreFacts) -> Iterator[DoctorFinding]:
    if found.superseded_by_none:
        yield _found("superseded", f"{are(found.superseded_by_none)} replaced by a memory that is not there.")
    if found.old_sessions is not None:
        yield _found("old-sessions", found.old_sessions)
    if found.highest_place > found.farthest_place:
        yield _found(
            "rowids",
            f"The highest rowid is {found.highest_place:,}, close to the last one that SQLite has.",
            by_hand=f"`sqlite3 FILE 'SELECT id FROM memories WHERE rowid > {found.farthest_place}'` names them; "
            "`zeroclaw memory purge --id ID` and then `undo` gives such a memory a rowid among the others.",
        )
    undated = found.health.facts.get("without a readable date")
    if undated:
        yield _found("dates", f"{are(undated)} without a date that can be read.")
    elif undated is not None:
        yield _fine("dates", "Every memory has a date that can be read.")


def _file(config: MemoryConfig, found: StoreFacts, target: str) -> Iterator[DoctorFinding]:
    """How the database lies there: its log, its free pages, and who has it open."""
    facts, others, free = found.health.facts, found.holders, found.free_bytes
    log, whole = facts["write-ahead log bytes"], size(facts["bytes"])
    if facts["journal mode"] == "wal":
        yield _fine("journal-mode", "The journal mode is WAL, as ZeroClaw sets it.", target)
    else:
        yield _found("journal-mode", "The journal mode is not WAL.", target)
    if log > _BIG_LOG:
        yield _found("log-size", f"The write-ahead log is large: {size(log)}.", target)
    elif log and config.install.layout == "workspace" and others is not None and not others:
        yield _found(
            "log-size",
            f"{size(log)} of writes are only in the write-ahead log, and no program has it open.",
            target,
            follows="ZeroClaw's move to 0.8 takes the database and leaves the log behind, so that they would be lost.",
        )
    else:
        yield _fine("log-size", f"The write-ahead log is {size(log)}." if log else "No write waits in a log.", target)
    if free > max(_MUCH_FREE, _FREE_SHARE * facts["bytes"]):
        yield _found("free-space", f"{size(free)} of the {whole} of the database hold nothing.", target)
    else:
        spare = f"{size(free)} of them" if free else "none of it"
        yield _fine("free-space", f"The database has {whole}, {spare} free.", target)
    if others:
        yield _fine(
            "open-elsewhere", f"The database is open in {describe_processes(others)}; repairs wait for their turn."
        )
    elif others is not None:
        yield _fine("open-elsewhere", "No other program has the database open.")


def _vectors(library: Library, found: StoreFacts) -> Iterator[DoctorFinding]:
    """Coverage by category, vectors of a wrong length, cut vectors, and which model they come from."""
    facts, target = found.health.facts, library.memory.about.location
    embedded = facts.get("embedded", 0)
    by_category = tuple(
        (one_line(category) or "(none)", f"{with_vector:,} of {with_vector + without:,}")
        for category, (with_vector, without) in found.embedded.items()
    )
    if library.embedder is None and not embedded:
        title = "No embeddings are configured, and no memory has a vector, so recall uses keywords only."
        yield _fine("vectors", title, target)
    elif not found.without_vector:
        yield _fine("vectors", "Every memory has a vector.", target, by_category)
    else:
        title = f"{are(found.without_vector)} without a vector, {embedded:,} with one."
        yield _found("vectors", title, target, by_category, **_filling(library))
    yield from _lengths(library, facts)
    cut = facts.get("cut vectors", 0)
    if cut:
        title = f"{are(cut)} embedded with a vector cut in the middle of a number."
        yield _found("cut-vectors", title, target, **_filling(library))
    stamped: Mapping[str, str] = facts.get("embedding identity", {})
    embedding = library.config.embedding
    if not stamped or not embedding.is_on:
        return
    ours = {
        "embedding_provider": embedding.provider,
        "embedding_model": embedding.model,
        "embedding_dimensions": str(embedding.dimensions),
    }
    other = {name: stamped[name] for name in ours if name in stamped and stamped[name] != ours[name]}
    if other:
        told = tuple((name, f"{one_line(value)}, configured: {ours[name]}") for name, value in other.items())
        yield _found("vector-model", "The vectors come from another model than the configured one.", target, told)
    else:
        yield _fine("vector-model", "The vectors come from the configured model.", target)


def _lengths(library: Library, facts: Mapping[str, Any]) -> Iterator[DoctorFinding]:
    lengths: Mapping[str, int] = facts.get("embedded by dimensions", {})
    if not lengths:
        return
    noted = str(facts.get("embedding identity", {}).get("embedding_dimensions", ""))
    if noted.isdecimal():
        expected, by_whom = int(noted), "the store's own note"
    elif library.config.embedding.is_on:
        expected, by_whom = library.config.embedding.dimensions, "memory.embedding_dimensions"
    else:
        expected, by_whom = int(max(lengths, key=lambda length: lengths[length])), "most of them"
    wrong = [count for length, count in lengths.items() if int(length) != expected]
    if not wrong:
        yield _fine("vector-lengths", f"Every vector has {expected:,} numbers.", library.memory.about.location)
        return
    have = "has a vector" if sum(wrong) == 1 else "have vectors"
    by_length = tuple((f"{int(length):,} numbers", counted(count)) for length, count in lengths.items())
    yield _found(
        "vector-lengths",
        f"{counted(sum(wrong))} {have} of another length than {expected:,}.",
        library.memory.about.location,
        (("expected", f"{expected:,} numbers, by {by_whom}"), *by_length),
        risk="serious" if len(wrong) == len(lengths) else "worth knowing",
        **_filling(library, expected),
    )


def _filling(library: Library, expected: int | None = None) -> dict[str, Any]:
    """How missing vectors are made, where they can be."""
    embedder = library.embedder
    if embedder is None:
        because = library.no_embedder_because or "No embeddings are configured."
        return {"by_hand": f"{because[:1].upper()}{because[1:]} {_REINDEX}"}
    if library.read_only_because is not None:
        return {"by_hand": f"{library.read_only_because} {_REINDEX}"}
    if expected is not None and embedder.dimensions != expected:
        return {
            "by_hand": "The configured model makes vectors of another length than the store notes. Start ZeroClaw "
            "once: it empties the old ones. Then run `zeroclaw memory reindex`."
        }
    return {"repair": "fill vectors"}


_CONFIGS = {
    "config.toml.bak": "config.toml.bak was left by a save that did not finish, or by an update of the config.",
    "config.toml.backup": "config.toml.backup is the config before ZeroClaw updated it.",
}
_LITTLE_ROOM = 64 * 1024 * 1024
_LEGACY = Path("legacy-workspace", "memory")


def _file_findings(config: MemoryConfig, is_open: bool) -> list[DoctorFinding]:
    """What the folders tell, whether or not the store opens; for a thread. Removing needs the store's trash."""
    found: list[DoctorFinding] = []
    for look in (_leftovers, _two_databases, _split_log, _permissions, _room):
        try:
            found += look(config, is_open)
        except InspectorError as error:
            found.append(_found("folders", error.message, by_hand=error.hint))
    return found


def _leftovers(config: MemoryConfig, is_open: bool) -> list[DoctorFinding]:
    found: list[DoctorFinding] = []
    folder = config.install.config_dir
    if folder is not None and config.location is None:
        for name in names_in(folder):
            path = folder / name
            if name in _CONFIGS:
                found.append(_leftover(name, _CONFIGS[name], path, is_open))
            elif name.startswith("backup-") and path.is_dir():
                title = f"{one_line(name)} is ZeroClaw's copy of the whole workspace before it moved to 0.8."
                by_hand = f"If you miss nothing of it, delete the directory {path}."
                found.append(_found("old-workspace", title, path, id=f"leftover:{name}", by_hand=by_hand))
    for path in _old_databases(config):
        title = f"{one_line(path.name)} is ZeroClaw's copy of the database before it moved to 0.8."
        found.append(_leftover("old-database", title, path, is_open))
    found += [_unfinished(left, is_open) for left in find_leftovers(config)]
    return found or [_fine("leftovers", "Nothing was left behind by an update or an unfinished save.")]


def _leftover(kind: str, title: str, path: Path, is_open: bool) -> DoctorFinding:
    by_hand = (
        "" if is_open else "Delete it yourself when everything works. This program has no trash without an open store."
    )
    return _found(
        kind, title, path, (("size", size(file_size(path))),), id=f"leftover:{path.name}",
        repair="remove leftover" if is_open else None, by_hand=by_hand,
    )  # fmt: skip


def _old_databases(config: MemoryConfig) -> list[Path]:
    """The copies ZeroClaw made of the database before it moved it."""
    if not has_database(config.backend):
        return []
    database = config.database
    return [
        database.with_name(name) for name in names_in(database.parent) if name.startswith(f"{database.name}.backup-")
    ]


def _unfinished(left: Leftover, is_open: bool) -> DoctorFinding:
    """A file that was never put in its place, or a folder in which one was being made."""
    path, name = left.path, one_line(left.path.name)
    can_repair = is_open and left.is_abandoned is True
    if left.writer == "zeroclaw":
        title = f"{name} was left by a save of ZeroClaw's that did not finish."
        by_hand = "Delete it when ZeroClaw is not running."
    elif left.writer == "unknown":
        title = f"{name} looks like what a save that did not finish left behind."
        by_hand = "Check that no program is writing it, then look at it and delete it if you do not need it."
    elif left.is_abandoned:
        title = f"{name} was left by a command of this program that was ended in the middle."
        by_hand = "" if can_repair else "The next command that changes something removes it."
    else:
        title = f"{name} is a file this program was writing; whether it still does is not known."
        by_hand = "Delete it when no command of this program is running."
    held = sum(map(file_size, path.iterdir())) if path.is_dir() else file_size(path)
    return _found(
        "unfinished", title, path, (("folder", str(path.parent)), ("size", size(held))), id=f"unfinished:{path.name}",
        repair="remove unfinished" if can_repair else None, by_hand=by_hand,
    )  # fmt: skip


def _sizes(paths: Iterable[Path]) -> Details:
    return tuple((str(path), size(file_size(path))) for path in paths)


def _two_databases(config: MemoryConfig, is_open: bool) -> Iterator[DoctorFinding]:
    if config.location is not None:
        return
    install = config.install
    places = [install.root / "memory" / "brain.db", install.root / "memory.db"]
    if install.config_dir is not None:
        places += [install.config_dir / name / "memory" / "brain.db" for name in ("workspace", "data")]
    own = os.path.realpath(config.database) if has_database(config.backend) else ""
    others = {os.path.realpath(path): path for path in places if path.is_file()}
    others.pop(own, None)
    if not others:
        return
    used = f"{config.database} is the one in use" if own else f"the {config.backend} backend uses none"
    first, *_ = others.values()
    title = f"There is another database, {' and '.join(map(str, others.values()))}; {used}."
    yield _found("two-databases", title, first, _sizes((config.database, *others.values())))


def _split_log(config: MemoryConfig, is_open: bool) -> Iterator[DoctorFinding]:
    """ZeroClaw's move to 0.8 takes brain.db along and leaves brain.db-wal with the default agent's files."""
    install = config.install
    if install.layout != "data" or install.config_dir is None or config.location is not None:
        return
    moved = install.config_dir / "agents" / "default" / "workspace" / "memory" / "brain.db"
    copies = [install.config_dir / name / _LEGACY / "brain.db" for name in names_in(install.config_dir)]
    kept = [copy for copy in copies if copy.is_file() and file_size(wal_file(copy))]
    lost = [wal_file(path) for path in (moved, *kept) if file_size(wal_file(path))]
    if not lost:
        return
    if kept:
        how = (
            f"{kept[-1]} and its log belong together. `zeroclaw memory export before.jsonl --location {kept[-1]}` "
            "reads both, and `zeroclaw memory import before.jsonl` imports what is missing. Do not put the log next to "
            "the current database, because it is not its log."
        )
    else:
        how = (
            f"Keep {lost[0]}. It belongs to the database before the move and can only be read next to a copy of "
            "that database. Do not put it next to the current database."
        )
    title = "The move to ZeroClaw 0.8 separated the database from its write-ahead log."
    yield _found("split-log", title, lost[0], _sizes(lost), by_hand=how)


def _permissions(config: MemoryConfig, is_open: bool) -> Iterator[DoctorFinding]:
    database = config.database
    try:
        mode = database.stat().st_mode if has_database(config.backend) else None
    except OSError:
        return
    if mode is None:
        return
    # What others may read lies open to them where they may also enter all the folders that lead there.
    if not mode & (stat.S_IRGRP | stat.S_IROTH) or not all(
        folder.stat().st_mode & (stat.S_IXGRP | stat.S_IXOTH) for folder in database.resolve().parents
    ):
        yield _fine("permissions", "Only its owner may read the database.", database)
        return
    also = " and write" if mode & (stat.S_IWGRP | stat.S_IWOTH) else ""
    by_hand = f"`chmod 600 {database}`, and `chmod 700 {database.parent}` for the files next to it."
    title = f"Other users of this machine may read{also} the database."
    yield _found("permissions", title, database, (("mode", f"{stat.S_IMODE(mode):03o}"),), by_hand=by_hand)


def _room(config: MemoryConfig, is_open: bool) -> Iterator[DoctorFinding]:
    folder = config.database.parent if has_database(config.backend) else config.install.root
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return
    needed = 2 * file_size(config.database) if has_database(config.backend) else 0
    if free >= max(_LITTLE_ROOM, needed):
        yield _fine("room", f"The disk has {size(free)} free.", folder)
    else:
        risk = "serious" if free < _LITTLE_ROOM // 4 else "worth knowing"
        yield _found("room", f"The disk has only {size(free)} free.", folder, risk=risk)


_ORDER: dict[Risk, int] = {"serious": 0, "worth knowing": 1, "fine": 2}


async def examine(config: MemoryConfig, library: Library | None, *, deep: bool = False) -> DoctorReport:
    """Every check that fits the backend. `library` is None where the store did not open; then what can be told without
    it is told. `deep` also runs SQLite's and FTS5's integrity checks, on a copy made with the backup API, never on the
    live file. Works in threads; cancelling the await stops it.
    """
    notes: list[str] = []
    memory = None if library is None else library.memory
    found = await _of_store(config, library)
    if library is not None and library.memory.about.path is not None:
        # What damage keeps from being counted is among the findings.
        with suppress(InspectorError):
            if hidden := await library.superseded_hidden(MemoryFilter()):
                notes.append(f"Counted is every memory, {among_fact(hidden)} and hidden from the agent.")
    if deep:
        found += await _deep(memory, notes)
    found += await asyncio.to_thread(_file_findings, config, memory is not None)
    return DoctorReport(tuple(sorted(found, key=lambda finding: _ORDER[finding.risk])), deep, tuple(notes))


async def _of_store(config: MemoryConfig, library: Library | None) -> list[DoctorFinding]:
    """What the store itself tells; why it does not open, or cannot be read, where that is so."""
    if library is not None and library.memory.about.path is None:
        return [finding async for finding in _of_other_store(library.memory)]
    try:
        if library is None:
            await (await open_library(config)).close()
            return []
        return list(_database_findings(library, await require_database(library.memory).examine()))
    except InspectorError as error:
        # Damage deep in a file shows only when its rows are read.
        return [await asyncio.to_thread(_not_open, config, error)]


async def _deep(memory: Memory | None, notes: list[str]) -> list[DoctorFinding]:
    if memory is None:
        notes.append("The pages are only checked of a store that opens.")
    elif (database := memory.upkeep.database) is None:
        notes.append(f"There is nothing to check page by page in {memory.name}.")
    else:
        try:
            return list(_page_findings(await database.check_pages(), str(memory.about.path)))
        except InspectorError as error:
            notes.append(f"The deep check could not be made: {error.message}")
    return []


async def _of_other_store(memory: Memory) -> AsyncIterator[DoctorFinding]:
    health, place = await memory.health(), memory.about.location
    if memory.about.keeps_nothing:
        yield _fine("store", "Nothing is stored, so there is nothing to examine.")
        return
    if health.ok:
        count = counted(health.facts.get("memories", 0))
        yield _fine("store", f"The {memory.name} store answers and holds {count}.", place)
    kind = "store" if health.ok else "store-broken"
    for number, sentence in enumerate(health.findings, 1):
        yield _found(kind, one_line(sentence), place, id=f"store-{number}")


def _not_open(config: MemoryConfig, error: InspectorError) -> DoctorFinding:
    """The error as a finding, with every place its memories could come back from."""
    hints = [error.hint] if error.hint else []
    details: list[tuple[str, str]] = []
    if not isinstance(error, Locked):
        backups = [path for path in (*backups_of(config), *_old_databases(config)) if path.is_file()]
        details += [("backup", f"{backup} ({size(file_size(backup))})") for backup in backups]
        snapshot = config.install.root / SNAPSHOT
        if config.location is None and snapshot.is_file():
            details.append(("snapshot", str(snapshot)))
            hints.append(f"`zeroclaw memory hydrate` makes a database of {SNAPSHOT}, which holds the core memories.")
    if isinstance(error, BeforeFirstStart) and not details:
        return _fine("not-open", error.message, config.database)
    return _found("not-open", error.message, config.database, tuple(details), by_hand=" ".join(hints))
