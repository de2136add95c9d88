"""Another store: what is listed, what is told of each, and what stays when one is chosen."""

from __future__ import annotations

from pathlib import Path

import pytest
from stores_samples import GONE, NO_SESSION, Known, none, notes, said, sqlite
from support.settling import settled
from tui_samples import NARROW, WIDE, browser, line, screen_text, screen_words, until

from zeroclaw_tui.config.settings import confirmed_stores
from zeroclaw_tui.curation.store_choice import NOT_THERE_YET, Standing
from zeroclaw_tui.tui.rooms.stores import ErrorScreen, StoresRoom
from zeroclaw_tui.tui.widgets.lines import SearchBar
from zeroclaw_tui.tui.widgets.memory_list import MemoryList


@pytest.fixture
def known(tmp_path: Path) -> Known:
    return Known(tmp_path, {"sqlite": sqlite(), "markdown": notes(), "none": none()})


async def test_b_lists_every_store_and_fills_in_what_each_answers(known: Known) -> None:
    known.answers = {
        "sqlite": Standing(True, "answers", 248, ("keyword", "vectors", "sessions", "write")),
        "markdown": Standing(True, "answers", 4, ("keyword", "write"), (("sessions", NO_SESSION),)),
        "none": Standing(True, "keeps nothing", 0),
        "postgres": Standing(False, "No server listens at db:5432."),
    }
    known.refusals = {"postgres": GONE}
    app = known.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("b")
        await until(pilot, lambda: "4 stores are known to this config: 3 answer, 1 does not" in screen_text(app))
        shown = screen_words(app)
        assert "● sqlite ✓ answers 248 keyword vectors sessions – write" in shown
        assert "markdown ✓ answers 4 keyword – – – write" in shown
        assert "✗ fails" in shown
        await pilot.press("j")
        await until(pilot, lambda: f"no sessions: {NO_SESSION}" in screen_text(app))
        await pilot.press("G")
        await until(pilot, lambda: "No server listens at db:5432." in screen_text(app))
        assert "hunter2" not in screen_text(app)
        assert "postgres://db:5432/postgres · public.memories" in screen_text(app)


async def test_a_store_that_never_answers_holds_up_no_other(known: Known) -> None:
    known.answers = {"markdown": None}
    app = known.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("b")
        await until(pilot, lambda: "2 answer, 1 still asked" in screen_text(app))
        assert "… asking" in screen_text(app)
        await pilot.press("j", "j", "enter")
        await until(pilot, lambda: "Nothing is remembered here." in screen_text(app))


async def test_r_asks_every_store_again(known: Known) -> None:
    known.answers = {"markdown": Standing(False, NOT_THERE_YET)}
    app = known.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        await pilot.press("b")
        await until(pilot, lambda: "– not yet" in screen_text(app))
        known.answers.clear()
        known.asked.clear()
        await pilot.press("r")
        await until(pilot, lambda: "3 answer" in screen_text(app))
        assert sorted(known.asked) == ["markdown", "none", "sqlite"]


async def test_enter_shows_the_other_store_and_lets_go_of_the_first(known: Known) -> None:
    app = known.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        await pilot.press("b")
        await settled(pilot)
        await pilot.press("j", "enter")
        await until(pilot, lambda: "4 memories" in screen_text(app))
        await settled(pilot)
        assert browser(app).query_one(MemoryList).row_count == 4
        assert "markdown" in line(app, 0)
        assert known.closed == ["sqlite"]
        await pilot.press("b")
        await settled(pilot)
        assert "● markdown" in screen_words(app)


async def test_escape_and_the_store_that_is_shown_change_nothing(known: Known) -> None:
    app = known.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        for key in ("escape", "q", "enter"):
            await pilot.press("b")
            await settled(pilot)
            assert isinstance(app.screen, StoresRoom)
            await pilot.press(key)
            await settled(pilot)
            assert app.screen is browser(app)
        assert known.closed == []


async def test_search_and_filters_stay_where_they_make_sense_and_come_back_after_none(known: Known) -> None:
    """Markdown knows no session: that filter goes, the category and the text stay; none keeps what was looked for."""
    app = known.app()
    async with app.run_test(size=WIDE) as pilot:
        await settled(pilot)
        shown = browser(app)
        shown.panes.look(shown.view.toggled("category", "core").toggled("session", "telegram_12345"))
        await pilot.press("slash", *"ramen", "ctrl+f")
        await settled(pilot)
        for steps in (("j",), ("G",)):
            await pilot.press("enter") if shown.query_one(SearchBar).input.has_focus else None
            await pilot.press("b")
            await settled(pilot)
            await pilot.press(*steps, "enter")
            await settled(pilot)
            if steps == ("j",):
                assert [chip.words for chip in shown.view.chips] == ["core"]
                assert shown.query_one(SearchBar).input.value == "ramen"
                assert "Likes ramen." in screen_text(app)
        assert "Nothing is remembered here." in screen_text(app)
        await pilot.press("b")
        await settled(pilot)
        await pilot.press("j", "enter")
        await settled(pilot)
        assert shown.view.query == "ramen"


async def test_a_store_that_does_not_open_leaves_the_one_that_is_shown(known: Known) -> None:
    known.refusals = {"postgres": GONE}
    app = known.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("b")
        await settled(pilot)
        await pilot.press("G", "enter")
        await until(pilot, lambda: any("went away" in words for words in said(pilot)))
        await settled(pilot)
        assert "The store before is still shown." in said(pilot)[-1]
        assert browser(app).query_one(MemoryList).row_count == 245
        assert known.closed == []
        await pilot.press("r")
        await settled(pilot)
        assert "✗" not in screen_text(app)


async def test_b_helps_where_the_first_store_does_not_open(known: Known) -> None:
    known.refusals = {"sqlite": GONE}
    app = known.app()
    async with app.run_test(size=NARROW) as pilot:
        await settled(pilot)
        assert isinstance(app.screen, ErrorScreen)
        await pilot.press("b")
        await settled(pilot)
        await pilot.press("j", "enter")
        await until(pilot, lambda: "4 memories" in screen_text(app))
        await pilot.press("q")
    assert app.return_value == 0


async def test_a_database_of_database_url_is_read_only_until_a_person_says_it_is_zeroclaws(known: Known) -> None:
    install = known.config("sqlite").install
    known.memories["postgres"] = sqlite()
    known.foreign = frozenset({"postgres"})
    app = known.app()
    async with app.run_test(size=NARROW, notifications=True) as pilot:
        await settled(pilot)
        await pilot.press("b")
        await settled(pilot)
        await pilot.press("W")
        await until(pilot, lambda: any("Only the database of DATABASE_URL" in words for words in said(pilot)))
        await pilot.press("G")
        await until(pilot, lambda: "it may be another program's: read only" in screen_words(app))
        await pilot.press("W")
        await until(pilot, lambda: "Is this ZeroClaw's database?" in screen_text(app))
        assert "hunter2" not in screen_text(app)
        await pilot.press("n")
        await settled(pilot)
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
