"""What other settings would recall: every key and the mouse, what the list makes of it, and writing it."""

from __future__ import annotations

import asyncio
import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.screens import NARROW, WIDE, line_with, place_of, said, screen_text, screen_words
from support.settling import click_text, press, running, settled, until
from textual.events import MouseScrollDown
from textual.pilot import Pilot
from why_samples import CONFIG, Kitchen
from why_samples import aged as aged_rows

from zeroclaw_tui.tui.loader import Pace

LOW = (60, 15)
BROAD = (160, 45)
THRESHOLD, MODE, LIMIT, SESSION = (["down"] * steps for steps in (2, 3, 4, 6))
MARKDOWN = "# Memory\n\n- She does like to eat ramen.\n- The market opens at eight.\n- Her cat likes sushi.\n"


async def choose(pilot: Pilot[Any], name: str) -> None:
    """Move to the setting of this name."""
    for _ in range(20):
        if any(line.startswith(f"▌{name}") for line in screen_text(pilot.app).split("\n")):
            return
        await press(pilot, "down")
    raise AssertionError(f"there is no setting {name}")


async def test_it_begins_with_the_recall_as_it_is_and_tells_who_enters_and_who_leaves_and_why(aged: Kitchen) -> None:
    """Headline, the mark with its word, what the setting was, and the line that moved."""
    async with running(aged.room("what_if"), WIDE) as (app, pilot):
        assert "injected 3 · 5 recalled of 9 memories · settings not modified" in screen_words(app)
        assert "✓ stays" in line_with(app, "food_allergy")
        assert "threshold 0.40: below is not injected" in screen_words(app)
        await press(pilot, *THRESHOLD, *["left"] * 3)
        assert line_with(app, "threshold 0.40 →").startswith("threshold 0.40 → 0.25")
        assert "injected 3 → 4, 1 enters" in screen_words(app)
        assert "+ enters" in line_with(app, "lunch_2026")
        await press(pilot, "backspace")
        assert "settings not modified" in screen_words(app)
        await press(pilot, *["right"] * 3)
        assert "1 leaves" in screen_words(app)
        assert "− leaves" in line_with(app, "soup")
        assert "decayed to 0.54" in line_with(app, "soup")
        await press(pilot, "backspace", "down", "down", "1")
        assert "5 → 1" in line_with(app, "limit")
        assert "no longer recalled" in line_with(app, "fav_food")
        assert "○ gone" in line_with(app, "assistant_r")


STEPS = {
    "left": "0.65",
    "minus": "0.65",
    "right": "0.75",
    "plus": "0.75",
    "equals_sign": "0.75",
    "shift+left": "0.45",
    "less_than_sign": "0.45",
    "shift+right": "0.95",
    "greater_than_sign": "0.95",
}


async def test_numbers_are_stepped_and_typed(aged: Kitchen) -> None:
    async with running(aged.room("what_if")) as (app, pilot):
        for key, value in STEPS.items():
            await press(pilot, key)
            assert f"0.70 → {value}" in line_with(app, "vector weight")
            await press(pilot, "backspace")
            assert "→" not in line_with(app, "vector weight")
        await press(pilot, *["shift+left"] * 5)
        assert "0.70 → 0.00" in line_with(app, "vector weight")
        await press(pilot, "=0.33", "enter")
        assert "0.70 → 0.33" in line_with(app, "vector weight")
        await press(pilot, "=0.33", "backspace")
        assert "0.70 → 0.3▏" in line_with(app, "vector weight")


async def test_escape_takes_back_what_is_being_typed_and_then_leaves(aged: Kitchen) -> None:
    async with running(aged.room("what_if")) as (app, pilot):
        await press(pilot, *LIMIT, "9", "9", "9")
        assert "The limit must be between 1 and 100." in said(app)
        assert "5 → 99▏" in line_with(app, "limit")
        await press(pilot, "escape")
        assert "→" not in line_with(app, "limit")
        assert app.given == []
        await press(pilot, "escape")
    assert app.given == [False]
    assert aged.config_file.read_text() == CONFIG


async def test_words_go_through_their_choices_and_all_is_taken_back_at_once(aged: Kitchen) -> None:
    async with running(aged.room("what_if")) as (app, pilot):
        await press(pilot, *MODE, "right")
        assert "hybrid → bm25" in screen_words(app)
        await press(pilot, "down", "down", "right")
        assert "0.7.5 → 0.8.3" in screen_words(app)
        await press(pilot, "down", "right")
        assert "→ telegram_12345" in screen_words(app)
        await press(pilot, "down", "left")
        assert "→" not in line_with(app, "decay on day")
        await press(pilot, "right")
        assert "0 → +1" in screen_words(app)
        await press(pilot, "backslash")
        assert "→" not in screen_text(app).replace("→ more", "")
        await press(pilot, "down", "right")
        assert "CLI → channels" in screen_words(app)


