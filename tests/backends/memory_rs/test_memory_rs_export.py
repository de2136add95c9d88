"""JSON of memory-rs: how its files are recognised and read, and what a recall by hashes returns."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from support.memories import Unreadable, sample_entries
from support.questions import MemoryFilter
from support.recalls import contents, recalled
from support.stores import count_facets, entry_with_id, sentences
from support.warm_start import run_memory

from zeroclaw_tui.backends.memory_rs import MemoryRsExport, is_export
from zeroclaw_tui.testing.contract import MemoryContract, ReadOnlyContract
from zeroclaw_tui.testing.tools import raises

TEA = {
    "id": "5f3c2d10-0000-4000-8000-000000000001", "user_id": "mila", "agent_id": None, "run_id": None,
    "content": "User likes tea", "memory_type": "preference", "hash": "",
    "created_at": "2025-12-07T10:00:00.123456789+00:00", "updated_at": "2025-12-07T10:00:00.123456789+00:00",
    "metadata": {"source": "chat"},
}  # fmt: skip
CUP = {
    **TEA, "id": "6a3c2d10-0000-4000-8000-000000000002", "user_id": "tom", "agent_id": "helper", "run_id": "run 7",
    "content": "The blue cup", "memory_type": "fact", "metadata": {},
}  # fmt: skip
MCP_NAMES = ("id", "user_id", "content", "memory_type", "created_at", "updated_at")


@pytest.fixture(autouse=True)
def home(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "own"))


async def opened(tmp_path: Path, document: Any) -> MemoryRsExport:
    """Open the store of a file with this document."""
    file = tmp_path / "export.json"
    file.write_text(json.dumps(document))
    memory = MemoryRsExport(file)
    await memory.open()
    return memory


async def test_every_field_is_read(tmp_path):
    memory = await opened(tmp_path, [TEA, CUP])
    tea, cup = await memory.get("memrs_5f3c2d100000"), await entry_with_id(memory, CUP["id"])
    assert (tea.content, tea.category, tea.namespace) == ("User likes tea", "preference", "mila")
    assert tea.timestamp == TEA["created_at"]
    assert (cup.agent, cup.session_id, cup.namespace) == ("helper", "run 7", "tom")
    facets = await count_facets(memory, MemoryFilter(agent=("helper",)), "2026-01-01T00:00:00+00:00")
    assert (facets.total, facets.by.get("namespace")) == (1, {"tom": 1})
    assert [json.loads(entry.metadata or "{}") for entry in (tea, cup)] == [TEA["metadata"], CUP["metadata"]]
    assert await memory.list("fact") == [cup]


@pytest.mark.parametrize(
    "document",
    [
        [{name: TEA[name] for name in MCP_NAMES}],
        [{"memory": {name: TEA[name] for name in MCP_NAMES}, "score": 0.5}],
        json.dumps([TEA]),
    ],
)
async def test_output_of_its_tools_is_read_too(tmp_path, document):
    """A list of all memories, the results of a search, and an answer saved as one text."""
    memory = await opened(tmp_path, document)
    assert [entry.content for entry in await memory.list()] == ["User likes tea"]
    assert is_export(memory.path)


async def test_memories_with_a_repeated_id_are_left_out_and_counted(tmp_path):
    memory = await opened(tmp_path, [TEA, TEA, {**TEA, "content": "User likes coffee"}])
    assert [entry.content for entry in await memory.list()] == ["User likes tea"]
    assert any("left out: 2." in notice for notice in sentences(memory.about.notices))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("no json", "is not valid JSON"), pytest.param("[" * 100_000, "is not valid JSON", id="deep"),
            ('{"memories": []}', "it is not an array"),
        ('[{"id": "1"}]', "its item 1 is not a memory"), (json.dumps([{**TEA, "content": 5}]), "is not a memory"),
        ("\xff\xfe", "is no"),
    ],
)  # fmt: skip
async def test_any_other_file_is_refused_with_a_sentence(tmp_path, text, said):
    file = tmp_path / "other.json"
    file.write_bytes(text.encode("latin-1"))
    assert not is_export(file)
    assert said in (await raises(MemoryRsExport(file).open(), Unreadable)).message


async def test_one_user_is_searched_at_a_time(tmp_path):
    memory = await opened(tmp_path, [TEA, {**CUP, "content": "User likes tea"}])
    assert len(contents(await recalled(memory, "User likes tea"))) == 2
    (found,) = (await recalled(memory, "User likes tea", namespace="tom")).entries
    assert (found.entry.content, found.score) == ("User likes tea", pytest.approx(1.0))
    assert contents(await recalled(memory, "User likes tea", namespace="nobody")) == []
    found = await recalled(memory, "x")
    assert any("2 users" in note for note in found.notes)
    assert any("the score says nothing" in note for note in found.notes)


def test_commands_open_the_file_by_its_path_alone(tmp_path):
    """list, get, recall, explain and facets work, and nothing is written."""
    file = tmp_path / "any.json"
    file.write_text(json.dumps([TEA, CUP]))
    before = file.read_bytes()

    def ask(*arguments):
        return json.loads(run_memory(*arguments, "--location", str(file), "--json").stdout)

    assert (ask("list")["backend"], ask("list", "--namespace", "tom")["total"]) == ("memory-rs", 1)
    assert ask("get", "memrs_5f3c2d100000")["content"] == "User likes tea"
    recalled = ask("recall", "The blue cup")
    assert (recalled["mode"], recalled["limit"], recalled["results"][0]["content"]) == ("memory-rs", 5, "The blue cup")
    assert ask("stats")["by_namespace"] == {"mila": 1, "tom": 1}
    explained = ask("explain", "memrs_5f3c2d100000", "--query", "User likes tea")
    assert (explained["returned"], explained["place"]) == (True, 1)
    assert explained["steps"][-1]["words"] == "rank 1 by the rule of memory-rs · cosine of hashes = 1.00"
    refused = run_memory("forget", "memrs_5f3c2d100000", "--yes", "--location", str(file))
    assert refused.returncode == 1
    assert "memory-rs never reads this file" in refused.stderr
    assert file.read_bytes() == before
    (tmp_path / "plain.json").write_text("{}")
    other = run_memory("list", "--location", str(tmp_path / "plain.json"))
    assert "is not a SQLite database" in other.stderr


@pytest.fixture
async def memory(tmp_path, opening):
    """Open the samples as `MemoryItem`s of one user."""
    items = [
        {
            "id": entry.id, "user_id": "mila", "agent_id": None, "run_id": entry.session_id, "content": entry.content,
            "memory_type": entry.category, "hash": "", "created_at": entry.timestamp, "updated_at": entry.updated_at,
            "metadata": {},
        }
        for entry in sample_entries()
    ]  # fmt: skip
    file = tmp_path / "export.json"
    file.write_text(json.dumps(items, indent=2))
    return await opening(MemoryRsExport(file))


class TestReading(MemoryContract):
    async def test_recall_finds_nothing_for_words_nobody_wrote(self, memory):
        """By memory-rs' rule any words find about half of all memories instead."""
        found = await memory.recall("xylophonequartz", 1000)
        assert 0 < len(found) < await memory.count()
        assert all(0 <= (scored.score or 0) < 1 for scored in found)


class TestCapabilities(ReadOnlyContract):
    pass
