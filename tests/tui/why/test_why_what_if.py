"""What other settings would recall: the keys and the mouse, what the list makes of it, and writing it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.screens import WIDE, line_with, said, screen_text, screen_words
from support.settling import press, running
from textual.pilot import Pilot
from why_samples import CONFIG, Kitchen

MARKDOWN = "# Memory\n\n- She does like to eat ramen.\n- The market opens at eight.\n- Her cat likes sushi.\n"


async def choose(pilot: Pilot[Any], name: str) -> None:
    """Move to the setting of this name."""
    await press(pilot, "home")
    for _ in range(20):
        if chosen(pilot.app).startswith(name):
            return
        await press(pilot, "down")
    raise AssertionError(f"there is no setting {name}")


def chosen(app: Any) -> str:
    """The line of the setting that is chosen, without what is next to it."""
    lines = screen_text(app).split("\n")
    return next((line[1:40] for line in lines if line.startswith("▌")), "")


async def test_it_begins_with_the_recall_as_it_is_and_names_who_enters_and_who_leaves(aged: Kitchen) -> None:
    """Headline, the mark with its word, what the setting was, and the line that moved."""
    async with running(aged.room("what_if"), WIDE) as (app, pilot):
        assert "injected 3 · 5 recalled · settings not modified" in screen_words(app)
        assert "✓ stays" in line_with(app, "Allergic to peanuts")
        assert "threshold 0.40: below is not injected" in screen_words(app)
        await choose(pilot, "threshold")
        await press(pilot, *["left"] * 3)
        assert "0.40 → 0.25" in chosen(app)
        assert "injected 3 → 4, 1 enters" in screen_words(app)
        assert "+ enters" in line_with(app, "Ordered sushi")
        await press(pilot, "backspace")
        assert "settings not modified" in screen_words(app)
        await press(pilot, *["right"] * 3)
        assert "1 leaves" in screen_words(app)
        assert "soup" in line_with(app, "− leaves")
        assert "0.73 → 0.54" in line_with(app, "− leaves")
        await press(pilot, "backspace")
        await choose(pilot, "limit")
        await press(pilot, "enter", "=1", "enter")
        assert "5 → 1" in chosen(app)
        assert "no longer recalled" in line_with(app, "fav_food")
        assert "sp_9f" in line_with(app, "○ gone")


async def test_numbers_are_stepped_and_typed(aged: Kitchen) -> None:
    steps = {"left": "0.65", "plus": "0.75"}
    async with running(aged.room("what_if")) as (app, pilot):
        for key, value in steps.items():
            await press(pilot, key)
            assert f"0.70 → {value}" in line_with(app, "vector weight")
            await press(pilot, "backspace")
            assert "→" not in line_with(app, "vector weight")
        await press(pilot, *["left"] * 16)
        assert "0.70 → 0.00" in line_with(app, "vector weight")
        await press(pilot, "enter", "=0.33", "enter")
        assert "0.70 → 0.33" in line_with(app, "vector weight")
        await choose(pilot, "limit")
        await press(pilot, "enter", "=999", "enter")
        assert "The limit is a number from 1 to 100." in screen_words(app)
        await press(pilot, "escape")
        assert "→" not in chosen(app)
        await press(pilot, "escape")
    assert app.given == [False]
    assert aged.config_file.read_text() == CONFIG


async def test_words_go_through_their_choices_and_all_is_reset_at_once(aged: Kitchen) -> None:
    async with running(aged.room("what_if"), WIDE) as (app, pilot):
        for name, change in {
            "search mode": "hybrid → bm25",
            "scoring profile": "0.7.5 → 0.8.3",
            "session": "any → telegram_12345",
        }.items():
            await choose(pilot, name)
            await press(pilot, "right")
            assert change in chosen(app)
        await press(pilot, "backslash")
        assert "settings not modified" in screen_words(app)
        await choose(pilot, "injection rule")
        await press(pilot, "right")
        assert "CLI → channels" in screen_words(app)


async def test_a_session_and_a_profile_are_chosen_from_all(aged: Kitchen) -> None:
    """The profile is only modified: the library scores as before."""
    async with running(aged.room("what_if"), WIDE) as (app, pilot):
        await choose(pilot, "session")
        await press(pilot, "enter", "j", "j", "enter")
        assert "any → cli" in screen_words(app)
        assert "no longer recalled" in screen_words(app)
        await press(pilot, "backspace", "up", "enter", "end", "enter")
        assert "0.7.5 → 0.8.4" in screen_words(app)
        assert "scoring 0.8.4 (tried)" in screen_words(app)
        assert app.library.profile.profile.version == "0.7.5"
        await choose(pilot, "rerank ")
        await press(pilot, "right")
        assert "off → on" in chosen(app)


async def test_settings_that_do_nothing_say_so(tmp_path: Path) -> None:
    """Nine in ten installs have no vectors: no vector column, and weights that change nothing."""
    async with running(Kitchen.of_aged(tmp_path, vectors=False).room("what_if"), WIDE) as (app, pilot):
        assert "▲ The weights do nothing while only keywords are searched." in screen_words(app)
        assert not any(
            "final" in line and "vector" in line and "keyword" in line for line in screen_text(app).split("\n")
        )
        await choose(pilot, "rerank ")
        await press(pilot, "right")
        assert "has no rerank stage, so it changes nothing before 0.8.4." in screen_words(app)


async def test_a_weight_that_is_no_number_does_not_count_as_changed(tmp_path: Path) -> None:
    app = Kitchen.of_aged(tmp_path, config=CONFIG + "vector_weight = nan\n").room("what_if")
    async with running(app, WIDE):
        assert "settings not modified" in screen_words(app)


async def test_without_a_message_it_asks_for_one_and_another_keeps_what_is_tried(aged: Kitchen) -> None:
    async with running(aged.room("what_if", message="")) as (app, pilot):
        assert "For which message?" in screen_words(app)
        await press(pilot, "=ramen", "enter", "down", "down", "left")
        assert "She does like ramen" in screen_words(app)
        await press(pilot, "slash", "=sushi", "enter")
        assert "0.40 → 0.35" in screen_words(app)
        assert "Ordered sushi" in screen_text(app)


async def test_the_list_has_its_own_cursor_and_leads_to_the_stages(aged: Kitchen) -> None:
    """Tab goes there and back; the settings still follow the keys that change them, and the threshold is no row."""
    async with running(aged.room("what_if"), WIDE) as (app, pilot):
        await press(pilot, "tab", "j", "j")
        assert "▌✓ stays  3  food_allergy" in screen_text(app)
        await press(pilot, "minus")
        assert "0.70 → 0.65" in screen_words(app)
        await press(pilot, "G", "enter")
        assert "“lunch_2026_03” is not in the prompt" in screen_text(app)
        await press(pilot, "escape")
    assert app.given == [False]


async def test_in_a_small_terminal_settings_and_list_are_both_in_sight(aged: Kitchen) -> None:
    async with running(aged.room("what_if"), (40, 15)) as (app, pilot):
        for name in ("vector weight", "threshold", "limit", "injection rule"):
            await choose(pilot, name)
            assert "✓" in screen_text(app)


async def test_of_many_keys_the_last_counts_and_the_store_is_asked_once(
    aged: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is decided in a thread; what was wanted before is not shown after it."""
    asked: list[Any] = []
    async with running(aged.room("what_if"), WIDE) as (app, pilot):
        monkeypatch.setattr(app.library.memory, "search", lambda *given, **named: asked.append(given))
        await press(pilot, "down", "down", *["right"] * 8, *["left"] * 11)
        assert "0.40 → 0.25" in screen_words(app)
        assert "injected 3 → 4, 1 enters" in screen_words(app)
        for _ in range(6):
            await press(pilot, "down", "right")
        assert asked == []


