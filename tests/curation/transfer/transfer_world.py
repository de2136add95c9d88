"""Libraries over small stores to export from and import into."""

from __future__ import annotations

from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

from support.opened import opened_at

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.config.locations import Install, OpenOptions
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.export import ExportFormat, export_file
from zeroclaw_tui.curation.library import Library, ProfileChoice
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.transfer.imports import import_memories, plan_import
from zeroclaw_tui.curation.transfer.plan import OnClash, Target
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.scoring.profiles import ScoringSettings

EVERYTHING = MemoryFilter(superseded=Superseded.SHOW)


def in_memory(memory: InMemory, folder: Path) -> Library:
    """The library of a store in memory, with a trash in a folder."""
    install = Install(folder, folder / "workspace", folder / "brain.db", "workspace", "test", folder / "zeroclaw-tui")
    choice = ProfileChoice.from_version("0.8.4", "option")
    return Library(MemoryConfig(install), memory, choice, ScoringSettings(), None)


def opened(path: Path, backend: str | None = None) -> AbstractAsyncContextManager[Library]:
    """The library of a database, or of a folder of notes."""
    return opened_at(OpenOptions(path=path, backend=backend), "0.8.4")


async def exported(path: Path, to: Path, format: ExportFormat = "jsonl", **given: Any) -> Path:
    """A file with everything a database holds."""
    async with opened(path) as library:
        await export_file(library, EVERYTHING, to, format, **given)
    return to


async def imported(path: Path, file: Path, on_clash: OnClash = "skip") -> Outcome:
    """What importing a file into a database did."""
    async with opened(path) as library:
        return await import_memories(Target.of(library), await plan_import(Target.of(library), file), on_clash)
