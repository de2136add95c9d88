"""What ZeroClaw would meet at its start with a PostgreSQL database; nothing is written, made or locked."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from zeroclaw_tui.backends.health import StartCheck
from zeroclaw_tui.backends.postgres.address import OPTIONS_OF_ZEROCLAW, PostgresAddress
from zeroclaw_tui.backends.postgres.connect import Connections, no_answer
from zeroclaw_tui.backends.postgres.schema import Found, described, look_at
from zeroclaw_tui.backends.postgres.store import PostgresMemory
from zeroclaw_tui.config.memory_config import MemoryConfig, shown
from zeroclaw_tui.memory.errors import Refused, UsageError


async def probe(config: MemoryConfig, seconds: float) -> StartCheck:
    """Connect without TLS, as ZeroClaw does, and look at table and rights.

    Raises Unreadable for another program's table.
    """
    store = PostgresMemory.from_config(config)
    _check_url(store.address)
    address = replace(store.address, options={**store.address.options, "sslmode": "disable"})
    connections = Connections(address, connect_seconds=store.connect_seconds)
    began = time.perf_counter()
    try:
        async with asyncio.timeout(seconds):
            await connections.open()
            summary = f"connects in {(time.perf_counter() - began) * 1000:.0f} ms"
            async with connections.reading() as connection:
                found = await look_at(connection, store.schema_name, store.table_name)
                if found.kind is not None:
                    await described(connection, found)
    except TimeoutError:
        raise no_answer(address, seconds) from None
    finally:
        await connections.disconnect()
    vector = "no pgvector" if found.schema_of_vector is None else "pgvector is there"
    facts = [f"{vector}: ZeroClaw recalls from PostgreSQL by keywords only"]
    problem = _problem(found, address)
    if problem is None:
        deed = "may create" if found.kind is None else "may read and write"
        facts.insert(0, f"{deed} the table {found.name}")
    return StartCheck(summary, tuple(facts), problem)


def _check_url(address: PostgresAddress) -> None:
    """Raise UsageError for an option with which ZeroClaw's driver does not connect."""
    for name, value in address.options.items():
        asks_for_tls = name in ("sslmode", "channel_binding") and address.tls not in ("disable", "prefer")
        if name not in OPTIONS_OF_ZEROCLAW or asks_for_tls:
            raise UsageError(
                f"ZeroClaw cannot connect with {shown(name)}={shown(value)} in the database URL: it always connects "
                "without TLS, and knows no certificates and no names of tables there.",
                hint="Remove it from the URL. If the server insists on TLS, reach it through a tunnel.",
            )


def _problem(found: Found, address: PostgresAddress) -> Refused | None:
    """Why ZeroClaw could not make or use a table of its own.

    It sends CREATE SCHEMA, CREATE TABLE and CREATE INDEX, each IF NOT EXISTS, at every start. PostgreSQL checks the
    rights before it looks whether anything is to be made, and lets only a table's owner make an index.
    """
    if found.is_read_only:
        return Refused(
            f"The database server {address.place} is read-only: it is a replica or configured as read-only.",
            hint="Use the address of the primary server.",
        )
    if found.may_make and (found.kind is None or found.owns_table):
        return None
    return Refused(
        f"The user {shown(found.user)} lacks rights that ZeroClaw needs at every start: to create the schema "
        f"{found.schema}, and to own the table {found.name}.",
        hint=found.grant,
    )
