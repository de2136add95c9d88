"""When something is wrong: a sentence, what to do, and a key that tries again."""

from __future__ import annotations

from pathlib import Path

from support.screens import line, line_with, said, screen_text, screen_words
from support.settling import press, running, until
from tui_samples import Inspector, SampleMemory, browser, memory

from zeroclaw_tui.backends.none import NoneMemory
from zeroclaw_tui.memory.errors import (
    BrokenConfig,
    Corrupt,
    Locked,
    NoInstall,
    NotFound,
    Unreadable,
)
from zeroclaw_tui.tui.rooms.stores import ErrorScreen
from zeroclaw_tui.tui.widgets.memory_list import MemoryList

OPENING = [
    NoInstall("There is no ZeroClaw install here.", hint="Give a path, or try --demo."),
    Unreadable("/srv/brain.db cannot be read: permission denied.", hint="Read it as its owner."),
    Corrupt("/srv/brain.db is damaged.", hint="Copy it, then .recover the copy."),
    Locked("Another program holds /srv/brain.db.", hint="Wait for it, then r."),
    BrokenConfig("config.toml cannot be read: line 3, column 7.", hint="Mend that line."),
]


async def test_a_store_that_does_not_open_is_a_screen_until_r_opens_it(inspector: Inspector) -> None:
    inspector.failure = OPENING[0]
    async with running(inspector.app()) as (app, pilot):
        for error in OPENING:
            inspector.failure = error
            await press(pilot, "r")
            assert error.title in screen_text(app)
            assert error.message in screen_words(app)
            assert error.hint in screen_words(app)
            assert "r retry" in screen_words(app)
            await press(pilot, "escape")
            assert isinstance(app.screen, ErrorScreen)
        await press(pilot, "question_mark")
        assert "Open the store again" in screen_words(app)
        await press(pilot, "escape")
        inspector.failure = None
        await press(pilot, "r")
        assert browser(app).query_one(MemoryList).row_count == 245
        await pilot.press("q")
    assert app.return_value == 0


async def test_what_did_not_open_is_the_exit_code(inspector: Inspector) -> None:
    inspector.failure = error = NoInstall("There is no ZeroClaw install here.")
    async with running(inspector.app()) as (app, pilot):
        await pilot.press("q")
    assert app.return_value == error.exit_code != 0


async def test_a_failing_store_leaves_the_screen_and_r_tries_again(inspector: Inspector) -> None:
    """What is wrong is never markup, and the next recall works."""
    store = inspector.store
    assert isinstance(store, SampleMemory)
    async with running(inspector.app()) as (app, pilot):
        store.failure = Locked("Another program holds the database.", hint="It may be migrating.")
        await press(pilot, "r")
        assert "✗ Another program holds the database. It may be migrating. r to retry" in screen_words(app)
        assert browser(app).query_one(MemoryList).row_count == 245
        store.failure = NotFound("No [/such] key \x1b[31m.", hint="[bold]none[/]")
        await press(pilot, "r")
        assert "✗ No [/such] key ␛[31m. [bold]none[/]" in screen_words(app)
        store.failure = None
        await press(pilot, "r")
        assert "✗" not in screen_text(app)
        store.failure = Corrupt("Page 7 of the database is damaged.")
        await press(pilot, "slash", "=rame")
        assert "✗ Page 7 of the database is damaged." in screen_text(app)
        store.failure = None
        await press(pilot, "n")
        assert "✗" not in screen_text(app)
        assert "1 fav_food" in screen_words(app)


async def test_an_empty_store_says_what_would_fill_it(tmp_path: Path) -> None:
    async with running(Inspector(tmp_path, SampleMemory()).app()) as (app, pilot):
        assert "No memories here." in screen_text(app)
        assert "ZeroClaw writes memories while you talk with it" in screen_text(app)
        assert "r reload" in screen_words(app)
        await press(pilot, "y")
        assert "There is no memory to copy." in said(app)


async def test_a_store_of_superseded_memories_alone_says_that_they_are_hidden(tmp_path: Path) -> None:
    old = [memory("tz", "EST", "core", 3, 1, superseded_by="later")]
    async with running(Inspector(tmp_path, SampleMemory(old)).app()) as (app, pilot):
        assert "No memories here. 1 superseded hidden." in screen_words(app)
        assert "F change the filters" in screen_words(app)
        await press(pilot, "F", "=superseded")
        await until(pilot, lambda: "superseded 1" in screen_words(app))
        await press(pilot, "enter")
        await until(pilot, lambda: "EST" in line_with(app, "tz"))
        assert "1 memory · with superseded" in screen_words(app)


async def test_the_backend_none_says_that_nothing_is_stored(tmp_path: Path) -> None:
    async with running(Inspector(tmp_path, NoneMemory()).app()) as (app, _):
        assert "This backend stores no memories." in screen_text(app)
        assert 'Set memory.backend to "sqlite" in config.toml' in screen_words(app)
        assert "6 choose another store" in screen_words(app)
        first = screen_text(app).splitlines()[1]
        assert "backend none" in first
        assert ".zeroclaw" in line(app, 0), "it names the config that says so"
