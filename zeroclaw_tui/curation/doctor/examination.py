"""Examining a store and what lies around it, and why one does not open; reading only."""

from __future__ import annotations

import asyncio
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import has_database
from zeroclaw_tui.backends.health import Health, Pages, Repair, StoreFacts
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.changes import Leftover, find_leftovers
from zeroclaw_tui.curation.doctor.repairs import backups_of, size
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.snapshot.snapshot import NAME as SNAPSHOT
from zeroclaw_tui.curation.words import among_fact
from zeroclaw_tui.files.database import wal_file
from zeroclaw_tui.files.disk import file_size, names_in
from zeroclaw_tui.files.whole_database import Holder, named
from zeroclaw_tui.memory.errors import BeforeFirstStart, InspectorError, Locked
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import are, counted, one_line

RepairName = Repair | Literal["compact", "fill vectors", "remove leftover", "remove unfinished", "join split log"]
Risk = Literal["serious", "worth knowing", "fine"]
BACKED_UP = "Make a backup of the whole database."


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
    details: tuple[tuple[str, str], ...] = ()


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


def fine(id: str, title: str, target: str = "") -> DoctorFinding:
    """A check that found nothing."""
    return DoctorFinding(id, title, "fine", "", target=target)


_BIG_LOG = 64 * 1024 * 1024
_MUCH_FREE = 1024 * 1024
_FREE_SHARE = 0.25
_WORDS_MISS = "Recall by words misses what the index lacks, and the agent with it."
_REBUILD = (
    BACKED_UP,
    "Put ZeroClaw's own index and triggers back where they are missing.",
    "Fill the index anew from the memories, in one transaction.",
)

_REINDEX = "`zeroclaw memory reindex` makes vectors once an embedding provider is configured."
_FILLING = (
    BACKED_UP,
    "Have the configured model make a vector of each such memory; `zeroclaw memory reindex --dry-run` tells how many, "
    "where their text goes and about what it costs.",
    "Write them a few at a time; stopping loses nothing.",
)

Facts = Mapping[str, Any]
Details = tuple[tuple[str, str], ...]


def database_findings(library: Library, found: StoreFacts) -> list[DoctorFinding]:
    """A finding of each check, the fine ones too."""
    facts, target = found.health.facts, str(library.memory.file)
    findings = [*_shape(found, target), *_keyword_index(found, target), *_owners(facts), *_rows(facts, found)]
    findings += [*_log(library.config, found, target), *_space(found, target), *_holders(found.holders)]
    return findings + vector_findings(library, found)


def page_findings(found: Pages, target: str) -> list[DoctorFinding]:
    """What the check of a copy showed."""
    if found.faults:
        pages = DoctorFinding(
            "pages",
            f"SQLite finds {counted(len(found.faults), 'fault')} in the pages of the database.",
            "serious",
            "Memories on damaged pages are lost or wrong, and the damage can grow with every write.",
            by_hand="Stop ZeroClaw, copy the database with its -wal file, and try `sqlite3 COPY .recover`, or put a "
            "backup back.",
            target=target,
            details=tuple((f"fault {number}", one_line(text)) for number, text in enumerate(found.faults, 1)),
        )
    else:
        pages = fine("pages", "Every page of the database is whole.", target)
    if found.index_in_step is None:
        return [pages]
    if found.index_in_step:
        return [pages, fine("index-words", "The keyword index holds exactly the words of the memories.", target)]
    return [
        pages,
        DoctorFinding(
            "index-words", "The keyword index does not hold the words the memories have.", "serious", _WORDS_MISS,
            "rebuild keyword index", _REBUILD, target=target,
        ),
    ]  # fmt: skip


