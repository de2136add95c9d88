"""The shape of the table of memories: of which ZeroClaw versions it is, or the user's own with UUIDs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from zeroclaw_tui.config.notes import shown
from zeroclaw_tui.memory.errors import NothingYet, Refused, Unreadable, WrongUse

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]

Form = Literal["key", "agents", "uuid"]
"""ZeroClaw <= 0.7.5 (a key is unique), >= 0.8.0 (agent and key are), or the tutorial's own table (UUID id, JSON
category, `timestamp`, a pgvector column)."""

_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_LONGEST_NAME = 63
_ROWS_LOOKED_AT = 20_000
_NEEDED = ("id", "key", "content", "category")
_TEXTS = ("text", "character varying", "character", "citext")
_MAY_BE: Mapping[str, tuple[str, ...]] = {
    "id": (*_TEXTS, "uuid"),
    "key": _TEXTS,
    "content": _TEXTS,
    "category": (*_TEXTS, "json", "jsonb"),
    "session_id": (*_TEXTS, "uuid"),
    "agent_id": (*_TEXTS, "uuid"),
    **dict.fromkeys(
        ("created_at", "updated_at", "timestamp"), ("timestamp with time zone", "timestamp without time zone")
    ),
}
_READ_ONLY_SERVER = "The database server takes no writes: it is a replica, or set to read only."
_LOOK = """
SELECT n.oid IS NOT NULL AS has_schema,
       coalesce(has_schema_privilege(n.oid, 'USAGE'), false) AS may_use_schema,
       c.oid AS table_oid,
       c.relkind::text AS kind,
       current_setting('default_transaction_read_only') = 'on' OR pg_is_in_recovery() AS is_read_only,
       (SELECT e.extnamespace::regnamespace::text FROM pg_extension e WHERE e.extname = 'vector') AS vector_schema,
       EXISTS (SELECT 1 FROM pg_class a WHERE a.relnamespace = n.oid AND a.relname = 'agents') AS has_agents,
       current_user::text AS user_name
FROM (SELECT 1) AS one
LEFT JOIN pg_namespace n ON n.nspname = $1
LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = $2
"""
_COLUMNS = """
SELECT attname::text AS name, format_type(atttypid, atttypmod) AS type,
       attgenerated::text <> '' OR attidentity::text = 'a' AS is_generated, NOT attnotnull AS may_be_null
FROM pg_attribute WHERE attrelid = $1::text::oid AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
_RIGHTS = """
SELECT array(SELECT right_ FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS right_
             WHERE NOT has_table_privilege($1::text::oid, right_)) AS lacking,
       pg_relation_is_updatable($1::text::oid::regclass, false) & 28 = 28 AS takes_writes,
       array(SELECT pg_get_indexdef(indexrelid) FROM pg_index
             WHERE indrelid = $1::text::oid AND indisvalid AND indpred IS NULL) AS indexes
"""
_WORD_INDEX = re.compile(r"USING gin \(to_tsvector\('simple'::regconfig, \(?(key|content)\)?(?:::text)?\)\)")


@dataclass(frozen=True, slots=True)
class Table:
    """One table of memories, as it was found.

    `columns` maps each column, also those nobody here knows, to its type as `format_type` spells it. `vectors` is
    whether any row has one. `agents` maps agent ids to aliases (form "agents"). `schema_of_vector` is where the
    extension vector lives, None where it is not installed. `read_only_because` as in Memory. `generated` are the
    columns PostgreSQL computes itself, which cannot be written. `kind` is pg_class's: "r" a table, "v" a view, ….
    `lacking` are the rights on it that the user does not have. `may_be_null` are the columns without NOT NULL: all of a
    view's. `has_word_indexes` says whether both of ZeroClaw's indexes on the words of key and content are there.
    """

    schema: str
    name: str
    form: Form
    columns: Mapping[str, str]
    agents: Mapping[str, str]
    vectors: bool = False
    schema_of_vector: str | None = None
    read_only_because: str | None = None
    generated: frozenset[str] = frozenset()
    kind: str = "r"
    lacking: tuple[str, ...] = ()
    may_be_null: frozenset[str] = frozenset()
    has_word_indexes: bool = False

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
    def vector_type(self) -> str | None:
        """The bare name of the type of the column `embedding` ("vector", "halfvec", "real[]"); None without one."""
        spelled = self.columns.get("embedding")
        return None if spelled is None else base_type(spelled)

    @property
    def dimensions(self) -> int | None:
        """How many numbers each vector has, where the column's type says so."""
        found = re.search(r"\((\d+)\)$", self.columns.get("embedding", ""))
        return int(found[1]) if found else None


def base_type(spelled: str) -> str:
    """A type as `format_type` spells it, without schema and without what stands in parentheses."""
    bare = re.sub(r"\(.*?\)", "", spelled)
    return bare.rpartition(".")[2].strip('"') if "." in bare else bare


def checked_name(what: str, name: str) -> str:
    """A schema's or table's name. Raises WrongUse for one that ZeroClaw does not take ([A-Za-z_][A-Za-z0-9_]*)."""
    if not _IDENTIFIER.fullmatch(name):
        raise WrongUse(
            f'The {what} "{shown(name)}" is no name that ZeroClaw takes.',
            hint="Letters, digits and _ only, and no digit first.",
        )
    if len(name) > _LONGEST_NAME:
        raise WrongUse(
            f"The name of the {what} is longer than PostgreSQL's {_LONGEST_NAME} letters.", hint="Choose a shorter one."
        )
    return name