async def test_a_version_that_searches_otherwise_is_asked_for(tmp_path: Path) -> None:
    """ZeroClaw <= 0.7.4 lets a double quote break the search; what it finds is another thing to ask."""
    kitchen = Kitchen.of_aged(tmp_path, vectors=False, profile="0.7.4")
    async with running(kitchen.room("what_if", message='a "ramen" plate'), WIDE) as (app, pilot):
        await choose(pilot, "scoring profile")
        await press(pilot, "enter", "end", "enter")
        assert "0.7.4 → 0.8.4" in screen_words(app)
        assert "She does like ramen" in screen_words(app)


async def test_a_store_of_its_own_rule(tmp_path: Path) -> None:
    """Weights do nothing and say so; threshold and limit work."""
    kitchen = Kitchen.of_aged(tmp_path, vectors=False)
    (kitchen.config_dir / "workspace" / "MEMORY.md").write_text(MARKDOWN)
    async with running(kitchen.room("what_if", backend="markdown"), WIDE) as (app, pilot):
        assert "The weights do nothing here: this backend ranks by a rule of its own." in screen_words(app)
        await choose(pilot, "threshold")
        await press(pilot, "enter", "=0.9", "enter")
        assert "− leaves" in line_with(app, "eat ramen")


async def test_the_difference_is_shown_and_written(aged: Kitchen) -> None:
    """Comments stay, the backup is the file of before, and the library scores by what was written.

    Leaving the question writes nothing; what the config does not hold is named, and stays a trial.
    """
    async with running(aged.room("what_if"), WIDE) as (app, pilot):
        await press(pilot, "down", "down", *["left"] * 3, "down", "down", "right")
        for answer in ("n", "escape"):
            await press(pilot, "W")
            words = screen_words(app)
            assert "- min_relevance_score = 0.4" in words
            assert "+ min_relevance_score = 0.25" in words
            assert "For this message, with the modified settings: injected 3 → " in words
            assert "Limit, session, moment, rule and version of a what-if are not written" in words
            await press(pilot, answer)
            assert app.screen is app.room
        assert aged.config_file.read_text() == CONFIG
        await press(pilot, "W", "y")
        assert aged.config_file.read_text() == CONFIG.replace("score = 0.4", "score = 0.25")
        assert app.library.settings.threshold == 0.25
        assert "5 → 6" in screen_words(app)
        assert f"`zeroclaw onboard --config-dir {aged.config_dir} --restore` restores the previous one." in said(app)
        await press(pilot, "escape")
    assert app.given == [True]
    assert [path.read_text() for path in aged.config_dir.rglob("backups/*")] == [CONFIG]


async def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    kitchen = Kitchen.of_aged(tmp_path, profile="0.8.4")
    async with running(kitchen.room("what_if"), WIDE) as (app, pilot):
        await press(pilot, "W")
        assert "There is nothing to write" in said(app)
        await choose(pilot, "threshold")
        await press(pilot, "enter", "=3", "enter", "W")
        assert "must be a number from 0 to 1" in said(app)
        await press(pilot, "backspace", "left", "W")
        kitchen.config_file.write_text(CONFIG + "# another hand\n")
        await press(pilot, "y")
        assert "changed" in said(app)
    assert kitchen.config_file.read_text() == CONFIG + "# another hand\n"


async def test_with_read_only_writing_says_why_it_is_not_done(aged: Kitchen) -> None:
    async with running(aged.room("what_if", read_only=True), WIDE) as (app, pilot):
        await press(pilot, "down", "down", "left", "W")
        assert app.screen is app.room
        assert "ead-only" in said(app)
    assert aged.config_file.read_text() == CONFIG
