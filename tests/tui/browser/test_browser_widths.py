"""The text of a memory is what one came to read, at every width."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.screens import screen_text
from support.settling import press, running, settled
from tui_samples import Inspector, SampleMemory, browser, memory

LETTERS = "peanuts " + "".join(f"{number:03}" for number in range(100))
"""No part of it comes twice, so that what is seen of it can be counted."""
WIDTHS = sorted({*range(80, 237, 6), 99, 100, 101, 219, 220, 221})
"""Where the layout breaks, and between."""


def seen(shown: str) -> int:
    """How many letters of the text are on the screen, from its beginning on; the ellipsis counts."""
    for length in range(len(LETTERS), 0, -1):
        if LETTERS[:length] in shown:
            return length + 1
    return 0


def seen_in_lines(lines: Sequence[str]) -> int:
    """The same where the text goes on in the lines below."""
    found = 0
    for shown in lines:
        rest = LETTERS[found:].lstrip()
        found += max((length for length in range(len(rest) + 1) if rest[:length] in shown), default=0)
    return found


@pytest.fixture
def long_texts(tmp_path: Path) -> Inspector:
    """A store with agents, sessions and long keys, whose memories begin with one long word."""
    memories = [
        memory(f"telegram_12345_{number}", LETTERS, "conversation", number, number, agent=agent)
        for number, agent in enumerate(("alpha", "beta") * 4, 1)
    ]
    return Inspector(tmp_path, SampleMemory(memories))


async def test_forty_letters_are_shown_at_each_width_in_a_recall_with_both_scores(long_texts: Inspector) -> None:
    """From 220 columns on the detail is next to the list."""
    async with running(long_texts.app(), (80, 30)) as (app, pilot):

        async def shown_at(width: int) -> list[str]:
            """The lines of the list, its heading first."""
            await pilot.resize_terminal(width, 30)
            await settled(pilot)
            rows, detail = browser(app).rows.region, browser(app).panes.detail.region
            assert (detail.x > rows.x) is (width >= 220)
            lines = screen_text(app).splitlines()[rows.y + 1 : rows.y + 9]
            return [line[rows.x + 1 : rows.right - 1] for line in lines]

        for width in WIDTHS:
            _, *lines = await shown_at(width)
            assert min(map(seen, lines[:4])) >= (80 if width >= 160 else 55 if width >= 120 else 40), (
                f"{width} columns:\n{lines}"
            )
        await press(pilot, "slash", "=peanuts", "enter")
        for width in WIDTHS:
            heading, *lines = await shown_at(width)
            assert heading.split()[-3:] == ["final", "vector", "keyword"]
            assert "0.78" in lines[0]
            assert seen_in_lines(lines[:3]) >= 40, f"{width} columns:\n{lines}"


@pytest.mark.parametrize("size", [(40, 12), (20, 6)])
async def test_a_small_terminal_still_shows_a_list_and_finds(long_texts: Inspector, size: tuple[int, int]) -> None:
    async with running(long_texts.app(), size) as (app, pilot):
        assert "0001" in screen_text(app)
        await press(pilot, "slash", "=peanuts", "enter", "j")
        assert browser(app).rows.cursor == 1
        assert "pean" in screen_text(app)


async def test_keys_are_cut_where_they_differ(tmp_path: Path) -> None:
    keys = (
        "telegram_12345_499",
        "telegram_12345_498",
        "what_she_likes_to_eat_in_summer",
        "what_she_likes_to_eat_in_winter",
        "0f8fad5b-d9cb-469f-a165-70867728950e",
        "a_long_key_like_no_other_one",
    )
    memories = SampleMemory([memory(key, "x", "core", 1, at) for at, key in enumerate(keys)])
    async with running(Inspector(tmp_path, memories).app()) as (app, _):
        for part in ("_499 ", "_498 ", "summer", "winter", "8950e ", "a_long_key_like"):
            assert part in screen_text(app)
