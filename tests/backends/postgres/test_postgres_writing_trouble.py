"""A failed write gives one sentence and leaves the table unchanged."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from typing import Any

import asyncpg
import pytest
from support.memories import ApplyResult, Change, Draft, Locked, Refused
from support.postgres_place import PASSWORD
from support.stores import row_with_id
from support.warm_start import run_memory

from zeroclaw_tui.backends.postgres import connect
from zeroclaw_tui.testing.tools import JournalRecorder, create, delete, edit, fill, row_of, undo


@pytest.mark.parametrize(
    "draft", [Draft("k", "a\x00b"), Draft("a\x00b", "c"), Draft("k", "\ud800"), Draft("k", "c", "x\x00")]
)
async def test_a_text_that_postgresql_cannot_store_is_refused_with_a_sentence(draft, place, opens):
    place.make_table("key")
    memory, journal = await opens(), JournalRecorder()
    row = row_of(await create(memory, Draft("other", "c")))
    for action in (
        create(memory, draft, journal),
        fill(memory, [Draft("third", "c"), draft]),
        edit(memory, row, {"content": "a\x00b"}, journal),
    ):
        with pytest.raises(Refused, match="PostgreSQL stores"):
            await action
    assert (await memory.count(), journal.changes) == (1, [])


async def test_a_row_locked_by_another_program_is_reported(place, opens, monkeypatch):
    monkeypatch.setattr(connect, "LOCK_SECONDS", 0.1)
    place.make_table("key")
    memory, journal = await opens(), JournalRecorder()
    row = row_of(await create(memory, Draft("k", "c")))
    other = await asyncpg.connect(place.url)
    try:
        async with other.transaction():
            await other.execute("UPDATE memories SET content = 'theirs'")
            for action in (
                edit(memory, row, {"content": "mine"}, journal),
                delete(memory, [row], journal),
                create(memory, Draft("k", "mine"), journal, replace=True),
            ):
                with pytest.raises(Locked, match="Another program holds"):
                    await action
            # A dry run does not wait for locks.
            assert (await memory.apply([Change(row, None)], journal, dry_run=True)).written == 1
    finally:
        await other.close()
    assert journal.changes == []
    assert (await row_with_id(memory, row.id)).values["content"] == "theirs"


async def while_another_writes(place, statement: str, action: Coroutine[Any, Any, ApplyResult]) -> ApplyResult:
    """Return the result of a write that must wait until another program commits this statement."""
    other = await asyncpg.connect(place.url)
    try:
        transaction = other.transaction()
        await transaction.start()
        await other.execute(statement)
        waiting = asyncio.ensure_future(action)
        while await asyncio.to_thread(place.run, "SELECT count(*) FROM pg_locks WHERE NOT granted") == "0":
            assert not waiting.done()
        await transaction.commit()
        return await waiting
    finally:
        await other.close()


async def test_an_edit_waits_for_another_program_and_compares_with_its_write(place, opens):
    """No update is lost: the second one is a conflict."""
    place.make_table("key")
    memory, journal = await opens(), JournalRecorder()
    row = row_of(await create(memory, Draft("k", "c")))
    mine = edit(memory, row, {"content": "mine"}, journal)
    result = await while_another_writes(place, "UPDATE memories SET content = 'theirs', updated_at = now()", mine)
    (conflict,) = result.conflicts
    assert (result.written, conflict.reason, journal.changes) == (0, "changed", [])
    assert conflict.existing.values["content"] == "theirs"


@pytest.mark.parametrize("replace", [False, True])
async def test_a_key_stored_by_another_program_during_the_write_is_detected(replace, place, opens):
    """A conflict, or the other program's row is overwritten and journaled; never a second memory with this key."""
    place.make_table("key")
    memory, journal = await opens(), JournalRecorder()
    theirs = "INSERT INTO memories VALUES ('theirs', 'k', 'theirs', 'core', now(), now())"
    mine = create(memory, Draft("k", "mine"), journal, replace=replace)
    result = await while_another_writes(place, theirs, mine)
    assert (await memory.get("k")).id == "theirs"
    assert (await memory.count(), result.written, len(journal.changes)) == (1, int(replace), int(replace))
    if replace:
        assert journal.changes[0].before.values["content"] == "theirs"
    else:
        assert result.conflicts[0].reason == "key exists"


async def test_a_table_migrated_by_zeroclaw_is_read_again(place, opens):
    """After new columns and agents, the next write fits the new table, and older changes can be undone."""
    place.make_table("key")
    memory, journal = await opens(), JournalRecorder()
    await create(memory, Draft("k", "c", session_id="slack C1"), journal)
    row = row_of(await create(memory, Draft("absent", "c"), journal))
    await delete(memory, [row], journal)
    place.run(
        "CREATE TABLE agents (id TEXT PRIMARY KEY, alias TEXT UNIQUE NOT NULL, created_at TIMESTAMPTZ NOT NULL);"
        "INSERT INTO agents VALUES ('a', 'default', now());"
        "ALTER TABLE memories ADD agent_id TEXT REFERENCES agents, DROP CONSTRAINT memories_key_key;"
        "UPDATE memories SET agent_id = 'a', session_id = 'slack_C1' WHERE session_id IS NOT NULL;"
        "ALTER TABLE memories ALTER agent_id SET NOT NULL, ADD UNIQUE (agent_id, key)"
    )
    assert row_of(await create(memory, Draft("l", "c"))).agent == "default"
    assert "agents" not in memory.why_not
    await undo(memory, journal.changes[-1:])
    assert {entry.key: entry.agent for entry in await memory.list()} == dict.fromkeys(["k", "l", "absent"], "default")
    await undo(memory, journal.changes[:1])
    assert await memory.get("k") is None


def test_a_refused_write_says_why_and_is_allowed_when_the_url_is_given(place, tmp_path):
    """A database named only by DATABASE_URL is read-only until the user confirms that it is ZeroClaw's."""
    place.make_table("key")
    (tmp_path / "config.toml").write_text('[memory]\nbackend = "postgres"\nauto_save = true\n')

    def store(*more):
        environment = {**os.environ, "PATH": "/usr/bin:/bin", "DATABASE_URL": place.url}
        return run_memory("--config-dir", str(tmp_path), "store", "pet", "Cat", *more, environment=environment)

    refused = store()
    assert (refused.returncode, refused.stdout) == (1, "")
    assert "Nothing is written to the database of DATABASE_URL before it is confirmed" in refused.stderr
    assert "as asked" not in refused.stderr
    assert PASSWORD not in refused.stderr
    assert place.run("SELECT count(*) FROM memories") == "0"
    assert store("--location", place.url).returncode == 0
    assert place.run("SELECT count(*) FROM memories") == "1"
    assert store().returncode == 1
