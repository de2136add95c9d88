"""A text planted in ten layouts of five generations: no byte of it is left, and every other memory still is."""

from __future__ import annotations

import json

import pytest
from erase_samples import LAYOUTS, OTHERS, STAYING, TEXT, Planted, bytes_left, plant, rows, words_left
from support import left_texts

from zeroclaw_tui.curation.traces.erase import erase_texts, plan_erase
from zeroclaw_tui.curation.traces.matcher import TextMatcher


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
async def test_no_byte_of_the_text_is_left_and_nothing_else_changes(tmp_path, layout):
    """By a scan that shares no code with the program."""
    planted = plant(tmp_path / "zeroclaw", layout)
    assert bytes_left(tmp_path)
    async with planted.opened() as library:
        report = await erase_texts(library, await plan_erase(library, TextMatcher([TEXT])))
    left = {one.place for one in report.left}
    assert {one.kind for one in report.left} <= STAYING, report.sentences()
    assert report.is_complete is (layout.around == "store alone")
    # Only what the report names has it still.
    assert {str(tmp_path / hit.rpartition(": ")[0]) for hit in bytes_left(tmp_path)} <= left
    assert set(words_left(tmp_path)) <= left
    # What the text was appended to and taken from again is as it was.
    assert planted.contents() == list(OTHERS)
    found = rows(planted.database, "SELECT rowid FROM memories_fts WHERE memories_fts MATCH 'harbour'")
    assert len(found) == len(OTHERS)
    assert len(rows(planted.database, "SELECT content_hash FROM embedding_cache")) == 1
    if layout.around == "everything":
        _check_around(planted)


def _check_around(planted: Planted) -> None:
    """What was next to the text in other places is still there."""
    root = planted.root
    assert len(rows(root / "sessions" / "sessions.db", "SELECT content FROM sessions")) == 400
    stays = rows(root / "sessions" / "sessions.db", f"SELECT id FROM sessions WHERE content LIKE '{left_texts.STAYS}%'")
    assert len(stays) == 399
    assert rows(root / "memory" / "brain.db.backup-20260801T000000", "SELECT content FROM memories") == [OTHERS[0]]
    snapshot = (root / "MEMORY_SNAPSHOT.md").read_text()
    assert OTHERS[0] in snapshot
    assert "**Total core memories:** 1" in snapshot
    line = json.loads((root / "sessions" / "new.jsonl").read_text())
    assert line == {"role": "user", "content": "hello [removed]"}
