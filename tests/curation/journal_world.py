"""A library to change, with its trash as a later process reads it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from support.libraries import Library, ProfileChoice
from support.memories import Row
from support.places import Install, MemoryConfig
from support.questions import MemoryFilter, Superseded
from support.rules import ScoringSettings
from support.small_store import make
from support.stores import SqliteMemory, row_with_id, versions

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.curation.journal import Trash, store_name


@dataclass
class Clock:
    """A fake clock that advances only when set."""

    moment: datetime = datetime(2026, 11, 22, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.moment

    def pass_days(self, days: float) -> None:
        self.moment += timedelta(days=days)


@dataclass
class World:
    """An install with an open store."""

    library: Library
    install: Install
    clock: Clock = field(default_factory=Clock)

    @property
    def trash(self) -> Trash:
        return self.library.trash

    def later(self) -> Trash:
        """Return the trash as a process started later reads it."""
        self.library.trash = Trash(self.install, self.library.trash.store, self.clock)
        return self.library.trash

    async def rows(self) -> dict[str, Row]:
        """Return every stored memory by id."""
        stamps = await versions(self.library.memory, MemoryFilter(superseded=Superseded.SHOW))
        found = [await row_with_id(self.library.memory, stamp.id) for stamp in stamps]
        return {row.id: row for row in found if row is not None}

    def bytes_of_trash(self) -> bytes:
        """Return every byte of this program's own folder in the install."""
        return b"".join(file.read_bytes() for file in sorted(self.install.own_dir.iterdir()))


def install_at(folder: Path) -> Install:
    return Install(folder, folder / "workspace", folder / "brain.db", "workspace", "test", folder / "zeroclaw-tui")


@asynccontextmanager
async def opened_world(folder: Path, store: str) -> AsyncIterator[World]:
    """Open a world with an in-memory store, or with a database of a generation such as "G4"."""
    install, clock = install_at(folder), Clock()
    memory: InMemory | SqliteMemory
    memory = InMemory(clock=clock) if store == "in-memory" else SqliteMemory(make(install.database, store, []))
    await memory.open()
    choice = ProfileChoice.from_version("0.8.4", "option")
    library = Library(MemoryConfig(install), memory, choice, ScoringSettings(), None)
    library.trash = Trash(install, store_name(memory.name, memory.about.location), clock)
    try:
        yield World(library, install, clock)
    finally:
        await memory.close()
