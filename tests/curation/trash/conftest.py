"""A library to change: a database of the newest generation, unless a test names another store."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.small_store import make
from trash_world import Clock, World, install_at

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.config.locations import Install
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.journal import Trash, store_name
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.profile_choice import ProfileChoice
from zeroclaw_tui.scoring.profiles import ScoringSettings


@pytest.fixture
def install(tmp_path: Path) -> Install:
    return install_at(tmp_path)


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["G4"])
async def world(request: pytest.FixtureRequest, install: Install, clock: Clock) -> AsyncIterator[World]:
    memory: InMemory | SqliteMemory
    if request.param == "in-memory":
        memory = InMemory(clock=clock)
    else:
        memory = SqliteMemory(make(install.database, request.param, []))
    await memory.open()
    trash = Trash(install, store_name(memory.name, memory.about.location), clock)
    choice = ProfileChoice.from_version("0.8.4", "option")
    config = MemoryConfig(install)
    library = Library(config, memory, choice, ScoringSettings(), None)
    library.trash = trash
    yield World(library, install, clock)
    await memory.close()
