"""Reading while an agent runs: its writes appear whole, nothing locks, and this program changes no byte."""

from __future__ import annotations

import asyncio
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from changed_stores import opened
from support.memories import Unreadable
from support.opened import opened_memory
from support.other_user import as_nobody, shared_folder
from support.questions import EXCERPTS, NEWEST_STORED, MemoryFilter, Query, Sort, SortField
from support.recalls import contents, recalled
from support.stores import SqliteMemory, count_facets, sentences, whole_entry

from zeroclaw_tui.files.database import connect_read_only_blocking
from zeroclaw_tui.testing.tools import handles_of

LATER = "2026-12-31T00:00:00+00:00"
# Each commit stores a pair and renumbers an old one, so that a torn read would show half a pair.
WRITER = """
import itertools, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], timeout=30, isolation_level=None)
(agent,) = connection.execute("SELECT id FROM agents").fetchone()
for at in itertools.count():
    connection.execute("BEGIN IMMEDIATE")
    for half in ("left", "right"):
        connection.execute(
            "INSERT INTO memories (id, key, content, created_at, updated_at, agent_id) VALUES (?, ?, ?, ?, ?, ?)",
            (f"{half}-{at}", f"{half}-{at}", f"{half} round 0 " + "words " * 50, "2026-03-01", "2026-03-01", agent),
        )
    renumber = "UPDATE memories SET content = replace(content, 'round 0', 'round 1') WHERE key LIKE ?"
    connection.execute(renumber, (f"%-{at // 2}",))
    connection.execute("COMMIT")
    print(at, flush=True)
    if at % 50 == 49:
        connection.execute("PRAGMA wal_checkpoint(PASSIVE)")
"""


@pytest.fixture
def writer(make_store):
    """A path and a process that keeps writing to it, once it has begun."""
    path = make_store()
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout.readline() == "0\n"
        yield path, process
    finally:
        process.kill()
        process.stdout.close()
        process.wait()


async def test_browsing_during_writes_sees_whole_new_rows_and_never_locks(writer):
    path, process = writer
    # The pipe must not fill up, or the writer would block.
    drained = asyncio.create_task(asyncio.to_thread(process.stdout.read))
    seen_versions, counts = set(), []
    async with opened(path) as memory:
        while len(seen_versions) < 15 or len(counts) < 30:
            assert process.poll() is None
            seen_versions.add(await memory.version())
            counts.append(await memory.count())
            handles = await handles_of(memory, MemoryFilter(), NEWEST_STORED)
            assert len(handles) % 2 == 0
            assert list(handles) == sorted(handles, reverse=True)
            facets = await count_facets(memory, MemoryFilter(contains="round"), LATER)
            assert facets.total % 2 == 0
            renumbered = await handles_of(memory, MemoryFilter(contains="round 1"), Sort(SortField.KEY))
            assert len(renumbered) % 2 == 0
            page = await memory.rows(Query(EXCERPTS, MemoryFilter(), NEWEST_STORED, limit=50))
            assert [entry.handle for entry in page] == sorted((entry.handle for entry in page), reverse=True)
            assert all(entry.content.count("words") > 0 and entry.embedding_dimensions is None for entry in page)
            assert len(await memory.rows(Query(EXCERPTS, handles=handles[:100]))) == min(100, len(handles))
            found = contents(await recalled(memory, "left words"))
            assert 0 < len(found) <= 5
            assert all("words" in content for content in found)
        assert counts == sorted(counts)
        assert counts[-1] > counts[0]
        assert await memory.health_check()
    process.kill()
    await drained


async def browse_everything(memory):
    for field in SortField:
        (await memory.rows(Query(EXCERPTS, MemoryFilter(), Sort(field), limit=20)))
        (await handles_of(memory, MemoryFilter(contains="t"), Sort(field)))
    await count_facets(memory, MemoryFilter(), LATER)
    await memory.list()
    await memory.health()
    await memory.recall("text", 5)


async def test_a_replaced_file_counts_as_a_change_and_is_read(make_store):
    path = make_store([{"content": "the left words"}])
    other = make_store([{"content": "restored left words"}], generation="G2", name="restored.db")
    async with opened(path) as memory:
        before = await memory.version()
        assert contents(await recalled(memory, "left words", "0.5.6")) == ["the left words"]
        os.replace(other, path)
        after = await memory.version()
        assert after != before
        assert await memory.version() == after
        assert (await whole_entry(memory, 1)).content == "restored left words"
        assert contents(await recalled(memory, "left words", "0.5.6")) == ["restored left words"]
        assert memory.about.generation == "G2"
        assert "agents" in memory.why_not


