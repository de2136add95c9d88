"""Storing and editing follow ZeroClaw's rules for each generation; invalid changes are refused before any write."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime

import pytest
from changed_stores import opened, select
from support import small_store
from support.edits import edited
from support.memories import Draft, Refused, Vector
from support.stores import entries_with_key, row_with_id
from support.whole_store import hits

from zeroclaw_tui.backends import tables
from zeroclaw_tui.memory.days import moment
from zeroclaw_tui.testing.tools import JournalRecorder, create, undo

MOMENT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}[+-]\d\d:\d\d")
MARCH = datetime(2026, 3, 1, 10, 0, 0, 42, UTC)
ONE = Vector(small_store.blob(1.0, 0.0), "openai", "small")
TWO = Vector(small_store.blob(0.0, 1.0), "openai", "small")


@pytest.mark.parametrize(
    ("generation", "reset"),
    [
        ("G1", {}),
        ("G2", {"namespace": "work", "importance": 0.9}),
        ("G3", {"namespace": "default", "importance": 0.5}),
        ("G4", {"namespace": "default", "importance": 0.5, "pinned": 0, "kind": None, "tenant_id": None}),
    ],
)
async def test_storing_a_key_again_overwrites_as_in_zeroclaw(generation, reset, make_store):
    said = {"namespace": "work", "importance": 0.9, "pinned": 1, "kind": '"episodic"', "tenant_id": "t"}
    row = {"key": "k", "content": "old words", "session_id": "s", "embedding": ONE.data}
    row |= {name: said[name] for name in reset}
    if generation != "G1":
        row["superseded_by"] = "core_1"
    async with opened(make_store([{"key": "other"}, row], generation)) as memory:
        before = await row_with_id(memory, "id-001")
        written = await create(memory, Draft("k", "new words", "daily"), JournalRecorder(), replace=True)
        after = await row_with_id(memory, "id-001")
        assert written.rows == [after]
        changed = {name: after.values[name] for name in after.values if after.values[name] != before.values[name]}
        assert changed.pop("updated_at") > before.values["updated_at"]
        expected = {"content": "new words", "category": "daily", "session_id": None, "embedding": None, **reset}
        assert changed == {name: value for name, value in expected.items() if value != before.values[name]}
        assert after.handle == before.handle
        assert hits(memory.path, ["old"]) == {"old": []}


async def test_each_agent_has_its_own_keys(make_store):
    path = make_store([{"key": "k"}])
    journal = JournalRecorder()
    async with opened(path) as memory:
        written = await create(memory, Draft("k", "hers", agent="Ada"), journal)
        assert written.rows[0].agent == "Ada"
        assert [change.after.table for change in journal.changes] == ["agents", "memories"]
        ((agent, created),) = select(path, "SELECT id, created_at FROM agents WHERE alias = 'Ada'")
        assert written.rows[0].values["agent_id"] == agent == journal.changes[0].after.id
        assert MOMENT.fullmatch(created)
        assert created.endswith("+00:00")
        again = JournalRecorder()
        await create(memory, Draft("other", "hers too", agent="Ada"), again)
        assert len(again.changes) == 1
        assert sorted(entry.agent for entry in await entries_with_key(memory, "k")) == ["Ada", "default"]
        (conflict,) = (await edited(memory, written.rows[0].id, key="other")).conflicts
        assert (conflict.reason, conflict.existing.agent) == ("key exists", "Ada")
        with pytest.raises(Refused, match="Several agents have the key 'k': Ada, default"):
            await memory.forget("k")
        await undo(memory, journal.changes[::-1])
        assert len(select(path, "SELECT id FROM agents")) == 2
        await undo(memory, again.changes[::-1])
        assert len(select(path, "SELECT id FROM agents")) == 2


async def test_without_a_default_agent_one_must_be_given(make_store):
    path = make_store()
    small_store.change(path, "UPDATE agents SET alias = 'Ada'")
    async with opened(path) as memory:
        assert (await create(memory, Draft("k", "c"))).rows[0].agent == "Ada"
        small_store.change(path, "INSERT INTO agents VALUES ('b', 'Bob', '')")
        with pytest.raises(Refused, match="belongs to the agents Ada, Bob"):
            await create(memory, Draft("l", "c"))


@pytest.mark.parametrize(
    ("name", "value"),
    [("embedding_model", "large"), ("embedding_provider", "custom:x"), ("embedding_dimensions", "1536")],
)
async def test_a_vector_of_a_model_other_than_the_stores_is_dropped_with_a_note(name, value, make_store):
    path = make_store([{"content": "old", "embedding": ONE.data}])
    identity = {"embedding_model": "small", "embedding_provider": "openai", "embedding_dimensions": "2"}
    for each in identity.items():
        small_store.change(path, "INSERT INTO memory_meta VALUES (?, ?)", each)
    async with opened(path) as memory:
        assert (await edited(memory, "id-000", vector=TWO, content="new")).notes == []
        small_store.change(path, "UPDATE memory_meta SET value = ? WHERE key = ?", (value, name))
        written = await edited(memory, "id-000", vector=ONE, content="newer")
        assert written.rows[0].values["embedding"] is None
        assert value in written.notes[0]
        created = await create(memory, Draft("k", "c", vector=ONE))
        assert (created.rows[0].values["embedding"], len(created.notes)) == (None, 1)


@pytest.mark.parametrize(("generation", "stored"), [("G2", "tg_é: 1.2"), ("G3", "tg_é__1_2"), ("G4", "tg_é__1_2")])
async def test_session_ids_are_stored_in_the_format_of_the_version(generation, stored, make_store):
    async with opened(make_store([{}], generation)) as memory:
        written = await create(memory, Draft("k", "c", session_id="tg_é: 1.2"))
        assert written.rows[0].values["session_id"] == stored
        assert [stored in note for note in written.notes] == ([] if generation == "G2" else [True])
        changed = await edited(memory, "id-000", session_id="tg_é: 1.2")
        assert (changed.rows[0].values["session_id"], changed.notes) == (stored, written.notes)
        assert (await edited(memory, "id-000", session_id=None)).rows[0].values["session_id"] is None


@pytest.mark.parametrize(
    ("session_id", "stored"),
    [
        ("telegram_12-3", "telegram_12-3"), ("discord:guild/chan#9", "discord_guild_chan_9"),
        # Vowel signs and circled letters are alphanumeric in Rust, but not in Python.
        ("नमस्ते ⓐ", "नमस\u094dते_ⓐ".replace("\u094d", "_")),
    ],
)  # fmt: skip
def test_characters_that_are_not_alphanumeric_become_underscores(session_id, stored):
    assert tables.sanitised(session_id) == stored


def test_times_are_written_in_zeroclaws_format(monkeypatch):
    for zone, written in (
        ("UTC", "2026-03-01T10:00:00.000042000+00:00"),
        ("Asia/Kolkata", "2026-03-01T15:30:00.000042000+05:30"),
        ("America/St_Johns", "2026-03-01T06:30:00.000042000-03:30"),
    ):
        monkeypatch.setenv("TZ", zone)
        time.tzset()
        assert tables.nine_digits(MARCH.astimezone()) == written
        assert tables.local_now()[-6:] == written[-6:]
        assert MOMENT.fullmatch(tables.utc_now())
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("2026-03-01T10:00:00.000042042+00:00", "2026-03-01T10:00:00.000043000+00:00"),
        ("2026-03-01T12:00:00.5+02:00", "2026-03-01T10:00:00.500001000+00:00"),
        ("2031-01-01T00:00:00.999999999Z", "2031-01-01T00:00:01.000000000+00:00"),
        ("2025-03-01T10:00:00.5+00:00", "2026-03-01T10:00:00.000042000+00:00"),
        ("no moment", "2026-03-01T10:00:00.000042000+00:00"),
    ],
)
def test_an_update_time_is_always_later_than_the_last_one(old, new):
    assert tables.nine_digits(tables.moment_after(old, MARCH)) == new


def test_an_update_after_a_future_time_is_later_still():
    assert moment(tables.local_now(after="2099-01-01T00:00:00Z")) == datetime(2099, 1, 1, 0, 0, 0, 1, UTC)
