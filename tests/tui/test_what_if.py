"""What other settings would recall: the keys and the mouse, what the list makes of it, and writing it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support.inspector import Screen, running
from support.screens import WIDE
from tui.installs import CONFIG, Kitchen


@pytest.fixture
def aged(tmp_path: Path) -> Kitchen:
    return Kitchen.of_aged(tmp_path)


MARKDOWN = "# Memory\n\n- She does like to eat ramen.\n- The market opens at eight.\n- Her cat likes sushi.\n"


async def choose(screen: Screen, name: str) -> None:
    """Move to the setting of this name."""
    await screen.press("home")
    for _ in range(20):
        if chosen(screen).startswith(name):
            return
        await screen.press("down")
    raise AssertionError(f"there is no setting {name}")


def chosen(screen: Screen) -> str:
    """The line of the setting that is chosen, without what is next to it."""
    return next((line[1:40] for line in screen.text.split("\n") if line.startswith("▌")), "")


async def test_it_begins_with_the_recall_as_it_is_and_names_who_enters_and_who_leaves(aged: Kitchen) -> None:
    """Headline, the mark with its word, what the setting was, and the line that moved."""
    async with running(aged.why("what_if"), WIDE) as screen:
        screen.shows("injected 3 · 5 recalled · settings not modified")
        assert "✓ stays" in screen.line_with("Allergic to peanuts")
        screen.shows("threshold 0.40: below is not injected")
        await choose(screen, "threshold")
        await screen.press(*["left"] * 3)
        assert "0.40 → 0.25" in chosen(screen)
        screen.shows("injected 3 → 4, 1 enters")
        assert "+ enters" in screen.line_with("Ordered sushi")
        await screen.press("backspace", shows="settings not modified")
        await screen.press(*["right"] * 3, shows="1 leaves")
        assert "soup" in screen.line_with("− leaves")
        assert "0.73 → 0.54" in screen.line_with("− leaves")
        await screen.press("backspace")
        await choose(screen, "limit")
        await screen.press("enter", "=1", "enter")
        assert "5 → 1" in chosen(screen)
        assert "no longer recalled" in screen.line_with("fav_food")
        assert "sp_9f" in screen.line_with("○ gone")


async def test_numbers_are_stepped_and_typed(aged: Kitchen) -> None:
    steps = {"left": "0.65", "plus": "0.75"}
    async with running(aged.why("what_if")) as screen:
        for key, value in steps.items():
            await screen.press(key)
            assert f"0.70 → {value}" in screen.line_with("vector weight")
            await screen.press("backspace")
            assert "→" not in screen.line_with("vector weight")
        await screen.press(*["left"] * 16)
        assert "0.70 → 0.00" in screen.line_with("vector weight")
        await screen.press("enter", "=0.33", "enter")
        assert "0.70 → 0.33" in screen.line_with("vector weight")
        await choose(screen, "limit")
        await screen.press("enter", "=999", "enter", shows="The limit is a number from 1 to 100.")
        await screen.press("escape")
        assert "→" not in chosen(screen)
        await screen.press("escape")
    assert screen.app.given == [False]
    assert aged.config_file.read_text() == CONFIG


async def test_words_go_through_their_choices_and_all_is_reset_at_once(aged: Kitchen) -> None:
    async with running(aged.why("what_if"), WIDE) as screen:
        for name, change in {
            "search mode": "hybrid → bm25",
            "scoring profile": "0.7.5 → 0.8.3",
            "session": "any → telegram_12345",
        }.items():
            await choose(screen, name)
            await screen.press("right")
            assert change in chosen(screen)
        await screen.press("backslash", shows="settings not modified")
        await choose(screen, "injection rule")
        await screen.press("right", shows="CLI → channels")


async def test_a_session_and_a_profile_are_chosen_from_all(aged: Kitchen) -> None:
    """The profile is only modified: the library scores as before."""
    async with running(aged.why("what_if"), WIDE) as screen:
        await choose(screen, "session")
        await screen.press("enter", "j", "j", "enter", shows=("any → cli", "no longer recalled"))
        await screen.press("backspace", "up", "enter", "end", "enter", shows=("0.7.5 → 0.8.4", "scoring 0.8.4 (tried)"))
        assert screen.app.library.profile.profile.version == "0.7.5"
        await choose(screen, "rerank ")
        await screen.press("right")
        assert "off → on" in chosen(screen)


async def test_settings_that_do_nothing_say_so(tmp_path: Path) -> None:
    """Nine in ten installs have no vectors: no vector column, and weights that change nothing."""
    async with running(Kitchen.of_aged(tmp_path, vectors=False).why("what_if"), WIDE) as screen:
        screen.shows("▲ The weights do nothing while only keywords are searched.")
        assert not any("final" in line and "vector" in line and "keyword" in line for line in screen.lines)
        await choose(screen, "rerank ")
        await screen.press("right", shows="has no rerank stage, so it changes nothing before 0.8.4.")


async def test_the_list_has_its_own_cursor_and_leads_to_the_stages(aged: Kitchen) -> None:
    """Tab goes there and back; the settings still follow the keys that change them, and the threshold is no row."""
    async with running(aged.why("what_if"), WIDE) as screen:
        await screen.press("tab", "j", "j", shows="▌✓ stays  3  food_allergy")
        await screen.press("minus", shows="0.70 → 0.65")
        await screen.press("G", "enter", shows="“lunch_2026_03” is not in the prompt")
        await screen.press("escape")
    assert screen.app.given == [False]


async def test_in_a_small_terminal_settings_and_list_are_both_in_sight(aged: Kitchen) -> None:
    async with running(aged.why("what_if"), (40, 15)) as screen:
        for name in ("vector weight", "threshold", "limit", "injection rule"):
            await choose(screen, name)
            screen.shows("✓")


async def test_of_many_keys_the_last_counts_and_the_store_is_asked_once(
    aged: Kitchen, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is decided in a thread; what was wanted before is not shown after it."""
    asked: list[Any] = []
    async with running(aged.why("what_if"), WIDE) as screen:
        monkeypatch.setattr(screen.app.library.memory, "search", lambda *given, **named: asked.append(given))
        await screen.press("down", "down", *["right"] * 8, *["left"] * 11)
        screen.shows("0.40 → 0.25", "injected 3 → 4, 1 enters")
        for _ in range(6):
            await screen.press("down", "right")
        assert asked == []