async def test_a_session_and_a_profile_are_chosen_from_all(aged: Kitchen) -> None:
    """The profile is only modified: the library scores as before."""
    async with running(aged.room("what_if"), WIDE) as (app, pilot):
        await press(pilot, *SESSION, "enter", "j", "j", "enter")
        assert "any → cli" in screen_words(app)
        assert "no longer recalled" in screen_words(app)
        await press(pilot, "backspace", "up", "enter", "end", "enter")
        assert "0.7.5 → 0.8.4" in screen_words(app)
        assert "scoring 0.8.4 (tried)" in screen_words(app)
        assert app.library is not None
        assert app.library.profile.profile.version == "0.7.5"


async def test_rerank_recalls_a_pool_and_says_what_it_made_of_the_rest(aged: Kitchen) -> None:
    async with running(aged.room("what_if"), BROAD) as (app, pilot):
        await choose(pilot, "rerank ")
        assert "since 0.8.4" in line_with(app, "rerank ")
        await press(pilot, *["up"] * 4, "enter", "end", "enter")
        await choose(pilot, "rerank ")
        await press(pilot, "right")
        assert "off → on" in line_with(app, "rerank ")
        before = screen_text(app)
        await choose(pilot, "importance")
        await press(pilot, *["right"] * 12)
        assert "0.20 → 0.80" in line_with(app, "importance")
        assert screen_text(app).split("\n")[6:20] != before.split("\n")[6:20]


async def test_settings_that_do_nothing_are_dimmed_and_say_why(tmp_path: Path) -> None:
    """Nine in ten installs have no vectors: no vector column, and no weight that could be turned."""
    async with running(Kitchen.of_aged(tmp_path, vectors=False).room("what_if")) as (app, pilot):
        assert "must reach" in screen_words(app)
        await press(pilot, "up", "up")
        assert "no vectors" in line_with(app, "vector weight")
        assert "Without vectors there are only keyword scores" in screen_words(app)
        assert not any("final" in line and "vector" in line for line in screen_text(app).split("\n"))
        await press(pilot, "right")
        assert "→" not in line_with(app, "vector weight")
        assert "Without vectors" in said(app)


@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["80x24", "140x40"])
async def test_what_cannot_work_is_said_to_its_end(tmp_path: Path, size: tuple[int, int]) -> None:
    async with running(Kitchen.of_aged(tmp_path, vectors=False).room("what_if"), size) as (app, pilot):
        await choose(pilot, "scoring profile")
        await press(pilot, "right")
        complaints = app.screen.query_one("#complaints")
        (*_, last) = str(complaints.render()).split()
        assert last in screen_words(app)
        assert complaints.size.height == complaints.virtual_size.height


async def test_a_weight_that_is_no_number_is_not_told_as_changed(tmp_path: Path) -> None:
    app = Kitchen.of_aged(tmp_path, config=CONFIG + "vector_weight = nan\n").room("what_if")
    async with running(app, WIDE):
        assert "settings not modified" in screen_words(app)
        assert "→" not in line_with(app, "vector weight")


async def test_without_a_message_it_asks_for_one_and_another_keeps_what_is_tried(aged: Kitchen) -> None:
    async with running(aged.room("what_if", message="")) as (app, pilot):
        assert "No message yet." in screen_words(app)
        await press(pilot, "=ramen", "enter", "down", "down", "left")
        assert "She does like ramen" in screen_words(app)
        await press(pilot, "slash", "=sushi", "enter")
        assert "0.40 → 0.35" in screen_words(app)
        assert "Ordered sushi" in screen_text(app)


async def test_the_list_has_its_own_cursor_that_never_stands_on_the_threshold(aged: Kitchen) -> None:
    """Tab goes there and back; the settings still follow the keys that change them."""
    async with running(aged.room("what_if")) as (app, pilot):
        await press(pilot, "tab", "j", "j")
        assert line_with(app, "Allergic to peanuts") in screen_words(app)
        assert "▌✓ stays    3  Allergic to peanuts" in screen_text(app)
        await press(pilot, "minus")
        assert "0.70 → 0.65" in screen_words(app)
        assert "▌✓ stays    3  Allergic to peanuts" in screen_text(app)
        await press(pilot, "G")
        assert not line_with(app, "▌").startswith("─")
        await pilot.click(offset=place_of(app, "threshold 0.40:"))
        await press(pilot, "x")
        assert "“lunch_2026_03” is not in the prompt" in screen_text(app)


