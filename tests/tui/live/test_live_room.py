"""The room of turns as a person uses it: looking, following, and asking why."""

from __future__ import annotations

import pytest
from live_samples import FOLLOWING, SESSION, Place, at, block, call, live_app, some_turns
from support.rooms import RoomApp
from support.screens import NARROW, WIDE, screen_lines, screen_text, screen_words
from support.settling import press, running, settled, until
from support.small_store import add
from textual.widgets import Static

from zeroclaw_tui.tui.rooms.live import LiveRoom
from zeroclaw_tui.tui.rooms.why import WhyRoom

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def rows(app: RoomApp) -> list[str]:
    """The lines of the list, one space between words."""
    lines = (" ".join(line[:80].replace("▌", " ").split()) for line in screen_lines(app))
    return [line for line in lines if line[:2] in ("= ", "≠ ", "? ", "· ") and line[4:5] == ":"]


async def test_every_turn_is_a_line_with_its_mark_and_the_newest_is_at_the_end(place: Place) -> None:
    """A click chooses a turn, and a double click asks why."""
    place.write(some_turns())
    async with running(live_app(place)) as (app, pilot):
        assert [line.split(" ", 2)[:2] for line in rows(app)] == [
            ["=", "16:30"],
            ["=", "17:00"],
            ["≠", "17:40"],
            ["=", "17:56"],
        ]
        assert "4 turns · 3 as predicted · 1 not as predicted" in screen_words(app)
        # The cursor is on the newest, before which nothing was sent.
        assert "Nothing was sent before it, as predicted." in screen_words(app)
        await press(pilot, "k")
        words = screen_words(app)
        assert "≠ Not as predicted: 1 sent and not predicted, 0 predicted and not sent." in words
        assert "+ - dentist: Dentist appointments only in the morning." in words
        await press(pilot, "k")
        assert "= Sent as predicted: 1 memory (" in screen_words(app)
        await pilot.click("#list", offset=(20, 2))
        await settled(pilot)
        assert "What does she like to eat?" in detail(app)
        await pilot.click("#list", offset=(20, 2), times=2)
        await settled(pilot)
        assert isinstance(app.screen, WhyRoom)


async def test_a_new_turn_appears_by_itself_until_the_room_is_left(place: Place) -> None:
    first, second, *_ = some_turns()
    place.write([first])
    app = live_app(place, FOLLOWING)
    async with app.run_test(size=NARROW) as pilot:
        await until(pilot, lambda: len(rows(app)) == 1)
        line = call("When does the ferry to the island go?", block("ferry"), 1, session=SESSION)
        # A line is torn while it is being written.
        place.write([second, line[:200]])
        await until(pilot, lambda: len(rows(app)) == 2)
        await until(pilot, lambda: "What does she like to eat?" in detail(app))
        place.write([line[200:]])
        await until(pilot, lambda: len(rows(app)) == 3)
        await until(pilot, lambda: "When does the ferry" in detail(app))
        await until(pilot, lambda: "= Sent as predicted: 1 memory (" in screen_words(app))
        # Whoever reads further up is left there.
        await pilot.press("g")
        place.write([call("Thanks!", "", 0.5)])
        await until(pilot, lambda: len(rows(app)) == 4)
        assert "Which language for the new program?" in detail(app)
        await pilot.press("escape")
        await until(pilot, lambda: app.given)
        assert app.given == [False]
        assert [worker for worker in app.workers if not worker.is_finished] == []


@pytest.mark.usefixtures("tokyo")
async def test_enter_asks_why_as_of_then_and_says_what_changed_since(place: Place) -> None:
    """What was stored since is left out, as it is of the prediction: by its words it would come first."""
    place.write(some_turns())
    ferry = "When does the ferry to the island go? At nine."
    moments = {"created_at": at(2), "updated_at": at(2)}
    add(place.database, [{"id": "later", "key": "boat", "content": ferry, **moments}], 90)
    async with running(live_app(place)) as (app, pilot):
        await press(pilot, "k")
        await press(pilot, "enter")
        assert isinstance(app.screen, WhyRoom)
        words = screen_words(app)
        assert "As of 2026-08-22 17:40:00, without what was stored since then" in words
        assert "“dentist” is not in the prompt for “When does the ferry to the island go?”" in words
        await press(pilot, "P")
        assert "At nine" not in screen_words(app)
        await press(pilot, "escape")
        assert isinstance(app.screen, LiveRoom)


async def test_hostile_turns_are_shown_as_text_and_broken_lines_are_counted(place: Place) -> None:
    hostile = "[/foo] [bold]no[/] \x1b[31mred\x1b]0;t\x07 %s {0} [@click=app.bell()]x"
    broken = call("Lost", "", 3)[:-40] + "\n"
    place.write([broken, call(hostile, "[Memory context]\n- [/x]: \x1b[2J\n[/Memory context]\n\n", 2), "\n"])
    async with running(live_app(place), WIDE) as (app, _):
        words = screen_words(app)
        assert "[/foo] [bold]no[/] ␛[31mred" in words
        assert "1 line could not be read" in words
        assert "\x1b" not in screen_text(app)


async def test_the_newest_turns_are_compared_and_any_other_when_it_is_looked_at(place: Place) -> None:
    place.write([call(f"Question {number}", "", 200 - number) for number in range(120)])
    async with running(live_app(place)) as (app, pilot):
        assert "120 turns · 20 as predicted" in screen_words(app)
        await press(pilot, "g")
        assert rows(app)[0].startswith("=")
        assert rows(app)[1].startswith("·")


def detail(app: RoomApp) -> str:
    """What is said of the turn under the cursor."""
    return str(app.screen.query_one("#about", Static).visual)