async def test_a_version_that_searches_otherwise_is_asked_for(tmp_path: Path) -> None:
    """ZeroClaw <= 0.7.4 lets a double quote break the search; what it finds is another thing to ask."""
    kitchen = Kitchen.of_aged(tmp_path, vectors=False, profile="0.7.4")
    async with running(kitchen.why("what_if", message='a "ramen" plate'), WIDE) as screen:
        await choose(screen, "scoring profile")
        await screen.press("enter", "end", "enter", shows=("0.7.4 → 0.8.4", "She does like ramen"))


async def test_a_store_of_its_own_rule(tmp_path: Path) -> None:
    """Weights do nothing and say so; threshold and limit work."""
    kitchen = Kitchen.of_aged(tmp_path, vectors=False)
    kitchen.write("MEMORY.md", MARKDOWN)
    async with running(kitchen.why("what_if", backend="markdown"), WIDE) as screen:
        screen.shows("The weights do nothing here: this backend ranks by a rule of its own.")
        await choose(screen, "threshold")
        await screen.press("enter", "=0.9", "enter")
        assert "− leaves" in screen.line_with("eat ramen")


async def test_the_difference_is_shown_and_written(aged: Kitchen) -> None:
    """Comments stay, the backup is the file of before, and the library scores by what was written.

    Leaving the question writes nothing; what the config does not hold is named, and stays a trial.
    """
    async with running(aged.why("what_if"), WIDE) as screen:
        await screen.press("down", "down", *["left"] * 3, "down", "down", "right")
        for answer in ("n", "escape"):
            await screen.press("W", shows=("- min_relevance_score = 0.4", "+ min_relevance_score = 0.25"))
            screen.shows("For this message, with the modified settings: injected 3 → ")
            screen.shows("Limit, session, moment, rule and version of a what-if are not written")
            await screen.press(answer)
            assert screen.top is screen.app.room
        assert aged.config_file.read_text() == CONFIG
        await screen.press("W", "y")
        assert aged.config_file.read_text() == CONFIG.replace("score = 0.4", "score = 0.25")
        assert screen.app.library.settings.threshold == 0.25
        screen.shows("5 → 6")
        screen.says(f"`zeroclaw onboard --config-dir {aged.config_dir} --restore` restores the previous one.")
        await screen.press("escape")
    assert screen.app.given == [True]
    assert [path.read_text() for path in aged.config_dir.rglob("backups/*")] == [CONFIG]


async def test_what_cannot_be_written_is_named(tmp_path: Path) -> None:
    kitchen = Kitchen.of_aged(tmp_path, profile="0.8.4")
    async with running(kitchen.why("what_if"), WIDE) as screen:
        await screen.press("W", says="There is nothing to write")
        await choose(screen, "threshold")
        await screen.press("enter", "=3", "enter", "W", says="must be a number from 0 to 1")
        await screen.press("backspace", "left", "W")
        kitchen.config_file.write_text(CONFIG + "# another hand\n")
        await screen.press("y", says="changed")
    assert kitchen.config_file.read_text() == CONFIG + "# another hand\n"
