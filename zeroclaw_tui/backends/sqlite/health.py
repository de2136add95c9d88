"""How a SQLite database is, as far as reading tells."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.health import Health, StoreFacts
from zeroclaw_tui.backends.sqlite.schema import INDEX_TABLES, Schema
from zeroclaw_tui.backends.sqlite.select import moment_of
from zeroclaw_tui.files.database import as_text, is_wal, wal_file
from zeroclaw_tui.files.disk import file_size
from zeroclaw_tui.files.whole_database import free_bytes
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.profiles import SCHEMA_VERSIONS

DAMAGE = ("SQLITE_CORRUPT", "SQLITE_CORRUPT_VTAB", "SQLITE_NOMEM")
"""How SQLite calls damaged pages; a damaged length makes it ask for more memory than there is."""
_LISTED_BY_ZEROCLAW = 1000
"""ZeroClaw's own list and export stop here."""
_DAMAGED_INDEX = "keyword index damaged"
"""The fact that pages of the keyword index cannot be read; only there where it is so."""
_BIG_LOG = 64 * 1024 * 1024
_INDEXED = (
    "SELECT (SELECT count(*) FROM memories_fts_docsize), "
    "(SELECT count(*) FROM memories WHERE rowid NOT IN (SELECT id FROM memories_fts_docsize))"
)
_UNOWNED = "SELECT count(*) FROM memories WHERE agent_id IS NOT NULL AND agent_id NOT IN (SELECT id FROM agents)"
_OWNED = """
    SELECT alias, (SELECT count(*) FROM memories WHERE agent_id = agents.id) AS owned FROM agents
    ORDER BY owned DESC, alias"""
_WITHOUT_VECTOR = "SELECT count(*) FROM memories WHERE coalesce(length(embedding), 0) = 0 AND trim(content, ?) <> ''"
_SUPERSEDED_BY_NONE = """
    SELECT count(*) FROM memories AS m WHERE m.superseded_by IS NOT NULL AND NOT EXISTS
    (SELECT 1 FROM memories AS w WHERE w.key = m.superseded_by OR w.id = m.superseded_by)"""


def health(connection: sqlite3.Connection, schema: Schema, path: Path, notices: Sequence[str] = ()) -> Health:
    """The facts and what follows from them; for a thread of its own, as it passes over all rows a few times.

    `notices` are about how the store was opened.
    """
    facts: dict[str, Any] = {
        "database": str(path),
        "bytes": file_size(path),
        "write-ahead log bytes": file_size(wal_file(path)),
        "journal mode": "wal" if is_wal(path) else "delete",
        "generation": schema.generation,
        "zeroclaw versions": SCHEMA_VERSIONS[schema.generation],
        "columns": sorted(schema.columns),
    }
    superseded = "count(superseded_by)" if schema.has("superseded_by") else "NULL"
    undated = f"count(*) - count({moment_of('created_at')})" if schema.has("created_at") else "NULL"
    counted = connection.execute(f"SELECT count(*), {superseded}, {undated} FROM memories").fetchone()
    names = ("memories", "superseded", "without a readable date")
    facts |= {name: count for name, count in zip(names, counted, strict=True) if count is not None}
    if schema.has("embedding"):
        facts |= _vector_facts(connection, facts["memories"])
    if "memory_meta" in schema.tables:
        pairs = connection.execute("SELECT key, value FROM memory_meta ORDER BY key").fetchall()
        facts["embedding identity"] = {as_text(key): as_text(value) for key, value in pairs}
    facts |= {"triggers": schema.has_triggers, "keyword index": schema.has_fts}
    if schema.has_fts and not _are_pages_readable(connection, schema):
        facts[_DAMAGED_INDEX] = True
    elif schema.has_fts and "memories_fts_docsize" in schema.tables:
        indexed, lacking = connection.execute(_INDEXED).fetchone()
        facts["not in the keyword index"] = lacking
        facts["only in the keyword index"] = indexed - (facts["memories"] - lacking)
    if schema.has_agents:
        facts["agents"] = {as_text(alias): owned for alias, owned in connection.execute(_OWNED)}
        facts["of unknown agents"] = _count(connection, _UNOWNED)
    serious = list(_serious(facts, schema))
    more = [notice for notice in notices if notice not in serious]
    memories = "1 memory" if facts["memories"] == 1 else f"{facts['memories']:,} memories"
    verdict = "something is wrong" if serious else "nothing wrong found"
    return Health(
        ok=not serious,
        summary=f"{memories}, schema {schema.generation}, ZeroClaw {facts['zeroclaw versions']}: {verdict}.",
        findings=(*serious, *more, *_minor(facts)),
        facts=facts,
    )


