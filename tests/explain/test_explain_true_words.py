"""Why nothing finds a memory is told as it is: what it lacks, what the message lacks, what is not looked at."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support.replaying import FixedEmbedder, library_of, trial
from support.small_store import blob, make

from zeroclaw_tui.backends.sqlite.store import SqliteMemory
from zeroclaw_tui.curation.recall import explain
from zeroclaw_tui.memory.query import MemoryFilter
from zeroclaw_tui.scoring.explain import Explanation
from zeroclaw_tui.scoring.profiles import ScoringSettings, SearchMode
from zeroclaw_tui.testing.tools import entries_of

ROWS = [
    {"id": "late", "content": "it is late"},
    {"id": "far", "content": "something else", "embedding": blob(-1, 0)},
    {"id": "long", "content": "something else", "embedding": blob(1, 0, 0)},
    {"id": "found", "content": "rust", "embedding": blob(1, 1)},
]


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[SqliteMemory]:
    memory = SqliteMemory(make(tmp_path / "brain.db", "G4", ROWS))
    await memory.open()
    yield memory
    await memory.close()


async def told(
    memory: SqliteMemory, row: str, query: str, mode: SearchMode = "hybrid", *, has_vector: bool = True
) -> Explanation:
    library = library_of(memory, FixedEmbedder(1, 0) if has_vector else None)
    entry = next(entry for entry in (await entries_of(memory, MemoryFilter())) if entry.id == row)
    return await explain(library, entry, trial(query, settings=ScoringSettings(search_mode=mode)))


@pytest.mark.parametrize(
    ("row", "mode", "has_vector", "words"),
    [
        ("late", "hybrid", True, "its words do not match, and it has no vector"),
        ("long", "hybrid", True, "its words do not match, and its vector has a different length than the message's"),
        ("far", "hybrid", True, "neither its words nor its vector match"),
        ("far", "hybrid", False, "its words do not match, and the message has no vector"),
        ("far", "bm25", True, "its words do not match, and search mode bm25 ignores vectors"),
        ("far", "embedding", True, "its vector does not match, and search mode embedding ignores keywords"),
        ("late", "embedding", True, "search mode embedding ignores keywords, and it has no vector"),
    ],
)
async def test_what_no_stage_finds_is_told_with_what_is_missing(
    memory: SqliteMemory, row: str, mode: SearchMode, has_vector: bool, words: str
) -> None:
    explanation = await told(memory, row, "rust", mode, has_vector=has_vector)
    assert explanation.stopped_at == "candidates"
    assert explanation.verdict == f"It is not in the prompt: {words}."


async def test_words_that_are_not_looked_at_are_not_said_to_be_nowhere(memory: SqliteMemory) -> None:
    explanation = await told(memory, "found", "rust", "embedding")
    fusion = next(step for step in explanation.steps if step.name == "fusion")
    assert fusion.words == "search mode embedding ignores keywords, so the cosine is the score: 0.71"


async def test_a_beginning_that_stands_only_inside_a_word_is_no_question_of_the_limit(memory: SqliteMemory) -> None:
    explanation = await told(memory, "late", "at*", has_vector=False)
    assert explanation.stopped_at == "like"
    assert explanation.steps[-1].words.endswith("none of its words begins with at")
    assert "limit" not in explanation.steps[-1].helps


async def test_what_hidden_rows_of_the_session_took_was_not_lost_to_others(tmp_path: Path) -> None:
    """From 0.8.4 on no row of another session is in the way while a vector takes part."""
    mine = {"content": "rust", "session_id": "mine", "embedding": blob(1, 0.1)}
    hidden = [mine | {"superseded_by": "newer"} for _ in range(17)]
    shown = [mine | {"id": f"shown{at}", "embedding": blob(1, 2 + at)} for at in range(5)]
    memory = SqliteMemory(make(tmp_path / "hidden.db", "G4", [*hidden, *shown]))
    await memory.open()
    try:
        library = library_of(memory, FixedEmbedder(1, 0))
        entry = next(entry for entry in (await entries_of(memory, MemoryFilter())) if entry.id == "shown4")
        explanation = await explain(library, entry, trial("rust", session_id="mine", limit=5))
    finally:
        await memory.close()
    assert not any("other sessions" in remark for remark in explanation.remarks)


async def test_the_fall_back_looks_at_the_first_eight_words_repeated_ones_too(memory: SqliteMemory) -> None:
    explanation = await told(memory, "late", "zebra " * 8 + "ate", has_vector=False)
    assert explanation.steps[-1].words.endswith("it contains none of the message's first 8 words")
