"""Recall rules that differ between generations, and recall of unusual databases."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from changed_stores import opened
from support import recalls
from support.recalls import keys
from support.rules import StoreRecall
from support.small_store import MOMENT, WORKED_EXAMPLE, change, make


async def recalled(path: Path, query: str, version: str = "0.8.4", **parts: Any) -> StoreRecall:
    async with opened(path) as memory:
        return await recalls.recalled(memory, query, version, **parts)


async def test_a_query_refused_by_fts_is_noted_and_searched_with_like(tmp_path):
    path = make(tmp_path / "brain.db", "G2", [{"content": 'a 5"disk here'}, {"content": "nothing"}])
    found = await recalled(path, '5"disk', "0.7.4")
    assert keys(found) == ["key0"]
    assert (found.mode, found.entries[0].stage, found.entries[0].score) == ("like", "like", 1.0)
    assert "FTS5 refuses this query" in found.notes[0]
    assert (await recalled(path, '5"disk', "0.7.5")).mode == "keyword"


@pytest.mark.parametrize("version", ["0.1.7", "0.7.5", "0.8.4"])
async def test_a_word_too_long_for_like_is_noted_and_finds_nothing(tmp_path, version):
    """SQLite accepts a LIKE pattern of 50,000 bytes, including a % at both ends."""
    path = make(tmp_path / "brain.db", "G4", WORKED_EXAMPLE)
    longest = await recalled(path, "é" * 24_999, version)
    assert (keys(longest), longest.mode, longest.notes) == ([], "like", ())
    found = await recalled(path, "é" * 24_999 + "s pre", version)
    assert (keys(found), found.mode) == ([], "like")
    assert found.notes == (
        "ZeroClaw's own recall fails for this message: a word is longer than SQLite's LIKE takes (50,000 bytes).",
    )
    # If a whole word matches, the fall-back does not run.
    assert keys(await recalled(path, "a" * 60_000 + " prefers", version)) == ["lang"]


async def test_blank_and_star_queries_follow_the_version(tmp_path):
    path = make(tmp_path / "brain.db", "G2", WORKED_EXAMPLE)
    newest = ["food", "tz"]
    none = await recalled(path, " \u3000", "0.5.4", limit=2)
    assert keys(none) == []
    assert "blank" in none.notes[0]
    for query, version in ((" ", "0.5.5"), ("*", "0.7.5")):
        found = await recalled(path, query, version, limit=2)
        assert (keys(found), found.mode, found.entries[0].stage) == (newest, "recent", "recent")
        assert found.entries[0].score is None
    assert (await recalled(path, "*", "0.7.4", limit=2)).mode == "like"


async def test_in_0_5_5_a_time_bound_applies_only_to_the_last_word(tmp_path):
    """The SQL of the fall-back of 0.5.5 and 0.5.6 lacks a pair of parentheses."""
    path = make(tmp_path / "brain.db", "G1", [{"content": "xalphax"}, {"content": "xbetax"}, {"content": "xbetay"}])
    since = MOMENT.format(2)
    assert keys(await recalled(path, "alpha beta", "0.5.6", since=since)) == ["key2", "key0"]
    assert keys(await recalled(path, "alpha beta", "0.5.7", since=since)) == ["key2"]
    early = await recalled(path, "alpha beta", "0.5.4", since=since)
    assert keys(early) == ["key2", "key1", "key0"]
    assert "no time bounds" in early.notes[0]


async def test_a_prefix_in_the_fall_back_must_begin_a_token(tmp_path):
    path = make(tmp_path / "brain.db", "G2", [{"content": "Wildcat"}, {"content": "sawild"}])
    change(path, "INSERT INTO memories_fts(memories_fts) VALUES ('delete-all')")
    assert keys(await recalled(path, "wil*", "0.7.5")) == ["key0"]
    assert keys(await recalled(path, "wild", "0.7.5")) == ["key1", "key0"]


async def test_without_an_index_words_are_found_with_like_and_noted(tmp_path):
    path = make(tmp_path / "brain.db", "G1", WORKED_EXAMPLE)
    for trigger in ("memories_ai", "memories_ad", "memories_au"):
        change(path, f"DROP TRIGGER {trigger}")
    change(path, "DROP TABLE memories_fts")
    found = await recalled(path, "rust", "0.1.7")
    assert (keys(found), found.mode) == (["food", "lang"], "like")
    assert "memories_fts" in found.notes[0]
