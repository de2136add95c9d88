"""How a SQLite database is, as far as reading tells."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.health import Health, StoreFacts
from zeroclaw_tui.backends.sqlite.schema import (
    INDEX_TABLES,
    Schema,
)
from zeroclaw_tui.backends.sqlite.select import moment_of
from zeroclaw_tui.backends.tables import respelled
from zeroclaw_tui.files.database import (
    as_text,
    is_wal,
    wal_file,
)
from zeroclaw_tui.files.disk import (
    file_size,
)
from zeroclaw_tui.files.whole_database import (
    free_bytes,
)
from zeroclaw_tui.memory.text import WHITE_SPACE
from zeroclaw_tui.scoring.profiles import SCHEMA_VERSIONS

LISTED_BY_ZEROCLAW = 1000
"""ZeroClaw's own list and export stop here."""

RESPELLED = "sessions to be respelled"
"""The fact that tells of session ids ZeroClaw >= 0.8.0 spells otherwise, in a sentence; only there where it has any."""

DAMAGED_INDEX = "keyword index damaged"
"""The fact that pages of the keyword index cannot be read; only there where it is so."""

_BIG_LOG = 64 * 1024 * 1024


def health(connection: sqlite3.Connection, schema: Schema, path: Path, notices: Sequence[str] = ()) -> Health:
    """The facts and what follows from them; for a thread of its own, as it passes over all rows a few times.

    `notices` are about how the store was opened.
    """
    facts = _facts(connection, schema, path)
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


def _facts(connection: sqlite3.Connection, schema: Schema, path: Path) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "database": str(path),
        "bytes": file_size(path),
        "write-ahead log bytes": file_size(wal_file(path)),
        "journal mode": "wal" if is_wal(path) else "delete",
        "generation": schema.generation,
        "zeroclaw versions": SCHEMA_VERSIONS[schema.generation],
        "columns": sorted(schema.columns),
    }
    facts |= _row_facts(connection, schema)
    facts |= _cache_facts(connection, schema)
    facts |= _keyword_facts(connection, schema)
    if schema.has_agents:
        facts |= _agent_facts(connection)
        facts |= _session_facts(connection, schema)
    return facts


def _row_facts(connection: sqlite3.Connection, schema: Schema) -> dict[str, Any]:
    replaced = "count(m.superseded_by)" if schema.has("superseded_by") else "NULL"
    dated = f"count({moment_of('m.created_at')})" if schema.has("created_at") else "NULL"
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


_DAMAGE = ("SQLITE_CORRUPT", "SQLITE_CORRUPT_VTAB", "SQLITE_NOMEM")


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
