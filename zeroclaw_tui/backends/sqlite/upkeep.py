"""How a database is as far as reading tells, a copy of it put back in time, and what is repaired or made anew."""

from __future__ import annotations

import hashlib
import os
import re
import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.health import MOST_FAULTS, Compacted, Health, Pages, StoreFacts
from zeroclaw_tui.backends.sqlite.schema import (
    INDEX_TABLES,
    KEYWORD_INDEX,
    TRIGGERS,
    Schema,
    create_database,
    new_database,
    statements,
)
from zeroclaw_tui.backends.sqlite.select import NO_MOMENT, created, moment_of
from zeroclaw_tui.backends.sqlite.transaction import FARTHEST, Transaction, Writing, aliases_of, missing_of_index
from zeroclaw_tui.backends.tables import DEFAULT_AGENT, respelled, utc_now
from zeroclaw_tui.files.database import (
    any_text,
    as_text,
    bound,
    could_not_be_made,
    is_wal,
    quoted,
    translate_sqlite_errors,
    wal_file,
)
from zeroclaw_tui.files.disk import (
    FULL,
    copy_owner_and_mode,
    file_size,
    make_folder,
    remove_stale_temp_files,
    rename_exclusive,
    sync_folder,
    temporary_folder,
    work_folder,
)
from zeroclaw_tui.files.whole_database import (
    check_room,
    copy_database,
    exclusive_connection,
    free_bytes,
    require_unused,
)
from zeroclaw_tui.memory.change import AGENTS, MEMORIES, StoredRow, Value
from zeroclaw_tui.memory.errors import Corrupt, DiskFull, Locked, Refused
from zeroclaw_tui.memory.query import NO_DATE, Facets
from zeroclaw_tui.memory.statistics import Statistics
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.profiles import COLUMNS, SCHEMA_VERSIONS, SMALLEST

if TYPE_CHECKING:
    from zeroclaw_tui.backends.cancellation import CancellableTask


LISTED_BY_ZEROCLAW = 1000
"""ZeroClaw's own list and export stop here."""

RESPELLED = "sessions to be respelled"
"""The fact that tells of session ids ZeroClaw >= 0.8.0 spells otherwise, in a sentence; only there where it has any."""

DAMAGED_INDEX = "keyword index damaged"
"""The fact that pages of the keyword index cannot be read; only there where it is so."""

_BIG_LOG = 64 * 1024 * 1024


def health(
    connection: sqlite3.Connection,
    schema: Schema,
    path: Path,
    notices: Sequence[str] = (),
    counted: tuple[Statistics, Facets] | None = None,
) -> Health:
    """The facts and what follows from them; for a thread of its own, as it passes over all rows a few times.

    `notices` are about how the store was opened. What `counted` tells of all rows is not counted again.
    """
    facts = _facts(connection, schema, path, counted)
    serious = _serious(facts, schema)
    findings = (*serious, *(notice for notice in notices if notice not in serious), *_minor(facts))
    versions = f"{schema.generation}, ZeroClaw {SCHEMA_VERSIONS[schema.generation]}"
    memories = "1 memory" if facts["memories"] == 1 else f"{facts['memories']:,} memories"
    verdict = "something is wrong" if serious else "nothing wrong found"
    return Health(
        ok=not serious,
        summary=f"{memories}, schema {versions}: {verdict}.",
        findings=findings,
        facts=facts,
    )


def _facts(
    connection: sqlite3.Connection, schema: Schema, path: Path, counted: tuple[Statistics, Facets] | None
) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "database": str(path),
        "bytes": file_size(path),
        "write-ahead log bytes": file_size(wal_file(path)),
        "journal mode": "wal" if is_wal(path) else "delete",
        "generation": schema.generation,
        "zeroclaw versions": SCHEMA_VERSIONS[schema.generation],
        "columns": sorted(schema.columns),
    }
    facts |= _row_facts(connection, schema) if counted is None else _counted_facts(schema, *counted)
    facts |= _cache_facts(connection, schema)
    facts |= _keyword_facts(connection, schema)
    if schema.has_agents:
        facts |= _agent_facts(connection)
        facts |= _session_facts(connection, schema)
    return facts


