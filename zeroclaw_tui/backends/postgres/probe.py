"""What ZeroClaw would meet at its start with a PostgreSQL database; nothing is written, made or locked."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.health import StartCheck
from zeroclaw_tui.backends.postgres.address import TABLE_OPTIONS, PostgresAddress
from zeroclaw_tui.backends.postgres.connect import Connections, no_answer
from zeroclaw_tui.backends.postgres.schema import COLUMNS, LOOK, RIGHTS, SERVER
from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.config.memory_config import MemoryConfig, shown
from zeroclaw_tui.memory.errors import InspectorError, Refused, UsageError

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]

_NEEDED_BY_ZEROCLAW = ("id", "key", "content", "category", "created_at", "updated_at")
_MOST_COUNTED = 100_000
_BY_WORDS_ONLY = "ZeroClaw recalls from PostgreSQL by words only"


@dataclass(frozen=True, slots=True)
class _Need:
    """A right ZeroClaw cannot do without, in words, and the statement that gives it."""

    words: str
    remedy: str


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
                try:
                    async with connections.reading() as connection:
                        return await _rights(connection, address, store.schema_name, store.table_name, summary)
                except InspectorError as error:
                    problem = type(error)(
                        "The database server broke off when it was asked for the rights.",
                        hint="Try again later; is it PostgreSQL 10 or newer?",
                    )
                    return StartCheck(summary, problem=problem)
        except TimeoutError:
            raise no_answer(address, seconds) from None
        finally:
            await connections.close()


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


async def _rights(
    connection: asyncpg.Connection, address: PostgresAddress, schema: str, table: str, summary: str
) -> StartCheck:
    """What a signed-in user may do, measured by what ZeroClaw does there at every start."""
    seen, server = await connection.fetchrow(LOOK, schema, table), await connection.fetchrow(SERVER)
    name = f"{schema}.{table}"
    facts = [f"PostgreSQL {shown(str(server['version']).split()[0])}"]
    needs = _needs(seen, address, schema)
    if not address.names_user:
        facts.append(f"the URL names no user: tried as {shown(address.user)}, who runs this")
    if seen["table_oid"] is not None:
        columns = [row["name"] for row in await connection.fetch(COLUMNS, seen["table_oid"])]
        lacking = await connection.fetchval(RIGHTS, seen["table_oid"])
        missing = [column for column in _NEEDED_BY_ZEROCLAW if column not in columns]
        if missing or seen["kind"] not in ("r", "p"):
            return StartCheck(summary, tuple(facts), _foreign(name, missing))
        needs += _table_needs(seen["owns_table"], lacking, address, schema, table)
        if "SELECT" not in lacking and seen["may_use_schema"]:
            facts.append(await _counted(connection, schema, table))
    elif not needs:
        what = f"the table {name}" if seen["has_schema"] else f"the schema {schema} and its table"
        facts.append(f"may create {what}")
    facts.append(_vector(server))
    problem: InspectorError | None = None
    if seen["is_read_only"]:
        problem = Refused(
            f"The database server {address.place} is read-only: it is a replica or configured as read-only.",
            hint="Use the address of the primary server.",
        )
    elif needs:
        problem = _lacking(needs, address)
    elif seen["table_oid"] is not None:
        facts.insert(1, f"may read and write {name}")
    return StartCheck(summary, tuple(facts), problem)


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


def _vector(server: asyncpg.Record) -> str:
    if server["vector"] is not None:
        return f"pgvector {shown(str(server['vector']))} is there, but {_BY_WORDS_ONLY}"
    if server["vector_available"]:
        return f"pgvector is available but not created in this database; {_BY_WORDS_ONLY} either way"
    return f"no pgvector: {_BY_WORDS_ONLY} either way"
