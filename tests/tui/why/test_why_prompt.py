"""The text ZeroClaw puts before a message: as it is sent, and why there is none."""

from __future__ import annotations

from support.screens import said, screen_text, screen_words
from support.settling import press, running
from why_samples import HOSTILE_MESSAGE, Kitchen

FIRST = "- dinner_plans: What does she like to eat on Friday? Dumplings."


async def test_the_prompt_is_shown_as_it_is_sent_and_copied_exactly(kitchen: Kitchen) -> None:
    """As many characters as the screen says, and the empty line at its end too."""
    async with running(kitchen.room("prompt")) as (app, pilot):
        lines = [line.rstrip() for line in screen_text(app).splitlines()]
        assert " 3 memories are put before “what does she like to eat?”" in lines
        at = lines.index(" [Memory context]")
        assert lines[at + 1] == f" {FIRST}"
        assert " [/Memory context]" in lines
        assert "3 entries · 243 characters · about 61 tokens · rule: CLI" in screen_words(app)
        await press(pilot, "y")
    assert app.clipboard.startswith(f"[Memory context]\n{FIRST}\n")
    assert app.clipboard.endswith("[/Memory context]\n\n")
    assert len(app.clipboard) == 243


async def test_what_is_tried_changes_the_text(kitchen: Kitchen) -> None:
    async with running(kitchen.room("what_if")) as (app, pilot):
        await press(pilot, "down", "down", "enter", "=1", "enter", "P")
        assert "Nothing is put before" in screen_text(app)
        assert "modified: threshold 1.00" in screen_text(app)
        await press(pilot, "backslash")
        assert FIRST in screen_text(app)


async def test_an_empty_prompt_says_why_and_what_helps(kitchen: Kitchen) -> None:
    async with running(kitchen.room("prompt", message="zebra")) as (app, pilot):
        words = screen_words(app)
        assert "Nothing is put before “zebra”" in words
        assert "Without the message's vector ZeroClaw's own recall fails, and the agent gets nothing." in words
        assert "w try other weights and thresholds" in words
        assert "The endpoint does not know this message. Keyword hits only." in words
        await press(pilot, "y")
        assert "Nothing to copy here yet." in said(app)


async def test_what_hides_is_made_visible_and_copied_as_it_is(kitchen: Kitchen) -> None:
    app = kitchen.room("prompt", message=HOSTILE_MESSAGE, session="s \x1b[31m\u202e")
    async with running(app) as (_, pilot):
        assert "␛[2J␇" in screen_text(app)
        assert not {"\x1b", "\u202e"} & {*screen_text(app)}
        await press(pilot, "y")
        assert "\x1b[2J\x07" in app.clipboard