def _row_facts(connection: sqlite3.Connection, schema: Schema) -> dict[str, Any]:
    replaced = "count(m.superseded_by)" if schema.has("superseded_by") else "NULL"
    dated = f"count(nullif({moment_of(created(schema))}, {NO_MOMENT}))" if schema.has("created_at") else "NULL"
    vectors = "count(length(m.embedding))" if schema.has("embedding") else "0"
    statement = f"SELECT count(*), {replaced}, {dated}, {vectors} FROM memories AS m"
    rows, hidden, dated_rows, embedded = connection.execute(statement).fetchone()
    facts: dict[str, Any] = {"memories": rows}
    if schema.has("superseded_by"):
        facts["superseded"] = hidden
    if schema.has("created_at"):
        facts["without a readable date"] = rows - dated_rows
    if not schema.has("embedding"):
        return facts
    statement = "SELECT length(embedding), count(*) FROM memories WHERE embedding IS NOT NULL GROUP BY 1"
    lengths = connection.execute(statement).fetchall() if embedded else []
    dimensions = {length // 4: count for length, count in lengths if length % 4 == 0}
    return facts | _vector_facts(rows, dimensions, sum(count for length, count in lengths if length % 4))


def _counted_facts(schema: Schema, rows: Statistics, every: Facets) -> dict[str, Any]:
    """The same, out of the statistics and the facets of all rows."""
    facts: dict[str, Any] = {"memories": rows.total}
    if schema.has("superseded_by"):
        facts["superseded"] = every.superseded
    if schema.has("created_at"):
        facts["without a readable date"] = every.age[NO_DATE]
    if not schema.has("embedding"):
        return facts
    return facts | _vector_facts(rows.total, rows.dimensions or {}, rows.cut_vectors or 0)


def _vector_facts(rows: int, dimensions: Mapping[int, int], cut: int) -> dict[str, Any]:
    usable = sorted(((length, count) for length, count in dimensions.items() if length), key=lambda one: (-one[1], one))
    embedded = sum(count for _, count in usable) + cut
    return {
        "embedded": embedded,
        "not embedded": rows - embedded,
        "embedded by dimensions": {str(length): count for length, count in usable},
        "cut vectors": cut,
    }


def _cache_facts(connection: sqlite3.Connection, schema: Schema) -> dict[str, Any]:
    facts: dict[str, Any] = {}
    if "embedding_cache" in schema.tables:
        facts["embedding cache"] = connection.execute("SELECT count(*) FROM embedding_cache").fetchone()[0]
    if "memory_meta" in schema.tables:
        pairs = connection.execute("SELECT key, value FROM memory_meta ORDER BY key").fetchall()
        facts["embedding identity"] = {as_text(key): as_text(value) for key, value in pairs}
    return facts


def _keyword_facts(connection: sqlite3.Connection, schema: Schema) -> dict[str, Any]:
    facts: dict[str, Any] = {"triggers": schema.has_triggers, "keyword index": schema.has_fts}
    if schema.has_fts and not _are_pages_readable(connection, schema):
        facts[DAMAGED_INDEX] = True
    elif schema.has_fts and "memories_fts_docsize" in schema.tables:
        rows, indexed, lacking = connection.execute(
            "SELECT (SELECT count(*) FROM memories), (SELECT count(*) FROM memories_fts_docsize), "
            "(SELECT count(*) FROM memories WHERE rowid NOT IN (SELECT id FROM memories_fts_docsize))"
        ).fetchone()
        facts["not in the keyword index"] = lacking
        facts["only in the keyword index"] = indexed - (rows - lacking)
    return facts


def _agent_facts(connection: sqlite3.Connection) -> dict[str, Any]:
    owned = dict(connection.execute("SELECT agent_id, count(*) FROM memories GROUP BY 1"))
    agents = connection.execute("SELECT id, alias FROM agents").fetchall()
    named = sorted(
        ((as_text(alias), owned.get(agent, 0)) for agent, alias in agents), key=lambda one: (-one[1], one[0])
    )
    known = {agent for agent, _ in agents}
    (shared,) = connection.execute(
        "SELECT iif(EXISTS (SELECT 1 FROM memories WHERE agent_id > (SELECT min(agent_id) FROM memories)), "
        "(SELECT count(*) FROM (SELECT 1 FROM memories GROUP BY key HAVING count(*) > 1)), 0)"
    ).fetchone()
    return {
        "agents": dict(named),
        "of unknown agents": sum(count for agent, count in owned.items() if agent is not None and agent not in known),
        "keys of several agents": shared,
    }


def _session_facts(connection: sqlite3.Connection, schema: Schema) -> dict[str, Any]:
    if not schema.has("session_id"):
        return {}
    found = connection.execute("SELECT DISTINCT session_id FROM memories WHERE session_id IS NOT NULL")
    others = respelled(as_text(session) for (session,) in found)
    return {} if others is None else {RESPELLED: others}


def _serious(facts: dict[str, Any], schema: Schema) -> list[str]:
    found = [schema.read_only_because] if schema.read_only_because else []
    if schema.hydrate_made:
        found.append(
            "The memories themselves are whole and can be read here. To repair it, stop ZeroClaw and drop the table "
            "embedding_cache, which holds nothing that is not made anew; then rebuild the keyword index."
        )
    if not schema.has_fts:
        found.append("There is no keyword index, so ZeroClaw finds nothing by words.")
    elif facts.get(DAMAGED_INDEX):
        found.append("The keyword index is damaged, so ZeroClaw may find nothing by words.")
    elif not schema.has_triggers and not schema.hydrate_made:
        found.append("The triggers of the keyword index are missing, so new memories are not found by words.")
    if facts.get("not in the keyword index"):
        found.append(f"{_memories(facts['not in the keyword index'])} not in the keyword index, so words miss them.")
    if facts.get("only in the keyword index"):
        found.append(f"The keyword index still holds {facts['only in the keyword index']:,} deleted memories.")
    if facts.get("of unknown agents"):
        found.append(f"{_memories(facts['of unknown agents'])} owned by agents that do not exist.")
    if facts.get("cut vectors"):
        found.append(f"{_memories(facts['cut vectors'])} embedded with vectors cut in the middle of a number.")
    return found


def _minor(facts: dict[str, Any]) -> list[str]:
    """What a person should know, but nothing is broken."""
    found: list[str] = []
    dimensions = facts.get("embedded by dimensions", {})
    if len(dimensions) > 1:
        found.append(
            f"Vectors of {len(dimensions)} lengths ({', '.join(dimensions)}): only those as long as the query's count."
        )
    named = facts.get("embedding identity", {}).get("embedding_dimensions")
    if named and dimensions and named not in dimensions:
        found.append(f"The store says its vectors have {named} dimensions, but none has.")
    if facts.get("embedded") and facts.get("not embedded"):
        them = "it" if facts["not embedded"] == 1 else "them"
        found.append(f"{_memories(facts['not embedded'])} not embedded, so only words find {them}.")
    if facts.get("superseded"):
        found.append(f"{_memories(facts['superseded'])} superseded, so hidden from the agent.")
    if facts.get("without a readable date"):
        found.append(f"{_memories(facts['without a readable date'])} without a date that can be read.")
    if RESPELLED in facts:
        found.append(facts[RESPELLED])
    if facts["memories"] > LISTED_BY_ZEROCLAW:
        found.append(f"ZeroClaw's own list shows only the newest {LISTED_BY_ZEROCLAW:,} of {facts['memories']:,}.")
    if facts["write-ahead log bytes"] > _BIG_LOG:
        found.append("The write-ahead log is large because no program has checkpointed it for a while.")
    return found


def _memories(count: int) -> str:
    return "1 memory is" if count == 1 else f"{count:,} memories are"


_COVERAGE = (
    "SELECT category, sum(length(embedding) > 0), sum(coalesce(length(embedding), 0) = 0 AND trim(content, ?) <> '') "
    "FROM memories GROUP BY category ORDER BY count(*) DESC, category"
)
_SUPERSEDED_BY_NONE = (
    "SELECT count(*) FROM memories AS m WHERE m.superseded_by IS NOT NULL AND NOT EXISTS "
    "(SELECT 1 FROM memories AS w WHERE w.key = m.superseded_by OR w.id = m.superseded_by)"
)
_HAS_INDEX = "SELECT count(*) FROM sqlite_master WHERE name = 'memories_fts' AND sql LIKE '%fts5%'"
_CACHE = "embedding_cache"
_INDEX_OF = re.compile(r"CREATE INDEX (\w+) ON (?:memories|embedding_cache)\(")
_UNKNOWN = "SELECT DISTINCT agent_id FROM memories WHERE agent_id NOT IN (SELECT id FROM agents WHERE id IS NOT NULL)"
_SHOWN = 8
_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_CORRUPT_VTAB", "SQLITE_NOMEM")


def check_pages(path: Path, schema: Schema, task: CancellableTask) -> Pages:
    """Copy the database into a folder that only this user may enter, check the copy, and remove it again.

    Raises Unreadable without room, and what reading raises.
    """
    with temporary_folder("zeroclaw-tui-check-") as folder:
        copy = folder / "copy.db"
        copy_database(path, copy, task.check)
        with closing(sqlite3.connect(copy, isolation_level=None, check_same_thread=False)) as connection:
            connection.text_factory = any_text
            with task.interrupting(connection):
                return Pages(_faults(connection), _is_in_step(connection) if schema.has_fts else None)


def _faults(connection: sqlite3.Connection) -> tuple[str, ...]:
    try:
        found = connection.execute(f"PRAGMA integrity_check({MOST_FAULTS})").fetchall()
    except sqlite3.DatabaseError as error:
        if _is_interrupt(error):
            raise
        return (str(error),)
    sentences = tuple(as_text(sentence) for (sentence,) in found)
    return () if sentences == ("ok",) else sentences


def _is_in_step(connection: sqlite3.Connection) -> bool:
    try:
        # The 1 has FTS5 compare its words with the table they come from, in every SQLite version.
        connection.execute("INSERT INTO memories_fts(memories_fts, rank) VALUES ('integrity-check', 1)")
    except sqlite3.DatabaseError as error:
        if _is_interrupt(error):
            raise
        return False
    return True


def _is_interrupt(error: sqlite3.Error) -> bool:
    return getattr(error, "sqlite_errorname", "") == "SQLITE_INTERRUPT"


def store_facts(connection: sqlite3.Connection, schema: Schema, health: Health) -> StoreFacts:
    """What `examine` answers, but who has the database open: every row once or twice; for a thread of its own."""
    return StoreFacts(
        health=health,
        is_hydrated=schema.hydrate_made,
        shape_because=schema.read_only_because,
        has_keyword_index=schema.has_fts,
        is_keyword_index_readable=not schema.has_fts
        or (DAMAGED_INDEX not in health.facts and _is_index_readable(connection)),
        has_triggers=schema.has_triggers,
        embedded=_coverage(connection) if schema.has("embedding") else {},
        superseded_by_none=_count(connection, _SUPERSEDED_BY_NONE) if schema.has("superseded_by") else 0,
        old_sessions=health.facts.get(RESPELLED),
        highest_place=_count(connection, "SELECT coalesce(max(rowid), 0) FROM memories"),
        farthest_place=FARTHEST,
        free_bytes=free_bytes(connection),
    )


def _are_pages_readable(connection: sqlite3.Connection, schema: Schema) -> bool:
    """Whether SQLite can walk through each of the tables that the keyword index is made of."""
    try:
        for name in sorted(schema.tables & INDEX_TABLES):
            connection.execute(f"SELECT count(*) FROM {name}").fetchone()
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorname", "") not in _DAMAGE:
            raise
        return False
    return True


def _is_index_readable(connection: sqlite3.Connection) -> bool:
    """Whether every term of the keyword index can be read; its table of terms is a temporary one of this connection."""
    connection.execute("PRAGMA query_only = OFF")
    try:
        connection.execute("CREATE VIRTUAL TABLE temp.keyword_terms USING fts5vocab(main, memories_fts, 'row')")
        try:
            connection.execute("SELECT count(*), sum(cnt) FROM temp.keyword_terms").fetchone()
        finally:
            connection.execute("DROP TABLE temp.keyword_terms")
    except (sqlite3.DatabaseError, MemoryError) as error:
        # A damaged length makes SQLite ask for more memory than there is.
        if isinstance(error, sqlite3.Error) and getattr(error, "sqlite_errorname", "") not in _DAMAGE:
            raise
        return False
    finally:
        connection.execute("PRAGMA query_only = ON")
    return True


def _coverage(connection: sqlite3.Connection) -> dict[str, tuple[int, int]]:
    rows = connection.execute(_COVERAGE, (WHITE_SPACE,))
    return {as_text(category): (embedded or 0, lacking or 0) for category, embedded, lacking in rows}


def _count(connection: sqlite3.Connection, statement: str) -> int:
    return int(connection.execute(statement).fetchone()[0])


@dataclass(frozen=True, slots=True)
class _Contents:
    """How many memories, a digest of their ids, keys and contents, and one of their places."""

    memories: int
    rows: str
    places: str


def compact_database(path: Path, task: CancellableTask) -> Compacted:
    """The keyword index built anew, VACUUM, and the log folded in; the journal mode stays.

    SQLite does each step wholly or not at all, so that an end at any moment leaves a whole database. Raises Locked,
    Unreadable without room, Corrupt should the memories not be what they were.
    """
    check_room(path.parent, 3 * _size(path))
    with (
        translate_sqlite_errors(path),
        exclusive_connection(path) as connection,
        task.interrupting(connection),
    ):
        found, words_before = _contents(connection), _words(connection)
        # First, so that what the index sheds is not left as free pages.
        _rebuild_index(connection)
        connection.execute("VACUUM")
        now, words_now = _contents(connection), _words(connection)
        if found.places != now.places:
            # SQLite does not promise to keep the places of rows without an INTEGER PRIMARY KEY.
            _rebuild_index(connection)
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    if (found.memories, found.rows) != (now.memories, now.rows):
        raise Corrupt(
            f"The memories of {path} are not what they were before.", hint="Stop ZeroClaw and put the backup back."
        )
    return Compacted(_size(path), now.memories, words_before != words_now)


def _contents(connection: sqlite3.Connection) -> _Contents:
    rows, places = hashlib.sha256(), hashlib.sha256()
    count = 0
    for place, *row in connection.execute("SELECT rowid, id, key, content FROM memories ORDER BY rowid"):
        count += 1
        places.update(b"%d " % place)
        for value in row:
            data = value if isinstance(value, bytes) else str(value).encode("utf-8", "surrogateescape")
            rows.update(f"{len(data)}:".encode() + data)
    return _Contents(count, rows.hexdigest(), places.hexdigest())


def _words(connection: sqlite3.Connection) -> str:
    """A digest of every word of the keyword index with how often it stands in how many memories."""
    digest = hashlib.sha256()
    if _has_index(connection):
        connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS temp.words USING fts5vocab(main, memories_fts, row)")
        for row in connection.execute("SELECT term, doc, cnt FROM temp.words"):
            digest.update(repr(row).encode("utf-8", "surrogateescape"))
        connection.execute("DROP TABLE temp.words")
    return digest.hexdigest()


def _rebuild_index(connection: sqlite3.Connection) -> None:
    if _has_index(connection):
        connection.execute("INSERT INTO memories_fts(memories_fts) VALUES ('rebuild')")


def _has_index(connection: sqlite3.Connection) -> bool:
    return bool(connection.execute(_HAS_INDEX).fetchone()[0])


def _size(path: Path) -> int:
    return file_size(path) + file_size(wal_file(path))


def repair_hydrated(writing: Writing) -> None:
    """Give a database that ZeroClaw's hydration made what it lacks, so that ZeroClaw and this program open it.

    The memories stay as they are. The embedding cache, which such a database cannot have used, is made anew. Raises
    Refused where columns are missing that hydration always makes.
    """
    generation = writing.schema.generation
    with writing.transaction() as transaction:
        connection = transaction.connection
        if "session_id" not in writing.schema.columns:
            connection.execute("ALTER TABLE memories ADD COLUMN session_id TEXT")
        lacking = set(COLUMNS[generation]) - writing.schema.columns - {"session_id"}
        if lacking:
            raise Refused(
                f"The memories table lacks {', '.join(sorted(lacking))}, which hydration always makes.",
                hint="Nothing was changed. Export the memories and import them into a new store.",
            )
        connection.execute(f"DROP TABLE IF EXISTS {_CACHE}")
        made = statements(generation)
        for statement in (made[at] for at in range(len(made)) if made[at].startswith(f"CREATE TABLE {_CACHE} ")):
            connection.execute(statement)
        _make_indexes(transaction, made)
        for name in missing_of_index(connection):
            connection.execute(TRIGGERS.get(name, KEYWORD_INDEX))
        connection.execute("INSERT INTO memories_fts(memories_fts) VALUES ('rebuild')")


def name_unknown_agents(writing: Writing) -> tuple[str, ...]:
    """Give every agent that owns memories but is not among the agents a row and a name; gives the names."""
    names: list[str] = []
    with writing.transaction() as transaction:
        taken = set(transaction.aliases.values())
        for (agent,) in transaction.connection.execute(_UNKNOWN).fetchall():
            alias = _free(f"recovered-{as_text(agent)[:_SHOWN]}", taken)
            taken.add(alias)
            marks, values = bound([agent, alias, utc_now()])
            transaction.connection.execute(f"INSERT INTO agents (id, alias, created_at) VALUES ({marks})", values)
            names.append(alias)
    return tuple(names)


def _make_indexes(transaction: Transaction, made: tuple[str, ...]) -> None:
    found = {as_text(name) for (name,) in transaction.connection.execute("SELECT name FROM sqlite_master")}
    for statement in made:
        index = _INDEX_OF.match(statement)
        if index is not None and index.group(1) not in found:
            transaction.connection.execute(statement)


def _free(wanted: str, taken: set[str]) -> str:
    number, name = 1, wanted
    while name in taken:
        number += 1
        name = f"{wanted}-{number}"
    return name


def fold_log(writing: Writing) -> int:
    """Write the log back and cut it to nothing; gives its bytes before.

    Only where no other program is known to have the database open. Raises Locked, also when a reader is in the way.
    """
    path: Path = writing.path
    require_unused(path)
    before = file_size(wal_file(path))
    is_busy = _checkpoint(writing.connection)
    if is_busy:
        raise Locked(f"{path} is being read, so only part of its log was checkpointed.", hint="Try again in a moment.")
    return before


def _checkpoint(connection: sqlite3.Connection) -> bool:
    is_busy, _, _ = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    return bool(is_busy)


def rebuild_index(writing: Writing) -> None:
    """Make ZeroClaw's own index and triggers where they are missing, and fill the index anew, all at once."""
    with writing.transaction() as transaction:
        for name in missing_of_index(transaction.connection):
            transaction.connection.execute(TRIGGERS.get(name, KEYWORD_INDEX))
        transaction.connection.execute("INSERT INTO memories_fts(memories_fts) VALUES ('rebuild')")


def replace_index(path: Path, task: CancellableTask) -> None:
    """Make the keyword index anew where its own pages are damaged, so that SQLite can neither fill nor drop it.

    A copy gets a new index and replaces the contents of the database in one transaction, so that an end at any moment
    leaves the old contents or the new ones. Raises Locked while another program has the database open, DiskFull, and
    Corrupt where more than the index is damaged.
    """
    check_room(path.parent, 3 * _size(path))
    with translate_sqlite_errors(path), exclusive_connection(path) as connection, _room_beside(path) as copy:
        connection.backup(copy)
        try:
            with task.interrupting(copy):
                found = _contents(copy)
                _make_index_anew(copy)
                now = _contents(copy)
        except sqlite3.DatabaseError as error:
            if getattr(error, "sqlite_errorname", "") not in _DAMAGE:
                raise
            raise _more_is_damaged() from error
        if (found.memories, found.rows) != (now.memories, now.rows):
            raise _more_is_damaged()
        copy.backup(connection)


@contextmanager
def _room_beside(path: Path) -> Iterator[sqlite3.Connection]:
    """An empty database in a folder beside `path` that only this user may enter; both are gone at the end."""
    try:
        remove_stale_temp_files(path.parent)
        with (
            work_folder(path) as folder,
            closing(sqlite3.connect(folder / path.name, isolation_level=None, check_same_thread=False)) as made,
        ):
            made.text_factory = any_text
            yield made
    except OSError as error:
        kind = DiskFull if error.errno in FULL else Refused
        raise kind(
            f"{path.parent} cannot be written: {error.strerror}.",
            hint="Nothing was changed. Check the folder and its disk.",
        ) from error


def _make_index_anew(copy: sqlite3.Connection) -> None:
    """Give a copy that nobody else has open a new index.

    SQLite cannot drop a table with a damaged page, so the index is deleted from the list of tables, and VACUUM leaves
    its pages out.
    """
    (made,) = copy.execute("SELECT sql FROM sqlite_master WHERE lower(name) = 'memories_fts'").fetchone()
    names = ", ".join(f"'{name}'" for name in ("memories_fts", *sorted(INDEX_TABLES)))
    copy.execute("PRAGMA writable_schema = ON")
    copy.execute(f"DELETE FROM sqlite_master WHERE type = 'table' AND lower(name) IN ({names})")
    copy.execute("PRAGMA writable_schema = RESET")
    copy.execute("VACUUM")
    copy.execute(as_text(made))
    for name in missing_of_index(copy):
        copy.execute(TRIGGERS[name])
    _rebuild_index(copy)


def _more_is_damaged() -> Corrupt:
    return Corrupt(
        "More than the keyword index is damaged, so it cannot be made anew.",
        hint="Nothing was changed. Stop ZeroClaw, copy the database, and run `sqlite3 COPY .recover`; or restore a "
        "backup.",
    )


def make_database(path: Path, generation: str) -> None:
    """Put an empty database at `path`, with the folders above it, in one step. Blocks: run it in a thread.

    The file is 0600, and SQLite gives its -wal and -shm the same mode; an empty one (0 bytes) is replaced and keeps its
    mode and owner. Raises Refused where there is something already or nothing can be written.
    """
    target = Path(os.path.realpath(path))
    _check_log(target)
    if file_size(target):
        raise _there_already(target)
    try:
        with _beside(target) as made:
            create_database(made, generation, now=utc_now())
            with made.open("rb") as file:
                copy_owner_and_mode(file.fileno(), target)
                os.fsync(file.fileno())
            if target.exists():
                made.replace(target)
            else:
                rename_exclusive(made, target)
            sync_folder(target.parent)
    except FileExistsError as error:
        raise _there_already(target) from error


def fill_database(path: Path, generation: str, rows: Sequence[StoredRow], now: str) -> None:
    """Put a database with these rows at `path`, with the folders above it, in one step; see `Memory.fill`. Blocks.

    What ZeroClaw takes for no database is kept beside it. Raises Refused where there is one, or its log.
    """
    target = Path(os.path.realpath(path))
    _check_empty(target)
    try:
        with _beside(target) as made:
            with new_database(made, generation, now=now, default_agent_id=_given_id(rows)) as connection:
                _insert(connection, rows, now)
            _check_empty(target)
            if target.exists():
                target.rename(_free_name(target))
            rename_exclusive(made, target)
            made.unlink(missing_ok=True)
            sync_folder(target.parent)
    except FileExistsError as error:
        raise _there_by_now(target) from error


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Where a database is made before it is put in its place."""
    try:
        make_folder(target.parent)
        remove_stale_temp_files(target.parent)
        with work_folder(target) as room:
            yield room / target.name
    except FileExistsError:
        raise
    except (OSError, sqlite3.Error) as error:
        raise could_not_be_made(target, error) from error


def _given_id(rows: Sequence[StoredRow]) -> str | None:
    return next((row.id for row in rows if row.table == AGENTS and row.agent == DEFAULT_AGENT), None)


def _insert(connection: sqlite3.Connection, rows: Sequence[StoredRow], now: str) -> None:
    connection.text_factory = any_text
    owners = {alias: agent for agent, alias in aliases_of(connection).items()}
    for row in rows:
        values, alias = row.values, row.agent or DEFAULT_AGENT
        if row.table == AGENTS and alias in owners:
            continue
        if row.table == AGENTS:
            owners[alias] = row.id
        elif row.table == MEMORIES and owners:
            if alias not in owners:
                owners[alias] = str(uuid.uuid4())
                _insert_one(connection, AGENTS, {"id": owners[alias], "alias": alias, "created_at": now})
            values = {**values, "agent_id": owners[alias]}
        _insert_one(connection, row.table, values)
    connection.execute("INSERT INTO memories_fts(memories_fts, rank) VALUES ('integrity-check', 1)")


def _insert_one(connection: sqlite3.Connection, table: str, values: Mapping[str, Value]) -> None:
    marks, ready = bound(values.values())
    connection.execute(f"INSERT INTO {quoted(table)} ({', '.join(map(quoted, values))}) VALUES ({marks})", ready)


def _check_log(path: Path) -> None:
    if file_size(wal_file(path)):
        raise Refused(
            f"{wal_file(path)} holds writes of a database that is not there.",
            hint="Keep it, and restore the database from a backup; or move it away first.",
        )


def _check_empty(path: Path) -> None:
    _check_log(path)
    if file_size(path) >= SMALLEST:
        raise _there_by_now(path)


def _there_already(path: Path) -> Refused:
    return Refused(f"There is a file {path} already.", hint="Open that one.")


def _there_by_now(path: Path) -> Refused:
    return Refused(f"There is a database {path} by now.", hint="Look again: it may be hydrated as it is.")


def _free_name(path: Path) -> Path:
    base = f"{path.name}.before-hydrate-{datetime.now():%Y%m%dT%H%M%S}"
    free, number = path.with_name(base), 2
    while free.exists():
        free, number = path.with_name(f"{base}-{number}"), number + 1
    return free
