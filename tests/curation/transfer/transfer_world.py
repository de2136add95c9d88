"""Libraries over small stores to export from and import into."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support.opened import opened_memory

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.config.locations import Install
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.export import ExportFormat, export_file
from zeroclaw_tui.curation.journal import Trash, store_name
from zeroclaw_tui.curation.library import Library, ProfileChoice
from zeroclaw_tui.curation.outcome import Outcome
from zeroclaw_tui.curation.transfer.imports import import_memories, plan_import
from zeroclaw_tui.curation.transfer.plan import OnClash
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.query import MemoryFilter, Superseded
from zeroclaw_tui.scoring.profiles import ScoringSettings

NOW = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)
EVERYTHING = MemoryFilter(superseded=Superseded.SHOW)


def library_of(memory: Memory, folder: Path) -> Library:
    """An opened store with a trash in a folder."""
    install = Install(folder, folder / "workspace", folder / "brain.db", "workspace", "test", folder / "zeroclaw-tui")
    trash = Trash(install, store_name(memory.name, memory.about.location), lambda: NOW)
    choice = ProfileChoice.from_version("0.8.4", "option")
    library = Library(MemoryConfig(install), memory, choice, ScoringSettings(), None)
    library.trash = trash
    return library


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[Library]:
    """The library of a database."""
    memory = SqliteMemory(path)
    await memory.open()
    folder = path.parent / f"{path.stem} own"
    folder.mkdir(exist_ok=True)
    try:
        yield library_of(memory, folder)
    finally:
        await memory.close()


@asynccontextmanager
async def opened_notes(folder: Path) -> AsyncIterator[Library]:
    """The library of a folder of notes."""
    async with opened_memory(MarkdownMemory(folder)) as memory:
        yield library_of(memory, folder.parent)


async def exported(path: Path, to: Path, format: ExportFormat = "jsonl", **given: Any) -> Path:
    """A file with everything a database holds."""
    async with opened(path) as library:
        await export_file(library, EVERYTHING, to, format, **given)
    return to


async def imported(path: Path, file: Path, on_clash: OnClash = "skip") -> Outcome:
    """What importing a file into a database did."""
    async with opened(path) as library:
        return await import_memories(Target.of(library), await plan_import(Target.of(library), file), on_clash)
