"""Another store: what is listed, what is known of each, and what stays when one is chosen."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores_samples import GONE, NO_SESSION, Known, none, notes, sqlite
from support.screens import WIDE, line, said, screen_text, screen_words
from support.settling import burst, press, running, settled, until
from tui_samples import browser

from zeroclaw_tui.config.settings import confirmed_stores
from zeroclaw_tui.curation.candidates import StoreStatus
from zeroclaw_tui.tui.rooms.stores import ErrorScreen, StoresRoom
from zeroclaw_tui.tui.widgets.memory_list import MemoryList


@pytest.fixture
def known(tmp_path: Path) -> Known:
    return Known(tmp_path, {"sqlite": sqlite(), "markdown": notes(), "none": none()})


async def test_b_lists_every_store_and_fills_in_what_each_answers(known: Known) -> None:
    """And `r` asks every store again."""
    known.answers = {
        "sqlite": StoreStatus(count=248, badges=("keyword", "vectors", "sessions", "write")),
        "markdown": StoreStatus(count=4, badges=("keyword", "write"), limitations={"sessions": NO_SESSION}),
        "none": StoreStatus("not created yet", is_missing=True),
        "postgres": StoreStatus("No server listens at db:5432."),
    }
    known.refusals = {"postgres": GONE}
    async with running(known.app(), WIDE) as (app, pilot):
        await press(pilot, "6")
        shown = screen_words(app)
        assert "4 stores configured: 2 answering" in shown
        assert "● sqlite ✓ answers 248 " in shown
        assert "markdown ✓ answers 4 " in shown
        assert "– not yet" in shown
        assert "✗ fails" in shown
        assert "can keyword, vectors, sessions, writing" in shown
        await press(pilot, "j")
        assert f"no sessions: {NO_SESSION}" in screen_text(app)
        await press(pilot, "G")
        assert "No server listens at db:5432." in screen_text(app)
        assert "hunter2" not in screen_text(app)
        assert "postgres://db:5432/postgres · public.memories" in screen_text(app)
        known.answers.clear()
        known.asked.clear()
        await press(pilot, "r")
        assert "4 answering" in screen_text(app)
        assert sorted(known.asked) == ["markdown", "none", "postgres", "sqlite"]


async def test_enter_shows_the_other_store_and_closes_the_first(known: Known) -> None:
    """Escape changes nothing, nor does the store that is shown."""
    async with running(known.app(), WIDE) as (app, pilot):
        for key in ("escape", "q", "enter"):
            await press(pilot, "6")
            assert isinstance(app.screen, StoresRoom)
            await press(pilot, key)
            assert app.screen is browser(app)
        assert known.closed == []
        await press(pilot, "6", "j", "enter")
        assert "4 memories" in screen_text(app)
        assert browser(app).query_one(MemoryList).row_count == 4
        assert "markdown" in line(app, 1)
        assert known.closed == ["sqlite"]
        await press(pilot, "6")
        assert "● markdown" in screen_words(app)


async def test_what_is_typed_before_the_stores_are_listed_is_for_their_rows(known: Known) -> None:
    async with running(known.app(), WIDE) as (app, pilot):
        known.may_list.clear()
        burst(app, "6j\r")
        await until(pilot, lambda: isinstance(app.screen, StoresRoom))
        known.may_list.set()
        await settled(pilot)
        assert "4 memories" in screen_text(app)


async def test_a_store_that_never_answers_delays_no_other(known: Known) -> None:
    known.answers = {"markdown": None}
    async with running(known.app()) as (app, pilot):
        await pilot.press("6")
        await until(pilot, lambda: "2 answering" in screen_text(app))
        assert "… asking" in screen_text(app)
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: "This backend stores no memories." in screen_text(app))


async def test_a_store_that_does_not_open_leaves_the_one_that_is_shown(known: Known) -> None:
    known.refusals = {"postgres": GONE}
    async with running(known.app()) as (app, pilot):
        await press(pilot, "6")
        await pilot.press("G", "enter")
        await until(pilot, lambda: "went away" in said(app))
        await settled(pilot)
        assert "The previous store is still open." in said(app)
        assert browser(app).query_one(MemoryList).row_count == 245
        assert known.closed == []
        await press(pilot, "r")
        assert "✗" not in screen_text(app)


async def test_the_stores_help_where_the_first_store_does_not_open(known: Known) -> None:
    known.refusals = {"sqlite": GONE}
    async with running(known.app()) as (app, pilot):
        assert isinstance(app.screen, ErrorScreen)
        await press(pilot, "6")
        await pilot.press("j", "enter")
        await until(pilot, lambda: "4 memories" in screen_text(app))
        await pilot.press("q")
    assert app.return_value == 0


async def test_a_database_of_database_url_is_read_only_until_a_person_says_it_is_zeroclaws(known: Known) -> None:
    install = known.config("sqlite").install
    known.memories["postgres"] = sqlite()
    known.foreign = frozenset({"postgres"})
    async with running(known.app()) as (app, pilot):
        await press(pilot, "6")
        await pilot.press("W")
        await until(pilot, lambda: "Only the database of DATABASE_URL" in said(app))
        await pilot.press("G")
        await until(pilot, lambda: "it may be another program's and is read-only" in screen_words(app))
        await pilot.press("W")
        await until(pilot, lambda: "Is this ZeroClaw's database?" in screen_text(app))
        assert "hunter2" not in screen_text(app)
        await press(pilot, "n")
        assert confirmed_stores(install) == ()
        await pilot.press("W")
        await until(pilot, lambda: "Is this ZeroClaw's database?" in screen_text(app))
        await pilot.press("y")
        await until(pilot, lambda: app.screen is browser(app))
        await settled(pilot)
        assert confirmed_stores(install) == ("postgres://zeroclaw@db:5432/postgres public.memories",)
        library = browser(app).library
        assert library is not None
        assert not library.config.read_only
