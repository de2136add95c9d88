"""A Lucid bridge over a small database, with a stand-in program and a fake clock."""

from __future__ import annotations

import pytest
from support.small_store import make

from zeroclaw_tui.backends.lucid import LucidConfig, LucidMemory

PATIENT = {"recall_timeout_ms": 60_000, "store_timeout_ms": 60_000}
"""Longer than any stand-in takes, even on a busy machine."""


@pytest.fixture
async def bridge(tmp_path, clock, opening):
    """Open a bridge over these rows, by default in a schema of ZeroClaw 0.5.7 to 0.7.5."""

    async def bridge(program, rows=(), generation="G2", **settings):
        folder = tmp_path / "workspace"
        (folder / "memory").mkdir(parents=True)
        path = make(folder / "memory" / "brain.db", generation, rows)
        command = str(program.path) if program else str(tmp_path / "no such program")
        given = {"binary_path": command, **PATIENT, **settings}
        config = LucidConfig(given, {}) if generation in ("G1", "G2") else LucidConfig({}, given)
        return await opening(LucidMemory(path, project=folder, config=config, clock=clock))

    return bridge
