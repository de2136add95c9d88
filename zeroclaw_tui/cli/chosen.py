"""Find the memories that a command names by key, id or key prefix; the errors if there are none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.memory.errors import NotFound, Refused, UsageError

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.curation.library import Library
    from zeroclaw_tui.memory.entry import MemoryEntry


MOST_PREFIX_MATCHES = 1000
_HOW_TO_FIND = (
    "`zeroclaw memory search TEXT` finds part of a key, `zeroclaw memory trash list --contains TEXT` a deleted memory."
)


async def find_exact(
    library: Library, key: str | None, id: str | None, agents: Sequence[str], *, like_zeroclaw: bool = False
) -> Sequence[MemoryEntry]:
    """Find the memories with exactly this key, id or both, owned by one of the agents; by any if none is given.

    In Markdown, `like_zeroclaw` also finds the first line that contains the key, else only the line stored with it.
    """
    from zeroclaw_tui.backends.lookup import entries_with_key, entry_with_id

    if key is None and id is None:
        raise UsageError("No memory given.", hint="Pass its KEY or --id ID; a key that begins with - goes after --.")
    if key is None:
        found = [await entry_with_id(library.memory, id or "")]
    else:
        found = [*await entries_with_key(library.memory, key)]
        if not found and like_zeroclaw:
            found = [await library.memory.get(key)]
        elif not found and library.memory.about.is_line_based:
            found = [*await _lines_stored_as(library.memory, key, agents)]
    matching = [entry for entry in found if entry is not None and (key is None or id in (None, entry.id))]
    return [entry for entry in matching if not agents or entry.agent in agents]


async def _lines_stored_as(memory: Memory, key: str, agents: Sequence[str]) -> Sequence[MemoryEntry]:
    """Find the line of notes that `store` wrote for a key, one per agent. Raises Refused for several of one agent."""
    from zeroclaw_tui.backends.note_lines import note_line
    from zeroclaw_tui.memory.query import ENTRIES, MemoryFilter, Query

    start = note_line(key, "")
    containing = await memory.rows(Query(ENTRIES, MemoryFilter(contains=start, agent=tuple(agents) or None)))
    entries = [entry for entry in containing if entry.content.startswith(start)]
    if len(entries) > len({entry.agent for entry in entries}):
        keys = ", ".join(entry.key for entry in entries)
        raise Refused(f"Several lines begin with {start} {keys}.", hint="Pass the key of one of these lines.")
    return entries


async def find_one(library: Library, key: str | None, id: str | None, agents: Sequence[str]) -> MemoryEntry:
    """Find the memory with a key or id. Raises NotFound, and Refused for a key of several agents."""
    entries = await find_exact(library, key, id, agents)
    if not entries:
        raise not_found(key, id)
    if len(entries) > 1:
        raise several_agents(entries)
    return entries[0]


async def find_by_prefix(library: Library, prefix: str, agents: Sequence[str]) -> list[MemoryEntry]:
    """Find memories by key prefix, the last written first."""
    from zeroclaw_tui.memory.query import ENTRIES, MemoryFilter, Query

    entries = await library.memory.rows(Query(ENTRIES, MemoryFilter(), prefix=prefix, limit=MOST_PREFIX_MATCHES))
    return [entry for entry in entries if not agents or entry.agent in agents]


def not_found(key: str | None, id: str | None, hint: str = _HOW_TO_FIND) -> NotFound:
    """The error for a missing memory."""
    from zeroclaw_tui.cli.output import in_one_line

    if key is None:
        return NotFound(f"No memory entry found for id: {in_one_line(id or '')}", hint=hint)
    with_id = f" with id {in_one_line(id)}" if id is not None else ""
    return NotFound(f"No memory entry found for key: {in_one_line(key)}{with_id}", hint=hint)


def several_agents(found: Sequence[MemoryEntry]) -> Refused:
    """The error for a key of several agents, which names them."""
    from zeroclaw_tui.cli.output import in_one_line

    holders = ", ".join(f"{in_one_line(entry.agent or '(none)')} (id {in_one_line(entry.id)})" for entry in found)
    return Refused(
        f"Several agents have the key {in_one_line(found[0].key)!r}: {holders}.", hint="Pass --agent ALIAS or --id ID."
    )
