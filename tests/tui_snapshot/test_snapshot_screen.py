"""What the keys of the snapshot screen do."""

from __future__ import annotations

from typing import Any

import pytest
from textual.pilot import Pilot
from tui_snapshot_samples import Home
from tui_trash_samples import NARROW, WIDE, screen_text, screen_words, settled, until

from zeroclaw_tui.config.memory_config import MemoryConfig
from zeroclaw_tui.curation.snapshot.text import read_snapshot
from zeroclaw_tui.tui.screens.asking import AnswersScreen, PathScreen
from zeroclaw_tui.tui.screens.confirm import QuestionScreen


def said(pilot: Pilot[Any]) -> str:
    return "\n".join(str(note.message) for note in pilot.app._notifications)


async def asked(pilot: Pilot[Any], kind: type[Any]) -> None:
    await until(pilot, lambda: isinstance(pilot.app.screen, kind))


async def test_the_title_counts_the_differences(home: Home) -> None:
    home.write_snapshot()
    async with home.app().run_test(size=WIDE) as pilot:
        await settled(pilot)
        title = "MEMORY_SNAPSHOT.md of 2026-11-20 21:04: 7 core memories; 2 only here, 2 only there, 2 changed"
        assert title in screen_text(pilot.app)
        assert "●differences 6" in screen_text(pilot.app)


async def test_the_difference_of_a_memory_is_shown_line_by_line(home: Home) -> None:
    home.write_snapshot()
    async with home.app().run_test(size=WIDE) as pilot:
        await settled(pilot)
        while "- two eggs" not in screen_text(pilot.app):
            await pilot.press("j")
            await settled(pilot)
        assert "- - two eggs" in screen_text(pilot.app)
        assert "+ - an egg" in screen_text(pilot.app)


async def test_only_what_is_in_the_snapshot_can_be_picked(home: Home) -> None:
    home.write_snapshot()
    app = home.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("f", "space")
        await settled(pilot)
        assert "is not in the snapshot" in said(pilot)
        assert "picked" not in screen_text(app)
        await pilot.press("F", "asterisk")
        await settled(pilot)
        assert "4 picked · h brings them in" in screen_text(app)
        await pilot.press("backslash")
        await settled(pilot)
        assert "picked" not in screen_text(app)


@pytest.mark.parametrize(
    ("key", "allergy", "more"),
    [
        ("s", "Allergic to peanuts and shellfish.", set()),
        ("o", "Allergic to peanuts.", set()),
        ("r", "Allergic to peanuts and shellfish.", {"food_allergy (restored)", "recipe (restored)"}),
    ],
    ids=["skip", "overwrite", "rename"],
)
async def test_the_picked_come_in_by_the_policy_chosen_and_go_back_with_u(
    home: Home, key: str, allergy: str, more: set[str]
) -> None:
    home.write_snapshot()
    app = home.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        before, recipe = await home.keys(), await home.content("recipe")
        await pilot.press("asterisk", "h")
        await asked(pilot, AnswersScreen)
        assert "2 new · 2 with another content here" in screen_words(app)
        await pilot.press(key)
        await settled(pilot)
        assert await home.keys() == before | {"old_car", "pet"} | more, said(pilot)
        assert await home.content("food_allergy") == allergy
        assert "u takes them back" in said(pilot)
        await pilot.press("u")
        await settled(pilot)
        assert "Taken back" in said(pilot)
        assert await home.keys() == before
        assert await home.content("recipe") == recipe
        assert await home.content("food_allergy") == "Allergic to peanuts and shellfish."
        await pilot.press("escape")
        await pilot.pause()
    assert app.given == [True]


async def test_each_conflict_can_be_decided_for_itself(home: Home) -> None:
    home.write_snapshot()
    app = home.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        before = await home.keys()
        await pilot.press("asterisk", "h")
        await asked(pilot, AnswersScreen)
        await pilot.press("e")
        await settled(pilot)
        shown = screen_words(app)
        assert "1 of 2: food_allergy has another content here" in shown
        assert "Allergic to peanuts and shellfish." in shown
        assert "Allergic to peanuts." in shown
        await pilot.press("o")
        await settled(pilot)
        assert "2 of 2: recipe has another content here" in screen_words(app)
        await pilot.press("r")
        await settled(pilot)
        assert await home.keys() == before | {"old_car", "pet", "recipe (restored)"}, said(pilot)
        assert await home.content("food_allergy") == "Allergic to peanuts."
        await pilot.press("u")
        await settled(pilot)
        assert await home.keys() == before


@pytest.mark.parametrize("key", ["enter", "n", "escape"])
async def test_nothing_comes_in_by_accident(home: Home, key: str) -> None:
    home.write_snapshot()
    app = home.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        before = await home.keys()
        await pilot.press("asterisk", "h")
        await asked(pilot, AnswersScreen)
        await pilot.press(key)
        await settled(pilot)
        assert await home.keys() == before
        await pilot.press("q")
        await pilot.pause()
    assert app.given == [False]


