"""What goes wrong while something is written: one sentence, and the table is as it was."""

from __future__ import annotations

import asyncio
import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import asyncpg
import pytest
from support.postgres_place import PASSWORD, PostgresPlace
from support.warm_start import run_memory

from zeroclaw_tui.backends.lookup import row_with_id, versions
from zeroclaw_tui.backends.postgres import connect
from zeroclaw_tui.memory.change import Conflict, Draft, Edit, RowChange
from zeroclaw_tui.memory.errors import Locked, Refused
from zeroclaw_tui.testing.tools import EVERY, Kept, written_row


def dump(place) -> str:
    return place.run("SELECT m::text FROM memories AS m ORDER BY id")


class NoRoom(Exception):
    pass


def no_room(changes: Sequence[RowChange]) -> None:
    raise NoRoom


async def test_whatever_keeping_raises_comes_out_and_nothing_has_changed(place, opens):
    """Also what is no error of the server's or of this program's; a new agent is not left behind."""
    place.make_table("agents")
    place.fill("agents")
    memory, kept = await opens(), Kept()
    row = written_row(await memory.create(Draft("k", "c"), kept))
    before = dump(place)
    deeds = (
        lambda keep: memory.create(Draft("new", "c"), keep),
        lambda keep: memory.update(row.id, Edit({"content": "x"}), row.fingerprint, keep),
        lambda keep: memory.remove([memory.stamp_of(row)], keep),
        lambda keep: memory.revert(kept.last_first, keep),
    )
    for deed in deeds:
        with pytest.raises(NoRoom):
            await deed(no_room)
        assert dump(place) == before
    with pytest.raises(NoRoom):
        await memory.create(Draft("new", "c", agent="Ada"), no_room)
    assert place.run("SELECT count(*) FROM agents") == "2"


@pytest.mark.parametrize(
    "draft", [Draft("k", "a\x00b"), Draft("a\x00b", "c"), Draft("k", "\ud800"), Draft("k", "c", "x\x00")]
)
async def test_a_text_that_postgresql_cannot_store_is_refused_in_a_sentence(draft, place, opens):
    place.make_table("key")
    memory, kept = await opens(), Kept()
    with pytest.raises(Refused, match="PostgreSQL stores"):
        await memory.create(draft, kept)
    with pytest.raises(Refused, match="PostgreSQL stores"):
        await memory.store_batch([Draft("other", "c"), draft])
    row = written_row(await memory.create(Draft("other", "c"), Kept()))
    with pytest.raises(Refused, match="PostgreSQL stores"):
        await memory.update(row.id, Edit({"content": "a\x00b"}), row.fingerprint, kept)
    assert (await memory.count(), kept.changes) == (1, [])


async def test_a_row_that_another_program_holds_is_locked_in_a_sentence(place, opens, monkeypatch):
    monkeypatch.setattr(connect, "_LOCK_SECONDS", 0.1)
    place.make_table("key")
    memory, kept = await opens(), Kept()
    row = written_row(await memory.create(Draft("k", "c"), Kept()))
    other = await asyncpg.connect(place.url)
    try:
        async with other.transaction():
            await other.execute("UPDATE memories SET content = 'theirs'")
            for deed in (
                memory.update(row.id, Edit({"content": "mine"}), row.fingerprint, kept),
                memory.remove([memory.stamp_of(row)], kept),
                memory.create(Draft("k", "mine"), kept, replace=True),
            ):
                with pytest.raises(Locked, match="Another program holds"):
                    await deed
    finally:
        await other.close()
    assert kept.changes == []
    assert (await row_with_id(memory, row.id)).values["content"] == "theirs"