async def test_enter_in_the_list_leads_to_the_stages_of_that_memory_and_escape_back_to_it(aged: Kitchen) -> None:
    async with running(aged.room("what_if")) as (app, pilot):
        assert "⏎ pick" in line_with(app, "⏎")
        await press(pilot, "tab", "j")
        assert "⏎ open" in line_with(app, "⏎")
        await press(pilot, "enter")
        assert "“soup” is in the prompt" in screen_words(app)
        await press(pilot, "escape", "j", "enter")
        assert "“food_allergy” is in the prompt" in screen_words(app)
        await press(pilot, "escape", "escape", "escape")
    assert app.given == [False]


async def test_the_mouse_chooses_a_setting_changes_it_and_scrolls_the_list(aged: Kitchen) -> None:
    eats = [(f"eat_{at:02d}", f"things to eat number {at}", "core", 0.9 - at / 100, None, 1) for at in range(60)]
    aged.add(*aged_rows(eats, first=100))
    async with running(aged.room("what_if")) as (app, pilot):
        await click_text(pilot, "limit")
        assert "How many memories are recalled. ZeroClaw uses 5" in screen_words(app)
        for arrow, words in (("›", "5 → 6"), ("‹", "limit 5")):
            await pilot.click(offset=place_of(app, arrow, "limit"))
            await settled(pilot)
            assert words in line_with(app, "limit")
        await press(pilot, "4", "0", "enter")
        rows = app.screen.query_one("#comparison")
        await pilot._post_mouse_events([MouseScrollDown], widget=rows, offset=(5, 2))
        await settled(pilot)
        assert rows.scroll_offset.y > 0


async def test_in_a_low_terminal_settings_and_list_are_both_in_sight(aged: Kitchen) -> None:
    async with running(aged.room("what_if"), LOW) as (app, pilot):
        for name in ("vector weight", "threshold", "limit", "injection rule", "vector weight"):
            await choose(pilot, name)
            assert "✓ stays" in screen_text(app)


async def test_in_a_narrow_terminal_the_memory_has_the_cells_of_the_bars(aged: Kitchen) -> None:
    async with running(aged.room("what_if"), (40, 15)) as (app, pilot):
        await press(pilot, "tab", "G", "g")
        assert "✓ 1 She does like ramen" in line_with(app, "She does like ramen")
        assert "█" not in screen_text(app)


async def test_another_program_writes_and_the_trial_stays(aged: Kitchen) -> None:
    aged.pace = Pace(debounce=0, poll=0.01, patience=30)
    app = aged.room("what_if")
    async with app.run_test(size=WIDE) as pilot:
        await until(pilot, lambda: "injected 3" in screen_words(app))
        await pilot.press(*THRESHOLD, "left")
        await until(pilot, lambda: "0.40 → 0.35" in screen_words(app))
        aged.add(*aged_rows([("breakfast", "She does like to eat what is there.", "core", 0.99, None, 0)], first=100))
        await until(pilot, lambda: "breakfast" in screen_words(app))
        assert "0.40 → 0.35" in screen_words(app)


async def test_of_many_keys_the_last_counts(aged: Kitchen) -> None:
    """Each is decided in a thread; what was wanted before is not shown after it."""
    async with running(aged.room("what_if"), WIDE) as (app, pilot):
        await press(pilot, *THRESHOLD, *["right"] * 8, *["left"] * 11)
        assert "0.40 → 0.25" in screen_words(app)
        assert "injected 3 → 4, 1 enters" in screen_words(app)


