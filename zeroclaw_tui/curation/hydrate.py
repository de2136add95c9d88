"""Hydrating: importing a snapshot into ZeroClaw's database, which is made first where there is none; and comparing."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from zeroclaw_tui.backends.factory import has_database
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.formats.snapshot import Snapshot, as_zeroclaw_reads, missing_file
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.snapshot import CoreMemories, core_of, place_of
from zeroclaw_tui.curation.transfer.imports import ImportOptions, ImportPlan, plan_import
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.change import ProgressCallback
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Refused

Where = Literal["only here", "only there", "changed", "same"]
"""Here is the store, there the snapshot."""
_ORDER: Sequence[Where] = ("changed", "only here", "only there", "same")


@dataclass(frozen=True, slots=True)
class Difference:
    """One key. `here` is the store's memory, `there` the file's; None where it has none."""

    key: str
    where: Where
    here: MemoryEntry | None
    there: MemoryEntry | None


async def plan_hydrate(
    target: Target,
    path: Path,
    *,
    agent: str | None = None,
    keys: Collection[str] | None = None,
    on_progress: ProgressCallback | None = None,
) -> ImportPlan:
    """What importing a snapshot, or a JSONL export, would do; `keys` picks some of its memories."""
    if not has_database(target.config.backend):
        raise Refused(
            f"ZeroClaw hydrates only for the backends sqlite and lucid; this one is {target.config.backend}.",
            hint="`zeroclaw memory import` brings memories into any store.",
        )
    if not await asyncio.to_thread(path.exists):
        raise missing_file(path)
    name = "jsonl" if path.suffix.lower() in (".jsonl", ".ndjson") else "snapshot"
    options = ImportOptions(name, agent=agent, keys=None if keys is None else frozenset(keys), verb="hydrate")
    return await plan_import(target, path, options, on_progress=on_progress)


def snapshot_to_make_from(config: MemoryConfig) -> Path | None:
    """The snapshot of which a database that is not there yet can be made, as ZeroClaw would; None without one."""
    file = place_of(config)
    return file if not config.read_only and file.is_file() else None


async def compare(library: Library, snapshot: Snapshot) -> tuple[Difference, ...]:
    """Snapshot and core memories of the store, by key and by owner where the file has one; changed ones first."""
    return await asyncio.to_thread(_differences, await core_of(library), snapshot)


def _differences(core: CoreMemories, snapshot: Snapshot) -> tuple[Difference, ...]:
    """What names no owner in the file is compared with every memory of its key."""
    rest: dict[str, list[MemoryEntry]] = defaultdict(list)
    for row in core.rows:
        rest[row.key].append(row.entry())
    # What ZeroClaw's format leaves of each. Lines of a memory can look like another one, which is no difference.
    read_back = dict(as_zeroclaw_reads(row.entry() for row in core.written))
    found: list[Difference] = []
    for there in (row.entry() for row in snapshot.rows):
        candidates = [entry for entry in rest[there.key] if there.agent in (None, entry.agent)]
        is_read_back = read_back.get(there.key) == there.content
        equal = [entry for entry in candidates if is_read_back or entry.content == there.content]
        if candidates:
            here = (equal or candidates)[0]
            rest[there.key].remove(here)
            found.append(Difference(there.key, "same" if equal else "changed", here, there))
        elif not is_read_back:
            found.append(Difference(there.key, "only there", None, there))
    found += [Difference(entry.key, "only here", entry, None) for entries in rest.values() for entry in entries]
    return tuple(sorted(found, key=lambda difference: _ORDER.index(difference.where)))