def _shape(found: StoreFacts, target: str) -> Iterator[DoctorFinding]:
    if found.is_hydrated:
        yield DoctorFinding(
            "hydrated",
            "ZeroClaw's hydration made this database, and no ZeroClaw version can open it.",
            "serious",
            "The agent runs without its memory, or does not start. The memories themselves are whole.",
            "repair hydrated database",
            (
                BACKED_UP,
                "Add the column session_id where it is missing.",
                "Make the embedding cache anew as ZeroClaw makes it; it holds nothing that is not made again.",
                "Put ZeroClaw's indexes and triggers in, and fill the keyword index anew, all in one transaction.",
            ),
            target=target,
        )
    elif found.shape_because:
        yield DoctorFinding(
            "shape", found.shape_because, "serious", "It can be looked at here, but not changed.",
            by_hand="Export the memories, and import them into a store that ZeroClaw made.", target=target,
        )  # fmt: skip
    else:
        yield fine("shape", f"The tables are those of ZeroClaw {found.health.facts['zeroclaw versions']}.", target)


def _keyword_index(found: StoreFacts, target: str) -> Iterator[DoctorFinding]:
    facts = found.health.facts
    if found.is_hydrated:
        return
    if not found.has_keyword_index:
        yield _index_finding("keyword-index", "There is no keyword index.", target)
        return
    lacking, too_many = facts.get("not in the keyword index", 0), facts.get("only in the keyword index", 0)
    if lacking:
        yield _index_finding("keyword-index", f"{are(lacking)} not in the keyword index.", target)
    elif too_many:
        yield _index_finding(
            "keyword-index", f"The keyword index still knows {counted(too_many)} that are gone.", target
        )
    else:
        yield fine("keyword-index", "The keyword index knows every memory.", target)
    if found.has_triggers:
        yield fine("triggers", "The triggers that keep the keyword index are there.", target)
    else:
        yield DoctorFinding(
            "triggers", "The triggers that keep the keyword index are missing.", "serious",
            "What is stored from now on is not found by words, and nothing can be changed here.",
            "rebuild keyword index", _REBUILD, target=target,
        )  # fmt: skip


def _index_finding(id: str, title: str, target: str) -> DoctorFinding:
    return DoctorFinding(id, title, "serious", _WORDS_MISS, "rebuild keyword index", _REBUILD, target=target)


def _owners(facts: Facts) -> Iterator[DoctorFinding]:
    nameless = facts.get("of unknown agents")
    if nameless:
        yield DoctorFinding(
            "unknown-agents",
            f"{are(nameless)} owned by agents that do not exist.",
            "serious",
            "No agent recalls them, and the database breaks its own rules when they are changed.",
            "name unknown agents",
            (BACKED_UP, "Add each missing agent with the name recovered- and the beginning of its id."),
            target=str(facts["database"]),
        )
    elif nameless is not None:
        yield fine("unknown-agents", "Every memory is owned by an agent that exists.", str(facts["database"]))


def _rows(facts: Facts, rows: StoreFacts) -> Iterator[DoctorFinding]:
    if rows.superseded_by_none:
        yield DoctorFinding(
            "superseded",
            f"{are(rows.superseded_by_none)} replaced by a memory that is not there.",
            "worth knowing",
            "They stay hidden from the agent although nothing stands for them.",
            by_hand="`zeroclaw memory list --superseded only` shows them, `zeroclaw memory edit KEY --unsupersede` "
            "lets the agent have one again.",
        )
    if rows.old_sessions is not None:
        yield DoctorFinding(
            "old-sessions",
            rows.old_sessions,
            "worth knowing",
            "A recall within such a session finds nothing until they are respelled.",
            by_hand="Nothing needs to be done: ZeroClaw 0.8 and later does it by itself.",
        )
    if rows.highest_place > rows.farthest_place:
        yield DoctorFinding(
            "rowids",
            f"The highest rowid is {rows.highest_place:,}, close to the last one that SQLite has.",
            "worth knowing",
            "Once that is in use SQLite gives new memories random rowids, and no order tells which came last.",
            by_hand=f"`sqlite3 FILE 'SELECT id FROM memories WHERE rowid > {rows.farthest_place}'` names them; "
            "`zeroclaw memory purge --id ID` and then `undo` gives such a memory a rowid among the others.",
        )
    undated = facts.get("without a readable date")
    if undated:
        yield DoctorFinding(
            "dates", f"{are(undated)} without a date that can be read.", "worth knowing",
            "Hygiene compares dates as text, so it may delete them at once or never; their age is not known.",
            by_hand="Edit such a memory's content once, or purge it: the list sorted by age shows them first.",
        )  # fmt: skip
    elif undated is not None:
        yield fine("dates", "Every memory has a date that can be read.")


