"""Portable AI Memory."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from note_samples import DATA, FORMATS, degree, read, sample

from zeroclaw_tui.curation.formats.pam import PortableAiMemory
from zeroclaw_tui.memory.errors import InspectorError, UsageError

PAM = PortableAiMemory()
STORE = json.loads((DATA / "formats" / "pam" / "memory-store.json").read_text())
JUNK = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | st.text() | st.just("\ud800"),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def test_memories_and_relations_of_a_store_and_what_has_no_place_is_counted(tmp_path: Path) -> None:
    found = read(PAM, sample("pam", tmp_path))
    assert {key: (row.values["category"], row.values["content"]) for key, row in found.rows.items()} == {
        "pam_9a1b00000000": ("fact", "Mila keeps bees on the roof\n\nTags: home"),
        "pam_mem_2": ("preference", "Mila prefers white bread"),
        "pam_mem_3": ("bread", "Mila prefers rye bread"),
        "pam_rel_rel_1": ("relation", "Bees – related to – Mila prefers rye bread"),
    }
    first = found.rows["pam_9a1b00000000"].values
    assert first["created_at"] == "2026-02-01T10:00:00Z"
    assert first["updated_at"] == "2026-03-01T10:00:00Z"
    assert first["session_id"] == "conv-1"
    assert found.rows["pam_mem_2"].values["superseded_by"] == "pam_mem_3"
    report = found.report
    assert report.skipped == {"retracted": 1, "expired": 1}
    assert report.lost == {
        "confidence": 1, "summary": 1, "status": 1, "provenance": 3, "relations": 1, "conversations": 1,
    }  # fmt: skip
    assert report.guessed_dates == 0


def test_likeness_is_that_of_the_schema(tmp_path: Path) -> None:
    folder = sample("pam", tmp_path)
    assert degree(PAM, folder) == degree(PAM, folder / "memory-store.json") == 1
    other = tmp_path / "memory-store.json"
    other.write_text('{"memories": []}')
    assert degree(PAM, other) == 0
    for tool in FORMATS:
        assert degree(PAM, DATA / "formats" / tool) == 0


def test_a_file_without_memories_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "memory-store.json"
    path.write_text('{"schema": "portable-ai-memory"}')
    with pytest.raises(UsageError, match=r"memory-store\.json is no Portable AI Memory"):
        read(PAM, path)


@given(st.data())
def test_a_broken_memory_is_counted_and_the_others_are_read(data: st.DataObject) -> None:
    store = json.loads(json.dumps(STORE))
    memory, place = (
        store["memories"][0],
        data.draw(st.sampled_from([*STORE["memories"][0], "temporal.created_at", "."])),
    )
    block, _, name = place.rpartition(".")
    if place == ".":
        store["memories"][0] = data.draw(JUNK)
    else:
        (memory[block] if block else memory)[name] = data.draw(JUNK)
    with TemporaryDirectory() as folder:
        path = Path(folder, "memory-store.json")
        path.write_text(json.dumps(store))
        found = read(PAM, path)
        assert {"pam_mem_2", "pam_mem_3"} <= found.rows.keys()
        for row in found.rows.values():
            assert row.entry().content.strip()
        assert read(PAM, path).rows == found.rows


@given(st.binary(max_size=20), st.integers(0, 1500))
def test_a_file_that_was_cut_off_is_refused(data: bytes, at: int) -> None:
    whole = json.dumps(STORE).encode()
    with TemporaryDirectory() as folder:
        path = Path(folder, "memory-store.json")
        path.write_bytes(whole[:at] + data)
        assert degree(PAM, path) in (0, 1)
        with pytest.raises(InspectorError):
            read(PAM, path)
