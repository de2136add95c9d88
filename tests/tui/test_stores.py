"""Several stores of one config: the list, dimmed commands, switching, copying, and a store that stops answering."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from support.inspector import running
from support.memories import Corrupt, NotFound
from support.questions import ScoredEntry
from support.rules import OwnEvidence, Trial
from support.screens import WIDE, clear_notifications
from support.settling import burst
from textual.widgets import Input, TextArea
from tui import samples
from tui.installs import DiskInstall
from tui.samples import GONE, Inspector, SampleMemory, entries_in, memory, notes, paced

from zeroclaw_tui.backends.in_memory import InMemory
from zeroclaw_tui.backends.markdown.store import MarkdownMemory
from zeroclaw_tui.backends.none import NoneMemory
from zeroclaw_tui.config.settings import confirmed_stores
from zeroclaw_tui.curation.config_choice import StoreStatus
from zeroclaw_tui.tui.app import StartRoom
from zeroclaw_tui.tui.rooms.browser import BROWSER_COMMANDS
from zeroclaw_tui.tui.rooms.editor import EditorScreen
from zeroclaw_tui.tui.rooms.stores import StoresRoom


@pytest.fixture
def inspector(tmp_path: Path) -> Inspector:
    return Inspector(tmp_path, SampleMemory(samples.sample_memories()), notes(tmp_path), NoneMemory())


async def test_b_lists_every_store_and_adds_their_status_as_they_answer(inspector: Inspector) -> None:
    """`r` queries every store again."""
    inspector.answers = {
        "sqlite": StoreStatus(memories=248, badges=("keyword", "vectors", "sessions", "write")),
        "markdown": StoreStatus(memories=4, badges=("keyword", "write"), limitations={"sessions": "Lines have none."}),
        "none": StoreStatus("not created yet", is_missing=True),
        "postgres": StoreStatus("No server listens at db:5432."),
    }
    inspector.refusals = {"postgres": GONE}
    async with running(inspector.app(), WIDE) as screen:
        await screen.press("6", shows=("4 stores configured: 2 answering", "● sqlite ✓ answers 248 "))
        screen.shows("markdown ✓ answers 4 ", "– not yet", "✗ fails", "keyword search, vectors, sessions, writing")
        await screen.press("j", shows="no sessions: Lines have none.")
        await screen.press("G", shows=("No server listens at db:5432.", "postgres://db:5432/postgres"))
        screen.hides("hunter2")
        inspector.answers.clear()
        inspector.asked.clear()
        await screen.press("r", shows="4 answering")
        assert sorted(inspector.asked) == ["markdown", "none", "postgres", "sqlite"]
        await screen.press("enter", says=("went away", "The previous store is still open."))
        assert (screen.top, screen.rows.row_count, inspector.closed) == (screen.browser, 245, [])


async def test_enter_shows_the_other_store_and_closes_the_first(inspector: Inspector) -> None:
    """Escape and choosing the shown store change nothing. Keys typed before the list appears count."""
    async with running(inspector.app(), WIDE) as screen:
        for key in ("escape", "q", "enter"):
            await screen.press("6")
            assert isinstance(screen.top, StoresRoom)
            await screen.press(key)
            assert screen.top is screen.browser
        assert inspector.closed == []
        inspector.may_list.clear()
        burst(screen.app, "6j\r")
        await screen.until(lambda: isinstance(screen.top, StoresRoom))
        inspector.may_list.set()
        await screen.until("4 memories")
        assert "markdown" in screen.line(1)
        assert inspector.closed == ["sqlite"]
        await screen.press("6", shows="● markdown")


async def test_an_unopenable_or_silent_store_delays_no_other(inspector: Inspector) -> None:
    inspector.refusals, inspector.answers = {"sqlite": GONE}, {"markdown": None}
    async with running(inspector.app()) as screen:
        assert isinstance(screen.top, StartRoom)
        await screen.pilot.press("6")
        await screen.until("2 answering")
        screen.shows("… asking")
        await screen.pilot.press("j", "j", "enter")
        await screen.until("This backend stores no memories.")
        await screen.pilot.press("q")
    assert screen.app.return_value == 0


async def test_a_database_of_database_url_is_read_only_until_it_is_confirmed(inspector: Inspector) -> None:
    install = inspector.config("sqlite").install
    inspector.stores["postgres"] = SampleMemory(samples.sample_memories())
    inspector.foreign = frozenset({"postgres"})
    async with running(inspector.app()) as screen:
        await screen.press("6", "W", says="Only the database of DATABASE_URL")
        await screen.press("G", shows="it may be another program's and is read-only")
        await screen.press("W", "n")
        assert confirmed_stores(install) == ()
        await screen.press("W", shows="Is this ZeroClaw's database?", hides="hunter2")
        await screen.press("y")
        assert confirmed_stores(install) == ("postgres://zeroclaw@db:5432/postgres public.memories",)
        assert not screen.browser.library.config.read_only


class Lucid(SampleMemory):
    """Returns two rows of the database, then two of the lucid program."""

    name = "lucid"

    async def search(self, trial: Trial, vector: Any = None, **_: Any) -> OwnEvidence:
        found = await super().search(trial._replace(request=replace(trial.request, limit=2)), vector)
        texts = ("Prefers tea to coffee in the morning.", "Decided on Rust for the new service.")
        foreign = [
            ScoredEntry(memory(f"lucid_{at}", text, "core", at, 900 + at), 2 + at, 1.05 - at * 0.05, stage="lucid")
            for at, text in enumerate(texts, 1)
        ]
        return found._replace(trial=trial, entries=(*found.entries, *foreign), depth=None)


STORES = {"sqlite": SampleMemory, "none": NoneMemory, "in-memory": InMemory}
DIMMED = {
    "sqlite": set(),
    "markdown": {"re_embed", "snapshot", "show_again"},
    "in-memory": {"re_embed", "snapshot"},
}


@pytest.mark.parametrize("name", [*STORES, "markdown"])
async def test_every_command_is_available_or_says_why_not(tmp_path: Path, name: str) -> None:
    store = notes(tmp_path) if name == "markdown" else STORES[name]()
    async with running(Inspector(tmp_path, store).app(), WIDE) as screen:
        reasons = {one.id: why for one in BROWSER_COMMANDS if (why := screen.browser.why_dimmed(one.id)) is not None}
        assert all(why.endswith(".") and " " in why for why in reasons.values())
        assert name not in DIMMED or set(reasons) == DIMMED[name]
        for command in BROWSER_COMMANDS:
            is_dimmed = command.id in reasons
            if command.id not in ("search_mode", "next", "previous"):
                assert (screen.browser.check_action(command.id, ()) is None) == is_dimmed


async def test_each_key_says_that_the_none_backend_stores_nothing(tmp_path: Path) -> None:
    async with running(Inspector(tmp_path, NoneMemory()).app()) as screen:
        screen.shows("This backend stores no memories.", 'Set memory.backend to "sqlite" in config.toml')
        screen.shows("6 choose another store")
        assert "backend none" in screen.line(1)
        assert ".zeroclaw" in screen.line(0), "it must name the config"
        for key in ("slash", "F", "e", "d", "n", "u", "o", "y"):
            clear_notifications(screen.app)
            await screen.press(key, shows="This backend stores no memories.")
            assert screen.notifications == 'Not here: Nothing is stored: the backend "none" keeps nothing.'


async def test_markdown_says_in_each_room_what_it_cannot_do_and_can_be_edited(tmp_path: Path) -> None:
    """The same notice is not repeated."""
    async with running(Inspector(tmp_path, notes(tmp_path), embeds=False).app(), WIDE) as screen:
        await screen.press(":re-embed", ":re-embed", ":re-embed")
        assert screen.notifications.startswith("Not here: Markdown memory has no vectors")
        assert screen.notifications.count("Not here") == 1
        await screen.press("slash", "=ramen", hides="█")
        await screen.press("escape", "escape", "colon", "=re-embed", shows="Markdown memory has no vectors")
        await screen.press(
            "escape", "colon", "=snapshot", shows="ZeroClaw writes and reads MEMORY_SNAPSHOT.md only for"
        )
        await screen.press("escape", "escape", "e")
        assert isinstance(screen.top, EditorScreen)
        screen.shows("Markdown files keep no session.")
        assert not screen.top.query(Input)
        await screen.press("x")
        assert screen.top.changed().keys() == {"content"}


async def test_rows_of_lucid_are_marked_and_cannot_be_changed(tmp_path: Path) -> None:
    store = Lucid(entries_in(SampleMemory(samples.sample_memories())))
    async with running(Inspector(tmp_path, store).app(), WIDE) as screen:
        await screen.press("slash", "=eat", "enter")
        assert screen.text.count("◇ lucid") == 2
        await screen.press("G")
        for key in ("e", "d", ":re-embed"):
            await screen.press(key)
        assert screen.notifications == "Not here: This memory comes from the lucid program and cannot be changed here."
        await screen.press("g", "d", shows="Delete ")


BANNER = "✗ The server at db:5432 went away. Start it again, then r."


async def test_a_failing_store_keeps_the_screen_and_r_reconnects(inspector: Inspector) -> None:
    """The error of every key is shown in the same banner. Error text is never parsed as markup."""
    store = inspector.store
    async with running(inspector.app(), WIDE) as screen:
        store.failure = GONE
        await screen.press("e", "d", "asterisk", "space", "u", "C", "y", "r", "e", shows=(BANNER, "food_allergy"))
        assert "went away" not in screen.notifications
        assert screen.text.count("went away") == 1
        assert screen.rows.row_count == 245
        await screen.press("slash", "=ramen", hides="found")
        store.failure = NotFound("No [/such] key \x1b[31m.", hint="[bold]none[/]")
        await screen.press("enter", "r", shows="✗ No [/such] key ␛[31m. [bold]none[/]")
        assert screen.search_bar.value == "ramen"
        store.failure = None
        await screen.press("r", shows="1 fav_food", hides="✗ No")
        store.failure = Corrupt("Page 7 of the database is damaged.")
        await screen.press("slash", "tab", "=ramen", shows="✗ Page 7 of the database is damaged.")
        assert "found" not in screen.line(2)
        store.failure = None
        await screen.press("enter", "r")
        assert "found" in screen.line(2)
        # Text typed in the editor stays and is saved later.
        await screen.press("e")
        area = screen.top.query_one(TextArea)
        area.focus()
        area.text = "Typed with care."
        await screen.settle()
        store.failure = GONE
        await screen.press("ctrl+s", shows="went away")
        assert (type(screen.top), area.text) == (EditorScreen, "Typed with care.")
        store.failure = None
        await screen.press("ctrl+s")
        assert screen.top is screen.browser
        assert any(entry.content == "Typed with care." for entry in entries_in(store))


async def test_a_store_that_answers_a_poll_again_is_used_again(inspector: Inspector) -> None:
    app = inspector.app(pace=paced(poll=0.02))
    async with running(app, WIDE, rests=False) as screen:
        await screen.until("245 memories")
        inspector.store.failure = GONE
        await screen.until(BANNER, lambda: inspector.store.failed > 5)
        assert screen.text.count("went away") == 1
        assert screen.notifications == ""
        inspector.store.failure = None
        await screen.until(lambda: "went away" not in screen.text)


async def test_a_missing_first_listing_is_reported_and_loaded_later(inspector: Inspector) -> None:
    inspector.store.failure = GONE
    # The time that a key waits for the first rows, which do not arrive.
    app = inspector.app(pace=paced(overdue=0.1))
    async with running(app, WIDE, rests=False) as screen:
        await screen.until("The store does not answer.")
        screen.hides("Opening")
        inspector.store.failure = None
        await screen.pilot.press("r")
        await screen.until("food_allergy")


CORE = "# Memory\n\n- Likes ramen\n  and rust,\n  in this order.\n- Timezone is EST.\n- Runs on Sundays.\n"


async def test_lines_of_notes_are_deleted_undone_and_written(tmp_path: Path) -> None:
    """A line's id is its position: after an undo above it the position has another line, which is not marked."""
    file = tmp_path / "MEMORY.md"
    file.write_text(CORE)
    async with running(Inspector(tmp_path, MarkdownMemory(tmp_path), embeds=False).app()) as screen:
        await screen.press("d", shows="Delete MEMORY:0?")
        await screen.press("y", shows="4 memories")
        await screen.press("G", "space", shows="● 1 marked")
        await screen.press("u", shows="5 memories", hides="marked")
        assert file.read_text() == CORE
        # A new line gets the typed key and file; fields that notes cannot save cannot be typed.
        await screen.press("n", shows=("A new memory", "session Markdown files keep no session."))
        await screen.press("=ramen", "tab", "tab", "=Likes ramen.", "ctrl+s", shows="6 memories")
        assert file.read_text() == CORE + "\n- **ramen**: Likes ramen.\n"


