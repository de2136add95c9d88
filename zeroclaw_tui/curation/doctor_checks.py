"""What the doctor checks in a database: tables, keyword index, vectors and pages. Checks only read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from zeroclaw_tui.backends.health import Health, Pages
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.repairs import REPAIR_STEPS, RepairName, format_bytes
from zeroclaw_tui.files.whole_database import ProcessUsingFile, describe_processes
from zeroclaw_tui.memory.text import are, counted, mask_secrets, one_line

Risk = Literal["serious", "worth knowing", "fine"]
Details = tuple[tuple[str, str], ...]

GLYPHS: Mapping[Risk, str] = {"serious": "✗", "worth knowing": "!", "fine": "✓"}
RISKS = tuple(GLYPHS)
_LARGE_LOG = 64 * 1024 * 1024
_MUCH_FREE_BYTES = 1024 * 1024
_MUCH_FREE_SHARE = 0.25
_INDEX_FOLLOWS = "Keyword recall misses memories that the index lacks, and so does the agent."


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One result of a check: a fact, its consequence, and what can be done about it.

    `by_hand` says what the user can do where this program cannot. `target` is the file concerned, `details` are further
    facts (name, value).
    """

    id: str
    title: str
    risk: Risk = "worth knowing"
    risk_sentence: str = ""
    repair: RepairName | None = None
    by_hand: str = ""
    target: str = ""
    details: Details = ()

    @property
    def repair_steps(self) -> tuple[str, ...]:
        return () if self.repair is None else REPAIR_STEPS[self.repair]

    def as_json(self) -> dict[str, Any]:
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


Findings = Iterator[DoctorFinding]


def fine(id: str, title: str, *, target: str = "") -> DoctorFinding:
    """The finding of a check that found no problem."""
    return DoctorFinding(id, title, "fine", target=target)


@dataclass(frozen=True, slots=True)
class Database:
    """What the checks of a database look at."""

    library: Library
    health: Health
    holders: tuple[ProcessUsingFile, ...] | None
    """The other programs that have it open; None where the system does not tell."""

    @property
    def facts(self) -> Mapping[str, Any]:
        return self.health.facts

    @property
    def is_hydrated(self) -> bool:
        return self.library.memory.about.not_opened_because is not None


def check_database(database: Database) -> Findings:
    """The findings of all checks that fit a database."""
    yield from _memories(database)
    yield from _file(database)
    if not database.is_hydrated:
        yield from _tables(database)
    if "vectors" not in database.library.memory.why_not:
        yield from _vectors(database)
        yield from _vector_lengths(database)
        yield from _vector_model(database)


def _memories(database: Database) -> Findings:
    """Memories that no agent recalls, or that ZeroClaw treats in an unexpected way."""
    facts = database.facts
    if database.is_hydrated:
        yield DoctorFinding(
            "hydrated",
            "ZeroClaw's hydration made this database, and no ZeroClaw version can open it.",
            "serious",
            "The agent runs without its memory, or does not start. The memories themselves are intact.",
            "repair hydrated database",
        )
    if unknown := facts.get("of unknown agents"):
        yield DoctorFinding(
            "unknown-agents",
            f"{are(unknown)} owned by agents that do not exist.",
            "serious",
            "No agent recalls them, and the database breaks its own rules when they are changed.",
            by_hand="Export them, delete them, and import them with `--agent NAME`.",
        )
    elif unknown is not None:
        yield fine("unknown-agents", "Every memory is owned by an agent that exists.")
    if count := facts.get("superseded by none"):
        yield DoctorFinding(
            "superseded",
            f"{are(count)} replaced by a memory that does not exist.",
            risk_sentence="They stay hidden from the agent although the memory that replaced them is missing.",
            by_hand="`zeroclaw memory list --superseded only` shows them, `zeroclaw memory edit KEY --unsupersede` "
            "makes one visible to the agent again.",
        )
    if undated := facts.get("without a readable date"):
        yield DoctorFinding(
            "dates",
            f"{are(undated)} without a readable date.",
            risk_sentence="Hygiene compares dates as text, so it may delete them at once or never.",
            by_hand="Edit such a memory's content once, or purge it: the list sorted by age shows them first.",
        )
    elif undated is not None:
        yield fine("dates", "Every memory has a readable date.")


def _file(database: Database) -> Findings:
    """The write-ahead log, the free pages, and the other programs that have the database open."""
    log, others = database.facts["write-ahead log bytes"], database.holders
    is_left = log and database.library.config.install.layout == "workspace" and others == ()
    if log > _LARGE_LOG:
        title = f"The write-ahead log is large: {format_bytes(log)}."
        follows = "Every start reads all of it, and a copy of the database file alone lacks its memories."
        yield DoctorFinding("log-size", title, risk_sentence=follows, repair="fold in write-ahead log")
    elif is_left:
        title = f"{format_bytes(log)} of writes are only in the write-ahead log, and no program has it open."
        follows = "ZeroClaw's move to 0.8 takes the database without the log, so these writes would be lost."
        yield DoctorFinding("log-size", title, risk_sentence=follows, repair="fold in write-ahead log")
    else:
        yield fine("log-size", f"The write-ahead log is {format_bytes(log) if log else 'empty'}.")
    size, free = database.facts["bytes"], database.facts["free bytes"]
    if free > max(_MUCH_FREE_BYTES, _MUCH_FREE_SHARE * size):
        title = f"{format_bytes(free)} of the {format_bytes(size)} of the database are free pages."
        follows = "Whoever gets the file may read deleted memories in these pages."
        yield DoctorFinding("free-space", title, risk_sentence=follows, repair="compact")
    else:
        share = f"{format_bytes(free)} of them" if free else "none of it"
        yield fine("free-space", f"The database has {format_bytes(size)}, {share} free.")
    if others is not None:
        programs = f"in {describe_processes(others)}; repairs wait for their turn" if others else "in no other program"
        yield fine("open-elsewhere", f"The database is open {programs}.")