async def test_enter_brings_in_the_row_under_the_cursor(home: Home) -> None:
    home.write_snapshot()
    app = home.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("f", "f", "enter")
        await asked(pilot, AnswersScreen)
        await pilot.press("y")
        await settled(pilot)
        assert "1 memory came in" in said(pilot)
        assert len(await home.keys() & {"old_car", "pet"}) == 1


async def test_the_snapshot_is_written_and_the_old_one_comes_back_with_u(home: Home) -> None:
    home.write_snapshot()
    old = home.snapshot.read_bytes()
    app = home.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("w")
        await asked(pilot, QuestionScreen)
        words = screen_words(app)
        assert "Write 7 memories to MEMORY_SNAPSHOT.md?" in words
        assert "2 of them lose something in ZeroClaw's own format:" in words
        assert "MEMORY_SNAPSHOT.jsonl is written beside it" in words
        await pilot.press("y")
        await settled(pilot)
        assert home.side_car.exists()
        written = read_snapshot(home.snapshot.read_text(encoding="utf-8"))
        assert {entry.key for entry in written.entries} == {key for key, _ in home.here}
        assert "Store and snapshot have the same 7 memories." in screen_words(app)
        await pilot.press("u")
        await settled(pilot)
        assert home.snapshot.read_bytes() == old
        assert not home.side_car.exists()
        assert "2 only there" in screen_words(app) or "only there 2" in screen_words(app)


async def test_a_snapshot_can_be_written_where_there_is_none(home: Home) -> None:
    app = home.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        assert "w write it from the core memories" in screen_words(app)
        await pilot.press("w")
        await asked(pilot, QuestionScreen)
        await pilot.press("y")
        await settled(pilot)
        assert home.snapshot.exists()
        assert "have the same 7 memories" in screen_words(app)


@pytest.mark.parametrize(("keys", "is_replaced"), [(("y", "n"), False), (("y", "R"), True), (("n",), False)])
async def test_another_programs_file_is_only_replaced_after_a_yes_of_its_own(
    home: Home, keys: tuple[str, ...], is_replaced: bool
) -> None:
    home.root.mkdir(parents=True)
    home.snapshot.write_text("# My notes\n", encoding="utf-8")
    app = home.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        assert "is not a snapshot of ZeroClaw's" in screen_words(app)
        await pilot.press("w")
        await asked(pilot, QuestionScreen)
        await pilot.press(keys[0])
        if len(keys) > 1:
            await asked(pilot, AnswersScreen)
            await pilot.press(keys[1])
        await settled(pilot)
        assert (home.snapshot.read_text(encoding="utf-8") != "# My notes\n") is is_replaced


async def test_another_file_is_compared_with(home: Home) -> None:
    home.write_snapshot()
    other = home.config_dir / "older.md"
    other.write_bytes(home.snapshot.read_bytes())
    home.snapshot.unlink()
    app = home.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("o")
        await asked(pilot, PathScreen)
        await pilot.press(*"~/.zeroclaw/older.md", "enter")
        await settled(pilot)
        assert "older.md of 2026-11-20 21:04: 7 memories; 2 only here" in screen_text(app)


async def test_another_file_that_is_not_there_is_not_taken_for_zeroclaws_own(home: Home) -> None:
    app = home.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        assert "write it from the core memories" in screen_text(app)
        await pilot.press("o")
        await asked(pilot, PathScreen)
        await pilot.press(*"~/nowhere.jsonl", "enter")
        await settled(pilot)
        shown = screen_text(app)
        assert "There is no file" in shown
        assert "snapshot_enabled" not in shown
        assert "write it from the core memories" not in shown


async def test_a_path_that_is_none_is_said_where_it_is_typed(home: Home) -> None:
    app = home.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("o")
        await asked(pilot, PathScreen)
        await pilot.press("enter")
        await pilot.pause()
        assert "No path was typed." in screen_text(app)
        await pilot.press("escape")
        await settled(pilot)
        assert "MEMORY_SNAPSHOT.md" in screen_text(app)


async def test_a_store_that_is_only_read_is_compared_and_not_written(home: Home) -> None:
    home.config = MemoryConfig(home.config.install, read_only=True)
    home.write_snapshot()
    old = home.snapshot.read_bytes()
    app = home.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("w", "h")
        await settled(pilot)
        assert "read-only" in said(pilot)
        assert "2 changed" in screen_text(app)
    assert home.snapshot.read_bytes() == old


async def test_what_cannot_be_read_any_more_is_told_and_what_was_shown_stays(home: Home) -> None:
    home.write_snapshot()
    app = home.app()
    async with app.run_test(size=WIDE, notifications=True) as pilot:
        await settled(pilot)
        home.snapshot.unlink()
        await pilot.press("r")
        await settled(pilot)
        assert "r tries again" in screen_words(app)
        assert "food_allergy" in screen_text(app)
        home.write_snapshot()
        await pilot.press("r")
        await settled(pilot)
        assert "r tries again" not in screen_words(app)
