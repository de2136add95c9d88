"""A database as it was at an earlier moment, as far as its rows tell: what was stored since is taken out of a copy."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from zeroclaw_tui.backends.answers import LaterRow, StoredSince
from zeroclaw_tui.files.database import (
    Reading,
    as_text,
    bound,
    connect_to_write,
    translated,
)
from zeroclaw_tui.memory.days import moment as moment_in

if TYPE_CHECKING:
    from zeroclaw_tui.backends.base import Memory
    from zeroclaw_tui.backends.sqlite.store import SqliteMemory

_AT_ONCE = 500
_DAY = timedelta(days=1)


async def stored_since(file: Path, moment: datetime) -> StoredSince:
    """What was stored or changed after a moment. Raises InspectorError kinds."""
    # Texts of moments are compared as far as their day, a day early: their offsets differ.
    day = (moment.astimezone(UTC) - _DAY).date().isoformat()

    def read(connection: sqlite3.Connection) -> StoredSince:
        statement = "SELECT rowid, key, created_at, updated_at FROM memories WHERE created_at >= ?1 OR updated_at >= ?1"
        rows, changed = [], []
        for number, key, created_at, updated_at in connection.execute(statement, (day,)):
            created, updated = moment_in(as_text(created_at)), moment_in(as_text(updated_at))
            # A clock that was ahead, or an import, makes rows of the future, which were there all the same.
            if created is not None and created > moment and (updated is None or updated > moment):
                rows.append(LaterRow(number, as_text(key), created))
            elif updated is not None and updated > moment:
                changed.append(as_text(key))
        return StoredSince(tuple(rows), tuple(changed), is_known=True)

    return await Reading(file).run(read)


class PastDatabase:
    """A copy out of which rows are taken, the newest first; it lies in a folder of its own (0700)."""

    def __init__(self, folder: Path, memory: SqliteMemory) -> None:
        self.memory: Memory = memory
        self.moment = datetime.max.replace(tzinfo=UTC)
        """To when it is put back."""
        self._folder, self._file = folder, memory.path

    @classmethod
    async def of(cls, memory: SqliteMemory) -> PastDatabase | None:
        """A copy of the database as it is; None where there can be none. Raises InspectorError kinds."""
        folder, copy = Path(tempfile.mkdtemp(prefix="zeroclaw-tui-")), None
        try:
            copy = await memory.copied_to(folder)
        finally:
            if copy is None:
                shutil.rmtree(folder, ignore_errors=True)
        return None if copy is None else cls(folder, copy)

    async def back_to(self, moment: datetime, rows: Sequence[LaterRow]) -> None:
        """Take out the rows that were stored after an earlier moment than the last one, as far as they are there."""
        if moment < self.moment:
            numbers = [row.number for row in rows if row.created <= self.moment]
            await asyncio.to_thread(_take_out, self._file, numbers)
            self.moment = moment

    async def close(self) -> None:
        """Let go of the copy and delete it."""
        await self.memory.close()
        await asyncio.to_thread(shutil.rmtree, self._folder, True)


def _take_out(file: Path, numbers: Sequence[int]) -> None:
    with translated(file), closing(connect_to_write(file)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("BEGIN")
        for start in range(0, len(numbers), _AT_ONCE):
            marks, ready = bound(numbers[start : start + _AT_ONCE])
            connection.execute(f"DELETE FROM memories WHERE rowid IN ({marks})", ready)
        connection.execute("COMMIT")
