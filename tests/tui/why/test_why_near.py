"""What lies near a memory: by vectors or by words, read on, and asked about."""

from __future__ import annotations

from pathlib import Path

from support.screens import WIDE, line_with, screen_text, screen_words
from support.settling import press, running
from why_samples import MESSAGE, Kitchen


async def test_the_nearest_are_listed_by_their_vectors_with_their_cosine(kitchen: Kitchen) -> None:
    async with running(kitchen.room("near", "food_allergy", "")) as (app, _):
        words = screen_words(app)
        assert "Near to “food_allergy”" in words
        assert "compared by their vectors" in words
        assert "0.98" in line_with(app, "assistant_resp")
        rows = [line for line in screen_text(app).splitlines() if "recipe_" in line]
        assert rows
        assert "old_diet" not in words, "what was replaced is left out"


async def test_without_a_vector_words_count_and_it_says_why(kitchen: Kitchen) -> None:
    async with running(kitchen.room("near", "cutlery"), WIDE) as (app, _):
        assert "compared by rare words · This memory has no vector." in screen_words(app)
        assert "both have like, she" in screen_words(app)


async def test_enter_reads_on_and_escape_comes_back(kitchen: Kitchen) -> None:
    kitchen.meal("long_note", "eat\n" * 60 + "the very end", (0.9, 0.3, 0.1, 0.0))
    async with running(kitchen.room("near", "food_allergy")) as (app, pilot):
        assert "the very end" not in screen_text(app)
        await press(pilot, "enter", "G")
        assert "the very end" in screen_text(app)
        await press(pilot, "y", "escape", "j", "y")
        assert app.clipboard.startswith("Here is what she does like")
        assert app.given == []
        await press(pilot, "escape")
    assert app.given == [False]


async def test_x_asks_why_of_it_and_s_goes_on_from_it(kitchen: Kitchen) -> None:
    async with running(kitchen.room("near", "food_allergy"), WIDE) as (app, pilot):
        await press(pilot, "j", "j", "x")
        assert f"in the prompt for “{MESSAGE}”" in screen_text(app)
        asked = screen_text(app).split("“")[1].split("”")[0]
        await press(pilot, "s")
        assert f"Near to “{asked}”" in screen_text(app)
        await press(pilot, "s")
        assert f"Near to “{asked}”" not in screen_text(app)


async def test_the_message_does_not_matter_and_typing_one_is_for_the_other_tabs(kitchen: Kitchen) -> None:
    async with running(kitchen.room("near", "cutlery", "")) as (app, pilot):
        await press(pilot, "slash", "w", "o", "k", "enter")
        assert "Near to “cutlery”" in screen_text(app)
        await press(pilot, "P")
        assert "put before “wok”" in screen_text(app)


async def test_nothing_near_says_so(tmp_path: Path) -> None:
    app = Kitchen(tmp_path, [{"key": "one", "content": "Alone in the world"}]).room("near", "one")
    async with running(app) as (_, pilot):
        assert "Nothing is near to it." in screen_words(app)
        await press(pilot, "enter", "x")
        assert "“one” is not in the prompt" in screen_text(app)


async def test_a_store_that_changed_is_compared_again(kitchen: Kitchen) -> None:
    async with running(kitchen.room("near", "food_allergy"), WIDE) as (app, pilot):
        kitchen.meal("news", "Just the same.", (0.9, 0.3, 0.1, 0.0))
        assert "news" not in screen_text(app)
        await press(pilot, "r")
        assert "1.00" in line_with(app, "news")
