"""What the doctor checks in a database: tables, keyword index, vectors and pages. Checks only read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from zeroclaw_tui.backends.health import Health, Pages
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.repairs import REPAIR_STEPS, RepairName
from zeroclaw_tui.files.whole_database import ProcessUsingFile
from zeroclaw_tui.memory.text import are, counted, mask_secrets, one_line, size_shown

Risk = Literal["serious", "worth knowing", "fine"]

GLYPHS: Mapping[Risk, str] = {"serious": "✗", "worth knowing": "!", "fine": "✓"}
RISKS = tuple(GLYPHS)
_LARGE_LOG = 64 * 1024 * 1024
_MUCH_FREE_BYTES = 1024 * 1024
_MUCH_FREE_SHARE = 0.25
_HYDRATED = "ZeroClaw's hydration made this database, and no ZeroClaw version can open it."
_INDEX_FOLLOWS = "Keyword recall misses memories that the index lacks, and so does the agent."


@dataclass(frozen=True, slots=True)
class DoctorFinding:
    """One result of a check: a fact, its consequence, and what can be done about it.

    `by_hand` says what the user can do where this program cannot. `target` is the file concerned.
    """

    id: str
    title: str
    risk: Risk = "worth knowing"
    risk_sentence: str = ""
    repair: RepairName | None = None
    by_hand: str = ""
    target: str = ""

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
        }


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

    @property
    def vector_length(self) -> tuple[int, str]:
        """How many numbers a vector should have, and what says so."""
        noted = str(self.facts.get("embedding identity", {}).get("embedding_dimensions", ""))
        if noted.isdecimal():
            return int(noted), "the store's own note"
        if self.library.config.embedding.is_on:
            return self.library.config.embedding.dimensions, "memory.embedding_dimensions"
        lengths: Mapping[str, int] = self.facts["embedded by dimensions"]
        return int(max(lengths, key=lambda length: lengths[length])), "most of them"


class Check(NamedTuple):
    """`look` gives what is wrong in a sentence, "" where nothing is, and None where there is nothing to look at.

    `fine` is the title where nothing is wrong, `follows` what follows where something is.
    """

    id: str
    look: Callable[[Database], str | None]
    fine: str
    risk: Risk
    follows: str
    repair: RepairName | None = None
    by_hand: str = ""


def check_database(database: Database) -> Iterator[DoctorFinding]:
    """The findings of all checks that fit a database."""
    for check in CHECKS:
        problem = check.look(database)
        if problem:
            finding = DoctorFinding(check.id, problem, check.risk, check.follows, check.repair, check.by_hand)
            yield _with_fill(database, finding) if check.repair == "fill vectors" else finding
        elif problem is not None:
            yield fine(check.id, check.fine)


def _unknown_agents(database: Database) -> str | None:
    count = database.facts.get("of unknown agents")
    return None if count is None else f"{are(count)} owned by agents that do not exist." if count else ""


def _in_tables(fact: str) -> Callable[[Database], str | None]:
    """Looks at a sentence about tables that ZeroClaw itself made."""
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
    if not lengths:
        return None
    expected, source = database.vector_length
    wrong = sum(count for length, count in lengths.items() if int(length) != expected)
    have = "has a vector" if wrong == 1 else "have vectors"
    return f"{counted(wrong)} {have} of another length than {expected:,}, by {source}." if wrong else ""


def _vector_model(database: Database) -> str | None:
    noted: Mapping[str, str] = database.facts.get("embedding identity", {})
    embedding = database.library.config.embedding
    if not noted or not embedding.is_on:
        return None
    configured = {
        "embedding_provider": embedding.provider,
        "embedding_model": embedding.model,
        "embedding_dimensions": str(embedding.dimensions),
    }
    other = [
        f"{name} {one_line(noted[name])}, configured: {value}"
        for name, value in configured.items()
        if noted.get(name, value) != value
    ]
    return f"The vectors come from another model than the configured one: {'; '.join(other)}." if other else ""


def _with_fill(database: Database, finding: DoctorFinding) -> DoctorFinding:
    """The finding with the repair that creates vectors, or why they cannot be created now."""
    library = database.library
    if library.embedder is None:
        reason = library.no_embedder_because or "No embeddings are configured."
    elif library.read_only_because is not None:
        reason = library.read_only_because
    elif finding.id != "vector-lengths" or library.embedder.dimensions == database.vector_length[0]:
        return replace(finding, by_hand="`zeroclaw memory reindex` shows what is sent where, and creates them.")
    else:
        reason = "The configured model makes vectors of another length: start ZeroClaw, which deletes the old ones."
    by_hand = f"{reason[:1].upper()}{reason[1:]} Once that is done, run `zeroclaw memory reindex`."
    return replace(finding, repair=None, by_hand=by_hand)


def check_pages(pages: Pages) -> Iterator[DoctorFinding]:
    """The findings of SQLite's and FTS5's integrity checks."""
    if pages.faults:
        yield DoctorFinding(
            "pages",
            f"SQLite finds {counted(len(pages.faults), 'fault')} in the pages of the database: {pages.faults[0]}.",
            "serious",
            "Memories on damaged pages are lost or wrong, and the damage can grow with every write.",
            by_hand="Stop ZeroClaw, copy the database with its -wal file, and try `sqlite3 COPY .recover`, or restore "
            "a backup.",
        )
    else:
        yield fine("pages", "Every page of the database is intact.")
    if pages.index_in_step:
        yield fine("index-words", "The keyword index contains exactly the words of the memories.")
    elif pages.index_in_step is not None:
        title = "The keyword index does not contain the words of the memories."
        yield DoctorFinding("index-words", title, "serious", _INDEX_FOLLOWS, "rebuild keyword index")


CHECKS = (
    Check(
        "hydrated", lambda database: _HYDRATED if database.is_hydrated else None, "", "serious",
        "The agent runs without its memory, or does not start. The memories themselves are intact.",
        "repair hydrated database",
    ),
    Check(
        "unknown-agents", _unknown_agents,
        "Every memory is owned by an agent that exists.", "serious",
        "No agent recalls them, and the database breaks its own rules when they are changed.",
        by_hand="Export them, delete them, and import them with `--agent NAME`.",
    ),
    Check(
        "log-size", _log_size, "The write-ahead log is small.", "worth knowing",
        "A copy of the database file alone lacks these writes, and so does ZeroClaw's move to 0.8.",
        "fold in write-ahead log",
    ),
    Check(
        "free-space", _free_space, "The database has few free pages.", "worth knowing",
        "Whoever gets the file may read deleted memories in these pages.", "compact",
    ),
    Check(
        "shape", _in_tables("shape"), "The tables are those of ZeroClaw.", "serious",
        "You can browse it here, but not change it.",
        by_hand="Export the memories, and import them into a store that ZeroClaw made.",
    ),
    Check(
        "keyword-index", _in_tables("keyword index"), "The keyword index contains every memory.", "serious",
        _INDEX_FOLLOWS,
        "rebuild keyword index",
    ),
    Check(
        "triggers", _triggers, "The triggers that update the keyword index exist.", "serious",
        "Keyword recall misses every memory stored from now on, and nothing can be changed here.",
        "rebuild keyword index",
    ),
    Check(
        "vectors", _vectors, "Every memory has a vector.", "worth knowing",
        "Vector recall never finds those without.", "fill vectors",
    ),
    Check(
        "vector-lengths", _vector_lengths, "Every vector has the right length.", "serious",
        "ZeroClaw gives a vector of another length than the query's a score of 0, without a warning.", "fill vectors",
    ),
    Check(
        "vector-model", _vector_model, "The vectors come from the configured model.", "worth knowing",
        "When ZeroClaw next opens the database it deletes all of them.",
        by_hand="Start ZeroClaw once, then run `zeroclaw memory reindex`; or set the model back.",
    ),
)  # fmt: skip
