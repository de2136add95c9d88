"""What compacting a database would do, before it does."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from pathlib import Path

from zeroclaw_tui.backends.sqlite.connection import Reading, wal_file
from zeroclaw_tui.backends.sqlite.upkeep.alone import holders, named
from zeroclaw_tui.backends.sqlite.upkeep.row_facts import free_bytes
from zeroclaw_tui.config.layouts import file_size
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.memory.errors import Refused


@dataclass(frozen=True, slots=True)
class CompactPlan:
    """`size` of the database with its log and `free` of it, in bytes. `open_in` names the programs that have it open,
    where that can be told; empty else."""

    database: Path
    size: int
    free: int
    open_in: str


async def plan_compact(config: MemoryConfig) -> CompactPlan:
    """Look at the database. Raises Refused where the backend has none, and what opening it raises."""
    refuse_other_backends(config)
    path = config.database
    free = await Reading(path).run(free_bytes)
    found = await asyncio.to_thread(holders, path)
    return CompactPlan(path, file_size(path) + file_size(wal_file(path)), free, named(found or ()))


def refuse_other_backends(config: MemoryConfig) -> None:
    """Raise Refused where memories are not in a database file here."""
    if config.backend not in ("sqlite", "lucid"):
        raise Refused(f"The {config.backend} backend has no database file here.", hint="Nothing was changed.")
