"""A store that does not open: why, and what its files offer."""

from __future__ import annotations

from pathlib import Path

from zeroclaw_tui.config.layouts import names_in
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.doctor.backups import backups_of
from zeroclaw_tui.curation.doctor.finding import DoctorFinding
from zeroclaw_tui.curation.doctor.words import size
from zeroclaw_tui.curation.snapshot.text import NAME as SNAPSHOT
from zeroclaw_tui.memory.errors import InspectorError, Locked


def not_open_finding(config: MemoryConfig, error: InspectorError) -> DoctorFinding:
    """The error as a finding, with every place its memories could come back from."""
    hints = [error.hint] if error.hint else []
    details: list[tuple[str, str]] = []
    if not isinstance(error, Locked):
        for backup in _backups(config):
            details.append(("backup", f"{backup} ({size(backup.stat().st_size)})"))
        snapshot = config.install.root / SNAPSHOT
        if config.location is None and snapshot.is_file():
            details.append(("snapshot", str(snapshot)))
            hints.append(f"`zeroclaw memory hydrate` makes a database of {SNAPSHOT}, which holds the core memories.")
    return DoctorFinding(
        "not-open",
        error.message,
        "serious",
        "Neither this program nor ZeroClaw gets at the memories.",
        by_hand=" ".join(hints),
        target=str(config.database),
        details=tuple(details),
    )


def _backups(config: MemoryConfig) -> list[Path]:
    database = config.database
    beside = [
        database.with_name(name) for name in names_in(database.parent) if name.startswith(f"{database.name}.backup-")
    ]
    return [path for path in (*backups_of(config), *beside) if path.is_file()]
