"""Examining a store and what lies around it, and why one does not open; reading only."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path

from zeroclaw_tui.backends.base import Health, Memory
from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.config.layouts import names_in
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.doctor.database import database_findings, page_findings
from zeroclaw_tui.curation.doctor.finding import DoctorFinding, DoctorReport, Risk, size
from zeroclaw_tui.curation.doctor.repairs import backups_of
from zeroclaw_tui.curation.doctor.surroundings import file_findings
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.snapshot.text import NAME as SNAPSHOT
from zeroclaw_tui.curation.superseded import among_fact, superseded_hidden
from zeroclaw_tui.memory.errors import InspectorError, Locked
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.memory.text import one_line

_ORDER: dict[Risk, int] = {"serious": 0, "worth knowing": 1, "fine": 2}


async def examine(config: MemoryConfig, library: Library | None, *, deep: bool = False) -> DoctorReport:
    """Every check that fits the backend. `library` is None where the store did not open; then what can be told without
    it is told. `deep` also runs SQLite's and FTS5's integrity checks, on a copy made with the backup API, never on the
    live file. Works in threads; cancelling the await stops it.
    """
    notes: list[str] = []
    memory = None if library is None else library.memory
    if library is None:
        found = await _of_closed_store(config)
        if deep:
            notes.append("The pages are only checked of a store that opens.")
    elif library.memory.file is not None:
        found = await _of_database(config, library)
        notes += await _counted_too(library)
        if deep:
            found += await _deep(library.memory, notes)
    else:
        found = await _of_other_store(library.memory)
        if deep:
            notes.append(f"There is nothing to check page by page in {library.memory.name}.")
    found += await asyncio.to_thread(file_findings, config, memory is not None)
    return DoctorReport(tuple(sorted(found, key=lambda finding: _ORDER[finding.risk])), deep, tuple(notes))


async def _of_closed_store(config: MemoryConfig) -> list[DoctorFinding]:
    """Why it does not open; nothing where it does by now."""
    try:
        memory = create_memory(config)
        try:
            await memory.open()
        finally:
            with suppress(InspectorError):
                await memory.close()
    except InspectorError as error:
        return [await asyncio.to_thread(_not_open_finding, config, error)]
    return []


async def _of_database(config: MemoryConfig, library: Library) -> list[DoctorFinding]:
    try:
        facts = await library.memory.examine()
    except InspectorError as error:
        # Damage deep in a file shows only when its rows are read.
        return [await asyncio.to_thread(_not_open_finding, config, error)]
    return database_findings(library, facts)


async def _counted_too(library: Library) -> list[str]:
    """That the counts hold what a list hides."""
    try:
        hidden = await superseded_hidden(library, MemoryFilter())
    except InspectorError:
        # What damage keeps from being read is among the findings.
        return []
    return [f"Counted is every memory, {among_fact(hidden)} and hidden from the agent."] if hidden else []


async def _deep(memory: Memory, notes: list[str]) -> list[DoctorFinding]:
    try:
        found = await memory.check_pages()
    except InspectorError as error:
        notes.append(f"The deep check could not be made: {error.message}")
        return []
    return page_findings(found, str(memory.file))


async def _of_other_store(memory: Memory) -> list[DoctorFinding]:
    health = await memory.health()
    if memory.keeps_nothing:
        return [DoctorFinding("store", "Nothing is stored, so there is nothing to examine.", "fine", "")]
    count = health.facts.get("memories", 0)
    title = f"The {memory.name} store answers and holds {count:,} {'memory' if count == 1 else 'memories'}."
    found = [DoctorFinding("store", title, "fine", "", target=memory.location)] if health.ok else []
    return found + [
        _from_health(memory, health, number, one_line(sentence)) for number, sentence in enumerate(health.findings, 1)
    ]


def _from_health(memory: Memory, health: Health, number: int, sentence: str) -> DoctorFinding:
    risk: Risk = "worth knowing" if health.ok else "serious"
    follows = "" if health.ok else "What it holds is not read, by ZeroClaw neither."
    hint = "" if health.ok else "Correct the file or its permissions, then look again."
    return DoctorFinding(f"store-{number}", sentence, risk, follows, by_hand=hint, target=memory.location)


def _not_open_finding(config: MemoryConfig, error: InspectorError) -> DoctorFinding:
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
