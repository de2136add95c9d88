"""Reading from stores that are SQL tables: `rows` and `count_up` for every engine."""

from __future__ import annotations

import asyncio
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.base import RowMemory, SearchedMemory, T
from zeroclaw_tui.backends.sql.select import Select
from zeroclaw_tui.memory.entry import Handle, as_text
from zeroclaw_tui.memory.query import EVERYTHING, HANDLES, MemoryFilter, Query, Superseded

if TYPE_CHECKING:
    from zeroclaw_tui.memory.change import Row
    from zeroclaw_tui.memory.statistics import CountField, Counts

NAME_BATCH_SIZE = 2000
"""The maximum number of ids or keys in one statement."""


class SqlMemory(RowMemory, SearchedMemory):
    """A store whose memories are the rows of a table."""

    @abstractmethod
    async def select(self, filter: MemoryFilter) -> Select:
        """Select the rows that match a filter. Raises UsageError for a pattern that is invalid or takes too long."""

    @abstractmethod
    async def fetch_records(
        self, select: Select, statement: str, make: Callable[[Any], T], *, takes_long: bool = False
    ) -> Sequence[T]:
        """Fetch the records of a statement, each converted by `make`.

        `takes_long` means that the statement may read every row.
        """

    @abstractmethod
    async def stored_rows(self, handles: Sequence[Handle]) -> Sequence[Row]:
        """Fetch the full rows at these handles, in this order; deleted rows are left out."""

    @abstractmethod
    async def agent_aliases(self) -> Mapping[str, str]:
        """Read the aliases of the agents by id."""

    async def rows(self, query: Query[T]) -> Sequence[T]:
        found: Any
        if query.read.name == "row":
            found = await self.stored_rows(await self._handles(query))
        elif any(names is not None for names in (query.handles, query.ids, query.keys)):
            found = await self._named_rows(query)
        else:
            found = await self._page(query)
        read: Sequence[T] = found
        return read

    async def _handles(self, query: Query[Any]) -> Sequence[Handle]:
        """Find the handles of a query's rows; given handles are returned unchecked if there is no filter."""
        if query.handles is not None and query.filter == EVERYTHING:
            return list(dict.fromkeys(query.handles))
        return await self.rows(query._replace(read=HANDLES))

    async def _page(self, query: Query[Any]) -> Sequence[Any]:
        """Fetch one page of the rows that match a filter, with one statement."""
        select = await self.select(query.filter)
        order = select.order(query.sort)
        if query.prefix is not None:
            select.also(select.begins_with(query.prefix))
            order = f"ORDER BY {select.listed_order}"
        columns, make = select.reading(query.read.name)
        statement = select.statement(columns, f"{order} {select.part(query)}")
        return await self.fetch_records(select, statement, make, takes_long=select.takes_long(query))

    async def _named_rows(self, query: Query[Any]) -> Sequence[Any]:
        """Fetch the rows with one of the query's handles, ids or keys."""
        named = {"handle": query.handles, "id": query.ids, "key": query.keys}
        column, names = next(
            (column, list(dict.fromkeys(names))) for column, names in named.items() if names is not None
        )
        select = await self.select(query.filter)
        columns, make = select.reading(query.read.name)
        name = select.column(column)
        if name is None:
            return []
        by_name: dict[Any, list[Any]] = {}
        for start in range(0, len(names), NAME_BATCH_SIZE):
            some = select.named(column, names[start : start + NAME_BATCH_SIZE])
            statement = some.statement(f"{columns}, {name} AS name", f"ORDER BY {some.stored_order}")
            for found, row in await self.fetch_records(
                some, statement, lambda record: (record[-1], make(record)), takes_long=query.filter.searches_text
            ):
                by_name.setdefault(found if column == "handle" else as_text(found), []).append(row)
        return [row for name in names for row in by_name.get(name, ())]

    async def count_up(self, filter: MemoryFilter, now: str, by: Sequence[CountField] = ()) -> Counts:
        from zeroclaw_tui.backends.sql.counts import counted_together
        from zeroclaw_tui.memory.statistics import Counts

        counted: dict[CountField, Counts] = {}
        for fields in counted_together(await self.select(filter), by):
            wanted = filter.replace(superseded=Superseded.ONLY) if "superseded" in fields else filter
            counted |= dict.fromkeys(fields, await self._count_together(wanted, now, fields))
        of_all = [counts for field, counts in counted.items() if field not in ("superseded", "embedded")]
        total = (of_all[0] if of_all else await self._count_together(filter, now, ())).total
        content = counted["size"].content if "size" in counted else 0
        return Counts(total, {field: counts.by[field] for field, counts in counted.items()}, content)

    async def _count_together(self, filter: MemoryFilter, now: str, by: Sequence[CountField]) -> Counts:
        """Count by these fields in one statement."""
        from zeroclaw_tui.backends.sql.counts import Counting

        counting = Counting(await self.select(filter), now, by)
        groups = await self.fetch_records(counting.select, counting.statement, tuple, takes_long=True)
        aliases = await self.agent_aliases() if "agent" in by else {}
        # A filter can have a million sessions; a total is one row.
        return await asyncio.to_thread(counting.counts, groups, aliases) if by else counting.counts(groups, aliases)
