"""How a PostgreSQL store is: server, table, rights, and what ZeroClaw would miss."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.base import Health
from zeroclaw_tui.backends.postgres.address import PostgresAddress
from zeroclaw_tui.backends.postgres.capabilities import has_vectors
from zeroclaw_tui.backends.postgres.table import Table
from zeroclaw_tui.config.notes import shown

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


async def health(
    connection: asyncpg.Connection,
    table: Table,
    address: PostgresAddress,
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
        "database": address.location,
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
    if has_vectors(table):
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
    return await connection.fetchrow(f"SELECT count(*) AS rows, {embedded} AS embedded FROM {table.quoted}")


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
