"""The table: its form and rights, what it cannot do, how it and its server are, and how ZeroClaw makes it."""

from __future__ import annotations

import re
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
NEEDED = ("id", "key", "content", "category")
"""The columns that every form has."""
_TEXTS = ("text", "character varying", "character", "citext")
_TIMES = ("timestamp with time zone", "timestamp without time zone")
_TYPES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("id", "session_id"), (*_TEXTS, "uuid")),
    **dict.fromkeys(("key", "content", "agent_id"), _TEXTS),
    "category": (*_TEXTS, "json", "jsonb"),
    **dict.fromkeys(("created_at", "updated_at", "timestamp"), _TIMES),
}
OTHER_NAME = "Set storage.postgres.table or storage.postgres.schema to another name."
_INDEXED = ("category", "session_id", "updated_at", "agent_id")
LOOK = """
SELECT current_user::text AS user_name,
       current_database()::text AS database,
       current_setting('default_transaction_read_only') = 'on' OR pg_is_in_recovery() AS is_read_only,
       has_database_privilege(current_database(), 'CREATE') AS may_make_schemas,
       n.oid IS NOT NULL AS has_schema,
       coalesce(has_schema_privilege(n.oid, 'USAGE'), false) AS may_use_schema,
       coalesce(has_schema_privilege(n.oid, 'CREATE'), false) AS may_make_tables,
       c.oid::text AS table_oid,
       c.relkind::text AS kind,
       coalesce(pg_has_role(c.relowner, 'USAGE'), false) AS owns_table,
       (SELECT e.extnamespace::regnamespace::text FROM pg_extension e WHERE e.extname = 'vector') AS vector_schema
FROM (SELECT 1) AS one
LEFT JOIN pg_namespace n ON n.nspname = $1
LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = $2
"""
COLUMNS = """
SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type,
       attgenerated::text <> '' AS is_generated
FROM pg_attribute WHERE attrelid = $1::text::oid AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_ALL_RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE")
RIGHTS = f"""
SELECT array(SELECT right_ FROM unnest(ARRAY{list(_ALL_RIGHTS)}) AS right_
             WHERE NOT has_table_privilege($1::text::oid, right_)) AS lacking
