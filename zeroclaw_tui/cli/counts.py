"""`memory stats` and `memory facets`."""

from __future__ import annotations

import argparse
from datetime import datetime

from zeroclaw_tui.cli.finding import filter_given
from zeroclaw_tui.cli.output import document, note, write_lines
from zeroclaw_tui.cli.tables import facets_lines
from zeroclaw_tui.cli.zeroclaw_words import stats_lines
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.stats import full_stats, memory_stats
from zeroclaw_tui.curation.words import SHOWS_SUPERSEDED, hidden_fact
from zeroclaw_tui.memory.errors import DONE
from zeroclaw_tui.memory.query import MemoryFilter


async def facets(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Print how many memories the filter leaves, by each value."""
    wanted = filter_given(given, now)
    found = await library.memory.facets(wanted, now.isoformat())
    hidden = await library.superseded_hidden(wanted)
    if not given.json:
        write_lines(facets_lines(found, hidden, library.memory.name, library.memory.location))
        return DONE
    document(
        {
            "backend": library.memory.name,
            "location": library.memory.location,
            "total": found.total,
            "category": found.category,
            "session": found.session,
            "agent": found.agent,
            "namespace": found.namespace,
            "age": found.age,
            "superseded": found.superseded,
            "superseded_hidden": hidden,
            "not_embedded": found.not_embedded,
        }
    )
    return DONE


async def stats(library: Library, given: argparse.Namespace, now: datetime) -> int:
    """Print what ZeroClaw's `memory stats` prints; with a filter, of what it leaves. As JSON, all that is counted."""
    wanted = filter_given(given, now)
    chosen = None if wanted == MemoryFilter() else wanted
    if given.json:
        document(await full_stats(library.memory, now.isoformat(), chosen))
        return DONE
    whole = await memory_stats(library.memory, now.isoformat())
    left = None if chosen is None else await library.memory.facets(chosen, now.isoformat())
    write_lines(
        stats_lines(
            whole.backend,
            healthy=whole.health == "healthy",
            total=whole.total if left is None else left.total,
            by_category=whole.by_category if left is None else left.category,
        )
    )
    if hidden := await library.superseded_hidden(wanted):
        if left is None:
            are, it = ("is", "it") if hidden == 1 else ("are", "them")
            note(f"zeroclaw: {hidden:,} of the total {are} superseded; the categories leave {it} out.")
        else:
            note(f"zeroclaw: {hidden_fact(hidden)}; {SHOWS_SUPERSEDED} counts {'it' if hidden == 1 else 'them'} too.")
    return DONE
