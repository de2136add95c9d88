"""Importing into a store that has memories already: what is new, the same or taken, and one undo for all of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from support.small_store import AGENT, blob, change, make
from support.whole_store import everything, hits
from transfer_world import EVERYTHING, exported, imported, opened

from zeroclaw_tui.backends.lookup import row_with_id
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.changes import undo
from zeroclaw_tui.curation.export import export_file
from zeroclaw_tui.curation.library import Library
from zeroclaw_tui.curation.transfer.imports import import_memories, plan_import
from zeroclaw_tui.curation.transfer.target import Target
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.entry import MemoryEntry
from zeroclaw_tui.memory.errors import Refused, Unreadable

WORDS = ["old", "new", "other"]
HERE = [
    {"id": "same", "key": "same", "content": "old", "embedding": blob(1, 2)},
    {"id": "changed", "key": "changed", "content": "old", "embedding": blob(1, 2), "importance": 0.9},
    {"id": "holder", "key": "stored", "content": "old"},
    {"id": "moved", "key": "was here", "content": "old"},
    {"id": "holder 2", "key": "is there", "content": "other"},
]
THERE = [
    {"id": "same", "key": "same", "content": "old", "embedding": blob(1, 2)},
    {"id": "changed", "key": "changed", "content": "new", "embedding": blob(3, 4), "importance": 0.1},
    {"id": "other holder", "key": "stored", "content": "new"},
    {"id": "moved", "key": "is there", "content": "new"},
    {"id": "new", "key": "new", "content": "new"},
]


@pytest.fixture(params=["G2", "G4"])
def both(request, tmp_path):
    """A store, and another one of the same generation to take the export of."""
    return make(tmp_path / "here.db", request.param, HERE), make(tmp_path / "there.db", request.param, THERE)


@pytest.mark.parametrize(
    ("on_clash", "changes"),
    [
        ("skip", {"new": "new"}),
        ("overwrite", {"changed": "new", "stored": "new", "is there": "new", "new": "new"}),
        (
            "rename",
            {f"{key} (imported 1150)": "new" for key in ("changed", "stored", "is there")} | {"new": "new"},
        ),
    ],
)
async def test_a_taken_key_is_skipped_overwritten_or_renamed(on_clash, changes, both, tmp_path):
    """And one undo brings back every row, its place, its vector and what the keyword index finds."""
    here, there = both
    file = await exported(there, tmp_path / "all.jsonl", vectors=True)
    before, found = everything(here), hits(here, WORDS)
    async with opened(here) as library:
        plan = await plan_import(Target.of(library), file)
        assert (plan.new, plan.same, plan.taken, plan.samples) == (1, 1, 3, ("changed", "stored", "is there"))
        outcome = await import_memories(Target.of(library), plan, on_clash)
    assert (outcome.count, outcome.verb) == (len(changes), "import")
    assert await _contents(here) == {row["key"]: row["content"] for row in HERE} | changes
    hits(here, WORDS)
    async with opened(here) as library:
        again = await import_memories(Target.of(library), await plan_import(Target.of(library), file), on_clash)
        assert (again.count, again.action) == (0, None)
        await undo(library)
    assert (everything(here), hits(here, WORDS)) == (before, found)


async def test_an_overwritten_row_loses_the_vector_of_its_old_text(tmp_path):
    here, there = make(tmp_path / "here.db", "G4", HERE), make(tmp_path / "there.db", "G4", THERE)
    files = (
        await exported(there, tmp_path / "all.jsonl", vectors=True),
        _lines(tmp_path / "x.jsonl", {"key": "changed", "content": "newest"}),
    )
    found, began = [], datetime.now(UTC).isoformat()
    for file in files:
        await imported(here, file, "overwrite")
        async with opened(here) as library:
            found.append(await row_with_id(library.memory, "changed") or pytest.fail("it has gone"))
    first, row = found
    assert (first.handle, first.values["embedding"], first.values["importance"]) == (2, blob(3, 4), 0.1)
    assert (row.values["content"], row.values["embedding"], row.values["importance"]) == ("newest", None, 0.1)
    assert row.values["created_at"] == "2026-03-01T10:00:01.000000001+00:00"
    assert str(row.values["updated_at"]) > began


@pytest.mark.parametrize(("on_clash", "contents"), [("skip", ["A", "B"]), ("overwrite", ["A", "A2", "B"])])
async def test_a_key_or_an_id_that_a_file_repeats_loses_nothing_unseen(on_clash, contents, tmp_path):
    file = _lines(
        tmp_path / "x.jsonl",
        {"id": "1", "key": "a", "content": "A"},
        {"id": "1", "key": "b", "content": "B"},
        {"key": "a", "content": "A"},
        {"key": "a", "content": "A2"},
    )
    async with opened(make(tmp_path / "here.db", "G4", [])) as library:
        plan = await plan_import(Target.of(library), file)
        assert (plan.new, plan.same, plan.taken) == (2, 1, 1)
        outcome = await import_memories(Target.of(library), plan, on_clash)
        assert (outcome.count, outcome.notes) == (len(contents), ())
        assert sorted(entry.content for entry in await library.memory.list()) == contents


@pytest.mark.parametrize("on_clash", ["skip", "overwrite", "rename"])
async def test_what_another_agent_has_is_new_for_the_agent_that_was_named(tmp_path, on_clash):
    """With ids of its own, by which the other's are left alone and one names the other it was superseded by."""
    rows = [{"id": "1", "key": "k", "content": "one", "superseded_by": "2"}, {"id": "2", "key": "l", "content": "two"}]
    here = make(tmp_path / "here.db", "G4", rows)
    change(here, "INSERT INTO agents (id, alias, created_at) VALUES ('w', 'writer', '2026')")
    file = await exported(here, tmp_path / "x.jsonl")
    async with opened(here) as library:
        plan = await plan_import(Target.of(library), file, agent="writer")
        assert (plan.new, plan.same, plan.taken) == (2, 0, 0)
        await import_memories(Target.of(library), plan, on_clash)
        again = await plan_import(Target.of(library), file, agent="writer")
        assert (again.new, again.same, again.taken) == (0, 2, 0)
        stored = {(entry.agent, entry.key): entry for entry in await _entries(library)}
        mine = {key: entry for (agent, key), entry in stored.items() if agent == "writer"}
        others = {key: entry for (agent, key), entry in stored.items() if agent == "default"}
        assert others["k"].superseded_by == others["l"].id == "2"
        assert mine["k"].superseded_by == mine["l"].id != "2"
        file.write_text(file.read_text().replace('"one"', '"changed"'))
        changed = await plan_import(Target.of(library), file, agent="writer")
        assert (changed.new, changed.same, changed.taken) == (0, 1, 1)
        await import_memories(Target.of(library), changed, "overwrite")
        contents = {(entry.agent, entry.content) for entry in await _entries(library)}
    assert contents == {("default", "one"), ("default", "two"), ("writer", "changed"), ("writer", "two")}