def _log(config: MemoryConfig, found: StoreFacts, target: str) -> Iterator[DoctorFinding]:
    facts, others = found.health.facts, found.holders
    log = facts["write-ahead log bytes"]
    if facts["journal mode"] == "wal":
        yield fine("journal-mode", "The journal mode is WAL, as ZeroClaw sets it.", target)
    else:
        yield DoctorFinding(
            "journal-mode", "The journal mode is not WAL.", "worth knowing",
            "Readers and writers wait for one another.",
            by_hand="ZeroClaw switches it when it next opens the database; 0.1.8 can be set to leave it so.",
            target=target,
        )  # fmt: skip
    steps = (
        BACKED_UP,
        "Have SQLite write the log back into the database and cut it to nothing; only when no other program has it "
        "open.",
    )
    if log > _BIG_LOG:
        yield DoctorFinding(
            "log-size", f"The write-ahead log is large: {size(log)}.", "worth knowing",
            "Every start reads all of it, and a copy of the database file alone lacks what is in it.",
            "fold in write-ahead log", steps, target=target,
        )  # fmt: skip
    elif log and config.install.layout == "workspace" and others is not None and not others:
        yield DoctorFinding(
            "log-size", f"{size(log)} of writes are only in the write-ahead log, and no program has it open.",
            "worth knowing",
            "ZeroClaw's move to 0.8 takes the database and leaves the log behind, so that they would be lost.",
            "fold in write-ahead log", steps, target=target,
        )  # fmt: skip
    else:
        yield fine("log-size", f"The write-ahead log has {size(log)}." if log else "No write waits in a log.", target)


def _space(found: StoreFacts, target: str) -> Iterator[DoctorFinding]:
    facts, free = found.health.facts, found.free_bytes
    if free > max(_MUCH_FREE, _FREE_SHARE * facts["bytes"]):
        yield DoctorFinding(
            "free-space", f"{size(free)} of the {size(facts['bytes'])} of the database hold nothing.", "worth knowing",
            "What was deleted may still be read in them by whoever gets the file.",
            "compact",
            (
                BACKED_UP,
                "Write the database anew without its free pages; only when no other program has it open.",
                "Fill the keyword index anew, and compare every memory with before.",
            ),
            target=target,
        )  # fmt: skip
    else:
        spare = f"{size(free)} of them" if free else "none of it"
        yield fine("free-space", f"The database has {size(facts['bytes'])}, {spare} free.", target)


def _holders(others: Sequence[Holder] | None) -> Iterator[DoctorFinding]:
    if others is None:
        return
    if others:
        yield fine("open-elsewhere", f"The database is open in {named(tuple(others))}; repairs wait for their turn.")
    else:
        yield fine("open-elsewhere", "No other program has the database open.")


def vector_findings(library: Library, found: StoreFacts) -> list[DoctorFinding]:
    """Coverage by category, vectors of a wrong length, cut vectors, and which model they come from."""
    if not library.memory.capabilities.vectors:
        return []
    facts = found.health.facts
    return [_coverage(library, facts, found), *_lengths(library, facts), *_cut(library, facts), *_model(library, facts)]


def expected_dimensions(library: Library, facts: Mapping[str, Any]) -> tuple[int | None, str]:
    """How long vectors should be and who says so: the store, else the config, else most of them; None for no word."""
    named = str(facts.get("embedding identity", {}).get("embedding_dimensions", ""))
    if named.isdecimal():
        return int(named), "the store's own note"
    if library.config.embedding.is_on:
        return library.config.embedding.dimensions, "memory.embedding_dimensions"
    lengths: Mapping[str, int] = facts.get("embedded by dimensions", {})
    most = max(lengths, key=lambda length: lengths[length], default=None)
    return (int(most), "most of them") if most is not None else (None, "")


