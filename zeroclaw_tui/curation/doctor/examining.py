"""Examining a store and what lies around it; reading only."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from functools import partial

from zeroclaw_tui.backends.base import Health, Memory
from zeroclaw_tui.backends.factory import create_memory
from zeroclaw_tui.backends.sqlite.connection import Reading
from zeroclaw_tui.backends.sqlite.upkeep.alone import holders
from zeroclaw_tui.backends.sqlite.upkeep.integrity import check_integrity
from zeroclaw_tui.backends.sqlite.upkeep.row_facts import RowFacts, row_facts
from zeroclaw_tui.backends.sqlite.upkeep.stoppable import Stoppable
from zeroclaw_tui.backends.sqlite.writable import WritableSqlite
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.doctor.finding import DoctorFinding, DoctorReport, Risk
from zeroclaw_tui.curation.doctor.in_database import database_findings, integrity_findings
from zeroclaw_tui.curation.doctor.in_files import file_findings
from zeroclaw_tui.curation.doctor.in_vectors import vector_findings
from zeroclaw_tui.curation.doctor.not_open import not_open_finding
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.superseded import among_fact, superseded_hidden
from zeroclaw_tui.memory.errors import InspectorError
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
    elif isinstance(library.memory, WritableSqlite):
        found = await _of_database(config, library, library.memory)
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
        return [await asyncio.to_thread(not_open_finding, config, error)]
    return []


async def _of_database(config: MemoryConfig, library: Library, memory: WritableSqlite) -> list[DoctorFinding]:
    try:
        health = await memory.health()
        schema = memory.schema
        rows: RowFacts = await Reading(memory.path).run(lambda connection: row_facts(connection, schema))
    except InspectorError as error:
        # Damage deep in a file shows only when its rows are read.
        return [await asyncio.to_thread(not_open_finding, config, error)]
    others = await asyncio.to_thread(holders, memory.path)
    found = database_findings(config, memory, health, rows, others)
    return found + vector_findings(library, health, rows)


async def _counted_too(library: Library) -> list[str]:
    """That the counts hold what a list hides."""
    try:
        hidden = await superseded_hidden(library, MemoryFilter())
    except InspectorError:
        # What damage keeps from being read is among the findings.
        return []
    return [f"Counted is every memory, {among_fact(hidden)} and hidden from the agent."] if hidden else []


async def _deep(memory: WritableSqlite, notes: list[str]) -> list[DoctorFinding]:
    stoppable = Stoppable()
    try:
        found = await stoppable.run(partial(check_integrity, memory.path, memory.schema, stoppable))
    except InspectorError as error:
        notes.append(f"The deep check could not be made: {error.message}")
        return []
    return integrity_findings(memory, found)


async def _of_other_store(memory: Memory) -> list[DoctorFinding]:
    health = await memory.health()
    if memory.name == "none":
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
