"""Examining a store and what lies around it; reading only."""

from __future__ import annotations

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.doctor.finding import DoctorReport
from zeroclaw_tui.curation.library import Library


async def examine(config: MemoryConfig, library: Library | None, *, deep: bool = False) -> DoctorReport:
    """Every check that fits the backend. `library` is None where the store did not open; then what can be told without
    it is told. `deep` also runs SQLite's and FTS5's integrity checks, on a copy made with the backup API, never on the
    live file. Works in threads; cancelling the await stops it.
    """
    raise NotImplementedError
