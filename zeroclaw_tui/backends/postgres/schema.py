"""Inspect a table and the user's rights, report its health, and create it as ZeroClaw does."""

from __future__ import annotations

import re
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.health import Health
from zeroclaw_tui.backends.postgres.connect import LONG_SECONDS, client_timeout
from zeroclaw_tui.backends.postgres.table import Table
from zeroclaw_tui.config.memory_config import shown
from zeroclaw_tui.memory.errors import NothingYet, Refused, Unreadable, UsageError
from zeroclaw_tui.memory.text import counted
from zeroclaw_tui.scoring.profiles import ScoringProfile, parse_version

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]


_FORMS = {
    "key": "ZeroClaw up to 0.7.5: a key is unique",
    "agents": "ZeroClaw from 0.8.0 on: agent and key are unique",
    "uuid": "not ZeroClaw's: UUID ids, JSON categories and a `timestamp`",
}
_TIME = "timestamp with time zone"
_TYPES = {
    **dict.fromkeys(("id", "key", "content", "category", "session_id", "agent_id"), "text"),
    **dict.fromkeys(("created_at", "updated_at", "timestamp"), _TIME),
}
_NEEDED = ("id", "key", "content", "category")
"""The columns that every form of the table has."""
_INSPECT_TABLE = """
SELECT current_user::text AS "user",
       current_database()::text AS database,
       current_setting('default_transaction_read_only') = 'on' OR pg_is_in_recovery() AS is_read_only,
       n.oid IS NOT NULL AS has_schema,
       has_database_privilege(current_database(), 'CREATE')
           AND coalesce(has_schema_privilege(n.oid, 'USAGE'), true)
           AND coalesce(has_schema_privilege(n.oid, 'CREATE'), true) AS may_make,
       coalesce(has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT'), false) AS may_read,
       (SELECT coalesce(bool_and(has_table_privilege(c.oid, name)), false)
        FROM unnest(ARRAY['INSERT', 'UPDATE', 'DELETE']) AS name) AS may_write,
       c.relkind::text AS kind,
       coalesce(pg_has_role(c.relowner, 'USAGE'), false) AS owns_table,
       (SELECT e.extnamespace::regnamespace::text FROM pg_extension e WHERE e.extname = 'vector') AS schema_of_vector
FROM (SELECT 1) AS one
LEFT JOIN pg_namespace n ON n.nspname = $1
LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = $2
"""
_COLUMNS = """
SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type, attgenerated::text <> '' AS is_generated
FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE n.nspname = $1 AND c.relname = $2 AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_FIRST_WITH_AGENTS = (0, 8, 0)
_NEW_TABLE = """
CREATE SCHEMA IF NOT EXISTS "{schema}";
CREATE TABLE {table} (
    id TEXT PRIMARY KEY, key TEXT {unique} NOT NULL, content TEXT NOT NULL, category TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL, updated_at TIMESTAMPTZ NOT NULL, session_id TEXT
);
CREATE INDEX IF NOT EXISTS idx_memories_category ON {table} (category);
CREATE INDEX IF NOT EXISTS idx_memories_session_id ON {table} (session_id);
CREATE INDEX IF NOT EXISTS idx_memories_updated_at ON {table} (updated_at DESC);
CREATE INDEX IF NOT EXISTS idx_memories_content_fts ON {table} USING gin (to_tsvector('simple', content));
CREATE INDEX IF NOT EXISTS idx_memories_key_fts ON {table} USING gin (to_tsvector('simple', key));
"""
_AGENTS = """
CREATE TABLE IF NOT EXISTS "{schema}"."agents" (
    id TEXT PRIMARY KEY, alias TEXT NOT NULL UNIQUE, created_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE IF NOT EXISTS "{schema}"."schema_version" (
    component TEXT PRIMARY KEY, version INTEGER NOT NULL, applied_at TIMESTAMPTZ NOT NULL
);
ALTER TABLE {table} ADD COLUMN agent_id TEXT NOT NULL,
    ADD CONSTRAINT memories_agent_id_notnull_chk CHECK (agent_id IS NOT NULL),
    ADD CONSTRAINT memories_agent_id_fk FOREIGN KEY (agent_id) REFERENCES "{schema}"."agents" (id),
    ADD CONSTRAINT memories_agent_key_uniq UNIQUE (agent_id, key);
CREATE INDEX IF NOT EXISTS idx_memories_agent_id ON {table} (agent_id);
INSERT INTO "{schema}"."schema_version" VALUES ('memories', 1, now()) ON CONFLICT DO NOTHING;
INSERT INTO "{schema}"."agents" VALUES ('{agent}', 'default', now()) ON CONFLICT DO NOTHING;
"""


def checked_name(kind: str, name: str) -> str:
    """Check the name of a schema or table. Raises UsageError for one that ZeroClaw or PostgreSQL does not accept."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", name):
        raise UsageError(
            f'The {kind} "{shown(name)}" is not a name that ZeroClaw accepts.',
            hint="Use at most 63 letters, digits and _, and no digit first.",
        )
    return name


