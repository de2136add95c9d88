"""memory_hygiene_state.json: when ZeroClaw's hygiene ran last, what it did, and when it is due."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

INTERVAL_HOURS = 12


@dataclass(frozen=True, slots=True)
class HygieneState:
    """What the state file says. `problem` is one sentence where it is broken, lacks fields or lies in the future.

    `last_run` is None where it cannot be told; `report` holds ZeroClaw's counts by their names in the file. `due` is
    the moment from which the next start of the agent runs hygiene: None means at its very next start.
    """

    file: Path
    last_run: datetime | None
    report: Mapping[str, int]
    due: datetime | None
    problem: str | None = None
    by_us: bool = False
    """Whether the last run was one of ours, as the trash tells."""


def read_state(root: Path, version: str, now: datetime) -> HygieneState:
    """Read `<root>/state/memory_hygiene_state.json` as ZeroClaw of that version does. Never raises for its content."""
    raise NotImplementedError


def state_bytes(version: str, now: datetime, report: Mapping[str, int]) -> bytes:
    """The file as ZeroClaw of that version writes it: pretty JSON, UTC with nine digits, no final newline."""
    raise NotImplementedError
