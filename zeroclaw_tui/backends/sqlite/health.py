"""The health of a SQLite database, without writing."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from zeroclaw_tui.backends.health import Health
from zeroclaw_tui.backends.sqlite.schema import INDEX_TABLES, Schema
from zeroclaw_tui.files.database import free_bytes, wal_file
from zeroclaw_tui.files.disk import file_size
from zeroclaw_tui.memory.entry import as_text
from zeroclaw_tui.memory.text import are, counted
from zeroclaw_tui.scoring.profiles import SCHEMA_VERSIONS

DAMAGE = ("SQLITE_CORRUPT", "SQLITE_CORRUPT_VTAB", "SQLITE_NOMEM")
"""SQLite's errors for damaged pages; a damaged length makes it allocate more memory than there is."""
_DAMAGED = "The keyword index is damaged."
_INDEXED = (
    "SELECT (SELECT count(*) FROM memories_fts_docsize), "
    "(SELECT count(*) FROM memories WHERE rowid NOT IN (SELECT id FROM memories_fts_docsize))"
)
_UNOWNED = "SELECT count(*) FROM memories WHERE agent_id IS NOT NULL AND agent_id NOT IN (SELECT id FROM agents)"
_OWNED = """
    SELECT alias, (SELECT count(*) FROM memories WHERE agent_id = agents.id) AS owned FROM agents
    ORDER BY owned DESC, alias"""
_LENGTHS = """
    SELECT length(embedding), count(*) FROM memories WHERE length(embedding) > 0 GROUP BY 1 ORDER BY 2 DESC, 1"""


def health(connection: sqlite3.Connection, schema: Schema, path: Path) -> Health:
    """Collect facts and findings. Blocks, as it scans all rows a few times."""
    facts: dict[str, Any] = {
        "database": str(path),
        "bytes": file_size(path),
        "write-ahead log bytes": file_size(wal_file(path)),
        "free bytes": free_bytes(connection),
        "generation": schema.generation,
        "zeroclaw versions": SCHEMA_VERSIONS[schema.generation],
        "memories": _count(connection, "SELECT count(*) FROM memories"),
    }
    if "superseded_by" in schema.columns:
        facts["superseded"] = _count(connection, "SELECT count(superseded_by) FROM memories")
    lengths = connection.execute(_LENGTHS).fetchall()
    embedded = sum(count for _, count in lengths)
    facts |= {
        "embedded": embedded,
        "not embedded": facts["memories"] - embedded,
        "embedded by dimensions": {str(length // 4): count for length, count in lengths if length % 4 == 0},
    }
    if "memory_meta" in schema.tables:
        pairs = connection.execute("SELECT key, value FROM memory_meta ORDER BY key").fetchall()
        facts["embedding identity"] = {as_text(key): as_text(value) for key, value in pairs}
    if schema.has_agents:
        facts["agents"] = {as_text(alias): owned for alias, owned in connection.execute(_OWNED)}
        facts["of unknown agents"] = _count(connection, _UNOWNED)
    facts["shape"] = schema.read_only_because
    facts["keyword index"] = _index_problem(connection, schema, facts["memories"])
    facts["triggers"] = schema.has_triggers
    serious = tuple(_serious(facts, schema))
    verdict = "something is wrong" if serious else "nothing wrong found"
    versions = f"schema {schema.generation}, ZeroClaw {facts['zeroclaw versions']}"
    return Health(not serious, f"{counted(facts['memories'])}, {versions}: {verdict}.", serious, facts)


def _index_problem(connection: sqlite3.Connection, schema: Schema, memories: int) -> str | None:
    """The problem of the keyword index, as a sentence; None if it matches the memories."""
    if not schema.has_fts:
        return "There is no keyword index."
    if not schema.tables >= INDEX_TABLES:
        return _DAMAGED
    try:
        # Make SQLite scan each table of the index.
        for name in INDEX_TABLES:
            connection.execute(f"SELECT count(*) FROM {name}").fetchone()
        indexed, lacking = connection.execute(_INDEXED).fetchone()
    except MemoryError:
        return _DAMAGED
    except sqlite3.DatabaseError as error:
        if error.sqlite_errorname not in DAMAGE:
            raise
        return _DAMAGED
    extra = indexed - (memories - lacking)
    if lacking:
        return f"{are(lacking)} not in the keyword index."
    return f"The keyword index still contains {counted(extra)} that no longer exist." if extra else None


def _serious(facts: dict[str, Any], schema: Schema) -> Iterator[str]:
    yield from filter(None, (facts["shape"], facts["keyword index"]))
    if schema.has_fts and not schema.has_triggers:
        yield "The triggers of the keyword index are missing, so new memories are not found by words."
    if unowned := facts.get("of unknown agents"):
        yield f"{are(unowned)} owned by agents that do not exist."


def _count(connection: sqlite3.Connection, statement: str) -> int:
    return int(connection.execute(statement).fetchone()[0])
