"""The table: its form and rights, what it cannot do, how it is, and how ZeroClaw makes it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from zeroclaw_tui.backends.health import Health
from zeroclaw_tui.backends.postgres.connect import LONG_SECONDS, patience
from zeroclaw_tui.config.memory_config import shown
from zeroclaw_tui.memory.entry import EDITABLE
from zeroclaw_tui.memory.errors import NothingYet, Refused, Unreadable, UsageError
from zeroclaw_tui.scoring.profiles import ScoringProfile, parse_version

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]


Form = Literal["key", "agents", "uuid"]
"""ZeroClaw <= 0.7.5 (a key is unique), >= 0.8.0 (agent and key are), or the tutorial's own table (UUID id, JSON
category, `timestamp`, a pgvector column)."""
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
"""The columns that every form has."""
_LOOK = """
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

_WHY_NOT = {
    "sessions": ("session_id", "This table has no column for sessions."),
    "session_id": ("session_id", "This table has no column for sessions."),
    "agents": ("agent_id", "This table has no agents; ZeroClaw keeps them from 0.8.0 on."),
    "namespaces": ("namespace", "This table has no namespaces; ZeroClaw adds them with pgvector only."),
    "namespace": ("namespace", "This table has no namespaces; ZeroClaw adds them with pgvector only."),
    "importance": ("importance", "This table has no importance; ZeroClaw adds it with pgvector only."),
}
"""The column that each ability needs, and why it is missing without that column."""
_NEVER = {
    "superseded": "ZeroClaw does not supersede memories in PostgreSQL.",
    "superseded_by": "ZeroClaw does not supersede memories in PostgreSQL.",
    "pinned": "ZeroClaw has no pinned memories in PostgreSQL.",
    "kind": "ZeroClaw stores no kinds in PostgreSQL.",
}
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


@dataclass(frozen=True, slots=True)
class Found:
    """What a database has under the name of a table, and what the user may do there.

    `kind` is PostgreSQL's letter for it, None where there is nothing. `may_make` says whether the user may create
    schema and table. `schema_of_vector` is where the extension vector lives, None where it is not installed.
    """

    schema: str
    table: str
    user: str
    database: str
    is_read_only: bool
    has_schema: bool
    may_make: bool
    may_read: bool
    may_write: bool
    kind: str | None
    owns_table: bool
    schema_of_vector: str | None

    @property
    def name(self) -> str:
        """Its name for a sentence."""
        return f"{self.schema}.{self.table}"

    @property
    def grant(self) -> str:
        """The statements that give the user every right that ZeroClaw needs."""
        schema, user = f'"{self.schema}"', f'"{shown(self.user)}"'
        grants = [f'GRANT CREATE ON DATABASE "{shown(self.database)}" TO {user};']
        if self.has_schema:
            grants.append(f"GRANT USAGE, CREATE ON SCHEMA {schema} TO {user};")
        if self.kind is not None:
            grants.append(f'ALTER TABLE {schema}."{self.table}" OWNER TO {user};')
        return f"The owner of the database can run: {' '.join(grants)}"


@dataclass(frozen=True, slots=True)
class Table:
    """One table of memories, as it was found.

    `columns` maps each column, also those nobody here knows, to its type as `format_type` spells it. `agents` maps
    agent ids to aliases (form "agents"). `schema_of_vector` is where the extension vector lives, None where it is not
    installed. `read_only_because` says why nothing can be written. `generated` are the columns PostgreSQL computes
    itself, which cannot be written.
    """

    schema: str
    name: str
    form: Form
    columns: Mapping[str, str]
    agents: Mapping[str, str]
    schema_of_vector: str | None = None
    read_only_because: str | None = None
    generated: frozenset[str] = frozenset()

    @property
    def quoted(self) -> str:
        """Its name for a statement."""
        return f'"{self.schema}"."{self.name}"'

    def has(self, column: str) -> bool:
        """Whether there is that column."""
        return column in self.columns

    @property
    def created(self) -> str:
        """The column of the time of creation."""
        return "timestamp" if self.form == "uuid" else "created_at"

    @property
    def updated(self) -> str:
        """The column of the time of the last store, which has ZeroClaw's index."""
        return "timestamp" if self.form == "uuid" else "updated_at"

    @property
    def keeps_vectors(self) -> bool:
        """Whether the column `embedding` is of pgvector's type `vector(n)`, as ZeroClaw makes it."""
        return self.schema_of_vector is not None and self.dimensions is not None

    @property
    def dimensions(self) -> int | None:
        """How many numbers each vector has, where the column's type says so."""
        found = re.search(r"\bvector\((\d+)\)$", self.columns.get("embedding", ""))
        return int(found[1]) if found else None


