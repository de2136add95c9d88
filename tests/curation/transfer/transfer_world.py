"""Libraries on small stores to export from and import into."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from support.libraries import Library, Outcome
from support.memories import OnConflict
from support.opened import opened_at
from support.places import OpenOptions
from support.questions import MemoryFilter, Superseded

from zeroclaw_tui.curation.export import ExportFormat, export_file
from zeroclaw_tui.curation.transfer.imports import import_memories, plan_import
from zeroclaw_tui.curation.transfer.plan import Target

EVERYTHING = MemoryFilter(superseded=Superseded.SHOW)


def opened(path: Path, backend: str | None = None) -> AbstractAsyncContextManager[Library]:
    """Open the library of a database or of a folder of notes."""
    return opened_at(OpenOptions(path=path, backend=backend), "0.8.4")


async def exported(path: Path, to: Path, format: ExportFormat = "jsonl", **given: Any) -> Path:
    """Export a whole database to a file."""
    async with opened(path) as library:
        await export_file(library, EVERYTHING, to, format, **given)
    return to


async def imported(path: Path, file: Path, on_conflict: OnConflict = "skip") -> Outcome:
    """Import a file into a database and return the result."""
    async with opened(path) as library:
        return await import_memories(Target.of(library), await plan_import(Target.of(library), file), on_conflict)
