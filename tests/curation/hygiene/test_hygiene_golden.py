"""Compare hygiene with workspaces recorded before and after runs of the real ZeroClaw."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from hygiene_world import NOW, STATE, read, recorded, tree
from support import golden
from support.libraries import undo

from zeroclaw_tui.curation.hygiene import plan_hygiene, read_state, run_hygiene

ROWS = "SELECT * FROM memories ORDER BY id"
VERSIONS = [version for version in ("0.1.7", "0.7.5", "0.8.3", "0.8.4") if golden.has(version, "hygiene.json")]


@pytest.mark.parametrize("version", VERSIONS)
async def test_plan_and_run_equal_the_real_run_and_undo_restores_everything(version, tmp_path):
    place, after, state = recorded(tmp_path, version)
    before, rows, hits = place.tree(), place.rows(), place.hits("hygiene")
    left = tree(after)
    async with place.opened_now() as library:
        plan = await plan_hygiene(library, place.now)
        assert place.tree() == before, "planning changed something"
        assert (plan.problems, dict(plan.report())) == ((), state["last_report"])
        assert list(plan.report()) == list(state["last_report"])
        files = {item.name: item for item in plan.items if item.version is None}
        moved = {item.target: name for name, item in files.items() if item.target and not item.also_deleted}
        assert (files.keys(), moved.keys()) == (before.keys() - left.keys(), left.keys() - before.keys() - {STATE})
        deleted = {found[1] for found in rows} - {found[0] for found in read(after / "memory" / "brain.db", ROWS)}
        assert {item.version.id for item in plan.items if item.version is not None} == deleted
        outcome = await run_hygiene(library, plan)
        assert (outcome.notes, outcome.changed, outcome.missing) == ((), (), ())
        here = place.tree()
        ours, theirs = here.pop(STATE)[0], left.pop(STATE)[0]
        assert here == left
        assert read(place.database, ROWS) == read(after / "memory" / "brain.db", ROWS)
        # ZeroClaw writes nanoseconds, this program microseconds.
        message = json.loads(theirs)["last_run_at"]
        assert ours == theirs.replace(message.encode(), message.replace(message[-9:-6], "000").encode())
        written_state = read_state(place.root, version, place.now)
        assert (written_state.report, written_state.problem) == (state["last_report"], "")
        assert written_state.due is not None
        undone = await undo(library)
        assert undone.count == outcome.count
        assert len(undone.notes) == 1, "it must say that ZeroClaw runs the same hygiene again"
        assert await library.trash.last() is None
    restored = place.tree()
    assert restored.pop(STATE)[0] == ours, "the record of the last run is no part of the change"
    before.pop(STATE, None)
    assert restored == before
    assert (place.rows(), place.hits("hygiene")) == (rows, hits)
    assert len(hits) == 6


# memory_hygiene_state.json as ZeroClaw reads and writes it


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


@pytest.mark.parametrize(("hours", "due"), [(11.9, 0.1), (12.01, None), (-48, 60)])
def test_hygiene_is_due_after_twelve_hours(tmp_path, hours, due):
    state = read_state(written(tmp_path, ran(hours, NEW)), "0.8.4", NOW)
    assert (state.report, state.problem) == (NEW, "")
    assert state.last_run is not None
    assert (state.due is None) == (due is None)
    if state.due is not None:
        assert abs(state.due - NOW - timedelta(hours=due)) < timedelta(seconds=2)


def test_a_state_file_that_lacks_fields_of_its_version_is_a_problem(tmp_path):
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
