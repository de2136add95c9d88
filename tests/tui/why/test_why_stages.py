"""What is shown of a memory on its way to the prompt, and what can be done about it."""

from __future__ import annotations

from support.screens import WIDE, line_with, said, screen_text, screen_words
from support.settling import press, running
from why_samples import HOSTILE_KEY, HOSTILE_MESSAGE, MESSAGE, SHOPPING, Kitchen


async def test_the_title_is_the_answer_and_every_stage_has_its_line(kitchen: Kitchen) -> None:
    """Advice is only given where it was seen to help: `w` tries its number at once, and then the memory is in."""
    async with running(kitchen.room("stages", "cutlery"), WIDE) as (app, pilot):
        assert "“cutlery” is not in the prompt for “what does she like to eat?”" in screen_words(app)
        assert "Bought new chopsticks" in screen_text(app)
        assert "R re-embed it" in screen_words(app)
        assert "ranked 11th after fusion with 0.14" in line_with(app, "✗ merge")
        assert "a keyword-only hit can reach at most 0.30" in screen_words(app)
        assert "w a weighting of 0 / 1 puts it in the prompt" in screen_words(app)
        await press(pilot, "w")
        assert "0.70 → 0.00" in line_with(app, "vector weight")
        assert "+ enters" in line_with(app, "Bought new chopsticks")
        await press(pilot, "x")
        assert "“cutlery” is in the prompt" in screen_text(app)
        assert "✗" not in screen_text(app)
        assert "modified: vector weight 0.00, keyword weight 1.00" in screen_text(app)
        await press(pilot, "backslash")
        assert "“cutlery” is not in the prompt" in screen_text(app)
        assert "tried" not in screen_text(app)


async def test_the_newer_memory_is_explained_from_the_one_it_replaced(kitchen: Kitchen) -> None:
    async with running(kitchen.room("stages", "old_diet"), WIDE) as (app, pilot):
        assert "✗ superseded" in screen_text(app)
        assert "x look at the newer one" in screen_words(app)
        await press(pilot, "x")
        assert "“fav_food” is in the prompt" in screen_text(app)


async def test_without_a_message_the_line_waits_for_one(kitchen: Kitchen) -> None:
    async with running(kitchen.room("stages", "cutlery", "")) as (app, pilot):
        assert "Why “cutlery” is recalled, or not" in screen_text(app)
        assert "For which message?" in screen_text(app)
        await press(pilot, "=eat/ xwq?", "enter")
        assert "“cutlery” is not in the prompt for “eat/ xwq?”" in screen_text(app)
        await press(pilot, "slash", "backspace")
        assert "For which message?" in screen_text(app)
        assert "keyword" not in screen_text(app)


async def test_without_a_memory_it_says_where_one_is_chosen(kitchen: Kitchen) -> None:
    async with running(kitchen.room("stages")) as (app, pilot):
        assert "Which memory?" in screen_text(app)
        await press(pilot, "w", "x")
        assert "“assistant_resp_9f3c” is not in the prompt" in screen_text(app)


async def test_after_an_embedding_or_an_edit_the_stages_are_shown_again(kitchen: Kitchen) -> None:
    content = "Bought new chopsticks. She would like a wok as well."
    kitchen.embedder.vectors[content] = (0.0, 0.0, 1.0, 0.0)
    async with running(kitchen.room("stages", "cutlery", SHOPPING), WIDE) as (app, pilot):
        assert "this memory has no vector" in screen_text(app)
        await press(pilot, "R")
        assert "Its embedding now matches its content." in said(app)
        assert "cosine 1.00" in line_with(app, "✓ vector")
        await press(pilot, "slash", "=peanuts", "enter")
        assert "“cutlery” is not in the prompt" in screen_text(app)
        await press(pilot, "e", "=peanuts ", "ctrl+s")
        assert app.screen is app.room
        assert "matches “peanuts”" in screen_text(app)
        await press(pilot, "escape")
    assert app.given == [True]


async def test_a_store_that_is_only_read_is_not_written_to(kitchen: Kitchen) -> None:
    async with running(kitchen.room("stages", "cutlery", read_only=True), WIDE) as (app, pilot):
        await press(pilot, "R", "e")
        assert "read-only" in said(app)
        assert app.screen is app.room
        assert "this memory has no vector" in screen_text(app)


async def test_nothing_hostile_reaches_the_terminal(kitchen: Kitchen) -> None:
    async with running(kitchen.room("stages", HOSTILE_KEY, HOSTILE_MESSAGE), WIDE) as (app, pilot):
        assert "[/foo]" in screen_text(app)
        for key in ("y", "w", "P", "x"):
            await press(pilot, key)
            everything = screen_text(app) + app.clipboard
            assert not [letter for letter in everything if ord(letter) < 32 and letter != "\n"]
            assert "\u202e" not in everything


async def test_another_memory_is_never_shown_with_the_stages_of_the_one_before(kitchen: Kitchen) -> None:
    async with running(kitchen.room("what_if", "lunch_2026_03"), WIDE) as (app, pilot):
        await press(pilot, "tab", "j", "x")
        first = screen_text(app)
        assert "“lunch_2026_03”" not in first
        assert MESSAGE in first
        assert first.count("✓ keyword") == 1
