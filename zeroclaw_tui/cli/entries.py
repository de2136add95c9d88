"""The verbs that browse: list, search, get and stats; without --json their output is exactly ZeroClaw's."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.cli import options, output
from zeroclaw_tui.cli.chosen import find_by_prefix, find_exact, not_found, several_agents
from zeroclaw_tui.cli.options import option
from zeroclaw_tui.cli.output import BOLD, DIM, GREEN, YELLOW, Line, Styled, in_one_line
from zeroclaw_tui.cli.verbs import verb
from zeroclaw_tui.memory.errors import DONE, REFUSED, Refused, UsageError

if TYPE_CHECKING:
    from zeroclaw_tui.backends.health import ContentRevision
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.entry import MemoryEntry
    from zeroclaw_tui.memory.query import MemoryFilter


LISTING = "{backend, location, total, superseded_hidden, offset, limit, entries}"
_LONGEST_LINE_BYTES, _CUT_TO_CHARACTERS = 80, 77


@verb(
    "list",
    LISTING,
    options=[options.FILTERS, *options.PAGE],
    agents=options.OWN_MEMORIES,
    concerns=("store",),
    needs_version=False,
    examples=("list --category core --limit 10", "list --older-than 30d --json"),
)
async def list_memories(library: Library, args: argparse.Namespace) -> int:
    """Print a page of the memories that match the filters, the last updated first."""
    return await _print_page(library, args, options.build_filter(args))


@verb(
    "search",
    LISTING,
    options=[
        option("text", nargs="*", metavar="TEXT", help="Text in key or content (case-insensitive)"),
        options.FILTERS,
        *options.PAGE,
    ],
    agents=options.OWN_MEMORIES,
    concerns=("store",),
    needs_version=False,
    examples=("search peanuts", 'search --regex "tea|coffee"'),
)
async def search(library: Library, args: argparse.Namespace) -> int:
    """Print a page of the memories with this text in key or content, like `list`."""
    text = " ".join(args.text) or args.contains
    if not (text or args.regex):
        raise UsageError("Nothing to search for.", hint="Give a TEXT or --regex PATTERN.")
    return await _print_page(library, args, options.build_filter(args).replace(contains=text))


async def _print_page(library: Library, args: argparse.Namespace, wanted: MemoryFilter) -> int:
    import asyncio

    from zeroclaw_tui.backends.lookup import count_matching, whole_entry
    from zeroclaw_tui.memory.query import EXCERPTS, HANDLES, NEWEST_UPDATED, Query
    from zeroclaw_tui.scoring.profiles import parse_version

    memory = library.memory
    if wanted.searches_text:
        # The text is searched once: the hits give both the page and the total.
        hidden, hits = await asyncio.gather(
            library.superseded_hidden(wanted), memory.rows(Query(HANDLES, wanted, NEWEST_UPDATED))
        )
        count, page = len(hits), hits[args.offset : args.offset + args.limit]
        entries = await memory.rows(Query(EXCERPTS, handles=page))
    else:
        hidden, count, entries = await asyncio.gather(
            library.superseded_hidden(wanted),
            count_matching(memory, wanted),
            memory.rows(Query(EXCERPTS, wanted, NEWEST_UPDATED, offset=args.offset, limit=args.limit)),
        )
    if args.json:
        whole = [await whole_entry(memory, entry.handle) if entry.is_excerpt else entry for entry in entries]
        output.print_document(
            {
                **output.place_of(library),
                "total": count,
                "superseded_hidden": hidden,
                "offset": args.offset,
                "limit": args.limit,
                "entries": [entry.as_json() for entry in whole],
            }
        )
        return DONE
    indented = parse_version(library.profile.profile.version) < (0, 8, 0)
    output.write_lines(list_lines(entries, total=count, offset=args.offset, limit=args.limit, indented_hint=indented))
    _note_hidden(hidden)
    return DONE


def list_lines(
    entries: Sequence[MemoryEntry], *, total: int, offset: int, limit: int, indented_hint: bool
) -> Iterator[Line]:
    """Yield the lines of `memory list`; `indented_hint` is for ZeroClaw up to 0.7.5."""
    if total == 0:
        yield "No memory entries found."
        return
    if not entries:
        yield f"No entries at offset {offset} (total: {total})."
        return
    yield f"Memory entries ({total} total, showing {offset + 1}-{offset + len(entries)}):"
    yield ()
    for entry in entries:
        yield _key_line(entry)
        yield f"    {in_one_line(_beginning(entry.content))}"
    if offset + len(entries) < total:
        yield ()
        yield f"{'  ' if indented_hint else ''}Use --offset {offset + limit} to see the next page."


def _key_line(entry: MemoryEntry) -> Line:
    return ("- ", Styled(in_one_line(entry.key), BOLD), f" [{in_one_line(entry.category)}]")


def _beginning(content: str) -> str:
    line = content.split("\n", 1)[0].removesuffix("\r")
    is_short = len(line.encode("utf-8", "surrogatepass")) <= _LONGEST_LINE_BYTES
    return line if is_short else f"{line[:_CUT_TO_CHARACTERS]}..."


@verb(
    "get",
    "a memory; with --history {backend, location, ids, versions}",
    options=[
        options.KEY,
        options.ID,
        option("--history", action="store_true", help="Show the changes made here to it, also if it is deleted"),
    ],
    agents=options.WHOSE_MEMORY,
    needs_version=False,
    examples=("get pet", "get pet --history"),
)
async def get_memory(library: Library, args: argparse.Namespace) -> int:
    """Print a memory and, if the store has them, its earlier contents and related memories."""
    from zeroclaw_tui.backends.lookup import whole_entry

    if args.history:
        from zeroclaw_tui.cli.trash import print_history

        return await print_history(library, args)
    entry = await find_like_zeroclaw(library, args, args.id)
    if entry is None:
        return REFUSED
    entry = await whole_entry(library.memory, entry.handle) if entry.is_excerpt else entry
    as_json = entry.as_json()
    history: Sequence[ContentRevision] = ()
    related: Sequence[MemoryEntry] = ()
    if (recorded := library.memory.upkeep.history) is not None:
        history, related = await recorded.history(entry.id), await recorded.related(entry)
        others = [{"id": entry.id, "key": entry.key, "content": entry.content, "kind": entry.kind} for entry in related]
        as_json |= {"history": [past.as_json() for past in history], "related": others}
    elif entry.metadata is not None:
        as_json["metadata"] = entry.metadata
    return output.print_result(args, as_json, (*entry_lines(entry), *_history_lines(history), *_related_lines(related)))


def entry_lines(entry: MemoryEntry) -> Iterator[Line]:
    """Yield the lines of `memory get`."""
    yield ("Key:       ", Styled(in_one_line(entry.key), BOLD))
    yield f"Category:  {in_one_line(entry.category)}"
    yield f"Timestamp: {in_one_line(entry.timestamp)}"
    if entry.session_id is not None:
        yield f"Session:   {in_one_line(entry.session_id)}"
    if entry.metadata is not None:
        yield f"Metadata:  {in_one_line(entry.metadata)}"
    yield ()
    yield entry.content


def _history_lines(history: Sequence[ContentRevision]) -> Iterator[Line]:
    """Yield the changes of a memory that the store itself recorded, the oldest first."""
    if history:
        yield ()
        yield Styled("History", BOLD)
    for past in history:
        texts = " → ".join(in_one_line(text) for text in (past.old, past.new) if text is not None)
        yield (Styled(f"  {in_one_line(past.at)}  {in_one_line(past.action)}  ", DIM), texts)


def _related_lines(related: Sequence[MemoryEntry]) -> Iterator[Line]:
    if related:
        yield ()
        yield Styled("Related", BOLD)
    for entry in related:
        yield (Styled(f"  {in_one_line(entry.key)}  ", DIM), in_one_line(entry.content))


async def find_like_zeroclaw(library: Library, args: argparse.Namespace, id: str | None = None) -> MemoryEntry | None:
    """Find the memory with this key, unique key prefix or id; prints several matches of a prefix and returns None.

    Raises NotFound, and Refused for a key of several agents, or for several matches of a prefix with --json.
    """
    agents = options.agent_names(args)
    entries = await find_exact(library, args.key, id, agents, like_zeroclaw=args.verb == "get")
    if not entries and args.key and id is None:
        entries = await find_by_prefix(library, args.key, agents)
        if len({entry.key for entry in entries}) > 1:
            _print_too_many(args, entries)
            return None
    if not entries:
        raise not_found(args.key, id)
    if len(entries) > 1:
        raise several_agents(entries)
    return entries[0]


def _print_too_many(args: argparse.Namespace, found: Sequence[MemoryEntry]) -> None:
    """Print the keys that match a prefix. Raises Refused with --json."""
    if args.json:
        keys = ", ".join(repr(entry.key) for entry in found[:5])
        raise Refused(
            f"Prefix {args.key!r} matched {len(found)} entries: {keys}{' …' if len(found) > 5 else ''}.",
            hint="Specify a longer prefix to narrow the match.",
        )
    output.write_lines(prefix_lines(args.key, found))


def prefix_lines(prefix: str, entries: Sequence[MemoryEntry]) -> Iterator[Line]:
    """Yield the lines of `memory get` for a prefix of several keys."""
    yield f"Prefix '{in_one_line(prefix)}' matched {len(entries)} entries:"
    yield ()
    yield from map(_key_line, entries)
    yield ()
    yield "Specify a longer prefix to narrow the match."


@verb(
    "stats",
    "{backend, location, generation, health, total, superseded, by_category, by_session, by_agent, "
    "by_namespace, by_age, embeddings, bytes, by_size, by_day, undated, biggest, "
    "embedded_by_category, facts, findings}",
    [options.FILTERS],
    agents=options.OWN_MEMORIES,
    examples=("stats --category core", "stats --json"),
)
async def stats(library: Library, args: argparse.Namespace) -> int:
    """Print ZeroClaw's `memory stats`, with filters for the matching memories; as JSON, all counts."""
    from zeroclaw_tui.backends.lookup import count_facets
    from zeroclaw_tui.curation.stats import full_stats
    from zeroclaw_tui.memory.query import MemoryFilter

    memory, filters = library.memory, options.build_filter(args)
    is_all = filters == MemoryFilter()
    if args.json:
        output.print_document(await full_stats(memory, args.now.isoformat(), None if is_all else filters))
        return DONE
    counts = await count_facets(memory, filters, args.now.isoformat())
    total = await memory.count() if is_all else counts.total
    healthy = await memory.health_check()
    output.write_lines(stats_lines(memory.name, healthy=healthy, total=total, by_category=counts.by["category"]))
    _note_hidden(await library.superseded_hidden(filters))
    return DONE


def _note_hidden(hidden: int) -> None:
    if hidden:
        output.note(f"zeroclaw: {hidden:,} superseded hidden; see --superseded show.")


def stats_lines(backend: str, *, healthy: bool, total: int, by_category: Mapping[str, int]) -> Iterator[Line]:
    """Yield the lines of `memory stats`; `by_category` is ordered by count."""
    yield "Memory Statistics:"
    yield ()
    yield ("  Backend:  ", Styled(backend, BOLD))
    yield ("  Health:   ", Styled("healthy", GREEN) if healthy else Styled("unhealthy", YELLOW))
    yield f"  Total:    {total}"
    if by_category:
        yield ()
        yield "  By category:"
        yield from (f"    {in_one_line(category):<20} {count}" for category, count in by_category.items())
