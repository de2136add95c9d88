"""Advice is given only where the whole recall, decided again with it, puts the memory in the prompt."""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest
from explain_world import small_library, why
from support import golden
from support.replaying import AS_OF, RecordedEmbedder, library_of, trial

from zeroclaw_tui.backends.lookup import whole_entry
from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.recall import advised, explained_by, gather_evidence, recall_memories

QUERIES = ("rust", "what does she like to eat", "four five TMUX", "coffee in the morning", "docker api")
NOTHING = "only editing the memory can fix this"


@pytest.mark.parametrize("version", ["0.7.5", "0.8.3", "0.8.4"])
async def test_all_advice_holds_to_the_end(version: str, tmp_path: Path) -> None:
    """Asked of the store anew, as a person would who follows it; where there is none, it says so."""
    memory = SqliteMemory(golden.database("0.8.4" if version > "0.8" else version, "brain.db", tmp_path))
    await memory.open()
    chance, seen = random.Random(version), Counter[str]()
    try:
        library = library_of(memory, RecordedEmbedder("hash:64"), version)
        entries = list(await memory.list())
        for query in QUERIES:
            asked = trial(query, version, as_of=AS_OF)
            gathered = await gather_evidence(library, asked)
            found = [scored.entry for scored in (await gathered.replayed(asked)).results]
            for entry in (*found, *chance.sample(entries, 6)):
                whole = await whole_entry(library.memory, entry.handle)
                told = await advised(gathered, await explained_by(gathered, whole, asked), asked)
                last = told.steps[-1]
                if told.is_injected:
                    assert told.advice is None
                    continue
                if told.advice is None:
                    seen["none"] += 1
                    assert last.key in ("e", "R", "x"), last
                    continue
                assert last.helps == f"{told.advice.words} puts it in the prompt"
                seen[told.advice.key] += 1
                if told.advice.key == "e":
                    continue
                tried = told.advice.trial
                again = await recall_memories(library, tried)
                assert [scored.entry.id for scored in again.results if scored.injected].count(entry.id) == 1, told
    finally:
        await memory.close()
    assert seen["none"]
    assert seen["w"]


async def test_a_memory_with_hardly_anything_in_common_is_only_helped_by_an_edit(tmp_path: Path) -> None:
    """No limit, weight or threshold is named that would in the end not put it in."""
    rows = [{"key": f"tea_{at}", "content": f"green tea at {at}"} for at in range(30)]
    async with small_library(tmp_path, "G4", [*rows, {"key": "far", "content": "quarks"}], "0.8.4") as library:
        told = await why(library, "far", "green tea")
    assert told.stopped_at == "candidates"
    assert (told.steps[-1].helps, told.steps[-1].key) == (NOTHING, "e")
    assert told.as_json()["advice"] is None


async def test_what_an_age_and_a_skip_rule_keep_out_is_not_told_to_be_core(tmp_path: Path) -> None:
    rows = [
        {"key": "user_msg_1", "content": "green tea", "category": "daily"},
        {"key": "old", "content": "green tea leaves", "category": "daily"},
        {"key": "b", "content": "rain"},
    ]
    async with small_library(tmp_path, "G4", rows, "0.8.3") as library:
        library.with_profile("0.8.4")
        skipped = await why(library, "user_msg_1", "green tea", as_of="2027-09-01T10:00:00+00:00")
        faded = await why(library, "old", "green tea", as_of="2027-09-01T10:00:00+00:00")
    assert (skipped.stopped_at, skipped.steps[-1].helps) == ("threshold", NOTHING)
    assert faded.steps[-1].helps == "the category core, which does not fade, puts it in the prompt"
