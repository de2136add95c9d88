"""What the room of changes looks like: the changes with a diff, the rows of one, what was deleted, and a clash."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from changes_samples import Sample, chat_rows, named_rows, row
from support.rooms import RoomApp
from support.screens import NARROW
from support.settling import pressing
from textual.app import App

from zeroclaw_tui.memory.change import RowChange
from zeroclaw_tui.tui.rooms.changes import ChangesRoom
from zeroclaw_tui.tui.view import Pace

Snap = Callable[..., bool]
SIZE = (120, 30)


@pytest.fixture
def sample(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Sample:
    """A trash whose size is the same with every SQLite."""
    monkeypatch.setattr("zeroclaw_tui.curation.journal_file.JournalFile.size", lambda file: 123_456)
    return Sample(tmp_path)


def room(sample: Sample) -> App[Any]:
    async def made() -> ChangesRoom:
        before, after = (
            named_rows()[1],
            row(2, "fav_food", "Likes soba and rust coloured plates\nto eat from.", "daily"),
        )
        await sample.deleted(chat_rows(92), timedelta(days=8), "purge", "deleted 92 memories")
        await sample.journaled("store", [RowChange(None, row(7, "tz", "EST"))], timedelta(days=2), "stored tz")
        await sample.deleted(named_rows(), timedelta(hours=19), "purge", "deleted 5 memories")
        await sample.journaled(
            "edit", [RowChange(before, after)], timedelta(hours=1), "edited fav_food (content, category)"
        )
        await sample.memory.store("food_allergy", "Allergic to nothing any more.", "core")
        return ChangesRoom(sample.library, sample.clock, Pace(debounce=0.0, poll=None))

    return RoomApp(made)


@pytest.mark.parametrize(
    ("size", "pressed"),
    [(SIZE, ()), (SIZE, ("t", "j", "j", "j", "j", "enter")), (NARROW, ())],
    ids=["changes", "clash", "narrow"],
)
def test_changes(sample: Sample, snap_compare: Snap, size: tuple[int, int], pressed: tuple[str, ...]) -> None:
    """Columns aligned, the diff next to them or below, nothing boxed."""
    assert snap_compare(room(sample), terminal_size=size, run_before=pressing(*pressed))
