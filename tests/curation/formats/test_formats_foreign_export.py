"""Memories written in another tool's form are read back as they were, as far as the form has a place for them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from format_sources import read, value

from zeroclaw_tui.curation.formats.detection import detect
from zeroclaw_tui.curation.formats.source import Report, Source
from zeroclaw_tui.curation.transfer.export import mem0_json, memory_rs_json, server_memory_lines
from zeroclaw_tui.memory.change import StoredRow

Writer = Callable[[Iterable[StoredRow], Counter[str]], Iterator[bytes]]
NAMES = (
    "key", "content", "category", "created_at", "updated_at", "session_id", "namespace", "importance", "pinned", "kind",
    "superseded_by",
)  # fmt: skip


def rows() -> list[StoredRow]:
    """Three of a store of ZeroClaw 0.8.4."""
    plain = {"created_at": "2026-01-02T03:04:05.123456789+02:00", "updated_at": "2026-01-03T03:04:05+02:00"}
    return [
        StoredRow(
            "0f2b3c4d-0000-4000-8000-000000000001",
            {
                "id": "0f2b3c4d-0000-4000-8000-000000000001",
                "key": "user_lang",
                "content": 'Prefers Rust\n\n"and" tea 🫖',
                "category": "core",
                **plain,
                "session_id": "telegram_mila",
                "namespace": "home",
                "importance": 0.7,
                "pinned": 1,
                "kind": '{"semantic":"preference"}',
                "superseded_by": "core_x",
                "embedding": b"\0\0\x80?",
                "tenant_id": None,
            },
            1,
            "helper",
        ),
        StoredRow("2", {"id": "2", "key": "My Key!", "content": "B", "category": "My Own", **plain, "pinned": 0}, 2),
        StoredRow("3", {"id": "3", "key": "user_lang", "content": "C", "category": "daily", **plain}, 3, "other"),
    ]


def written(writer: Writer, path: Path) -> Counter[str]:
    """What found no place."""
    lost: Counter[str] = Counter()
    path.write_bytes(b"".join(writer(rows(), lost)))
    return lost


@pytest.mark.parametrize("writer", [mem0_json, memory_rs_json, server_memory_lines])
def test_every_field_comes_back(writer: Writer, tmp_path: Path) -> None:
    """Also the key that two agents have, each a memory of its own by it."""
    lost, report = written(writer, tmp_path / "x.json"), Report()
    source = Source(tmp_path / "x.json")
    found = [row for _, row in detect(source).format.memories(source, report)]
    for row, back in zip(rows(), found, strict=True):
        assert value(back, *NAMES) == value(row, *NAMES)
        assert back.agent == row.agent
    assert lost == {"embedding": 1}
    assert not report.guessed_dates


def test_mem0_and_memory_rs_find_their_own_fields(tmp_path: Path) -> None:
    written(mem0_json, tmp_path / "mem0.json")
    first = json.loads((tmp_path / "mem0.json").read_text(encoding="utf-8"))["results"][0]
    assert (first["memory"], first["user_id"], first["run_id"]) == (
        'Prefers Rust\n\n"and" tea 🫖',
        "home",
        "telegram_mila",
    )
    written(memory_rs_json, tmp_path / "rs.json")
    item = json.loads((tmp_path / "rs.json").read_text(encoding="utf-8"))[1]
    assert (item["memory_type"], item["user_id"], item["agent_id"]) == ("My Own", "default", None)
    assert all(isinstance(text, str) for text in item["metadata"].values())


def test_an_entity_of_the_graph_is_a_memory_by_its_key(tmp_path: Path) -> None:
    """The server leaves out what is ours where it writes the file anew; then an entity is read as any other."""
    written(server_memory_lines, tmp_path / "memory.jsonl")
    entities = [json.loads(line) for line in (tmp_path / "memory.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [entity["name"] for entity in entities] == ["user_lang", "My Key!", "user_lang (other)"]
    its_own = ("type", "name", "entityType", "observations")
    anew = [json.dumps({name: entity[name] for name in its_own}) for entity in entities]
    (tmp_path / "memory.jsonl").write_text("\n".join(anew), encoding="utf-8")
    found, _ = read(tmp_path / "memory.jsonl")
    assert [value(row, "content", "category") for row in found.values()] == [
        ('user_lang: Prefers Rust\n\n"and" tea 🫖', "core"),
        ("My Key!: B", "my_own"),
        ("user_lang (other): C", "daily"),
    ]


@pytest.mark.parametrize("writer", [mem0_json, memory_rs_json, server_memory_lines])
def test_text_that_is_no_unicode_is_counted_and_does_not_stop_the_export(writer: Writer) -> None:
    lost: Counter[str] = Counter()
    row = StoredRow("\udcff", {"key": "a\udcff", "content": b"\xff", "category": "core", "created_at": "never"})
    data = b"".join(writer([row], lost))
    assert "�".encode() in data
    assert lost["text that is no Unicode"] >= 2


@pytest.mark.parametrize("writer", [mem0_json, memory_rs_json])
@pytest.mark.parametrize("number", ["1e999", "9" * 5000], ids=["exponent", "digits"])
def test_metadata_with_a_number_that_is_too_large_is_counted_and_does_not_stop_the_export(
    writer: Writer, number: str
) -> None:
    lost: Counter[str] = Counter()
    values = {"key": "a", "content": "A", "category": "core", "created_at": "2026-01-02T03:04:05Z"}
    row = StoredRow("1", {**values, "metadata": f'{{"size": [{number}]}}'})
    assert b'"A"' in b"".join(writer([row], lost))
    assert lost == {"metadata": 1}


@pytest.mark.parametrize("writer", [mem0_json, memory_rs_json, server_memory_lines])
def test_nothing_to_write_is_a_whole_file_too(writer: Writer) -> None:
    data = b"".join(writer([], Counter()))
    assert data == b"" or json.loads(data) in ([], {"results": []})
