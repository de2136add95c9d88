"""Held against workspaces before and after hygiene runs of the real ZeroClaw."""

from __future__ import annotations

import json

import pytest
from hygiene_world import STATE, read, recorded, tree
from support import golden

from zeroclaw_tui.curation.changes import undo
from zeroclaw_tui.curation.hygiene import plan_hygiene, run_hygiene
from zeroclaw_tui.memory.days import moment

ROWS = "SELECT * FROM memories ORDER BY id"
VERSIONS = [version for version in ("0.1.7", "0.7.5", "0.8.3", "0.8.4") if golden.has(version, "hygiene.json")]


@pytest.mark.parametrize("version", VERSIONS)
async def test_the_preview_names_exactly_what_the_real_run_took(version, tmp_path):
    place, after, state = recorded(tmp_path, version)
    before, left = place.tree(), tree(after)
    ids = [found[1] for found in place.rows()]
    async with place.opened() as library:
        plan = await plan_hygiene(library, moment(state["last_run_at"]))
    assert dict(plan.report()) == state["last_report"]
    assert list(plan.report()) == list(state["last_report"])
    files = {item.name: item for item in plan.items if item.version is None}
    assert files.keys() == before.keys() - left.keys()
    moved = {item.target: name for name, item in files.items() if item.target and not item.also_deleted}
    assert moved.keys() == left.keys() - before.keys() - {STATE}
    assert {target: before[name] for target, name in moved.items()} == {target: left[target] for target in moved}
    rows = {item.version.id for item in plan.items if item.version is not None}
    assert rows == {*ids} - {found[0] for found in read(after / "memory" / "brain.db", ROWS)}
    assert plan.problems == ()
    assert plan.is_whole
    assert place.tree() == before, "looking changed something"


@pytest.mark.parametrize("version", VERSIONS)
async def test_a_run_leaves_what_the_real_run_left_and_undo_what_was_before(version, tmp_path):
    place, after, state = recorded(tmp_path, version)
    before, rows, hits = place.tree(), place.rows(), place.hits("hygiene")
    place.now = moment(state["last_run_at"])
    async with place.opened() as library:
        outcome = await run_hygiene(library, await plan_hygiene(library, place.now))
        assert (outcome.notes, outcome.changed, outcome.gone) == ((), (), ())
        here, left = place.tree(), tree(after)
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
