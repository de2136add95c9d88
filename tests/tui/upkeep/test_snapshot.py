"""The snapshot: comparing, importing, writing, undo."""

from __future__ import annotations

import pytest
from support.screens import WIDE
from support.settling import press, running
from upkeep_samples import Home

from zeroclaw_tui.curation.formats.snapshot import read_snapshot


async def test_differences_are_counted_and_shown_line_by_line(home: Home) -> None:
    """Only what is in the snapshot can be marked."""
    async with running(home.app(), WIDE) as (app, pilot):
        title = "MEMORY_SNAPSHOT.md of 2026-11-20 21:04: 7 core memories · 2 changed · 2 only here · 2 only there"
        assert title in app.words
        for _ in range(6):
            if "- two eggs" in app.words:
                break
            await press(pilot, "j")
        assert "- - two eggs" in app.words
        assert "+ - an egg" in app.words
        await press(pilot, "g", "j", "j", "space")
        assert "is not in the snapshot" in app.message
        await press(pilot, "asterisk")
        assert "● 4 marked" in app.words


THERE, HERE = "Allergic to peanuts.", "Allergic to peanuts and shellfish."


@pytest.mark.parametrize(
    ("answer", "kept", "more"),
    [
        ("s", HERE, set()),
        ("o", THERE, set()),
        ("r", HERE, {"food_allergy (imported d364)", "recipe (imported b397)"}),
    ],
    ids=["skip", "overwrite", "keep both"],
)
async def test_marked_memories_are_imported_as_chosen_and_undone(
    home: Home, answer: str, kept: str, more: set[str]
) -> None:
    async with running(home.app()) as (app, pilot):
        before = set(await app.keys())
        await press(pilot, "asterisk", "enter")
        assert "2 new · 2 whose key is taken" in app.words
        await press(pilot, "n")
        assert set(await app.keys()) == before
        await press(pilot, "enter", answer)
        assert set(await app.keys()) == before | {"old_car", "pet"} | more, app.message
        entry = await app.library.memory.get("food_allergy")
        assert entry is not None
        assert entry.content == kept
        assert "u reverses that" in app.message
        await press(pilot, "u", "escape")
        assert set(await app.keys()) == before
        assert app.given == [True]


async def test_enter_imports_the_memory_under_the_cursor(home: Home) -> None:
    async with running(home.app()) as (app, pilot):
        await press(pilot, "G", "enter", "y")
        assert "Imported 1 memory" in app.message
        assert len({*await app.keys()} & {"old_car", "pet"}) == 1


async def test_the_snapshot_is_written_and_undone(home: Home) -> None:
    old = home.snapshot.read_bytes()
    async with running(home.app()) as (app, pilot):
        await press(pilot, "W")
        assert "Write 7 memories to MEMORY_SNAPSHOT.md?" in app.words
        assert "2 memories lose their exact text in ZeroClaw's format: rule, recipe." in app.words
        assert "MEMORY_SNAPSHOT.jsonl is written too" in app.words
        await press(pilot, "y")
        assert home.side_car.exists()
        written = read_snapshot(home.snapshot.read_text(encoding="utf-8"))
        assert {entry.key for entry in written.rows} == {key for key, _ in home.here}
        assert "Store and snapshot have the same 7 memories." in app.words
        await press(pilot, "u")
        assert home.snapshot.read_bytes() == old
        assert not home.side_car.exists()
        assert "2 changed" in app.words


async def test_what_is_shown_stays_when_the_file_cannot_be_read_any_more(home: Home) -> None:
    async with running(home.app(), WIDE) as (app, pilot):
        home.snapshot.unlink()
        await press(pilot, "r")
        assert "r to retry" in app.words
        assert "food_allergy" in app.words
        home.write_snapshot()
        await press(pilot, "r")
        assert "r to retry" not in app.words
