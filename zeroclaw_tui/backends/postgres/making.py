"""Making the table as ZeroClaw makes it at its first start; never a user, an extension or a database."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.postgres.connect import Connections
from zeroclaw_tui.backends.postgres.search_scope import knows_postgres
from zeroclaw_tui.backends.postgres.table import checked_name
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.scoring.profiles import ScoringProfile, parse_version

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]

_FIRST_WITH_AGENTS = (0, 8, 0)
_FIRST_WITH_WORD_INDEXES = (0, 5, 7)

_TABLE = """
CREATE TABLE {table} (
    id TEXT PRIMARY KEY,
    key TEXT {unique} NOT NULL,
    content TEXT NOT NULL,
    category TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL,
    updated_at TIMESTAMPTZ NOT NULL,
    session_id TEXT
)"""
_INDEXES = (
    ("idx_memories_category", "(category)"),
    ("idx_memories_session_id", "(session_id)"),
    ("idx_memories_updated_at", "(updated_at DESC)"),
)
_WORD_INDEXES = (
    ("idx_memories_content_fts", "USING gin (to_tsvector('simple', content))"),
    ("idx_memories_key_fts", "USING gin (to_tsvector('simple', key))"),
)
_AGENT_TABLES = """
CREATE TABLE IF NOT EXISTS "{schema}"."agents" (
    id TEXT PRIMARY KEY, alias TEXT NOT NULL UNIQUE, created_at TIMESTAMPTZ NOT NULL
);
CREATE TABLE IF NOT EXISTS "{schema}"."schema_version" (
    component TEXT PRIMARY KEY, version INTEGER NOT NULL, applied_at TIMESTAMPTZ NOT NULL
)"""
_AGENT_COLUMN = """
ALTER TABLE {table} ADD COLUMN agent_id TEXT NOT NULL,
    ADD CONSTRAINT memories_agent_id_notnull_chk CHECK (agent_id IS NOT NULL),
    ADD CONSTRAINT memories_agent_id_fk FOREIGN KEY (agent_id) REFERENCES "{schema}"."agents" (id)"""
_SCHEMA_OF_VECTOR = "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector'"
_UNIQUE = "memories_agent_key_uniq"
_VECTOR_COLUMNS = """
ALTER TABLE {table} ADD COLUMN namespace TEXT DEFAULT 'default', ADD COLUMN importance REAL,
    ADD COLUMN embedding {vector}.vector({dimensions})"""


async def make(
    connections: Connections, schema: str, name: str, profile: ScoringProfile, vector_dimensions: int | None = None
) -> None:
    """Make schema, table, indexes and constraints as the ZeroClaw of that profile does, all of it or nothing.

    With `vector_dimensions` also the columns of its option `vector_enabled`, where the extension is installed.
    Raises Refused where there is a table already, where this user may not make one, and for a version that knows no
    PostgreSQL.
    """
    checked_name("schema", schema)
    checked_name("table", name)
    if not knows_postgres(profile):
        raise Refused(
            f"ZeroClaw {profile.version} knows no PostgreSQL: with this config it would use Markdown.",
            hint="Versions up to 0.6.2 and from 0.7.4 on know it; --profile names another.",
        )
    async with connections.writing() as connection:
        await _make(connection, schema, name, profile, vector_dimensions)


async def _make(
    connection: asyncpg.Connection, schema: str, name: str, profile: ScoringProfile, vector_dimensions: int | None
) -> None:
    version, table = parse_version(profile.version), f'"{schema}"."{name}"'
    if await connection.fetchval("SELECT to_regclass($1::text) IS NOT NULL", table):
        raise Refused(f"There is a table {schema}.{name} already.")
    await _check_rights(connection, schema)
    if not await connection.fetchval("SELECT to_regnamespace($1::text) IS NOT NULL", f'"{schema}"'):
        await connection.execute(f'CREATE SCHEMA IF NOT EXISTS "{schema}"')
    has_agents = version >= _FIRST_WITH_AGENTS
    await connection.execute(_TABLE.format(table=table, unique="" if has_agents else "UNIQUE"))
    indexes = [*_INDEXES, *(_WORD_INDEXES if version >= _FIRST_WITH_WORD_INDEXES else ())]
    if has_agents:
        await _add_agents(connection, schema, name, table)
        indexes.append(("idx_memories_agent_id", "(agent_id)"))
    for index, columns in indexes:
        # Its names are fixed, so a second table in one schema goes without, as ZeroClaw's does.
        await connection.execute(f"CREATE INDEX IF NOT EXISTS {index} ON {table} {columns}")
    if vector_dimensions is not None:
        vector = await connection.fetchval(_SCHEMA_OF_VECTOR)
        if vector is not None:
            await connection.execute(
                _VECTOR_COLUMNS.format(table=table, vector=vector, dimensions=int(vector_dimensions))
            )
            await connection.execute(f"CREATE INDEX IF NOT EXISTS idx_memories_namespace ON {table} (namespace)")


async def _add_agents(connection: asyncpg.Connection, schema: str, name: str, table: str) -> None:
    await connection.execute(_AGENT_TABLES.format(schema=schema))
    await connection.execute(_AGENT_COLUMN.format(schema=schema, table=table))
    taken = await connection.fetchval("SELECT to_regclass($1::text) IS NOT NULL", f'"{schema}"."{_UNIQUE}"')
    # ZeroClaw would leave a second table in one schema without this rule, and then could store nothing in it.
    unique = f"{name[:40]}_agent_key_uniq" if taken else _UNIQUE
    await connection.execute(f'ALTER TABLE {table} ADD CONSTRAINT "{unique}" UNIQUE (agent_id, key)')
    await connection.execute(
        f"""INSERT INTO "{schema}"."schema_version" (component, version, applied_at) VALUES ('memories', 1, now()) """
        "ON CONFLICT DO NOTHING"
    )
    await connection.execute(
        f"""INSERT INTO "{schema}"."agents" (id, alias, created_at) VALUES ($1::text, 'default', now()) """
        "ON CONFLICT DO NOTHING",
        str(uuid.uuid4()),
    )


async def _check_rights(connection: asyncpg.Connection, schema: str) -> None:
    found = await connection.fetchrow(
        """SELECT current_user::text AS name, current_database()::text AS place,
                  to_regnamespace($1::text) IS NOT NULL AS is_there,
                  has_database_privilege(current_database(), 'CREATE') AS may_make_schemas,
                  coalesce(has_schema_privilege(to_regnamespace($1::text)::oid, 'CREATE'), false) AS may_make_tables""",
        f'"{schema}"',
    )
    user, place = found["name"], found["place"]
    if found["is_there"] and not found["may_make_tables"]:
        raise Refused(
            f"The user {user} may not make a table in the schema {schema}.",
            hint=f'Its owner grants that: GRANT CREATE, USAGE ON SCHEMA "{schema}" TO "{user}";',
        )
    if not found["is_there"] and not found["may_make_schemas"]:
        raise Refused(
            f"The user {user} may not make the schema {schema} in the database {place}.",
            hint=f'Its owner grants that: GRANT CREATE ON DATABASE "{place}" TO "{user}";',
        )