def _vector_facts(connection: sqlite3.Connection, memories: int) -> dict[str, Any]:
    statement = """
        SELECT length(embedding), count(*) FROM memories WHERE length(embedding) > 0
        GROUP BY 1 ORDER BY 2 DESC, 1"""
    lengths = connection.execute(statement).fetchall()
    embedded = sum(count for _, count in lengths)
    return {
        "embedded": embedded,
        "not embedded": memories - embedded,
        "embedded by dimensions": {str(length // 4): count for length, count in lengths if length % 4 == 0},
        "cut vectors": sum(count for length, count in lengths if length % 4),
    }


def _serious(facts: dict[str, Any], schema: Schema) -> Iterator[str]:
    if schema.read_only_because:
        yield schema.read_only_because
    if schema.hydrate_made:
        yield (
            "The memories themselves are whole and can be read here. To repair it, stop ZeroClaw and drop the table "
            "embedding_cache, which holds nothing that is not created again; then rebuild the keyword index."
        )
    if not schema.has_fts:
        yield "There is no keyword index, so ZeroClaw finds nothing by words."
    elif _DAMAGED_INDEX in facts:
        yield "The keyword index is damaged, so ZeroClaw may find nothing by words."
    elif not schema.has_triggers and not schema.hydrate_made:
        yield "The triggers of the keyword index are missing, so new memories are not found by words."
    if lacking := facts.get("not in the keyword index"):
        yield f"{_memories(lacking)} not in the keyword index, so words miss them."
    if extra := facts.get("only in the keyword index"):
        yield f"The keyword index still holds {extra:,} deleted memories."
    if unowned := facts.get("of unknown agents"):
        yield f"{_memories(unowned)} owned by agents that do not exist."
    if cut := facts.get("cut vectors"):
        yield f"{_memories(cut)} embedded with vectors cut in the middle of a number."


def _minor(facts: dict[str, Any]) -> Iterator[str]:
    """What a person should know, but nothing is broken."""
    dimensions = facts.get("embedded by dimensions", {})
    if len(dimensions) > 1:
        lengths = ", ".join(dimensions)
        yield f"Vectors of {len(dimensions)} lengths ({lengths}): only those as long as the query's count."
    named = facts.get("embedding identity", {}).get("embedding_dimensions")
    if named and dimensions and named not in dimensions:
        yield f"The store says its vectors have {named} dimensions, but none has."
    lacking = facts.get("not embedded")
    if lacking and facts["embedded"]:
        yield f"{_memories(lacking)} not embedded, so only words find {'it' if lacking == 1 else 'them'}."
    if superseded := facts.get("superseded"):
        yield f"{_memories(superseded)} superseded, so hidden from the agent."
    if undated := facts.get("without a readable date"):
        yield f"{_memories(undated)} without a date that can be read."
    if facts["memories"] > _LISTED_BY_ZEROCLAW:
        yield f"ZeroClaw's own list shows only the newest {_LISTED_BY_ZEROCLAW:,} of {facts['memories']:,}."
    if facts["write-ahead log bytes"] > _BIG_LOG:
        yield "The write-ahead log is large because no program has checkpointed it for a while."


def _memories(count: int) -> str:
    return "1 memory is" if count == 1 else f"{count:,} memories are"


def store_facts(connection: sqlite3.Connection, schema: Schema, health: Health) -> StoreFacts:
    """What `examine` answers, but who has the database open: every row once or twice; for a thread of its own."""
    return StoreFacts(
        health=health,
        is_hydrated=schema.hydrate_made,
        shape_because=schema.read_only_because,
        has_keyword_index=schema.has_fts,
        is_keyword_index_readable=not schema.has_fts
        or (_DAMAGED_INDEX not in health.facts and _is_index_readable(connection)),
        has_triggers=schema.has_triggers,
        without_vector=_count(connection, _WITHOUT_VECTOR, WHITE_SPACE) if schema.has("embedding") else 0,
        superseded_by_none=_count(connection, _SUPERSEDED_BY_NONE) if schema.has("superseded_by") else 0,
        free_bytes=free_bytes(connection),
    )


def _are_pages_readable(connection: sqlite3.Connection, schema: Schema) -> bool:
    """Whether SQLite can walk through each of the tables that the keyword index is made of."""
    return _can_read(connection, *(f"SELECT count(*) FROM {name}" for name in sorted(schema.tables & INDEX_TABLES)))


def _is_index_readable(connection: sqlite3.Connection) -> bool:
    """Whether every term of the keyword index can be read; its table of terms is a temporary one of this connection."""
    connection.execute("PRAGMA query_only = OFF")
    is_readable = _can_read(
        connection,
        "CREATE VIRTUAL TABLE temp.keyword_terms USING fts5vocab(main, memories_fts, 'row')",
        "SELECT count(*), sum(cnt) FROM temp.keyword_terms",
        "DROP TABLE temp.keyword_terms",
    )
    connection.execute("PRAGMA query_only = ON")
    return is_readable


def _can_read(connection: sqlite3.Connection, *statements: str) -> bool:
    """Whether statements meet no damage."""
    try:
        for statement in statements:
            connection.execute(statement).fetchone()
    except MemoryError:
        return False
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorname not in DAMAGE:
            raise
        return False
    return True


def _count(connection: sqlite3.Connection, statement: str, *values: str) -> int:
    return int(connection.execute(statement, values).fetchone()[0])
