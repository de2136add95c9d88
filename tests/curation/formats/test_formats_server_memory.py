"""The knowledge graph of MCP's server "memory": each observation and each relation becomes a memory."""

from __future__ import annotations

import json
from pathlib import Path

from format_sources import DATA, read, value

from zeroclaw_tui.curation.formats.graphs import ServerMemory
from zeroclaw_tui.memory.entry import kind_from


def test_each_observation_and_relation_is_found_by_the_name_it_is_about() -> None:
    rows, report = read(DATA / "server_memory.jsonl")
    assert [row.values["content"] for row in rows.values()] == [
        "Mila: Keeps bees",
        "Mila: Prefers rye bread",
        "Mila runs Honey stall",
    ]
    assert [row.values["category"] for row in rows.values()] == ["person", "person", "relation"]
    assert all(key.startswith("mcp_mila_") for key in rows)
    assert report.guessed_dates == 3
    assert [kind_from(row.values.get("kind")) for row in rows.values()] == [None, None, "semantic:fact"]


def test_dialects_keep_their_times_and_what_finds_no_place_is_counted() -> None:
    rows, report = read(DATA / "server_memory_dialect.jsonl")
    told = {row.values["content"]: value(row, "category", "created_at") for row in rows.values()}
    assert told["Mila: Keeps bees"] == ("bee_keeper", "2026-03-01T10:00:00Z")
    assert told["Mila: Owns a smoker"] == ("bee_keeper", "2026-02-01T10:00:00Z")
    assert told["Honey stall: Opens on Saturday"][0] == "place"
    assert "Mila runs Honey stall" in told
    assert "Smoker (tool)" in told, "an entity that nothing speaks of is a memory of its own"
    assert report.lost == {"weight": 1}


def test_every_field_that_finds_no_place_is_counted_and_a_change_is_dated(tmp_path: Path) -> None:
    mila = {
        "_type": "entity",
        "_savedAt": "2026-03-01T10:00:00Z",
        "name": "Mila",
        "entityType": "person",
        "observations": [{"text": "Keeps bees", "timestamp": "2026-02-01T10:00:00Z", "version": "1.0"}],
        "createdBy": "Jurg",
    }
    runs = {"from": "Mila", "to": "Stall", "relationType": "runs", "createdBy": "Jurg", "updatedBy": "Mila"}
    runs |= {"createdAt": 1_768_354_862, "updatedAt": 1_768_354_900}
    (tmp_path / "memory.jsonl").write_text("\n".join(map(json.dumps, (mila, runs))))
    rows, report = read(tmp_path / "memory.jsonl")
    assert [value(row, "created_at", "updated_at") for row in rows.values()] == [
        ("2026-02-01T10:00:00Z", "2026-02-01T10:00:00Z"),
        ("2026-01-14T01:41:02+00:00", "2026-01-14T01:41:40+00:00"),
    ]
    assert report.lost == {"savedAt": 1, "version": 1, "createdBy": 2, "updatedBy": 1}


def test_a_line_that_was_cut_off_costs_that_line_alone(tmp_path: Path) -> None:
    whole = (DATA / "server_memory.jsonl").read_bytes()
    (tmp_path / "memory.json").write_bytes(whole[:-20])
    rows, report = read(tmp_path / "memory.json")
    assert len(rows) == 2
    assert report.skipped == {"cut off": 1}
    assert "Line 2 of memory.json is cut off." in report.notes


def test_the_answer_of_read_graph_is_taken_in_one_document(tmp_path: Path) -> None:
    lines = [json.loads(line) for line in (DATA / "server_memory.jsonl").read_text(encoding="utf-8").splitlines()]
    (tmp_path / "graph.json").write_text(json.dumps({"entities": lines[:1], "relations": lines[1:]}, indent=2))
    rows, _ = read(tmp_path / "graph.json")
    same, _ = read(DATA / "server_memory.jsonl")
    assert list(rows) == list(same)


def test_the_same_observation_twice_is_one_memory(tmp_path: Path) -> None:
    line = '{"type":"entity","name":"Mila","entityType":"person","observations":["Keeps bees","Keeps bees"]}'
    (tmp_path / "memory.jsonl").write_text(line)
    rows, report = read(tmp_path / "memory.jsonl")
    assert len(rows) == 1
    assert report.skipped == {"twice": 1}


def test_a_line_about_the_program_may_stand_first_and_other_files_beside(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{\n  "name": "x"\n}\n')
    lines = (DATA / "server_memory.jsonl").read_bytes()
    (tmp_path / "memory.jsonl").write_bytes(b'{"type":"_marker","source":"a-knowledge-graph"}\n' + lines)
    rows, report = read(tmp_path, ServerMemory())
    assert len(rows) == 3
    assert report.skipped == {"not understood": 1}
