"""MEMORY_SNAPSHOT.md is written and read as ZeroClaw writes and reads it, to the byte."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from snapshot_samples import OTHERS_FILE, PIECES, VERSIONS, entry, real_snapshot, really_hydrated, rows_in
from support import golden

from zeroclaw_tui.curation.formats.snapshot import can_be_written, losses, read_snapshot, snapshot_text
from zeroclaw_tui.memory.change import Row

NOW = datetime(2026, 11, 21, 20, 59, 41, tzinfo=UTC)
_text = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), min_size=0, max_size=5).map("\n".join)
_keys = (
    st.sampled_from(("key 1", "other", "", "`", "a`b", "two\nlines", "end`\n### 🔑 `more", " blanks ", "\r")) | _text
)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_store_gives_the_very_file_its_zeroclaw_exported(version, tmp_path):
    """But for the moment of the export."""
    real = real_snapshot(version)
    columns = ("id", "key", "content", "category", "created_at", "updated_at")
    rows = [row for row in rows_in(golden.database(version, "brain.db", tmp_path), columns) if row[3] == "core"]
    rows.sort(key=lambda row: row[5], reverse=True)
    core = [entry(key, content, timestamp=made, updated_at=changed) for _, key, content, _, made, changed in rows]
    exported = datetime.fromisoformat(read_snapshot(real).exported or "")
    assert snapshot_text(core, exported) == real


@pytest.mark.parametrize("version", VERSIONS)
def test_a_real_snapshot_is_read_as_its_zeroclaw_hydrated_it(version):
    """The same keys and contents in the same order, and the dates that ZeroClaw itself lets go of."""
    read = read_snapshot(real_snapshot(version))
    assert [(found.key, found.values["content"]) for found in read.rows] == really_hydrated(version)
    assert not read.because
    assert all(found.values["created_at"] and found.values["updated_at"] for found in read.rows)


@given(rows=st.lists(st.tuples(_keys, _text), max_size=4))
@example(rows=[("k", "a\n---\nb"), ("k", "a")])
@example(rows=[("k", "a\n### 🔑 `other`\nb"), ("other", "c")])
def test_what_is_lost_is_exactly_what_zeroclaw_reads_otherwise(rows):
    memories = [Row.of(entry(key, content, id=str(at))) for at, (key, content) in enumerate(rows)]
    written = [row.entry() for row in memories if can_be_written(row)]
    read = {found.key: found.values["content"] for found in read_snapshot(snapshot_text(written, NOW)).rows}
    whole = [(key, content) for at, (key, content) in enumerate(rows) if key not in dict(rows[:at])]
    exact = [key for key, content in whole if read.get(key) == content]
    assert Counter(losses(memories)) == Counter(key for key, _ in rows) - Counter(exact)


@pytest.mark.parametrize(
    ("text", "because"), [(OTHERS_FILE, "another program"), ("", "empty"), ("### `k`\n\ntext\n", "another program")]
)
def test_a_file_of_another_program_is_recognised(text, because):
    read = read_snapshot(text)
    assert because in read.because