def _tables(database: Database) -> Findings:
    """The tables, the keyword index and its triggers."""
    facts = database.facts
    if facts["shape"]:
        follows = "You can browse it here, but not change it."
        by_hand = "Export the memories, and import them into a store that ZeroClaw made."
        yield DoctorFinding("shape", facts["shape"], "serious", follows, by_hand=by_hand)
    else:
        yield fine("shape", f"The tables are those of ZeroClaw {facts['zeroclaw versions']}.")
    if facts["keyword index"]:
        yield DoctorFinding("keyword-index", facts["keyword index"], "serious", _INDEX_FOLLOWS, "rebuild keyword index")
    else:
        yield fine("keyword-index", "The keyword index contains every memory.")
    has_index = "keyword" not in database.library.memory.why_not
    if has_index and not facts["triggers"]:
        title = "The triggers that update the keyword index are missing."
        follows = "Keyword recall misses every memory stored from now on, and nothing can be changed here."
        yield DoctorFinding("triggers", title, "serious", follows, "rebuild keyword index")
    elif has_index:
        yield fine("triggers", "The triggers that update the keyword index exist.")


def _vectors(database: Database) -> Findings:
    """How many memories have a vector, and whether it is whole."""
    library, facts = database.library, database.facts
    embedded, without = facts["embedded"], facts["not embedded"]
    if library.embedder is None and not embedded:
        yield fine("vectors", "No embeddings are configured, and no memory has a vector, so recall uses keywords only.")
    elif not without:
        yield fine("vectors", "Every memory has a vector.")
    else:
        title = f"{are(without)} without a vector, {embedded:,} with one."
        follows = "Vector recall never finds those without."
        yield _with_fill(library, DoctorFinding("vectors", title, risk_sentence=follows))
    if cut := facts.get("cut vectors", 0):
        title = f"{are(cut)} embedded with a truncated vector."
        follows = "A program wrote half a vector; vector recall never finds these memories."
        yield _with_fill(library, DoctorFinding("cut-vectors", title, "serious", follows))


def _vector_lengths(database: Database) -> Findings:
    library, facts = database.library, database.facts
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
        yield fine("vector-lengths", f"Every vector has {expected:,} numbers.")
        return
    have = "has a vector" if sum(wrong) == 1 else "have vectors"
    by_length = tuple((f"{int(length):,} numbers", counted(count)) for length, count in lengths.items())
    finding = DoctorFinding(
        "vector-lengths",
        f"{counted(sum(wrong))} {have} of another length than {expected:,}.",
        "serious" if len(wrong) == len(lengths) else "worth knowing",
        "ZeroClaw gives a vector of another length than the query's a score of 0, without a warning.",
        details=(("expected", f"{expected:,} numbers, by {source}"), *by_length),
    )
    yield _with_fill(library, finding, expected)


def _vector_model(database: Database) -> Findings:
    noted: Mapping[str, str] = database.facts.get("embedding identity", {})
    embedding = database.library.config.embedding
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
        yield DoctorFinding(
            "vector-model",
            "The vectors come from another model than the configured one.",
            risk_sentence="When ZeroClaw next opens the database it deletes all of them.",
            by_hand="Start ZeroClaw once, then run `zeroclaw memory reindex`; or set the model back.",
            details=details,
        )
    else:
        yield fine("vector-model", "The vectors come from the configured model.")


def _with_fill(library: Library, finding: DoctorFinding, expected: int | None = None) -> DoctorFinding:
    """The finding with the repair that creates vectors of the expected length, or why they cannot be created now."""
    if library.embedder is None:
        reason = library.no_embedder_because or "No embeddings are configured."
    elif library.read_only_because is not None:
        reason = library.read_only_because
    elif expected is None or library.embedder.dimensions == expected:
        return replace(finding, repair="fill vectors")
    else:
        reason = "The configured model makes vectors of another length: start ZeroClaw, which deletes the old ones."
    by_hand = f"{reason[:1].upper()}{reason[1:]} Once that is done, run `zeroclaw memory reindex`."
    return replace(finding, by_hand=by_hand)


def check_pages(pages: Pages) -> Findings:
    """The findings of SQLite's and FTS5's integrity checks."""
    if pages.faults:
        yield DoctorFinding(
            "pages",
            f"SQLite finds {counted(len(pages.faults), 'fault')} in the pages of the database.",
            "serious",
            "Memories on damaged pages are lost or wrong, and the damage can grow with every write.",
            by_hand="Stop ZeroClaw, copy the database with its -wal file, and try `sqlite3 COPY .recover`, or restore "
            "a backup.",
            details=tuple((f"fault {number}", one_line(text)) for number, text in enumerate(pages.faults, 1)),
        )
    else:
        yield fine("pages", "Every page of the database is intact.")
    if pages.index_in_step:
        yield fine("index-words", "The keyword index contains exactly the words of the memories.")
    elif pages.index_in_step is not None:
        title = "The keyword index does not contain the words of the memories."
        yield DoctorFinding("index-words", title, "serious", _INDEX_FOLLOWS, "rebuild keyword index")
