"""The live room: turns, following the trace, explanations, and the conversation of a memory."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.chat_files import write_chat
from support.inspector import RoomApp, running
from support.screens import NARROW, WIDE, screen_lines
from support.small_store import add
from textual.widgets import Static
from tui.installs import SESSION, DiskInstall, block, call, minutes_ago, record, recorded_install, some_turns

from zeroclaw_tui.tui.rooms.browser import BrowserRoom
from zeroclaw_tui.tui.rooms.live import LiveRoom
from zeroclaw_tui.tui.rooms.why import WhyRoom


@pytest.fixture
def place(tmp_path: Path) -> DiskInstall:
    return recorded_install(tmp_path)


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Set the time zone to nine hours ahead of UTC."""
    with monkeypatch.context() as zone:
        zone.setenv("TZ", "Asia/Tokyo")
        time.tzset()
        yield
    time.tzset()


pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")


def rows(app: RoomApp) -> list[str]:
    """Return the lines of the list with one space between words."""
    lines = (" ".join(line[:80].replace("▌", " ").split()) for line in screen_lines(app))
    return [line for line in lines if line[:2] in ("= ", "≠ ", "? ", "· ") and line[4:5] == ":"]


async def test_every_turn_is_a_line_with_its_mark_and_the_newest_is_last(place: DiskInstall) -> None:
    """A click selects a turn, and a double click explains it."""
    record(place, *some_turns())
    async with running(place.live()) as screen:
        assert [line.split(" ", 2)[:2] for line in rows(screen.app)] == [
            ["=", "16:30"],
            ["=", "17:00"],
            ["≠", "17:40"],
            ["=", "17:56"],
        ]
        screen.shows("4 turns · 3 as predicted · 1 not as predicted")
        # The cursor is on the newest turn, for which no block was sent.
        screen.shows("Nothing was sent before it, as predicted.")
        await screen.press("k", shows="≠ Not as predicted: 1 sent and not predicted, 0 predicted and not sent.")
        screen.shows("+ - dentist: Dentist appointments only in the morning.")
        await screen.press("k", shows="= Sent as predicted: 1 memory (")
        await screen.pilot.click("#list", offset=(20, 3))
        await screen.settle()
        assert "What does she like to eat?" in detail(screen.app)
        await screen.pilot.click("#list", offset=(20, 3), times=2)
        await screen.settle()
        assert isinstance(screen.top, WhyRoom)


async def test_a_new_turn_appears_by_itself_until_the_room_is_left(place: DiskInstall) -> None:
    first, second, *_ = some_turns()
    record(place, first)
    app = place.live(0.05)
    async with running(app, NARROW, rests=False) as screen:
        await screen.until(lambda: len(rows(screen.app)) == 1)
        line = call("When does the ferry to the island go?", block("ferry"), 1, session=SESSION)
        # A line is incomplete while it is being written.
        record(place, second, line[:200])
        await screen.until(lambda: len(rows(screen.app)) == 2)
        await screen.until(lambda: "What does she like to eat?" in detail(screen.app))
        record(place, line[200:])
        await screen.until(lambda: len(rows(screen.app)) == 3, lambda: "When does the ferry" in detail(screen.app))
        await screen.until("= Sent as predicted: 1 memory (")
        # The position of a user who reads further up does not change.
        await screen.pilot.press("g")
        record(place, call("Thanks!", "", 0.5))
        await screen.until(lambda: len(rows(screen.app)) == 4)
        assert "Which language for the new program?" in detail(screen.app)
        await screen.pilot.press("escape")
        await screen.until(lambda: screen.app.given)
        assert screen.app.given == [False]
        assert [worker for worker in screen.app.workers if not worker.is_finished] == []


@pytest.mark.usefixtures("tokyo")
async def test_enter_explains_a_turn_as_of_its_time_and_names_later_changes(place: DiskInstall) -> None:
    """A memory stored later is left out, as in the prediction, although it would match best."""
    record(place, *some_turns())
    ferry = "When does the ferry to the island go? At nine."
    moments = {"created_at": minutes_ago(2), "updated_at": minutes_ago(2)}
    add(place.database, [{"id": "later", "key": "boat", "content": ferry, **moments}], 90)
    async with running(place.live()) as screen:
        await screen.press("k")
        await screen.press("enter")
        assert isinstance(screen.top, WhyRoom)
        screen.shows("As of 2026-08-22 17:40:00, without what was stored since then")
        screen.shows("“dentist” is not in the prompt for “When does the ferry to the island go?”")
        await screen.press("P", hides="At nine")
        await screen.press("escape")
        assert isinstance(screen.top, LiveRoom)


async def test_hostile_turns_are_shown_as_text_and_the_newest_are_compared(place: DiskInstall) -> None:
    """Other turns are compared when selected; broken lines are counted."""
    hostile = "[/foo] [bold]no[/] \x1b[31mred\x1b]0;t\x07 %s {0} [@click=app.bell()]x"
    record(place, *(call(f"Question {number}", "", 200 - number) for number in range(120)))
    broken = call("Lost", "")[:-40] + "\n"
    record(place, broken, call(hostile, "[Memory context]\n- [/x]: \x1b[2J\n[/Memory context]\n\n"))
    async with running(place.live(), WIDE) as screen:
        screen.shows("121 turns · 19 as predicted", "[/foo] [bold]no[/] ␛[31mred", "1 line could not be read")
        screen.hides("\x1b")
        await screen.press("g")
        assert rows(screen.app)[0].startswith("=")
        assert rows(screen.app)[1].startswith("·")


def detail(app: RoomApp) -> str:
    """Return the detail of the turn under the cursor."""
    return str(app.screen.query_one("#about", Static).visual)


async def test_a_memory_shows_the_conversation_it_came_from(place: DiskInstall) -> None:
    """Without a chat file the command reports that."""
    record(place, *some_turns())
    talk = [
        ("user", "I see the dentist in the morning only", minutes_ago(10)),
        ("assistant", "Noted.", minutes_ago(30_000)),
    ]
    async with running(place.app(), WIDE) as screen:
        await screen.press(":conversation", says="There are no conversations")
        write_chat(place.root, SESSION, talk)
        await screen.press(":conversation", shows="The conversation that dentist came from")
        screen.shows("▶ agent", "I see the dentist in the morning only")
        await screen.press("escape")
        assert isinstance(screen.top, BrowserRoom)
