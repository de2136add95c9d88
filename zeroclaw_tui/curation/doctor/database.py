"""What the facts of a database mean: keyword index, shape, owners, dates, log, free space, and its vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from zeroclaw_tui.backends.health import Pages, Repair, StoreFacts
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.files.whole_database import Holder, named
from zeroclaw_tui.memory.text import counted, one_line

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


def are(count: int) -> str:
    """ "1 memory is", "1,204 memories are"."""
    return f"{counted(count)} {'is' if count == 1 else 'are'}"


def size(count: int) -> str:
    """Bytes as "37 bytes", "1.2 KB" or "310 MB", 1,024 to the unit."""
    value, unit = float(count), ""
    for larger in ("KB", "MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1024, larger
    if not unit:
        return counted(count, "byte")
    return f"{value:.{1 if value < 9.95 else 0}f} {unit}"


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
