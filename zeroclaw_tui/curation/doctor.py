"""The doctor: check a store and its files for problems, and say what can be done. Checks only read."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.health import Health
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.doctor_checks import (
    RISKS,
    Database,
    DoctorFinding,
    check_database,
    check_pages,
    fine,
)
from zeroclaw_tui.curation.formats.snapshot import NAME as SNAPSHOT
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.repairs import RepairOutcome, backups_of, run_repair
from zeroclaw_tui.files.whole_database import processes_using
from zeroclaw_tui.memory.errors import BeforeFirstStart, InspectorError, Locked, Refused
from zeroclaw_tui.memory.text import counted, one_line


@dataclass(frozen=True, slots=True)
class DoctorReport:
    """The findings, the serious ones first; "fine" ones show what was checked."""

    findings: tuple[DoctorFinding, ...]
    is_deep: bool
    notes: tuple[str, ...] = ()

    @property
    def is_healthy(self) -> bool:
        return all(finding.risk != "serious" for finding in self.findings)

    def headline(self) -> str:
        counts = Counter(finding.risk for finding in self.findings)
        if counts["serious"] or counts["worth knowing"]:
            return f"{', '.join(f'{counts[risk]:,} {risk}' for risk in RISKS if counts[risk])}."
        return f"No problems found: {counts['fine']:,} checks are fine." if counts["fine"] else "Nothing to check."

    def as_json(self) -> dict[str, Any]:
        return {
            "deep": self.is_deep,
            "healthy": self.is_healthy,
            "findings": [finding.as_json() for finding in self.findings],
            "notes": list(self.notes),
        }


async def examine(config: MemoryConfig, library: Library | None, *, deep: bool = False) -> DoctorReport:
    """Run every check that fits the backend. `library` is None if the store did not open.

    A `deep` examination also runs SQLite's and FTS5's integrity checks, on a copy of the database.
    """
    notes: list[str] = []
    found = await _examine_store(config, library)
    if deep:
        found += await _examine_pages(library, notes)
    return DoctorReport(tuple(sorted(found, key=lambda finding: RISKS.index(finding.risk))), deep, tuple(notes))


async def _examine_store(config: MemoryConfig, library: Library | None) -> list[DoctorFinding]:
    try:
        if library is None:
            await (await open_library(config)).close()
            return []
        path, memory = library.memory.about.path, library.memory
        if path is None:
            return _other_store(memory, await memory.health())
        database = Database(library, await memory.health(), await asyncio.to_thread(processes_using, path))
    except InspectorError as error:
        # A damaged page is noticed only when its rows are read.
        return [await asyncio.to_thread(_not_open, config, error)]
    return [replace(finding, target=str(path)) for finding in check_database(database)]


async def _examine_pages(library: Library | None, notes: list[str]) -> list[DoctorFinding]:
    database = None if library is None else library.memory.upkeep.database
    if library is None or database is None:
        notes.append("Pages are only checked of a SQLite database that opens.")
        return []
    try:
        target = str(library.memory.about.path)
        return [replace(finding, target=target) for finding in check_pages(await database.check_pages())]
    except InspectorError as error:
        notes.append(f"The deep check could not be made: {error.message}")
    return []


async def repair_finding(
    config: MemoryConfig,
    library: Library | None,
    finding: DoctorFinding,
    now: datetime,
) -> RepairOutcome:
    """Repair a finding. Raises Refused if it has no repair here or something changed, Locked, Unreadable."""
    if finding.repair is None:
        raise Refused("This cannot be repaired here.", hint=finding.by_hand)
    if library is None:
        raise Refused("The store is not open, so nothing can be repaired in it.", hint=finding.by_hand)
    return await run_repair(config, library, finding.repair, now)


def _not_open(config: MemoryConfig, error: InspectorError) -> DoctorFinding:
    """The error, with every place from which the memories can be restored."""
    places = [] if isinstance(error, Locked) else [str(path) for path in backups_of(config) if path.is_file()]
    restore = [f"Backups: {', '.join(places)}."] if places else []
    if config.location is None and not isinstance(error, Locked) and (config.install.root / SNAPSHOT).is_file():
        restore.append(f"`zeroclaw memory hydrate` creates a database from {SNAPSHOT} with the core memories.")
    finding = fine("not-open", error.message, target=str(config.database))
    if isinstance(error, BeforeFirstStart) and not restore:
        return finding
    follows = "Neither this program nor ZeroClaw can read the memories."
    by_hand = " ".join(filter(None, [error.hint, *restore]))
    return replace(finding, risk="serious", risk_sentence=follows, by_hand=by_hand)


def _other_store(memory: Memory, health: Health) -> list[DoctorFinding]:
    """What a store without a database file says about itself."""
    if memory.about.keeps_nothing:
        return [fine("store", "Nothing is stored, so there is nothing to examine.")]
    location = memory.about.location
    found = [
        DoctorFinding(f"store-{at}", one_line(each), target=location) for at, each in enumerate(health.findings, 1)
    ]
    if health.ok:
        title = f"The {memory.name} store answers and has {counted(health.facts.get('memories', 0))}."
        return [fine("store", title, target=location), *found]
    follows, by_hand = "Neither ZeroClaw nor this program can read it.", "Correct the file or its permissions."
    return [replace(each, risk="serious", risk_sentence=follows, by_hand=by_hand) for each in found]
