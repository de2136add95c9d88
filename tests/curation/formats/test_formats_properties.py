"""Whatever lies in a source, it is read the same way twice, and broken bytes raise nothing but a clear sentence."""

from __future__ import annotations

import json
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from format_sources import DATA, FILES
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.curation.formats.detection import FORMATS, detect
from zeroclaw_tui.curation.formats.old_source import Report, Source
from zeroclaw_tui.memory.change import Row
from zeroclaw_tui.memory.errors import InspectorError


def _is_text(text: str) -> bool:
    return "\0" not in text


NAMES = st.sampled_from(
    [
        *("name", "entityType", "observations", "type", "from", "to", "relationType", "entities", "relations"),
        *("results", "memory", "id", "user_id", "agent_id", "metadata", "categories", "created_at", "createdAt"),
        *("expiration_date", "content", "memory_type", "text", "title", "narrative", "facts", "concepts", "sync_id"),
        *("topic_key", "deleted_at", "sessions", "summaries", "agents", "blocks", "block_ids", "label", "value"),
    ]
)
TIMES = st.sampled_from(["0001-01-01", "9999-12-31 23:59:59", "0001-01-01T00:00:00+14:00", "2026-W01-1", "20260101"])
CELLS = st.none() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(max_size=12).filter(_is_text) | TIMES
LEAVES = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=12) | TIMES
VALUES = st.recursive(
    LEAVES | st.sampled_from(['["a"]', "9a1b0000-0000-4000-8000-000000000001"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(NAMES, inner, max_size=6),
    max_leaves=25,
)
RECORDS = st.lists(st.dictionaries(NAMES, VALUES, max_size=8), max_size=5)


def _rows(path: Path, name: str) -> list[tuple[str, Row]]:
    source = Source(path)
    return list(detect(source, name).format.memories(source, Report()))


def _mangled(data: bytes, draw: Any) -> bytes:
    cut = draw(st.integers(0, len(data)))
    changed = bytearray(data[:cut] if draw(st.booleans()) else data)
    for at, byte in draw(st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=12)):
        if changed:
            changed[at % len(changed)] = byte
    return bytes(changed)


def _read_or_refused(path: Path) -> None:
    for tool in FORMATS:
        source = Source(path)
        try:
            rows = list(tool.memories(source, Report()))
        except InspectorError:
            continue
        said = [repr((row.agent, row.values)) for _, row in rows]
        assert len(set(said)) == len(said)
        for _, row in rows:
            assert isinstance(row.values["content"], str)
            assert str(row.values["content"]).strip()
            assert row.values["created_at"]
    with suppress(InspectorError):
        detect(Source(path))


@pytest.mark.parametrize(("name", "tool"), FILES.items())
def test_a_source_read_twice_gives_the_same(name: str, tool: str) -> None:
    assert _rows(DATA / name, tool) == _rows(DATA / name, tool) != []


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_a_file_of_changed_bytes_is_read_or_refused(name: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(_mangled((DATA / name).read_bytes(), data.draw))
        _read_or_refused(path)


@given(document=RECORDS | VALUES, lines=st.booleans())
def test_any_json_is_read_or_refused(document: Any, lines: bool) -> None:
    parts = document if lines and isinstance(document, list) else [document]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.json"
        path.write_text("\n".join(json.dumps(part) for part in parts), encoding="utf-8")
        _read_or_refused(path)
