"""What mem0 gives away as JSON."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from format_sources import DATA, read, value

from zeroclaw_tui.curation.formats.detection import detect
from zeroclaw_tui.curation.formats.old_source import Source
from zeroclaw_tui.memory.errors import UsageError

BEES = "mem0_9a1b00000000"


def test_json_of_either_spelling_brings_owner_session_and_dates() -> None:
    rows, report = read(DATA / "mem0.json")
    assert list(rows) == [BEES, "mem0_9a1b00000003"]
    names = ("content", "category", "namespace", "created_at")
    assert value(rows[BEES], *names) == (
        "Mila keeps bees\n\nTags: home",
        "hobbies",
        "mila",
        "2026-02-01T10:00:00.000001-08:00",
    )
    other = rows["mem0_9a1b00000003"]
    assert (other.agent, *value(other, "namespace", "session_id", "category")) == ("helper", "mila", "r1", "core")
    assert report.skipped == {"expired": 1, "empty": 1}
    assert report.lost == {"hash": 1, "metadata": 1, "role": 1}


def test_relations_come_as_text_and_what_nobody_knows_is_named(tmp_path: Path) -> None:
    memory = {"id": "1", "memory": "Mila keeps bees", "immutable": True, "structured_attributes": {"day": 1}, "x": None}
    relations = [{"source": "mila", "relationship": "sells", "target": "honey"}, {"source": "mila"}]
    (tmp_path / "x.json").write_text(json.dumps({"results": [memory], "relations": relations}))
    rows, report = read(tmp_path / "x.json")
    (relation,) = (row for row in rows.values() if row.values["category"] == "relation")
    assert value(relation, "content", "kind") == ("mila sells honey", '{"semantic":"fact"}')
    assert report.lost == {"immutable": 1, "structured attributes": 1}
    assert report.skipped == {"not understood": 1}


def test_memories_without_a_text_do_not_hide_the_others(tmp_path: Path) -> None:
    broken = [
        {"id": "1", "memory": None},
        {"id": "2", "memory": {"text": "x"}},
        {"id": "3", "text": "Ann", "memory": ""},
    ]
    rows = [*broken, {"id": "4", "memory": "Mila keeps bees", "created_at": 10**400}]
    (tmp_path / "x.json").write_text(json.dumps({"results": rows}))
    assert detect(Source(tmp_path / "x.json")).format.name == "mem0"
    found, report = read(tmp_path / "x.json")
    assert [row.values["content"] for row in found.values()] == ["Ann", "Mila keeps bees"]
    assert report.skipped == {"empty": 2}
    assert report.guessed_dates == 2


@pytest.mark.parametrize(
    "broken",
    [{"memory": None}, {"memory": {"text": "x"}}, {"created_at": "2026-03-01T10:00:00Z"}, {"userId": "mila"}],
    ids=["null", "object", "nothing but a date", "nothing but a user"],
)
def test_however_many_memories_have_no_text_the_others_come(tmp_path: Path, broken: dict[str, object]) -> None:
    rows = [*({"id": str(number), **broken} for number in range(60)), {"id": "60", "memory": "Mila keeps bees"}]
    (tmp_path / "x.json").write_text(json.dumps(rows))
    found, report = read(tmp_path / "x.json")
    assert [row.values["content"] for row in found.values()] == ["Mila keeps bees"]
    assert report.skipped == {"empty": 60}


@pytest.mark.parametrize(
    "fields",
    [
        {"memory": None},
        {"memory": "", "created_at": "2026-03-01T10:00:00Z"},
        {"memory": None, "userId": "mila", "immutable": True},
        {"memory": None, "hash": "90766144dbe09c13c5cdc343a0f2a496", "expiry": None},
        {"hash": "90766144dbe09c13c5cdc343a0f2a496", "user_id": "mila"},
    ],
    ids=["an id", "a blank text", "an owner", "a hash", "no field for the text"],
)
def test_a_file_of_memories_that_all_lost_their_text_is_known(tmp_path: Path, fields: dict[str, object]) -> None:
    (tmp_path / "x.json").write_text(json.dumps({"results": [{"id": str(number), **fields} for number in range(3)]}))
    assert detect(Source(tmp_path / "x.json")).format.name == "mem0"
    rows, report = read(tmp_path / "x.json")
    assert (rows, report.skipped) == ({}, {"empty": 3})


@pytest.mark.parametrize(
    "other",
    [
        {"id": 1, "memory": None, "cores": 8},
        {"user_id": "mila", "memory": {"limit": 5}},
        {"id": 1, "content": None, "created_at": "2026-03-01T10:00:00Z"},
        {"id": 1, "user_id": "mila", "text": ""},
        {"id": 1},
    ],
    ids=["a machine", "settings", "another content", "another text", "anything"],
)
def test_other_json_without_a_text_is_not_taken_for_mem0s(tmp_path: Path, other: dict[str, object]) -> None:
    for document in ([other, other], other):
        (tmp_path / "x.json").write_text(json.dumps(document))
        with pytest.raises(UsageError, match="is not in a format I recognise"):
            detect(Source(tmp_path / "x.json"))


def test_a_number_that_is_too_large_is_left_out_and_the_rest_comes(tmp_path: Path) -> None:
    large = "9" * 5000
    rows = [
        f'{{"id": {large}, "memory": "Mila keeps bees", "created_at": "2026-03-01T10:00:00Z", "visits": -{large}}}',
        f'{{"id": "2", "memory": "Wax is kept cold", "user_id": "mila", "created_at": {large}}}',
        f'{{"id": "3", "memory": {large}, "user_id": "mila"}}',
    ]
    (tmp_path / "x.json").write_text(f"[{', '.join(rows)}]")
    found, report = read(tmp_path / "x.json")
    assert [row.values["content"] for row in found.values()] == ["Mila keeps bees", "Wax is kept cold"]
    assert (report.skipped, report.lost, report.guessed_dates) == ({"empty": 1}, {"visits": 1}, 1)


def test_other_json_with_a_memory_is_not_taken_for_mem0s(tmp_path: Path) -> None:
    machines = [{"name": "hive", "memory": "16 GB"}, {"name": "attic"}]
    (tmp_path / "x.json").write_text(json.dumps(machines))
    with pytest.raises(UsageError, match="is not in a format I recognise"):
        detect(Source(tmp_path / "x.json"))


@pytest.mark.parametrize("shape", ["list", "one", "to_import"])
def test_json_in_its_other_shapes(tmp_path: Path, shape: str) -> None:
    first = json.loads((DATA / "mem0.json").read_text(encoding="utf-8"))["results"][0]
    shapes = {"list": [first], "one": first, "to_import": [{"text": "Mila keeps bees", "user_id": "mila"}]}
    (tmp_path / "x.json").write_text(json.dumps(shapes[shape]))
    rows, _ = read(tmp_path / "x.json")
    (row,) = rows.values()
    assert str(row.values["content"]).startswith("Mila keeps bees")
    assert row.values["namespace"] == "mila"
