"""`memory list` and `memory get`."""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from zeroclaw_tui.cli.finding import HOW_TO_FIND, exactly, filter_given, nothing_found, several_agents, starting
from zeroclaw_tui.cli.options import agents_given
from zeroclaw_tui.cli.output import BOLD, DIM, Line, Styled, document, note, write_lines
from zeroclaw_tui.cli.zeroclaw_words import entry_lines, in_one_line, list_lines, prefix_lines
from zeroclaw_tui.curation.words import SHOWS_SUPERSEDED, hidden_fact
from zeroclaw_tui.memory.errors import DONE, REFUSED, NotThere, Refused
from zeroclaw_tui.memory.query import NEWEST_UPDATED
from zeroclaw_tui.scoring.profiles import parse_version

if TYPE_CHECKING:
    from zeroclaw_tui.backends.answers import PastText
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.entry import Handle, MemoryEntry

ROWS_AT_ONCE = 500


async def list_memories(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Print one page of the listing, `updated_at` descending."""
    if given.blocks and not library.memory.capabilities.blocks:
        raise Refused(f"{library.memory.name} has no blocks to show.", hint="Only Markdown files are read in blocks.")
    wanted = filter_given(given, now)
    hidden, (handles, total) = await asyncio.gather(
        library.superseded_hidden(wanted),
        library.memory.order_part(wanted.but(blocks=given.blocks), NEWEST_UPDATED, given.offset, given.limit),
    )
    entries = [entry async for page in _pages(library, handles) for entry in page]
    if given.json:
        whole = [await library.memory.whole(entry.handle) if entry.is_excerpt else entry for entry in entries]
        document(
            {
                "backend": library.memory.name,
                "location": library.memory.location,
                "total": total,
                "superseded_hidden": hidden,
                "offset": given.offset,
                "limit": given.limit,
                "entries": [entry.as_json() for entry in whole],
            }
        )
        return DONE
    # Told by the schema of the store unless a version was chosen.
    indented = parse_version(library.profile.profile.version) < (0, 8, 0)
    write_lines(list_lines(entries, total=total, offset=given.offset, limit=given.limit, indented_hint=indented))
    if hidden:
        note(f"zeroclaw: {hidden_fact(hidden)}; {SHOWS_SUPERSEDED} lists {'it' if hidden == 1 else 'them'} too.")
    return DONE


async def get_memory(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Print one memory: of this key, of the only key that begins so, or of this id; and what its store tells of it."""
    agents = agents_given(given)
    found = await exactly(library, given.key, given.id, agents)
    if not found and given.key and given.id is None:
        found = await starting(library, given.key, agents)
        if len(found) > 1 and len({entry.key for entry in found}) > 1:
            return too_many(given, found)
    if not found:
        raise NotThere(nothing_found(given.key, given.id), hint=HOW_TO_FIND)
    if len(found) > 1:
        raise several_agents(found)
    entry = await library.memory.whole(found[0].handle) if found[0].is_excerpt else found[0]
    if not library.memory.keeps_history:
        if given.json:
            document(entry.as_json())
        else:
            write_lines(entry_lines(entry))
        return DONE
    history, related = await library.memory.history(entry.id), await library.memory.related(entry)
    if given.json:
        told = [{"id": one.id, "key": one.key, "content": one.content, "kind": one.kind} for one in related]
        document(entry.as_json() | {"history": [past.as_json() for past in history], "related": told})
    else:
        write_lines((*entry_lines(entry), *history_lines(history), *related_lines(related)))
    return DONE


def history_lines(history: Sequence[PastText]) -> Iterator[Line]:
    """What the store itself tells of the changes of a memory, the oldest first."""
    if history:
        yield ()
        yield (Styled("History", BOLD),)
    for past in history:
        texts = " → ".join(in_one_line(text) for text in (past.old, past.new) if text is not None)
        yield (Styled(f"  {in_one_line(past.at)}  {in_one_line(past.action)}  ", DIM), texts)


def related_lines(related: Sequence[MemoryEntry]) -> Iterator[Line]:
    """The memories a store connects with one, by their keys."""
    if related:
        yield ()
        yield (Styled("Related", BOLD),)
    for entry in related:
        yield (Styled(f"  {in_one_line(entry.key)}  ", DIM), in_one_line(entry.content))


async def _pages(library: Library, handles: Sequence[Handle]) -> AsyncIterator[list[MemoryEntry]]:
    for start in range(0, len(handles), ROWS_AT_ONCE):
        yield await library.memory.rows(handles[start : start + ROWS_AT_ONCE])


def too_many(given: argparse.Namespace, found: Sequence[MemoryEntry]) -> int:
    """Say that several keys begin so, and give the exit code. Raises Refused with --json."""
    if given.json:
        keys = ", ".join(repr(entry.key) for entry in found[:5])
        raise Refused(
            f"Prefix {given.key!r} matched {len(found)} entries: {keys}{' …' if len(found) > 5 else ''}.",
            hint="Specify a longer prefix to narrow the match.",
        )
    write_lines(prefix_lines(given.key, found))
    return REFUSED
