"""How a PostgreSQL store is: server, table, rights, what ZeroClaw would miss, and whether it could start there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.answers import Health, Readiness
from zeroclaw_tui.backends.postgres.address import TABLE_OPTIONS, PostgresAddress
from zeroclaw_tui.backends.postgres.connect import LONG_SECONDS, patience
from zeroclaw_tui.backends.postgres.schema import Table
from zeroclaw_tui.config.memory_config import shown
from zeroclaw_tui.memory.errors import InspectorError, Refused, WrongUse

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]

FORMS = {
    "key": "ZeroClaw up to 0.7.5: a key is unique",
    "agents": "ZeroClaw from 0.8.0 on: agent and key are unique",
    "uuid": "not ZeroClaw's: UUID ids, JSON categories and a `timestamp`",
}
KINDS = {"r": "table", "p": "partitioned table", "v": "view", "m": "materialized view", "f": "foreign table"}
_INDEXED = ("category", "session_id", "updated_at", "agent_id")
_SERVER = """
SELECT current_setting('server_version') AS version,
       current_setting('server_encoding') AS encoding,
       (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector,
       EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector') AS vector_available,
       pg_is_in_recovery() AS is_replica
"""
_TABLE = """
SELECT pg_table_size(c.oid) AS rows_size, pg_indexes_size(c.oid) AS indexes_size,
       array(SELECT a.attname::text FROM pg_index i JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = i.indkey[0]
             WHERE i.indrelid = c.oid AND i.indisvalid) AS indexed,
       array(SELECT pg_get_indexdef(i.indexrelid) FROM pg_index i
             WHERE i.indrelid = c.oid AND i.indkey[0] = 0 AND i.indisvalid) AS computed
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2
"""

_NEEDED = ("id", "key", "content", "category", "created_at", "updated_at")
_MOST_COUNTED = 100_000
_BY_WORDS_ONLY = "ZeroClaw recalls from PostgreSQL by words only"
_AT_START = """
SELECT current_setting('server_version') AS version,
       current_setting('default_transaction_read_only') = 'on' OR pg_is_in_recovery() AS is_read_only,
       has_database_privilege(current_database(), 'CREATE') AS may_make_schemas,
       n.oid IS NOT NULL AS has_schema,
       coalesce(has_schema_privilege(n.oid, 'USAGE'), false) AS may_use_schema,
       coalesce(has_schema_privilege(n.oid, 'CREATE'), false) AS may_make_tables,
       c.oid AS table_oid,
       c.relkind::text AS table_kind,
       coalesce(pg_has_role(c.relowner, 'USAGE'), false) AS owns_table,
       (SELECT extversion FROM pg_extension WHERE extname = 'vector') AS vector,
       EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector') AS vector_available
FROM (SELECT 1) AS one
LEFT JOIN pg_namespace n ON n.nspname = $1
LEFT JOIN pg_class c ON c.relnamespace = n.oid AND c.relname = $2
"""
_RIGHTS = """
SELECT array(SELECT attname::text FROM pg_attribute WHERE attrelid = $1::oid AND attnum > 0 AND NOT attisdropped)
           AS columns,
       array(SELECT right_ FROM unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS right_
             WHERE NOT has_table_privilege($1::oid, right_)) AS lacking
"""


@dataclass(frozen=True, slots=True)
class _Need:
    """A right ZeroClaw cannot do without, in words, and the statement that gives it."""

    words: str
    remedy: str


async def health(
    connection: asyncpg.Connection,
    table: Table,
    location: str,
    *,
    uses_tls: bool,
    notices: tuple[str, ...] = (),
) -> Health:
    """The facts and what follows from them; counts all rows once."""
    server = await connection.fetchrow(_SERVER)
    place = await connection.fetchrow(_TABLE, table.schema, table.name)
    rows = await _rows(connection, table)
    version = shown(str(server["version"]).split()[0])
    rights = [right for right in ("SELECT", "INSERT", "UPDATE", "DELETE") if right not in table.lacking]
    facts: dict[str, Any] = {
        "database": location,
        "server": f"PostgreSQL {version}",
        "tls": "yes" if uses_tls else "no",
        "schema": table.schema,
        "table": table.name,
        "kind": KINDS.get(table.kind, table.kind),
        "form": FORMS[table.form],
        "memories": rows["rows"],
        "columns": sorted(table.columns),
        "bytes": place["rows_size"],
        "index bytes": place["indexes_size"],
        "indexes": sorted({*place["indexed"], *(_short(text) for text in place["computed"])}),
        "pgvector": server["vector"] or ("available, not created" if server["vector_available"] else "not available"),
        "the user may": rights,
    }
    if table.keeps_vectors:
        facts["embedded"] = rows["embedded"]
        facts["not embedded"] = rows["rows"] - rows["embedded"]
    if table.form == "agents":
        facts["agents"] = sorted(table.agents.values())
    missing = _missing_indexes(table, place)
    if missing:
        facts["indexes missing"] = missing
    serious = [] if table.read_only_because is None else [table.read_only_because]
    if server["encoding"] != "UTF8":
        serious.append(f"The database keeps text as {shown(server['encoding'])}, so not every memory can be stored.")
    findings = (*serious, *notices, *_minor(table, facts, missing))
    counted = "1 memory" if rows["rows"] == 1 else f"{rows['rows']:,} memories"
    verdict = "something is wrong" if serious else "nothing wrong found"
    return Health(
        ok=not serious,
        summary=f"{counted}, PostgreSQL {version}, {table.schema}.{table.name}: {verdict}.",
        findings=findings,
        facts=facts,
    )


async def _rows(connection: asyncpg.Connection, table: Table) -> asyncpg.Record:
    embedded = "count(embedding)" if table.has("embedding") else "0::bigint"
    statement = f"SELECT count(*) AS rows, {embedded} AS embedded FROM {table.quoted}"
    return await connection.fetchrow(statement, timeout=patience(LONG_SECONDS))


def _missing_indexes(table: Table, place: asyncpg.Record) -> list[str]:
    """The columns ZeroClaw has an index on and this table has not. Only tables can have any."""
    if table.kind not in ("r", "p") or table.form == "uuid":
        return []
    lacking = [name for name in _INDEXED if table.has(name) and name not in place["indexed"]]
    definitions = [text for text in place["computed"] if "to_tsvector" in text]
    return lacking + [
        f"words of {name}" for name in ("content", "key") if not any(name in text for text in definitions)
    ]


def _short(definition: str) -> str:
    return definition.partition(" USING ")[2] or definition


def _minor(table: Table, facts: dict[str, Any], missing: list[str]) -> list[str]:
    """What a person should know, but nothing is broken."""
    found = []
    if "updated_at" in missing:
        found.append("There is no index on updated_at, so every page of the list looks at all rows.")
    if [name for name in missing if name != "updated_at"]:
        named = ", ".join(name for name in missing if name != "updated_at")
        found.append(f"ZeroClaw's newer versions have an index on {named}; they make it at their next start.")
    if table.form != "uuid" and facts.get("embedded"):
        found.append("Some memories have vectors here; ZeroClaw itself recalls from PostgreSQL by words only.")
    if table.form == "uuid":
        found.append("ZeroClaw itself cannot use this table: it is of another shape.")
    return found


def check_for_zeroclaw(address: PostgresAddress) -> None:
    """Raise WrongUse for what ZeroClaw's driver refuses in a URL, and where it asks for TLS, which ZeroClaw has not."""
    for name in address.unknown_to_zeroclaw:
        instead = f"; ZeroClaw's own setting is storage.postgres.{name}" if name in TABLE_OPTIONS else ""
        raise WrongUse(
            f"The database URL has the option {shown(name)}, which ZeroClaw's driver does not know and refuses.",
            hint=f"Take it out of the URL{instead}.",
        )
    if address.tls not in ("disable", "prefer") or address.asks_for_tls:
        name = "channel_binding" if address.tls in ("disable", "prefer") else "sslmode"
        raise WrongUse(
            f"The database URL asks for TLS ({name}={shown(address.options[name])}), but ZeroClaw always connects "
            "without.",
            hint="Take it out of the URL if the server lets you in without TLS; else reach it through a tunnel.",
        )


async def readiness(
    connection: asyncpg.Connection, address: PostgresAddress, schema: str, table: str, summary: str
) -> Readiness:
    """What a signed-in user may do, measured by what ZeroClaw does there at every start."""
    seen = await connection.fetchrow(_AT_START, schema, table)
    name = f"{schema}.{table}"
    facts = [f"PostgreSQL {shown(str(seen['version']).split()[0])}"]
    needs = _needs(seen, address, schema)
    if not address.names_user:
        facts.append(f"the URL names no user: tried as {shown(address.user)}, who runs this")
    if seen["table_oid"] is not None:
        described = await connection.fetchrow(_RIGHTS, seen["table_oid"])
        missing = [column for column in _NEEDED if column not in described["columns"]]
        if missing or seen["table_kind"] not in ("r", "p"):
            return Readiness(summary, tuple(facts), _foreign(name, missing))
        needs += _table_needs(seen["owns_table"], described["lacking"], address, schema, table)
        if "SELECT" not in described["lacking"] and seen["may_use_schema"]:
            facts.append(await _counted(connection, schema, table))
    elif not needs:
        what = f"the table {name}" if seen["has_schema"] else f"the schema {schema} and its table"
        facts.append(f"may create {what}")
    facts.append(_vector(seen))
    problem: InspectorError | None = None
    if seen["is_read_only"]:
        problem = Refused(
            f"The database server {address.place} takes no writes: it is a replica, or set to read only.",
            hint="Use the address of the primary server.",
        )
    elif needs:
        problem = _lacking(needs, address)
    elif seen["table_oid"] is not None:
        facts.insert(1, f"may read and write {name}")
    return Readiness(summary, tuple(facts), problem)


def _needs(seen: asyncpg.Record, address: PostgresAddress, schema: str) -> list[_Need]:
    """ZeroClaw sends CREATE SCHEMA and CREATE TABLE, each IF NOT EXISTS, at every start; PostgreSQL checks both rights
    before it looks whether anything is to be made."""
    user, database = shown(address.user), shown(address.database)
    needs = []
    if not seen["may_make_schemas"]:
        needs.append(_Need(f"CREATE on the database {database}", f'GRANT CREATE ON DATABASE "{database}" TO "{user}";'))
    if seen["has_schema"] and not (seen["may_use_schema"] and seen["may_make_tables"]):
        needs.append(
            _Need(f"USAGE and CREATE on the schema {schema}", f'GRANT USAGE, CREATE ON SCHEMA "{schema}" TO "{user}";')
        )
    return needs


def _table_needs(owns: bool, lacking: list[str], address: PostgresAddress, schema: str, table: str) -> list[_Need]:
    """CREATE INDEX IF NOT EXISTS, sent at every start too, is for the table's owner alone."""
    if not owns:
        words = f"to own the table {schema}.{table}"
        return [_Need(words, f'ALTER TABLE "{schema}"."{table}" OWNER TO "{shown(address.user)}";')]
    if lacking:
        rights = ", ".join(lacking)
        statement = f'GRANT {rights} ON "{schema}"."{table}" TO "{shown(address.user)}";'
        return [_Need(f"{rights} on the table {schema}.{table}", statement)]
    return []


def _lacking(needs: list[_Need], address: PostgresAddress) -> Refused:
    words = [need.words for need in needs]
    listed = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    return Refused(
        f"The user {shown(address.user)} lacks what ZeroClaw needs at every start: {listed}.",
        hint=" ".join(need.remedy for need in needs),
    )


def _foreign(name: str, missing: list[str]) -> Refused:
    why = f"it has no column {', '.join(missing)}" if missing else "it is no plain table"
    return Refused(
        f"The table {name} is not ZeroClaw's: {why}.",
        hint="Set storage.postgres.table or storage.postgres.schema to another name.",
    )


async def _counted(connection: asyncpg.Connection, schema: str, table: str) -> str:
    """How many memories there are; counting stops where it would take long."""
    statement = f'SELECT count(*) FROM (SELECT 1 FROM "{schema}"."{table}" LIMIT {_MOST_COUNTED + 1}) AS counted'
    count = int(await connection.fetchval(statement))
    if count > _MOST_COUNTED:
        return f"holds more than {_MOST_COUNTED:,} memories"
    return f"holds {count:,} {'memory' if count == 1 else 'memories'}"


def _vector(seen: asyncpg.Record) -> str:
    if seen["vector"] is not None:
        return f"pgvector {shown(str(seen['vector']))} is there, but {_BY_WORDS_ONLY}"
    if seen["vector_available"]:
        return f"pgvector is available but not created in this database; {_BY_WORDS_ONLY} either way"
    return f"no pgvector: {_BY_WORDS_ONLY} either way"
