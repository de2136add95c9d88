"""`select` for stores that still answer with one verb for each question; goes with the last of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zeroclaw_tui.backends.matching import matches
from zeroclaw_tui.memory.query import EVERYTHING, Page, Query

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.memory.entry import Handle, MemoryEntry


async def select_by_verb(memory: Memory, query: Query[Any]) -> Page[Any]:
    """Answer a query with the store's own verbs."""
    name = query.read.name
    if query.handles is not None:
        return Page(await _at(memory, name, query.handles))
    if query.ids is not None:
        if name == "row":
            by_id = await memory.stored_by_id(query.ids)
            return Page([by_id[id] for id in dict.fromkeys(query.ids) if id in by_id])  # noqa: A001
        found = [await memory.with_id(id) for id in dict.fromkeys(query.ids)]  # noqa: A001
        return Page(await _as(memory, name, [entry for entry in found if entry is not None]))
    if query.keys is not None:
        agents = query.filter.agent
        entries: list[MemoryEntry] = []
        for key in dict.fromkeys(query.keys):
            entries += [
                entry
                for agent in (agents if agents is not None else (None,))
                for entry in await memory.with_key(key, agent)
                if entry.key == key
            ]
        return Page(await _as(memory, name, entries))
    if query.contents is not None:
        entries, _ = await memory.holding(query.contents, (), 1e9)
        return Page(await _as(memory, name, entries))
    if query.prefix is not None:
        entries = await memory.keys_starting(query.prefix, query.limit if query.limit is not None else 2**31)
        rest = query.filter.but(superseded=EVERYTHING.superseded)
        return Page(await _as(memory, name, [entry for entry in entries if matches(entry, rest)]))
    if query.limit is not None and not query.offset:
        page = await memory.page(query.filter, query.sort, query.after, query.limit)
        if name == "excerpt":
            return page
        handles = [entry.handle for entry in page.items]
        return Page(handles if name == "handle" else await _at(memory, name, handles), page.next)
    if name == "version" and not query.sort.descending and query.limit is None:
        return Page(await memory.stamps(query.filter))
    if query.limit is None and not query.offset:
        every = await memory.order(query.filter, query.sort)
    else:
        limit = query.limit if query.limit is not None else 2**31
        every, _ = await memory.order_part(query.filter, query.sort, query.offset, limit)
    return Page(every if name == "handle" else await _at(memory, name, list(every)))


async def _at(memory: Memory, name: str, handles: Sequence[Handle]) -> Sequence[Any]:
    handles = list(dict.fromkeys(handles))
    match name:
        case "excerpt":
            found: list[Any] = []
            for start in range(0, len(handles), 500):
                found += await memory.rows(handles[start : start + 500])
            return found
        case "entry":
            return await memory.whole_rows(handles)
        case "row":
            return await memory.stored_of(handles)
        case "version":
            return await memory.stamps_of(handles)
        case _:
            return [entry.handle for entry in await memory.rows(handles)]


async def _as(memory: Memory, name: str, entries: Sequence[MemoryEntry]) -> Sequence[Any]:
    if name == "entry":
        return entries
    if name == "excerpt":
        return [entry.excerpt() for entry in entries]
    return await _at(memory, name, [entry.handle for entry in entries])
