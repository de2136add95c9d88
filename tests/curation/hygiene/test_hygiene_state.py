"""memory_hygiene_state.json as ZeroClaw reads and writes it."""

from __future__ import annotations

import json
import tarfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hygiene_world import STATE
from support import golden

from zeroclaw_tui.curation.hygiene import read_state, state_bytes

NOW = datetime(2026, 3, 20, 12, 0, tzinfo=UTC)
EARLY = ["archived_memory_files", "archived_session_files", "purged_memory_archives", "purged_session_archives"]
OLD = dict.fromkeys([*EARLY, "pruned_conversation_rows"], 1)
NEW = {**OLD, "pruned_daily_rows": 0, "pruned_core_rows": 2}


def written(root: Path, content: Any) -> Path:
    file = root / STATE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
    return root


def ran(hours_ago: float, report: dict[str, int]) -> dict[str, Any]:
    moment = NOW - timedelta(hours=hours_ago)
    return {"last_run_at": f"{moment:%Y-%m-%dT%H:%M:%S}.123456789+00:00", "last_report": report}


@pytest.mark.parametrize("version", ["0.1.7", "0.7.5", "0.8.3", "0.8.4"])
def test_it_is_written_byte_for_byte_as_zeroclaw_writes_it(version, tmp_path):
    with tarfile.open(golden.FOLDER / version / "hygiene_after.tar.gz") as archive:
        member = archive.extractfile(f"./{STATE}")
        real = member.read()
    said = json.loads(real)
    ours = state_bytes(version, datetime.fromisoformat(said["last_run_at"][:26] + "+00:00"), said["last_report"])
    assert ours == real.replace(said["last_run_at"][-9:].encode(), b"000+00:00")
    state = read_state(written(tmp_path, real), version, datetime(2026, 11, 21, 22, tzinfo=UTC))
    assert state.report == said["last_report"]
    assert state.problem == ""
    assert state.due is not None


@pytest.mark.parametrize(("hours", "due"), [(11.9, 0.1), (12.01, None)])
def test_it_is_due_twelve_hours_after(tmp_path, hours, due):
    state = read_state(written(tmp_path, ran(hours, NEW)), "0.8.4", NOW)
    assert state.report == NEW
    assert state.problem == ""
    assert state.last_run is not None
    assert (state.due is None) == (due is None)
    if state.due is not None:
        assert abs(state.due - NOW - timedelta(hours=0.1)) < timedelta(seconds=2)


def test_a_state_of_an_earlier_version_lacks_fields_and_a_later_one_does_not(tmp_path):
    written(tmp_path, ran(1, OLD))
    lacking = read_state(tmp_path, "0.8.1", NOW)
    assert lacking.due is None
    assert "is not what ZeroClaw 0.8.1 writes" in lacking.problem
    assert read_state(tmp_path, "0.8.0", NOW).problem == ""
    written(tmp_path, ran(1, NEW))
    assert read_state(tmp_path, "0.1.7", NOW).problem == ""


@pytest.mark.parametrize(
    "broken",
    [
        b"",
        b"\xef\xbb\xbf{}",
        b"[" * 100_000,
        ran(1, {**OLD, "archived_memory_files": -1}),
        {"last_run_at": None, "last_report": OLD},
        {"last_run_at": "2026-03-20", "last_report": OLD},
    ],
)
def test_a_broken_state_is_a_problem_and_hygiene_is_due(tmp_path, broken):
    state = read_state(written(tmp_path, broken), "0.7.5", NOW)
    assert state.due is None
    assert state.problem.endswith("so hygiene runs at the next start of the agent.")


def test_a_state_of_the_future_keeps_hygiene_from_running(tmp_path):
    state = read_state(written(tmp_path, ran(-48, NEW)), "0.8.4", NOW)
    assert state.due is not None
    assert state.due > NOW + timedelta(hours=59)
