"""Property test: undoing any upkeep in any order restores rows, keyword hits and files."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.upkeep_place import STEPS, Step, do, make_place

from zeroclaw_tui.curation import changes

_SEQUENCES = st.lists(st.tuples(st.sampled_from(STEPS), st.integers(0, 40)), min_size=1, max_size=6)


async def _do_and_undo(folder: Path, steps: Sequence[Step]) -> None:
    place = make_place(folder)
    before = place.state()
    library = await place.opened()
    try:
        done = 0
        for step in steps:
            outcome = await do(library, place, step)
            if outcome is not None and outcome.action is not None:
                done += 1
                assert place.state() != before or done > 1
        for _ in range(done):
            await changes.undo(library)
        assert await library.trash.last() is None
    finally:
        await library.close()
    after = place.state()
    for part, stored in before.items():
        assert after[part] == stored, part


@pytest.mark.parametrize("examples", [8, pytest.param(400, marks=pytest.mark.slow)])
def test_undoing_all_upkeep_restores_everything(examples):
    @settings(max_examples=examples, deadline=None)
    @given(_SEQUENCES)
    def check(steps):
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(_do_and_undo(Path(folder), steps))

    check()


def test_each_step_of_upkeep_changes_something(tmp_path):
    """Otherwise the sequences above would test nothing."""

    async def alone(name):
        place = make_place(tmp_path / name)
        before = place.state()
        library = await place.opened()
        try:
            outcome = await do(library, place, (name, 1))
        finally:
            await library.close()
        return outcome is not None and outcome.action is not None and place.state() != before

    assert {name: asyncio.run(alone(name)) for name in STEPS} == dict.fromkeys(STEPS, True)