async def test_where_several_agents_leave_a_choice_nothing_is_written(tmp_path):
    here = make(tmp_path / "here.db", "G4", [])
    change(here, "UPDATE agents SET alias = 'one' WHERE id = ?", (AGENT,))
    change(here, "INSERT INTO agents (id, alias, created_at) VALUES ('w', 'two', '2026')")
    async with opened(here) as library:
        with pytest.raises(Refused, match="belongs to the agents one, two"):
            await plan_import(Target.of(library), _lines(tmp_path / "x.jsonl", {"key": "a", "content": "A"}))


@pytest.mark.parametrize(
    ("ours", "theirs", "vector", "comes"),
    [
        (("openai", "small", "2"), ("openai", "small", "2"), blob(1, 2), True),
        (("openai", "small", "2"), ("openai", "large", "2"), blob(1, 2), False),
        (("openai", "small", "3"), None, blob(1, 2), False),
        (None, ("openai", "small", "2"), blob(1, 2), True),
        (None, None, b"cut", False),
    ],
)
async def test_only_vectors_of_the_same_model_are_imported(ours, theirs, vector, comes, tmp_path):
    here, there = make(tmp_path / "here.db", "G4", []), make(tmp_path / "there.db", "G4", [{"embedding": vector}])
    for path, identity in ((here, ours), (there, theirs)):
        for name, value in zip(("provider", "model", "dimensions"), identity or (), strict=False):
            change(path, "INSERT INTO memory_meta (key, value) VALUES (?, ?)", (f"embedding_{name}", value))
    file = await exported(there, tmp_path / "all.jsonl", vectors=True)
    async with opened(here) as library:
        plan = await plan_import(Target.of(library), file)
        assert bool(plan.notes) is not comes
        await import_memories(Target.of(library), plan, "skip")
        row = await row_with_id(library.memory, "id-000")
    assert row.values["embedding"] == (vector if comes else None)


