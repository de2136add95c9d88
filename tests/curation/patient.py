"""An install that is broken on purpose, and what examining it says."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from typing import Any

from support import small_store
from support.installs import Install

from zeroclaw_tui.curation.doctor import DoctorFinding, DoctorReport, RepairOutcome, examine, repair_finding

NOW = datetime(2026, 11, 22, 7, 0, tzinfo=UTC)
ROWS = [{"content": f"memory {at} about the harbour", "category": "core" if at % 3 else "daily"} for at in range(12)]


class Patient(Install):
    """An install; `database` may be damaged before anything is asked."""

    def run(self, *statements: str) -> None:
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

    async def report(self, *, deep: bool = False) -> DoctorReport:
        async with self.opened() as library:
            return await examine(self.config(), library, deep=deep)

    async def finding(self, id: str, *, deep: bool = False) -> DoctorFinding:
        found = [finding for finding in (await self.report(deep=deep)).findings if finding.id == id]
        assert len(found) == 1, f"{id} was found {len(found)} times"
        return found[0]

    async def repair(self, id: str, *, deep: bool = False) -> RepairOutcome:
        async with self.opened() as library:
            report = await examine(self.config(), library, deep=deep)
            (finding,) = [finding for finding in report.findings if finding.id == id]
            assert finding.repair_steps, "a repair says its steps first"
            return await repair_finding(self.config(), library, finding, NOW)