"""
SERVER = """
SELECT current_setting('server_version') AS version,
       current_setting('server_encoding') AS encoding,
       (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector
"""
_SIZES = """
SELECT pg_table_size(c.oid) AS bytes,
       array(SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = c.oid AND indisvalid) AS indexes
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2
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
_WITHOUT = ((0, 6, 3), (0, 7, 4))
"""From the first of these versions to before the second ZeroClaw knows no PostgreSQL."""
_FIRST_WITH_AGENTS = (0, 8, 0)
_FIRST_WITH_WORD_INDEXES = (0, 5, 7)

_NEW_TABLE = """
CREATE SCHEMA IF NOT EXISTS "{schema}";
CREATE TABLE {table} (
    id TEXT PRIMARY KEY, key TEXT {unique} NOT NULL, content TEXT NOT NULL, category TEXT NOT NULL,
    created_at TIMESTAMPTZ NOT NULL, updated_at TIMESTAMPTZ NOT NULL, session_id TEXT
);
CREATE INDEX IF NOT EXISTS idx_memories_category ON {table} (category);
CREATE INDEX IF NOT EXISTS idx_memories_session_id ON {table} (session_id);
CREATE INDEX IF NOT EXISTS idx_memories_updated_at ON {table} (updated_at DESC);
"""
_WORD_INDEXES = """
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
    ADD CONSTRAINT "{rule}" UNIQUE (agent_id, key);
CREATE INDEX IF NOT EXISTS idx_memories_agent_id ON {table} (agent_id);
INSERT INTO "{schema}"."schema_version" VALUES ('memories', 1, now()) ON CONFLICT DO NOTHING;
INSERT INTO "{schema}"."agents" VALUES ('{agent}', 'default', now()) ON CONFLICT DO NOTHING;
"""
_RULE = "memories_agent_key_uniq"
_VECTORS = """
ALTER TABLE {table} ADD COLUMN namespace TEXT DEFAULT 'default', ADD COLUMN importance REAL,
    ADD COLUMN embedding {vector}.vector({dimensions});
CREATE INDEX IF NOT EXISTS idx_memories_namespace ON {table} (namespace);
"""


@dataclass(frozen=True, slots=True)
class Table:
    """One table of memories, as it was found.

    `columns` maps each column, also those nobody here knows, to its type as `format_type` spells it. `agents` maps
    agent ids to aliases (form "agents"). `schema_of_vector` is where the extension vector lives, None where it is not
    installed. `read_only_because` says why nothing can be written. `generated` are the columns PostgreSQL computes
    itself, which cannot be written. `lacking` are the rights on it that the user does not have.
    """

    schema: str
    name: str
    form: Form
    columns: Mapping[str, str]
    agents: Mapping[str, str]
    schema_of_vector: str | None = None
    read_only_because: str | None = None
    generated: frozenset[str] = frozenset()
    lacking: tuple[str, ...] = ()

    @property
    def quoted(self) -> str:
        """Its name for a statement."""
        return f'"{self.schema}"."{self.name}"'

    def has(self, column: str) -> bool:
        """Whether there is that column."""
        return column in self.columns

    def is_uuid(self, column: str) -> bool:
        """Whether a column is of PostgreSQL's own type for UUIDs."""
        return base_type(self.columns[column]) == "uuid"

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
        is_vector = base_type(self.columns.get("embedding", "")) == "vector"
        return is_vector and self.schema_of_vector is not None and self.dimensions is not None

    @property
    def dimensions(self) -> int | None:
        """How many numbers each vector has, where the column's type says so."""
        found = re.search(r"\((\d+)\)$", self.columns.get("embedding", ""))
        return int(found[1]) if found else None


def base_type(spelled: str) -> str:
    """A type as `format_type` spells it, without schema and without what is in parentheses."""
    bare = re.sub(r"\(.*?\)", "", spelled)
    return bare.rpartition(".")[2].strip('"') if "." in bare else bare


def checked_name(what: str, name: str) -> str:
    """A schema's or table's name. Raises UsageError for one that ZeroClaw or PostgreSQL does not take."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,62}", name):
        raise UsageError(
            f'The {what} "{shown(name)}" is no name that ZeroClaw takes.',
            hint="Use at most 63 letters, digits and _, and no digit first.",
        )
    return name


async def read_table(connection: asyncpg.Connection, schema: str, name: str) -> Table:
    """Look at the table. Raises NothingYet where there is none, Unreadable for another program's, naming why.

    Raises Refused where the user may not read it.
    """
    seen = await connection.fetchrow(LOOK, schema, name)
    full, oid, user = f"{schema}.{name}", seen["table_oid"], shown(seen["user_name"])
    if seen["has_schema"] and not seen["may_use_schema"]:
        raise _no_right(f"The user {user} may not look into the schema {schema}.", f'USAGE ON SCHEMA "{schema}"', user)
    if oid is None:
        what = f"table {full}" if seen["has_schema"] else f"schema {schema}, so no table {full}"
        raise NothingYet(f"There is no {what} yet.", hint="ZeroClaw creates it at its first start with this database.")
    rows = await connection.fetch(COLUMNS, oid)
    columns = {row["name"]: row["type"] for row in rows}
    form = _form_of(columns, seen["kind"], full)
    lacking = tuple(await connection.fetchval(RIGHTS, oid))
    if "SELECT" in lacking:
        raise _no_right(f"The user {user} may not read the table {full}.", f'SELECT ON "{schema}"."{name}"', user)
    read_only_because = f"The user {user} lacks {joined(lacking)} on the table {full}." if lacking else None
    if seen["is_read_only"]:
        read_only_because = "The database server is read-only: it is a replica or configured as read-only."
    return Table(
        schema=schema,
        name=name,
        form=form,
        columns=columns,
        agents=await read_agents(connection, schema) if form == "agents" else {},
        schema_of_vector=seen["vector_schema"],
        read_only_because=read_only_because,
        generated=frozenset(row["name"] for row in rows if row["is_generated"]),
        lacking=lacking,
    )


async def read_agents(connection: asyncpg.Connection, schema: str) -> dict[str, str]:
    """The aliases of the agents by their ids; none where there is no such table, or the user may not read it."""
    named = f'"{schema}"."agents"'
    may = await connection.fetchval("SELECT has_table_privilege(to_regclass($1::text)::oid, 'SELECT')", named)
    if not may:
        return {}
    rows = await connection.fetch(f"SELECT id::text AS id, alias::text AS alias FROM {named} ORDER BY alias, id")
    return {row["id"]: row["alias"] for row in rows}


def _no_right(sentence: str, right: str, user: str) -> Refused:
    return Refused(sentence, hint=f'Its owner can run: GRANT {right} TO "{user}";')


def _form_of(columns: Mapping[str, str], kind: str, full: str) -> Form:
    is_tutorial = "timestamp" in columns and "created_at" not in columns
    needed = (*NEEDED, "timestamp") if is_tutorial else (*NEEDED, "created_at", "updated_at")
    missing = [column for column in needed if column not in columns]
    if kind not in ("r", "p"):
        raise Unreadable(f"{full} is not a table but a view, an index or something else.", hint=OTHER_NAME)
    if missing:
        plural = "s" if len(missing) > 1 else ""
        why = f"it has no column{plural} {', '.join(missing)}"
        raise Unreadable(f"The table {full} is not ZeroClaw's: {why}.", hint=OTHER_NAME)
    for column, types in _TYPES.items():
        if column in columns and base_type(columns[column]) not in types:
            why = f"its column {column} is of type {shown(columns[column])}"
            raise Unreadable(f"The table {full} is not ZeroClaw's: {why}.", hint=OTHER_NAME)
    if is_tutorial:
        return "uuid"
    return "agents" if "agent_id" in columns else "key"


def joined(words: Sequence[str]) -> str:
    """Words as a sentence lists them."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def missing_in(table: Table) -> dict[str, str]:
    """What a table cannot do, with a sentence for each."""
    why_not = _NEVER | {name: why for name, (column, why) in _WHY_NOT.items() if not table.has(column)}
    why_not |= {name: f"PostgreSQL itself computes the column {name}." for name in EDITABLE if name in table.generated}
    if not table.keeps_vectors:
        why_not["vectors"] = "This table has no column of pgvector's type vector(n)."
    if table.read_only_because is not None:
        why_not["write"] = table.read_only_because
    return why_not


def knows_postgres(profile: ScoringProfile) -> bool:
    """Whether the ZeroClaw of that version knows PostgreSQL at all."""
    return not _WITHOUT[0] <= parse_version(profile.version) < _WITHOUT[1]


async def make_table(
    connection: asyncpg.Connection,
    schema: str,
    name: str,
    profile: ScoringProfile,
    vector_dimensions: int | None = None,
) -> None:
    """Make schema, table, indexes and constraints as the ZeroClaw of that profile does, all of it or nothing.

    With `vector_dimensions` also the columns of its option `vector_enabled`, where the extension is installed.
    Raises Refused where there is a table already, where this user may not make one, and for a version that knows no
    PostgreSQL.
    """
    if not knows_postgres(profile):
        raise Refused(
            f"ZeroClaw {profile.version} knows no PostgreSQL: with this config it would use Markdown.",
            hint="Versions up to 0.6.2 and from 0.7.4 on know it; --profile names another.",
        )
    seen = await connection.fetchrow(LOOK, schema, name)
    if seen["table_oid"] is not None:
        raise Refused(f"There is a table {schema}.{name} already.")
    user, database = seen["user_name"], seen["database"]
    if seen["has_schema"] and not seen["may_make_tables"]:
        sentence = f"The user {user} may not make a table in the schema {schema}."
        raise _no_right(sentence, f'CREATE, USAGE ON SCHEMA "{schema}"', user)
    if not seen["has_schema"] and not seen["may_make_schemas"]:
        sentence = f"The user {user} may not make the schema {schema} in the database {database}."
        raise _no_right(sentence, f'CREATE ON DATABASE "{database}"', user)
    version = parse_version(profile.version)
    has_agents = version >= _FIRST_WITH_AGENTS
    taken = await connection.fetchval("SELECT to_regclass($1::text) IS NOT NULL", f'"{schema}"."{_RULE}"')
    script = _NEW_TABLE
    if has_agents:
        script += _AGENTS
    if version >= _FIRST_WITH_WORD_INDEXES:
        script += _WORD_INDEXES
    if vector_dimensions is not None and seen["vector_schema"] is not None:
        script += _VECTORS
    script = script.format(
        schema=schema,
        table=f'"{schema}"."{name}"',
        unique="" if has_agents else "UNIQUE",
        # ZeroClaw would leave a second table in one schema without this rule, and then could store nothing in it.
        rule=f"{name[:40]}_agent_key_uniq" if taken else _RULE,
        agent=uuid.uuid4(),
        vector=seen["vector_schema"],
        dimensions=vector_dimensions,
    )
    await connection.execute(script if not seen["has_schema"] else script.partition(";")[2])


async def health_of(connection: asyncpg.Connection, table: Table, location: str, notices: Sequence[str] = ()) -> Health:
    """The facts and what follows from them; counts all rows once."""
    server = await connection.fetchrow(SERVER)
    sizes = await connection.fetchrow(_SIZES, table.schema, table.name)
    embedded = "count(embedding)" if table.keeps_vectors else "0::bigint"
    statement = f"SELECT count(*) AS memories, {embedded} AS embedded FROM {table.quoted}"
    rows = await connection.fetchrow(statement, timeout=patience(LONG_SECONDS))
    version, memories = shown(server["version"].split()[0]), rows["memories"]
    facts: dict[str, Any] = {
        "database": location,
        "server": f"PostgreSQL {version}",
        "schema": table.schema,
        "table": table.name,
        "form": _FORMS[table.form],
        "memories": memories,
        "columns": sorted(table.columns),
        "bytes": sizes["bytes"],
        "the user may": [right for right in _ALL_RIGHTS if right not in table.lacking],
    }
    if table.keeps_vectors:
        facts |= {"embedded": rows["embedded"], "not embedded": memories - rows["embedded"]}
    if table.form == "agents":
        facts["agents"] = sorted(table.agents.values())
    missing = _missing_indexes(table, sizes["indexes"])
    if missing:
        facts["indexes missing"] = missing
    is_unicode = server["encoding"] == "UTF8"
    verdict = "nothing wrong found" if is_unicode else "something is wrong"
    findings: list[str] = []
    if not is_unicode:
        findings.append(f"The database keeps text as {shown(server['encoding'])}, so not every memory can be stored.")
    # A role that may only read is enough for looking, and says nothing of the agent's own.
    if table.read_only_because is not None:
        findings.append(table.read_only_because)
        verdict += ", for reading only"
    findings += notices
    if "updated_at" in missing:
        findings.append("There is no index on updated_at, so every page of the list looks at all rows.")
    elif missing:
        findings.append(f"There is no index on {joined(missing)}; ZeroClaw's newer versions make it at their start.")
    if table.form == "uuid":
        findings.append("ZeroClaw itself cannot use this table: it is of another shape.")
    elif rows["embedded"]:
        findings.append("Some memories have vectors here; ZeroClaw itself recalls from PostgreSQL by words only.")
    counted = "1 memory" if memories == 1 else f"{memories:,} memories"
    summary = f"{counted}, PostgreSQL {version}, {table.schema}.{table.name}: {verdict}."
    return Health(is_unicode, summary, tuple(findings), facts)


def _missing_indexes(table: Table, indexes: Sequence[str]) -> list[str]:
    """The columns ZeroClaw has an index on and this table has not."""
    if table.form == "uuid":
        return []
    first_columns = {found[1] for index in indexes if (found := re.search(r"\((\w+)", index))}
    lacking = [name for name in _INDEXED if table.has(name) and name not in first_columns]
    words = [index for index in indexes if "to_tsvector" in index]
    return lacking + [f"words of {name}" for name in ("content", "key") if not any(name in index for index in words)]
