"""Without a program the bridge recalls what the database does, checked on recordings of the real ZeroClaw.

The databases and recalls were recorded from ZeroClaw 0.1.7 to 0.8.4; their README says how.
"""

from __future__ import annotations

from contextlib import AsyncExitStack

import pytest
from support import golden
from support.lucid_program import write_program
from support.opened import opened_memory
from support.stores import SqliteMemory

from zeroclaw_tui.backends.lucid import LucidConfig, LucidMemory

VERSIONS = ("0.1.7", "0.7.5", "0.8.3", "0.8.4")


@pytest.mark.parametrize("program", ["missing", "has nothing"])
@pytest.mark.parametrize("version", [version for version in VERSIONS if golden.has(version, "brain.db")])
async def test_recall_equals_that_of_the_database(version, program, tmp_path):
    """Compare every row, score, mode, scale and note of every recorded recall; lucid adds its own note."""
    command = str(tmp_path / "nowhere") if program == "missing" else str(write_program(tmp_path / "bin").path)
    # All recalls of the database alone are compared elsewhere; these few include every kind of query, and a program
    # without results needs a process for each recall.
    runs = golden.runs(version, "recall_runs")["runs"][:: 29 if program == "has nothing" else 5]
    given = {"binary_path": command, "recall_timeout_ms": 60_000}
    config = LucidConfig(given, {}) if version < "0.8" else LucidConfig({}, given if version >= "0.8.4" else {})
    pairs: dict[str, list[SqliteMemory]] = {}
    compared = 0
    async with AsyncExitStack() as stack:
        for run in runs:
            name = golden.DATABASES[run.get("embed") or "none"]
            if name not in pairs:
                path = golden.database(version, name, tmp_path)
                pair = opened_memory(SqliteMemory(path)), opened_memory(LucidMemory(path, config=config))
                pairs[name] = [await stack.enter_async_context(memory) for memory in pair]
            local, bridge = [await golden.recalled(memory, version, run) for memory in pairs[name]]
            assert bridge._replace(notes=bridge.notes[: len(local.notes)]) == local
            assert len(bridge.notes) == len(local.notes) + 1
            compared += bool(local.entries)
    assert compared
