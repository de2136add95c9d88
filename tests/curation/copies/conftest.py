"""Whole installs and their libraries."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from copies_samples import Place
from support import small_store

from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.store_choice import configs_for


@pytest.fixture
def make_place(tmp_path: Path) -> Callable[..., Place]:
    """An install of a generation with these rows and nothing else."""

    def make(generation: str = "G2", rows: tuple[dict[str, Any], ...] = (), backend: str = "sqlite") -> Place:
        config_dir = tmp_path / "zeroclaw"
        root = config_dir / ("workspace" if generation in ("G1", "G2") else "data")
        (root / "memory").mkdir(parents=True)
        version = "" if generation in ("G1", "G2") else "schema_version = 3\n"
        (config_dir / "config.toml").write_text(f'{version}[memory]\nbackend = "{backend}"\nauto_save = true\n')
        database = small_store.make(root / "memory" / "brain.db", generation, rows)
        return Place(config_dir, root, database)

    return make


@pytest.fixture
def open_place() -> Callable[..., Any]:
    """Its library, as an async context manager."""

    @asynccontextmanager
    async def opened(place: Place, **options: Any) -> AsyncIterator[Library]:
        library = await open_library(configs_for(OpenOptions(config_dir=place.config_dir, **options))[0])
        try:
            yield library
        finally:
            await library.close()

    return opened
