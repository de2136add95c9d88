"""claude-mem: its observations and summaries, from its database and from its export."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from format_sources import CLAUDE_MEM, DATA, database, read, value

SWAP = """Swap in April
Frames

We decided to swap in April.

- Old frames go to wax

Tags: why-it-exists"""


def test_an_observation_and_a_summary_are_memories_and_what_people_typed_is_none(tmp_path: Path) -> None:
    rows, report = read(database(tmp_path / "claude-mem.db", CLAUDE_MEM))
    names = ("content", "category", "namespace", "session_id", "created_at")
    assert value(rows["cmem_obs_1"], *names) == (SWAP, "decision", "hive", "s-1", "2026-04-01T08:30:00.000Z")
    assert value(rows["cmem_sum_1"], "content", "category", "created_at") == (
        "Request: Plan the swap\n\nLearned: Frames last three years",
        "summary",
        "2026-04-01T08:30:00+00:00",
    )
    assert (report.lost, report.skipped) == ({"files modified": 1, "prompt number": 1}, {"prompts": 1})
    exported, report = read(DATA / "claude_mem.json")
    assert exported["cmem_obs_1"] == rows["cmem_obs_1"]
    assert report.skipped == {"empty": 1, "prompts": 1}


ENGRAMS = {"id": 9, "sync_id": "obs-9", "type": "decision", "title": "Of engram", "content": "Wax is kept cold"}


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ({"some": "settings"}, "empty"),
        ({"id": 9, "content": "Wax is kept cold"}, "empty"),
        (ENGRAMS, "not understood"),
        ("a line", "not understood"),
        (None, "not understood"),
    ],
    ids=["another object", "another content", "engram's", "text", "null"],
)
@pytest.mark.parametrize("first", [True, False])
def test_an_odd_observation_is_left_out_and_the_others_come(tmp_path: Path, odd: Any, reason: str, first: bool) -> None:
    document = json.loads((DATA / "claude_mem.json").read_text(encoding="utf-8"))
    told = document["observations"][:1] * 2
    told[1] = {**told[0], "id": 3, "narrative": "We did."}
    document["observations"] = [odd, *told] if first else [*told, odd]
    (tmp_path / "x.json").write_text(json.dumps(document))
    rows, report = read(tmp_path / "x.json")
    assert list(rows) == ["cmem_obs_1", "cmem_obs_3", "cmem_sum_1"]
    assert report.skipped == {reason: 1, "prompts": 1}


def test_an_export_of_odd_observations_alone_brings_its_summaries(tmp_path: Path) -> None:
    document = json.loads((DATA / "claude_mem.json").read_text(encoding="utf-8"))
    (tmp_path / "x.json").write_text(json.dumps({**document, "observations": [{"some": "settings"}]}))
    rows, report = read(tmp_path / "x.json")
    assert list(rows) == ["cmem_sum_1"]
    assert report.skipped == {"empty": 1, "prompts": 1}
