"""Whether another program has written to a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.postgres.schema import Table

if TYPE_CHECKING:
    import asyncpg  # type: ignore[import-untyped]

_SMALL = 8 * 1024 * 1024
"""Up to this size, in bytes without what is stored outside the rows, all rows of a table are looked at."""


async def version_of(connection: asyncpg.Connection, table: Table) -> tuple[Any, ...]:
    """Values of which at least one changes with every committed write, a new column or agent included.

    In a small table the transactions that wrote its rows are added up, which is exact and seen at once. In a bigger
    one PostgreSQL's own counters are read, which it brings up to date a second, at most ten, after a commit, and the
    newest `updated_at`, which tells of a store at once.
    """
    look = await connection.fetchrow(
        "SELECT c.oid::text AS oid, pg_table_size(c.oid) AS size, c.relkind = 'p' AS is_partitioned, "
        "(SELECT string_agg(attname, ',' ORDER BY attnum) FROM pg_attribute "
        "WHERE attrelid = c.oid AND attnum > 0 AND NOT attisdropped) AS columns "
        "FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2",
        table.schema,
        table.name,
    )
    if look is None:
        return ()
    shape = (look["oid"], look["columns"])
    if not look["is_partitioned"] and look["size"] <= _SMALL:
        rows = await connection.fetchrow(
            f"SELECT count(*) AS rows, coalesce(sum(xmin::text::bigint), 0)::text AS writers FROM {table.quoted}"
        )
        return (*shape, rows["rows"], rows["writers"])
    counted = await connection.fetchrow(
        f"SELECT (SELECT max({table.updated})::text FROM {table.quoted}) AS newest, "
        "(SELECT sum(n_tup_ins + n_tup_upd + n_tup_del)::text FROM pg_stat_all_tables WHERE relid IN "
        "(SELECT $1::text::oid UNION SELECT inhrelid FROM pg_inherits WHERE inhparent = $1::text::oid)) AS written",
        look["oid"],
    )
    return (*shape, counted["newest"], counted["written"])
