"""A JSONL export is complete, can be imported again, and its file is private."""

from __future__ import annotations

import os
import stat
from typing import Any

import pytest
from support.memories import Refused, Unreadable
from support.small_store import blob, change, make
from support.whole_store import everything, hits
from transfer_world import EVERYTHING, exported, imported, opened

from zeroclaw_tui.curation.export import export_file
from zeroclaw_tui.curation.transfer.comparison import Stopped

ODD_ROWS: list[dict[str, Any]] = [
    {"id": "1", "key": "plain", "content": "words to find", "embedding": blob(1, 2, 3)},
    {"id": "2", "key": b"blob key", "content": b"\x00\xff", "category": b"\xfe", "importance": "text"},
    {"id": "3", "key": 7, "content": 3.5, "category": 9, "importance": float("inf")},
    {"id": "4", "key": "k\r\n\0", "content": "x" * 1_000_000 + "\0", "session_id": "", "importance": 1},
    {"id": "5", "key": "", "content": "", "updated_at": 0, "importance": -0.0},
]


@pytest.mark.parametrize("generation", ["G1", "G2", "G3", "G4"])
async def test_jsonl_restores_every_table_row_exactly(generation, tmp_path):
    """Including rowids, types, bytes, vectors and unknown columns."""
    lacks = {"G1": ("importance",)}.get(generation, ())
    rows = [{name: value for name, value in row.items() if name not in lacks} for row in ODD_ROWS]
    source = make(tmp_path / "source.db", generation, rows)
    change(source, "ALTER TABLE memories ADD COLUMN \"Mood of the day\" BLOB DEFAULT x'ff00'")
    change(source, "UPDATE memories SET content = CAST(x'ff41' AS TEXT) WHERE id = '5'")
    change(source, "UPDATE memories SET rowid = 900 WHERE id = '2'")
    target = make(tmp_path / "target.db", generation, [])
    change(target, 'ALTER TABLE memories ADD COLUMN "Mood of the day" BLOB')
    file = await exported(source, tmp_path / "all.jsonl", vectors=True)
    outcome = await imported(target, file)
    assert outcome.count == 5
    assert everything(target)["memories"] == everything(source)["memories"]
    assert hits(target, ["words"]) == hits(source, ["words"])


async def test_an_export_file_is_private_and_complete_or_absent(tmp_path):
    source, file = make(tmp_path / "source.db", "G4", ODD_ROWS), tmp_path / "all.jsonl"
    async with opened(source) as library:
        with pytest.raises(Stopped):
            await export_file(library, EVERYTHING, file, "jsonl", on_progress=lambda done: False)
        assert not file.exists()
        done = await export_file(library, EVERYTHING, file, "jsonl")
        with pytest.raises(Refused, match="already exists"):
            await export_file(library, EVERYTHING, file, "jsonl")
        with pytest.raises(Refused, match="is a directory"):
            await export_file(library, EVERYTHING, tmp_path, "jsonl", overwrite=True)
        with pytest.raises(Unreadable, match="cannot be written"):
            await export_file(library, EVERYTHING, tmp_path / "no" / "such", "jsonl")
        for name in (source.name, f"{source.name}-wal"):
            with pytest.raises(Refused, match="belongs to the store"):
                await export_file(library, EVERYTHING, tmp_path / name, "jsonl", overwrite=True)
        file.write_bytes(b"old")
        again = await export_file(library, EVERYTHING, file, "jsonl", overwrite=True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert (done.count, again.count, again.size) == (5, 5, file.stat().st_size)
    assert not [name for name in os.listdir(tmp_path) if name.startswith(".")]
