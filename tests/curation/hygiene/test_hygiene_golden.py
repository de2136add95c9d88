"""Held against workspaces before and after hygiene runs of the real ZeroClaw."""

from __future__ import annotations

import json

import pytest
from hygiene_world import STATE, read, recorded, tree
from support import golden

from zeroclaw_tui.curation.changes import undo
from zeroclaw_tui.curation.hygiene import plan_hygiene, run_hygiene

ROWS = "SELECT * FROM memories ORDER BY id"
VERSIONS = [version for version in ("0.1.7", "0.7.5", "0.8.3", "0.8.4") if golden.has(version, "hygiene.json")]


@pytest.mark.parametrize("version", VERSIONS)
async def test_plan_and_run_are_those_of_the_real_run_and_undo_leaves_what_was_before(version, tmp_path):
    place, after, state = recorded(tmp_path, version)
    before, rows, hits = place.tree(), place.rows(), place.hits("hygiene")
    left = tree(after)
    async with place.opened_now() as library:
        plan = await plan_hygiene(library, place.now)
        assert place.tree() == before, "looking changed something"
        assert (plan.problems, dict(plan.report())) == ((), state["last_report"])
        assert list(plan.report()) == list(state["last_report"])
        files = {item.name: item for item in plan.items if item.version is None}
        moved = {item.target: name for name, item in files.items() if item.target and not item.also_deleted}
        assert (files.keys(), moved.keys()) == (before.keys() - left.keys(), left.keys() - before.keys() - {STATE})
        deleted = {found[1] for found in rows} - {found[0] for found in read(after / "memory" / "brain.db", ROWS)}
        assert {item.version.id for item in plan.items if item.version is not None} == deleted
        outcome = await run_hygiene(library, plan)
        assert (outcome.notes, outcome.changed, outcome.gone) == ((), (), ())
        here = place.tree()
        ours, theirs = here.pop(STATE)[0], left.pop(STATE)[0]
        assert here == left
        assert read(place.database, ROWS) == read(after / "memory" / "brain.db", ROWS)
        # ZeroClaw tells nanoseconds, this program knows microseconds.
        message = json.loads(theirs)["last_run_at"]
        assert ours == theirs.replace(message.encode(), message.replace(message[-9:-6], "000").encode())
        undone = await undo(library)
        assert undone.count == outcome.count
        assert len(undone.notes) == 1, "it says that ZeroClaw runs the same hygiene again"
        assert await library.trash.last() is None
    restored = place.tree()
    assert restored.pop(STATE)[0] == ours, "the note of the last run is no part of the change"
    before.pop(STATE, None)
    assert restored == before
    assert (place.rows(), place.hits("hygiene")) == (rows, hits)
    assert len(hits) == 6
