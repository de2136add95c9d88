"""`zeroclaw memory import`: says what a file would bring, asks, brings it in, and undo reverses that."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest
from support.commands import Command

from zeroclaw_tui.cli.transfer import SOURCES
from zeroclaw_tui.curation.formats.registry import FORMATS


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """Two new memories, one that is there the same, one whose key is taken."""
    path = tmp_path / "notes.jsonl"
    rows = [
        {"key": "new", "content": "New"},
        {"key": "newer", "content": "Newer", "category": "daily"},
        {"key": "lang", "content": "User prefers Rust"},
        {"key": "pet", "content": "Dog named Rex \u001b[31m"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _contents(install: Path) -> dict[str, str]:
    with closing(sqlite3.connect(install / "workspace" / "memory" / "brain.db")) as connection:
        return dict(connection.execute("SELECT key, content FROM memories"))


def test_a_dry_run_says_what_would_come_and_writes_nothing(memory: Command, install: Path, file: Path) -> None:
    before = _contents(install)
    done = memory("import", str(file), "--dry-run")
    assert done.code == 0
    assert done.out.splitlines()[:5] == [
        "Import 2 memories from notes.jsonl?",
        "  2 new",
        "  1 already there, the same",
        "  1 whose key is taken: left out (--overwrite replaces the existing ones, --rename adds these"
        " under another key)",
        "    pet",
    ]
    assert "Nothing was changed." in done.err
    assert _contents(install) == before
    assert not (install / "zeroclaw-tui").exists()


@pytest.mark.parametrize(
    ("option", "count", "pets"),
    [
        ((), 2, {"pet": "Cat named Mio"}),
        (("--overwrite",), 3, {"pet": "Dog named Rex \x1b[31m"}),
        (("--rename",), 3, {"pet": "Cat named Mio", "pet (imported f42e)": "Dog named Rex \x1b[31m"}),
    ],
)
def test_it_is_imported_as_chosen_and_undo_reverses_it(
    option: tuple[str, ...], count: int, pets: dict[str, str], memory: Command, install: Path, file: Path
) -> None:
    before = _contents(install)
    planned = memory("import", str(file), "--dry-run", "--json", *option).json
    named = {"file": str(file), "format": "jsonl", "new": 2, "same": 1, "taken": 1, "samples": ["pet"]}
    assert planned.items() >= {"verb": "import", "dry_run": True, "count": count, "action": None, **named}.items()
    done = memory("import", str(file), "--yes", *option)
    assert done.code == 0
    assert f"✓ Imported {count} memories from notes.jsonl; `zeroclaw memory undo` reverses that." in done.out
    assert {key: text for key, text in _contents(install).items() if key.startswith("pet")} == pets
    again = memory("import", str(file), "--yes", *option)
    assert (again.code, again.out.splitlines()[0]) == (0, "Nothing to import: of 4 memories in notes.jsonl")
    assert memory("undo", "--yes").code == 0
    assert _contents(install) == before


def test_a_broken_file_is_one_sentence_and_wrong_use(memory: Command, install: Path, tmp_path: Path) -> None:
    before = _contents(install)
    broken = tmp_path / "broken.jsonl"
    broken.write_text('{"key": "a", "content": "A"}\n{"key": "b", "cont')
    done = memory("import", str(broken), "--yes")
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("zeroclaw: Line 2 is not JSON. The file seems to have been cut off there.")
    assert memory("import", str(tmp_path / "none.csv"), "--yes").code == 1
    assert _contents(install) == before


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """What mem0 answers when it is asked for everything."""
    path = tmp_path / "export.json"
    memory = {"id": "9a1b0000-0000-4000-8000-000000000001", "memory": "Mila keeps bees", "categories": ["hobbies"]}
    path.write_text(json.dumps({"results": [{**memory, "hash": "90766144", "created_at": "2026-02-01T10:00:00Z"}]}))
    return path


def test_a_file_nobody_knows_names_what_was_looked_for(memory: Command, tmp_path: Path) -> None:
    (tmp_path / "x.bin").write_bytes(b"\x00\x01")
    done = memory("import", str(tmp_path / "x.bin"), "--yes")
    assert done.code == 2
    assert "x.bin has no format that is known here." in done.err
    assert "claude, openclaw, mcp" in done.err
    assert set(SOURCES) == set(FORMATS)


def test_reading_an_empty_database_names_the_verb_that_fills_it(memory: Command, install: Path) -> None:
    """An install's own may have been full before, so it is no store of 0 memories."""
    database = install / "workspace" / "memory" / "brain.db"
    for path in database.parent.iterdir():
        path.unlink()
    database.touch()
    read = memory("list")
    assert (read.code, "is empty (0 bytes)" in read.err) == (3, True)
    assert "Run `zeroclaw memory store KEY TEXT` to create the tables" in read.err
    stored = memory("store", "pet", "Cat named Mio")
    assert (stored.code, "brain.db has been created." in stored.err) == (0, True)
    assert memory("list", "--json").json["total"] == 1


@pytest.mark.parametrize(("place", "backend"), [("new.db", "sqlite"), ("notes", "markdown")])
def test_the_first_store_makes_a_place_that_is_named(run: Command, tmp_path: Path, place: str, backend: str) -> None:
    options = ("memory", "--location", str(tmp_path / place), "--backend", backend)
    assert run(*options, "list").code == 3
    refused = run(*options, "store", "pet", "Cat named Mio", "--read-only")
    assert (refused.code, (tmp_path / place).exists()) == (1, False)
    stored = run(*options, "store", "pet", "Cat named Mio")
    assert stored.code == 0
    assert "has been created." in stored.err
    assert run(*options, "list", "--json").json["total"] == 1
    assert run(*options, "undo", "--yes").code == 0
    assert run(*options, "list", "--json").json["total"] == 0