def _coverage(library: Library, facts: Mapping[str, Any], rows: StoreFacts) -> DoctorFinding:
    embedded, lacking = facts.get("embedded", 0), rows.without_vector
    details: Details = tuple(
        (one_line(category) or "(none)", f"{with_vector:,} of {with_vector + without:,}")
        for category, (with_vector, without) in rows.embedded.items()
    )
    target = library.memory.location
    if library.embedder is None and not embedded:
        title = "No embeddings are configured, and no memory has a vector: recall goes by words."
        return DoctorFinding("vectors", title, "fine", "", target=target)
    if not lacking:
        return DoctorFinding("vectors", "Every memory has a vector.", "fine", "", target=target, details=details)
    title = f"{are(lacking)} without a vector, {embedded:,} with one."
    return DoctorFinding(
        "vectors", title, "worth knowing", "Recall by meaning never finds those without.", **_filling(library),
        target=target, details=details,
    )  # fmt: skip


def _lengths(library: Library, facts: Mapping[str, Any]) -> list[DoctorFinding]:
    lengths: Mapping[str, int] = facts.get("embedded by dimensions", {})
    expected, by_whom = expected_dimensions(library, facts)
    if not lengths or expected is None:
        return []
    wrong = {length: count for length, count in lengths.items() if int(length) != expected}
    if not wrong:
        return [fine("vector-lengths", f"Every vector has {expected:,} numbers.", library.memory.location)]
    risk: Risk = "serious" if len(wrong) == len(lengths) else "worth knowing"
    total = sum(wrong.values())
    title = f"{counted(total)} {'has a vector' if total == 1 else 'have vectors'} of another length than {expected:,}."
    details = tuple((f"{int(length):,} numbers", counted(count)) for length, count in lengths.items())
    return [
        DoctorFinding(
            "vector-lengths", title, risk,
            "A vector of another length than the query's counts as nothing alike, without a word from ZeroClaw.",
            **_filling(library, expected), target=library.memory.location,
            details=(("expected", f"{expected:,} numbers, by {by_whom}"), *details),
        )
    ]  # fmt: skip


def _cut(library: Library, facts: Mapping[str, Any]) -> list[DoctorFinding]:
    cut = facts.get("cut vectors", 0)
    if not cut:
        return []
    return [
        DoctorFinding(
            "cut-vectors", f"{are(cut)} embedded with a vector cut in the middle of a number.", "serious",
            "Something wrote half a vector; recall by meaning never finds them.", **_filling(library),
            target=library.memory.location,
        )
    ]  # fmt: skip


def _model(library: Library, facts: Mapping[str, Any]) -> list[DoctorFinding]:
    stamped: Mapping[str, str] = facts.get("embedding identity", {})
    embedding = library.config.embedding
    if not stamped or not embedding.is_on:
        return []
    ours = {
        "embedding_provider": embedding.provider,
        "embedding_model": embedding.model,
        "embedding_dimensions": str(embedding.dimensions),
    }
    other = {name: stamped[name] for name in ours if name in stamped and stamped[name] != ours[name]}
    if not other:
        return [fine("vector-model", "The vectors come from the configured model.", library.memory.location)]
    return [
        DoctorFinding(
            "vector-model",
            "The vectors come from another model than the configured one.",
            "worth knowing",
            "When ZeroClaw next opens the database it empties all of them.",
            by_hand="Start ZeroClaw once, then run `zeroclaw memory reindex`; or set the model back.",
            target=library.memory.location,
            details=tuple((name, f"{one_line(value)}, configured: {ours[name]}") for name, value in other.items()),
        )
    ]


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
    return {"repair": "fill vectors", "repair_steps": _FILLING}


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
