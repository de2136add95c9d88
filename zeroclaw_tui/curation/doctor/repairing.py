"""Repairs, each after a backup of the database."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.doctor.finding import DoctorFinding
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.memory.change import Advance


@dataclass(frozen=True, slots=True)
class Repaired:
    """What was done, in sentences, and where the backup lies."""

    done: tuple[str, ...]
    backup: Path | None


async def repair_finding(
    config: MemoryConfig, library: Library | None, finding: DoctorFinding, now: datetime, advance: Advance | None = None
) -> Repaired:
    """Do the repair of a finding. Raises Refused where it has none or something changed, Locked, Unreadable."""
    raise NotImplementedError


async def back_up(config: MemoryConfig, now: datetime) -> Path:
    """A whole copy of the database (SQLite's backup API, so the log is in it), under `<own dir>/backups/`, 0600; the
    last five stay. Raises Unreadable when there is no room."""
    raise NotImplementedError


async def compact(config: MemoryConfig, now: datetime, tell: Callable[[str], None] | None = None) -> Repaired:
    """Backup, VACUUM, rebuild of the keyword index, only when no other process has the database open.

    The caller has closed its own connections. Raises Locked naming who has it open where that can be told.
    """
    raise NotImplementedError
