"""The share of each query word in a row's keyword score."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from support import golden
from support.memories import MemoryEntry
from support.questions import RecallRequest
from support.rules import ScoringProfile, ScoringSettings, StageEvidence, Trial, WordShare, profile_for, word_shares
from support.small_store import WORKED_EXAMPLE, change, make
from support.stores import SqliteMemory, entries_with_key, whole_entry

NEW, OLD = profile_for("0.8.4"), profile_for("0.7.4")


@pytest.fixture
async def memory(tmp_path: Path) -> AsyncIterator[SqliteMemory]:
    memory = SqliteMemory(make(tmp_path / "brain.db", "G4", WORKED_EXAMPLE))
    await memory.open()
    yield memory
    await memory.close()


async def shares_of(memory: SqliteMemory, entry: MemoryEntry, query: str, profile: ScoringProfile) -> list[WordShare]:
    evidence = await memory.search(Trial(RecallRequest(query), profile, ScoringSettings()), deep=True)
    return word_shares(evidence, entry, query)


async def test_prefixes_and_punctuation_are_reported_by_the_rules_of_the_version(memory: SqliteMemory) -> None:
    """`word*` is a prefix search from 0.7.5 on; a word of punctuation only is never found."""
    (food,) = await entries_with_key(memory, "food")
    new = {share.word: share.is_found for share in await shares_of(memory, food, "ram* ** col", NEW)}
    old = {share.word: share.is_found for share in await shares_of(memory, food, "ram* ** col", OLD)}
    assert new == {"ram*": True, "**": False, "col": False}
    assert old == {"ram*": False, "**": False, "col": False}


async def test_a_word_that_fts5_refuses_is_not_found(memory: SqliteMemory) -> None:
    (lang,) = await entries_with_key(memory, "lang")
    shares = await shares_of(memory, lang, 'ru"st rust', OLD)
    assert [(share.word, share.is_found, share.rows) for share in shares] == [('ru"st', False, None), ("rust", True, 2)]


async def test_without_a_keyword_index_the_text_is_searched(memory: SqliteMemory, tmp_path: Path) -> None:
    change(tmp_path / "brain.db", "DROP TABLE memories_fts")
    await memory.reopen()
    (lang,) = await entries_with_key(memory, "lang")
    shares = await shares_of(memory, lang, "Rust helix", NEW)
    assert [(share.is_found, share.share, share.rows) for share in shares] == [(True, None, None), (False, None, None)]


@pytest.mark.parametrize("version", ["0.7.5", "0.8.4"])
async def test_the_shares_add_up_to_the_raw_score(version: str, tmp_path: Path) -> None:
    """For every recorded query and three of its rows; repeated words count each time."""
    memory = SqliteMemory(golden.database(version, "brain.db", tmp_path))
    await memory.open()
    try:
        queries = sorted({run["query"] for run in golden.runs(version, "recall_runs")["runs"]})
        compared = 0
        for query in (*queries, "rust rust tea"):
            trial = Trial(RecallRequest(query), profile_for(version), ScoringSettings())
            evidence = await memory.search(trial, deep=True)
            assert isinstance(evidence, StageEvidence)
            hits = list(zip(evidence.keyword_handles.tolist(), evidence.keyword_scores.tolist(), strict=True))
            for handle, raw in (*hits[:2], *hits[-1:]):
                shares = await shares_of(memory, await whole_entry(memory, handle), query, profile_for(version))
                assert sum(share.share or 0.0 for share in shares) == pytest.approx(raw, rel=1e-6)
                compared += 1
        assert compared > 90
    finally:
        await memory.close()
