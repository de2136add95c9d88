"""Letta's agent files: the blocks that are always in a prompt, and nothing that is secret."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from format_sources import DATA, MEMGPT, database, read, value

from zeroclaw_tui.memory.errors import UsageError


def test_a_block_is_a_pinned_memory_of_the_first_agent_that_has_it_and_a_detached_one_is_not_pinned() -> None:
    rows, report = read(DATA / "letta.af")
    assert len(rows) == 2, "a block that two agents share is one memory"
    shared = rows["letta_hive_helper_human"]
    assert (shared.agent, *value(shared, "content", "category", "pinned")) == (
        "hive-helper",
        "Mila keeps bees.",
        "core",
        1,
    )
    assert shared.values["created_at"] == "2026-01-01T10:00:00.000001+00:00"
    assert report.skipped == {"empty": 1}
    (detached,) = (row for row in rows.values() if row.agent is None)
    assert value(detached, "content", "pinned") == ("Wax is kept cold.", 0)
    assert report.lost == {
        "limit": 2,
        "description": 1,
        "messages": 1,
        "system prompt": 1,
        "tools": 1,
        "read only": 1,
        "agents of shared blocks": 1,
    }
    assert any("Archival memory" in note for note in report.notes), "which is not in the file"


def test_agents_with_blocks_of_their_own_share_what_says_the_same_and_not_what_differs(tmp_path: Path) -> None:
    document = json.loads((DATA / "letta.af").read_text(encoding="utf-8"))
    blocks = [("a", "home", "Riga"), ("b", "home", "Riga"), ("c", "home", "Bern"), ("d", "work", ""), ("e", "work", "")]
    document["blocks"] = [{"id": name, "label": label, "value": told} for name, label, told in blocks]
    for agent, ids in zip(document["agents"], ("ad", "bce"), strict=True):
        agent["block_ids"] = list(ids)
    (tmp_path / "x.af").write_text(json.dumps(document))
    rows, report = read(tmp_path / "x.af")
    assert {key: row.values["content"] for key, row in rows.items()} == {
        "letta_hive_helper_home": "Riga",
        "letta_shop_home": "Bern",
    }
    assert (report.lost["agents of shared blocks"], report.skipped) == (1, {"empty": 2})


def test_tags_come_as_text_and_all_else_of_a_block_is_named(tmp_path: Path) -> None:
    document = json.loads((DATA / "letta.af").read_text(encoding="utf-8"))
    document["blocks"] = [
        {
            "id": "b",
            "label": "home",
            "value": "Mila keeps bees",
            "tags": ["roof", "bees"],
            "hidden": True,
            "metadata": {"a": 1},
        }
    ]
    (tmp_path / "x.af").write_text(json.dumps(document))
    rows, report = read(tmp_path / "x.af")
    (row,) = rows.values()
    assert row.values["content"] == "Mila keeps bees\n\nTags: roof"
    assert report.lost["hidden"] == report.lost["metadata"] == 1


def test_the_old_form_is_read_also_as_json_in_a_text() -> None:
    rows, report = read(DATA / "letta_old.af")
    row = rows["letta_hive_helper_human"]
    assert (row.agent, *value(row, "content", "created_at", "updated_at")) == (
        "hive-helper",
        "Mila keeps bees.",
        "2025-03-01T10:00:00+00:00",
        "2025-03-02T10:00:00+00:00",
    )
    assert "hidden-value" not in str((rows, report))


def test_a_database_of_memgpt_is_refused_with_a_way_on(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"MemGPT 0\.3.*\.af file"):
        read(database(tmp_path / "sqlite.db", MEMGPT))
