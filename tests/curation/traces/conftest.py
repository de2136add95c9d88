"""Whole installs."""

from __future__ import annotations

import pytest
from copies_samples import Place
from support import small_store


@pytest.fixture
def make_place(tmp_path):
    """An install of a generation with these rows and nothing else."""

    def make(generation="G2", rows=(), backend="sqlite"):
        config_dir = tmp_path / "zeroclaw"
        root = config_dir / ("workspace" if generation in ("G1", "G2") else "data")
        (root / "memory").mkdir(parents=True)
        version = "" if generation in ("G1", "G2") else "schema_version = 3\n"
        (config_dir / "config.toml").write_text(f'{version}[memory]\nbackend = "{backend}"\nauto_save = true\n')
        database = small_store.make(root / "memory" / "brain.db", generation, rows)
        return Place(config_dir, root, database)

    return make


@pytest.fixture
def place(make_place):
    """One that has no memory."""
    return make_place()
