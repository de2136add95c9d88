"""What the store and the files show of changes whose program was stopped."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.lookup import rows_by_id
from zeroclaw_tui.curation.external import current_states
from zeroclaw_tui.curation.journal_records import EXTERNAL, Version
from zeroclaw_tui.memory.change import MEMORIES, NOTES_FILE

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory

Name = tuple[str, str]
"""The table and the id of a row."""

_BATCH = 250


async def find_done(versions: Sequence[Version], memory: Memory) -> dict[int, bool]:
    """Return by number whether each change is done. A row that is in neither state is left out.

    Several changes of one row are a chain of states, of which the present one is looked for, the last one first.
    """
    lines_of_file = _lines_by_file(versions)
    lines = {number for numbers in lines_of_file.values() for number in numbers}
    chains: dict[Name, list[Version]] = {}
    for version in versions:
        if version.number not in lines:
            chains.setdefault((version.change.row.table, version.change.row.id), []).append(version)
    present = await _present_states(versions, [name for table, name in chains if table == MEMORIES], memory)
    done: dict[int, bool] = {}
    for name, chain in chains.items():
        states = [chain[0].states[0], *(version.states[1] for version in chain)]
        for count in range(len(chain), -1, -1):
            if name in present and states[count] == present[name]:
                done |= {version.number: at < count for at, version in enumerate(chain)}
                break
    for file, numbers in lines_of_file.items():
        done |= {number: done[file] for number in numbers if file in done}
    memories = {done[one.number] for one in versions if one.change.row.table == MEMORIES and one.number in done}
    if len(memories) == 1:
        # Agents and cached vectors change in the same transaction as the memories they belong to.
        done = dict.fromkeys((version.number for version in versions), *memories) | done
    return done


def _lines_by_file(versions: Sequence[Version]) -> dict[int, list[int]]:
    """Return the changes of lines that a Markdown store recorded right before the change of their file."""
    lines: list[int] = []
    by_file: dict[int, list[int]] = {}
    for version in versions:
        if version.change.row.table == MEMORIES:
            lines.append(version.number)
        elif version.change.row.table == NOTES_FILE:
            by_file[version.number], lines = lines, []
    return by_file


async def _present_states(versions: Sequence[Version], ids: Sequence[str], memory: Memory) -> dict[Name, str | None]:
    """Return the present fingerprints of these memories, and of all files and rows of other databases."""
    present: dict[Name, str | None] = {}
    for start in range(0, len(ids), _BATCH):
        found = await rows_by_id(memory, ids[start : start + _BATCH])
        present |= {(MEMORIES, one): row.fingerprint for one, row in found.items()}
    external = [row for version in versions for row in version.rows if row.table in EXTERNAL]
    states = await asyncio.to_thread(current_states, external)
    missing: dict[Name, str | None] = dict.fromkeys((MEMORIES, one) for one in ids)
    return missing | present | {(row.table, row.id): states[row.id] for row in external}
