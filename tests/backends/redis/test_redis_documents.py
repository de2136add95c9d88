"""Memories in Redis are the JSON that the tutorial's store writes; all other values stay unchanged."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.edits import edited
from support.memories import Draft, Refused, RowChange
from support.recalls import recalled
from support.stores import row_with_id, sentences, versions_at

from zeroclaw_tui.backends.redis import RedisMemory, parse_document
from zeroclaw_tui.testing.tools import JournalRecorder, create, delete, undo

EXTRA = (
    '{"tags": ["a",  "é"], "id":"id-1","key":"lang","content":"Prefers Rust","category":{"Custom":"work"},'
    '"timestamp":"2026-03-01T10:00:00.123456789+01:00","score":0.5,"big":12345678901234567890}'
)


def plain(key: str, content: str = "text", day: int = 1, id: str | None = None) -> str:
    return json.dumps(
        {"id": id or f"id-{key}", "key": key, "content": content, "category": "Core",
         "timestamp": f"2026-03-{day:02d}T10:00:00+00:00"}
    )  # fmt: skip


async def removed(memory: RedisMemory, kept: JournalRecorder, *keys: str) -> int:
    return (await delete(memory, await versions_at(memory, keys), kept)).written


async def test_a_new_memory_is_written_as_serde_writes_it(memory, server):
    await memory.store("lang", 'Ünï "quoted"', "core")
    text = server.value("memory:lang")
    assert text is not None
    assert re.fullmatch(
        r'\{"id":"[0-9a-f-]{36}","key":"lang","content":"Ünï \\"quoted\\"","category":"Core",'
        r'"timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}[+-]\d\d:\d\d","score":null\}',
        text,
    )
    await memory.store("menu", "soup", "recipes and menus")
    assert json.loads(server.value("memory:menu") or "")["category"] == {"Custom": "recipes and menus"}


async def test_an_edit_keeps_unknown_fields_and_undo_restores_every_character(memory, server):
    server.put("memory:lang", EXTRA)
    entry = (await row_with_id(memory, "id-1")).entry()
    assert (entry.category, entry.timestamp) == ("work", "2026-03-01T10:00:00.123456789+01:00")
    kept = JournalRecorder()
    await edited(memory, "id-1", kept, content="Prefers Zig", key="tool", category="daily")
    assert server.value("memory:lang") is None
    now = json.loads(server.value("memory:tool") or "")
    assert now == {**json.loads(EXTRA), "content": "Prefers Zig", "key": "tool", "category": "Daily"}
    assert list(now) == list(json.loads(EXTRA))
    await undo(memory, kept.changes[::-1])
    assert (server.value("memory:lang"), server.value("memory:tool")) == (EXTRA, None)
    await removed(memory, kept, "lang")
    await undo(memory, kept.changes[-1:])
    assert server.value("memory:lang") == EXTRA


async def test_an_edited_memory_keeps_its_expiry(memory, server):
    server.put("memory:a", plain("a"), "EX", "5000")
    await edited(memory, "id-a", JournalRecorder(), content="again")
    lifetime = re.search(rb":(\d+)\r\n", server.say("TTL memory:a"))
    assert 4900 < int(lifetime[1]) <= 5000


async def test_values_that_are_not_memories_are_reported_and_never_touched(memory, server):
    strange = {
        "number": "7", "list": "[1]", "half": '{"id":"x"}', "bytes": b"\xff",
        "category": plain("category").replace("Core", "core"), "nan": plain("nan")[:-1] + ',"x":NaN}',
        "surrogate": plain("surrogate", "\ud800"),
    }  # fmt: skip
    for key, value in strange.items():
        server.put(f"memory:{key}", value)
    server.put(b"memory:\xff", plain("name"))
    server.put("memory:good", plain("good"))
    server.put("other:key", "of another program")
    server.say("HSET memory:hash a b")
    before = [server.say(f"DUMP memory:{key}") for key in (*strange, "hash")]
    assert await memory.count() == 1
    assert (await memory.health()).findings == sentences(memory.about.notices)
    (sentence,) = sentences(memory.about.notices)
    assert sentence.startswith(
        "Values under memory:* that are not memories, or have the id of another one: 8 ('bytes', 'category', "
    )
    assert [entry.key for entry in await memory.list()] == ["good"]
    for key in ("number", "hash"):
        for action in (
            create(memory, Draft(key, "text")),
            memory.store(key, "text", "core"),
            edited(memory, "id-good", JournalRecorder(), key=key),
        ):
            with pytest.raises(Refused, match="is not a memory"):
                await action
        assert await memory.get(key) is None
        assert not await memory.forget(key)
    assert [server.say(f"DUMP memory:{key}") for key in (*strange, "hash")] == before


async def test_a_document_that_cannot_be_written_back_is_not_edited(memory, server):
    text = plain("huge")[:-1] + ',"x":1e999}'
    server.put("memory:huge", text)
    with pytest.raises(Refused, match="cannot be written like that"):
        await edited(memory, "id-huge", JournalRecorder(), content="new")
    kept = JournalRecorder()
    assert await removed(memory, kept, "huge") == 1
    await undo(memory, kept.changes[::-1])
    assert server.value("memory:huge") == text


async def test_a_second_memory_with_the_same_id_is_reported_and_stays(memory, server):
    server.put("memory:one", plain("one", id="same"))
    server.put("memory:two", plain("two", id="same"))
    assert [entry.key for entry in await memory.list()] == ["one"]
    (sentence,) = sentences(memory.about.notices)
    assert "1 ('two'). They are not shown and stay as they are." in sentence
    assert await removed(memory, JournalRecorder(), "one", "two") == 1
    assert [entry.key for entry in await memory.list()] == ["two"]
    assert memory.about.notices == ()


async def test_recall_finds_the_newest_memories_that_contain_the_query(memory, server):
    for day, key in ((3, "c"), (1, "a"), (3, "b"), (2, "d")):
        server.put(f"memory:{key}", plain(key, f"Grüner TEE {key}", day))
    server.put("memory:z", plain("z", "coffee", 9))
    assert [found.entry.key for found in await memory.recall("grüner tee", 3)] == ["c", "b", "d"]
    assert [found.score for found in await memory.recall("tee", 9)] == [None] * 4
    assert [found.entry.key for found in await memory.recall("", 2)] == ["z", "c"]
    window = ("2026-03-01T12:00:00Z", "2026-03-03T00:00:00Z")
    assert [found.entry.key for found in await memory.recall("tee", 9, None, *window)] == ["d"]
    answer = await recalled(memory, "tee", session_id="s")
    assert {found.stage for found in answer.entries} == {"redis"}
    assert "have no session" in answer.notes[0]
    assert (await recalled(memory, "tee", namespace="work")).entries == ()


@given(st.binary(max_size=60) | st.sampled_from([EXTRA.encode(), b"[" * 100_000, b'{"a":' * 50_000]))
def test_any_value_is_parsed_or_reported_as_no_memory(data):
    found = parse_document("key", data)
    assert found is None or found.key == "key"


class OtherProgram(JournalRecorder):
    """Simulates another program that writes at each journal entry, between the comparison and the write."""

    def __init__(self, *writes: Callable[[], None]) -> None:
        super().__init__()
        self._writes = list(writes)

    def record(self, changes: Sequence[RowChange]) -> None:
        super().record(changes)
        if self._writes:
            self._writes.pop(0)()


async def test_a_write_between_comparison_and_write_is_not_overwritten(memory, server):
    for key in "abc":
        server.put(f"memory:{key}", plain(key))
    rows = [await row_with_id(memory, f"id-{key}") for key in "abc"]
    journal = OtherProgram(lambda: server.put("memory:b", plain("b", "theirs")))
    result = await delete(memory, rows, journal)
    assert (result.written, result.skipped) == (2, ["id-b"])
    assert {change.row.key for change in journal.changes} == {"a", "c"}
    assert [(entry.key, entry.content) for entry in await memory.list()] == [("b", "theirs")]


async def test_a_write_gives_up_when_another_program_keeps_writing(memory, server):
    journal = OtherProgram(
        *(lambda content=content: server.put("memory:a", plain("a", content)) for content in ("one", "two", "three"))
    )
    with pytest.raises(Refused, match="keeps writing these memories"):
        await create(memory, Draft("a", "mine"), journal, replace=True)
    assert journal.changes == []
    assert [entry.content for entry in await memory.list()] == ["three"]
