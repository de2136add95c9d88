"""Whatever lies in a source, it is read the same way twice, and broken bytes raise nothing but a clear sentence."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from contextlib import closing, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from format_sources import DATA, DATABASES, FILES, MEM0_HISTORY, database, pickled_point
from hypothesis import given
from hypothesis import strategies as st

from zeroclaw_tui.curation.formats.detection import FORMATS, detect
from zeroclaw_tui.curation.formats.pickled_points import RefusedPickle, unpickled_values
from zeroclaw_tui.curation.formats.source import Report, Source
from zeroclaw_tui.memory.change import StoredRow
from zeroclaw_tui.memory.errors import InspectorError


def _is_text(text: str) -> bool:
    return "\0" not in text


NAMES = st.sampled_from(
    [
        *("name", "entityType", "observations", "type", "from", "to", "relationType", "entities", "relations"),
        *("results", "memory", "id", "user_id", "agent_id", "metadata", "categories", "created_at", "createdAt"),
        *("expiration_date", "content", "memory_type", "text", "title", "narrative", "facts", "concepts", "sync_id"),
        *("topic_key", "deleted_at", "sessions", "summaries", "agents", "blocks", "block_ids", "label", "value"),
        "core_memory",
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


def _rows(path: Path, name: str) -> list[tuple[str, StoredRow]]:
    source = Source(path)
    return list(detect(source, name).format.memories(source, Report()))


@cache
def _databases() -> dict[str, bytes]:
    with tempfile.TemporaryDirectory() as folder:
        scripts = {**DATABASES, "mem0 history": MEM0_HISTORY}
        return {
            name: database(Path(folder) / f"{number}.db", script).read_bytes()
            for number, (name, script) in enumerate(scripts.items())
        }


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


def test_a_source_read_twice_gives_the_same(tmp_path: Path) -> None:
    sources = [(DATA / name, tool) for name, tool in FILES.items()]
    sources += [(database(tmp_path / f"{tool}.db", script), tool) for tool, script in DATABASES.items()]
    for path, tool in sources:
        assert _rows(path, tool) == _rows(path, tool) != []


@pytest.mark.parametrize("name", FILES)
@given(data=st.data())
def test_a_file_of_changed_bytes_is_read_or_refused(name: str, data: st.DataObject) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(_mangled((DATA / name).read_bytes(), data.draw))
        _read_or_refused(path)


@given(data=st.data())
def test_a_database_of_changed_bytes_is_read_or_refused(data: st.DataObject) -> None:
    stores = _databases()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        path.write_bytes(_mangled(stores[data.draw(st.sampled_from(sorted(stores)))], data.draw))
        _read_or_refused(path)


@given(data=st.data())
def test_a_database_of_any_values_is_read_or_refused(data: st.DataObject) -> None:
    """SQLite keeps any kind of value in any column."""
    stores = _databases()
    cells = CELLS | st.binary(max_size=8)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.db"
        path.write_bytes(stores[data.draw(st.sampled_from(sorted(stores)))])
        with closing(sqlite3.connect(path)) as connection:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for (table,) in tables:
                names = [row[1] for row in connection.execute(f'PRAGMA table_info("{table}")')]
                changed = data.draw(st.dictionaries(st.sampled_from(names), cells, max_size=4))
                for name, value in changed.items():
                    with suppress(sqlite3.Error):
                        connection.execute(f'UPDATE "{table}" SET "{name}" = ?', (value,))
            connection.commit()
        _read_or_refused(path)


@given(document=RECORDS | VALUES, lines=st.booleans())
def test_any_json_is_read_or_refused(document: Any, lines: bool) -> None:
    parts = document if lines and isinstance(document, list) else [document]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.json"
        path.write_text("\n".join(json.dumps(part) for part in parts), encoding="utf-8")
        _read_or_refused(path)


@given(data=st.data())
def test_any_pickle_is_data_or_refused(data: st.DataObject) -> None:
    point = pickled_point("1", [1.0, 2.0], {"data": "x", "more": {"a": [1, None, True]}})
    mangled = data.draw(st.binary(max_size=60) | st.builds(lambda: _mangled(point, data.draw)))
    with suppress(RefusedPickle):
        unpickled_values(mangled)
