"""An install that is broken on purpose, and what examining it says."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from support import small_store
from zeroclaw_tui.config.locations import OpenOptions
from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.config_choice import configs_for
from zeroclaw_tui.curation.doctor import DoctorFinding, DoctorReport, examine, repair_finding
from zeroclaw_tui.curation.library import Library, open_library
from zeroclaw_tui.curation.repairs import RepairOutcome

NOW = datetime(2026, 11, 22, 7, 0, tzinfo=UTC)
ROWS = [{"content": f"memory {at} about the harbour", "category": "core" if at % 3 else "daily"} for at in range(12)]


class Patient:
    """An install in a folder of its own; `database` may be damaged before anything is asked."""

    def __init__(self, folder: Path, generation: str, layout: str, config: str) -> None:
        self.folder = folder
        self.database = folder / layout / "memory" / "brain.db"
        self.database.parent.mkdir(parents=True)
        (folder / "config.toml").write_text(config)
        if generation:
            small_store.make(self.database, generation, ROWS)

    @property
    def config(self) -> MemoryConfig:
        return configs_for(OpenOptions(config_dir=self.folder), {"HOME": str(self.folder)})[0]

    def change(self, *statements: str) -> None:
        with closing(sqlite3.connect(self.database, isolation_level=None)) as connection:
            for statement in statements:
                connection.execute(statement)

    def damage(self, table: str) -> None:
        """Overwrite the first page of a table."""
        small_store.damage(self.database, table)

    def rows(self) -> list[Any]:
        """Every memory with its rowid."""
        columns = "rowid, id, key, content, category, embedding, created_at, updated_at"
        with closing(sqlite3.connect(self.database)) as connection:
            return connection.execute(f"SELECT {columns} FROM memories ORDER BY rowid").fetchall()

    def made(self) -> list[Any]:
        """The statements of its tables, indexes and triggers."""
        with closing(sqlite3.connect(self.database)) as connection:
            return connection.execute("SELECT type, name, sql FROM sqlite_master ORDER BY 1, 2").fetchall()

    def found(self, word: str) -> int:
        """How many memories SQLite's own keyword index finds."""
        with closing(sqlite3.connect(self.database)) as connection:
            statement = "SELECT count(*) FROM memories_fts WHERE memories_fts MATCH ?"
            return int(connection.execute(statement, (word,)).fetchone()[0])

    @asynccontextmanager
    async def library(self) -> AsyncIterator[Library]:
        library = await open_library(self.config)
        try:
            yield library
        finally:
            await library.close()

    async def report(self, *, deep: bool = False) -> DoctorReport:
        async with self.library() as library:
            return await examine(self.config, library, deep=deep)

    async def finding(self, id: str, *, deep: bool = False) -> DoctorFinding:
        found = [finding for finding in (await self.report(deep=deep)).findings if finding.id == id]
        assert len(found) == 1, f"{id} was found {len(found)} times"
        return found[0]

    async def repair(self, id: str, *, deep: bool = False) -> RepairOutcome:
        async with self.library() as library:
            report = await examine(self.config, library, deep=deep)
            (finding,) = [finding for finding in report.findings if finding.id == id]
            assert finding.repair_steps, "a repair says its steps first"
            return await repair_finding(self.config, library, finding, NOW)
