"""What lies in Redis is the JSON that the tutorial's own store writes; whatever else is in it stays as it is."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.redis_server import RedisServer

from zeroclaw_tui.backends.redis.documents import held, name_of
from zeroclaw_tui.backends.redis.store import RedisMemory
from zeroclaw_tui.memory.change import Draft, DuplicateKey, Edit
from zeroclaw_tui.memory.errors import Refused
from zeroclaw_tui.memory.query import MemoryFilter, Sort
from zeroclaw_tui.memory.recall import RecallRequest
from zeroclaw_tui.scoring.profiles import ScoringSettings, profile_for
from zeroclaw_tui.testing.tools import Kept

EXTRA = (
    '{"tags": ["a",  "é"], "id":"id-1","key":"lang","content":"Prefers Rust","category":{"Custom":"work"},'
    '"timestamp":"2026-03-01T10:00:00.123456789+01:00","score":0.5,"big":12345678901234567890}'
)


async def put(memory: RedisMemory, key: str, value: str | bytes) -> None:
    with memory.connection.asking() as client:
        await client.set(f"memory:{key}", value)


async def raw(memory: RedisMemory, key: str) -> str | None:
    with memory.connection.asking() as client:
        value = await client.get(f"memory:{key}")
    return None if value is None else value.decode()


def plain(key: str, content: str = "text", day: int = 1, id: str | None = None) -> str:
    return json.dumps(
        {"id": id or f"id-{key}", "key": key, "content": content, "category": "Core",
         "timestamp": f"2026-03-{day:02d}T10:00:00+00:00"}
    )  # fmt: skip


async def test_a_new_memory_is_written_as_serde_writes_it(memory: RedisMemory) -> None:
    await memory.store("lang", 'Ünï "quoted"', "core")
    text = await raw(memory, "lang")
    assert text is not None
    assert re.fullmatch(
        r'\{"id":"[0-9a-f-]{36}","key":"lang","content":"Ünï \\"quoted\\"","category":"Core",'
        r'"timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}[+-]\d\d:\d\d","score":null\}',
        text,
    )
    await memory.store("menu", "soup", "recipes and menus")
    assert json.loads(await raw(memory, "menu") or "")["category"] == {"Custom": "recipes and menus"}


async def test_fields_nobody_here_knows_stay_through_an_edit_and_come_back_to_the_letter(memory: RedisMemory) -> None:
    await put(memory, "lang", EXTRA)
    row = await memory.stored("id-1")
    assert row is not None
    assert (row.entry().category, row.entry().timestamp) == ("work", "2026-03-01T10:00:00.123456789+01:00")
    kept = Kept()
    edit = Edit({"content": "Prefers Zig", "key": "tool", "category": "daily"})
    await memory.update("id-1", edit, row.fingerprint, kept)
    assert await raw(memory, "lang") is None
    now = json.loads(await raw(memory, "tool") or "")
    assert now == {**json.loads(EXTRA), "content": "Prefers Zig", "key": "tool", "category": "Daily"}
    assert list(now) == list(json.loads(EXTRA))
    await memory.revert(kept.last_first, Kept())
    assert await raw(memory, "lang") == EXTRA
    assert await raw(memory, "tool") is None
    await memory.remove(await memory.stamps_of(["lang"]), kept)
    await memory.revert(lambda: iter([kept.changes[-1:]]), Kept())
    assert await raw(memory, "lang") == EXTRA


async def test_a_second_store_keeps_what_the_document_has_besides(memory: RedisMemory) -> None:
    await put(memory, "lang", EXTRA)
    await memory.store("lang", "new", "core")
    assert json.loads(await raw(memory, "lang") or "") == {**json.loads(EXTRA), "content": "new", "category": "Core"}


async def test_when_a_memory_expires_is_kept_by_edits_and_undo(memory: RedisMemory) -> None:
    await put(memory, "a", plain("a"))
    with memory.connection.asking() as client:
        await client.expire("memory:a", 5000)
    row = await memory.stored("id-a")
    assert row is not None
    kept = Kept()
    await memory.update("id-a", Edit({"key": "b"}), row.fingerprint, kept)
    await memory.store("b", "again", "core")
    await memory.remove(await memory.stamps_of(["b"]), kept)
    with memory.connection.asking() as client:
        assert await client.exists("memory:a", "memory:b") == 0
        await memory.revert(lambda: iter([kept.changes[-1:]]), Kept())
        assert 4900 < await client.ttl("memory:b") <= 5000
        assert kept.changes[-1].before is not None
        assert (await memory.get("b")) is not None


async def test_values_that_are_no_memory_are_told_and_never_touched(memory: RedisMemory) -> None:
    strange = {
        "number": "7", "list": "[1]", "half": '{"id":"x"}',
        "bytes": b"\xff",
        "category": plain("category").replace("Core", "core"), "nan": plain("nan")[:-1] + ',"x":NaN}',
        "surrogate": plain("surrogate", "\ud800"),
    }  # fmt: skip
    for key, value in strange.items():
        await put(memory, key, value)
    await put(memory, "good", plain("good"))
    with memory.connection.asking() as client:
        await client.hset("memory:hash", mapping={"a": "b"})
        await client.set("other:key", "not ours")
        before = {key: await client.dump(f"memory:{key}") for key in (*strange, "hash")}
    health = await memory.health()
    assert "8 values are no memory, so left alone" in memory.notices[0]
    assert not health.ok
    assert health.facts["values that are no memory"] == 8
    assert [entry.key for entry in await memory.list()] == ["good"]
    for key in ("number", "hash"):
        with pytest.raises(Refused, match="no memory"):
            await memory.create(Draft(key, "text"), Kept())
        with pytest.raises(Refused, match="no memory"):
            await memory.store(key, "text", "core")
        with pytest.raises(Refused, match="no memory"):
            await memory.forget(key)
        assert await memory.get(key) is None
    row = await memory.stored("id-good")
    assert row is not None
    with pytest.raises(Refused, match="no memory"):
        await memory.update("id-good", Edit({"key": "hash"}), row.fingerprint, Kept())
    with memory.connection.asking() as client:
        assert {key: await client.dump(f"memory:{key}") for key in (*strange, "hash")} == before


async def test_a_document_that_has_a_name_twice_can_be_read_and_removed_but_not_edited(memory: RedisMemory) -> None:
    twice = plain("twice")[:-1] + ',"id":"y"}'
    await put(memory, "twice", twice)
    row = await memory.stored("y")
    assert row is not None
    with pytest.raises(Refused, match="has a name twice"):
        await memory.update("y", Edit({"content": "new"}), row.fingerprint, Kept())
    kept = Kept()
    await memory.remove(await memory.stamps_of(["twice"]), kept)
    await memory.revert(kept.last_first, Kept())
    assert await raw(memory, "twice") == twice


async def test_a_handle_names_a_memory_as_its_id_does(memory: RedisMemory) -> None:
    await put(memory, "a", plain("a"))
    row = await memory.stored("a")
    assert row is not None
    assert (row.id, row == await memory.stored("id-a")) == ("id-a", True)
    await memory.update("a", Edit({"content": "new"}), row.fingerprint, Kept())
    entry = await memory.with_id("a")
    assert entry is not None
    assert entry.content == "new"


async def test_a_copied_value_is_told_and_its_id_names_nothing(memory: RedisMemory) -> None:
    await put(memory, "one", plain("one", id="same"))
    await put(memory, "two", plain("one", id="same"))
    await memory.list()
    assert "with the id of another one: 1." in memory.notices[0]
    assert "under another key than the one their document names: 1." in memory.notices[1]
    with pytest.raises(Refused, match="2 memories have the id same"):
        await memory.remove(await memory.stamps_of(["one", "two"]), Kept())
    assert (await memory.remove(await memory.stamps_of(["two"]), Kept())).removed == 1
    assert [entry.key for entry in await memory.list()] == ["one"]


async def test_recall_is_the_newest_that_contain_the_query_whatever_the_case(memory: RedisMemory) -> None:
    for day, key in ((3, "c"), (1, "a"), (3, "b"), (2, "d")):
        await put(memory, key, plain(key, f"Grüner TEE {key}", day))
    await put(memory, "z", plain("z", "coffee", 9))
    assert [found.entry.key for found in await memory.recall("grüner tee", 3)] == ["c", "b", "d"]
    assert [found.score for found in await memory.recall("tee", 9)] == [None] * 4
    assert [found.entry.key for found in await memory.recall("", 2)] == ["z", "c"]
    window = ("2026-03-01T12:00:00Z", "2026-03-03T00:00:00Z")
    assert [found.entry.key for found in await memory.recall("tee", 9, None, *window)] == ["d"]
    answer = await memory.search(RecallRequest("tee", session_id="s"), profile_for("0.8.4"), ScoringSettings())
    assert {found.stage for found in answer.entries} == {"redis"}
    assert "keep no session" in answer.notes[1]


async def test_a_key_that_was_taken_meanwhile_is_not_overwritten(memory: RedisMemory) -> None:
    await put(memory, "a", plain("a"))
    kept = Kept()
    row = await memory.stored("id-a")
    assert row is not None
    with memory.connection.asking() as client:
        await client.set("memory:b", plain("b"))
    with pytest.raises(DuplicateKey):
        await memory.update("id-a", Edit({"key": "b"}), row.fingerprint, kept)
    assert kept.changes == []


async def test_what_another_program_writes_is_seen(memory: RedisMemory, server: RedisServer) -> None:
    version = await memory.version()
    assert await memory.order(MemoryFilter(), Sort()) == []
    assert await memory.version() == version
    server.say("SET memory:x 7")
    assert await memory.version() != version
    await put(memory, "y", plain("y"))
    assert list(await memory.order(MemoryFilter(), Sort())) == ["y"]


@given(st.binary(max_size=60) | st.sampled_from([EXTRA.encode(), b"[" * 100_000, b'{"a":' * 50_000]))
def test_no_value_breaks_the_reader(data: bytes) -> None:
    found = held(name_of("key"), data)
    assert found is None or found.entry.key == "key"
