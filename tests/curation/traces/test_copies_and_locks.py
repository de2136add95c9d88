"""Looking at a database's bytes must not cost SQLite its locks: another program would take the log away under it."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest
from support import small_store
from support.opened import opened

from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.curation.changes import edit_memory
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.traces.copies import Text, find_copies
from zeroclaw_tui.files.database import wal_file
from zeroclaw_tui.memory.change import Edit

FOREIGN = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1])
connection.execute("UPDATE memories SET content = 'theirs' WHERE id = 'id-001'")
connection.commit()
connection.close()
"""
Look = Callable[[Library], Awaitable[object]]


async def _copies(library: Library) -> object:
    return await find_copies(library, [Text("x", "a key", "a content that is long enough to look for")])


async def _health(library: Library) -> object:
    return await library.memory.health()


@pytest.mark.parametrize("look", [_copies, _health])
async def test_what_is_written_after_a_look_reaches_the_file(look: Look, tmp_path: Path) -> None:
    """A foreign program opens, writes and leaves; with the locks gone it would have deleted the log in use."""
    database = small_store.make(tmp_path / "brain.db", "G2", [{"content": f"text {at}"} for at in range(3)])
    async with opened({"HOME": str(tmp_path)}, path=database) as library:
        await library.memory.count()
        await look(library)
        await asyncio.to_thread(subprocess.run, [sys.executable, "-c", FOREIGN, str(database)], check=True)
        assert wal_file(database).exists()
        row = await row_with_id(library.memory, "id-002")
        assert row is not None
        await edit_memory(library, "id-002", Edit({"content": "ours"}), row.fingerprint)
        await look(library)
        # Another process must see it: one that is not told by this one's connections.
        copy = tmp_path / "copy"
        copy.mkdir()
        for path in (database, wal_file(database)):
            shutil.copy(path, copy / path.name)
        with closing(sqlite3.connect(copy / "brain.db")) as connection:
            found = dict(connection.execute("SELECT id, content FROM memories"))
        assert found == {"id-000": "text 0", "id-001": "theirs", "id-002": "ours"}
