"""What ZeroClaw would meet at its start with a PostgreSQL database; nothing is written, made or locked."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.health import StartCheck
from zeroclaw_tui.backends.postgres.address import TABLE_OPTIONS, PostgresAddress
from zeroclaw_tui.backends.postgres.connect import Connections, no_answer
from zeroclaw_tui.backends.postgres.schema import COLUMNS, LOOK, NEEDED, OTHER_NAME, RIGHTS, SERVER, joined
from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.config.memory_config import MemoryConfig, shown
from zeroclaw_tui.memory.errors import Refused, UsageError

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]

_MOST_COUNTED = 100_000


class PostgresProbe:
    """StartProbe of a PostgreSQL database."""

    def __init__(self, config: MemoryConfig) -> None:
        self._store = PostgresMemory.from_config(config)
        _check_url(self._store.address)

    async def run(self, seconds: float) -> StartCheck:
        """Connect without TLS, as ZeroClaw does, and look at the rights."""
        store = self._store
        address = replace(store.address, options={**store.address.options, "sslmode": "disable"})
        connections = Connections(address, connect_seconds=store.connect_seconds)
        began = time.perf_counter()
        try:
            async with asyncio.timeout(seconds):
                await connections.open()
                summary = f"connects in {(time.perf_counter() - began) * 1000:.0f} ms"
                async with connections.reading() as connection:
                    facts, problem = await _examine(connection, store)
        except TimeoutError:
            raise no_answer(address, seconds) from None
        finally:
            await connections.disconnect()
        if not address.names_user:
            facts.append(f"the URL names no user: tried as {shown(address.user)}, who runs this")
        return StartCheck(summary, tuple(facts), problem)


def _check_url(address: PostgresAddress) -> None:
    """Raise UsageError for what ZeroClaw's driver refuses in a URL, and for TLS, which ZeroClaw has not."""
    for name in address.unknown_to_zeroclaw:
        instead = f"; ZeroClaw's own setting is storage.postgres.{name}" if name in TABLE_OPTIONS else ""
        raise UsageError(
            f"The database URL has the option {shown(name)}, which ZeroClaw's driver does not know and refuses.",
            hint=f"Take it out of the URL{instead}.",
        )
    if address.asks_for_tls:
        name = "channel_binding" if address.options.get("channel_binding") == "require" else "sslmode"
        raise UsageError(
            f"The database URL asks for TLS ({name}={shown(address.options[name])}), but ZeroClaw always connects "
            "without.",
            hint="Take it out of the URL if the server lets you in without TLS; else reach it through a tunnel.",
        )


async def _examine(connection: asyncpg.Connection, store: PostgresMemory) -> tuple[list[str], Refused | None]:
    """What a signed-in user finds and may do, measured by what ZeroClaw does at every start."""
    seen = await connection.fetchrow(LOOK, store.schema_name, store.table_name)
    server = await connection.fetchrow(SERVER)
    name = f"{store.schema_name}.{store.table_name}"
    vector = server["vector"] and f"pgvector {shown(str(server['vector']))} is there, but"
    facts = [
        f"PostgreSQL {shown(str(server['version']).split()[0])}",
        f"{vector or 'no pgvector:'} ZeroClaw recalls from PostgreSQL by words only",
    ]
    lacking: list[str] = []
    if seen["table_oid"] is not None:
        columns = [row["name"] for row in await connection.fetch(COLUMNS, seen["table_oid"])]
        lacking = await connection.fetchval(RIGHTS, seen["table_oid"])
        missing = [column for column in (*NEEDED, "created_at", "updated_at") if column not in columns]
        if missing or seen["kind"] not in ("r", "p"):
            why = f"it has no column {', '.join(missing)}" if missing else "it is no plain table"
            return facts, Refused(f"The table {name} is not ZeroClaw's: {why}.", hint=OTHER_NAME)
        if "SELECT" not in lacking and seen["may_use_schema"]:
            facts.append(await _counted(connection, f'"{store.schema_name}"."{store.table_name}"'))
    if seen["is_read_only"]:
        return facts, Refused(
            f"The database server {store.address.place} is read-only: it is a replica or configured as read-only.",
            hint="Use the address of the primary server.",
        )
    needs = _needs(seen, lacking, store)
    if needs:
        words, remedies = zip(*needs, strict=True)
        user = shown(store.address.user)
        return facts, Refused(
            f"The user {user} lacks what ZeroClaw needs at every start: {joined(words)}.", hint=" ".join(remedies)
        )
    facts.append(f"may create the table {name}" if seen["table_oid"] is None else f"may read and write {name}")
    return facts, None


def _needs(seen: asyncpg.Record, lacking: list[str], store: PostgresMemory) -> list[tuple[str, str]]:
    """The rights ZeroClaw lacks, each in words and with the statement that gives it.

    ZeroClaw sends CREATE SCHEMA, CREATE TABLE and CREATE INDEX, each IF NOT EXISTS, at every start. PostgreSQL checks
    the rights before it looks whether anything is to be made, and lets only a table's owner make an index.
    """
    user, database, schema = shown(store.address.user), shown(store.address.database), store.schema_name
    table, quoted = f"{schema}.{store.table_name}", f'"{schema}"."{store.table_name}"'
    needs = []
    if not seen["may_make_schemas"]:
        needs.append((f"CREATE on the database {database}", f'GRANT CREATE ON DATABASE "{database}" TO "{user}";'))
    if seen["has_schema"] and not (seen["may_use_schema"] and seen["may_make_tables"]):
        grant = f'GRANT USAGE, CREATE ON SCHEMA "{schema}" TO "{user}";'
        needs.append((f"USAGE and CREATE on the schema {schema}", grant))
    if seen["table_oid"] is not None and not seen["owns_table"]:
        needs.append((f"to own the table {table}", f'ALTER TABLE {quoted} OWNER TO "{user}";'))
    elif lacking:
        rights = ", ".join(lacking)
        needs.append((f"{rights} on the table {table}", f'GRANT {rights} ON {quoted} TO "{user}";'))
    return needs


async def _counted(connection: asyncpg.Connection, quoted: str) -> str:
    """How many memories there are; counting stops where it would take long."""
    statement = f"SELECT count(*) FROM (SELECT 1 FROM {quoted} LIMIT {_MOST_COUNTED + 1}) AS counted"
    count = int(await connection.fetchval(statement))
    if count > _MOST_COUNTED:
        return f"holds more than {_MOST_COUNTED:,} memories"
    return f"holds {count:,} {'memory' if count == 1 else 'memories'}"
