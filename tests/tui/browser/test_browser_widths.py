"""The text of a memory is what one came to read, at every width."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from support.settling import settled
from textual.pilot import Pilot
from tui_samples import Inspector, SampleMemory, browser, line, memory, screen_text

from zeroclaw_tui.tui.app import InspectorApp

LETTERS = "peanuts " + "".join(f"{number:03}" for number in range(100))
"""No part of it comes twice, so that what is seen of it can be counted."""
WIDTHS = sorted({*range(80, 201, 6), 99, 100, 101, 149, 150, 151})
"""Where the layout breaks, and between."""


def seen(shown: str) -> int:
    """How many letters of the text stand on the screen, from its beginning on; the ellipsis counts."""
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


async def resized(pilot: Pilot[int | None], width: int) -> str:
    await pilot.resize_terminal(width, 30)
    await pilot.pause()
    assert isinstance(pilot.app, InspectorApp)
    return screen_text(pilot.app)


async def test_a_listing_shows_forty_letters_at_each_width(long_texts: Inspector) -> None:
    app = long_texts.app()
    async with app.run_test(size=(80, 30)) as pilot:
        await settled(pilot)
        for width in WIDTHS:
            rows = browser(app).rows.region
            shown = await resized(pilot, width)
            rows = browser(app).rows.region
            listed = [row[rows.x : rows.right] for row in shown.splitlines()[rows.y + 1 : rows.y + 9]]
            assert min(map(seen, listed)) >= 40, f"{width} columns:\n{shown}"


async def test_a_recall_shows_forty_letters_with_both_scores_at_each_width(long_texts: Inspector) -> None:
    app = long_texts.app()
    async with app.run_test(size=(80, 30)) as pilot:
        await settled(pilot)
        await pilot.press("slash", *"peanuts", "enter")
        await settled(pilot)
        for width in WIDTHS:
            shown = await resized(pilot, width)
            rows = browser(app).rows.region
            lines = [row[rows.x : rows.right] for row in shown.splitlines()[rows.y : rows.y + 4]]
            assert "final" in lines[0]
            assert "vector" in lines[0]
            assert "keyword" in lines[0]
            assert "0.78" in lines[1]
            assert seen_in_lines(lines[1:]) >= 40, f"{width} columns:\n{shown}"


async def test_the_detail_stands_beside_the_list_from_150_columns(long_texts: Inspector) -> None:
    app = long_texts.app()
    async with app.run_test(size=(149, 30)) as pilot:
        await settled(pilot)
        for width, is_beside in ((149, False), (150, True)):
            await resized(pilot, width)
            assert (browser(app).panes.detail.region.x > browser(app).rows.region.x) is is_beside


@pytest.mark.parametrize("width", range(100, 201, 20))
async def test_facets_have_their_counts_from_the_start(long_texts: Inspector, width: int) -> None:
    """Also where there are so many that they scroll."""
    app = long_texts.app()
    async with app.run_test(size=(width, 12)) as pilot:
        await settled(pilot)
        assert "conversation 8" in " ".join(line(app, 3 + (width >= 150)).split())


@pytest.mark.parametrize("size", [(40, 12), (20, 6)])
async def test_a_small_terminal_still_shows_a_list_and_finds(long_texts: Inspector, size: tuple[int, int]) -> None:
    app = long_texts.app()
    async with app.run_test(size=size) as pilot:
        await settled(pilot)
        assert "0001" in screen_text(app)
        await pilot.press("slash", *"peanuts", "enter", "j")
        await settled(pilot)
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
    app = Inspector(tmp_path, SampleMemory([memory(key, "x", "core", 1, at) for at, key in enumerate(keys)])).app()
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        shown = screen_text(app)
        for part in ("_499 ", "_498 ", "summer", "winter", "8950e ", "a_long_key_lik…"):
            assert part in shown