async def test_a_store_that_opens_late_does_not_replace_the_one_being_edited(tmp_path: Path) -> None:
    """Text typed while another store opens is saved in the store in which the edit began."""
    inspector = Inspector(tmp_path)
    inspector.stores["postgres"], inspector.late = SampleMemory(samples.sample_memories()), "postgres"
    async with running(inspector.app(), WIDE) as screen:
        await screen.pilot.press("6")
        await screen.until("2 answer")
        await screen.pilot.press("j", "enter")
        await screen.until(lambda: screen.top is screen.browser)
        await screen.pilot.press("n")
        await screen.until(lambda: isinstance(screen.top, EditorScreen))
        await screen.pilot.press(*"mine")
        inspector.may_open.set()
        await screen.until(lambda: "Press 6 to open it" in screen.notifications)
        assert inspector.closed == ["postgres"]
        assert isinstance(screen.top, EditorScreen)
        screen.shows("mine")


async def test_c_copies_the_shown_store_into_the_one_under_the_cursor(tmp_path: Path) -> None:
    """The plan names the losses, the result is verified, and the source keeps every byte."""
    install = DiskInstall(tmp_path, [{"key": "tz", "content": "EST it is"}, {"key": "food", "content": "ramen it is"}])
    notes = install.write("MEMORY.md", "- Likes ramen.\n- Timezone is EST.\n- Runs on Sundays.\n")
    before = install.database.read_bytes()
    async with running(install.app(), WIDE) as screen:
        screen.shows("2 memories")
        await screen.press("6", "C", says="This is the open store")
        await screen.press("j", "C", shows=("Copy 2 memories to", "2 new"))
        await screen.press("y", shows="✓ answers 5", says=("Copied 2 memories to", "Verified 2 by comparing"))
        await screen.press("enter", shows="5 memories")
    assert install.database.read_bytes() == before
    assert "ramen it is" in notes.read_text()