async def read_table(connection: asyncpg.Connection, schema: str, name: str) -> Table:
    """Look at the table. Raises NothingYet where there is none, Unreadable for another program's, naming why.

    Raises Refused where the user may not read it.
    """
    seen = await connection.fetchrow(_LOOK, schema, name)
    full = f"{schema}.{name}"
    if seen["has_schema"] and not seen["may_use_schema"]:
        user = shown(seen["user_name"])
        raise Refused(
            f"The user {user} may not look into the schema {schema}.",
            hint=f'Its owner grants that: GRANT USAGE ON SCHEMA "{schema}" TO "{user}";',
        )
    if seen["table_oid"] is None:
        what = f"table {full}" if seen["has_schema"] else f"schema {schema}, so no table {full}"
        raise NothingYet(f"There is no {what} yet.", hint="ZeroClaw makes it at its first start with this database.")
    oid = str(seen["table_oid"])
    rows = await connection.fetch(_COLUMNS, oid)
    columns = {row["name"]: row["type"] for row in rows}
    form = _form_of(columns, seen["kind"], full)
    rights = await connection.fetchrow(_RIGHTS, oid)
    lacking = tuple(rights["lacking"])
    if "SELECT" in lacking:
        user = shown(seen["user_name"])
        raise Refused(
            f"The user {user} may not read the table {full}.",
            hint=f'Its owner grants that: GRANT SELECT ON "{schema}"."{name}" TO "{user}";',
        )
    return Table(
        schema=schema,
        name=name,
        form=form,
        columns=columns,
        agents=await read_agents(connection, schema) if form == "agents" and seen["has_agents"] else {},
        vectors=await _has_vectors(connection, schema, name) if "embedding" in columns else False,
        schema_of_vector=seen["vector_schema"],
        read_only_because=_why_read_only(seen, lacking, bool(rights["takes_writes"]), full),
        generated=frozenset(row["name"] for row in rows if row["is_generated"]),
        kind=seen["kind"],
        lacking=lacking,
        may_be_null=frozenset(row["name"] for row in rows if row["may_be_null"]),
        has_word_indexes={found[1] for text in rights["indexes"] if (found := _WORD_INDEX.search(text))}
        == {"key", "content"},
    )


async def read_agents(connection: asyncpg.Connection, schema: str) -> dict[str, str]:
    """The aliases of the agents by their ids; none where there is no such table, or the user may not read it."""
    named = f'"{schema}"."agents"'
    may = await connection.fetchval("SELECT has_table_privilege(to_regclass($1::text)::oid, 'SELECT')", named)
    if not may:
        return {}
    rows = await connection.fetch(f"SELECT id::text AS id, alias::text AS alias FROM {named} ORDER BY alias, id")
    return {row["id"]: row["alias"] for row in rows}


def _form_of(columns: Mapping[str, str], kind: str, full: str) -> Form:
    is_tutorial = "timestamp" in columns and "created_at" not in columns
    needed = (*_NEEDED, "timestamp") if is_tutorial else (*_NEEDED, "created_at", "updated_at")
    missing = [column for column in needed if column not in columns]
    hint = "Set storage.postgres.table or storage.postgres.schema to another name."
    if kind not in ("r", "p", "v", "m", "f"):
        raise Unreadable(f"{full} is no table but an index or a sequence.", hint=hint)
    if missing:
        plural = "s" if len(missing) > 1 else ""
        raise Unreadable(
            f"The table {full} is not ZeroClaw's: it has no column{plural} {', '.join(missing)}.", hint=hint
        )
    for column, kinds in _MAY_BE.items():
        if column in columns and base_type(columns[column]) not in kinds:
            raise Unreadable(
                f"The table {full} is not ZeroClaw's: its column {column} is of type {shown(columns[column])}.",
                hint=hint,
            )
    if is_tutorial:
        return "uuid"
    return "agents" if "agent_id" in columns else "key"


async def _has_vectors(connection: asyncpg.Connection, schema: str, name: str) -> bool:
    """Whether any row has a vector, by the first rows and by what ANALYZE saw: looking at all would take too long."""
    quoted = f'"{schema}"."{name}"'
    first = f"SELECT embedding IS NOT NULL AS filled FROM {quoted} LIMIT {_ROWS_LOOKED_AT}"
    statement = (
        f"SELECT EXISTS (SELECT 1 FROM ({first}) AS first WHERE filled) OR EXISTS (SELECT 1 FROM pg_stats "
        "WHERE schemaname = $1 AND tablename = $2 AND attname = 'embedding' AND null_frac < 1)"
    )
    return bool(await connection.fetchval(statement, schema, name))


def _why_read_only(seen: Mapping[str, Any], lacking: tuple[str, ...], takes_writes: bool, full: str) -> str | None:
    if seen["is_read_only"]:
        return _READ_ONLY_SERVER
    if lacking:
        rights = lacking[0] if len(lacking) == 1 else f"{', '.join(lacking[:-1])} and {lacking[-1]}"
        return f"The user {shown(seen['user_name'])} lacks {rights} on the table {full}."
    if not takes_writes:
        return f"{full} is a view that takes no writes."
    return None
