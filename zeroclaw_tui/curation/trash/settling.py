"""Which changes of an action that was cut off never happened."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.curation.changing_files import bytes_now
from zeroclaw_tui.curation.trash.reads import States
from zeroclaw_tui.memory.change import FILE, MEMORIES


async def never_happened(kept: Sequence[States], memory: Memory) -> list[int]:
    """The numbers of what an action kept, in this order, but did not do, as the store and the files now show.

    What is in neither state counts as done: the trash then holds on to it.
    """
    chains: dict[tuple[str, str], list[States]] = {}
    for states in kept:
        chains.setdefault((states.table, states.id), []).append(states)
    struck: set[int] = set()
    for (table, name), chain in chains.items():
        if table == MEMORIES:
            row = await memory.stored(name)
            struck.update(_not_reached(chain, None if row is None else row.fingerprint))
        elif table == FILE:
            struck.update(_not_reached(chain, await asyncio.to_thread(_file_now, name)))
    memories = {states.number for states in kept if states.table == MEMORIES}
    if memories and memories <= struck:
        # Agents and cached vectors change in the same transaction as the memories they belong to.
        struck.update(states.number for states in kept if states.table != FILE)
    return sorted(struck)


def _not_reached(chain: Sequence[States], now: str | None) -> list[int]:
    """Of the changes to one row, those behind the last state it can be in; none where it is in no such state."""
    reached = [chain[0].before, *(states.after for states in chain)]
    for done in range(len(chain), -1, -1):
        if reached[done] == now:
            return [states.number for states in chain[done:]]
    return []


def _file_now(path: str) -> str | None:
    data = bytes_now(Path(path))
    return None if data is None else hashlib.sha256(data).hexdigest()
