"""engram: its database, its export, and the chunks that are shared by git."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from format_sources import DATA, ENGRAM, chunk, database, manifest, read, value


def observation(number: int, **values: Any) -> dict[str, Any]:
    """An observation of a chunk."""
    return {
        "id": number,
        "sync_id": f"obs-{number}",
        "session_id": "s1",
        "type": "decision",
        "title": f"Title {number}",
        "content": f"Text {number}",
        "project": None,
        "created_at": "2026-04-01 08:30:00",
        "updated_at": "2026-04-01 08:30:00",
        **values,
    }


def test_the_export_brings_topic_project_and_dates() -> None:
    rows, report = read(DATA / "engram.json")
    assert list(rows) == ["decision/frames", "engram_obs_2"]
    assert value(rows["decision/frames"], "content", "category", "namespace", "session_id", "created_at") == (
        "Swap in April\n\nFrames are swapped in April",
        "decision",
        "hive",
        "s1",
        "2026-04-01T08:30:00+00:00",
    )
    assert value(rows["engram_obs_2"], "namespace", "updated_at") == ("hive", "2026-04-01T08:50:00+00:00")
    assert report.skipped == {"deleted": 1, "prompts": 1}
    assert report.lost == {"revision count": 1, "tool name": 1, "scope": 1}


def test_what_a_session_came_to_is_a_memory_unless_an_observation_says_the_same(tmp_path: Path) -> None:
    ended = {"project": "hive", "started_at": "2026-04-01 08:00:00", "ended_at": "2026-04-01 09:00:00"}
    sessions = [
        {"id": "s1", **ended, "summary": "Frames were ordered."},
        {"id": "s2", **ended, "summary": " Text 2\n"},
        {"id": "s3", **ended, "summary": "  "},
        {"id": "s4", "project": "hive", "started_at": "2026-04-01 08:00:00"},
    ]
    document = {
        "exported_at": "2026-04-01 09:00:00",
        "sessions": sessions,
        "observations": [observation(1), observation(2, session_id="s2", title=None, type="session_summary")],
    }
    (tmp_path / "engram.json").write_text(json.dumps(document))
    rows, report = read(tmp_path / "engram.json")
    assert list(rows) == ["engram_obs_1", "engram_obs_2", "engram_session_s1"]
    names = ("content", "category", "namespace", "session_id", "created_at", "updated_at")
    assert value(rows["engram_session_s1"], *names) == (
        "Frames were ordered.",
        "session_summary",
        "hive",
        "s1",
        "2026-04-01T08:00:00+00:00",
        "2026-04-01T09:00:00+00:00",
    )
    assert report.skipped == {"twice": 1}


def test_two_sessions_of_long_names_that_begin_alike_have_keys_of_their_own(tmp_path: Path) -> None:
    names = [f"planning-of-the-apiary-on-the-roof-of-the-library-{part}" for part in ("a", "b", "c" * 300)]
    sessions = [{"id": name, "summary": f"Came to {name[-1]}."} for name in names]
    document = {"exported_at": "2026-04-01 09:00:00", "sessions": sessions, "observations": []}
    (tmp_path / "engram.json").write_text(json.dumps(document))
    rows, _ = read(tmp_path / "engram.json")
    assert [row.values["content"] for row in rows.values()] == ["Came to a.", "Came to b.", "Came to c."]
    assert list(rows)[:2] == [f"engram_session_{name}" for name in names[:2]]


def test_what_of_an_observation_finds_no_place_is_counted(tmp_path: Path) -> None:
    record = observation(1, review_after="2026-10-01 08:30:00", last_seen_at="2026-04-01 08:30:00")
    (tmp_path / "x.json").write_text(json.dumps({"observations": [record, observation(2, review_after=None)]}))
    assert read(tmp_path / "x.json")[1].lost == {"review after": 1}


@pytest.mark.parametrize(
    ("odd", "reason"),
    [
        ({"some": "settings"}, "empty"),
        ({"id": 9, "type": "change", "title": "Of claude-mem", "narrative": "Wax is kept cold"}, "not understood"),
        ("a line", "not understood"),
    ],
    ids=["another object", "claude-mem's", "text"],
)
def test_an_odd_first_observation_does_not_hide_the_others(tmp_path: Path, odd: Any, reason: str) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"observations": [odd, observation(1), observation(2)]}))
    rows, report = read(tmp_path / "x.json")
    assert list(rows) == ["engram_obs_1", "engram_obs_2"]
    assert report.skipped == {reason: 1}


def test_the_database_leaves_out_what_was_deleted(tmp_path: Path) -> None:
    rows, report = read(database(tmp_path / "engram.db", ENGRAM))
    assert list(rows) == ["decision/frames"]
    assert rows["decision/frames"].values["namespace"] == "hive", "an observation is of the project of its session"
    assert report.skipped == {"deleted": 1, "prompts": 1}


def test_later_chunks_hold_and_mutations_delete(tmp_path: Path) -> None:
    folder = tmp_path / "repository" / ".engram"
    manifest(folder, "0000000a", "0000000b")
    chunk(
        folder,
        "0000000a",
        sessions=[{"id": "s1", "project": "hive"}],
        observations=[observation(1), observation(2), observation(3)],
        prompts=[{"content": "plan it"}],
    )
    changed = json.dumps({"sync_id": "obs-3", "content": "Newer 3"})
    chunk(
        folder,
        "0000000b",
        observations=[observation(1, content="Newer 1")],
        mutations=[
            {"entity": "observation", "entity_key": "obs-2", "op": "delete", "payload": "{}"},
            {"entity": "observation", "entity_key": "obs-3", "op": "upsert", "payload": changed},
            {"entity": "relation", "entity_key": "rel-1", "op": "upsert", "payload": "{}"},
        ],
    )
    for named in (folder, folder.parent):
        rows, report = read(named)
        assert {key: row.values["content"] for key, row in rows.items()} == {
            "engram_obs_1": "Title 1\n\nNewer 1",
            "engram_obs_3": "Title 3\n\nNewer 3",
        }
        assert {row.values["namespace"] for row in rows.values()} == {"hive"}
        assert (report.skipped, report.lost) == ({"deleted": 1, "prompts": 1}, {"relations": 1})


def test_the_summaries_of_sessions_come_from_the_database_and_from_chunks(tmp_path: Path) -> None:
    script = f"""{ENGRAM}
        ALTER TABLE sessions ADD COLUMN ended_at TEXT; ALTER TABLE sessions ADD COLUMN summary TEXT;
        UPDATE sessions SET summary = 'Frames were ordered.';"""
    rows, _ = read(database(tmp_path / "engram.db", script))
    assert rows["engram_session_s1"].values["content"] == "Frames were ordered."
    folder = tmp_path / ".engram"
    manifest(folder, "0000000a", "0000000b")
    chunk(folder, "0000000a", sessions=[{"id": "s1", "project": "hive", "summary": "Frames were counted."}])
    ended = json.dumps({"ended_at": "2026-04-01 09:00:00", "summary": "Frames were ordered."})
    chunk(
        folder,
        "0000000b",
        mutations=[{"entity": "session", "entity_key": "s1", "op": "upsert", "payload": ended}],
    )
    rows, _ = read(folder)
    assert value(rows["engram_session_s1"], "content", "namespace", "updated_at") == (
        "Frames were ordered.",
        "hive",
        "2026-04-01T09:00:00+00:00",
    )


def test_only_eight_hex_digits_name_a_chunk(tmp_path: Path) -> None:
    folder = tmp_path / ".engram"
    manifest(folder, "../../secret", "0000000a", "0000000c")
    chunk(folder, "0000000a", observations=[observation(1)])
    chunk(folder, "0000000b", observations=[observation(2)])
    chunk(tmp_path, "secret", observations=[observation(3)])
    rows, report = read(folder)
    assert list(rows) == ["engram_obs_1"]
    assert set(report.left) == {"../../secret", "chunks/0000000b.jsonl.gz", "chunks/0000000c.jsonl.gz"}


def test_a_chunk_that_inflates_without_end_is_left(tmp_path: Path) -> None:
    folder = tmp_path / ".engram"
    manifest(folder, "0000000a", "0000000b", "0000000c")
    chunk(folder, "0000000a", observations=[observation(1)])
    chunk(folder, "0000000c", observations=[observation(2)])
    (folder / "chunks" / "0000000b.jsonl.gz").write_bytes(gzip.compress(b" " * 80 * 1024 * 1024))
    cut_off = folder / "chunks" / "0000000c.jsonl.gz"
    cut_off.write_bytes(cut_off.read_bytes()[:-20])
    rows, report = read(folder)
    assert list(rows) == ["engram_obs_1"]
    assert "too large when inflated" in report.left["chunks/0000000b.jsonl.gz"]
    assert "chunks/0000000c.jsonl.gz" in report.left
