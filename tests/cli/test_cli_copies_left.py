"""After a deletion every remaining copy of the text is reported, and cleaned places are really clean."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import small_store
from support.commands import Command
from support.left_texts import STAYS, TEXT, WORD, Left, config_of, plant


@pytest.fixture(params=["workspace", "data"])
def left(request: pytest.FixtureRequest, tmp_path: Path) -> Left:
    """An install of either generation with the text of a memory in every place."""
    config_dir = tmp_path / "zeroclaw"
    left = plant(config_dir, request.param)
    (config_dir / "config.toml").write_text(config_of(request.param))
    generation = "G2" if request.param == "workspace" else "G4"
    rows = ({"key": "quill", "content": TEXT}, {"key": "other", "content": STAYS})
    small_store.make(left.root / "memory" / "brain.db", generation, rows)
    return left


def _text_of(path: str) -> list[tuple[Any, ...]] | str:
    """Return the dump of a database or the content of a file."""
    if not path.endswith(".db"):
        return Path(path).read_text()
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        named = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table' AND sql NOT LIKE '%VIRTUAL%'")
        tables = sorted(name for (name,) in named if "_fts" not in name)
        return [row for name in tables for row in connection.execute(f"SELECT * FROM {name} ORDER BY 1")]


def _has_word(path: str) -> bool:
    """Whether a word of the text, in any spelling, is in a file or the log next to it."""
    files = [Path(path), Path(f"{path}-wal")]
    return any(WORD in file.read_bytes().lower() for file in files if file.exists())


def _message(document: Any) -> dict[str, str]:
    return {copy["place"]: copy["kind"] for copy in document["also_found_in"]}


def test_cleaned_places_have_no_copy_and_undo_restores_them(run: Command, left: Left, tmp_path: Path) -> None:
    """Every byte is removed, also from keyword indexes; all else stays, and undo restores the text."""
    before = {path: _text_of(path) for path in left.kinds}
    options = ("--config-dir", str(left.config_dir), "--yes", "--json")
    answer = run("memory", "forget", "quill", "--clean-copies", *options, HOME=str(tmp_path))
    assert (answer.code, answer.err) == (0, "")
    assert answer.json["cleaned"]["count"] == len(left.cleanable)
    assert [path for path in left.cleanable if _has_word(path)] == []
    message = _message(answer.json)
    assert {path for path in left.kinds if path in message} == left.kinds.keys() - left.cleanable
    for path in left.cleanable:
        assert STAYS in str(_text_of(path)) or "acp" in path
        assert len(_text_of(path)) <= len(before[path])
    undone = run("memory", "undo", *options, HOME=str(tmp_path))
    assert undone.json["undone"]["verb"] == "clean"
    assert {path: _text_of(path) for path in left.kinds} == before
    with closing(sqlite3.connect(left.root / "sessions" / "sessions.db")) as connection:
        found = connection.execute("SELECT rowid FROM sessions_fts WHERE sessions_fts MATCH 'zebediah'").fetchall()
    assert found == [(777,)]
