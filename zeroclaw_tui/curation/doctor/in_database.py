"""What the facts of a database mean: keyword index, shape, owners, dates, log and free space."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from zeroclaw_tui.backends.base import Health
from zeroclaw_tui.backends.sqlite.health import RESPELLED
from zeroclaw_tui.backends.sqlite.raw_rows import FARTHEST
from zeroclaw_tui.backends.sqlite.upkeep.alone import Holder, named
from zeroclaw_tui.backends.sqlite.upkeep.integrity import Integrity
from zeroclaw_tui.backends.sqlite.upkeep.row_facts import RowFacts
from zeroclaw_tui.backends.sqlite.writable import WritableSqlite
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.doctor.finding import DoctorFinding
from zeroclaw_tui.curation.doctor.words import BACKED_UP, are, counted, fine, size
from zeroclaw_tui.memory.text import one_line

_BIG_LOG = 64 * 1024 * 1024
_MUCH_FREE = 1024 * 1024
_FREE_SHARE = 0.25
_WORDS_MISS = "Recall by words misses what the index lacks, and the agent with it."
_REBUILD = (
    BACKED_UP,
    "Put ZeroClaw's own index and triggers back where they are missing.",
    "Fill the index anew from the memories, in one transaction.",
)

Facts = Mapping[str, Any]


def database_findings(
    config: MemoryConfig,
    memory: WritableSqlite,
    health: Health,
    rows: RowFacts,
    others: Sequence[Holder] | None,
) -> list[DoctorFinding]:
    """A finding of each check, the fine ones too; `others` are the programs that have it open, None if unknown."""
    facts = health.facts
    found = [*_shape(memory), *_keyword_index(memory, facts), *_owners(facts), *_rows(facts, rows)]
    return [*found, *_log(config, memory, facts, others), *_space(memory, facts, rows), *_holders(others)]


def integrity_findings(memory: WritableSqlite, found: Integrity) -> list[DoctorFinding]:
    """What the check of a copy showed."""
    target = str(memory.path)
    if found.problems:
        pages = DoctorFinding(
            "pages",
            f"SQLite finds {counted(len(found.problems), 'fault')} in the pages of the database.",
            "serious",
            "Memories on damaged pages are lost or wrong, and the damage can grow with every write.",
            by_hand="Stop ZeroClaw, copy the database with its -wal file, and try `sqlite3 COPY .recover`, or put a "
            "backup back.",
            target=target,
            details=tuple((f"fault {number}", one_line(text)) for number, text in enumerate(found.problems, 1)),
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


def _shape(memory: WritableSqlite) -> Iterator[DoctorFinding]:
    schema, target = memory.schema, str(memory.path)
    if schema.hydrate_made:
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
    elif schema.read_only_because:
        yield DoctorFinding(
            "shape", schema.read_only_because, "serious", "It can be looked at here, but not changed.",
            by_hand="Export the memories, and import them into a store that ZeroClaw made.", target=target,
        )  # fmt: skip
    else:
        yield fine("shape", f"The tables are those of ZeroClaw {health_versions(schema.generation)}.", target)


def health_versions(generation: str) -> str:
    """Which versions have a generation's tables."""
    from zeroclaw_tui.backends.sqlite.schema import VERSIONS

    return VERSIONS[generation]


def _keyword_index(memory: WritableSqlite, facts: Facts) -> Iterator[DoctorFinding]:
    schema, target = memory.schema, str(memory.path)
    if schema.hydrate_made:
        return
    if not schema.has_fts:
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
    if schema.has_triggers:
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


def _rows(facts: Facts, rows: RowFacts) -> Iterator[DoctorFinding]:
    if rows.superseded_by_none:
        yield DoctorFinding(
            "superseded",
            f"{are(rows.superseded_by_none)} replaced by a memory that is not there.",
            "worth knowing",
            "They stay hidden from the agent although nothing stands for them.",
            by_hand="`zeroclaw memory list --superseded only` shows them, `zeroclaw memory edit KEY --unsupersede` "
            "lets the agent have one again.",
        )
    if RESPELLED in facts:
        yield DoctorFinding(
            "old-sessions",
            str(facts[RESPELLED]),
            "worth knowing",
            "A recall within such a session finds nothing until they are respelled.",
            by_hand="Nothing needs to be done: ZeroClaw 0.8 and later does it by itself.",
        )
    if rows.highest > FARTHEST:
        yield DoctorFinding(
            "rowids",
            f"The highest rowid is {rows.highest:,}, close to the last one that SQLite has.",
            "worth knowing",
            "Once that is in use SQLite gives new memories random rowids, and no order tells which came last.",
            by_hand=f"`sqlite3 FILE 'SELECT id FROM memories WHERE rowid > {FARTHEST}'` names them; `zeroclaw memory "
            "purge --id ID` and then `undo` gives such a memory a rowid among the others.",
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


def _log(
    config: MemoryConfig, memory: WritableSqlite, facts: Facts, others: Sequence[Holder] | None
) -> Iterator[DoctorFinding]:
    log, target = facts["write-ahead log bytes"], str(memory.path)
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


def _space(memory: WritableSqlite, facts: Facts, rows: RowFacts) -> Iterator[DoctorFinding]:
    free, target = rows.free_bytes, str(memory.path)
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
