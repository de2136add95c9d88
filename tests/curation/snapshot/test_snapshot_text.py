"""MEMORY_SNAPSHOT.md is written and read exactly as by ZeroClaw, also with hostile texts."""

from __future__ import annotations

import asyncio
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from snapshot_samples import FOREIGN_FILE, PIECES, VERSIONS, entry, real_snapshot, recorded_hydration, rows_in
from support import golden, small_store
from support.installs import make_install
from support.memories import Row

from zeroclaw_tui.curation import changes
from zeroclaw_tui.curation.formats.snapshot import SIDE_CAR, can_be_written, load, losses, read_snapshot, snapshot_text
from zeroclaw_tui.curation.snapshot import compare, place_of, plan_hydrate, write_snapshot
from zeroclaw_tui.curation.transfer.imports import import_memories
from zeroclaw_tui.curation.transfer.plan import Target

NOW = datetime(2026, 11, 21, 20, 59, 41, tzinfo=UTC)
ODD_KEYS = (
    "k", "key 1", "other", "", "`", "a`b", "two\nlines", "end`\n### 🔑 `more", " blanks ", "\r", "é", "\x00nul",
)  # fmt: skip
_text = st.lists(st.sampled_from(PIECES) | st.text(max_size=20), max_size=5).map("\n".join)
_keys = st.sampled_from(ODD_KEYS) | _text


@pytest.mark.parametrize("version", VERSIONS)
def test_a_snapshot_equals_the_one_exported_by_zeroclaw(version, tmp_path):
    """The file is equal except for the time of the export."""
    real = real_snapshot(version)
    columns = ("id", "key", "content", "category", "created_at", "updated_at")
    rows = [row for row in rows_in(golden.database(version, "brain.db", tmp_path), columns) if row[3] == "core"]
    rows.sort(key=lambda row: row[5], reverse=True)
    core = [entry(key, content, timestamp=made, updated_at=changed) for _, key, content, _, made, changed in rows]
    exported = datetime.fromisoformat(read_snapshot(real).exported or "")
    assert snapshot_text(core, exported) == real


@pytest.mark.parametrize("version", VERSIONS)
def test_a_real_snapshot_is_read_as_zeroclaws_hydration_read_it(version, tmp_path):
    """Keys, contents and order are the same, with the dates that ZeroClaw itself drops."""
    read = read_snapshot(real_snapshot(version))
    assert [(found.key, found.values["content"]) for found in read.rows] == recorded_hydration(version, tmp_path)
    assert not read.because
    assert all(found.values["created_at"] and found.values["updated_at"] for found in read.rows)


@given(rows=st.lists(st.tuples(_keys, _text), max_size=4))
@example(rows=[("k", "a\n---\nb"), ("k", "a")])
@example(rows=[("k", "a\n### 🔑 `other`\nb"), ("other", "c")])
def test_the_reported_losses_are_exactly_those_of_zeroclaws_format(rows):
    memories = [Row.from_entry(entry(key, content, id=str(at))) for at, (key, content) in enumerate(rows)]
    written = [row.entry() for row in memories if can_be_written(row)]
    read = {found.key: found.values["content"] for found in read_snapshot(snapshot_text(written, NOW)).rows}
    whole = [(key, content) for at, (key, content) in enumerate(rows) if key not in dict(rows[:at])]
    exact = [key for key, content in whole if read.get(key) == content]
    assert Counter(losses(memories)) == Counter(key for key, _ in rows) - Counter(exact)


@pytest.mark.parametrize(
    ("text", "because"), [(FOREIGN_FILE, "another program"), ("", "empty"), ("### `k`\n\ntext\n", "another program")]
)
def test_a_file_of_another_program_is_recognised(text, because):
    read = read_snapshot(text)
    assert because in read.because


# Round trips


async def _round_trip(folder: Path, rows: list[dict[str, Any]]) -> None:
    install = make_install(folder, "G1", rows)
    database = install.database
    before = rows_in(database)
    async with install.opened() as library:
        await write_snapshot(library)
        file = place_of(library.config)
        assert {difference.where for difference in await compare(library, load(file))} == {"same"}
        small_store.change(database, "DELETE FROM memories")
        await _hydrate(Target.of(library), file)
        assert sorted(rows_in(database)) == sorted(before)
        await changes.undo(library)
        assert rows_in(database) == []
    # Without the lossless copy, the result is what ZeroClaw itself would read.
    file.with_name(SIDE_CAR).unlink()
    for name in ("brain.db", "brain.db-wal", "brain.db-shm"):
        (database.parent / name).unlink(missing_ok=True)
    target = await Target.at(install.config(), "0.1.7")
    await _hydrate(target, file)
    await target.close()
    read = {(found.key, found.values["content"]) for found in read_snapshot(file.read_bytes().decode()).rows}
    assert (set(rows_in(database, ("key", "content"))) if database.exists() else set()) == read


async def _hydrate(target: Target, file: Path) -> None:
    await import_memories(target, await plan_hydrate(target, file), "skip")


@settings(max_examples=5, deadline=None)
@example(rows=[("k", "---\n*Created: x*\n### 🔑 `other`\r\n\x00"), ("two\nlines", "`"), ("end`\n### 🔑 `more", " \n ")])
@example(rows=[("big", "0123456789abcde\n" * 16384)])
@given(rows=st.lists(st.tuples(_keys, _text), min_size=1, max_size=5, unique_by=lambda row: row[0]))
def test_every_memory_is_restored_exactly_from_the_lossless_copy(rows):
    """Into an existing store and a new one; without the copy, only what ZeroClaw's format preserves is restored."""
    with tempfile.TemporaryDirectory() as folder:
        made = [
            {"key": key, "content": content, "session_id": None if at % 2 else "s"}
            for at, (key, content) in enumerate(rows)
        ]
        asyncio.run(_round_trip(Path(folder) / "zc", made))
