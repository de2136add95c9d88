"""What goes wrong while something is written: one sentence, and the table is as it was."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import asyncpg
import pytest
from support.postgres_place import FORMS

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


@pytest.mark.parametrize("form", FORMS)
async def test_whatever_keeping_raises_comes_out_and_nothing_has_changed(form, place, opens):
    """Also an error of the system, and a time-out, which are not the server's."""
    place.make_table(form)
    place.fill(form)
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
    if form == "agents":
        with pytest.raises(NoRoom):
            await memory.create(Draft("new", "c", agent="Ada"), no_room)
        assert place.run("SELECT count(*) FROM agents") == "2"


@pytest.mark.parametrize(
    "draft", [Draft("k", "a\x00b"), Draft("a\x00b", "c"), Draft("k", "\ud800"), Draft("k", "c", "x\x00")]
)
async def test_a_text_that_postgresql_cannot_store_is_refused_in_a_sentence(draft, place, opens):
    place.make_table("key")
    memory, kept = await opens(), Kept()
    with pytest.raises(Refused, match="PostgreSQL stores no text"):
        await memory.create(draft, kept)
    with pytest.raises(Refused, match="PostgreSQL stores no text"):
        await memory.store_batch([Draft("other", "c"), draft])
    row = written_row(await memory.create(Draft("other", "c"), Kept()))
    with pytest.raises(Refused, match="PostgreSQL stores no text"):
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
    assert (await memory.stored(row.id)).values["content"] == "theirs"


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
    assert memory.capabilities.agents
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
        assert refused.value.message == memory.read_only_because


async def test_rows_changed_by_plain_statements_are_not_removed(place, opens):
    """Another program may change a memory and leave its time as it is."""
    place.make_table("key")
    memory = await opens()
    for key in ("a", "b", "c"):
        await memory.store(key, f"content {key}", "core")
    stamps = await memory.stamps(EVERY)
    place.run(
        "UPDATE memories SET content = 'CONTENT a' WHERE key = 'a'; UPDATE memories SET category = 'x' WHERE key = 'b'"
    )
    removal = await memory.remove(stamps, Kept())
    assert (removal.removed, len(removal.changed)) == (1, 2)


async def test_that_removed_rows_are_not_overwritten_at_once_is_told(place, opens):
    place.make_table("key")
    memory = await opens()
    await memory.store("k", "c", "core")
    removal = await memory.remove(await memory.stamps(EVERY), Kept(), zero=True)
    assert "in its own time" in removal.notes[0]