async def test_the_store_is_asked_once_however_much_is_tried(aged: Kitchen, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    async with running(aged.room("what_if")) as (app, pilot):
        assert app.library is not None
        monkeypatch.setattr(app.library.memory, "search", lambda *given, **named: asked.append(given))
        for _ in range(8):
            await press(pilot, "right", "down")
        assert "8 settings" not in screen_text(app)
        assert screen_text(app).count(" → ") >= 8
        assert asked == []


async def test_a_version_that_searches_otherwise_is_asked_for_and_kept(tmp_path: Path) -> None:
    """ZeroClaw <= 0.7.4 lets a double quote break the search; what it finds is another thing to ask."""
    kitchen = Kitchen.of_aged(tmp_path, vectors=False, profile="0.7.4")
    async with running(kitchen.room("what_if", message='a "ramen" plate'), WIDE) as (app, pilot):
        await choose(pilot, "scoring profile")
        await press(pilot, "enter", "end", "enter")
        assert "0.7.4 → 0.8.4" in screen_words(app)
        assert "fav_food" in screen_words(app)


async def test_a_store_of_its_own_rule(tmp_path: Path) -> None:
    """Weights, mode and session do nothing and say so; threshold and limit work."""
    kitchen = Kitchen.of_aged(tmp_path, vectors=False)
    (kitchen.config_dir / "workspace" / "MEMORY.md").write_text(MARKDOWN)
    async with running(kitchen.room("what_if", backend="markdown")) as (app, pilot):
        assert "own rule" in line_with(app, "vector weight")
        assert "own rule" in line_with(app, "search mode")
        assert "no sessions" in line_with(app, "session")
        await press(pilot, "=0.9", "enter")
        assert "− leaves" in line_with(app, "ramen")
        await choose(pilot, "vector weight")
        await press(pilot, "left")
        assert "uses its own ranking" in said(app)


async def test_the_copied_command_recalls_the_same(tmp_path: Path) -> None:
    """Run as it was copied, whatever characters the message has."""
    app = Kitchen.of_aged(tmp_path, vectors=False).room("what_if", message='-x "eat" $(she)')
    async with running(app, (100, 30)) as (_, pilot):
        # The channels of this version let nothing decay, so that the moment of the command does not count.
        await press(pilot, "=0.54", "enter", "up", "up", "up", "right", "y")
        await until(pilot, lambda: app.clipboard)
        shown = [line.split()[:4] for line in screen_text(app).split("\n") if "✓ stays" in line]
        words = shlex.split(app.clipboard)
    assert words[:3] == ["zeroclaw", "memory", "recall"]
    code = "import sys; from zeroclaw_tui.cli.main import zeroclaw; sys.argv[0] = 'zeroclaw'; sys.exit(zeroclaw())"
    command = [sys.executable, "-c", code, *words[1:3], "--json", *words[3:]]
    done = await asyncio.to_thread(subprocess.run, command, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    recalled = [one["key"] for one in json.loads(done.stdout)["results"] if one["injected"]]
    assert len(recalled) == len(shown) > 0
    assert all(
        any(key.startswith(part.rstrip("…")) for part in line) for key, line in zip(recalled, shown, strict=True)
    )


async def test_the_difference_is_shown_and_written(aged: Kitchen) -> None:
    """Comments stay, the backup is the file of before, and the library scores by what was written.

    Leaving the question writes nothing; what the config does not hold is said, and stays a trial.
    """
    async with running(aged.room("what_if"), WIDE) as (app, pilot):
        await press(pilot, *THRESHOLD, *["left"] * 3, "down", "down", "right")
        for answer in ("n", "escape", "enter"):
            await press(pilot, "W")
            words = screen_words(app)
            assert "- min_relevance_score = 0.4" in words
            assert "+ min_relevance_score = 0.25" in words
            assert "For this message, with the modified settings: injected 3 → " in words
            assert "Limit, session, moment, rule and version of a what-if are not written" in words
            await press(pilot, answer)
            assert app.screen is app.room
        assert "0.40 → 0.25" in screen_words(app)
        assert aged.config_file.read_text() == CONFIG
        await press(pilot, "W", "y")
        assert aged.config_file.read_text() == CONFIG.replace("score = 0.4", "score = 0.25")
        assert app.library is not None
        assert app.library.settings.threshold == 0.25
        assert "5 → 6" in screen_words(app)
        assert "→" not in line_with(app, "threshold 0.25")
        assert f"`zeroclaw onboard --config-dir {aged.config_dir} --restore` restores the previous one." in said(app)
        await press(pilot, "escape")
    assert app.given == [True]
    assert [path.read_text() for path in aged.config_dir.rglob("backups/*")] == [CONFIG]


async def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    kitchen = Kitchen.of_aged(tmp_path, profile="0.8.4")
    async with running(kitchen.room("what_if"), WIDE) as (app, pilot):
        await press(pilot, "W")
        assert "There is nothing to write" in said(app)
        await press(pilot, *THRESHOLD, "3", "enter", "W")
        assert "must be a number from 0 to 1" in said(app)
        await press(pilot, "backspace", "left", "W")
        kitchen.config_file.write_text(CONFIG + "# another hand\n")
        await press(pilot, "y")
        assert "changed" in said(app)
    assert kitchen.config_file.read_text() == CONFIG + "# another hand\n"


async def test_with_read_only_writing_is_dimmed_and_says_why(aged: Kitchen) -> None:
    async with running(aged.room("what_if", read_only=True), WIDE) as (app, pilot):
        await press(pilot, *THRESHOLD, "left", "W")
        assert app.screen is app.room
        assert "ead-only" in said(app)
    assert aged.config_file.read_text() == CONFIG
