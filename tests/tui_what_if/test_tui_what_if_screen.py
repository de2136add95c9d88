"""What a person does on the what-if screen: every key, the mouse, and what the list makes of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from support import small_store
from support.settling import settled
from textual.pilot import Pilot
from what_if_samples import (
    NARROW,
    WIDE,
    Kitchen,
    WhatIfApp,
    line_with,
    screen_text,
    screen_words,
    stored,
    told,
    until,
)

from zeroclaw_tui.tui.screens.choice import ChoiceScreen
from zeroclaw_tui.tui.screens.explain import ExplainScreen
from zeroclaw_tui.tui.screens.help import HelpScreen
from zeroclaw_tui.tui.widgets.compared_rows import ComparedRows
from zeroclaw_tui.tui.widgets.message_line import MessageLine
from zeroclaw_tui.tui.widgets.trial_settings import TrialSettings


async def press(pilot: Pilot[Any], *keys: str) -> None:
    for key in keys:
        await pilot.press(key)
        await settled(pilot)


def place_of(app: WhatIfApp, words: str, within: str = "") -> tuple[int, int]:
    """Where on the screen these words begin, on the first line that has both."""
    for y, line in enumerate(screen_text(app).split("\n")):
        if words in line and within in line:
            return line.index(words), y
    raise AssertionError(f"{words} is not on the screen")


async def test_it_begins_with_the_recall_as_it_is(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        words = screen_words(app)
        assert "injected 3" in words
        assert "nothing is changed yet" in words
        assert "✓ stays" in line_with(app, "food_allergy")
        assert "threshold 0.40" in words


async def test_a_lower_threshold_lets_one_in_and_says_so(kitchen: Kitchen) -> None:
    """Headline, the mark with its word, what the setting was, and the line that moved."""
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "down", "down")
        await press(pilot, *["left"] * 3)
        assert "0.40 → 0.25" in line_with(app, "threshold 0.40 →")
        assert "injected 3 → 4, 1 enters" in screen_words(app)
        assert "+ enters" in line_with(app, "lunch_2026_03")
        await press(pilot, "backspace")
        assert "0.40 → 0.25" not in screen_words(app)
        assert "nothing is changed yet" in screen_words(app)


async def test_what_leaves_stays_on_the_screen_with_its_reason(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "down", "down", *["right"] * 3)
        assert "1 leaves" in screen_words(app)
        leaving = [line for line in screen_text(app).split("\n") if "− leaves" in line]
        assert len(leaving) == 1
        assert "soup" in leaving[0]
        assert "decayed to 0.54" in leaving[0]


async def test_what_is_no_longer_recalled_stands_below(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        recalled = screen_text(app).count("✓ stays")
        await press(pilot, "down", "down", "down", "down", "1")
        assert "limit" in line_with(app, "5 → 1")
        words = screen_words(app)
        assert f"injected {recalled} → 1" in words
        assert "no longer recalled" in words
        assert "− leaves" in words
        assert "○ gone" in words


async def test_typing_sets_a_number_exactly_and_escape_takes_it_back(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "down", "down", "0", "full_stop", "3", "3")
        assert "0.40 → 0.33▏" in screen_words(app)
        await press(pilot, "backspace")
        assert "0.40 → 0.3▏" in screen_words(app)
        assert app.what_if.tried.now.settings.threshold == 0.3
        await press(pilot, "escape")
        assert app.what_if.tried.now.settings.threshold == 0.4
        assert app.given == []
        await press(pilot, "0", "full_stop", "3", "5", "enter")
        assert "0.40 → 0.35" in screen_words(app)
        assert "0.35▏" not in screen_words(app)


async def test_a_number_out_of_range_is_refused_in_a_sentence(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, *["down"] * 4, "9", "9", "9")
        assert "The limit goes from 1 to 100." in told(app)
        assert app.what_if.tried.now.request.limit == 99


@pytest.mark.parametrize(
    ("keys", "value"),
    [
        (("left",), 0.65),
        (("minus",), 0.65),
        (("right",), 0.75),
        (("plus",), 0.75),
        (("equals_sign",), 0.75),
        (("shift+left",), 0.45),
        (("less_than_sign",), 0.45),
        (("shift+right",), 0.95),
        (("greater_than_sign",), 0.95),
        (("shift+left",) * 5, 0.0),
    ],
)
async def test_steps(kitchen: Kitchen, keys: tuple[str, ...], value: float) -> None:
    """A step, a bigger one, and an end."""
    app = WhatIfApp(kitchen)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, *keys)
        assert app.what_if.tried.now.settings.vector_weight == value


async def test_words_go_through_their_choices_and_reset_all_takes_everything_back(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "down", "down", "down", "right")
        assert "hybrid → bm25" in screen_words(app)
        await press(pilot, "down", "down", "right")
        assert "0.7.5 → 0.8.3" in screen_words(app)
        await press(pilot, "down", "right")
        assert "→ telegram_12345" in screen_words(app)
        await press(pilot, "down", "left")
        assert app.what_if.tried.days == 0
        await press(pilot, "right")
        assert "0 → +1" in screen_words(app)
        await press(pilot, "z")
        assert not app.what_if.tried.changed
        await press(pilot, "down", "right")
        assert "CLI → channels" in screen_words(app)


async def test_a_day_to_come_lets_scores_decay(kitchen: Kitchen) -> None:
    """The daily note falls under the threshold within a week; core memories stay."""
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, *["down"] * 7, *["shift+right"] * 2)
        assert "0 → +14" in screen_words(app)
        assert app.what_if.tried.now.request.as_of.startswith("2026-12-04")


async def test_a_session_leaves_out_the_others(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, *["down"] * 6, "enter")
        assert isinstance(app.screen, ChoiceScreen)
        await press(pilot, "j", "j", "enter")
        assert "any → cli" in screen_words(app)
        assert "no longer recalled" in screen_words(app)


async def test_a_profile_is_chosen_from_all(kitchen: Kitchen) -> None:
    """Weights then are divided by what is there, so that a hit by words alone can pass."""
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "p")
        assert isinstance(app.screen, ChoiceScreen)
        await press(pilot, "end", "enter")
        assert "0.7.5 → 0.8.4" in screen_words(app)
        assert app.library is not None
        assert app.library.profile.profile.version == "0.7.5"


async def test_settings_that_do_nothing_are_dimmed_and_say_why(tmp_path: Path) -> None:
    """Nine in ten installs have no vectors: no vector column, and no weight that could be turned."""
    app = WhatIfApp(Kitchen(tmp_path, vectors=False))
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert "has to reach" in screen_words(app)
        await press(pilot, "up", "up")
        words = screen_words(app)
        assert "no vectors" in line_with(app, "vector weight")
        assert "Without vectors there are only words" in words
        assert not any("final" in line and "vector" in line for line in screen_text(app).split("\n"))
        await press(pilot, "right")
        assert app.what_if.tried.now.settings.vector_weight == 0.7
        assert "Without vectors" in told(app)


async def test_an_old_version_has_no_search_mode(tmp_path: Path) -> None:
    app = WhatIfApp(Kitchen(tmp_path, profile="0.6.2"))
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "down", "down", "down")
        assert "ZeroClaw reads the search mode from 0.6.3 on." in screen_words(app)


async def test_what_cannot_work_is_said_under_the_settings(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "0", "full_stop", "0", "5", "enter")
        assert "will ever be injected" in screen_words(app)


async def test_without_a_message_it_asks_for_one(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen, "")
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert "No message yet." in screen_words(app)
        assert app.screen.query_one(MessageLine).input.has_focus
        await press(pilot, *"ramen", "enter")
        assert app.screen.query_one(TrialSettings).has_focus
        assert "fav_food" in screen_words(app)
        await press(pilot, "slash", *["backspace"] * 5, "escape")
        assert "No message yet." in screen_words(app)


async def test_another_message_keeps_what_is_tried(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await press(pilot, "down", "down", "left", "slash")
        await press(pilot, *[letter if letter != " " else "space" for letter in " ramen"], "enter")
        assert app.what_if.request.query.endswith("eat? ramen")
        assert "0.40 → 0.35" in screen_words(app)


async def test_the_list_has_its_own_cursor_and_keys(kitchen: Kitchen) -> None:
    """Tab goes there and back; the settings still follow the keys that change them."""
    app = WhatIfApp(kitchen)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        rows = app.screen.query_one(ComparedRows)
        await press(pilot, "tab", "j", "j")
        assert rows.has_focus
        assert rows.cursor == 2
        chosen = rows.selected
        await press(pilot, "minus")
        assert app.what_if.tried.now.settings.vector_weight == 0.65
        assert rows.selected == chosen
        await press(pilot, "G", "g", "pagedown", "pageup", "tab")
        assert app.screen.query_one(TrialSettings).has_focus


async def test_the_cursor_never_stands_on_the_threshold(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        rows = app.screen.query_one(ComparedRows)
        await press(pilot, "tab")
        seen = []
        for key in (*["j"] * rows.row_count, *["k"] * rows.row_count):
            await press(pilot, key)
            seen.append(rows.selected)
        assert None not in seen
        await pilot.click(offset=place_of(app, "threshold 0.40:"))
        await settled(pilot)
        assert rows.selected is not None


async def test_the_mouse_chooses_a_setting_changes_it_and_scrolls_the_list(kitchen: Kitchen) -> None:
    eats = [(f"eat_{at:02d}", f"things to eat number {at}", "core", 0.9 - at / 100, None, 1) for at in range(60)]
    small_store.add(kitchen.database, [row | {"id": f"m{at}"} for at, row in enumerate(stored(eats))])
    app = WhatIfApp(kitchen)
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.click(offset=place_of(app, "limit"))
        await settled(pilot)
        assert "How many memories are recalled; ZeroClaw asks for 5" in screen_words(app)
        await pilot.click(offset=place_of(app, "›", "limit"))
        await settled(pilot)
        assert app.what_if.tried.now.request.limit == 6
        await pilot.click(offset=place_of(app, "‹", "limit"))
        await settled(pilot)
        assert app.what_if.tried.now.request.limit == 5
        await press(pilot, "4", "0", "enter")
        rows = app.screen.query_one(ComparedRows)
        assert rows.scroll_offset.y == 0
        await pilot._post_mouse_events([_wheel()], widget=rows, offset=(5, 5))
        await settled(pilot)
        assert rows.scroll_offset.y > 0


def _wheel() -> type:
    from textual.events import MouseScrollDown

    return MouseScrollDown


async def test_another_program_writes_and_the_trial_stays(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen, poll=0.01)
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "injected 3" in screen_words(app))
        await pilot.press("down", "down", "left")
        await until(pilot, lambda: "0.40 → 0.35" in screen_words(app))
        news = stored([("breakfast", "She does like to eat what is there.", "core", 0.99, None, 0)])
        small_store.add(kitchen.database, [news[0] | {"id": "news"}])
        await until(pilot, lambda: "breakfast" in screen_words(app))
        assert "0.40 → 0.35" in screen_words(app)


async def test_explain_follows_the_trial(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "down", "down", "left", "x")
        assert isinstance(app.screen, ExplainScreen)
        assert app.screen.library.settings.threshold == 0.35
        assert app.library is not None
        assert app.library.settings.threshold == 0.4
        await press(pilot, "escape")
        assert app.screen is app.what_if


async def test_the_command_that_does_the_same(kitchen: Kitchen) -> None:
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "down", "down", "left", "y")
        copied = app.clipboard
        assert copied.startswith("zeroclaw memory recall")
        assert "--threshold=0.35" in copied
        assert copied.endswith("-- 'what does she like to eat?'")
        assert "--vector-weight" not in copied


async def test_help_and_the_ways_out(kitchen: Kitchen) -> None:
    """Leaving writes nothing and gives False."""
    before = kitchen.config_file.read_bytes()
    app = WhatIfApp(kitchen)
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await press(pilot, "right", "question_mark")
        assert isinstance(app.screen, HelpScreen)
        assert "The chosen setting a step up" in screen_words(app)
        await press(pilot, "escape", "escape")
        assert app.given == [False]
    assert kitchen.config_file.read_bytes() == before
