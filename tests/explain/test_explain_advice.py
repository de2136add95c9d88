"""Advice is only given where the recall, decided again with it, puts the memory in the prompt."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from explain_world import small_library, why
from support import golden
from support.replaying import AS_OF, RecordedEmbedder, library_of, trial

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.recall import explain, recall_memories

QUERIES = ("rust", "what does she like to eat", "four five TMUX", "coffee in the morning", "docker api")


@pytest.mark.parametrize("version", ["0.7.5", "0.8.3", "0.8.4"])
async def test_the_store_confirms_all_advice(version: str, tmp_path: Path) -> None:
    """Recalled by the store, as a person would who follows it."""
    memory = SqliteMemory(golden.database("0.8.4" if version > "0.8" else version, "brain.db", tmp_path))
    await memory.open()
    chance, seen = random.Random(version), Counter[str]()
    try:
        library = library_of(memory, RecordedEmbedder("hash:64"), version)
        entries = list(await memory.list())
        for query in QUERIES:
            asked = trial(query, version, as_of=AS_OF)
            found = [scored.entry for scored in (await recall_memories(library, asked)).results]
            for entry in (*found, *chance.sample(entries, 6)):
                explanation = await explain(library, entry, asked)
                last, advice = explanation.steps[-1], explanation.advice
                if explanation.is_injected or advice is None:
                    assert advice is None
                    assert "puts it in the prompt" not in last.helps
                    seen["in vain"] += last.helps.startswith("none of the settings tried (")
                    continue
                assert last.helps == f"{advice.words} puts it in the prompt"
                seen[advice.key] += 1
                if advice.key != "e":
                    again = await recall_memories(library, advice.trial)
                    injected = [scored.entry.id for scored in again.results if scored.injected]
                    assert injected.count(entry.id) == 1, explanation
    finally:
        await memory.close()
    assert seen["w"] or version == "0.8.4"
    assert seen["in vain"]


async def test_a_memory_that_no_stage_finds_is_only_helped_by_an_edit(tmp_path: Path) -> None:
    rows = [{"key": f"tea_{at}", "content": f"green tea at {at}"} for at in range(30)]
    async with small_library(tmp_path, "G4", [*rows, {"key": "far", "content": "quarks"}], "0.8.4") as library:
        explanation = await why(library, "far", "green tea")
    last = explanation.steps[-1]
    assert (explanation.stopped_at, last.key, last.helps.startswith("edit it")) == ("candidates", "e", True)
    assert explanation.as_json()["advice"] is None


async def test_the_category_core_is_advised_where_it_helps_to_the_end(tmp_path: Path) -> None:
    rows = [
        {"key": "user_msg_1", "content": "green tea", "category": "daily"},
        {"key": "old", "content": "green tea leaves", "category": "daily"},
        {"key": "b", "content": "rain"},
    ]
    async with small_library(tmp_path, "G4", rows, "0.8.4") as library:
        skipped = await why(library, "user_msg_1", "green tea", as_of="2027-09-01T10:00:00+00:00")
        faded = await why(library, "old", "green tea", as_of="2027-09-01T10:00:00+00:00")
    assert (skipped.stopped_at, skipped.advice) == ("threshold", None)
    assert skipped.steps[-1].helps == "none of the settings tried (the category core) brings it in"
    assert faded.steps[-1].helps == "the category core, which does not fade, puts it in the prompt"


async def test_a_version_without_decay_tries_no_other_category(tmp_path: Path) -> None:
    rows = [{"key": "user_msg_1", "content": "green tea", "category": "daily"}, {"key": "b", "content": "rain"}]
    async with small_library(tmp_path, "G2", rows, "0.7.5") as library:
        skipped = await why(library, "user_msg_1", "green tea", rule="channel", settings={"threshold": 9.0})
    assert skipped.stopped_at == "threshold"
    assert "the category core" not in skipped.steps[-1].helps