def checked_name(what: str, name: str) -> str:
    """A schema's or table's name. Raises UsageError for one that ZeroClaw or PostgreSQL does not take."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", name):
        raise UsageError(
            f'The {what} "{shown(name)}" is no name that ZeroClaw takes.',
            hint="Use at most 63 letters, digits and _, and no digit first.",
        )
    return name


async def look_at(connection: asyncpg.Connection, schema: str, name: str) -> Found:
    """Look at what has this name."""
    return Found(schema, name, **await connection.fetchrow(_LOOK, schema, name))


async def read_table(connection: asyncpg.Connection, schema: str, name: str) -> Table:
    """Look at the table. Raises NothingYet where there is none, Unreadable for another program's, naming why.

    Raises Refused where the user may not read it.
    """
    found = await look_at(connection, schema, name)
    if found.kind is None:
        sentence = f"There is no table {found.name} yet."
        raise NothingYet(sentence, hint="ZeroClaw creates it at its first start with this database.")
    if not found.may_read:
        user = shown(found.user)
        raise Refused(
            f"The user {user} may not read the table {found.name}.",
            hint=f'Its owner can run: GRANT USAGE ON SCHEMA "{schema}" TO "{user}"; '
            f'GRANT SELECT ON "{schema}"."{name}" TO "{user}";',
        )
    table = await described(connection, found)
    return replace(table, agents=await read_agents(connection, schema)) if table.form == "agents" else table


async def described(connection: asyncpg.Connection, found: Found) -> Table:
    """The table without its agents. Raises Unreadable for another program's."""
    rows = await connection.fetch(_COLUMNS, found.schema, found.table)
    columns = {row["name"]: row["type"] for row in rows}
    because = None
    if not found.may_write:
        because = f"The user {shown(found.user)} may not write to the table {found.name}."
    if found.is_read_only:
        because = "The database server is read-only: it is a replica or configured as read-only."
    return Table(
        schema=found.schema,
        name=found.table,
        form=_form_of(columns, found),
        columns=columns,
        agents={},
        schema_of_vector=found.schema_of_vector,
        read_only_because=because,
        generated=frozenset(row["name"] for row in rows if row["is_generated"]),
    )


async def read_agents(connection: asyncpg.Connection, schema: str) -> dict[str, str]:
    """The aliases of the agents by their ids; none where there is no such table, or the user may not read it."""
    named = f'"{schema}"."agents"'
    may = await connection.fetchval("SELECT has_table_privilege(to_regclass($1::text)::oid, 'SELECT')", named)
    if not may:
        return {}
    rows = await connection.fetch(f"SELECT id::text AS id, alias::text AS alias FROM {named} ORDER BY alias, id")
    return {row["id"]: row["alias"] for row in rows}


def _form_of(columns: Mapping[str, str], found: Found) -> Form:
    is_tutorial = "timestamp" in columns and "created_at" not in columns
    needed = (*_NEEDED, "timestamp") if is_tutorial else (*_NEEDED, "created_at", "updated_at")
    types = {**_TYPES, "id": "uuid"} if is_tutorial else _TYPES
    missing = [column for column in needed if column not in columns]
    other = [column for column, kind in types.items() if columns.get(column, kind) != kind]
    if found.kind == "r" and not missing and not other:
        return "uuid" if is_tutorial else "agents" if "agent_id" in columns else "key"
    why = "it is no plain table"
    if missing:
        why = f"it has no column {', '.join(missing)}"
    elif other:
        why = f"its column {other[0]} is of type {shown(columns[other[0]])}"
    raise Unreadable(
        f"The table {found.name} is not ZeroClaw's: {why}.",
        hint="Set storage.postgres.table or storage.postgres.schema to another name.",
    )


def missing_in(table: Table) -> dict[str, str]:
    """What a table cannot do, with a sentence for each."""
    why_not = _NEVER | {name: why for name, (column, why) in _WHY_NOT.items() if not table.has(column)}
    why_not |= {name: f"PostgreSQL itself computes the column {name}." for name in EDITABLE if name in table.generated}
    if not table.keeps_vectors:
        why_not["vectors"] = "This table has no column of pgvector's type vector(n)."
    if table.read_only_because is not None:
        why_not["write"] = table.read_only_because
    return why_not


async def make_table(connection: asyncpg.Connection, schema: str, name: str, profile: ScoringProfile) -> None:
    """Make schema, table, indexes and constraints as the ZeroClaw of that profile does, all of it or nothing.

    Raises Refused where there is a table already, and where this user may not make one.
    """
    found = await look_at(connection, schema, name)
    if found.kind is not None:
        raise Refused(f"There is a table {found.name} already.")
    if not found.may_make:
        raise Refused(f"The user {shown(found.user)} may not create the table {found.name}.", hint=found.grant)
    has_agents = parse_version(profile.version) >= _FIRST_WITH_AGENTS
    script = (_NEW_TABLE + _AGENTS if has_agents else _NEW_TABLE).format(
        schema=schema, table=f'"{schema}"."{name}"', unique="" if has_agents else "UNIQUE", agent=uuid.uuid4()
    )
    await connection.execute(script)


async def health_of(connection: asyncpg.Connection, table: Table, location: str) -> Health:
    """The facts and what follows from them; counts all rows once."""
    version = str(await connection.fetchval("SELECT current_setting('server_version')")).split()[0]
    embedded = "count(embedding)" if table.keeps_vectors else "0::bigint"
    statement = f"SELECT count(*) AS memories, {embedded} AS embedded FROM {table.quoted}"
    rows = await connection.fetchrow(statement, timeout=patience(LONG_SECONDS))
    memories = rows["memories"]
    facts: dict[str, Any] = {
        "database": location,
        "server": f"PostgreSQL {shown(version)}",
        "form": _FORMS[table.form],
        "memories": memories,
    }
    if table.keeps_vectors:
        facts |= {"embedded": rows["embedded"], "not embedded": memories - rows["embedded"]}
    if table.form == "agents":
        facts["agents"] = sorted(table.agents.values())
    # A role that may only read is enough for looking, and says nothing of the agent's own.
    findings = [] if table.read_only_because is None else [table.read_only_because]
    counted = "1 memory" if memories == 1 else f"{memories:,} memories"
    return Health(True, f"{counted}, {facts['server']}, {table.schema}.{table.name}.", tuple(findings), facts)