async def test_what_the_agent_stored_in_the_meantime_is_not_touched(tmp_path, monkeypatch):
    """Between the comparison and the write another program stores the same key."""
    here = make(tmp_path / "here.db", "G4", [])
    file = _lines(tmp_path / "x.jsonl", {"key": "a", "content": "file's"}, {"key": "b", "content": "file's"})
    apply = SqliteMemory.apply

    async def after_the_agent(memory, *given, **named):
        change(
            here,
            "INSERT INTO memories (id, key, content, category, created_at, updated_at, agent_id)"
            " VALUES ('1', 'a', 'the agent''s', 'core', '2026', '2026', ?)",
            (AGENT,),
        )
        return await apply(memory, *given, **named)

    async with opened(here) as library:
        plan = await plan_import(Target.of(library), file)
        monkeypatch.setattr(SqliteMemory, "apply", after_the_agent)
        outcome = await import_memories(Target.of(library), plan, "skip")
        assert (outcome.count, outcome.notes) == (1, ("Left out 1 memory, because the key or the ID is taken.",))
    assert await _contents(here) == {"a": "the agent's", "b": "file's"}


async def test_a_file_that_changed_since_it_was_shown_is_not_imported(tmp_path):
    here = make(tmp_path / "here.db", "G4", [])
    file = _lines(tmp_path / "x.jsonl", {"key": "a", "content": "A"})
    async with opened(here) as library:
        plan = await plan_import(Target.of(library), file)
        _lines(file, {"key": "a", "content": "something else"})
        with pytest.raises(Refused, match="changed while it was read"):
            await import_memories(Target.of(library), plan, "skip")
        file.unlink()
        with pytest.raises(Unreadable, match="has disappeared"):
            await import_memories(Target.of(library), plan, "skip")
    assert await _contents(here) == {}


@pytest.mark.parametrize("format", ["jsonl", "csv"])
async def test_an_export_of_notes_is_a_way_back_into_them(tmp_path, format):
    notes = tmp_path / "notes"
    (notes / "memory").mkdir(parents=True)
    day, core = notes / "memory" / "2026-03-04.md", notes / "MEMORY.md"
    core.write_text("# Long-Term Memory\n\n- **a**: A\n\n- a line without a key\n\n- **a**: A\n")
    day.write_text("# Daily Log — 2026-03-04\n\n- **b**: B\n\n- **c**: C\n")
    before = core.read_text(), day.read_text()
    # The name of the folder begins that of the file, which is none of its own for that.
    file = tmp_path / f"notes.{format}"
    async with opened(notes) as library:
        await export_file(library, EVERYTHING, file, format)
        assert (await plan_import(Target.of(library), file, format=format)).same == 5
        core.unlink()
        day.unlink()
        plan = await plan_import(Target.of(library), file, format=format)
        assert (plan.new, plan.notes) == (5, ())
        await import_memories(Target.of(library), plan, "skip")
    assert (core.read_text(), day.read_text()) == before


async def _contents(path: Path) -> dict[str, str]:
    async with opened(path) as library:
        return {entry.key: entry.content for entry in await library.memory.list()}


async def _entries(library: Library) -> list[MemoryEntry]:
    rows: list[Row] = []
    await library.memory.scan(rows.append, EVERYTHING)
    return [row.entry() for row in rows]


def _lines(path: Path, *objects: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(parts) + "\n" for parts in objects))
    return path
