"""The doctor: check a store and its files for problems, and say what can be done. Checks only read."""

from __future__ import annotations

import asyncio
import os
from collections import Counter
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from zeroclaw_tui.backends.base import Memory
from zeroclaw_tui.backends.factory import has_database
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
from zeroclaw_tui.curation.repairs import RepairOutcome, backups_of, format_bytes, run_repair
from zeroclaw_tui.files.disk import file_size
from zeroclaw_tui.files.whole_database import processes_using
from zeroclaw_tui.memory.change import ProgressCallback
from zeroclaw_tui.memory.errors import BeforeFirstStart, InspectorError, Locked, Refused
from zeroclaw_tui.memory.query import MemoryFilter
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
    found = await _examine_store(config, library, notes)
    if deep:
        found += await _examine_pages(library, notes)
    found += await asyncio.to_thread(_two_databases, config)
    return DoctorReport(tuple(sorted(found, key=lambda finding: RISKS.index(finding.risk))), deep, tuple(notes))


async def _examine_store(config: MemoryConfig, library: Library | None, notes: list[str]) -> list[DoctorFinding]:
    try:
        if library is None:
            await (await open_library(config)).close()
            return []
        path, memory = library.memory.about.path, library.memory
        if path is None:
            return _other_store(memory, await memory.health())
        database = Database(library, await memory.health(), await asyncio.to_thread(processes_using, path))
        if hidden := await library.superseded_hidden(MemoryFilter()):
            notes.append(f"Counted is every memory, {hidden:,} of them superseded and hidden from the agent.")
    except InspectorError as error:
        # A damaged page is noticed only when its rows are read.
        return [await asyncio.to_thread(_not_open, config, error)]
    return [replace(finding, target=str(path)) for finding in check_database(database)]


async def _examine_pages(library: Library | None, notes: list[str]) -> list[DoctorFinding]:
    if library is None:
        notes.append("The pages are only checked of a store that opens.")
    elif (database := library.memory.upkeep.database) is None:
        notes.append(f"There is nothing to check page by page in {library.memory.name}.")
    else:
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
    on_progress: ProgressCallback | None = None,
) -> RepairOutcome:
    """Repair a finding. Raises Refused if it has no repair or something changed, Locked, Unreadable."""
    if finding.repair is None:
        raise Refused("This cannot be repaired here.", hint=finding.by_hand)
    if library is None:
        raise Refused("The store is not open, so nothing can be repaired in it.", hint=finding.by_hand)
    return await run_repair(config, library, finding.repair, now, on_progress)


def _not_open(config: MemoryConfig, error: InspectorError) -> DoctorFinding:
    """The error, with every place from which the memories can be restored."""
    by_hand, details = error.hint, []
    if not isinstance(error, Locked):
        backups = [path for path in backups_of(config) if path.is_file()]
        details += [("backup", f"{backup} ({format_bytes(file_size(backup))})") for backup in backups]
        snapshot = config.install.root / SNAPSHOT
        if config.location is None and snapshot.is_file():
            details.append(("snapshot", str(snapshot)))
            by_hand += f" `zeroclaw memory hydrate` creates a database from {SNAPSHOT} with the core memories."
    finding = fine("not-open", error.message, target=str(config.database))
    if isinstance(error, BeforeFirstStart) and not details:
        return finding
    follows = "Neither this program nor ZeroClaw can read the memories."
    return replace(finding, risk="serious", risk_sentence=follows, by_hand=by_hand.strip(), details=tuple(details))


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


def _two_databases(config: MemoryConfig) -> list[DoctorFinding]:
    install = config.install
    paths = [install.root / "memory" / "brain.db", install.root / "memory.db"]
    if install.config_dir is not None:
        paths += [install.config_dir / name / "memory" / "brain.db" for name in ("workspace", "data")]
    own = os.path.realpath(config.database) if has_database(config.backend) else ""
    others = {os.path.realpath(path): path for path in paths if path.is_file()}
    others.pop(own, None)
    if not others or config.location is not None:
        return []
    used = f"{config.database} is the one in use" if own else f"the {config.backend} backend uses none"
    finding = DoctorFinding(
        "two-databases",
        f"There is another database, {' and '.join(map(str, others.values()))}; {used}.",
        risk_sentence="Its memories never reach the agent.",
        by_hand="Look at it with `zeroclaw memory list --location PATH`; copy the memories you want with `export` "
        "and `import`.",
        target=str(next(iter(others.values()))),
        details=tuple((str(path), format_bytes(file_size(path))) for path in (config.database, *others.values())),
    )
    return [finding]
