"""`memory list` and `memory get`."""

from __future__ import annotations

import argparse
from collections.abc import AsyncIterator, Sequence
from datetime import datetime

from zeroclaw_tui.cli.arguments import agents_given
from zeroclaw_tui.cli.moments import moment_meant
from zeroclaw_tui.cli.output import document, note, write_lines
from zeroclaw_tui.cli.zeroclaw_words import entry_lines, in_one_line, list_lines, prefix_lines
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.entry import Handle, MemoryEntry
from zeroclaw_tui.memory.errors import DONE, REFUSED, NotThere, Refused, WrongUse
from zeroclaw_tui.memory.query import NEWEST_UPDATED, MemoryFilter, Superseded
from zeroclaw_tui.scoring.profiles import parse_version

ROWS_AT_ONCE = 500
MOST_PREFIX_MATCHES = 1000
_BUILT_IN = ("core", "daily", "conversation")


async def list_memories(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Print one page of the listing, `updated_at` descending."""
    handles = await library.order(filter_given(given, now), NEWEST_UPDATED)
    total = len(handles)
    entries = [
        entry async for page in _pages(library, handles[given.offset : given.offset + given.limit]) for entry in page
    ]
    if given.json:
        whole = [await library.whole(entry.handle) if entry.is_excerpt else entry for entry in entries]
        document(
            {
                "backend": library.memory.name,
                "location": library.memory.location,
                "total": total,
                "offset": given.offset,
                "limit": given.limit,
                "entries": [entry.as_json() for entry in whole],
            }
        )
        return DONE
    indented = parse_version(library.profile.profile.version) < (0, 8, 0)
    write_lines(list_lines(entries, total=total, offset=given.offset, limit=given.limit, indented_hint=indented))
    return DONE


async def get_memory(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Print one memory: of this key, of the only key that begins so, or of this id."""
    if given.key is None and given.id is None:
        raise WrongUse("Which memory?", hint="Give its KEY, or --id ID; a key that begins with - goes after --.")
    agents = agents_given(given)
    found = await (_with_key(library, given.key, agents) if given.key is not None else _with_id(library, given.id))
    if given.id is not None:
        found = [entry for entry in found if entry.id == given.id]
    if not found and given.key and given.id is None:
        found = await _starting(library, given.key, agents)
        if len(found) > 1 and len({entry.key for entry in found}) > 1:
            return _too_many(given, found)
    if not found:
        raise NotThere(_nothing_found(given), hint="`zeroclaw memory list --contains TEXT` finds part of a key.")
    if len(found) > 1:
        raise _several_agents(found)
    entry = await library.whole(found[0].handle) if found[0].is_excerpt else found[0]
    if given.json:
        document(entry.as_json())
    else:
        write_lines(entry_lines(entry))
    return DONE


def filter_given(given: argparse.Namespace, now: datetime) -> MemoryFilter:
    """The filter that the options of list, stats and facets mean. ZeroClaw's own categories in any case."""
    categories = [name.lower() if name.lower() in _BUILT_IN else name for name in given.category or ()]
    return MemoryFilter(
        category=tuple(categories) or None,
        session=tuple(given.session or ()) or None,
        agent=agents_given(given) or None,
        namespace=tuple(given.namespace or ()) or None,
        older_than=moment_meant(given.older_than, now) if given.older_than is not None else None,
        newer_than=moment_meant(given.newer_than, now) if given.newer_than is not None else None,
        contains=given.contains or None,
        superseded=Superseded(given.superseded),
    )


async def _pages(library: Library, handles: Sequence[Handle]) -> AsyncIterator[list[MemoryEntry]]:
    for start in range(0, len(handles), ROWS_AT_ONCE):
        yield await library.rows(handles[start : start + ROWS_AT_ONCE])


async def _with_key(library: Library, key: str, agents: Sequence[str]) -> list[MemoryEntry]:
    if not agents:
        return await library.memory.with_key(key)
    return [entry for agent in agents for entry in await library.memory.with_key(key, agent)]


async def _with_id(library: Library, wanted: str) -> list[MemoryEntry]:
    entry = await library.memory.with_id(wanted)
    return [] if entry is None else [entry]


async def _starting(library: Library, prefix: str, agents: Sequence[str]) -> list[MemoryEntry]:
    found = await library.memory.keys_starting(prefix, MOST_PREFIX_MATCHES)
    return [entry for entry in found if not agents or entry.agent in agents]


def _too_many(given: argparse.Namespace, found: Sequence[MemoryEntry]) -> int:
    if given.json:
        keys = ", ".join(repr(entry.key) for entry in found[:5])
        note(f"zeroclaw: Prefix {given.key!r} matched {len(found)} entries: {keys}{' …' if len(found) > 5 else ''}")
    else:
        write_lines(prefix_lines(given.key, found))
    return REFUSED


def _nothing_found(given: argparse.Namespace) -> str:
    if given.key is None:
        return f"No memory entry found for id: {in_one_line(given.id)}"
    with_id = f" with id {in_one_line(given.id)}" if given.id is not None else ""
    return f"No memory entry found for key: {in_one_line(given.key)}{with_id}"


def _several_agents(found: Sequence[MemoryEntry]) -> Refused:
    holders = ", ".join(f"{in_one_line(entry.agent or '(none)')} (id {in_one_line(entry.id)})" for entry in found)
    return Refused(
        f"Several agents hold the key {in_one_line(found[0].key)!r}: {holders}.",
        hint="Say which with --agent ALIAS or --id ID.",
    )
