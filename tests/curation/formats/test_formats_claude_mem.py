"""claude-mem: its observations and summaries, from its database and from its export."""

from __future__ import annotations

from pathlib import Path

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