async def test_a_missing_file_is_reported_until_it_is_back(make_store):
    path = make_store([{}])
    aside = path.with_name("aside.db")
    async with opened(path) as memory:
        before = await memory.version()
        path.rename(aside)
        for _ in range(2):
            with pytest.raises(Unreadable, match="There is no file"):
                await memory.version()
        aside.rename(path)
        assert await memory.version() != before
        assert await memory.count() == 1


async def test_rows_only_in_the_log_are_read_and_the_main_file_is_unchanged(tmp_path, digest):
    """A new agent leaves a main file of one page and everything in the -wal."""
    path = tmp_path / "brain.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as agent:
        agent.execute("PRAGMA journal_mode = WAL")
        agent.execute("PRAGMA wal_autocheckpoint = 0")
        agent.execute("CREATE TABLE memories (id, key, content, category, embedding, created_at, updated_at)")
        agent.execute("INSERT INTO memories VALUES ('1', 'a', 'text', 'core', NULL, '2026', '2026')")
        assert path.stat().st_size == 4096
        before = digest(path), digest(Path(f"{path}-wal"))
        async with opened(path) as memory:
            assert [entry.key for entry in await memory.list()] == ["a"]
            await browse_everything(memory)
        assert (digest(path), digest(Path(f"{path}-wal"))) == before
        shutil.copy(path, tmp_path / "left.db")
        shutil.copy(f"{path}-wal", tmp_path / "left.db-wal")
    left = tmp_path / "left.db"
    async with opened(left) as memory:
        assert await memory.count() == 1
        await browse_everything(memory)
    assert (digest(left), digest(Path(f"{left}-wal"))) == before


@pytest.mark.parametrize("journal_mode", ["WAL", "DELETE"])
async def test_browsing_everything_changes_no_byte(journal_mode, make_store, digest):
    path = make_store({"content": "text " * at} for at in range(300))
    with closing(sqlite3.connect(path)) as owner:
        owner.execute(f"PRAGMA journal_mode = {journal_mode}")
    before = digest(path)
    async with opened(path) as memory:
        await browse_everything(memory)
    assert digest(path) == before


def test_the_connections_refuse_to_write(make_store):
    with closing(connect_read_only_blocking(make_store([{}]))) as connection:
        for statement in ("DELETE FROM agents", "CREATE TABLE x (y)", "PRAGMA user_version = 7"):
            with pytest.raises(sqlite3.OperationalError, match="readonly"):
                connection.execute(statement)


async def look(folder: Path) -> tuple[object, ...]:
    async with opened_memory(SqliteMemory(folder / "brain.db")) as memory:
        keys = [entry.key for entry in await memory.list()]
        handles = await handles_of(memory, MemoryFilter(), NEWEST_STORED)
        return keys, len(handles), sentences(memory.about.notices), memory.why_not.get("write")


@pytest.mark.parametrize(
    ("files", "notice"),
    [
        (["brain.db"], "You see the database as it was when it was opened; later writes do not appear."),
        (["brain.db", "brain.db-wal"], "brain.db-wal cannot be read and the newest writes do not appear."),
    ],
)
def test_a_read_only_folder_is_read_with_a_notice(files, notice, make_store):
    path = make_store([{"key": "a"}])
    with closing(sqlite3.connect(path, isolation_level=None)) as agent, shared_folder() as folder:
        agent.execute("PRAGMA wal_autocheckpoint = 0")
        agent.execute("UPDATE memories SET key = 'newer'")
        for name in files:
            shutil.copy(path.with_name(name), folder / name)
            (folder / name).chmod(0o644)
        folder.chmod(0o555)
        keys, count, (shown,), reason = as_nobody(lambda: asyncio.run(look(folder)))
        assert (keys, count, reason) == (["a"], 1, "The directory of the database is read-only.")
        assert shown.startswith("The directory is read-only")
        assert shown.endswith(notice)
        assert sorted(path.name for path in folder.iterdir()) == files
