"""The JSON answers of R-Mem's server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from format_sources import DATA, RMEM, database, read, value

from zeroclaw_tui.backends.rmem.store import RMemMemory
from zeroclaw_tui.curation.formats.detection import detect
from zeroclaw_tui.curation.formats.old_source import Source
from zeroclaw_tui.memory.errors import UsageError

BEES, BREAD = "rmem_0b0e7c1e0000", "rmem_1c1f8d2f0000"
MEMORIES = json.loads((DATA / "rmem.json").read_text(encoding="utf-8"))["data"]


@pytest.mark.parametrize("document", [{"success": True, "data": MEMORIES}, MEMORIES], ids=["REST", "list_memories"])
def test_an_answer_comes_with_its_categories_and_dates(tmp_path: Path, document: object) -> None:
    (tmp_path / "answer.json").write_text(json.dumps(document))
    rows, report = read(tmp_path / "answer.json")
    assert value(rows[BEES], "content", "category", "namespace", "created_at") == (
        "Mila keeps bees on the roof",
        "personal",
        "mila",
        "2026-04-10T09:00:00+00:00",
    )
    assert value(rows[BREAD], "category", "updated_at") == ("core", "2026-04-12T09:00:00+00:00")
    assert (report.lost, report.skipped, report.guessed_dates) == ({}, {}, 0)


def test_what_cannot_be_brought_in_is_counted(tmp_path: Path) -> None:
    odd = {**MEMORIES[0], "id": None, "mood": "calm"}
    (tmp_path / "answer.json").write_text(json.dumps([odd, {**MEMORIES[1], "text": " "}, "no memory"]))
    rows, report = read(tmp_path / "answer.json")
    assert [row.values["content"] for row in rows.values()] == ["Mila keeps bees on the roof"]
    assert report.skipped == {"empty": 1, "not understood": 1}
    assert report.lost == {"mood": 1}


def test_an_answer_without_memories_is_not_known(tmp_path: Path) -> None:
    (tmp_path / "answer.json").write_text('{"success": true, "data": []}')
    with pytest.raises(UsageError, match="is not in a format I recognise"):
        detect(Source(tmp_path / "answer.json"))


def test_texts_with_a_user_and_without_a_category_are_still_read_as_mem0s(tmp_path: Path) -> None:
    (tmp_path / "texts.json").write_text(json.dumps([{"user_id": "mila", "text": "Mila keeps bees"}]))
    assert detect(Source(tmp_path / "texts.json")).format.name == "mem0"


async def test_a_memory_has_the_key_that_it_has_in_the_database(tmp_path: Path) -> None:
    memory = RMemMemory(database(tmp_path / "rustmem.db", RMEM))
    await memory.open()
    shown = {entry.key for entry in await memory.list()}
    await memory.close()
    assert read(DATA / "rmem.json")[0].keys() <= shown