async def inspect_table(connection: asyncpg.Connection, schema: str, name: str) -> Table:
    """Inspect the relation with this name, a table of memories or not, without reading its agents."""
    found, columns = (
        await connection.fetchrow(_INSPECT_TABLE, schema, name),
        await connection.fetch(_COLUMNS, schema, name),
    )
    return Table(
        schema=schema,
        name=name,
        **found,
        columns={column["name"]: column["type"] for column in columns},
        generated=frozenset(column["name"] for column in columns if column["is_generated"]),
    )


async def read_table(connection: asyncpg.Connection, schema: str, name: str) -> Table:
    """Inspect the table and read its agents. Raises NothingYet if it is missing, Refused if the user may not read it.

    Raises Unreadable with the reason if the table is another program's.
    """
    table = await inspect_table(connection, schema, name)
    if table.kind is None:
        sentence = f"There is no table {table.shown_name} yet."
        raise NothingYet(sentence, hint="ZeroClaw creates it at its first start with this database.")
    if not table.may_read:
        user = shown(table.user)
        raise Refused(
            f"The user {user} may not read the table {table.shown_name}.",
            hint=f'Its owner can run: GRANT USAGE ON SCHEMA "{schema}" TO "{user}"; '
            f'GRANT SELECT ON {table.quoted} TO "{user}";',
        )
    check_form(table)
    return replace(table, agents=await _read_agents(connection, schema)) if table.form == "agents" else table


async def _read_agents(connection: asyncpg.Connection, schema: str) -> dict[str, str]:
    """Read the aliases of the agents by id; empty if the table is missing or the user may not read it."""
    named = f'"{schema}"."agents"'
    may = await connection.fetchval("SELECT has_table_privilege(to_regclass($1::text)::oid, 'SELECT')", named)
    if not may:
        return {}
    rows = await connection.fetch(f"SELECT id::text AS id, alias::text AS alias FROM {named} ORDER BY alias, id")
    return {row["id"]: row["alias"] for row in rows}


def check_form(table: Table) -> None:
    """Raise Unreadable with the reason for another program's table."""
    needed = (*_NEEDED, *(("timestamp",) if table.is_tutorial else ("created_at", "updated_at")))
    types = _TYPES | ({"id": "uuid"} if table.is_tutorial else {})
    missing = [column for column in needed if not table.has(column)]
    other = [column for column, kind in types.items() if table.columns.get(column, kind) != kind]
    if missing:
        why = f"it has no column {', '.join(missing)}"
    elif other:
        why = f"its column {other[0]} is of type {shown(table.columns[other[0]])}"
    elif table.kind != "r":
        why = "it is not a plain table"
    else:
        return
    raise Unreadable(
        f"The table {table.shown_name} is not ZeroClaw's: {why}.",
        hint="Set storage.postgres.table or storage.postgres.schema to another name.",
    )


async def make_table(connection: asyncpg.Connection, schema: str, name: str, profile: ScoringProfile) -> None:
    """Create schema, table, indexes and constraints as the ZeroClaw version of the profile does, all or nothing.

    Raises Refused if the table exists, or if this user may not create it.
    """
    found = await inspect_table(connection, schema, name)
    if found.kind is not None:
        raise Refused(f"The table {found.shown_name} exists already.")
    if not found.may_make:
        user = shown(found.user)
        raise Refused(f"The user {user} may not create the table {found.shown_name}.", hint=found.grant)
    has_agents = parse_version(profile.version) >= _FIRST_WITH_AGENTS
    script = (_NEW_TABLE + _AGENTS if has_agents else _NEW_TABLE).format(
        schema=schema, table=found.quoted, unique="" if has_agents else "UNIQUE", agent=uuid.uuid4()
    )
    await connection.execute(script)


async def health_of(connection: asyncpg.Connection, table: Table, location: str) -> Health:
    """Collect the facts and findings; counts all rows once."""
    version = str(await connection.fetchval("SELECT current_setting('server_version')")).split()[0]
    embedded = "count(embedding)" if table.keeps_vectors else "0::bigint"
    statement = f"SELECT count(*) AS memories, {embedded} AS embedded FROM {table.quoted}"
    rows = await connection.fetchrow(statement, timeout=client_timeout(LONG_SECONDS))
    facts: dict[str, Any] = {
        "database": location,
        "server": f"PostgreSQL {shown(version)}",
        "form": _FORMS[table.form],
        "memories": rows["memories"],
    }
    if table.keeps_vectors:
        facts |= {"embedded": rows["embedded"], "not embedded": rows["memories"] - rows["embedded"]}
    if table.form == "agents":
        facts["agents"] = sorted(table.agents.values())
    # A read-only role is enough for browsing, and does not mean that the agent's own role is read-only.
    findings = tuple(filter(None, [table.read_only_because]))
    return Health(True, f"{counted(rows['memories'])}, {facts['server']}, {table.shown_name}.", findings, facts)
