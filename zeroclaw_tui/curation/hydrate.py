"""Hydrating: importing a snapshot into ZeroClaw's database, which is made first where there is none; and comparing."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from zeroclaw_tui.backends.factory import has_database
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.formats.snapshot import Snapshot, missing_file, what_is_lost, what_is_read
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.snapshot import core_of, place_of
from zeroclaw_tui.curation.transfer.imports import ImportOptions, ImportPlan, plan_import
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.files.database import wal_file
from zeroclaw_tui.files.disk import file_size
from zeroclaw_tui.memory.change import ProgressCallback
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Refused, Unreadable
from zeroclaw_tui.memory.text import one_line

Where = Literal["only here", "only there", "changed", "same"]
"""Here is the store, there the snapshot."""
_ORDER: Sequence[Where] = ("changed", "only here", "only there", "same")
_JSONL = (".jsonl", ".ndjson")


@dataclass(frozen=True, slots=True)
class Difference:
    """One key. `here` is the store's memory, `there` the file's; None where it has none.

    `lost` says what ZeroClaw's format loses of it.
    """

    key: str
    where: Where
    here: MemoryEntry | None
    there: MemoryEntry | None
    lost: tuple[str, ...] = ()


async def hydrate_target(config: MemoryConfig, profile: str | None = None) -> Target:
    """The database of a config, whether or not it is there. Raises what opening raises."""
    if await asyncio.to_thread(is_empty_store, config):
        return Target(config, None, profile, str(config.database))
    return await Target.at(config, profile)


async def plan_hydrate(
    target: Target,
    path: Path,
    *,
    agent: str | None = None,
    keys: Collection[str] | None = None,
    on_progress: ProgressCallback | None = None,
) -> ImportPlan:
    """What importing a snapshot, or a JSONL export, would do; `keys` picks some of its memories.

    Raises NotFound, Refused for another program's file and for a store without a database, and what importing raises.
    """
    if not has_database(target.config.backend):
        raise Refused(
            f"ZeroClaw hydrates only for the backends sqlite and lucid; this one is {target.config.backend}.",
            hint="`zeroclaw memory import` brings memories into any store.",
        )
    if await asyncio.to_thread(lambda: path.exists() and not path.is_file()):
        raise Unreadable(f"{one_line(str(path))} is not a regular file.", hint="Name a snapshot or a JSONL export.")
    if not await asyncio.to_thread(path.exists):
        raise missing_file(path)
    name = "jsonl" if path.suffix.lower() in _JSONL else "snapshot"
    options = ImportOptions(name, agent=agent, keys=None if keys is None else frozenset(keys), verb="hydrate")
    return await plan_import(target, path, options, on_progress=on_progress)


async def compare(library: Library, snapshot: Snapshot) -> tuple[Difference, ...]:
    """Snapshot and core memories of the store, by key and by owner where the file has one; changed ones first."""
    core = await core_of(library)
    entries = [row.entry() for row in core.rows]
    return await asyncio.to_thread(_differences, entries, [row.entry() for row in snapshot.rows])


def is_empty_store(config: MemoryConfig) -> bool:
    """Whether there is no database yet, or an empty file without a log."""
    path = config.database
    return has_database(config.backend) and not file_size(path) and not file_size(wal_file(path))


def snapshot_to_make_from(config: MemoryConfig) -> Path | None:
    """The snapshot of which the database can be made where there is none yet, as ZeroClaw would; else None.

    Blocks. Raises Unreadable, and Refused for stores that have no snapshot.
    """
    file = place_of(config)
    return file if not config.read_only and file.is_file() and is_empty_store(config) else None


def _differences(here: Sequence[MemoryEntry], there: Sequence[MemoryEntry]) -> tuple[Difference, ...]:
    """What names no owner in the file is compared with every memory of its key."""
    by_key: dict[str, list[MemoryEntry]] = {}
    for entry in here:
        by_key.setdefault(entry.key, []).append(entry)
    # Lines of a memory can look like another entry; that one is not a difference.
    parts = {part for entry in here for part in what_is_read(entry)}
    found: list[Difference] = []
    met: set[str] = set()
    for read in there:
        owned = [entry for entry in by_key.get(read.key, []) if entry.id not in met]
        candidates = [entry for entry in owned if read.agent in (None, entry.agent)]
        same = next((entry for entry in candidates if _is_same(entry, read)), None)
        match = same or next(iter(candidates), None)
        if match is None:
            if (read.key, read.content) not in parts:
                found.append(Difference(read.key, "only there", None, read, what_is_lost(read)))
        else:
            met.add(match.id)
            found.append(Difference(read.key, "same" if same else "changed", match, read, what_is_lost(match)))
    found += [
        Difference(entry.key, "only here", entry, None, what_is_lost(entry)) for entry in here if entry.id not in met
    ]
    return tuple(sorted(found, key=lambda difference: _ORDER.index(difference.where)))


def _is_same(entry: MemoryEntry, read: MemoryEntry) -> bool:
    """Whether the file has this content, or what ZeroClaw's format leaves of it."""
    return read.content in (entry.content, dict(what_is_read(entry)).get(entry.key))
