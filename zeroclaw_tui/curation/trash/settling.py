"""Which changes of an action that was cut off never happened."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from pathlib import Path

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.files import digest_now
from zeroclaw_tui.curation.side_databases import present_now
from zeroclaw_tui.curation.trash.reads import States
from zeroclaw_tui.memory.change import AUDIT_LOG, FILE, MEMORIES, OTHER_ROW

_ROWS_AT_ONCE = 500


async def never_happened(kept: Sequence[States], memory: Memory) -> list[int]:
    """The numbers of what an action kept, in this order, but did not do, as the store and the files now show.

    What is in neither state counts as done: the trash then holds on to it.
    """
    chains: dict[tuple[str, str], list[States]] = {}
    for states in kept:
        chains.setdefault((states.table, states.id), []).append(states)
    struck: set[int] = set()
    names = [name for table, name in chains if table == MEMORIES]
    for start in range(0, len(names), _ROWS_AT_ONCE):
        some = names[start : start + _ROWS_AT_ONCE]
        present = await memory.stored_by_id(some)
        for name in some:
            now = present[name].fingerprint if name in present else None
            struck.update(_not_reached(chains[MEMORIES, name], now))
    for (table, name), chain in chains.items():
        if table == FILE:
            struck.update(_not_reached(chain, await asyncio.to_thread(digest_now, Path(name))))
    struck.update(await asyncio.to_thread(_entries_as_before, kept))
    memories = {states.number for states in kept if states.table == MEMORIES}
    if memories and memories <= struck:
        # Agents and cached vectors change in the same transaction as the memories they belong to.
        struck.update(states.number for states in kept if states.table not in (FILE, AUDIT_LOG, OTHER_ROW))
    return sorted(struck)


def _not_reached(chain: Sequence[States], now: str | None) -> list[int]:
    """Of the changes to one row, those behind the last state it can be in; none where it is in no such state."""
    reached = [chain[0].before, *(states.after for states in chain)]
    for done in range(len(chain), -1, -1):
        if reached[done] == now:
            return [states.number for states in chain[done:]]
    return []


def _entries_as_before(kept: Sequence[States]) -> list[int]:
    """Rows of other databases that still are, or still are not, there as before their change."""
    rows = {states.number: states.entry for states in kept if states.entry is not None}
    there = present_now(list(rows.values())) if rows else set()
    return [
        states.number for states in kept if states.entry is not None and (states.before is None) != (states.id in there)
    ]
