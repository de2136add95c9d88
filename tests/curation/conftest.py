"""Fixtures with libraries to read and change."""

from __future__ import annotations

import uuid
from contextlib import AsyncExitStack

import pytest
from journal_world import opened_world
from support import small_store
from support.opened import opened_at
from support.places import OpenOptions

from zeroclaw_tui.curation.config_choice import configs_for


@pytest.fixture
async def open_rows(tmp_path):
    """Open the library of a new database with these rows, and with an embedding config if given."""
    async with AsyncExitStack() as stack:

        async def opened(rows, generation="G4", embedding=None):
            path = small_store.make(tmp_path / f"{uuid.uuid4()}.db", generation, rows)
            config = configs_for(OpenOptions(path=path))[0]
            return await stack.enter_async_context(opened_at(config._replace(embedding=embedding or config.embedding)))

        yield opened


@pytest.fixture
async def world(tmp_path):
    """A library on a database of the newest generation."""
    async with opened_world(tmp_path, "G4") as world:
        yield world