async def test_an_edit_waits_for_another_program_and_then_sees_what_it_wrote(place, opens):
    """No update is lost: the one that comes second is a conflict."""
    place.make_table("key")
    memory = await opens()
    row = written_row(await memory.create(Draft("k", "c"), Kept()))
    other = await asyncpg.connect(place.url)
    try:
        held = other.transaction()
        await held.start()
        await other.execute("UPDATE memories SET content = 'theirs', updated_at = now()")
        edit = asyncio.ensure_future(memory.update(row.id, Edit({"content": "mine"}), row.fingerprint, Kept()))
        while await asyncio.to_thread(place.run, "SELECT count(*) FROM pg_locks WHERE NOT granted") == "0":
            assert not edit.done()
        await held.commit()
        with pytest.raises(Conflict) as conflict:
            await edit
    finally:
        await other.close()
    assert conflict.value.theirs.values["content"] == "theirs"


async def test_a_table_that_zeroclaw_migrates_meanwhile_is_read_anew(place, opens):
    """Columns come, agents come: what is written next fits the new table, and older changes can be taken back."""
    place.make_table("key")
    memory, kept = await opens(), Kept()
    await memory.create(Draft("k", "c", session_id="slack C1"), kept)
    row = written_row(await memory.create(Draft("gone", "c"), kept))
    await memory.remove([memory.stamp_of(row)], kept)
    place.run(
        "CREATE TABLE agents (id TEXT PRIMARY KEY, alias TEXT UNIQUE NOT NULL, created_at TIMESTAMPTZ NOT NULL);"
        "INSERT INTO agents VALUES ('a', 'default', now());"
        "ALTER TABLE memories ADD agent_id TEXT REFERENCES agents, DROP CONSTRAINT memories_key_key;"
        "UPDATE memories SET agent_id = 'a', session_id = 'slack_C1' WHERE session_id IS NOT NULL;"
        "ALTER TABLE memories ALTER agent_id SET NOT NULL, ADD UNIQUE (agent_id, key)"
    )
    assert written_row(await memory.create(Draft("l", "c"), Kept())).agent == "default"
    assert "agents" not in memory.why_not
    removal = kept.changes[-1:]
    await memory.revert(lambda: iter([removal]), Kept())
    assert {entry.key: entry.agent for entry in await memory.list()} == dict.fromkeys(["k", "l", "gone"], "default")
    await memory.revert(lambda: iter([kept.changes[:1]]), Kept())
    assert await memory.get("k") is None


async def test_who_may_only_read_gets_the_reason(place, opens):
    place.make_table("key")
    url = place.another_user("GRANT USAGE ON SCHEMA public TO {0}", "GRANT SELECT ON memories TO {0}")
    memory = await opens(url)
    for deed in (
        memory.create(Draft("k", "c"), Kept()),
        memory.store_batch([Draft("k", "c")]),
        memory.remove([], Kept()),
    ):
        with pytest.raises(Refused) as refused:
            await deed
        assert refused.value.message == memory.why_not["write"]


async def test_rows_changed_by_plain_statements_are_not_removed(place, opens):
    """Another program may change a memory and leave its time as it is."""
    place.make_table("key")
    memory = await opens()
    for key in ("a", "b", "c"):
        await memory.store(key, f"content {key}", "core")
    stamps = await versions(memory, EVERY)
    place.run(
        "UPDATE memories SET content = 'CONTENT a' WHERE key = 'a'; UPDATE memories SET category = 'x' WHERE key = 'b'"
    )
    removal = await memory.remove(stamps, Kept())
    assert (removal.removed, len(removal.changed)) == (1, 2)


async def test_that_removed_rows_are_not_overwritten_at_once_is_told(place, opens):
    place.make_table("key")
    memory = await opens()
    await memory.store("k", "c", "core")
    removal = await memory.remove(await versions(memory, EVERY), Kept(), zero=True)
    assert "in its own time" in removal.notes[0]


def test_a_refused_write_says_why_and_naming_the_url_lets_it_through(place: PostgresPlace, tmp_path: Path) -> None:
    """A database that DATABASE_URL alone names waits until a person has said that it is ZeroClaw's."""
    place.make_table("key")
    (tmp_path / "config.toml").write_text('[memory]\nbackend = "postgres"\nauto_save = true\n')

    def store(*more: str) -> subprocess.CompletedProcess[str]:
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
