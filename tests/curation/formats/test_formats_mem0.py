"""What mem0 leaves behind, whichever way: JSON, two kinds of vector store, a history, a plugin's Markdown."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from format_sources import (
    DATA,
    MEM0_HISTORY,
    MEM0_VECTORS,
    UNIT_VECTOR,
    database,
    pickled_point,
    qdrant,
    read,
    value,
)
from qdrant_client import QdrantClient
from qdrant_client.models import Distance, PointStruct, VectorParams

from zeroclaw_tui.curation.formats.detection import detect
from zeroclaw_tui.curation.formats.pickled_points import RefusedPickle, unpickled_values
from zeroclaw_tui.curation.formats.source import Source
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
        with pytest.raises(UsageError, match="looks like no memories"):
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
    with pytest.raises(UsageError, match="looks like no memories"):
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


def test_the_typescript_store_brings_its_vectors(tmp_path: Path) -> None:
    rows, report = read(database(tmp_path / "vector_store.db", MEM0_VECTORS))
    assert value(rows[BEES], "content", "session_id", "embedding") == ("Mila keeps bees", "r1", UNIT_VECTOR)
    assert value(rows["mem0_9a1b00000001"], "embedding") == (None,), "two bytes are no vector"
    assert report.skipped == {"not understood": 1}


def test_a_history_gives_the_last_text_of_what_was_not_deleted(tmp_path: Path) -> None:
    rows, report = read(database(tmp_path / "history.db", MEM0_HISTORY))
    assert list(rows) == [BEES]
    assert value(rows[BEES], "content", "created_at", "updated_at") == (
        "Mila keeps bees",
        "2026-02-01T10:00:00-08:00",
        "2026-02-03T10:00:00-08:00",
    )
    assert (report.skipped, report.lost) == ({"deleted": 1}, {"history": 1})
    database(tmp_path / "vector_store.db", MEM0_VECTORS)
    rows, report = read(tmp_path)
    assert (len(rows), list(report.left)) == (2, ["history.db"]), "beside the store it is named and not read"


def test_a_plugins_export_survives_a_line_of_dashes_in_a_text() -> None:
    rows, report = read(DATA / "mem0_plugin.md")
    first, second = rows.values()
    assert first.values["content"] == (
        "Frames are swapped in April.\n\n---\n\nThis belongs to the same memory.\n\nTags: home"
    )
    assert (first.values["category"], second.values["category"]) == ("bees", "convention")
    assert report.lost == {"confidence": 2, "branch": 2, "files": 1}


def test_a_block_of_a_plugin_without_confidence_is_one_of_its_own(tmp_path: Path) -> None:
    head = "---\nid: {}\ncreated_at: 2026-01-01T00:00:00Z\n{}---\n"
    text = f"{head.format('a1', 'confidence: 0.9' + chr(10))}First\n\n{head.format('a2', '')}Second\n"
    (tmp_path / "x.md").write_text(text)
    rows, _ = read(tmp_path / "x.md")
    assert [row.values["content"] for row in rows.values()] == ["First", "Second"]


def _points() -> dict[str, list[tuple[str, bytes]]]:
    bees = {"data": "Mila keeps bees", "user_id": "mila", "created_at": "2026-03-01T10:00:00+00:00", "topic": "home"}
    return {
        "mem0": [
            (BEES, pickled_point("9a1b0000-0000-4000-8000-000000000001", [1.0, 0.0, 0.0], bees)),
            ("2", pickled_point("9a1b0000-0001-4000-8000-000000000002", {"": [1.0, 0.0, 0.0]}, {"data": "Wax"})),
            ("3", pickled_point("9a1b0000-0002-4000-8000-000000000003", [0.0], {"data": "x", "linked_memory_ids": []})),
        ],
        "mem0_entities": [("1", pickled_point("1", [1.0], {"data": "Mila"}))],
    }


def test_a_qdrant_folder_is_read_without_its_pickles_being_run(tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    points = _points()
    points["mem0"].append(("4", pickle.dumps(_Hostile(ran), protocol=4)))
    points["mem0"].append(("5", pickle.dumps({"payload": "none"})))
    rows, report = read(qdrant(tmp_path / "qdrant", points))
    assert list(rows) == [BEES, "mem0_9a1b00000001"]
    assert value(rows[BEES], "content", "namespace", "embedding") == ("Mila keeps bees", "mila", UNIT_VECTOR)
    assert value(rows["mem0_9a1b00000001"], "embedding") == (UNIT_VECTOR,), "the dense one of several vectors"
    assert report.skipped == {"refused": 2, "entities": 1}
    assert report.lost == {"metadata": 1}
    assert list(report.left) == ["collection/mem0_entities/storage.sqlite"]
    assert not ran.exists()
    alone, _ = read(tmp_path / "qdrant" / "collection" / "mem0" / "storage.sqlite")
    assert alone == rows


def test_what_qdrants_own_client_wrote_is_read(tmp_path: Path) -> None:
    client = QdrantClient(path=str(tmp_path / "qdrant"))
    client.create_collection("mem0", VectorParams(size=3, distance=Distance.COSINE))
    payload = {"data": "Mila keeps bees", "user_id": "mila", "created_at": "2026-03-01T10:00:00+00:00", "list": [1]}
    identifier = "9a1b0000-0000-4000-8000-000000000001"
    client.upsert("mem0", [PointStruct(id=identifier, vector=[1.0, 0.0, 0.0], payload=payload)])
    client.upsert("mem0", [PointStruct(id=7, vector=[0.0, 1.0, 0.0], payload={"data": "Wax is kept cold"})])
    client.close()
    rows, report = read(tmp_path / "qdrant")
    assert value(rows[BEES], "content", "namespace", "embedding") == ("Mila keeps bees", "mila", UNIT_VECTOR)
    assert rows["mem0_7"].values["content"] == "Wax is kept cold"
    assert not report.skipped


class _Hostile:
    def __init__(self, path: Path) -> None:
        self._path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self._path,)


@pytest.mark.parametrize(
    "data",
    [
        pickle.dumps(_Hostile(Path("x")), protocol=4),
        pickle.dumps(_Hostile(Path("x")), protocol=0),
        pickle.dumps(print, protocol=4),
        b"\x80\x04" + b")" + b"\x85" * 200_000 + b"\x94" + b"}h\x00K\x01s.",
        b"cos\nsystem\n(S'true'\ntR.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
    ],
    ids=["reduce", "reduce_0", "name", "deep_key", "global", "stack_global"],
)
def test_a_pickle_that_is_more_than_data_is_refused(data: bytes) -> None:
    with pytest.raises(RefusedPickle):
        unpickled_values(data)


def test_a_pickle_of_plain_values_is_what_it_was() -> None:
    plain = {"a": [1, 2.5, None, True, "ü", b"x", (1, 2, 3, 4)], "b": {"c": {1, 2}}, "d": ["a", "a"], "e": 10**20}
    assert unpickled_values(pickle.dumps(plain, protocol=4)) == plain


def test_a_table_of_vectors_of_another_program_is_not_taken_for_mem0(tmp_path: Path) -> None:
    script = "CREATE TABLE vectors (id TEXT, vector BLOB, payload TEXT); INSERT INTO vectors VALUES ('1', NULL, '{}')"
    source = Source(database(tmp_path / "vector_store.db", script))
    with pytest.raises(Exception, match="comes nearest to mem0"):
        detect(source)
